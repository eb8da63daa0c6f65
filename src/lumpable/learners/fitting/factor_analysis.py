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

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector

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
    """What is fitted to."""

    plays: FloatMatrix
    """n_ij."""
    mean: FloatMatrix
    """x_ij; anything where n_ij = 0."""
    squares: float
    """The sum of all squared distances from their pair's mean."""
    variance: float
    """Of all rewards."""
    coins: bool
    """Whether all rewards are 0 or 1: then v_j is p (1 - p), p the mean of the arm."""


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
        q, n = self.rank, data.plays
        t = n / (n * self.own + self.noise)  # precision of x_ij around y_i . a_j
        precision, free = np.ones(q), [*range(q)]
        if self.levels:
            precision, free = np.append(precision, 1.0 / self.level), [*free, q + 1]
        nothing = np.zeros(len(free))
        self.contexts = regress(t, data.mean, self.arms.sure(), free, q, precision, nothing)
        precision = np.full(q + 1, 1.0 / (LOADING * data.variance))
        precision[q] = 1.0 / self.differ
        centre = np.zeros(q + 1)
        centre[q] = self.centre
        free, known = [*range(q + 1)], q + 1 if self.levels else None
        self.arms = regress(t.T, data.mean.T, self.contexts, free, known, precision, centre)
        self._fit_priors(data)
        self._fit_cells(data)

    def _fit_priors(self, data: Data) -> None:
        """Fit beta, kappa^2 and lambda^2: the laws that arms' means and levels come from."""
        q, guess = self.rank, GUESSES * USUAL * data.variance
        m, doubt = self.arms.mean[:, q], self.arms.cover[:, q, q]
        self.centre = float(m.mean())
        squares = np.sum((m - self.centre) ** 2 + doubt)
        self.differ = float((guess + squares) / (GUESSES + len(m)))
        if self.levels:
            seen = data.plays.any(axis=1)
            g, doubt = self.contexts.mean[seen, -1], self.contexts.cover[seen, -1, -1]
            self.level = float((guess + np.sum(g**2 + doubt)) / (GUESSES + seen.sum()))

    def _fit_cells(self, data: Data) -> None:
        """Fit D and v by what is left of each pair's mean, r = x - y . a, of which e is a part."""
        n, played = data.plays, data.plays > 0.0
        contexts, arms = self.contexts, self.arms
        S, K = n.shape
        doubt = contexts.cover.reshape(S, -1) @ arms.squares().reshape(K, -1).T
        doubt += contexts.sure().squares().reshape(S, -1) @ arms.cover.reshape(K, -1).T
        left = np.where(played, (data.mean - contexts.mean @ arms.mean.T) ** 2 + doubt, 0.0)
        part = n * self.own / (n * self.own + self.noise)  # E e = part r
        rest = np.where(played, self.own * (1.0 - part), 0.0)  # Var e given r
        pairs = played.sum(axis=0)
        guess = GUESSES * USUAL * data.variance
        alike = (guess + self.own.sum()) / (GUESSES + K)  # arms count the same, however often tried
        self.own = (ALIKE * alike + np.sum(part**2 * left + rest, axis=0)) / (ALIKE + pairs)
        if data.coins:
            p = (1.0 + np.sum(n * data.mean, axis=0)) / (2.0 + n.sum(axis=0))
            self.noise = p * (1.0 - p)
        else:
            within = data.squares + np.sum(n * ((1.0 - part) ** 2 * left + rest))
            self.noise = np.full(K, (data.variance + within) / (1.0 + n.sum()))


def start(data: Data, rank: int, levels: bool) -> Factors:
    """Return what is believed before the first sweep: no factor, all arms alike."""
    S, K = data.plays.shape
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


def regress(
    weight: FloatMatrix,
    mean: FloatMatrix,
    on: Vectors,
    free: list[int],
    known: int | None,
    precision: FloatVector,
    centre: FloatVector,
) -> Vectors:
    """Return the laws of the rows' vectors, given cells that are normal around their products.

    Parameters
    ----------
    weight, mean
        Precision of each cell, 0 where it is missing, and the cell.
    on
        The columns' vectors.
    free, known
        Entries of a row's vector that are fitted, and one that is 1.
    precision, centre
        Of the free entries' normal law before any data.
    """
    columns, size = on.mean.shape
    rows, squares = len(weight), on.squares()
    among = squares[:, free][:, :, free].reshape(columns, -1)
    P = (weight @ among).reshape(rows, len(free), len(free)) + np.diag(precision)
    b = (weight * mean) @ on.mean[:, free] + precision * centre
    found = Vectors(np.zeros((rows, size)), np.zeros((rows, size, size)))
    if known is not None:
        b = b - weight @ squares[:, known, free]
        found.mean[:, known] = 1.0
    cover = np.linalg.inv(P)
    found.mean[:, free] = (cover @ b[:, :, None])[:, :, 0]
    found.cover[np.ix_(range(rows), free, free)] = cover
    return found
