"""The guarantee, in a form that can fail.

Promises are counted over many runs and held against the package only when an exact binomial bound
says that they were broken (p < 1e-9 for each count). With the printed constants failures hardly
ever happen, so there are two more kinds of test: the same counts on runs that were spoilt on
purpose, and failure rates with constants scaled down until a closed form puts them between 5 and
50 %, tested on both sides.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable import PAPER, pac, standard, worlds
from lumpable.base.arrays import FloatMatrix, IntMatrix
from twins import witness
from twins.witness import CLAIMS, Count, Setting, Watched

RUNS, NIGHT_RUNS = 40, 1000
"""Runs of a setting. By day a promise of 10 % is seen to be broken where 72 % of the runs break it,
with probability 0.999; at night where 20 % do.
"""
ALONE_RUNS = 100
"""Seen with probability 0.999 by day: 5 % that are 37 %, 10 % that are 48 %."""
BY_DAY = (
    "Algorithm 1, uniform",
    "Algorithm 1, most uneven",
    "Algorithm 1, tight and most uneven",
    "Algorithm 1, hard instance 3",
    "Algorithm 3, uniform",
    "Algorithm 3, halving and never",
    "Algorithm 3, hard instance 3",
)
"""Settings whose runs are many by day too: every claim speaks in some of them."""
NIGHT_RATE_RUNS = 12_000


# --- Promises at printed constants -------------------------------------------------------------

SETTINGS = (
    Setting(
        "Algorithm 1, uniform",
        pac.near_uniform,
        lambda seed: worlds.lumpable(12, 16, 2, seed=seed),
        groups=2,
        epsilon=0.2,
    ),
    Setting(
        "Algorithm 1, most uneven",
        pac.near_uniform,
        lambda seed: worlds.lumpable(
            18, 6, 3, frequency=witness.most_uneven(18), noise="bernoulli", seed=seed
        ),
        groups=3,
        epsilon=0.1,
    ),
    Setting(
        "Algorithm 1, one giant group",
        pac.near_uniform,
        lambda seed: worlds.lumpable(12, 8, 4, sizes="giant", seed=seed),
        groups=4,
        epsilon=0.02,
    ),
    Setting(
        "Algorithm 1, tight",
        pac.near_uniform,
        lambda _: witness.tight(6, 3, 0.005, 0.05, witness.uniform(12), "gaussian"),
        groups=3,
        epsilon=0.005,
    ),
    Setting(
        "Algorithm 1, tight and most uneven",
        pac.near_uniform,
        lambda _: witness.tight(6, 3, 0.005, 0.05, witness.most_uneven(18), "bernoulli"),
        groups=3,
        epsilon=0.005,
    ),
    *(
        Setting(
            f"Algorithm 1, hard instance {case}",
            pac.near_uniform,
            functools.partial(
                lambda case, groups, seed: worlds.hard(
                    case, 12, 4, groups, epsilon=0.005, gap=0.5, seed=seed
                ),
                case,
                groups,
            ),
            groups=groups,
            epsilon=0.005,
        )
        for case, groups in ((1, 4), (2, 3), (3, 3))
    ),
    Setting(
        "Algorithm 3, uniform",
        pac.any_contexts,
        lambda seed: worlds.lumpable(12, 16, 2, seed=seed),
        groups=2,
        epsilon=0.2,
    ),
    Setting(
        "Algorithm 3, Zipf",
        pac.any_contexts,
        lambda seed: worlds.lumpable(16, 6, 3, frequency="zipf", seed=seed),
        groups=3,
        epsilon=0.002,
    ),
    Setting(
        "Algorithm 3, halving and never",
        pac.any_contexts,
        lambda seed: worlds.lumpable(
            10, 6, 3, frequency=witness.halving(10, 3), noise="bernoulli", seed=seed
        ),
        groups=3,
        epsilon=0.005,
    ),
    Setting(
        "Algorithm 3, hard instance 3",
        pac.any_contexts,
        lambda seed: worlds.hard(3, 12, 8, 3, epsilon=0.05, seed=seed),
        groups=3,
        epsilon=0.05,
    ),
)


def by_name(setting: Setting) -> str:
    return setting.name


def assert_promises(setting: Setting, runs: int) -> None:
    found = [witness.parts(setting.watch(seed)) for seed in range(runs)]
    everything = [part for parts in found for part in parts]
    assert everything
    odd = sum(not all(map(witness.as_assumed, parts)) for parts in found)
    counts = {"buckets as assumed (Theorem 2)": Count(odd, runs, setting.delta)}
    counts |= {claim.name: witness.count(claim, everything, setting.delta) for claim in CLAIMS}
    assert not {name: count for name, count in counts.items() if count.broken}


FEW = [setting for setting in SETTINGS if setting.name in BY_DAY]


@pytest.mark.parametrize("setting", FEW, ids=by_name)
def test_promises_of_the_lemmas_are_kept(setting: Setting) -> None:
    assert_promises(setting, RUNS)


@pytest.mark.nightly
@pytest.mark.parametrize("setting", SETTINGS, ids=by_name)
def test_promises_of_the_lemmas_are_kept_all_night(setting: Setting) -> None:
    assert_promises(setting, NIGHT_RUNS)


def test_every_claim_has_something_to_say() -> None:
    """No count is empty over the settings of the day, and (b) speaks where epsilon <= 0.005."""
    assert len(FEW) == len(BY_DAY)
    spoken = {claim.name: 0 for claim in CLAIMS}
    for setting in SETTINGS:
        parts = witness.parts(setting.watch(0))
        for claim in CLAIMS:
            trials = witness.count(claim, parts, setting.delta).trials
            spoken[claim.name] += trials if setting in FEW else 0
            if claim.fails is witness.Part.lacks_good_arm and setting.epsilon <= 0.005:
                assert trials > 0, setting.name
    assert all(spoken.values()), spoken


# --- The same counts on spoilt runs ------------------------------------------------------------

TIGHT = next(setting for setting in SETTINGS if setting.name == "Algorithm 1, tight")
FAR = lb.World(  # one arm for everybody loses 0.4; at epsilon = 0.005 at most 0.15 was proved
    np.array([[1.0, 0.2], [0.2, 0.999]])[np.arange(12) % 2],
    witness.uniform(12),
    np.arange(12) % 2,
)
SPOILT = {
    "a two thousandth of Step 1": (
        replace(TIGHT, constants=replace(PAPER, explore=PAPER.explore / 2000)),
        "coverage (Lemma pac-2)",
    ),
    "screening forgives six times as much": (
        replace(TIGHT, constants=replace(PAPER, confidence=36 * PAPER.confidence)),
        "near-optimal candidate (Lemma pac-4)",
    ),
    "screening without fresh samples": (
        replace(
            SETTINGS[0], epsilon=0.5, constants=replace(PAPER, test=1e-6, explore=PAPER.explore / 9)
        ),
        "|W| <= N r (Lemma pac-3)",
    ),
    "a four thousandth of Step 2": (
        replace(TIGHT, constants=replace(PAPER, test=PAPER.test / 4000)),
        "r screenings a level (proof of Lemma pac-3)",
    ),
    "screening forgives everything": (
        Setting(
            "far",
            pac.near_uniform,
            lambda _: FAR,
            groups=2,
            epsilon=0.005,
            constants=replace(PAPER, confidence=1000 * PAPER.confidence),
        ),
        "loss as proved (Lemmas pac-1 and pac-4, Step 3)",
    ),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_every_count_can_fail(spoilt: str) -> None:
    """Nearly every spoilt run fails: 26 of 30 are enough where 6 delta were promised."""
    setting, name = SPOILT[spoilt]
    claim = next(claim for claim in CLAIMS if claim.name == name)
    parts = [part for seed in range(30) for part in witness.parts(setting.watch(seed))]
    assert witness.count(claim, parts, setting.delta).broken


# --- Rates at constants scaled down ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rate:
    """How often something goes wrong: by a closed form of the printed lengths, and in runs."""

    name: str
    plan: Callable[[lb.Constants], lb.Plan]
    world: lb.World
    scale: dict[str, float]
    """What the printed constants are multiplied by."""
    quarters: tuple[str, ...]
    """Constants of which a poor build would use a quarter."""
    expected: Callable[[], float]
    wrong: Callable[[Watched], bool | None]
    """None when the run says nothing about it."""
    poor: float = 1.0
    """How often it goes wrong with a quarter of the samples, about."""
    runs: int = 400
    """By day: just enough to see three times as many failures, or a twentieth as many."""
    told: float = 1.0
    """The share of runs that say something about it, about."""

    @property
    def poor_runs(self) -> int:
        """Runs in which a poor build is noticed: few where it fails nearly always."""
        return RUNS if self.poor > 0.9 else self.runs

    def constants(self) -> lb.Constants:
        """The package's own constants, scaled."""
        scaled = {name: factor * getattr(PAPER, name) for name, factor in self.scale.items()}
        return replace(PAPER, **scaled)

    def quartered(self, quarter: str) -> lb.Constants:
        """The same with a quarter of the samples."""
        constants = self.constants()
        return replace(constants, **{quarter: getattr(constants, quarter) / 4})

    def seen(self, constants: lb.Constants, runs: int) -> tuple[int, int]:
        """Return how often it went wrong, and in how many runs it could."""
        watched = (witness.watch(self.plan(constants), self.world, seed) for seed in range(runs))
        spoken = [wrong for run in watched if (wrong := self.wrong(run)) is not None]
        return sum(spoken), len(spoken)

    def agrees(self, wrong: int, runs: int) -> bool:
        """Whether a two-sided exact binomial test finds nothing to object to."""
        return bool(stats.binomtest(wrong, runs, self.expected()).pvalue >= witness.SUSPICION)

    def power(self, rate: float, runs: int) -> float:
        """Return the probability that failures at this rate are noticed in so many runs."""
        spoken, expected = round(self.told * runs), self.expected()
        usual = round(expected * spoken)

        def quiet(wrong: int) -> bool:
            return bool(stats.binomtest(wrong, spoken, expected).pvalue >= witness.SUSPICION)

        first = bisect_left(range(usual), True, key=quiet)
        last = bisect_left(range(usual, spoken + 1), True, key=lambda k: not quiet(k)) + usual - 1
        return float(stats.binom.cdf(first - 1, spoken, rate) + stats.binom.sf(last, spoken, rate))


