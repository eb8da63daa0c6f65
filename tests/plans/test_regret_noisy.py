"""Algorithms 4 and 6 with noise: the promises fail no more often than the paper's delta_h allow.

A count is held against the package only when an exact binomial bound says so (p < 1e-9). With the
printed constants nothing fails at all, so there are two more kinds of test: the same count with
constants so small that it must fail, and rates that have a closed form given who was played how
often, tested on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.plans.plan import Collect, Plan
from lumpable.plans.progress import Progress
from lumpable.runs.answers import answer
from twins.watched_regret import allowed, watched

SURE = 1e-9
RUNS = 10
BY_DAY = "4, coins", "6, one giant group"
PHASES = 16
"""Then the threshold is about 0.1: groups are told apart and arms fall."""


# --- Promises -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    name: str
    levelled: bool
    world: Callable[[int], lb.World]
    groups: int


def most_uneven(contexts: int) -> list[float]:
    """The most uneven frequencies that count as almost uniform: 8/S, 1/(8S), or what is left."""
    often = contexts // 9
    rest = (1 - 8 * often / contexts) / (contexts - often)
    assert rest >= 1 / (8 * contexts)
    return [8 / contexts] * often + [rest] * (contexts - often)


SETTINGS = [
    Setting("4, uniform", False, lambda s: lb.worlds.lumpable(12, 6, 3, seed=s), 3),
    Setting(
        "4, coins",
        False,
        lambda s: lb.worlds.lumpable(8, 5, 2, means="hard", noise="bernoulli", seed=s),
        2,
    ),
    Setting("6, uniform", True, lambda s: lb.worlds.lumpable(12, 6, 3, seed=s), 3),
    Setting(
        "6, one giant group", True, lambda s: lb.worlds.lumpable(12, 4, 3, sizes="giant", seed=s), 3
    ),
    Setting(
        "6, uneven coins",
        True,
        lambda s: lb.worlds.lumpable(
            18, 4, 2, frequency=most_uneven(18), noise="bernoulli", seed=s
        ),
        2,
    ),
]


def failures(
    setting: Setting, constants: lb.Constants, phases: int, runs: int = RUNS
) -> tuple[int, float, int]:
    """How many of the runs broke a promise, what is allowed for one, and all splits."""
    failed, most, splits = 0, 0.0, 0
    for seed in range(runs):
        world = setting.world(seed)
        witness, _ = watched(
            world, setting.groups, constants, phases, levelled=setting.levelled, seed=seed
        )
        failed += bool(witness.broken(every_level=False))
        most = max(most, allowed(witness.problem, witness.phases))
        splits += witness.calls
    return failed, most, splits


def by_day_and_by_night() -> Iterator[Any]:
    """All settings, most of them at night."""
    for setting in SETTINGS:
        marks = [] if setting.name in BY_DAY else [pytest.mark.nightly]
        yield pytest.param(setting, marks=marks, id=setting.name)


@pytest.mark.parametrize("runs", [RUNS, pytest.param(20 * RUNS, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("setting", list(by_day_and_by_night()))
def test_promises_fail_no_more_often_than_allowed(setting: Setting, runs: int) -> None:
    failed, most, splits = failures(setting, lb.PAPER, PHASES, runs)
    assert most < 0.05
    assert stats.binom.sf(failed - 1, runs, most) > SURE
    assert splits >= runs // 2  # there was something to promise; some groups have the same best arm


@pytest.mark.parametrize("setting", list(by_day_and_by_night()))
def test_small_constants_break_them(setting: Setting) -> None:
    """The count can fail: 500 times smaller constants, and it does."""
    c = 1 / 500
    small = replace(lb.PAPER, phase=64 * c, levels=128 * c, split=64 * c)
    failed, most, _ = failures(setting, small, 8)
    assert stats.binom.sf(failed - 1, RUNS, most) < SURE


# --- Rates in closed form -------------------------------------------------------------------


def far_apart(distance: float, variance: float, mean: float = 0.0) -> float:
    """P(|X| >= distance) for a normal X."""
    X = NormalDist(mean, math.sqrt(variance))
    return X.cdf(-distance) + 1 - X.cdf(distance)


def check_rate(outcomes: Iterator[tuple[bool, float]]) -> None:
    """Each outcome has its own known chance: Bernstein's bound for their sum, on both sides."""
    happened, chance = np.array(list(outcomes), dtype=float).T
    variance = float(np.sum(chance * (1 - chance)))
    log = math.log(2 / SURE)
    assert 0.05 < chance.mean() < 0.7
    assert abs(happened.sum() - chance.sum()) <= math.sqrt(2 * variance * log) + 2 / 3 * log


