"""Regression oracles: least squares of rewards on context and arm, from plays and sums of cells.

Each class of functions is one that a practitioner would hand to SquareCB or FALCON. All shrink
towards the overall mean, as if by one play of it, so that an unseen cell is neither best nor worst,
and none leaves the range of the cells' means. The unit of rewards does not matter; for the low-rank
class, whose ridge is on the factors, that takes means in units of their own spread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.fitting.completion import als
from lumpable.learners.fitting.lloyd import lloyd

ORACLES = ("cells", "additive", "lumpable", "low rank")
RIDGE = 1.0
FACTOR_RIDGE = 2.0
"""In units of the spread of rewards: 1 for coins, whose spread is 1/2."""
SWEEPS = 10
"""Of alternating least squares."""


class Oracle(NamedTuple):
    """A class of functions of context and arm."""

    kind: str
    clusters: int
    """M, of the lumpable class."""
    rank: int
    """Of the low-rank class."""


class Fit(NamedTuple):
    """What an oracle found."""

    prediction: FloatMatrix
    labels: IntVector | None
    """Each context's cluster; None in a class without clusters."""


def make_oracle(kind: str, clusters: int, rank: int) -> Oracle:
    """Return an oracle with checked parameters."""
    return Oracle(
        checks.choice("oracle", kind, ORACLES),
        checks.whole("clusters", clusters, 1),
        checks.whole("rank", rank, 1),
    )


def fit(oracle: Oracle, plays: FloatMatrix, sums: FloatMatrix, rng: np.random.Generator) -> Fit:
    """Return the predictions of least squares in the oracle's class.

    >>> plays, sums = np.array([[2.0, 0.0], [2.0, 4.0]]), np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> fit(Oracle("cells", 8, 3), plays, sums, np.random.default_rng(1)).prediction.round(3)
    array([[0.833, 0.5  ],
           [0.167, 0.5  ]])
    """
    if not plays.any():
        return Fit(np.zeros_like(sums), None)
    middle = float(sums.sum() / plays.sum())
    mean = np.divide(sums, plays, out=np.full_like(sums, middle), where=plays > 0)
    S, K = plays.shape
    labels = None
    if oracle.kind == "cells":
        prediction = shrink(plays, sums, middle)
    elif oracle.kind == "additive":
        prediction = middle + additive(plays, sums - middle * plays)
    elif oracle.kind == "lumpable":
        labels, _ = lloyd(plays, mean, min(oracle.clusters, S), rng)
        member = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
        prediction = shrink(member @ plays, member @ sums, middle)[labels]
    else:
        unit = math.sqrt(float(np.average((mean - middle) ** 2, weights=plays))) or 1.0
        rank = min(oracle.rank, S, K)
        U, V = als(plays, (mean - middle) / unit, rank, FACTOR_RIDGE, SWEEPS, rng)
        prediction = middle + unit * (U @ V.T)
    return Fit(np.clip(prediction, mean.min(), mean.max()), labels)


def shrink(plays: FloatMatrix, sums: FloatMatrix, middle: float) -> FloatMatrix:
    """Return the mean of each cell with one more play, of the middle."""
    return (sums + middle) / (plays + 1.0)


def additive(plays: FloatMatrix, sums: FloatMatrix) -> FloatMatrix:
    """Return u_i + v_j of least sum_ij n_ij (m_ij - u_i - v_j)^2 + |u|^2 + |v|^2, exactly.

    The contexts' part is eliminated, which leaves K equations; where there are fewer contexts than
    arms, the other way round.
    """
    S, K = plays.shape
    if S < K:
        return additive(plays.T, sums.T).T
    scaled = plays / (plays.sum(axis=1, keepdims=True) + RIDGE)
    left = np.diag(plays.sum(axis=0) + RIDGE) - scaled.T @ plays
    v = np.linalg.solve(left, sums.sum(axis=0) - scaled.T @ sums.sum(axis=1))
    u = (sums.sum(axis=1) - plays @ v) / (plays.sum(axis=1) + RIDGE)
    return u[:, None] + v


def log_size(oracle: Oracle, contexts: int, arms: int) -> float:
    """Return log |F|: numbers that a function has, and log M for each context that is grouped.

    SK for cells, S + K for additive, S log M + MK for lumpable, (S + K) rank for low rank.
    """
    S, K = contexts, arms
    M, rank = min(oracle.clusters, S), min(oracle.rank, S, K)
    return {
        "cells": float(S * K),
        "additive": float(S + K),
        "lumpable": S * math.log(M) + M * K,
        "low rank": float((S + K) * rank),
    }[oracle.kind]
