"""Equality in law: the bulk simulator against Algorithm 2 played literally, round by round.

Every test fails only where a p-value is below 1e-9; seeds are fixed. Means, arms and arrivals of
the oracle are also held against closed forms, so that both sides cannot be wrong together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import BoolMatrix, FloatVector, IntMatrix, IntVector
from lumpable.plans.plan import Conversation
from lumpable.runs.answers import answer
from lumpable.runs.run import Step
from twins import literal, literal_split
from twins.laws import Ints, alike, has_mean, same_distribution, same_law
from twins.literal_split import Loop

REPLICATIONS, NIGHT_REPLICATIONS = 800, 2400


# --- Cases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    name: str
    rounds: int
    repeats: int
    arms: list[str]
    """A row for each context: x where K(i) has the arm."""
    frequency: list[float]
    noise: str = "gaussian"
    sd: float = 1.0
    policy: list[int] = field(default_factory=list)

    @cached_property
    def sets(self) -> BoolMatrix:
        return np.array([[mark == "x" for mark in row] for row in self.arms])

    @cached_property
    def request(self) -> lb.Collect:
        return lb.Collect(self.rounds, self.repeats, self.sets)

    @cached_property
    def world(self) -> lb.World:
        mean = np.random.default_rng(len(self.name)).uniform(0.1, 0.9, self.sets.shape)
        return lb.World(
            mean, np.array(self.frequency), np.arange(len(mean)), self.noise, self.sd, self.name
        )

    @cached_property
    def idle_arm(self) -> IntVector:
        return np.array(self.policy or [0] * len(self.arms))


THIRDS = [1 / 3, 1 / 3, 1 / 3]
CASES = [
    Case("few plays, gaussian", 12, 2, ["xx", "xx", "xx"], [0.5, 0.3, 0.2]),
    Case("few plays, bernoulli", 12, 2, ["xx", "xx", "xx"], [0.5, 0.3, 0.2], "bernoulli"),
    Case("many plays, gaussian", 180, 1, ["xxx", "xxx"], [0.5, 0.5], sd=0.3),
    Case("many plays, bernoulli", 180, 2, ["xx", "xx"], [0.6, 0.4], "bernoulli"),
    Case("rows of different size", 15, 2, ["x.x", ".xx", "..x"], THIRDS),
    Case("empty rows", 10, 3, ["xx.", "...", ".xx", "..."], [0.4, 0.3, 0.2, 0.1], policy=[2] * 4),
    Case("empty rows, bernoulli", 9, 1, ["...", "xxx"], [0.5, 0.5], "bernoulli", policy=[1, 0]),
    Case("contexts that never come", 12, 2, ["xx", "xx", "xx", "xx"], [0, 0.4, 0.6, 0]),
    Case("more repeats than visits", 9, 16, ["xxx", "xxx"], [0.7, 0.3]),
    Case("repeats about as many as visits", 12, 5, ["xx", "xx"], [0.5, 0.5], "bernoulli"),
    Case("one arm in all", 11, 2, ["x", "x"], [0.5, 0.5]),
    Case("one arm each", 14, 3, [".x", "x."], [0.8, 0.2], "bernoulli"),
    Case("one context", 8, 2, ["xxx"], [1.0], sd=2.0),
    Case("one round", 1, 1, ["xx", "xx"], [0.5, 0.5]),
]


@dataclass(frozen=True)
class Draws:
    """Many independent answers to one request: the first axis counts them."""

    plays: Ints
    mean: npt.NDArray[np.float64]
    visits: IntMatrix
    unfinished_arm: IntMatrix
    unfinished_rounds: IntMatrix
    regret: FloatVector

    def errors(self, case: Case) -> FloatVector:
        """Return all errors of Gaussian means in units of their standard deviation."""
        seen = self.plays > 0
        root = np.sqrt(self.plays * float(case.repeats))
        errors: FloatVector = ((self.mean - case.world.mean) * root / case.world.sd)[seen]
        return errors


def in_bulk(case: Case, rng: np.random.Generator, times: int) -> Draws:
    got = [answer(case.request, case.world, rng, case.idle_arm) for _ in range(times)]
    visits = np.array([a.visits for a in got])
    asked = case.sets.any(axis=1)
    return Draws(
        np.array([a.sample.plays for a in got]),
        np.array([a.sample.mean for a in got]),
        visits,
        np.array([a.unfinished for a in got]),
        np.where(asked, visits % case.repeats, 0),
        np.array([a.regret for a in got]),
    )


def played_literally(case: Case, rng: np.random.Generator, times: int) -> Draws:
    world = case.world
    calls = [literal.in_world(case.request, world, rng, case.idle_arm) for _ in range(times)]
    return Draws(
        np.array([c.sample.plays for c in calls]),
        np.array([c.sample.mean for c in calls]),
        np.array([c.visits for c in calls]),
        np.array([c.unfinished_arm for c in calls]),
        np.array([c.unfinished_rounds for c in calls]),
        np.array([c.regret for c in calls]),
    )


@dataclass(frozen=True)
class Pair:
    case: Case
    bulk: Draws
    loop: Draws

    @property
    def both(self) -> dict[str, Draws]:
        return {"bulk": self.bulk, "loop": self.loop}


def by_day_and_by_night() -> Iterator[Any]:
    for case in CASES:
        name = case.name.replace(" ", "-")
        yield pytest.param((case, REPLICATIONS), id=name)
        yield pytest.param(
            (case, NIGHT_REPLICATIONS), marks=pytest.mark.nightly, id=f"{name}-all-night"
        )


@pytest.fixture(scope="module", params=list(by_day_and_by_night()))
def pair(request: pytest.FixtureRequest) -> Pair:
    case, times = request.param
    rng = np.random.default_rng([20231210, CASES.index(case)])
    return Pair(case, in_bulk(case, rng, times), played_literally(case, rng, times))


# --- One request ----------------------------------------------------------------------------


def test_every_round_is_accounted_for(pair: Pair) -> None:
    case = pair.case
    asked = case.sets.any(axis=1)
    for draws in pair.both.values():
        finished = draws.plays.sum(axis=2) * case.repeats
        total = finished + draws.unfinished_rounds
        np.testing.assert_array_equal(total[:, asked], draws.visits[:, asked])
        np.testing.assert_array_equal(draws.visits.sum(axis=1), case.rounds)
        assert not draws.visits[:, np.array(case.frequency) == 0].any()


def test_only_what_was_asked_is_played(pair: Pair) -> None:
    sets = pair.case.sets
    for draws in pair.both.values():
        assert not draws.plays[:, ~sets].any()
        np.testing.assert_array_equal(np.isnan(draws.mean), draws.plays == 0)
        under_way = draws.unfinished_rounds > 0
        np.testing.assert_array_equal(draws.unfinished_arm >= 0, under_way)
        run, context = np.nonzero(under_way)
        assert sets[context, draws.unfinished_arm[run, context]].all()


def test_plays_and_unfinished_play_of_each_context(pair: Pair) -> None:
    def everything(draws: Draws, i: int) -> Ints:
        columns = (draws.plays[:, i].T, draws.unfinished_arm[:, i], draws.unfinished_rounds[:, i])
        return np.vstack(columns).T

    for i in range(len(pair.case.arms)):
        same_law(everything(pair.bulk, i), everything(pair.loop, i), f"context {i}")


def test_visits_and_unfinished_plays_of_all_contexts_together(pair: Pair) -> None:
    def together(draws: Draws) -> Ints:
        return np.concatenate([draws.visits, draws.unfinished_arm], axis=1)

    same_law(together(pair.bulk), together(pair.loop), "visits and unfinished arms")


def test_means_given_the_pair_and_its_plays(pair: Pair) -> None:
    case, bulk, loop = pair.case, pair.bulk, pair.loop
    for i, j in np.argwhere(case.sets):
        if case.noise == "bernoulli":
            a, b = (_plays_and_successes(draws, case, i, j) for draws in (bulk, loop))
            same_law(a, b, f"plays and successes of ({i}, {j})")
            continue
        for plays in _commonest(bulk.plays[:, i, j], 3):
            a, b = (draws.mean[draws.plays[:, i, j] == plays, i, j] for draws in (bulk, loop))
            same_distribution(a, b, f"means of ({i}, {j}) after {plays} plays")


def _plays_and_successes(draws: Draws, case: Case, i: int, j: int) -> Ints:
    plays = draws.plays[:, i, j]
    rewards = np.nan_to_num(draws.mean[:, i, j]) * plays * case.repeats
    np.testing.assert_allclose(rewards, np.rint(rewards), atol=1e-9)
    return np.stack([plays, np.rint(rewards).astype(np.int64)], axis=1)


def _commonest(values: Ints, most: int) -> list[int]:
    value, count = np.unique(values[values > 0], return_counts=True)
    return [int(v) for v in value[np.argsort(-count)][:most]]


def test_errors_of_means_are_normal_with_variance_sd2_over_plays_times_repeats(pair: Pair) -> None:
    if pair.case.noise == "bernoulli":
        _check_bernoulli_variance(pair)
        return
    for who, draws in pair.both.items():
        errors = draws.errors(pair.case)
        if len(errors) == 0:
            continue
        alike(float(stats.kstest(errors, "norm").pvalue), f"{who}: normal errors")
        squares = float(np.sum(errors**2))  # chi-square with as many degrees, exactly
        tails = stats.chi2.cdf(squares, len(errors)), stats.chi2.sf(squares, len(errors))
        alike(2 * float(min(tails)), f"{who}: variance of the errors")


def _check_bernoulli_variance(pair: Pair) -> None:
    A = pair.case.world.mean
    for who, draws in pair.both.items():
        seen = draws.plays > 0
        variance = A * (1 - A) / np.maximum(draws.plays * pair.case.repeats, 1)
        squares = ((draws.mean - A) ** 2 / variance)[seen]
        has_mean(squares, 1.0, f"{who}: variance of the errors")


def test_means_are_independent_of_plays_and_of_each_other(pair: Pair) -> None:
    A = pair.case.world.mean
    for who, draws in pair.both.items():
        error = np.where(draws.plays > 0, draws.mean - A, 0.0).reshape(len(draws.plays), -1)
        plays = draws.plays.reshape(len(draws.plays), -1)
        centred = plays - plays.mean(axis=0)
        for k in range(error.shape[1]):
            others = np.delete(error, k, axis=1)
            products = error[:, [k]] * np.concatenate([others, centred], axis=1)
            has_mean(products, np.zeros(products.shape[1]), f"{who}: error {k} times the others")


def test_regret(pair: Pair) -> None:
    same_distribution(pair.bulk.regret, pair.loop.regret, "regret")


def test_expected_visits_plays_and_regret(pair: Pair) -> None:
    case, world = pair.case, pair.case.world
    number = case.sets.sum(axis=1)
    finished = [_expected_plays(case, nu) for nu in world.frequency]
    plays = case.sets * (np.array(finished) / np.maximum(number, 1))[:, np.newaxis]
    gap = world.best[:, np.newaxis] - world.mean
    idle = gap[np.arange(len(gap)), case.idle_arm]
    asked = (gap * case.sets).sum(axis=1) / np.maximum(number, 1)
    regret = case.rounds * world.frequency @ np.where(number > 0, asked, idle)
    for who, draws in pair.both.items():
        has_mean(draws.visits, case.rounds * world.frequency, f"{who}: visits")
        has_mean(draws.plays, plays, f"{who}: plays")
        has_mean(draws.regret, regret, f"{who}: regret")


def _expected_plays(case: Case, nu: float) -> float:
    """E floor(v / repeats) for v ~ Binomial(rounds, nu)."""
    v = np.arange(case.rounds + 1)
    return float(stats.binom.pmf(v, case.rounds, nu) @ (v // case.repeats))


def test_cases_cover_both_ways_of_dealing_plays() -> None:
    """Fewer than 2 plays per arm are dealt one by one, more by halving."""
    from lumpable.runs.kernels import ONE_BY_ONE

    per_arm = [
        max(
            case.rounds * nu / case.repeats / row.count("x")
            for nu, row in zip(case.frequency, case.arms, strict=True)
            if row.count("x") > 0
        )
        for case in CASES
    ]
    assert sum(plays > 1.5 * ONE_BY_ONE for plays in per_arm) >= 2
    assert sum(plays < 0.5 * ONE_BY_ONE for plays in per_arm) >= 2


def test_without_noise_the_means_are_the_truth() -> None:
    case = Case("no noise", 40, 2, ["xx", "x."], [0.5, 0.5], sd=0.0)
    rng = np.random.default_rng(5)
    for _ in range(50):
        sample = answer(case.request, case.world, rng).sample
        seen = sample.plays > 0
        np.testing.assert_array_equal(sample.mean[seen], case.world.mean[seen])


def test_a_context_that_never_comes_does_not_come_in_1e18_rounds() -> None:
    """numpy's multinomial hands its rounding remainder to the last cell (reading 10)."""
    case = Case("remainder", 10**18, 2, ["xx"] * 4, [*THIRDS, 0.0])
    rng = np.random.default_rng(5)
    for _ in range(20):
        got = answer(case.request, case.world, rng)
        assert got.visits[-1] == 0
        assert got.visits.sum() == case.rounds
        assert not got.sample.plays[-1].any()


