"""Plans made up for tests: one that learns a little, one that divides its contexts among others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import lumpable as lb
from lumpable.plans.plan import Branching, Conversation


@lb.algorithm
def learner(contexts: int, arms: int, rounds: int) -> Conversation:
    """Try everything, serve what looked best while looking once more, and end."""
    everything = np.ones((contexts, arms), dtype=bool)
    first = yield lb.Collect(rounds, 2, everything)
    best = np.argmax(np.nan_to_num(first.mean, nan=-9.0), axis=1)
    some = everything.copy()
    some[::2] = False
    second = yield lb.Collect(rounds, 1, some, lb.Belief("second", best))
    better = np.argmax(np.nan_to_num(second.mean, nan=-9.0), axis=1)
    return lb.Result(np.where(some.any(axis=1), better, best))


@lb.algorithm
def divider(
    bucket: Sequence[int], arms: int, first: int, rounds: int, inside: Sequence[int]
) -> Branching:
    """Look at everybody, divide, then serve what the plans say and the others' average arm.

    `inside[b]` is how long plan b looks; 0: it divides its contexts further, one by one.
    """
    where = np.array(bucket)
    S = len(where)
    sample: lb.Sample = yield lb.Collect(first, 1, np.ones((S, arms), dtype=bool))
    average = np.nansum(np.where(sample.plays > 0, sample.mean, 0.0), axis=0)
    policy = np.full(S, np.argmax(average))
    sizes = [int(np.sum(where == b)) for b in range(len(inside))]
    plans = tuple(
        learner(size, arms, look) if look else divider(range(size), arms, 6, 24, [5] * size)
        for size, look in zip(sizes, inside, strict=True)
    )
    results: tuple[lb.Result, ...] = yield lb.Split(
        rounds, where, plans, lb.Belief("divided", policy)
    )
    policy = policy.copy()
    for b, result in enumerate(results):
        policy[where == b] = result.policy
    yield lb.Collect(9, 1, np.zeros((S, arms), dtype=bool), lb.Belief("served", policy))
    return lb.Result(policy)
