"""The state that follows from a fit: a new one; the old one is not changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lumpable.lumps.core.layout import cell_places, with_log
from lumpable.lumps.core.state import (
    AROUND,
    BETWEEN,
    CEILING,
    FLOOR,
    HIGH,
    KAPPA,
    LOW,
    M0,
    OWN,
    REAL,
    RISE,
    STEP,
    TRIALS,
    State,
    blank,
)
from lumpable.lumps.core.under_way import Pull, count
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.factors import factor_beliefs
from lumpable.lumps.model.fit import Fit, Scale, averaged
from lumpable.lumps.model.fitted import coins_of
from lumpable.lumps.model.scores import scored

OF_REWARDS = (
    "knot", "grade", "phi", "worth_pulls", "worth_total", "noise", "worth_centre", "hold",
    "worth_loading",
)  # fmt: skip
"""What a state holds of real rewards only."""
TELL_APART = 4.0
"""Two values are told apart by about this many rewards, if they differ by a reward's standard
deviation."""
LEAST_STEP = 0.05
"""However close the ceiling is, this part of a reward's standard deviation is looked for above."""


def believe(state: State, counts: Counts, fit: Fit) -> State:
    """Return the state that believes a fit of these counts; no pull is under way in it."""
    S, K, q = len(state.visits), len(state.mean), fit.rank
    value, fenced = state.value.copy(), state.value[REAL] > 0.0
    value[[KAPPA, M0, REAL, OWN]] = fit.kappa, fit.m0, 0.0, fit.m0
    log_weight = np.tile(fit.share, (S, 1))
    log_weight[fit.context] = np.log(np.maximum(fit.member, 1e-300))
    precision_mean, precision = np.zeros((S, q)), np.tile(np.eye(q), (S, 1, 1))
    if q > 0:
        coins = coins_of(counts, fit)
        precision_mean[counts.context], precision[counts.context] = factor_beliefs(coins, fit)
    state = state._replace(
        value=value,
        log_weight=log_weight,
        group_pulls=fit.pulls.T.copy(order="C"),
        group_total=averaged(fit.pulls, fit.totals, fit.doubt).T.copy(order="C"),
        group_visits=state.visits[fit.context] @ fit.member,
        pending=np.zeros((fit.groups, K)),
        centre=fit.centre.copy(),
        prior_weight=fit.prior_weight.copy(),
        weight=np.ones(fit.groups),
        loading=fit.loading.copy(order="C"),
        precision_mean=precision_mean,
        precision=precision,
        cover=np.zeros((q, q)),
        factor=np.zeros(q),
    )
    if fit.scale is not None:
        return state._replace(**_in_rewards(state, counts, fit.scale, fit.doubt))
    return state._replace(**_in_coins(state, counts)) if fenced else state


def _in_coins(state: State, counts: Counts) -> dict[str, Any]:
    """Return what a state holds where rewards were real and are coins now, which have no fence."""
    new, value, total = blank(1, len(state.mean), 0), state.value.copy(), state.total.copy()
    strengths = [KAPPA, M0, REAL, OWN]
    value[:] = new.value
    value[strengths] = state.value[strengths]
    total[cell_places(state)] = counts.s
    return {"value": value, "total": total} | {name: getattr(new, name) for name in OF_REWARDS}


def _in_rewards(state: State, counts: Counts, scale: Scale, doubt: float) -> dict[str, Any]:
    """Return what a state holds of real rewards: their score, what they are worth, and their log.

    Totals of cells are made anew: the fence may have moved.
    """
    score, phi, worth = scale
    value, total = state.value.copy(), state.total.copy()
    value[[REAL, BETWEEN, OWN]] = 1.0, worth.between, worth.own
    value[[LOW, HIGH, CEILING]] = score.low, score.high, worth.ceiling
    usual, ends = float(worth.noise.mean()), worth.ends
    value[STEP] = LEAST_STEP * math.sqrt(usual)
    value[[FLOOR, RISE, AROUND, TRIALS]] = ends.low, ends.rise, ends.around, 1.0
    if ends.rise > 0.0:
        value[TRIALS] += TELL_APART * usual / ends.rise**2
    total[cell_places(state)] = scored(counts, score).s
    others = counts.others
    assert others is not None
    context = np.repeat(counts.context, np.diff(counts.first))[others.cell]
    log = with_log(state, context, counts.arm[others.cell], others.value, others.times)
    return log._asdict() | {
        "value": value,
        "total": total,
        "knot": score.knot.copy(),
        "grade": score.grade.copy(),
        "phi": phi.copy(),
        "worth_pulls": worth.pulls.T.copy(order="C"),
        "worth_total": averaged(worth.pulls, worth.totals, doubt).T.copy(order="C"),
        "noise": worth.noise.T.copy(order="C"),
        "worth_centre": worth.centre.copy(),
        "hold": worth.hold.copy(),
        "worth_loading": worth.loading.copy(order="C"),
    }


def expecting(state: State, pulls: Mapping[int, Pull]) -> State:
    """Return a state without pulls under way with these ones."""
    pending = count(pulls, *state.pending.shape)
    return state._replace(pending=pending, group_visits=state.group_visits + pending.sum(axis=1))