def answered(
    make: Callable[[], Plan], world: lb.World, requests: int, runs: int
) -> Iterator[tuple[list[lb.Sample], Progress]]:
    """Yield the first samples of many runs, and where they led."""
    rng = np.random.default_rng(20)
    for _ in range(runs):
        progress = Progress(make())
        yield [one_more(progress, world, rng) for _ in range(requests)], progress


def one_more(progress: Progress, world: lb.World, rng: np.random.Generator) -> lb.Sample:
    """Answer the open request; returns the sample."""
    sample = answer(asked(progress), world, rng).sample
    progress.answer(sample)
    return sample


def asked(progress: Progress) -> Collect:
    assert isinstance(progress.request, Collect)
    return progress.request


def splits(progress: Progress) -> bool:
    belief = asked(progress).belief
    return belief is not None and "splitting" in belief.phase


def spread(plays: list[int], repeats: int) -> float:
    """Variance of the difference of two means with so many plays."""
    return sum(1 / (count * repeats) for count in plays)


PAIR = lb.Problem(2, 1, 1)
RUNS_OF_A_RATE = pytest.mark.parametrize(
    "runs", [1400, pytest.param(3000, marks=pytest.mark.nightly)]
)
"""Thresholds of gaps and of fallen arms that are wrong by the root of 2 are seen, either way."""


@RUNS_OF_A_RATE
def test_rate_of_gaps(runs: int) -> None:
    """Two contexts that are alike: |difference| >= sqrt(lg_1 / 2), on 2 rewards a play."""
    constants = replace(lb.PAPER, phase=0.6)
    t = lb.lengths.equal_groups_phase(PAIR, 1, constants).threshold(1)
    world = lb.World(np.zeros((2, 1)), np.array([0.5, 0.5]), np.zeros(2, dtype=int))

    def outcomes() -> Iterator[tuple[bool, float]]:
        for (sample,), progress in answered(
            lambda: lb.regret.equal_groups(PAIR, constants=constants), world, 1, runs
        ):
            plays = sample.plays[:, 0].tolist()
            yield splits(progress), far_apart(t, spread(plays, 2)) if min(plays) else 0.0

    check_rate(outcomes())


@RUNS_OF_A_RATE
def test_rate_of_cuts(runs: int) -> None:
    """Two contexts 0.3 apart that are tested: |difference| >= sqrt(lg) eps' on 32 rewards."""
    constants = replace(lb.PAPER, phase=0.5, split=1.0)
    t = lb.lengths.equal_groups_phase(PAIR, 1, constants).split_threshold(1)
    world = lb.World(np.array([[0.3], [0.0]]), np.array([0.5, 0.5]), np.arange(2))
    rng = np.random.default_rng(21)

    def outcomes() -> Iterator[tuple[bool, float]]:
        for _, progress in answered(
            lambda: lb.regret.equal_groups(PAIR, constants=constants), world, 1, runs
        ):
            if not splits(progress):
                continue
            plays = one_more(progress, world, rng).plays[:, 0].tolist()
            belief = asked(progress).belief
            assert belief is not None
            assert belief.cluster is not None
            chance = far_apart(t, spread(plays, 32), 0.3) if min(plays) else 0.0
            yield belief.cluster.max() == 1, chance

    check_rate(outcomes())


@RUNS_OF_A_RATE
@pytest.mark.parametrize(
    ("make", "h", "constants"),
    [
        (lb.regret.equal_groups, 1, replace(lb.PAPER, phase=0.35)),
        (lb.regret.any_groups, 2, replace(lb.PAPER, levels=0.2)),
    ],
    ids=["Algorithm 4, phase 1", "Algorithm 6, phase 2, level 2"],
)
def test_rate_of_fallen_arms(
    make: Callable[..., Plan], h: int, constants: lb.Constants, runs: int
) -> None:
    """Two arms that are alike: |difference| > 2 sqrt(lg_h / 2^h), on 2^h rewards a play."""
    problem = lb.Problem(1, 2, 1)
    levelled = make is lb.regret.any_groups
    size_of = lb.lengths.any_groups_phase if levelled else lb.lengths.equal_groups_phase
    t = size_of(problem, h, constants).threshold(h)
    world = lb.World(np.zeros((1, 2)), np.ones(1), np.zeros(1, dtype=int))

    def outcomes() -> Iterator[tuple[bool, float]]:
        for samples, progress in answered(
            lambda: make(problem, constants=constants), world, 4 if levelled else 1, runs
        ):
            plays = samples[2 if levelled else 0].plays[0].tolist()
            chance = far_apart(2 * t, spread(plays, 2**h)) if min(plays) else 0.0
            yield not asked(progress).arms.all(), chance  # levelled: level 2 of phase 3

    check_rate(outcomes())
