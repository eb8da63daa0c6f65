"""Factor analysis with missing cells and levels, by EM: which arms go together?

Rubin and Thayer, "EM algorithms for ML factor analysis", Psychometrika 47 (1982), for the method;
Ilin and Raiko, "Practical approaches to principal component analysis in the presence of missing
values", JMLR 11 (2010), for missing cells and penalties. The levels, the noise of n_ij rewards and
the priors are ours. The mean x_ij of a pair's n_ij rewards is

    x_ij ~ N(mu_ij, v_j / n_ij),   mu_ij = m_j + l_j . f_i + g_i + e_ij,
    f_i ~ N(0, I),   g_i ~ N(0, lambda^2),   e_ij ~ N(0, D_j),

so that the means of a context are normal around m with covariance L L' + lambda^2 1 1' + D. Arms
are drawn towards l_jd ~ N(0, LOADING V), V the variance of all rewards, and m_j ~ N(beta, kappa^2).
With y_i = (f_i, 1, g_i) and a_j = (l_j, m_j, 1), mu_ij = y_i . a_j + e_ij. The E step is a
regression of each context on the best arms, the M step one of each arm on the contexts' posteriors;
its covariance says how sure each arm is. Knows no learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import cached_njit

USUAL = 0.1
"""The prior guess of a variance, as a share of the variance of all rewards."""
GUESSES = 5.0
"""A prior guess counts as this many contexts or arms."""
ALIKE = 5.0
"""The arms' mean D counts as this many pairs of each arm."""
LOADING = 0.2
"""Variance of a loading before any data, as a share of the variance of all rewards."""


@dataclass(slots=True)
class Vectors:
    """Normal laws of the vectors of all contexts or of all arms; an entry that is 1 is known."""

    mean: FloatMatrix
    cover: FloatMatrix
    """Covariances, (rows, size, size)."""

    def squares(self) -> FloatMatrix:
        """Return the expectation of each vector's product with itself."""
        return self.mean[:, :, None] * self.mean[:, None, :] + self.cover

    def sure(self) -> Vectors:
        """Return the same means without uncertainty."""
        return Vectors(self.mean, np.zeros_like(self.cover))


@dataclass(frozen=True, slots=True)
class Data:
    """What is fitted to: the pairs that were played."""

    shape: tuple[int, int]
    """S and K."""
    context: IntVector
    """Of each pair."""
    arm: IntVector
    plays: FloatVector
    """n of each pair."""
    mean: FloatVector
    """x of each pair."""
    squares: float
    """The sum of all squared distances from their pair's mean."""
    variance: float
    """Of all rewards."""
    coins: bool
    """Whether all rewards are 0 or 1: then v_j is p (1 - p), p the mean of the arm."""

    def by_arm(self, values: FloatVector) -> FloatVector:
        """Return the sum over the pairs of each arm."""
        return np.bincount(self.arm, values, self.shape[1]).astype(np.float64, copy=False)


@dataclass(slots=True)
class Factors:
    """A fit, which a sweep improves."""

    contexts: Vectors
    arms: Vectors
    own: FloatVector
    """D."""
    noise: FloatVector
    """v."""
    centre: float
    """beta."""
    differ: float
    """kappa^2."""
    level: float
    """lambda^2."""
    rank: int
    levels: bool

    def sweep(self, data: Data) -> None:
        """E step for contexts, M step for arms, M step for all variances."""
        q, (S, K), n = self.rank, data.shape, data.plays
        t = n / (n * self.own[data.arm] + self.noise[data.arm])  # precision of x around y . a
        precision, free = np.ones(q), [*range(q)]
        if self.levels:
            precision, free = np.append(precision, 1.0 / self.level), [*free, q + 1]
        law = Law(free, q, precision, np.zeros(len(free)))
        self.contexts = regress(S, data.context, data.arm, t, data.mean, self.arms.sure(), law)
        precision = np.full(q + 1, 1.0 / (LOADING * data.variance))
        precision[q] = 1.0 / self.differ
        centre = np.zeros(q + 1)
        centre[q] = self.centre
        law = Law([*range(q + 1)], q + 1 if self.levels else None, precision, centre)
        self.arms = regress(K, data.arm, data.context, t, data.mean, self.contexts, law)
        self._fit_priors(data)
        self._fit_pairs(data)

    def _fit_priors(self, data: Data) -> None:
        """Fit beta, kappa^2 and lambda^2: the laws that arms' means and levels come from."""
        q, guess = self.rank, GUESSES * USUAL * data.variance
        m, doubt = self.arms.mean[:, q], self.arms.cover[:, q, q]
        self.centre = float(m.mean())
        squares = np.sum((m - self.centre) ** 2 + doubt)
        self.differ = float((guess + squares) / (GUESSES + len(m)))
        if self.levels:
            seen = np.unique(data.context)
            g, doubt = self.contexts.mean[seen, -1], self.contexts.cover[seen, -1, -1]
            self.level = float((guess + np.sum(g**2 + doubt)) / (GUESSES + len(seen)))

    def _fit_pairs(self, data: Data) -> None:
        """Fit D and v by what is left of each pair's mean, r = x - y . a, of which e is a part."""
        n, own, noise = data.plays, self.own[data.arm], self.noise[data.arm]
        left = expected_squares(data.context, data.arm, data.mean, self.contexts, self.arms)
        part = n * own / (n * own + noise)  # E e = part r
        rest = own * (1.0 - part)  # Var e given r
        pairs, deviation = data.by_arm(np.ones(len(n))), data.by_arm(part**2 * left + rest)
        guess, K = GUESSES * USUAL * data.variance, data.shape[1]
        alike = (guess + self.own.sum()) / (GUESSES + K)  # arms count the same, however often tried
        self.own = (ALIKE * alike + deviation) / (ALIKE + pairs)
        if data.coins:
            p = (1.0 + data.by_arm(n * data.mean)) / (2.0 + data.by_arm(n))
            self.noise = p * (1.0 - p)
        else:
            within = data.squares + np.sum(n * ((1.0 - part) ** 2 * left + rest))
            self.noise = np.full(K, (data.variance + within) / (1.0 + n.sum()))