def some_arm_uncovered(watched: Watched) -> bool:
    return any(part.uncovered() for part in witness.parts(watched))


def coverage_rate(
    name: str,
    group: list[int],
    frequency: list[float],
    arms: int,
    epsilon: float,
    explore: float,
    runs: int,
) -> Rate:
    """Step 1 of Algorithm 1: L = r (S + K) 16 log(rSK/delta) / epsilon^2, times explore."""
    S, K, r, delta = len(group), arms, max(group) + 1, 0.05
    nu = np.array(frequency)
    mean = np.random.default_rng(0).random((r, K))
    L = math.ceil(explore * r * (S + K) * 16 * math.log(r * S * K / delta) / epsilon**2)
    return Rate(
        name,
        lambda constants: pac.near_uniform(
            lb.Problem(S, K, r), epsilon=epsilon, delta=delta, constants=constants
        ),
        lb.World(mean[group], nu, np.array(group)),
        {"explore": explore},
        ("explore",),
        lambda: witness.miss_rate(nu, np.array(group), K, r, epsilon, L),
        some_arm_uncovered,
        runs=runs,
    )


def bucket_rate() -> Rate:
    """Algorithm 3 with one bucket of three contexts, and two that never come.

    nu-hat of the bucket is 1 exactly, so epsilon_l = 2 epsilon, and a request of the bucket is
    stretched 4 times.
    """
    group, nu = np.array([0, 0, 1, 0, 1]), np.zeros(5)
    K, epsilon, delta, explore = 5, 0.2, 0.05, 0.01
    nu[:3] = 1 / 3
    mean = np.random.default_rng(0).random((2, K))
    inside = 2 * (3 + K) * 16 * math.log(2 * 3 * K / delta) / (2 * epsilon) ** 2
    stretched = 4 * math.ceil(explore * inside)
    return Rate(
        "coverage in a bucket",
        lambda constants: pac.any_contexts(
            lb.Problem(5, K, 2), epsilon=epsilon, delta=delta, constants=constants
        ),
        lb.World(mean[group], nu, group),
        {"explore": explore, "arrivals": 20},
        ("explore", "stretch"),
        lambda: witness.miss_rate(nu[:3], group[:3], K, 2, 2 * epsilon, stretched),
        some_arm_uncovered,
        runs=320,
    )


