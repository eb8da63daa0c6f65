"""Online candidates against the literal version, and what the proof of its theorem rests on."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import lumpable as lb
from lumpable.learners.online_candidates import OnlineCandidates
from lumpable.worlds.scene import Scene
from twins.agree import agree
from twins.literal_candidates import LiteralCandidates

SMALL: list[dict[str, Any]] = [
    {"horizon": 4000, "width": 0.01, "allowance": 0.0003},
    {"horizon": 1000, "width": 0.01, "allowance": 0.0003},
    {"horizon": None, "width": 0.01, "allowance": 0.0003},
    {"horizon": None, "width": 0.03, "allowance": 0.001},
    {"horizon": 4000, "width": 0.003},
]
"""Constants so small that all happens within 4,000 rounds."""


def same(learner: OnlineCandidates, literal: LiteralCandidates) -> None:
    """Compare all that both can be asked for."""
    assert learner.candidates().tolist() == literal.W
    assert (learner.guess, learner.horizon) == (literal.R, literal.T)
    assert learner.policy().tolist() == [i.arm for i in literal.context]
    assert learner.state.value == pytest.approx([i.V for i in literal.context], rel=1e-9)


class Negative:
    """A world whose rewards are all below 0."""

    def __init__(self, world: lb.World) -> None:
        self.world, self.contexts, self.frequency = world, world.contexts, world.frequency

    def reward(self, context: int, arm: int, rng: np.random.Generator) -> float:
        return self.world.reward(context, arm, rng) - 3.0


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("constants", SMALL)
@pytest.mark.parametrize(("S", "K"), [(3, 6), (1, 5), (5, 12)])
def test_decisions_are_the_literal_ones(
    S: int, K: int, constants: dict[str, Any], negative: bool
) -> None:
    world: Any = lb.worlds.lumpable(S, K, min(S, 2), frequency="zipf", sd=0.3, seed=3)
    world = Negative(world) if negative else world
    learner = OnlineCandidates(S, K, seed=1, **constants)
    literal = LiteralCandidates(S, K, 1, **constants)
    for _ in range(4):
        agree(learner, literal, world, rounds=800)
        same(learner, literal)
        for context in range(S):  # as if they were late
            for arm in range(K):
                learner.tell(context, arm, 0.4)
                literal.tell(context, arm, 0.4)
    assert constants["horizon"] or literal.seen["T"] >= 6
    assert "allowance" not in constants or literal.seen["R"] >= 2
    assert literal.seen["completed"] > 0
    assert (literal.seen["stopped"] > 0) or (S, constants["horizon"]) == (5, 1000)


def test_in_these_runs_everything_happens() -> None:
    """Tests stop, are completed and wait, arms join and are refused, R and T are doubled."""
    world = lb.worlds.lumpable(3, 6, 2, frequency="zipf", sd=0.3, seed=3)
    learner, literal = (
        OnlineCandidates(3, 6, seed=1, **SMALL[3]),
        LiteralCandidates(3, 6, 1, **SMALL[3]),
    )
    agree(learner, literal, world, rounds=4000)
    assert min(literal.seen.values()) > 2


# --- Drawn arms, in order of decision -------------------------------------------------------------


def structure(learner: OnlineCandidates) -> list[list[Any]]:
    """What an undecided entry must not touch: all but the plays and rewards of exploring slots."""
    state = learner.state
    fields = (state.turn, state.arm, state.value, state.joined, state.size, state.tested, state.top)
    tests = (state.plays[:, 0::2], state.total[:, 0::2], state.upper[:, 0::2])
    return [field.tolist() for field in (*fields, state.drawn, state.visits, *tests)]


def play_round(learner: OnlineCandidates, context: int, explored: float) -> int | None:
    """Play a round, and return the drawn arm if its entry is decided in it.

    Rewards of exploring slots are as given, all others 0.3, 0.4, .. by the arm.
    """
    state, track = learner.state, int(learner.state.turn[context])
    drawn = int(state.drawn[context, track // 2])
    exploring = track % 2 == 1 and drawn >= 0
    arm = learner.ask(context)
    learner.tell(context, arm, explored if exploring else 0.3 + 0.1 * arm)
    return drawn if exploring and state.drawn[context, track // 2] < 0 else None


def test_an_undecided_entry_touches_nothing() -> None:
    """Two worlds that differ in the rewards of exploring slots only: the same until a decision.

    In one of them the drawn arm looks hopeless, and its test stops; in the other it is the best.
    """
    differ = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        first = OnlineCandidates(2, 4, horizon=2000, width=0.02, seed=seed)
        while not np.isfinite(first.state.value).all():
            play_round(first, int(rng.integers(2)), 0.5)
        second = pickle.loads(pickle.dumps(first))
        decided: list[int | None] = [None, None]
        while decided == [None, None]:
            assert structure(first) == structure(second)
            differ += not np.array_equal(first.state.plays, second.state.plays)
            context = int(rng.integers(2))
            decided = [play_round(first, context, -5.0), play_round(second, context, 5.0)]
        assert decided[0] == decided[1]
    assert differ > 1000  # rounds in which the test had stopped in one world only


MANY, K, SHORT, VISITS = 12_000, 8, 3, 14
"""For the law of the drawn arms: contexts, arms, levels, visits of each track of a context."""
HORIZON = 2**SHORT * (MANY + K)


def decided_arms(learner: Any, contexts: int) -> None:
    """Contexts come one after the other, many more never; odd arms are good, even ones bad."""
    for context in range(contexts):
        for _ in range(2 * SHORT * VISITS):
            arm = learner.ask(context)
            learner.tell(context, arm, float(arm % 2))


def p_value(drawn: list[int]) -> float:
    """Exactly: the number of good arms, and of neighbours of a kind, in so many fair draws."""
    good = np.array(drawn) % 2
    alike = (good[1:] == good[:-1]).sum()
    tests = [
        stats.binomtest(int(good.sum()), len(good)),
        stats.binomtest(int(alike), len(good) - 1),
    ]
    return min(test.pvalue for test in tests)


class Watched:
    """A learner that notes every drawn arm when its entry is decided."""

    def __init__(self, learner: OnlineCandidates) -> None:
        self.learner, self.ask = learner, learner.ask
        self.decided: list[int] = []

    def tell(self, context: int, arm: int, reward: float) -> None:
        state, track = self.learner.state, self.learner.state.turn[context]
        drawn = int(state.drawn[context, track // 2])
        self.learner.tell(context, arm, reward)
        if track % 2 == 1 and drawn >= 0 and state.drawn[context, track // 2] < 0:
            self.decided.append(drawn)


def test_drawn_arms_are_uniform_in_order_of_decision() -> None:
    """Part (i) of the proof, where bad arms stop after one play and good ones never.

    The first 2,800 decisions of each of 3 seeds. A right learner fails with probability 3e-9.
    """
    first = []
    for seed in range(3):
        watched = Watched(OnlineCandidates(MANY, K, horizon=HORIZON, width=1e-3, seed=seed))
        decided_arms(watched, 1000)
        assert watched.learner.state.visits.shape == (MANY, 2 * SHORT)
        first += watched.decided[:2800]
    assert len(first) == 8400
    assert p_value(first) > 1e-9
    assert stats.chisquare(np.bincount(first, minlength=K)).pvalue > 1e-9


def test_slots_that_end_at_the_stop_are_caught() -> None:
    """The test above can fail: bad arms are decided sooner if their slots end sooner."""
    broken = LiteralCandidates(MANY, K, 0, horizon=HORIZON, width=1e-3, ends_at_stop=True)
    decided_arms(broken, 1000)
    assert p_value(broken.decided[:2800]) < 1e-9


# --- What holds whenever no estimate is further off than its radius -----------------------------


class Misled:
    """Rewards whose estimates are off by a share of c(k) at every k, up or down by test."""

    def __init__(self, learner: OnlineCandidates, mean: Any, share: float, seed: int) -> None:
        self.learner, self.mean, self.share = learner, mean, share
        self.rng, self.sign = np.random.default_rng(seed), np.zeros(learner.state.plays.shape)
        self.joined = self.refused = self.stopped = 0

    def c(self, level: int) -> float:
        return float(self.learner.state.scale) / math.sqrt(2 << level)

    def round(self, context: int) -> None:
        """Play a round, and check what it has changed."""
        state, mean = self.learner.state, self.mean[context]
        track = int(state.turn[context])
        level, plays = track // 2, int(state.plays[context, track])
        drawn, tests = int(state.drawn[context, level]), int(state.tested[context, level])
        W, length = self.learner.candidates(), 2 << level
        if plays == 0:
            self.sign[context, track] = self.rng.choice([-1.0, 1.0])
        arm = self.learner.ask(context)
        error = self.sign[context, track] * self.share * state.scale
        reward = mean[arm] + error * (math.sqrt(plays + 1) - math.sqrt(plays))
        self.learner.tell(context, arm, float(reward))
        now = self.learner.candidates()
        if track % 2 == 1 and drawn >= 0 and state.drawn[context, level] < 0:
            assert mean[now].max() >= mean[drawn] - 5 * self.c(level) - 1e-9
            if len(now) > len(W) > 0:
                assert mean[drawn] >= mean[W].max() + self.c(level) - 1e-9
            self.joined += len(now) > len(W)
            self.refused += len(now) == len(W)
            self.stopped += plays < length
        if state.tested[context, level] > tests:
            assert state.value[context] >= mean[W[tests]] - 2 * self.c(level) - 1e-9


@pytest.mark.parametrize("share", [0.0, pytest.param(0.5, marks=pytest.mark.nightly), 0.999])
def test_bounds_hold_whenever_estimates_do(share: float) -> None:
    """Parts (ii) and (iv) of the proof, with the worst noise of the good event; no random chance.

    V(i) is no more than the mean of arm(i); a decided arm is at most 5 c(n) better than the best
    candidate, one that joins at least c(n) better than the others; and after the test of a
    candidate V(i) is at most 2 c(n) below its mean.
    """
    seen = np.zeros(3, dtype=int)
    for seed in range(5):
        world = lb.worlds.lumpable(4, 8, 2, noise="bernoulli", seed=seed)
        learner = OnlineCandidates(4, 8, horizon=12_000, width=0.01, seed=seed)
        misled, rng = Misled(learner, world.mean, share, seed), np.random.default_rng(seed)
        for _ in range(4000):
            misled.round(int(rng.integers(4)))
            bound = world.mean[np.arange(4), learner.policy()]
            assert (learner.state.value <= bound + 1e-9).all()
        seen += [misled.joined, misled.refused, misled.stopped]
    assert seen.min() > 5


def test_lower_bounds_hold_under_the_noise_of_the_theorem() -> None:
    """With its own constants and Gaussian noise of sd 1 an estimate is off with probability T^-2.

    10 runs of T = 20,000, so fewer than 1e-6 of all such tests fail for a right learner.
    """
    known = 0
    for seed in range(10):
        world = lb.worlds.lumpable(2, 3, 2, noise="gaussian", sd=1.0, seed=seed)
        learner = OnlineCandidates(2, 3, horizon=20_000, seed=seed)
        lb.play(learner, world, horizon=20_000, seed=seed)
        value = learner.state.value
        assert (value <= world.mean[np.arange(2), learner.policy()]).all()
        known += int(np.isfinite(value).sum())
    assert known > 15


@settings(max_examples=40, deadline=None)
@given(
    S=st.integers(1, 4),
    K=st.integers(1, 9),
    horizon=st.none() | st.integers(1, 3000),
    width=st.sampled_from([1.0, 0.03, 1e-3, 1e-9]),
    allowance=st.sampled_from([1.0, 1e-3, 1e-4, 1e-6]),
    scale=st.sampled_from([0.0, 1.0, 300.0, 1e100]),
    seed=st.integers(0, 2**32),
)
def test_whatever_it_is_told_candidates_and_guesses_are_few(
    S: int, K: int, horizon: int | None, width: float, allowance: float, scale: float, seed: int
) -> None:
    """|W| <= R lam, R a power of two with R (S + K) < 2T, slots as long as they should be."""
    learner = OnlineCandidates(S, K, horizon=horizon, width=width, allowance=allowance, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(400):
        context = int(rng.integers(S))
        value, run = learner.state.value.copy(), (learner.guess, learner.horizon)
        learner.tell(context, learner.ask(context), float(rng.choice([-1, 0, 1]) * scale))
        state, W, R, T = learner.state, learner.candidates(), learner.guess, learner.horizon
        N = state.tested.shape[1]
        assert len(W) <= allowance * R * 36 * N * (1 + math.log(T))
        assert len(set(W.tolist())) == len(W)
        assert R & (R - 1) == 0
        assert N == 0 or R * (S + K) <= T
        assert R == 1 or R // 2 * (S + K) <= T
        assert (state.tested <= len(W)).all()
        assert (state.plays <= state.visits).all()
        assert (state.visits <= 2 ** (1 + np.arange(2 * N) // 2)).all()
        assert state.due[0] > learner.tells
        assert run != (R, T) or (state.value >= value).all()
        assert horizon or T <= learner.tells + 2 * (S + K) < 2 * T


# --- Runs, restarts, horizons -------------------------------------------------------------------


def test_the_letters() -> None:
    """By hand: S + K = 8, T = 2^12, R = 1 and 2."""
    learner = OnlineCandidates(3, 5, horizon=2**12, sd=0.5, allowance=2.0)
    T = 2**12
    for R, N in ((1, 9), (2, 8)):
        state = learner.state
        assert learner.guess == R
        assert state.visits.shape == (3, 2 * N)
        assert state.most == pytest.approx(2 * R * 36 * N * (1 + math.log(T)))
        assert state.scale == pytest.approx(0.5 * math.sqrt(2 * math.log(2 * T**3)))
        assert state.start == pytest.approx(math.sqrt(R * 8 / T))
        learner.refit()


def test_without_a_level_it_plays_arm_0() -> None:
    """Until T = 2 (S + K); if the horizon is not known, that is the first run."""
    learner = OnlineCandidates(3, 5, horizon=15)
    for t in range(200):
        assert learner.ask(t % 3) == 0
        learner.tell(t % 3, 0, 1.0)
    assert learner.candidates().size == 0
    assert OnlineCandidates(3, 5, horizon=16).state.visits.shape == (3, 2)
    assert OnlineCandidates(3, 5).horizon == 16


def test_runs_double() -> None:
    learner = OnlineCandidates(3, 5, width=0.01, seed=2)
    seen = []
    for t in range(16 + 32 + 64 + 128):
        seen.append(learner.horizon)
        learner.tell(t % 3, learner.ask(t % 3), 1.0)
    assert seen == [16] * 16 + [32] * 32 + [64] * 64 + [128] * 128
    assert learner.horizon == 256
    assert learner.candidates().size == 0
    assert not learner.policy().any()


def test_a_saved_learner_goes_on_as_if_nothing_had_been() -> None:
    """Saved after any tell, across restarts for which its arrays change their shape."""
    world = lb.worlds.lumpable(3, 6, 2, sd=0.3, seed=3)
    first, rng = OnlineCandidates(3, 6, seed=1, **SMALL[3]), np.random.default_rng(4)
    second, shapes = first, set()
    for t in range(3000):
        context = int(rng.integers(3))
        arm = first.ask(context)
        assert arm == second.ask(context)
        reward = world.reward(context, arm, rng)
        first.tell(context, arm, reward)
        second.tell(context, arm, reward)
        shapes.add((first.state.visits.shape, first.guess))
        if t % 7 == 0:
            second = pickle.loads(pickle.dumps(second))
    assert structure(first) == structure(second)
    assert len(shapes) >= 10


@pytest.mark.parametrize("arrivals", ["iid", "round robin", "bursts", "sorted"])
@pytest.mark.parametrize("horizon", [None, 30_000])
def test_any_order_of_contexts(arrivals: str, horizon: int | None) -> None:
    """Frequencies as Zipf's, the constants of the theorem, noise so small that they allow tests.

    V(i) is above the mean of arm(i) with probability T^-2 at most.
    """
    world = lb.worlds.lumpable(10, 6, 2, frequency="zipf", sd=0.05, seed=3)
    scene = Scene(world, arrivals=arrivals)
    learner = OnlineCandidates(10, 6, horizon=horizon, sd=0.05, seed=1)
    uniform = lb.learners.Uniform(10, 6, seed=1)
    lost = lb.play(learner, scene, horizon=30_000, seed=2).regret
    assert lost < lb.play(uniform, scene, horizon=30_000, seed=2).regret
    value, mean = learner.state.value, world.mean[np.arange(10), learner.policy()]
    assert (value <= mean).all()
    assert np.isfinite(value).any()
    assert learner.guess == 1


def test_with_small_constants_it_finds_everybodys_best_arm() -> None:
    """One arm is good for each half of the contexts, the rest is alike: 5 seeds, none fails."""
    mean = np.full((10, 6), 0.2)
    mean[:5, 1], mean[5:, 4] = 0.8, 0.8
    world = lb.worlds.from_matrix(mean, sd=0.05)
    for seed in range(5):
        learner = OnlineCandidates(10, 6, horizon=40_000, sd=0.05, width=0.3, seed=seed)
        lb.play(learner, world, horizon=40_000, seed=seed)
        assert learner.policy().tolist() == [1] * 5 + [4] * 5
        assert len(learner.candidates()) <= 3


def test_words() -> None:
    with pytest.raises(
        ValueError, match=r"horizon: expected one of 1 \.\. 9223372036854775807, got 0"
    ):
        OnlineCandidates(3, 4, horizon=0)
    for name in ("width", "allowance", "sd"):
        with pytest.raises(ValueError, match=f"{name}: expected a positive number, got 0"):
            OnlineCandidates(3, 4, **{name: 0})
    with pytest.raises(ValueError, match="contexts: expected a whole number of at least 1, got 0"):
        OnlineCandidates(0, 4)
    with pytest.raises(ValueError, match="arms: expected a whole number of at least 1, got 0"):
        OnlineCandidates(3, 0)