def start(data: Data, rank: int, levels: bool) -> Factors:
    """Return what is believed before the first sweep: no factor, all arms alike."""
    S, K = data.shape
    size, usual = rank + 1 + levels, USUAL * data.variance
    centre = float(np.sum(data.plays * data.mean) / data.plays.sum())
    contexts = Vectors(np.zeros((S, size)), np.zeros((S, size, size)))
    arms = Vectors(np.zeros((K, size)), np.zeros((K, size, size)))
    contexts.mean[:, rank] = 1.0
    arms.mean[:, rank:] = 1.0
    arms.mean[:, rank] = centre
    arms.cover[:, range(rank + 1), range(rank + 1)] = usual
    own, noise = np.full(K, usual), np.full(K, data.variance)
    return Factors(contexts, arms, own, noise, centre, usual, usual, rank, levels)


class Law(NamedTuple):
    """What vectors are before any data."""

    free: list[int]
    """Entries that are fitted."""
    known: int | None
    """An entry that is 1."""
    precision: FloatVector
    """Of the free entries' normal law."""
    centre: FloatVector


def regress(
    rows: int,
    row: IntVector,
    column: IntVector,
    weight: FloatVector,
    mean: FloatVector,
    on: Vectors,
    law: Law,
) -> Vectors:
    """Return the rows' vectors, given cells that are normal around their products with columns'.

    Parameters
    ----------
    row, column, weight, mean
        Of each cell that is not missing; its weight is its precision.
    on
        The columns' vectors.
    law
        What the rows' vectors are before any data.
    """
    free, size = law.free, on.mean.shape[1]
    squares = on.squares()
    P = np.tile(np.diag(law.precision), (rows, 1, 1))
    b = np.tile(law.precision * law.centre, (rows, 1))
    taken = on.mean[:, free] * 0.0 if law.known is None else squares[:, law.known, free]
    among = np.ascontiguousarray(squares[:, free][:, :, free])
    _gather(row, column, weight, mean, on.mean[:, free], taken, among, P, b)
    seen, cover = np.unique(row), np.tile(np.diag(1.0 / law.precision), (rows, 1, 1))
    cover[seen] = np.linalg.inv(P[seen])
    found = Vectors(np.zeros((rows, size)), np.zeros((rows, size, size)))
    found.mean[:, free] = (cover @ b[:, :, None])[:, :, 0]
    found.cover[np.ix_(range(rows), free, free)] = cover
    if law.known is not None:
        found.mean[:, law.known] = 1.0
    return found


@cached_njit(error_model="numpy")
def _gather(
    row: IntVector, column: IntVector, weight: FloatVector, mean: FloatVector, x: FloatMatrix,
    taken: FloatMatrix, squares: FloatMatrix, P: FloatMatrix, b: FloatMatrix,
) -> None:  # fmt: skip
    """Add each cell to the precision and the shift of its row."""
    for c in range(len(row)):
        i, j, w = row[c], column[c], weight[c]
        for d in range(b.shape[1]):
            b[i, d] += w * (mean[c] * x[j, d] - taken[j, d])
            for e in range(b.shape[1]):
                P[i, d, e] += w * squares[j, d, e]


def expected_squares(
    row: IntVector, column: IntVector, mean: FloatVector, rows: Vectors, columns: Vectors
) -> FloatVector:
    """Return the expected square of each cell less the product of its row and its column."""
    found: FloatVector = np.empty(len(row))
    _square(row, column, mean, rows.mean, rows.cover, columns.mean, columns.cover, found)
    return found


@cached_njit(error_model="numpy")
def _square(
    row: IntVector, column: IntVector, mean: FloatVector, y: FloatMatrix, Y: FloatMatrix,
    a: FloatMatrix, A: FloatMatrix, found: FloatVector,
) -> None:  # fmt: skip
    """E (x - y . a)^2 = (x - E y . E a)^2 + tr(Cov y E a a') + (E y)' Cov a (E y)."""
    for c in range(len(row)):
        i, j, left, doubt = row[c], column[c], mean[c], 0.0
        for d in range(y.shape[1]):
            left -= y[i, d] * a[j, d]
            for e in range(y.shape[1]):
                doubt += Y[i, d, e] * (a[j, d] * a[j, e] + A[j, d, e])
                doubt += y[i, d] * y[i, e] * A[j, d, e]
        found[c] = left * left + doubt
