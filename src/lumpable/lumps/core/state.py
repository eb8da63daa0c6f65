"""The state of the practical learner, as arrays: what was seen, what is believed, and room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model.strengths import USUAL_OWN_STRENGTH

KAPPA, M0, REAL, BETWEEN, OWN, LOW, HIGH, CEILING, STEP, FLOOR, RISE, AROUND, TRIALS = range(13)
"""Places in `value`, ..."""
VALUES = TRIALS + 1
"""... and their number."""
FIRST_LOG = 16
"""Room for rewards that are neither 0 nor 1, at first."""


class State(NamedTuple):
    """Cells of contexts, beliefs about contexts and groups, and room to calculate."""

    start: IntVector
    """The cells of context i are the length[i] ones from start[i] on, with room for room[i]."""
    length: IntVector
    room: IntVector
    arm: npt.NDArray[np.int32]
    pulls: FloatVector
    ones: FloatVector
    """How many of a cell's rewards are 1."""
    total: FloatVector
    """Of all of them; wild ones count as the fence."""
    used: IntVector
    """Places in use."""
    log_context: npt.NDArray[np.int32]
    """Rewards that are neither 0 nor 1: the first `logged` places."""
    log_arm: npt.NDArray[np.int32]
    log_value: FloatVector
    log_count: FloatVector
    logged: IntVector
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
    """kappa, m0; whether the fit took rewards for real ones, and if so tau^2, m0 in rewards, the
    fence, the ceiling of contexts' own means with the least step above it, and, where these have
    two values, the lower one, what the other is more, the variance around them, and how many
    rewards tell them apart."""
    loading: FloatMatrix
    """L (K, q)."""
    knot: FloatVector
    """The score of real rewards, and how much less than a coin's it varies for each arm."""
    grade: FloatVector
    phi: FloatVector
    worth_pulls: FloatMatrix
    """(M, K): `Worth` of real rewards; no rows for coins, whose sums are those of the groups."""
    worth_total: FloatMatrix
    noise: FloatMatrix
    worth_centre: FloatVector
    hold: FloatVector
    worth_loading: FloatMatrix
    """(K, q)."""
    precision_mean: FloatMatrix
    precision: npt.NDArray[np.float64]
    """Of each context's factors: precision times mean (S, q), and precision (S, q, q)."""
    allowed: BoolVector
    """Arms that may be chosen, unless a choice is asked for among others."""
    weight: FloatVector
    mean: FloatVector
    spread: FloatVector
    scale: FloatVector
    """The variance of a single reward of each arm."""
    cover: FloatMatrix
    factor: FloatVector
    score: FloatVector
    due: IntVector


def blank(S: int, K: int, due: int) -> State:
    """Return the state of a learner without rewards, whose first fit is due at `due` of them."""
    places = 4 * S + 2 * K + 4
    value, none = np.zeros(VALUES), np.zeros((0, K))
    value[[KAPPA, M0, BETWEEN, OWN]] = 2.0, USUAL_OWN_STRENGTH, 1.0, USUAL_OWN_STRENGTH
    return State(
        start=np.zeros(S, dtype=np.int64), length=np.zeros(S, dtype=np.int64),
        room=np.zeros(S, dtype=np.int64), arm=np.zeros(places, dtype=np.int32),
        pulls=np.zeros(places), ones=np.zeros(places), total=np.zeros(places),
        used=np.zeros(1, dtype=np.int64), log_context=np.zeros(FIRST_LOG, dtype=np.int32),
        log_arm=np.zeros(FIRST_LOG, dtype=np.int32), log_value=np.zeros(FIRST_LOG),
        log_count=np.zeros(FIRST_LOG), logged=np.zeros(1, dtype=np.int64),
        visits=np.zeros(S), log_weight=np.zeros((S, 1)), group_pulls=np.zeros((1, K)),
        group_total=np.zeros((1, K)), group_visits=np.zeros(1), pending=np.zeros((1, K)),
        centre=np.full(K, 0.5), prior_weight=np.full(K, np.inf), value=value,
        loading=np.zeros((K, 0)), knot=np.zeros(1), grade=np.zeros(1), phi=np.ones(K),
        worth_pulls=none, worth_total=none, noise=none, worth_centre=np.zeros(K),
        hold=np.full(K, np.inf), worth_loading=np.zeros((K, 0)),
        precision_mean=np.zeros((S, 0)), precision=np.zeros((S, 0, 0)),
        allowed=np.ones(K, dtype=np.bool_), weight=np.ones(1), mean=np.zeros(K),
        spread=np.zeros(K), scale=np.zeros(K), cover=np.zeros((0, 0)), factor=np.zeros(0),
        score=np.zeros(K), due=np.array([due]),
    )  # fmt: skip
