"""Candidates in worlds: the lemmas hold without noise, under the worst noise, and with real noise.

With the confidence terms of the plans nearly all lists of small worlds are full, so that blocks and
attempts are made here with smaller ones. What the lemmas need is only that the intervals hold.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import FloatMatrix
from lumpable.plans.candidates_literal import LENGTH, Attempt, levels
from lumpable.plans.candidates_pooled import Block
from lumpable.plans.plan import Collect
from lumpable.plans.seen import Sample
from lumpable.runs.answers import answer as drawn
from twins.watched_candidates import WatchedAttempt, WatchedBlock, drive

SURE = 1e-9


def invented(seed: int, most_arms: int = 24) -> lb.World:
    """A small world: uneven groups, gaps of all sizes, contexts at 1/(8S) among the others."""
    rng = np.random.default_rng(seed)
    S, K = int(rng.integers(1, 13)), int(rng.integers(2, most_arms + 1))
    r = int(rng.integers(1, min(S, 5) + 1))
    means = rng.random((r, K)) ** rng.choice([0.2, 1.0, 3.0])
    if rng.random() < 0.5:  # one hidden arm for each group, and a common one
        gap = rng.choice([0.05, 0.2, 0.4])
        means = np.full((r, K), 0.5 - gap)
        means[:, 0] = 0.5
        means[np.arange(r), rng.integers(1, K, size=r)] = 0.5 + gap
    group = np.concatenate([np.arange(r), rng.integers(0, r, size=S - r)])
    nu = np.full(S, 1 / S)
    if S > 1:
        rare = rng.integers(0, S)
        nu = np.where(np.arange(S) == rare, 1 / (8 * S), (1 - 1 / (8 * S)) / (S - 1))
    return lb.World(means[group], nu, group, sd=1.0)


def problem_of(world: lb.World) -> lb.Problem:
    return lb.Problem(world.contexts, world.arms, 1)


class Inside:
    """The worst noise: every estimate is anywhere inside its interval, as a strategy wants it.

    Arms of lists are drawn as they should be; every pair of a test is seen.
    """

    def __init__(self, world: lb.World, seed: int, watched: WatchedBlock | WatchedAttempt) -> None:
        self.world = world
        self.rng = np.random.default_rng(seed)
        self.watched = watched
        self.strategy = int(self.rng.integers(5))

    def __call__(self, request: Collect) -> Sample:
        assert request.belief is not None
        plays = request.arms.astype(np.int64)
        if request.belief.kind == "listing":
            plays = self._listed(request)
        error = np.clip(self._errors(), -1, 1)
        if isinstance(self.watched, WatchedAttempt):
            radius = self.watched.c(request.repeats.bit_length() - 1)
            return Sample(plays, np.where(plays > 0, self.world.mean + error * radius, np.nan))
        return self._pooled(self.watched, plays, request.repeats, error)

    def _pooled(
        self, block: WatchedBlock, plays: np.ndarray, repeats: int, error: FloatMatrix
    ) -> Sample:
        """Means that bring the pooled ones to where they should be."""
        new = np.maximum(plays * float(repeats), 1)
        total = block.count + new
        target = self.world.mean + error * block.rad(total)
        told = (target * total - block.mean * block.count) / new
        return Sample(plays, np.where(plays > 0, told, np.nan))

    def _listed(self, request: Collect) -> np.ndarray:
        """Each context draws from its row, often enough."""
        plays = np.zeros(request.shape, dtype=np.int64)
        visits = request.rounds // self.world.contexts
        for i, row in enumerate(request.arms):
            if row.any():
                plays[i] = self.rng.multinomial(visits, row / row.sum())
        return plays

    def _errors(self) -> FloatMatrix:
        shape = self.world.mean.shape
        gap = self.world.best[:, np.newaxis] - self.world.mean
        if self.strategy == 0:  # good arms look bad and bad ones good
            return np.where(gap <= np.quantile(gap, 0.3), -1.0, 1.0)
        if self.strategy == 1:  # the other way round for half of the contexts
            sign = self.rng.choice([-1.0, 1.0], size=(shape[0], 1))
            return np.where(gap == 0, sign, -sign)
        if self.strategy == 2:
            return np.broadcast_to(self.rng.choice([-1.0, 1.0], size=(shape[0], 1)), shape)
        if self.strategy == 3:
            return self.rng.choice([-1.0, 1.0], size=shape)
        return self.rng.uniform(-1, 1, size=shape)


def exact(world: lb.World, watched: WatchedBlock | WatchedAttempt) -> Inside:
    """No noise at all."""
    answer = Inside(world, 0, watched)
    answer._errors = lambda: np.zeros(world.mean.shape)  # type: ignore[method-assign]
    return answer


def check(watched: WatchedBlock | WatchedAttempt, world: lb.World) -> None:
    """No lemma is broken; a level has at most r screenings, so that R < 2r."""
    promises = watched.promises
    assert promises.broken == set()
    assert max(promises.screenings, default=0) <= world.groups
    assert max(1, 2 * world.groups - 1) >= watched.R


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([None, 1, 2, 3]))
def test_no_lemma_of_a_block_breaks(seed: int, noise: int | None) -> None:
    """Without noise, and with any that stays inside the intervals."""
    world = invented(seed)
    block = WatchedBlock(problem_of(world), 1.0 + seed % 3 / 2, world)
    answer = exact(world, block) if noise is None else Inside(world, noise, block)
    for q in range(10, 17):
        drive(block.run(q), answer)
    check(block, world)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([None, 1, 2, 3]))
def test_no_lemma_of_an_attempt_breaks(seed: int, noise: int | None) -> None:
    world = invented(seed)
    Lg = [0.02, 0.1, 0.5][seed % 3]
    R, ok = 1, False
    while not ok:
        attempt = WatchedAttempt(problem_of(world), R, Lg, world)
        answer = exact(world, attempt) if noise is None else Inside(world, noise, attempt)
        ok = drive(attempt.climb(10), answer)
        check(attempt, world)
        R *= 2


def test_the_lemmas_are_about_something() -> None:
    """Blocks and attempts of these worlds screen, double R and reject lists that are not full."""
    screened = doubled = listed = 0
    for seed in range(30):
        world = invented(seed)
        block = WatchedBlock(problem_of(world), 1.0, world)
        for q in range(10, 15):
            drive(block.run(q), Inside(world, seed, block))
        screened += any(number > 0 for number in block.promises.screenings)
        doubled += block.R > 1
        listed += any(not L.all() for L, _, _ in block.draws)
    assert screened >= 10
    assert doubled >= 5
    assert listed >= 10


# --- Real noise ---------------------------------------------------------------------------------


class Played:
    """Answers with the law of the world."""

    def __init__(self, world: lb.World, seed: int) -> None:
        self.world = world
        self.rng = np.random.default_rng(seed)

    def __call__(self, request: Collect) -> Sample:
        assert request.belief is not None
        return drawn(request, self.world, self.rng, request.belief.policy).sample


def failures(ell: float, runs: int) -> tuple[int, float]:
    """How many blocks broke a lemma, and the chance that is allowed for the bounds of one."""
    world = lb.worlds.lumpable(6, 20, 2, seed=5)
    failed = 0
    for seed in range(runs):
        block = WatchedBlock(lb.Problem(6, 20, 1), ell, world)
        for q in range(12, 17):
            drive(block.run(q), Played(world, seed))
        failed += block.promises.broken != set()
    return failed, 6 * 20 * np.exp(-ell)


def test_lemmas_fail_no_more_often_than_allowed() -> None:
    """SK e^-ell: the mixture bound for all pairs at all times."""
    failed, allowed = failures(ell=8.0, runs=40)
    assert stats.binom.sf(failed - 1, 40, allowed) > SURE


def test_intervals_that_are_too_narrow_do_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count above can see failures."""
    narrow = Block.rad
    monkeypatch.setattr(Block, "rad", lambda self, m: narrow(self, m) / 4)
    failed, allowed = failures(ell=8.0, runs=10)
    assert stats.binom.sf(failed - 1, 10, allowed) < SURE