def screening_rate() -> Rate:
    """Step 2 without noise: contexts of the one group stay when they have no fresh estimate."""
    S, K, epsilon, delta, test = 5, 2, 0.5, 0.05, 0.003
    rounds = math.ceil(test * 8 * 16 * math.log(S * K / delta) * 2**2 * S)
    return Rate(
        "screening again at level 2",
        lambda constants: pac.near_uniform(
            lb.Problem(S, K, 1), epsilon=epsilon, delta=delta, constants=constants
        ),
        lb.World(np.tile([0.3, 0.6], (S, 1)), witness.uniform(S), np.zeros(S, dtype=int), sd=0.0),
        {"test": test},
        ("test",),
        lambda: witness.unseen_rate(S, 4, rounds),
        lambda watched: sum(repeats == 4 for repeats, _ in witness.parts(watched)[0].screened) > 1,
    )


def settling_rate(name: str, method: witness.Method, policy: float, told: float, runs: int) -> Rate:
    """Step 3 with two arms: 4 S / epsilon^2 log(SK/delta) rounds each as printed, times policy.

    In Algorithm 1 it does so only when both arms became candidates; its rounds are fresh.
    """
    epsilon, delta, gap, sd = 0.5, 0.05, 0.4, 1.0
    rounds = math.ceil(policy * 4 * 2 / epsilon**2 * math.log(2 * 2 / delta))

    def rare_context_is_wrong(watched: Watched) -> bool | None:
        result = watched.run.result
        if result is None or result.candidates != (0, 1):
            return None
        return bool(watched.run.policy[1] != 1)

    return Rate(
        name,
        lambda constants: method(
            lb.Problem(2, 2, 2), epsilon=epsilon, delta=delta, constants=constants
        ),
        lb.World(np.array([[gap, 0], [0, gap]]), np.array([0.7, 0.3]), np.arange(2), sd=sd),
        {"policy": policy},
        ("policy",),
        lambda: witness.wrong_rate(gap, sd, 0.3, rounds),
        rare_context_is_wrong,
        poor=0.26,
        runs=runs,
        told=told,
    )


