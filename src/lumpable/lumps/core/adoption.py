"""The state that follows from a fit: a new one; the old one is not changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lumpable.lumps.core.state import KAPPA, M0, NOISE, State
from lumpable.lumps.core.under_way import Pull, count
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.factors import factor_beliefs
from lumpable.lumps.model.fit import Fit


def believe(state: State, counts: Counts, fit: Fit) -> State:
    """Return the state that believes a fit of these counts; no pull is under way in it."""
    S, K, q = len(state.visits), len(state.mean), fit.rank
    value = state.value.copy()
    value[[KAPPA, M0, NOISE]] = fit.kappa, fit.m0, fit.noise
    log_weight = np.tile(fit.share, (S, 1))
    log_weight[fit.context] = np.log(np.maximum(fit.member, 1e-300))
    precision_mean, precision = np.zeros((S, q)), np.tile(np.eye(q), (S, 1, 1))
    if q > 0:
        precision_mean[counts.context], precision[counts.context] = factor_beliefs(counts, fit)
    return state._replace(
        value=value,
        log_weight=log_weight,
        group_pulls=fit.pulls.T.copy(order="C"),
        group_total=fit.totals.T.copy(order="C"),
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


def expecting(state: State, pulls: Mapping[int, Pull]) -> State:
    """Return a state without pulls under way with these ones."""
    pending = count(pulls, *state.pending.shape)
    return state._replace(pending=pending, group_visits=state.group_visits + pending.sum(axis=1))
