"""The NMF bandit against a literal version, and its published behaviour."""

from __future__ import annotations

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.nmf import NMFGreedy, factor
from twins.agree import agree
from twins.stream import Stream

Rows = list[list[float]]


class LiteralNMF:
    """Explore by a coin, else the best of A W; A and W refitted from the whole history."""

    def __init__(self, made: NMFGreedy, rank: int, c: float, ridge: float, sweeps: int) -> None:
        self.S, self.K, self.m = made.contexts, made.arms, rank
        self.c, self.ridge, self.sweeps = c, ridge, sweeps
        self.stream = Stream(made.seed)
        self.A: Rows = made.state.A.tolist()
        self.W: Rows = made.state.W.tolist()
        self.best: list[int] = made.state.best.tolist()
        self.wide: list[int] = made.state.wide.tolist()
        self.deep = {i for i in range(self.S) if made.state.deep[i]}
        self.rewards: dict[tuple[int, int], list[float]] = {}
        self.due = self.S + self.K

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        t = self.stream.tells + 1
        if self.stream.uniform() < min(1.0, self.c / t):
            if context in self.deep and self.stream.uniform() < 0.5:
                return self.stream.below(self.K)
            return self.wide[self.stream.below(len(self.wide))]
        return self.best[context]

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.setdefault((context, arm), []).append(reward)
        self.stream.told()
        if self.stream.tells >= self.due:
            for _ in range(self.sweeps):
                for k in range(self.m):
                    self.improve(k)
            fitted = [[self.fit(i, j) for j in range(self.K)] for i in range(self.S)]
            self.best = [row.index(max(row)) for row in fitted]
            self.due = int(1.25 * self.stream.tells) + 1

    def fit(self, i: int, j: int, without: int = -1) -> float:
        return sum(self.A[i][k] * self.W[k][j] for k in range(self.m) if k != without)

    def improve(self, k: int) -> None:
        average = sum(self.A[i][k] for i in range(self.S)) / self.S
        column = []
        for i in range(self.S):
            over, under = self.ridge * average, self.ridge
            for j in range(self.K):
                for x in self.rewards.get((i, j), []):
                    over += (x - self.fit(i, j, without=k)) * self.W[k][j]
                    under += self.W[k][j] ** 2
            column.append(max(0.0, over / under))
        for i in range(self.S):
            self.A[i][k] = column[i]
        for j in range(self.K):
            over, under = 0.0, self.ridge
            for i in range(self.S):
                for x in self.rewards.get((i, j), []):
                    over += (x - self.fit(i, j, without=k)) * self.A[i][k]
                    under += self.A[i][k] ** 2
            self.W[k][j] = max(0.0, over / under)


@pytest.mark.parametrize(
    ("rank", "c", "deep", "noise"), [(2, 60.0, 2, "bernoulli"), (3, 200.0, 6, "gaussian")]
)
def test_decisions_are_the_literal_ones(rank: int, c: float, deep: int, noise: str) -> None:
    world = lb.worlds.lumpable(6, 5, 2, noise=noise, seed=3)
    learner = NMFGreedy(6, 5, rank=rank, c=c, wide=3, deep=deep, ridge=0.5, sweeps=4, seed=8)
    agree(learner, LiteralNMF(learner, rank, c, 0.5, 4), world)
    assert learner.state.A.min() >= 0 <= learner.state.W.min()


def test_recovers_a_separable_matrix_from_half_of_its_cells() -> None:
    """U = A W is recovered from few cells where some contexts are pure.

    No noise, half of the cells missing, 40 x 30, m = 3; entries of size about 1/2. The largest
    error on missing cells is below 0.02, where filling in means of arms gives 0.2.
    """
    rng = np.random.default_rng(4)
    A = rng.dirichlet(np.ones(3), size=40)
    A[:3] = np.eye(3)
    truth = A @ rng.random((3, 30))
    plays = (rng.random(truth.shape) < 0.5).astype(np.int64)
    found_A, found_W = rng.random((40, 3)), rng.random((3, 30))
    factor(plays, np.where(plays > 0, truth, 99.0), found_A, found_W, 1e-6, 2000)
    error = np.abs(found_A @ found_W - truth)[plays == 0].max()
    column = (plays * truth).sum(axis=0) / plays.sum(axis=0)
    assert error < 0.02
    assert np.abs(column - truth)[plays == 0].max() > 0.2


def test_beats_ucb_per_context_where_contexts_are_many() -> None:
    """The paper's claim: far less regret than bandits on each context, L K > T / 4, m = 3.

    L = 300, K = 30, Bernoulli, T = 30,000, three seeds. At most half on each of them, a quarter was
    seen; the standard deviation of a regret is below 400, the difference above ten of them.
    """
    for seed in range(3):
        world = lb.worlds.low_rank(300, 30, 3, noise="bernoulli", seed=seed)
        ours, plain = (
            lb.play(learner, world, horizon=30_000, seed=seed, at=[]).regret
            for learner in (
                NMFGreedy(300, 30, rank=3, seed=seed),
                lb.learners.UCB1(300, 30, seed=1),
            )
        )
        assert ours < 0.5 * plain
        assert plain - ours > 4000


def test_exploration_is_wide_for_all_and_deep_for_some() -> None:
    """With c beyond all rounds: `wide` arms only, but any arm for `deep` contexts."""
    learner = NMFGreedy(20, 10, wide=2, deep=5, c=1e9, seed=2)
    lb.play(learner, lb.worlds.lumpable(20, 10, 2, seed=1), horizon=5000, seed=3)
    narrow = learner.state.plays[~learner.state.deep]
    assert np.flatnonzero(narrow.sum(axis=0)).tolist() == sorted(learner.state.wide.tolist())
    assert learner.state.plays[learner.state.deep].min() > 0
    assert learner.state.deep.sum() == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [("rank", 0), ("c", 0.0), ("wide", 6), ("deep", 5), ("ridge", 0.0), ("sweeps", 0)],
)
def test_parameters_are_named_in_errors(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        NMFGreedy(4, 5, **{name: value})  # type: ignore[arg-type]
