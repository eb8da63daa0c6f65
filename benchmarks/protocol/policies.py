"""Samples to a good policy, and how often the stopping rule errs.

Both are measured on fresh worlds, which are known: the loss of a recommended policy is exact.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatMatrix
from lumpable.lumps.core.top_two import TopTwo
from protocol import frozen
from protocol.bars import Bar
from protocol.problems import BERNOULLI, OTHER, Problem, Size, lumpable
from protocol.running import Way

LOSS, DELTA = 0.05, 0.05
TENTH = 0.1
RESAMPLED = 400
SHORT, LONG = 60, 600
"""Rounds for each context in which a policy must be found: of ours, and of elimination."""
STOPPED: dict[str, dict[str, Any]] = {
    "lumpable": {**BERNOULLI},
    "deviation": {**BERNOULLI, "deviation": 0.1},
    "one group": {**BERNOULLI, "groups": 1},
    "no structure": {**BERNOULLI, "groups": 20},
    "Gaussian, sd 0.3": {"noise": "gaussian", "sd": 0.3},
    "Gaussian, sd 0.05, no structure": {"noise": "gaussian", "sd": 0.05, "groups": 20},
}
"""Worlds in which the stopping rule is tried, in turn."""
SMALL = (20, 6, 3)
LAST = 100_000
"""Rounds at most."""


def policy_bars(way: Way, size: Size, seeds: int, runs: int) -> list[Bar]:
    """Return the bars on samples to a policy and on the stopping rule."""
    samples = f"samples to a policy of loss {LOSS}, {size}, share of elimination per context"
    stop = f"stopping rule, share of runs that lose more than {LOSS}"
    return [_samples(way, samples, size, seeds), _errors(way, stop, runs)]


def _samples(way: Way, what: str, size: Size, seeds: int) -> Bar:
    ours = _losses(way, {"name": "lumps-policy", "label": "policy finder"}, size, SHORT, seeds)
    theirs = _losses(way, {"name": "elimination"}, size, LONG, seeds)
    counts = [size[0] * first_below(each, LOSS) for each in (ours, theirs)]
    if np.isinf(counts).any():
        never = "ours" if np.isinf(counts[0]) else "elimination"
        words = f"not reached by {never} in {SHORT if never == 'ours' else LONG} pulls"
        return Bar(what, high=TENTH, note=words)
    rng = np.random.default_rng(0)
    drawn = [rng.integers(seeds, size=seeds) for _ in range(RESAMPLED)]
    again = [first_below(ours[k], LOSS) / first_below(theirs[k], LOSS) for k in drawn]
    note = f"{counts[0]:,.0f} against {counts[1]:,.0f} rounds; {seeds} seeds"
    return Bar(what, high=TENTH, value=counts[0] / counts[1], error=float(np.std(again)),
               peer="successive elimination per context", note=note)  # fmt: skip


def _losses(way: Way, learner: dict[str, Any], size: Size, pulls: int, seeds: int) -> FloatMatrix:
    """Return the loss of the recommended policy, (seeds, pulls)."""
    marks = tuple(range(1, pulls + 1))
    world = lumpable(size, BERNOULLI)
    problem = Problem("s", f"policy {size}", OTHER, world, pulls, marks, pulls, contexts=size[0])
    rows = way.rows(problem, [learner], frozen.FRESH, seeds, pulls)
    for row in rows:
        if row.status != "done":
            raise RuntimeError(f"{row.learner}, seed {row.seed}: {row.reason}")
    at = {mark * size[0] for mark in marks}
    kept = [row.simple_regret for row in rows if row.round in at]
    return np.array(kept).reshape(seeds, pulls)


def first_below(losses: FloatMatrix, most: float) -> float:
    """Return after how many rounds for each context the mean loss is, and stays, this small.

    >>> first_below(np.array([[0.4, 0.0, 0.1, 0.0, 0.0]]), 0.05)
    4.0
    """
    above = np.flatnonzero(losses.mean(axis=0) > most)
    count = 1.0 if len(above) == 0 else float(above[-1] + 2)
    return count if count <= losses.shape[1] else float("inf")


def _errors(way: Way, what: str, runs: int) -> Bar:
    seeds = frozen.seeds(way.commit, frozen.FRESH, "stopping", runs)
    worlds = list(STOPPED.values())
    with ProcessPoolExecutor(way.jobs, mp_context=get_context("spawn")) as pool:
        every = (worlds[k % len(worlds)] for k in range(len(seeds)))
        results = list(pool.map(_stopped, every, seeds))
    wrong = np.array([loss > LOSS for loss, _ in results])
    rounds = np.array([taken for _, taken in results])
    error = float(np.sqrt(wrong.mean() * (1 - wrong.mean()) / runs))
    note = f"{runs:,} runs at {SMALL}: {', '.join(STOPPED)}; median {np.median(rounds):,.0f} rounds"
    endless = int((rounds >= LAST).sum())
    note += f"; {endless} did not stop" if endless else ""
    return Bar(what, high=DELTA, value=float(wrong.mean()), error=error, note=note)


def _stopped(given: dict[str, Any], seed: int) -> tuple[float, int]:
    """Play until the rule stops; return the true loss of its policy then, and the rounds."""
    S, K, r = SMALL
    world = lb.worlds.lumpable(**{"contexts": S, "arms": K, "groups": r, **given}, seed=seed)
    learner = TopTwo(S, K, epsilon=LOSS, delta=DELTA, seed=seed)
    rng = np.random.default_rng([seed, 1])
    while not learner.finished and learner.tells < LAST:
        context = int(rng.choice(S, p=world.frequency))
        arm = learner.ask(context)
        learner.tell(context, arm, world.reward(context, arm, rng))
    return world.loss(learner.policy()), learner.tells
