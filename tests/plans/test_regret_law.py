"""Endless plans cut at a horizon: in law the literal loop, and regret that grows like sqrt(T).

Laws are compared at p < 1e-9 with fixed seeds. Constants are scaled down where phases, splits and
eliminations are to happen within some hundred rounds; growth is measured with the printed ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix
from lumpable.plans.plan import Belief, Conversation
from twins import literal_split
from twins.laws import same_distribution, same_law

EARLY = dataclasses.replace(lb.PAPER, phase=0.1, levels=0.08, split=0.5, finer=1.0)
"""Everything that takes the paper 1e10 rounds happens within some hundred."""
RUNS = 100


def opposites(contexts: int, sd: float = 0.5) -> lb.World:
    """Two groups of equal size that disagree on everything but the last arm."""
    group = np.arange(contexts) % 2
    mean = np.array([[1.0, 0.0, 0.4], [0.0, 1.0, 0.4]])[group]
    return lb.World(mean, np.full(contexts, 1 / contexts), group, sd=sd)


# --- In law ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    make: Callable[[], lb.Plan]
    world: lb.World
    horizon: int


CASES = {
    "equal_groups": Case(
        lambda: lb.regret.equal_groups(lb.Problem(4, 3, 2), constants=EARLY), opposites(4), 600
    ),
    "any_groups": Case(
        lambda: lb.regret.any_groups(lb.Problem(4, 3, 2), constants=EARLY), opposites(4), 700
    ),
    "unknown_groups": Case(
        lambda: lb.reductions.unknown_groups(lb.Problem(4, 3, 1), constants=EARLY),
        opposites(4, sd=0.25),
        700,
    ),
    "online": Case(lambda: lb.standard.online(lb.Problem(2, 3, 1)), opposites(2), 4500),
}


def thought(belief: Belief | None) -> tuple[int, ...]:
    """Return phase, guesses given up, clusters and good arms as numbers."""
    if belief is None or belief.cluster is None or belief.good is None:
        return (-1,) if belief is None else (belief.number,)
    rows = belief.good[belief.cluster] @ (1 << np.arange(belief.good.shape[1]))
    return (belief.number, len(belief.notes), *belief.cluster.tolist(), *rows.tolist())


@pytest.mark.parametrize("runs", [RUNS, pytest.param(2 * RUNS, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", CASES)
def test_regret_and_belief_at_a_horizon_are_those_of_the_literal_loop(name: str, runs: int) -> None:
    case = CASES[name]
    beliefs: list[Belief | None] = []

    def watch(step: lb.Step) -> None:
        beliefs[-1] = step.request.belief

    bulk = []
    for seed in range(runs):
        beliefs.append(None)
        bulk.append(
            lb.simulate(case.make(), case.world, seed=seed, horizon=case.horizon, watch=watch)
        )
    rng = np.random.default_rng([20, len(name)])
    loop = [literal_split.in_world(case.make(), case.world, rng, case.horizon) for _ in range(runs)]
    assert {run.rounds for run in bulk} == {run.rounds for run in loop} == {case.horizon}
    assert {run.result for run in bulk} == {None}
    same_distribution(
        np.array([run.regret for run in bulk]), np.array([run.regret for run in loop]), "regret"
    )
    same_law(
        np.array([[len(run.requests), *run.policy] for run in bulk]),
        np.array([[len(run.heard) + 1, *run.policy] for run in loop]),
        "requests and policy",
    )
    same_law(
        *numbered([thought(belief) for belief in beliefs], [thought(run.belief) for run in loop]),
        "final belief",
    )
    _much_happened(name, loop)


def numbered(a: list[tuple[int, ...]], b: list[tuple[int, ...]]) -> tuple[IntMatrix, IntMatrix]:
    """Number the five commonest beliefs; all others are 5."""
    common = [said for said, _ in Counter([*a, *b]).most_common(5)]
    number = {said: k for k, said in enumerate(common)}
    mine, theirs = ([[number.get(said, 5)] for said in half] for half in (a, b))
    return np.array(mine), np.array(theirs)


def _much_happened(name: str, loop: list[literal_split.Loop]) -> None:
    """The comparison is empty unless arms fell, clusters were split and guesses given up."""
    last = [run.belief for run in loop if run.belief is not None]
    assert np.mean([belief.number >= 2 for belief in last]) > 0.5
    if name == "online":
        requests = [run.request for run in loop]
        asked = [request.arms.sum() for request in requests if isinstance(request, lb.Collect)]
        assert np.mean(np.array(asked) < 6) > 0.2
        return
    goods = [belief.good for belief in last if belief.good is not None]
    assert np.mean([len(good) > 1 for good in goods]) > 0.5
    assert np.mean([not good.all() for good in goods]) > 0.2
    if name == "unknown_groups":
        assert np.mean([len(belief.notes) > 0 for belief in last]) > 0.5


@lb.algorithm
def always_the_same(problem: lb.Problem) -> Conversation:
    """Explore everything for ever, a thousand rounds a request."""
    S, K, _ = problem.letters
    while True:
        yield lb.Collect(1000, 1, np.ones((S, K), dtype=bool))


def test_no_two_answers_of_a_run_are_drawn_alike() -> None:
    """Requests have generators of their own: the same request again is another draw."""
    steps: list[lb.Step] = []
    plan = always_the_same(lb.Problem(4, 3, 2))
    lb.simulate(plan, opposites(4), seed=3, horizon=50_000, watch=steps.append)
    drawn = np.concatenate([step.sample.mean.ravel() for step in steps])
    assert len(np.unique(drawn)) == len(drawn) == 50 * 12


# --- Growth ----------------------------------------------------------------------------------

GROWTH = lb.Problem(20, 10, 2)


def one_best_arm(gap: float) -> lb.World:
    """Every arm but one is worse by this much; the groups differ in which."""
    S, K, r = GROWTH.letters
    group = np.arange(S) % r
    mean = np.full((S, K), 0.5 - gap / 2)
    mean[np.arange(S), group] += gap
    return lb.World(mean, np.full(S, 1 / S), group)


def regret_at(plan: lb.Plan, world: lb.World, T: FloatVector, seed: int) -> FloatVector:
    """Return the regret at several horizons; within a request it grows evenly on average."""
    rows = lb.simulate(plan, world, seed=seed, horizon=int(T[-1])).rows()
    rounds = [0.0, *(float(row.rounds) for row in rows)]
    regret: FloatVector = np.interp(T, rounds, [0.0, *(row.regret for row in rows)])
    return regret


def powers(first: int, number: int, step: int = 2) -> FloatVector:
    """Return 2^first and what follows."""
    return np.array([2.0 ** (first + step * k) for k in range(number)])


def worst_regret(make: Callable[[], lb.Plan], T: FloatVector, gaps: FloatVector) -> FloatMatrix:
    """Return a row for each of two seeds: at each horizon the most regret over the gaps."""
    rows = [
        np.max([regret_at(make(), one_best_arm(gap), T, seed) for gap in gaps], axis=0)
        for seed in (1, 2)
    ]
    return np.array(rows)


def slope(T: FloatVector, value: FloatVector) -> tuple[float, float]:
    """Return the slope of log value in log T, and its standard error."""
    fit = stats.linregress(np.log(T), np.log(value))
    return float(fit.slope), float(fit.stderr)


def log_factor(T: float, name: str) -> float:
    """Return the logarithms that Theorems 4 and 5 leave out, up to constants.

    Algorithm 4: L_h sqrt(lg_h / 2^h) over T = L_h leaves lg_h; Algorithm 6: h levels of that;
    elimination: the square root of the logarithm in its confidence.
    """
    S, K, r = GROWTH.letters
    if name == "online":
        return math.sqrt(2 * math.log(2 * S * K * T) + math.log(T / (S * K)))
    h, size = 1, lb.lengths.equal_groups_phase(GROWTH, 1)
    while r * (S + K) * size.lg * 2.0**h < T:
        h += 1
        size = lb.lengths.equal_groups_phase(GROWTH, h)
    return size.lg * (h if name == "any_groups" else 1)


WORST: dict[str, tuple[Callable[[], lb.Plan], int, int]] = {
    "equal_groups": (lambda: lb.regret.equal_groups(GROWTH), 34, 8),
    "any_groups": (lambda: lb.regret.any_groups(GROWTH), 38, 5),
    "online": (lambda: lb.standard.online(GROWTH), 16, 5),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_regret_over_the_gaps_grows_like_the_square_root(name: str) -> None:
    """The slope in T is 1/2 and what the logarithms add, within five standard errors.

    For each horizon another gap is the worst: a fixed one goes from slope 1 to flat.
    """
    make, first, number = WORST[name]
    T, gaps = powers(first, number), powers(0, number + 1, step=-1)
    logs, _ = slope(T, np.array([log_factor(t, name) for t in T]))
    assert 0 < logs < 0.12
    for row in worst_regret(make, T, gaps):
        measured, error = slope(T, row)
        assert error < 0.03
        assert 0.5 - 5 * error <= measured <= 0.5 + logs + 5 * error


@lb.algorithm
def never_learns(problem: lb.Problem) -> Conversation:
    S, K, _ = problem.letters
    rounds = S * K
    while True:
        rounds *= 2
        yield lb.Collect(rounds, 1, np.ones((S, K), dtype=bool))


def test_what_never_learns_has_slope_one() -> None:
    """The same measure, on a plan that must fail it."""
    T = powers(34, 4)
    for row in worst_regret(lambda: never_learns(GROWTH), T, powers(0, 5, step=-1)):
        measured, error = slope(T, row)
        assert error < 0.01
        assert measured > 0.95


@pytest.mark.parametrize(
    ("name", "first", "plays"), [("equal_groups", 24, 6e4), ("online", 10, 2**10)]
)
def test_a_fixed_instance_goes_from_slope_one_to_flat(name: str, first: int, plays: float) -> None:
    """Every arm is good until the gap is seen, and only the best one after that.

    So many plays at least went into the first point: one in ten is free, hence the error.
    """
    T = powers(first, 30, step=1)
    regret = regret_at(WORST[name][0](), one_best_arm(1.0), T, seed=4)
    error = math.sqrt(0.1 / 0.9 / plays)
    local = np.diff(np.log(regret)) / math.log(2)
    np.testing.assert_allclose(local[:4], 1.0, atol=5 * error / math.log(2))
    np.testing.assert_allclose(regret[0], 0.9 * T[0], rtol=5 * error)
    assert (np.diff(regret)[-8:] == 0).all()


def test_regret_at_a_horizon_does_not_know_the_horizon() -> None:
    """A longer run is the same run and more of it: requests that were whole stay as they were."""
    for name in ("equal_groups", "any_groups", "unknown_groups"):
        case = CASES[name]
        short, long = (
            lb.simulate(case.make(), case.world, seed=5, horizon=T).rows() for T in (500, 5000)
        )
        assert len(short) > 2
        assert short[:-1] == long[: len(short) - 1]


@pytest.mark.parametrize("name", CASES)
def test_a_request_that_was_cut_is_not_answered(name: str) -> None:
    """One round before its end a plan still thinks what it thought when it asked."""
    case = CASES[name]

    def policy(horizon: int) -> list[int]:
        run = lb.simulate(case.make(), case.world, seed=6, horizon=horizon)
        assert run.rounds == horizon
        return [int(arm) for arm in run.policy]

    rows = lb.simulate(case.make(), case.world, seed=6, horizon=3000).rows()
    ends = [row.rounds for row in rows[:-1]]
    before, last, after = ends[:-1], [end - 1 for end in ends[1:]], ends[1:]
    assert [policy(T) for T in before] == [policy(T) for T in last]
    assert [policy(T) for T in last] != [policy(T) for T in after]