def bucketing_rate() -> Rate:
    """Algorithm 3, line 2: J = 4 S / epsilon log(S/delta); a context of frequency 0.3 belongs to
    bucket 1 and is elsewhere when nu-hat is not in (1/4, 1/2].
    """
    S, epsilon, delta = 4, 0.5, 0.05
    nu = np.array([0.3, 0.3, 0.2, 0.2])
    J = math.ceil(4 * S / epsilon * math.log(S / delta))
    below, above = J // 4, J // 2

    def elsewhere(watched: Watched) -> bool:
        result = watched.run.result
        buckets = () if result is None else result.buckets
        return not any(bucket.level == 1 and bucket.contexts[0] for bucket in buckets)

    return Rate(
        "a frequent context in a wrong bucket",
        lambda constants: pac.any_contexts(
            lb.Problem(S, 2, 1), epsilon=epsilon, delta=delta, constants=constants
        ),
        lb.World(np.tile([0.3, 0.6], (S, 1)), nu, np.zeros(S, dtype=int)),
        {},
        ("arrivals",),
        lambda: float(stats.binom.cdf(below, J, 0.3) + stats.binom.sf(above, J, 0.3)),
        elsewhere,
        poor=0.32,
        runs=360,
    )


RATES = (
    coverage_rate("coverage, one group", [0] * 4, [1 / 4] * 4, 6, 0.5, explore=0.02, runs=200),
    coverage_rate(
        "coverage, equal groups", [0, 1] * 3, [1 / 6] * 6, 5, 0.5, explore=0.016, runs=260
    ),
    coverage_rate(
        "coverage, groups of two levels",
        [0, 0, 0, 1, 1],
        [0.2, 0.3, 0.3, 0.2, 0],
        arms=4,
        epsilon=0.35,
        explore=0.016,
        runs=140,
    ),
    bucket_rate(),
    screening_rate(),
    settling_rate("wrong arm, naive", standard.naive, policy=0.5, told=1.0, runs=440),
    settling_rate("wrong arm, Step 3", pac.near_uniform, policy=0.5, told=0.45, runs=940),
    bucketing_rate(),
)