LITERAL_LG, LITERAL_PAIRS = 40.0, 700_000


def literal_failures(runs: int) -> tuple[int, float]:
    """How many runs of the literal form broke a lemma, and the chance that is allowed for one.

    A pair of a stage is wrong with a chance of 2 e^(-Lg/2), its context comes too rarely with
    e^(-Lg/2), and it is missed with e^-Lg: at most 4 e^(-Lg/2), times the pairs that were asked.
    """
    S, K, gap = 100, 100, 0.5
    means = np.full((2, K), 0.5 - gap)
    means[:, 0] = 0.5
    means[[0, 1], [1, 2]] = 0.5 + gap
    group = np.arange(S) % 2
    world = lb.World(means[group], np.full(S, 1 / S), group, sd=1.0)
    failed = 0
    for seed in range(runs):
        answer, pairs, screenings, ok, R, broken = Played(world, seed), 0, 0, False, 1, False

        def counted(request: Collect) -> Sample:
            nonlocal pairs
            pairs += int(request.arms.sum())
            return answer(request)  # noqa: B023

        while not ok:
            attempt = WatchedAttempt(lb.Problem(S, K, 1), R, LITERAL_LG, world)
            ok = drive(attempt.subphase(11), counted)
            broken |= attempt.promises.broken != set()
            screenings += sum(attempt.found)
            R *= 2
        assert pairs <= LITERAL_PAIRS
        assert screenings > 0  # so that all lemmas were asked for
        failed += broken
    return failed, LITERAL_PAIRS * 4 * np.exp(-LITERAL_LG / 2)


