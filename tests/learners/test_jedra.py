"""The spectral policy against a literal version, and its published behaviour."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import lumpable as lb
from lumpable.learners.jedra import SpectralPolicy, spectral
from twins.agree import agree
from twins.stream import Stream

Matrix = npt.NDArray[np.float64]


class LiteralSpectral:
    """Sample uniformly, estimate by explicit features from the whole history, then commit."""

    def __init__(self, made: SpectralPolicy, budget: int, rank: int, ridge: float) -> None:
        self.S, self.K, self.refine = made.contexts, made.arms, made.refine
        self.budget, self.rank, self.ridge = budget, rank, ridge
        self.best: list[int] = made.state.best.tolist()
        self.history: list[tuple[int, int, float]] = []
        self.stream = Stream(made.seed)
        self.due = min(self.S + self.K, budget)

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        explores = self.stream.tells < self.budget
        return self.stream.below(self.K) if explores else self.best[context]

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.history.append((context, arm, reward))
        self.stream.told()
        t = self.stream.tells
        if t == self.due and t <= self.budget:
            fitted = self.fit()
            self.best = [int(np.argmax(row)) for row in fitted]
            self.due = min(2 * t + 1, self.budget)

    def raw(self, sample: list[tuple[int, int, float]]) -> Matrix:
        """The sum of r / (t omega_ij) e_i e_j' over t samples, with omega_ij = n_i / (t K)."""
        found = np.zeros((self.S, self.K))
        for i, j, r in sample:
            n_i = sum(k == i for k, _, _ in sample)
            found[i, j] += r / (n_i / self.K)
        return found

    def fit(self) -> Matrix:
        r = self.rank
        if not self.refine:
            U, value, Vt = np.linalg.svd(self.raw(self.history))
            return sum((value[k] * np.outer(U[:, k], Vt[k]) for k in range(r)), np.zeros(1))
        U, _, Vt = np.linalg.svd(self.raw(self.history[0::2]))
        V = Vt.T
        features = {
            (i, j): np.concatenate(
                [
                    np.outer(U[i, :r], V[j, :r]).ravel(),
                    np.outer(U[i, :r], V[j, r:]).ravel(),
                    np.outer(U[i, r:], V[j, :r]).ravel(),
                ]
            )
            for i in range(self.S)
            for j in range(self.K)
        }
        d = r * (self.S + self.K) - r * r
        gram, pull = self.ridge * np.eye(d), np.zeros(d)
        for i, j, y in self.history[1::2]:
            gram += np.outer(features[i, j], features[i, j])
            pull += y * features[i, j]
        theta = np.linalg.solve(gram, pull)
        return np.array([[features[i, j] @ theta for j in range(self.K)] for i in range(self.S)])


@pytest.mark.parametrize(
    ("rank", "refine", "explore", "noise"),
    [(2, True, 0.4, "bernoulli"), (1, True, 0.2, "gaussian"), (2, False, 0.3, "gaussian")],
)
def test_decisions_are_the_literal_ones(
    rank: int, refine: bool, explore: float, noise: str
) -> None:
    world = lb.worlds.lumpable(7, 5, 3, noise=noise, seed=3)
    learner = SpectralPolicy(
        7, 5, horizon=1000, explore=explore, rank=rank, refine=refine, ridge=1e-3, seed=8
    )
    literal = LiteralSpectral(learner, round(1000 * explore), rank, 1e-3)
    agree(learner, literal, world)
    assert learner.policy().tolist() == literal.best
    assert learner.state.fitted == pytest.approx(np.array(literal_fit(literal)), abs=1e-6)


def literal_fit(literal: LiteralSpectral) -> Matrix:
    literal.history = literal.history[: literal.budget]
    return literal.fit()


def sampled(mean: Matrix, rounds: int, seed: int) -> tuple[npt.NDArray[np.int64], Matrix]:
    """Plays and summed rewards of uniform cells, with normal noise of standard deviation 1/2."""
    S, K = mean.shape
    rng = np.random.default_rng(seed)
    plays = rng.multinomial(rounds, np.full(S * K, 1 / (S * K))).reshape(S, K)
    return plays, plays * mean + 0.5 * np.sqrt(plays) * rng.standard_normal((S, K))


def test_error_of_an_entry_falls_as_the_theory_says() -> None:
    """Theory of the spectral estimate: the largest error of an entry is sqrt((m + n) / T).

    80 x 80, rank 2. From T to 16 T the error must fall by 4, from (m + n) / T to the same ratio at
    twice the size it must stay; both within a factor of 1.5, for logarithms and chance: ratios of
    means over 8 worlds have a standard error of 10 per cent, so that chance alone breaks this
    with odds of 1 in 10,000 (the seeds are fixed).
    """

    def error(size: int, rounds: int) -> float:
        found = []
        for seed in range(8):
            mean = lb.worlds.low_rank(size, size, 2, seed=seed).mean
            fitted = spectral(*sampled(mean, rounds, seed), 2)[2]
            found.append(np.abs(fitted - mean).max())
        return float(np.mean(found))

    first = error(80, 40_000)
    assert 4 / 1.5 < first / error(80, 640_000) < 4 * 1.5
    assert 1 / 1.5 < first / error(160, 80_000) < 1.5


@pytest.mark.parametrize("refine", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_needs_far_fewer_samples_than_means_of_cells(refine: bool) -> None:
    """The paper's claim: of order r (m + n) samples, not m n, for a policy of the same quality.

    100 x 100, rank 2, three seeds: with 30,000 samples its policy loses at most two thirds of what
    that of the means of cells does with three times as many; two fifths were seen.
    """
    ours = plain = 0.0
    for seed in range(3):
        world = lb.worlds.low_rank(100, 100, 2, sd=0.5, seed=seed)
        learner = SpectralPolicy(
            100, 100, horizon=30_000, explore=1.0, rank=2, refine=refine, seed=seed
        )
        lb.play(learner, world, horizon=30_000, seed=seed, at=[])
        plays, total = sampled(world.mean, 90_000, seed)
        cells = np.where(plays > 0, total / np.maximum(plays, 1), -np.inf)
        ours += world.loss(learner.policy())
        plain += world.loss(np.argmax(cells, axis=1))
    assert ours < 2 / 3 * plain


def test_only_exploration_is_learned_from() -> None:
    learner = SpectralPolicy(3, 4, horizon=100, explore=0.5, seed=1)
    world = lb.worlds.lumpable(3, 4, 2, seed=1)
    lb.play(learner, world, horizon=100, seed=1)
    assert learner.state.plays.sum(axis=(1, 2)).tolist() == [25, 25]
    fitted = learner.state.fitted.copy()
    learner.tell(0, 0, 50.0)
    assert (learner.state.fitted == fitted).all()
    assert learner.state.plays.sum() == 50
    assert learner.ask(2) == learner.policy()[2]


@pytest.mark.parametrize(
    ("name", "value"),
    [("horizon", 0), ("explore", 0.0), ("explore", 1.1), ("rank", 0), ("ridge", 0)],
)
def test_parameters_are_named_in_errors(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        SpectralPolicy(4, 5, **{"horizon": 10, name: value})  # type: ignore[arg-type]
