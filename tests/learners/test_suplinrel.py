"""SupLinRel against LinRel with its eigenvalues, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.suplinrel import SupLinRel
from twins.agree import agree
from twins.stream import Stream


class LiteralSupLinRel:
    """Auer's SupLinRel with sets of rounds and LinRel's eigenvalue problem, d = SK."""

    def __init__(self, S: int, K: int, T: int, delta: float, width: float, seed: int) -> None:
        self.S, self.K, self.T, self.stream = S, K, T, Stream(seed)
        self.factor = width * math.sqrt(2 * math.log(2 * T * K / delta))
        self.psi: list[list[tuple[int, int, float]]] = [[] for _ in range(math.ceil(math.log(T)))]

    def z(self, context: int, arm: int) -> np.ndarray:
        unit = np.zeros(self.S * self.K)
        unit[context * self.K + arm] = 1
        return unit

    def linrel(self, context: int, arm: int, rounds: list[tuple[int, int, float]]) -> list[float]:
        """Width and upper bound: eigenvalues of at least 1 estimate, the others add their norm."""
        Z = np.array([self.z(i, j) for i, j, _ in rounds]).reshape(-1, self.S * self.K).T
        value, U = np.linalg.eigh(Z @ Z.T)
        u = U.T @ self.z(context, arm)
        large = value > 0.5  # they are whole numbers
        a = Z.T @ (U @ np.where(large, u / np.where(large, value, 1), 0))
        width = float(np.linalg.norm(a) * self.factor + np.linalg.norm(u[~large]))
        return [width, float(a @ [y for _, _, y in rounds]) + width]

    def path(self, context: int) -> tuple[int | None, dict[int, list[float]]]:
        """The level where the loop ends and its arms with their bounds; no level: best bound."""
        arms = list(range(self.K))
        for s, rounds in enumerate(self.psi, start=1):
            own = [r for r in rounds if r[0] == context]
            bounds = {j: [round(x, 9) for x in self.linrel(context, j, own)] for j in arms}
            if all(width <= 1 / math.sqrt(self.T) for width, _ in bounds.values()):
                return None, bounds
            if any(width > 2**-s for width, _ in bounds.values()):
                return s, bounds
            top = max(ucb for _, ucb in bounds.values())
            arms = [j for j in arms if bounds[j][1] >= top - 2 * 2**-s]
        raise AssertionError("a level ends it")

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        level, bounds = self.path(context)
        if level is None:
            return list(bounds)[self.stream.largest([ucb for _, ucb in bounds.values()])]
        wide = [j for j, (width, _) in bounds.items() if width > 2**-level]
        stored = [(i, j) for i, j, _ in self.psi[level - 1]]
        return wide[self.stream.largest([-stored.count((context, j)) for j in wide])]

    def tell(self, context: int, arm: int, reward: float) -> None:
        level, bounds = self.path(context)
        if level is not None and arm in bounds and bounds[arm][0] > 2**-level:
            self.psi[level - 1].append((context, arm, reward))
        self.stream.told()


@pytest.mark.parametrize(("width", "T"), [(0.05, 1000), (0.4, 400), (0.01, 1000)])
def test_decisions_are_the_literal_ones(width: float, T: int) -> None:
    """Some rewards are of arms that it did not choose, as if they were late.

    At width 0.4 alpha is above 1, so that an arm with few plays is wider than one without.
    """
    world = lb.worlds.lumpable(3, 3, 2, frequency="zipf", sd=0.3, seed=3)
    learner = SupLinRel(3, 3, horizon=T, delta=0.1, width=width, seed=8)
    literal = LiteralSupLinRel(3, 3, T, 0.1, width, 8)
    for _ in range(200):  # narrow soon, while the other arms are still explored
        learner.tell(0, 2, 0.4)
        literal.tell(0, 2, 0.4)
    agree(learner, literal, world, rounds=1000)
    for context in range(3):
        for arm in range(3):
            learner.tell(context, arm, 0.4)
            literal.tell(context, arm, 0.4)
    stored = [len(rounds) for rounds in literal.psi]
    assert learner.state.plays.sum(axis=(1, 2)).tolist() == stored
    assert sum(n > 0 for n in stored) >= (2 if width < 0.1 else 1)


def test_rounds_of_a_level_are_few_and_the_best_arm_stays() -> None:
    """What Auer's proof rests on: a level stores an arm only while it is wider than 2^-s, that is
    at most (alpha 2^s)^2 + 1 times, and the best arm of a context is never dropped.

    The latter with probability 1 - delta = 0.95 a run by the proof, and by far more in truth:
    rewards in [0, 1], width 1/2 for them, 20 runs, none fails.
    """
    for seed in range(20):
        world = lb.worlds.lumpable(2, 4, 2, noise="bernoulli", seed=seed)
        learner = SupLinRel(2, 4, horizon=1 << 16, width=0.5, seed=seed)
        lb.play(learner, world, horizon=1 << 16, seed=seed)
        state = learner.state
        for s in range(len(state.plays)):
            most = (state.alpha * 2.0 ** (s + 1)) ** 2
            assert state.plays[s].max() <= most + 1
        deepest = int(np.flatnonzero(state.plays.any(axis=(1, 2))).max())
        assert deepest >= 2
        for context in range(2):
            reached = np.flatnonzero(state.plays[:, context].any(axis=1)).max()
            assert state.plays[reached, context, world.policy[context]] > 0


def test_every_arm_is_tried_before_any_is_tried_again() -> None:
    """The first level takes its arms in turn: after n visits each has n / K plays, or one more.

    A width of 1, where an arm with few plays is wider than one without.
    """
    learner = SupLinRel(1, 20, horizon=6000, seed=3)
    rng = np.random.default_rng(4)
    for visit in range(1, 201):
        learner.tell(0, learner.ask(0), float(rng.random()))
        assert learner.state.plays[0, 0].min() == visit // 20
        assert learner.state.plays[0, 0].max() == -(-visit // 20)
    assert learner.state.plays.dtype == np.int64


def test_regret_grows_like_the_square_root() -> None:
    """Auer's bound: sqrt(T) up to logarithms. Gaps as hard as T allows, K = 2, S = 1, 30 seeds.

    From T = 4,000 to 64,000 the regret of a linear learner grows by 16 and sqrt(16) is 4;
    (ln T)^1.5 may add a factor of 1.54. Bar: 4 * 1.54 plus five standard errors.
    """
    regret = {}
    for T in (4_000, 64_000):
        gap = 8 / math.sqrt(T)
        world = lb.worlds.from_matrix([[0.5, 0.5 + gap]], noise="bernoulli")
        runs = [
            lb.play(
                SupLinRel(1, 2, horizon=T, width=0.1, seed=seed), world, horizon=T, seed=seed
            ).regret
            for seed in range(30)
        ]
        regret[T] = np.mean(runs), np.std(runs) / math.sqrt(30)
        assert regret[T][0] < 0.45 * gap * T  # it learns: uniform play has half
    low, high = regret[4_000], regret[64_000]
    assert high[0] - 5 * high[1] < 4 * 1.54 * (low[0] + 5 * low[1])


def test_words() -> None:
    with pytest.raises(ValueError, match="width: expected a positive number, got 0"):
        SupLinRel(3, 4, horizon=9, width=0)
    with pytest.raises(ValueError, match="horizon: expected a whole number of at least 1, got 0"):
        SupLinRel(3, 4, horizon=0)
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got 0"):
        SupLinRel(3, 4, horizon=9, delta=0)