def rate_name(rate: Rate) -> str:
    return rate.name


@pytest.mark.parametrize("rate", RATES, ids=rate_name)
def test_failures_come_at_the_rate_of_the_closed_form(rate: Rate) -> None:
    assert 0.05 <= rate.expected() <= 0.5
    assert rate.agrees(*rate.seen(rate.constants(), rate.runs))


@pytest.mark.parametrize("rate", RATES, ids=rate_name)
def test_enough_runs_to_notice(rate: Rate) -> None:
    """By exact binomial probabilities: three times and a twentieth of the rate, a poor build."""
    expected = rate.expected()
    assert rate.power(min(1.0, 3 * expected), rate.runs) > 0.998
    assert rate.power(expected / 20, rate.runs) > 0.998
    assert rate.power(rate.poor, rate.poor_runs) > 0.998


@pytest.mark.nightly
@pytest.mark.parametrize("rate", RATES, ids=rate_name)
def test_failures_come_at_the_rate_of_the_closed_form_all_night(rate: Rate) -> None:
    assert rate.agrees(*rate.seen(rate.constants(), NIGHT_RATE_RUNS))


@pytest.mark.parametrize(
    ("rate", "quarter"),
    [
        pytest.param(
            rate,
            quarter,
            marks=[pytest.mark.nightly] if rate.name == "wrong arm, Step 3" else [],
            id=f"{rate.name}-{quarter}",
        )
        for rate in RATES
        for quarter in rate.quarters
    ],
)
def test_a_build_that_collects_a_quarter_is_noticed(rate: Rate, quarter: str) -> None:
    wrong, runs = rate.seen(rate.quartered(quarter), rate.poor_runs)
    assert not rate.agrees(wrong, runs)
    assert wrong / runs > 0.8 * rate.poor  # so that the runs are as many as that rate needs


# --- Methods that ignore the groups -------------------------------------------------------------


def barely_worse(arms: int, gap: float, frequency: list[float]) -> lb.World:
    """One good arm for everybody; any other costs a context `gap`."""
    mean = np.full((len(frequency), arms), 0.5 - gap)
    mean[:, 0] = 0.5
    return lb.World(mean, np.array(frequency), np.zeros(len(frequency), dtype=int))


@dataclass(frozen=True, eq=False)
class Alone:
    """A world and an epsilon for a method that treats each context on its own."""

    name: str
    epsilon: float
    world: Callable[[int], lb.World]
    delta: float = 0.05

    def losses(self, method: witness.Method, runs: int, **more: lb.Constants) -> list[float]:
        """Return the loss of each run that did not say that it failed."""
        found = []
        for seed in range(runs):
            world = self.world(seed)
            problem = lb.Problem(world.contexts, world.arms, world.groups)
            plan = method(problem, epsilon=self.epsilon, delta=self.delta, **more)
            run = lb.simulate(plan, world, seed=seed)
            if not run.notes:
                found.append(world.loss(run.policy))
        return found


