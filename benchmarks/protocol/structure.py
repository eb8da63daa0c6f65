"""Does it find the groups, and is it as sure of them as it may be?

The bars on groups come from runs of the learner alone, those on its beliefs from what
`lumpable.lumps.belief.beliefs` says of learners that were played here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.comparisons.rows import Row
from lumpable.lumps.belief import beliefs
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.runs.playing import play
from protocol import frozen, peers
from protocol.bars import Bar
from protocol.problems import BERNOULLI, LONG, Problem, Size, lumpable
from protocol.running import Way

LEVEL, COVER = 0.9, (0.87, 0.93)
SURE = 0.9
"""Pairs that are said to be together with at least this probability."""
FEW_PULLS = 5
PAIRS = 20_000
"""Pairs of contexts that are drawn from each run."""


# --- Groups -----------------------------------------------------------------------------------


def group_bars(way: Way, size: Size, many: Size, seeds: int, few: int) -> list[Bar]:
    """Return the bars on groups at this size, and those of many groups, with few seeds."""
    found = _alone(way, "groups", size, 300, (100, 300), seeds)
    last = _alone(way, "many groups", many, 100, (100,), few)
    right = {mark: [row.clusters == size[2] for row in found[mark]] for mark in found}
    rand = [row.ari or 0.0 for row in found[100]]
    every = [row.clusters == many[2] for row in last[100]]
    rest = np.mean([row.ari or 0.0 for row in last[100]])
    return [
        _mean_bar(f"ARI at {size}, 100 pulls", rand, low=0.95),
        _mean_bar(f"M = r at {size}, 100 pulls, share of runs", right[100], low=0.90),
        _mean_bar(f"M = r at {size}, 300 pulls, share of runs", right[300], low=0.95),
        _mean_bar(f"all groups found at {many}, 100 pulls, share of runs", every, low=1.0,
                  note=f"mean ARI {rest:.3f}"),
    ]  # fmt: skip


def _alone(
    way: Way, name: str, size: Size, pulls: int, marks: tuple[int, ...], seeds: int
) -> dict[int, list[Row]]:
    """Play the learner alone and return its rows at each mark."""
    world = lumpable(size, BERNOULLI)
    problem = Problem(str(size), name, LONG, world, pulls, marks, pulls, contexts=size[0])
    rows = way.rows(problem, [peers.TESTED], frozen.FRESH, seeds, pulls)
    for row in rows:
        if row.status != "done":
            raise RuntimeError(f"{row.world}, seed {row.seed}: {row.reason}")
    return {mark: [row for row in rows if row.round == mark * size[0]] for mark in marks}


def _mean_bar(
    what: str, values: Iterable[float], note: str = "", *, low: float, high: float = math.inf
) -> Bar:
    """Return a bar on the mean over runs, with its standard error."""
    x = np.array(list(values), dtype=np.float64)
    error = float(np.std(x, ddof=1) / np.sqrt(len(x))) if len(x) > 1 else None
    words = f"{len(x)} runs" + (f"; {note}" if note else "")
    return Bar(what, low, high, float(x.mean()), error, note=words)


# --- Beliefs ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Believed:
    """How often one run's beliefs were true."""

    covered: float
    """The share of all group-arm means inside their intervals."""
    covered_seen: float
    """The same, of arms with some pulls."""
    together: float
    """Of pairs that are surely together, the share that is; nan if there are none."""
    sure: int
    right: bool
    """Whether there were as many groups as in truth."""


def belief_bars(way: Way, size: Size, seeds: int) -> list[Bar]:
    """Return the bars on intervals and on pairs at this size, at 100 pulls."""
    intervals = f"90 % intervals of group-arm means cover, {size}"
    pairs = f"pairs said to be together with 0.9 to 1 that are, {size}"
    numbers = frozen.seeds(way.commit, frozen.FRESH, f"beliefs {size}", seeds)
    runs = [_believed(size, seed) for seed in numbers]
    seen = np.nanmean([run.covered_seen for run in runs])
    known = [run.together for run in runs if run.sure]
    note = f"{seen:.3f} of those with at least {FEW_PULLS} pulls"
    if any(run.right for run in runs):
        right = np.mean([run.covered for run in runs if run.right])
        note += f"; {right:.3f} in the {sum(run.right for run in runs)} runs with M = r"
    bars = [_mean_bar(intervals, [run.covered for run in runs], note, low=COVER[0], high=COVER[1])]
    if not known:
        return [*bars, Bar(pairs, 0.9, note=f"no pair is said to be so in {seeds} runs")]
    return [*bars, _mean_bar(pairs, known, low=0.9)]


def _believed(size: Size, seed: int) -> Believed:
    world = lb.worlds.lumpable(*size, noise="bernoulli", seed=seed)
    learner = ThreeLevels(size[0], size[1], seed=seed)
    play(learner, world, horizon=100 * size[0], seed=seed, at=[])
    truth = true_means(learner.labels(), world)
    rows = [row for row in beliefs.means(learner, level=LEVEL) if row.group in truth]
    inside = np.array([row.low <= truth[row.group][row.arm] <= row.high for row in rows])
    seen = np.array([row.pulls >= FEW_PULLS for row in rows])
    rng = np.random.default_rng([seed, 1])
    together, sure = sure_pairs(
        lambda a, b: np.asarray(beliefs.together(learner, a, b)), world.group, rng
    )
    return Believed(
        float(inside.mean()), float(inside[seen].mean()), together, sure, len(truth) == size[2]
    )


def true_means(labels: IntVector, world: lb.World) -> dict[int, FloatMatrix]:
    """Return for each group that somebody is in the true means of most of its contexts."""
    truth = {}
    for group in np.unique(labels):
        members = world.group[labels == group]
        most = np.bincount(members).argmax()
        truth[int(group)] = world.mean[np.flatnonzero(world.group == most)[0]]
    return truth


def sure_pairs(
    together: Callable[[IntVector, IntVector], Any], group: IntVector, rng: np.random.Generator
) -> tuple[float, int]:
    """Return of pairs that are surely together the share that is, and how many those are."""
    a = rng.integers(len(group), size=PAIRS)
    b = (a + rng.integers(1, len(group), size=PAIRS)) % len(group)
    sure = together(a, b) >= SURE
    right = (group[a] == group[b])[sure]
    return (float(right.mean()) if sure.any() else float("nan")), int(sure.sum())
