"""The changes of candidates that were tried are what their proofs are about."""

from __future__ import annotations

import math

import beyond_tried
from beyond_runs import RANDOM, Size
from beyond_tried import ShorterLists, changed

import lumpable as lb
from lumpable.plans.candidates_pooled import Block


def test_shorter_lists_still_pay_for_every_set_of_candidates() -> None:
    """(1 - 1/K)^(m Y) is at most e^-ell / N where Y contexts are more than S 2^(-(h-n)/2)."""
    for S, K, R in ((30, 20, 1), (20, 30, 4), (50, 50, 8), (9, 4, 4)):
        block, before = ShorterLists(lb.Problem(S, K, 1), 5.0), Block(lb.Problem(S, K, 1), 5.0)
        block.R = before.R = R
        sets = sum(math.comb(K, k) for k in range(R + 1))
        for n, h in ((10, 10), (8, 13)):
            missed = S * 2 ** (-(h - n) / 2)
            unhit = block.m(n, h) * missed * math.log(1 - 1 / K)
            assert unhit <= -5.0 - math.log(sets)
            assert 5.0 <= block.m(n, h) <= before.m(n, h)


def test_unchanged_it_is_what_is_shipped() -> None:
    problem, world = lb.Problem(6, 8, 2), lb.worlds.lumpable(6, 8, 2, sd=1.0, seed=1)
    runs = [
        lb.simulate(plan, world, horizon=10**7, seed=2).regret
        for plan in (changed(problem, horizon=10**7), lb.regret.candidates(problem, horizon=10**7))
    ]
    assert runs[0] == runs[1]


def test_every_change_is_compared_in_the_same_world() -> None:
    found = beyond_tried.ratios(Size(6, 8, 2), RANDOM, 10**8, [3])
    assert list(found) == list(beyond_tried.TRIED)
    assert found["narrower"] < found["as shipped"]
    assert found["elimination, narrower"] < 1
