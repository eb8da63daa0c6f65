"""The state of the practical learner, as arrays: what was seen, what is believed, and room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model.strengths import USUAL_OWN_STRENGTH

KAPPA, M0, NOISE, REAL, SQUARES = range(5)
"""Places in `value`."""


class State(NamedTuple):
    """Cells of contexts, beliefs about contexts and groups, and room to calculate."""

    start: IntVector
    """The cells of context i are the length[i] ones from start[i] on, with room for room[i]."""
    length: IntVector
    room: IntVector
    arm: npt.NDArray[np.int32]
    pulls: FloatVector
    total: FloatVector
    used: IntVector
    """Places in use."""
    visits: FloatVector
    """Rewards of each context."""
    log_weight: FloatMatrix
    """ln of the posterior over groups of each context, up to a constant, (S, M)."""
    group_pulls: FloatMatrix
    """(M, K), as `Fit.pulls`."""
    group_total: FloatMatrix
    group_visits: FloatVector
    pending: FloatMatrix
    """(M, K): pulls whose reward has not come; they narrow the index and leave the mean."""
    centre: FloatVector
    prior_weight: FloatVector
    value: FloatVector
    """kappa, m0, sigma^2, whether rewards are real, and their squares within cells."""
    loading: FloatMatrix
    """L (K, q)."""
    precision_mean: FloatMatrix
    precision: npt.NDArray[np.float64]
    """Of each context's factors: precision times mean (S, q), and precision (S, q, q)."""
    allowed: BoolVector
    """Arms that may be chosen, unless a choice is asked for among others."""
    weight: FloatVector
    mean: FloatVector
    spread: FloatVector
    cover: FloatMatrix
    factor: FloatVector
    score: FloatVector
    due: IntVector


def blank(S: int, K: int, due: int) -> State:
    """Return the state of a learner without rewards, whose first fit is due at `due` of them."""
    places = 4 * S + 2 * K + 4
    value = np.zeros(5)
    value[[KAPPA, M0, NOISE]] = 2.0, USUAL_OWN_STRENGTH, 1.0
    return State(
        start=np.zeros(S, dtype=np.int64), length=np.zeros(S, dtype=np.int64),
        room=np.zeros(S, dtype=np.int64), arm=np.zeros(places, dtype=np.int32),
        pulls=np.zeros(places), total=np.zeros(places), used=np.zeros(1, dtype=np.int64),
        visits=np.zeros(S), log_weight=np.zeros((S, 1)), group_pulls=np.zeros((1, K)),
        group_total=np.zeros((1, K)), group_visits=np.zeros(1), pending=np.zeros((1, K)),
        centre=np.full(K, 0.5), prior_weight=np.full(K, np.inf), value=value,
        loading=np.zeros((K, 0)), precision_mean=np.zeros((S, 0)), precision=np.zeros((S, 0, 0)),
        allowed=np.ones(K, dtype=np.bool_), weight=np.ones(1), mean=np.zeros(K),
        spread=np.zeros(K), cover=np.zeros((0, 0)), factor=np.zeros(0), score=np.zeros(K),
        due=np.array([due]),
    )  # fmt: skip