def naive_promise(epsilon: float) -> float:
    """2 sqrt(2) epsilon + 4 epsilon^2, with probability at least 1 - 2 delta."""
    return 2 * math.sqrt(2) * epsilon + 4 * epsilon**2


ALONE = (
    Alone("gap just above epsilon", 0.1, lambda _: barely_worse(4, 0.101, [1.0])),
    Alone("the same, skewed", 0.1, lambda _: barely_worse(4, 0.12, [0.9, 0.05, 0.05, 0.0])),
    Alone(
        "gap just above the naive promise",
        0.1,
        lambda _: barely_worse(4, 1.01 * naive_promise(0.1), [1.0]),
    ),
    Alone("Zipf", 0.05, lambda seed: worlds.lumpable(12, 6, 3, frequency="zipf", seed=seed)),
    Alone(
        "halving and never",
        0.02,
        lambda seed: worlds.lumpable(
            8, 5, 2, frequency=witness.halving(8, 2), noise="bernoulli", seed=seed
        ),
    ),
    Alone("hard instance 1", 0.1, lambda seed: worlds.hard(1, 8, 4, 4, epsilon=0.1, seed=seed)),
    Alone("hard instance 3", 0.1, lambda seed: worlds.hard(3, 8, 4, 2, epsilon=0.1, seed=seed)),
)


def eliminated(alone: Alone, runs: int) -> tuple[Count, Count]:
    """Count wrong certificates, and runs that ended without one (`bounds.elimination_phases`)."""
    losses = alone.losses(standard.elimination, runs)
    wrong = sum(loss > alone.epsilon for loss in losses)
    return Count(wrong, runs, alone.delta), Count(runs - len(losses), runs, 2 * alone.delta)


def above_the_naive_promise(alone: Alone, runs: int, constants: lb.Constants = PAPER) -> Count:
    losses = alone.losses(standard.naive, runs, constants=constants)
    promise = naive_promise(alone.epsilon)
    return Count(sum(loss > promise for loss in losses), runs, 2 * alone.delta)


def assert_alone(alone: Alone, runs: int) -> None:
    wrong, uncertified = eliminated(alone, runs)
    assert not wrong.broken
    assert not uncertified.broken
    assert not above_the_naive_promise(alone, runs).broken


@pytest.mark.parametrize("alone", ALONE[::2], ids=lambda alone: alone.name)
def test_elimination_and_the_naive_method_keep_their_promise(alone: Alone) -> None:
    assert_alone(alone, ALONE_RUNS)


@pytest.mark.nightly
@pytest.mark.parametrize("alone", ALONE, ids=lambda alone: alone.name)
def test_elimination_and_the_naive_method_keep_their_promise_all_night(alone: Alone) -> None:
    assert_alone(alone, NIGHT_RUNS)


@pytest.mark.parametrize(
    "alone",
    [pytest.param(ALONE[0], marks=pytest.mark.nightly), ALONE[1]],
    ids=lambda alone: alone.name,
)
def test_elimination_with_narrow_confidence_is_noticed(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = standard.confidence

    def narrow(
        plays: IntMatrix, mean: FloatMatrix, delta: float
    ) -> tuple[FloatMatrix, FloatMatrix]:
        lower, upper = honest(plays, mean, delta)
        return mean - (mean - lower) / 4, mean + (upper - mean) / 4

    monkeypatch.setattr(standard, "confidence", narrow)
    wrong, _ = eliminated(alone, 2 * ALONE_RUNS)
    assert wrong.broken


def test_a_naive_method_with_too_few_samples_is_noticed() -> None:
    constants = replace(PAPER, policy=PAPER.policy / 100)
    assert above_the_naive_promise(ALONE[2], ALONE_RUNS, constants).broken
