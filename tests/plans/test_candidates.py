"""Candidates under any answers and under scripted ones, request by request.

Numbers of the scripts are in units of c, the radius of the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.base.errors import BadArgument
from lumpable.plans import candidates_literal
from lumpable.plans.candidates_literal import Attempt, certified_rounds, depth, levels
from lumpable.plans.candidates_pooled import Block, enough, list_draws
from lumpable.plans.plan import Collect
from lumpable.plans.progress import Progress
from lumpable.plans.regret_bounds import CANDIDATES
from lumpable.plans.seen import Sample
from lumpable.runs.outcome import policy_outcome
from twins.watched_candidates import WatchedAttempt, WatchedBlock, drive

# --- Any answers ------------------------------------------------------------------------------


class Wild:
    """Answers that fit their requests, and nothing else: missing pairs, absurd noise."""

    def __init__(self, seed: int, scale: float, missing: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.scale = scale
        self.missing = missing

    def __call__(self, request: Collect) -> Sample:
        S, K = request.shape
        seen = request.arms & (self.rng.random((S, K)) >= self.missing)
        plays = np.where(seen, self.rng.integers(1, 4, size=(S, K)), 0)
        mean = self.rng.random((S, 1)) + self.scale * self.rng.normal(size=(S, K))
        return Sample(plays, np.where(seen, mean, np.nan))


wild = st.builds(
    Wild,
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.0, 0.1, 1.0, 300.0, 1e300]),
    missing=st.sampled_from([0.0, 0.0, 0.3, 0.9, 1.0]),
)
sizes = st.tuples(st.integers(1, 7), st.integers(1, 12)).map(lambda size: lb.Problem(*size, 1))


@settings(max_examples=60)
@given(problem=sizes, ell=st.floats(1, 3), answer=wild)
def test_a_block_ends_its_runs_under_any_answers(
    problem: lb.Problem, ell: float, answer: Wild
) -> None:
    """What is checked on the way: `WatchedBlock`."""
    block = WatchedBlock(problem, ell)
    for q in range(9, 13):
        drive(block.run(q), answer)
    S = problem.contexts
    assert block.R == 1 or block.R < 2 * S


@settings(max_examples=60)
@given(problem=sizes, R=st.sampled_from([1, 2, 4]), Lg=st.floats(0.01, 3), answer=wild)
def test_an_attempt_ends_under_any_answers(
    problem: lb.Problem, R: int, Lg: float, answer: Wild
) -> None:
    attempt = WatchedAttempt(problem, R, Lg)
    ok = drive(attempt.climb(6), answer)
    assert ok or problem.contexts > R


PLANS: dict[str, Callable[[lb.Problem], lb.Plan]] = {
    "pooled": lambda problem: lb.regret.candidates(problem),
    "horizon": lambda problem: lb.regret.candidates(problem, horizon=3),
    "literal": lambda problem: lb.regret.candidates(problem, literal=True),
    "policy": lambda problem: lb.pac.candidates(problem, epsilon=0.5, delta=0.1),
}
plans = pytest.mark.parametrize("name", PLANS)


def asked(plan: lb.Plan, answer: Wild, number: int) -> list[tuple[Any, ...]]:
    """The first requests, as values; they are asked in whole numbers."""
    progress = Progress(plan)
    found: list[tuple[Any, ...]] = []
    while len(found) < number and isinstance(request := progress.request, Collect):
        belief = request.belief
        assert belief is not None
        assert belief.kind
        assert type(request.rounds) is int
        assert type(request.repeats) is int
        row = (request.rounds, request.repeats, request.arms.tolist(), belief.phase)
        found.append((*row, belief.policy.tolist(), belief.candidates))
        progress.answer(answer(request))
    return found


@plans
@settings(max_examples=10)
@given(problem=sizes, seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.3, 1.0]))
def test_the_same_answers_give_the_same_requests(
    name: str, problem: lb.Problem, seed: int, missing: float
) -> None:
    first = asked(PLANS[name](problem), Wild(seed, 1.0, missing), 60)
    assert asked(PLANS[name](problem), Wild(seed, 1.0, missing), 60) == first


@plans
def test_groups_are_ignored(name: str) -> None:
    one, many = (asked(PLANS[name](lb.Problem(5, 4, r)), Wild(1, 0.3, 0.1), 80) for r in (1, 5))
    assert one == many


@pytest.mark.parametrize("literal", [False, True])
def test_a_world_that_never_answers_is_served_for_ever(literal: bool) -> None:
    """Runs 1 .. 1100 and more: 2.0**q would overflow, and whole numbers do not."""
    problem = lb.Problem(1, 1, 1)
    nothing = Sample(np.zeros((1, 1), dtype=np.int64), np.full((1, 1), np.nan))
    if literal:
        Lg = 16 * (math.log(2) + 1100 * math.log(2))
        attempt = WatchedAttempt(problem, 1, Lg)
        assert drive(attempt.subphase(1100), lambda _: nothing)
        assert attempt.used == math.ceil(32 * Lg)  # one stage, and the pair has fallen out
        return
    block = WatchedBlock(problem, 800.0)
    block.done = 1085
    for q in range(1100, 1103):
        drive(block.run(q), lambda _: nothing)
    assert block.used >= 2**1103 - 1
    assert block.done >= 1090


def test_so_many_plays_that_floats_cannot_count_them() -> None:
    """Counts stop at 2^900; every test goes on to its end."""
    problem = lb.Problem(2, 3, 1)
    world = lb.World(np.array([[0.1, 0.5, 0.2]] * 2), np.full(2, 0.5), np.zeros(2, dtype=int))

    def all_of_them(request: Collect) -> Sample:
        plays = np.where(request.arms, 2**62, 0)
        return Sample(plays, np.where(request.arms, world.mean, np.nan))

    block = WatchedBlock(problem, 900.0, world)
    block.done = 1180
    drive(block.run(1200), all_of_them)
    assert np.isfinite(block.count).all()
    assert block.arm.tolist() == [1, 1]
    assert not block.promises.broken
    attempt = WatchedAttempt(problem, 1, 1e4, world)
    assert drive(attempt.subphase(2200), all_of_them)  # c(2200) = 0 in floats
    assert attempt.arm.tolist() == [1, 1]
    assert not attempt.promises.broken


def test_infinite_means_cannot_be_told() -> None:
    """So that plans need no rule for them: a pair has a finite mean, or no finished play."""
    for value in (math.inf, -math.inf, math.nan):
        with pytest.raises(BadArgument, match="mean"):
            Sample(np.ones((1, 1), dtype=np.int64), np.full((1, 1), value))


# --- Scripted: requests -------------------------------------------------------------------------


def everything_seen(mean: Any) -> Any:
    """An answer in which every pair that was asked for was seen once."""

    def answer(request: Collect) -> Sample:
        value = np.broadcast_to(np.asarray(mean, dtype=float), request.shape)
        return Sample(request.arms.astype(np.int64), np.where(request.arms, value, np.nan))

    return answer


def test_the_first_runs_serve_and_blocks_forget() -> None:
    """Run q is 2^q (S + K) rounds of arm 0 until a level can tell anything."""
    problem = lb.Problem(5, 4, 1)
    rows = asked(lb.regret.candidates(problem), Wild(1, 0.0, 1.0), 6)
    assert [row[0] for row in rows] == [9 * 2**q for q in range(8, 14)]
    assert all(not np.any(row[2]) for row in rows)


def test_a_new_block_forgets_everything() -> None:
    """The first request for data in runs 16 and 32 comes with arm 0 for everybody."""
    progress = Progress(lb.regret.candidates(lb.Problem(5, 4, 1)))
    answer = everything_seen([0.1, 0.2, 0.9, 0.3])
    beliefs: dict[int, list[lb.Belief]] = {}
    while not beliefs or max(beliefs) < 33:
        assert isinstance(progress.request, Collect)
        assert progress.request.belief is not None
        beliefs.setdefault(progress.request.belief.number, []).append(progress.request.belief)
        progress.answer(answer(progress.request))
    for q, told in beliefs.items():
        assert {belief.restarts for belief in told} == {0 if q < 16 else 1 if q < 32 else 2}
    assert all(beliefs[q][-1].policy.tolist() == [2] * 5 for q in (15, 31))
    assert all(beliefs[q][0].policy.tolist() == [0] * 5 for q in (16, 32))


def test_lengths_of_the_literal_requests() -> None:
    """Run 1: 32 S a Lg 2^k rounds a stage, then nothing is left to be served."""
    S, K = 5, 4
    rows = asked(lb.regret.candidates(lb.Problem(S, K, 1), literal=True), Wild(1, 0.0, 0.0), 5)
    lx = [math.log(S * K * (S + K)) + q * math.log(2) for q in (1, 2)]
    assert [(row[0], row[1]) for row in rows] == [
        (math.ceil(32 * S * K * 16 * lx[0]), 1),
        (math.ceil(32 * S * K * 16 * lx[0] * 2), 2),
        (math.ceil(32 * S * K * 16 * lx[1]), 1),
        (math.ceil(32 * S * K * 16 * lx[1] * 2), 2),
        (math.ceil(32 * S * K * 16 * lx[1]), 1),
    ]


def test_lists_are_as_long_as_the_union_bound_needs() -> None:
    problem = lb.Problem(40, 60, 1)
    assert list_draws(problem, 2, 7.0, 3) == math.ceil(2.5 * (2 * math.log(61) + 7) * 2**1.5)
    assert list_draws(problem, 2, 7.0, 0) == math.ceil(2.5 * (2 * math.log(61) + 7))
    assert levels(problem, 1, 7.0, 9) == range(6, 10)  # m = 28, 40, 56, 79 from level 9 down
    assert levels(lb.Problem(10**4, 10**6, 1), 1, 1.0, 3) == range(1, 4)


def test_a_rare_context_is_asked_for_longer_and_longer() -> None:
    """Lengths 1.5, 3, 6, .. S (a + 1) M while 2^k plays are missing; then the pair falls out."""
    block = Block(lb.Problem(2, 3, 1), 4.0)
    P = np.array([[True, True, False], [True, False, False]])
    rows = []

    def only_the_first(request: Collect) -> Sample:
        rows.append((request.rounds, request.repeats, request.arms.tolist()))
        plays = np.zeros((2, 3), dtype=np.int64)
        plays[0] = request.arms[0]
        return Sample(plays, np.where(plays > 0, 0.5, np.nan))

    n = block.n0 + 1
    done = drive(block.test(P, n, "testing", ""), only_the_first)
    assert done.tolist() == [[True, True, False], [False, False, False]]
    M = 2**block.n0
    late = [[False] * 3, [True, False, False]]
    grown = [math.ceil(1.5 * 2**e * 2 * 2 * M) for e in range(1, 20)]
    assert rows[0] == (math.ceil(1.5 * 2 * 3 * M), M, P.tolist())
    assert rows[1:-1] == [(length, M, late) for length in grown[: len(rows) - 2]]
    assert 1.5 * 2 ** (len(rows) - 2) <= 512 * 4.0 < 1.5 * 2 ** (len(rows) - 1)
    assert rows[-1] == (math.ceil(1.5 * 2 * 3 * M), M, [[True, True, False], [False] * 3])


# --- Scripted: who leaves in screening ----------------------------------------------------------


def test_a_test_that_stopped_early_lets_its_context_leave() -> None:
    """i and i' are of one group; i's test stops because V(i) is better: i leaves all the same.

    A form in which only completed tests remove a context needs a second candidate here.
    """
    n, h, v = 9, 9, 0.5
    attempt = Attempt(lb.Problem(2, 3, 1), 1, 2.0)
    c = attempt.c(n)
    attempt.V = np.array([-math.inf, v + 4.5 * c])
    est = np.array([[v, 0, 0], [0, v - 0.4 * c, 0]])
    D = np.array([[True, False, False], [False, True, False]])
    stages = []

    def answer(request: Collect) -> Sample:
        k = request.repeats.bit_length() - 1
        stages.append((k, request.arms[:, 0].tolist()))
        mean = np.full((2, 3), np.nan)
        mean[:, 0] = [v, v - c - attempt.c(k)]
        mean[~request.arms] = np.nan
        return Sample(request.arms.astype(np.int64), mean)

    assert drive(attempt.screen(est, D, n, h), answer)
    assert attempt.found == [1]
    assert stages == [(0, [True, True]), *((k, [True, False]) for k in range(1, n + 1))]


def test_a_pooled_test_that_stopped_early_lets_its_context_leave() -> None:
    """The same with memory: U(i,j') = v - c is below V(i) - 4c, and not below v - 2c."""
    block = Block(lb.Problem(2, 3, 1), 4.0)
    n, v = block.n0 + 6, 0.5
    c = block.c(n)
    known(block, n, {(0, 0): v, (1, 1): v - 0.4 * c})
    block.V = np.array([v - c, v + 4.5 * c])
    D = np.array([[True, False, False], [False, True, False]])
    asks = []

    def answer(request: Collect) -> Sample:
        asks.append(request.arms.tolist())
        assert request.repeats == 2**block.n0
        mean = np.full((2, 3), np.nan)
        mean[1, 0] = v - c - block.c(block.n0)
        return Sample(request.arms.astype(np.int64), mean)

    assert drive(block.screen(D, n, n), answer)
    assert {0} == block.W
    assert asks == [[[False] * 3, [True, False, False]]]  # (i',j') has its plays


def known(block: Block, n: int, mean: dict[tuple[int, int], float]) -> None:
    """Let these pairs have had 2^n plays."""
    for pair, value in mean.items():
        block.count[pair], block.mean[pair] = enough(n), value
        block.U[pair] = value + block.c(n)


def test_a_bad_arm_does_not_take_a_context_along() -> None:
    """A(i,j') = mu* - 15.2c looks good at radius 8c: the test goes on, and i stays.

    Without the margin 4c the test stops there, at e + rad = mu* - 0.4c, and i leaves.
    """
    n, mu = 9, 0.9
    attempt = Attempt(lb.Problem(2, 3, 1), 2, 0.1)
    c = attempt.c(n)
    attempt.V = np.array([-math.inf, mu])
    v = math.nextafter(mu - c, 1)
    est = np.array([[v, 0, 0], [0, mu - c, 0]])
    D = np.array([[True, False, False], [False, True, False]])
    stages = []

    def answer(request: Collect) -> Sample:
        k = request.repeats.bit_length() - 1
        arm = int(np.flatnonzero(request.arms.any(axis=0))[0])
        stages.append((arm, k, request.arms[:, arm].tolist()))
        bad = mu - 15.2 * c
        low = bad if k > n - 6 else mu - attempt.c(k) + (c if k < n - 6 else -0.4 * c)
        assert abs(low - bad) <= attempt.c(k)
        mean = np.full((2, 3), np.nan)
        mean[:, 0] = [v, low]
        mean[1, 1] = mu
        mean[~request.arms] = np.nan
        return Sample(request.arms.astype(np.int64), mean)

    assert drive(attempt.screen(est, D, n, n), answer)
    assert {0, 1} == attempt.W  # i is left over and names its own arm
    assert attempt.found == [2]
    assert (0, n - 5, [True, True]) in stages
    assert (0, n - 4, [True, False]) in stages


def test_a_bad_arm_does_not_take_a_context_along_in_a_pooled_test() -> None:
    block = Block(lb.Problem(2, 3, 1), 4.0)
    block.R = 2
    n, mu = block.n0 + 8, 0.9
    c = block.c(n)
    known(block, n, {(0, 0): math.nextafter(mu - c, 1), (1, 1): mu - c})
    block.V = np.array([mu - 2 * c, mu])
    D = np.array([[True, False, False], [False, True, False]])
    bad = mu - 15.2 * c

    def answer(request: Collect) -> Sample:
        assert request.arms[1, 0]
        total = block.count[1, 0] + request.repeats
        radius = float(block.rad(np.array([total]))[0])
        k = math.log2(total)
        pooled = bad if k > n - 7 else mu - radius + (c if k < n - 7 else -0.4 * c)
        assert abs(pooled - bad) <= radius
        told = (pooled * total - block.mean[1, 0] * block.count[1, 0]) / request.repeats
        mean = np.full((2, 3), np.nan)
        mean[1, 0] = told
        return Sample(request.arms.astype(np.int64), mean)

    assert drive(block.screen(D, n, n), answer)
    assert {0, 1} == block.W
    assert block.count[1, 0] == 2 ** (n - 6)


@pytest.mark.parametrize("seen", [False, True])
def test_a_context_without_an_estimate_stays(seen: bool) -> None:
    """With R = 1 there is no second candidate: too many."""
    attempt = Attempt(lb.Problem(2, 2, 1), 1, 2.0)
    est = np.array([[0.5, 0], [0, 0.4]])
    D = np.array([[True, False], [False, True]])

    def answer(request: Collect) -> Sample:
        plays = (request.arms & [[True], [seen]]).astype(np.int64)
        return Sample(plays, np.where(plays > 0, 0.5, np.nan))

    assert drive(attempt.screen(est, D, 3, 3), answer) == seen
    block = Block(lb.Problem(2, 2, 1), 2.0)
    known(block, block.n0, {(0, 0): 0.5, (1, 1): 0.4})
    assert drive(block.screen(D, block.n0, block.n0), answer) == seen
    assert bool(block._given_up) != seen


def test_the_context_of_the_best_pair_always_leaves() -> None:
    """Also when answers contradict each other, and its U is far below what it has now."""
    block = Block(lb.Problem(2, 2, 1), 2.0)
    known(block, block.n0, {(0, 0): 0.9})
    block.U[0, 0] = 0.1
    D = np.array([[True, False], [False, False]])
    assert drive(block.screen(D, block.n0, block.n0), everything_seen(0.9))
    assert {0} == block.W
    attempt = Attempt(lb.Problem(2, 2, 1), 1, 1e-4)
    assert drive(attempt.screen(np.full((2, 2), 0.9), D, 3, 3), everything_seen(0.1))


@pytest.mark.parametrize("literal", [False, True])
def test_everybody_tries_every_candidate_in_the_end(literal: bool) -> None:
    """Half of the contexts draw only arm 0, and arm 1, which others draw, is better for them."""
    S, K = 40, 200
    A = np.zeros((S, K))
    A[:20, 0], A[:20, 1], A[20:, 1] = 0.8, 1.0, 0.6
    lists = np.zeros((S, K), dtype=bool)
    lists[:20, 0] = lists[20:, 1] = True

    def answer(request: Collect) -> Sample:
        assert request.belief is not None
        seen = request.arms & lists if request.belief.kind == "listing" else request.arms
        return Sample(100 * seen.astype(np.int64), np.where(seen, A, np.nan))

    if literal:
        attempt = Attempt(lb.Problem(S, K, 1), 2, 1e-4)
        assert drive(attempt.subphase(1), answer)
        found, arm = attempt.W, attempt.arm
    else:
        block = Block(lb.Problem(S, K, 1), 1.0)
        block.R = 2
        assert drive(block.subphase(block.n0), answer)
        found, arm = block.W, block.arm
    assert sorted(found) == [0, 1]
    assert arm.tolist() == [1] * S


def test_ties_go_to_the_first() -> None:
    """The best pair, and the arm with the largest lower bound."""
    block = Block(lb.Problem(2, 3, 1), 4.0)
    block.remember(everything_seen([[0.1, 0.7, 0.7], [0.7, 0.7, 0.1]])(_ask_all(2, 3)), 4)
    assert block.arm.tolist() == [1, 0]
    block.remember(everything_seen([[0.1, 0.7, 0.7], [0.7, 0.7, 0.1]])(_ask_all(2, 3)), 4)
    assert block.arm.tolist() == [1, 0]
    attempt = Attempt(lb.Problem(1, 3, 1), 1, 1.0)
    attempt.learn(np.arange(3), np.array([0.2, 0.4, 0.4]))
    attempt.learn(np.arange(3), np.array([0.4, 0.2, 0.2]))  # no better than before
    assert attempt.arm.tolist() == [1]


def _ask_all(S: int, K: int) -> Collect:
    return Collect(1, 1, np.ones((S, K), dtype=bool))


def test_pooled_means_are_those_of_all_rewards() -> None:
    rng = np.random.default_rng(4)
    block = Block(lb.Problem(1, 2, 1), 4.0)
    total, number = np.zeros(2), np.zeros(2)
    for _ in range(30):
        plays, repeats = rng.integers(0, 3, size=(1, 2)), int(rng.integers(1, 5))
        mean = rng.normal(size=(1, 2))
        block.remember(Sample(plays, np.where(plays > 0, mean, np.nan)), repeats)
        total += plays[0] * repeats * mean[0]
        number += plays[0] * repeats
    np.testing.assert_array_equal(block.count[0], number)
    np.testing.assert_allclose(block.mean[0], total / number)


# --- What it says of itself ---------------------------------------------------------------------


def test_the_rate() -> None:
    assert CANDIDATES.of(lb.Problem(10, 10, 2), 100) == math.sqrt(40 * 100)
    assert CANDIDATES.of(lb.Problem(10, 10, 8), 100) == math.sqrt(100 * 100)
    assert lb.regret.candidates.about.rate is CANDIDATES


@pytest.mark.parametrize("epsilon", [0.5, 0.01, 1e-100])
def test_the_depth_is_the_least_that_is_enough(epsilon: float) -> None:
    problem = lb.Problem(12, 8, 3)
    h, Lg = depth(problem, epsilon, 0.1)
    assert math.isclose(Lg, 16 * (math.log(12 * 8 * 20 / 0.1) + h * math.log(2)))

    def loss(h: int) -> float:
        lg = 16 * (math.log(12 * 8 * 20 / 0.1) + h * math.log(2))
        return 80 * (h + 1) * math.sqrt(lg) * math.exp2(-h / 2)

    assert loss(h) <= epsilon < loss(h - 1)


@pytest.mark.parametrize(("groups", "arms"), [(1, 6), (3, 6), (3, 40), (5, 40)])
def test_rounds_promised_are_those_of_the_requests(
    groups: int, arms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small Lg there are lists; without noise every attempt stays within its sum."""
    monkeypatch.setattr(candidates_literal, "CONFIDENCE", 0.02)
    problem = lb.Problem(10, arms, groups)
    world = lb.worlds.lumpable(10, arms, groups, seed=groups)
    run = lb.exact(lb.pac.candidates(problem, epsilon=0.5, delta=0.1), world)
    most = certified_rounds(problem, 0.5, 0.1)
    assert run.rounds <= most
    assert run.result is not None
    if groups == 1:  # one attempt, and little falls
        assert run.rounds >= most / 50
    assert world.loss(run.policy) <= 0.5
    guesses = sum("given up" in note for note in run.notes)
    assert 2**guesses <= max(1, 2 * groups - 1)


def test_an_outcome_says_what_was_promised() -> None:
    """Also of a method that no budget compares."""
    problem = lb.Problem(12, 8, 3)
    plan = lb.pac.candidates(problem, epsilon=0.3, delta=0.1)
    run = lb.simulate(plan, lb.worlds.lumpable(12, 8, 3, seed=1), seed=1)
    found = policy_outcome(run, lb.budget(problem, 0.3, 0.1), seed=1, given={})
    assert (found.promise, found.printed) == (0.3, None)
    assert found.rounds <= found.bound == certified_rounds(problem, 0.3, 0.1)


# --- Bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [0, -1, 1.5, math.nan, "10", True, 1e19])
def test_bad_horizons(horizon: Any) -> None:
    with pytest.raises(BadArgument, match=r"^horizon: expected"):
        lb.regret.candidates(lb.Problem(3, 3, 1), horizon=horizon)


def test_bad_arguments() -> None:
    problem = lb.Problem(3, 3, 1)
    with pytest.raises(BadArgument, match=r"^horizon: expected None with literal=True"):
        lb.regret.candidates(problem, horizon=10, literal=True)
    with pytest.raises(BadArgument, match=r"^literal: expected True or False"):
        lb.regret.candidates(problem, literal=1)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"^problem: expected"):
        lb.regret.candidates((3, 3))  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"^epsilon: expected"):
        lb.pac.candidates(problem, epsilon=0.6, delta=0.1)
    with pytest.raises(BadArgument, match=r"^delta: expected"):
        lb.pac.candidates(problem, epsilon=0.5, delta=0)


# --- Live sessions ------------------------------------------------------------------------------


@plans
def test_a_saved_session_goes_on_identically(name: str, tmp_path: Path) -> None:
    """With a horizon of 3 rounds the first levels come early: lists, tests and all."""
    world = lb.worlds.lumpable(2, 2, 2, seed=4)
    rng = np.random.default_rng(5)
    contexts, noises = rng.integers(2, size=9000).tolist(), rng.normal(size=9000).tolist()
    rounds = list(zip(contexts, noises, strict=True))

    def play(session: lb.Session, i: int, noise: float) -> int:
        arm = session.ask(i)
        session.tell(i, arm, float(world.mean[i, arm]) + noise)
        return arm

    make = PLANS[name]
    whole = lb.Session(make(lb.Problem(2, 2, 2)), seed=6)
    played = [play(whole, *told) for told in rounds]
    session = lb.Session(make(lb.Problem(2, 2, 2)), seed=6)
    path = tmp_path / "session.lumpable"
    for step, told in enumerate(rounds):
        if step in (0, 700, 2500, 2501, 6000, 8999):
            session.save(path)
            session = lb.Session.load(path)
        assert play(session, *told) == played[step]
    np.testing.assert_array_equal(session.policy, whole.policy)
    if name == "horizon":
        assert len(set(played[-50:])) <= 2
        assert whole.policy.tolist() == np.argmax(world.mean, axis=1).tolist()
