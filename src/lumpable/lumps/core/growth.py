"""Room for contexts and arms that come later.

Growing changes nothing for what was there: a learner that grew believes what it would believe had
it had the size from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.base.errors import BadArgument
from lumpable.lumps.core.layout import with_room
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import State
from lumpable.lumps.model.fit import Fit, lengthen, untried_arm, widen


def grow(learner: Levels, contexts: int, arms: int, *, allowed: bool = True) -> None:
    """Give a learner room for more contexts and arms; those it has keep their numbers.

    New contexts start from the groups' shares, new arms from the population; `allowed` says whether
    new arms may be chosen.
    """
    more_contexts, more_arms = contexts - learner.contexts, arms - learner.arms
    if more_contexts < 0 or more_arms < 0:
        raise BadArgument(
            "contexts, arms", f"at least {learner.contexts}, {learner.arms}", f"{contexts}, {arms}"
        )
    state, fit = learner.state, learner.last_fit
    if more_contexts > 0:
        state = state._replace(**_more_contexts(state, learner.share, more_contexts))
    if more_arms > 0:
        state = state._replace(**_more_arms(state, fit, more_arms, allowed))
        fit = None if fit is None else widen(fit, more_arms)
    learner.become(with_room(state), last_fit=fit, contexts=contexts, arms=arms)


def _more_contexts(state: State, share: FloatVector, more: int) -> dict[str, Any]:
    """Return the arrays with a row for each context, lengthened."""
    rank = state.precision_mean.shape[1]
    new: dict[str, Any] = {
        **{name: np.zeros(more, dtype=np.int64) for name in ("start", "length", "room")},
        "visits": np.zeros(more),
        "log_weight": np.tile(share, (more, 1)),
        "precision_mean": np.zeros((more, rank)),
        "precision": np.tile(np.eye(rank), (more, 1, 1)),
    }
    return lengthen(state, new)


def _more_arms(state: State, fit: Fit | None, more: int, allowed: bool) -> dict[str, Any]:
    """Return the arrays with a number for each arm, lengthened."""
    centre, prior_weight = (0.5, np.inf) if fit is None else untried_arm(fit)
    new = {
        **{name: np.zeros(more) for name in ("mean", "spread", "scale", "score")},
        "centre": np.full(more, centre),
        "prior_weight": np.full(more, prior_weight),
        "loading": np.zeros((more, state.loading.shape[1])),
        "allowed": np.full(more, allowed),
        "phi": np.ones(more),
        "worth_centre": np.zeros(more),
        "hold": np.full(more, np.inf),
        "worth_loading": np.zeros((more, state.worth_loading.shape[1])),
    }
    wider = {
        name: np.zeros((len(getattr(state, name)), more))
        for name in ("group_pulls", "group_total", "pending", "worth_pulls", "worth_total", "noise")
    }
    if fit is not None and fit.scale is not None:
        _, phi, worth = fit.scale.widen(more)
        last = slice(len(phi) - more, None)
        new |= {"phi": phi[last], "worth_centre": worth.centre[last], "hold": worth.hold[last]}
        wider["noise"] = worth.noise[last].T
    tables = {
        name: np.concatenate([getattr(state, name), columns], axis=1)
        for name, columns in wider.items()
    }
    return tables | lengthen(state, new)