def test_lemmas_of_the_literal_form_fail_no_more_often_than_allowed() -> None:
    failed, allowed = literal_failures(runs=5)
    assert allowed**5 < SURE  # five failures of five would be seen
    assert stats.binom.sf(failed - 1, 5, allowed) > SURE


def test_literal_intervals_that_are_too_narrow_do_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count above can see failures. (An estimate is of 32 Lg plays and more, not of one.)"""
    wide = Attempt.c
    monkeypatch.setattr(Attempt, "c", lambda self, k: wide(self, k) / 100)
    failed, allowed = literal_failures(runs=5)
    assert stats.binom.sf(failed - 1, 5, allowed) < SURE


@pytest.mark.parametrize("seed", [1, 2])
def test_a_rare_context_learns_like_the_others(seed: int) -> None:
    """A frequency of 1/(8S): with lengths that do not grow its plays would never end."""
    S = K = 20
    rng = np.random.default_rng(seed)
    group = np.arange(S) % 3
    nu = np.full(S, (1 - 1 / (8 * S)) / (S - 1))
    nu[0] = 1 / (8 * S)
    world = lb.World(rng.random((3, K))[group], nu, group, sd=1.0)
    block = WatchedBlock(lb.Problem(S, K, 1), 12.0, world)
    answer, requests = Played(world, seed), 0

    def counted(request: Collect) -> Sample:
        nonlocal requests
        requests += 1
        return answer(request)

    for q in range(15, 22):
        drive(block.run(q), counted, most=1000)
    assert block.promises.broken == set()
    assert requests < 300
    h = block.done
    assert world.best[0] - block.V[0] <= 2 * block.c(h) + ROUNDING


ROUNDING = 1e-9


# --- Lists --------------------------------------------------------------------------------------


def test_lists_are_uniform_and_long_enough() -> None:
    """Chi-square over the open arms of each context; p < 1e-9 would be an error of the plan."""
    S, K, m = 5, 12, 10
    nu = np.array([0.25, 0.3, 0.2, 0.2, 0.05])
    world = lb.World(np.full((S, K), 0.5), nu, np.zeros(S, dtype=int), sd=1.0)
    closed = np.zeros((S, K), dtype=bool)
    closed[0, :4] = closed[3, 7:] = closed[2] = True
    plays = np.zeros((S, K))
    for seed in range(30):
        block = WatchedBlock(lb.Problem(S, K, 1), 6.0)
        block.V = np.full(S, -10.0)
        block.U = np.where(closed, -20.0, np.inf)
        L, draws, answer = np.zeros((S, K), dtype=bool), np.zeros(S), Played(world, seed)
        drawn_now = np.zeros((S, K))

        def tallied(request: Collect) -> Sample:
            assert not (request.arms & closed).any()
            sample = answer(request)  # noqa: B023
            drawn_now[:] += sample.plays  # noqa: B023
            return sample

        drive(block.extend(L, draws, m, ""), tallied)
        np.testing.assert_array_equal(L, drawn_now > 0)
        np.testing.assert_array_equal(draws, drawn_now.sum(axis=1))
        assert (draws[[0, 1, 3, 4]] >= m).all()
        assert draws[2] == 0  # nothing is open there, so nothing is asked
        plays += drawn_now
    for i in (0, 1, 3, 4):
        assert stats.chisquare(plays[i, ~closed[i]]).pvalue > SURE


def overlap_z(first: list[np.ndarray], second: list[np.ndarray], K: int) -> float:
    """By how many standard deviations two rows of lists have more in common than independent ones.

    Given their sizes, independent uniform lists overlap by a hypergeometric number.
    """
    seen = mean = variance = 0.0
    for one, other in zip(first, second, strict=True):
        law = stats.hypergeom(K, int(one.sum()), int(other.sum()))
        seen += float((one & other).sum())
        mean += float(law.mean())
        variance += float(law.var())
    return (seen - mean) / float(np.sqrt(variance))


def lists_of_two_subphases(runs: int, K: int) -> dict[str, list[np.ndarray]]:
    """Lists of two contexts in a sub-phase, and of the first one in the next."""
    S = 3
    world = lb.World(np.full((S, K), 0.5), np.full(S, 1 / S), np.zeros(S, dtype=int), sd=1.0)
    rows: dict[str, list[np.ndarray]] = {"context 0": [], "context 1": [], "later": []}
    for seed in range(runs):
        block, answer = WatchedBlock(lb.Problem(S, K, 1), 4.0), Played(world, seed)
        lists = []
        for _ in range(2):  # a sub-phase begins with empty lists; data are kept
            L, draws = np.zeros((S, K), dtype=bool), np.zeros(S)
            drive(block.extend(L, draws, 8, ""), answer)
            assert block.open().all()
            lists.append(L)
        for name, row in zip(rows, (lists[0][0], lists[0][1], lists[1][0]), strict=True):
            rows[name].append(row)
    return rows


def test_lists_are_independent_across_contexts_and_subphases() -> None:
    """Two-sided, at 1e-9: six standard deviations."""
    rows = lists_of_two_subphases(runs=150, K=60)
    far = float(stats.norm.isf(SURE / 2))
    assert abs(overlap_z(rows["context 0"], rows["context 1"], 60)) < far
    assert abs(overlap_z(rows["context 0"], rows["later"], 60)) < far
    shared = [one | other for one, other in zip(rows["context 0"], rows["later"], strict=True)]
    assert overlap_z(rows["context 0"], shared, 60) > far  # lists that were kept would be seen


def test_literal_lists_are_what_was_drawn_uniformly() -> None:
    """One request for everything, 32 S m rounds; the test that follows asks what it finished."""
    S, K = 60, 90
    world = lb.World(np.full((S, K), 0.5), np.full(S, 1 / S), np.zeros(S, dtype=int), sd=1e-3)
    problem, h, Lg = lb.Problem(S, K, 1), 4, 0.5  # so that nobody goes unseen
    plays, tests = np.zeros((S, K)), 0
    lengths: list[int] = []
    for seed in range(4):
        attempt, answer = Attempt(problem, 1, Lg), Played(world, seed)
        finished: np.ndarray | None = None

        def watched(request: Collect) -> Sample:
            nonlocal finished, tests, plays
            assert request.belief is not None
            if finished is not None:
                np.testing.assert_array_equal(request.arms, finished)
                finished, tests = None, tests + 1
            sample = answer(request)  # noqa: B023
            if request.belief.kind == "listing":
                assert request.arms.all()
                assert request.repeats == 1
                lengths.append(request.rounds)
                finished = sample.plays > 0
                plays = plays + sample.plays
            return sample

        drive(attempt.subphase(h), watched)
    each = [m for n in levels(problem, 1, Lg, h) if (m := attempt.m(n, h)) < K]
    assert lengths == 4 * [LENGTH * S * m for m in each]
    assert len(lengths) == tests > 0
    for row in plays:
        assert stats.chisquare(row).pvalue > SURE / S


def test_a_full_list_is_all_that_is_open() -> None:
    block = WatchedBlock(lb.Problem(4, 3, 1), 2.0)
    assert block.full(10, 10)
    few = WatchedBlock(lb.Problem(40, 200, 1), 2.0)
    assert not few.full(10, 10)
    few.V = np.zeros(40)
    few.U = np.where(np.arange(200) < 3, 1.0, -1.0) * np.ones((40, 1))
    assert few.full(10, 10)  # lists are as long as what is open, not as what there is


# --- The plans ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_policy_is_as_good_as_promised(seed: int) -> None:
    """A loss of at most epsilon but for delta; with printed constants nothing fails at all."""
    world = lb.worlds.lumpable(12, 8, 3, means="hard" if seed else "uniform", seed=seed)
    plan = lb.pac.candidates(lb.Problem(12, 8, 1), epsilon=0.3, delta=0.1)
    run = lb.simulate(plan, world, seed=seed)
    assert world.loss(run.policy) <= 0.3


@pytest.mark.parametrize(("S", "K", "r", "times"), [(60, 60, 16, 1000), (150, 150, 3, 100)])
def test_far_less_regret_than_clustering(S: int, K: int, r: int, times: float) -> None:
    """Told nothing, against Algorithm 6 told r: one hidden arm for each group, T = 1e12."""
    gap = 0.05
    means = np.full((r, K), 0.5 - gap)
    means[:, 0] = 0.5
    means[np.arange(r), np.arange(1, r + 1)] = 0.5 + gap
    group = np.arange(S) % r
    world = lb.World(means[group], np.full(S, 1 / S), group, sd=1.0)
    told_nothing = lb.simulate(
        lb.regret.candidates(lb.Problem(S, K, 1)), world, seed=1, horizon=10**12
    )
    told_r = lb.simulate(lb.regret.any_groups(lb.Problem(S, K, r)), world, seed=1, horizon=10**12)
    assert times * told_nothing.regret < told_r.regret
    assert world.loss(told_nothing.policy) == 0


def test_the_guess_stays_below_twice_the_groups() -> None:
    """Few groups and many arms, so that there are lists: R ends at 4 for three groups."""
    S, K, r = 150, 300, 3
    means = np.full((r, K), 0.4)
    means[np.arange(r), np.arange(r)] = 0.6
    group = np.arange(S) % r
    world = lb.World(means[group], np.full(S, 1 / S), group, sd=1.0)
    run = lb.simulate(lb.regret.candidates(lb.Problem(S, K, 1)), world, seed=1, horizon=10**11)
    assert len(run.notes) == 2
    assert "R = 2 was given up" in run.notes[1]
    assert {"listing", "testing", "screening", "settling", "serving"} >= {
        row.kind for row in run.rows()
    }
    assert world.loss(run.policy) == 0