def test_repeats_beyond_64_bits_are_simply_never_finished() -> None:
    case = Case("no end", 40, 2**70, ["xx", "x."], [0.5, 0.5])
    got = answer(case.request, case.world, np.random.default_rng(5))
    assert not got.sample.plays.any()
    assert (got.unfinished >= 0).all()


# --- Arms of the live session ---------------------------------------------------------------


def test_counted_draws_are_uniform_and_independent() -> None:
    """First two plays of two contexts in two requests, one row for each of many seeds."""
    seeds, size = 30_000, 3
    rows = [_first_draws(seed, size) for seed in range(seeds)]
    cells = np.ravel_multi_index(np.array(rows).T, (size,) * 8)
    counts = np.bincount(cells, minlength=size**8)
    alike(float(stats.chisquare(counts).pvalue), "draws of neighbouring seeds")


def _first_draws(seed: int, size: int) -> list[int]:
    requests = [literal.from_counter(seed, number, 2) for number in range(2)]
    return [arm(context, play, size) for arm in requests for context in (0, 1) for play in (0, 1)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_counted_draws_within_one_request(size: int) -> None:
    arm = literal.from_counter(1, 0, 20)
    draws = np.array([[arm(i, play, size) for play in range(3000)] for i in range(20)])
    assert draws.min() >= 0
    assert draws.max() < size
    if size == 1:
        return
    alike(float(stats.chisquare(np.bincount(draws.ravel(), minlength=size)).pvalue), "uniform")
    few = draws * min(size, 7) // size
    next_to = np.stack([few[:, :-1].ravel(), few[:, 1:].ravel()])
    _uniform_pairs(next_to, size, "plays in a row")
    _uniform_pairs(np.stack([few[:-1].ravel(), few[1:].ravel()]), size, "neighbouring contexts")


def _uniform_pairs(pairs: IntMatrix, size: int, what: str) -> None:
    bins = min(size, 7)
    weight = np.bincount(np.arange(size) * bins // size) / size
    expected = np.outer(weight, weight).ravel() * pairs.shape[1]
    counts = np.bincount(pairs[0] * bins + pairs[1], minlength=bins**2)
    alike(float(stats.chisquare(counts, expected).pvalue), what)


# --- Whole plans and horizons ---------------------------------------------------------------


@lb.algorithm
def two_requests(contexts: int, arms: int) -> Conversation:
    """Everything first, then the looked-for best arm of the even contexts only."""
    sample = yield lb.Collect(14, 1, np.ones((contexts, arms), dtype=bool))
    best = np.argmax(np.where(sample.plays > 0, sample.mean, -np.inf), axis=1)
    sets = np.zeros((contexts, arms), dtype=bool)
    sets[::2, :2] = True
    yield lb.Collect(30, 4, sets, lb.Belief("second", best))
    return lb.Result(best)


def tiny_world(noise: str = "gaussian") -> lb.World:
    return lb.worlds.lumpable(
        3, 3, 2, frequency=[0.5, 0.3, 0.2], noise=noise, sd=0.3, means="hard", seed=4
    )


CUT_RUNS = 800


@pytest.mark.parametrize(
    "horizon", [14, 33, *(pytest.param(T, marks=pytest.mark.nightly) for T in (5, 15, 44))]
)
def test_horizon_cuts_a_request_where_the_literal_loop_stops(horizon: int) -> None:
    world = tiny_world()
    rng = np.random.default_rng([7, horizon])
    bulk = [
        lb.simulate(two_requests(3, 3), world, seed=seed, horizon=horizon)
        for seed in range(CUT_RUNS)
    ]
    loop = [
        literal_split.in_world(two_requests(3, 3), world, rng, horizon=horizon)
        for _ in range(CUT_RUNS)
    ]
    assert {run.rounds for run in bulk} == {run.rounds for run in loop} == {horizon}
    assert {run.result is None for run in bulk} == {horizon < 44}
    same_distribution(_regrets(bulk), _regrets(loop), "regret")
    same_law(_policies(bulk), _policies(loop), "policy")


def _regrets(runs: Iterable[lb.Run | Loop]) -> FloatVector:
    return np.array([run.regret for run in runs])


def _policies(runs: Iterable[lb.Run | Loop]) -> IntMatrix:
    return np.array([run.policy for run in runs])


def test_a_horizon_may_be_written_as_a_float_that_is_whole() -> None:
    problem, world = lb.Problem(6, 4, 2), lb.worlds.lumpable(6, 4, 2, seed=1)
    plans = [lb.regret.any_groups(problem) for _ in range(2)]
    runs = [
        lb.simulate(plan, world, seed=3, horizon=horizon)
        for plan, horizon in zip(plans, (1e10, 10**10), strict=True)
    ]
    assert [run.rounds for run in runs] == [10**10] * 2
    assert type(runs[0].rounds) is int
    assert runs[0].regret == runs[1].regret
    for wrong in (1e10 + 0.5, 1e19, math.inf, math.nan, "1e10"):
        with pytest.raises(lb.BadArgument, match=r"^horizon: expected one of 1 \.\. 9223"):
            lb.simulate(lb.regret.any_groups(problem), world, seed=3, horizon=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("horizon", [1, 13, 14, 15, 43, 44, 45, 10**6])
def test_horizon_plays_exactly_that_many_rounds(horizon: int) -> None:
    steps: list[Step] = []
    run = lb.simulate(two_requests(3, 3), tiny_world(), seed=1, horizon=horizon, watch=steps.append)
    assert run.rounds == min(horizon, 44) == sum(step.request.rounds for step in steps)
    assert run.rows()[-1].rounds == run.rounds == steps[-1].rounds
    assert steps[0].sample.plays.sum() == min(horizon, 14)  # repeats 1, everybody asked
    assert (run.result is None) == (horizon < 44)


SMALL = dataclasses.replace(
    lb.PAPER, confidence=0.2, explore=0.4, test=0.5, policy=0.1, arrivals=0.5, stretch=2.0
)
WHOLE_RUNS = 250
WHOLE_PLANS: dict[str, Callable[[], lb.Plan]] = {
    "near_uniform": lambda: lb.pac.near_uniform(
        lb.Problem(3, 3, 2), epsilon=0.5, delta=0.1, constants=SMALL
    ),
    "any_contexts": lambda: lb.pac.any_contexts(
        lb.Problem(3, 3, 2), epsilon=0.5, delta=0.1, constants=SMALL
    ),
}


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        pytest.param("near_uniform", "gaussian", marks=pytest.mark.nightly),
        ("near_uniform", "bernoulli"),
        ("any_contexts", "gaussian"),
    ],
)
def test_whole_plans(name: str, noise: str) -> None:
    """Rounds and policy jointly, and the regret, of whole runs that depend on what they see."""
    world, make = tiny_world(noise), WHOLE_PLANS[name]
    rng = np.random.default_rng(11)
    bulk = [lb.simulate(make(), world, seed=seed) for seed in range(WHOLE_RUNS)]
    loop = [literal_split.in_world(make(), world, rng) for _ in range(WHOLE_RUNS)]

    def outcome(runs: Iterable[lb.Run | Loop]) -> Ints:
        return np.array([[*run.policy, run.rounds] for run in runs])

    same_law(outcome(bulk), outcome(loop), "policy and rounds")
    same_distribution(_regrets(bulk), _regrets(loop), "regret")
