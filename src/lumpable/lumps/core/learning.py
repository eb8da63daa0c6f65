"""What the learners of numbers share: three levels of belief, pulls under way, fits, room.

Between two fits a reward moves its cell, its context's posterior over groups and the groups' sums
(see `steps`); the strengths stay. A fit is three steps, which may be taken in different places:

    if core.due():
        fit = core.fit(core.counts(), core.last_fit)    # pure: in a thread, in another process
        core.adopt(fit)                                 # between two rewards

A learner changes from one state to the next in one assignment: an interrupted call leaves the old
one or the new one. Letters are those of `model.counts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.learners.engine.clock import Clock
from lumpable.learners.engine.early import Early
from lumpable.learners.engine.entries import entry
from lumpable.learners.learner import NEVER, Compiled
from lumpable.lumps.core.adoption import believe, expecting
from lumpable.lumps.core.layout import cells_at, counts_of, with_room
from lumpable.lumps.core.state import BETWEEN, KAPPA, OWN, REAL, State, blank
from lumpable.lumps.core.under_way import Pull, count, likeliest, regroup
from lumpable.lumps.model import fitted
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit, widen

FIRST_FIT = 10
"""The first fit comes after this many rewards."""
EARLY = 2
"""It is early while contexts were seen less often than this on average."""
ONE_GROUP: FloatVector = np.zeros(1)
"""The share before the first fit."""


class Levels(Compiled):
    """A learner of three levels: what works for all, for groups and for each context.

    A final class names its kernels, the one that chooses among given arms, and when fits come.
    """

    among: ClassVar[Callable[..., int]]
    """choose(state, context, allowed, clock) -> arm."""
    growth: ClassVar[tuple[float, float]]
    """Fits come whenever there are this many times more rewards: early on, and later."""
    _ask_among: Callable[[int, int, BoolVector], int]
    fit = staticmethod(fitted.fit)
    """Fit a snapshot of counts, from the fit before: a pure function."""

    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.last_fit: Fit | None = None
        """The fit that was adopted last; None before the first."""
        self.fits = True
        """Whether it fits by itself as soon as a fit is due."""
        self.at_once = False
        """Whether callers need not wait while compiled code is made."""
        self.next_fit = FIRST_FIT
        """The next fit is due at this number of rewards."""
        self.under_way: dict[int, Pull] = {}
        """Pulls whose rewards have not come, by id, the oldest first."""
        self.numbers: dict[Name, int] = {}
        """The numbers of contexts that have names; pulls under way go by name."""
        super().__init__(S, K, seed, blank(S, K, FIRST_FIT))

    # --- One state after the other --------------------------------------------------------------

    def _connections(self, state: Any, clock: Clock) -> dict[str, Any]:
        held = super()._connections(state, clock)
        held["_ask_among"] = entry(type(self).among, state)
        if self.at_once:
            early = {name: Early(held[name], state, clock) for name in ("_ask_among", "_tell")}
            return held | early
        return held

    def __getstate__(self) -> dict[str, Any]:
        kept = super().__getstate__()
        del kept["_ask_among"]
        return kept

    def change_names(self) -> None:
        """Take notice that contexts or arms came, or that other arms may be chosen."""

    def become(self, state: State, **more: Any) -> None:
        """Go on with another state and other attributes: with all of them, or with none."""
        clock = more.pop("clock", self.clock)
        vars(self).update({**self._connections(state, clock), **more})

    # --- Rounds ---------------------------------------------------------------------------------

    def ask(self, context: int, allowed: BoolVector | None = None) -> int:
        """Return the arm to play for this context now, of those that are allowed.

        Asked twice, it answers the same. `allowed` says of each arm whether it may be chosen this
        time; without it, those of `state.allowed` may be.
        """
        if allowed is None and not self.at_once:
            return super().ask(context)
        if type(context) is not int or not 0 <= context < self.contexts:
            context = checks.whole("context", context, 0, self.contexts - 1)
        return self._ask_among(self._address, context, self.mask(allowed))

    def mask(self, allowed: BoolVector | None) -> BoolVector:
        """Return which arms may be chosen, as compiled code takes it; at least one."""
        if allowed is None:
            mask: BoolVector = self.state.allowed
            return mask
        mask = np.ascontiguousarray(allowed)
        if mask.dtype != np.bool_ or mask.shape != (self.arms,) or not mask.any():
            expected = f"for each of {self.arms} arms whether it may be chosen, and one at least"
            raise BadArgument("allowed", expected, f"{mask.dtype} of shape {mask.shape}")
        return mask

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        self.finish()
        super().tell(context, arm, reward)

    def finish(self) -> None:
        """Do what fell due and was cut off: compiled code may have no room for another cell."""
        if self._due.item() == 0:
            self.refit()

    # --- Pulls under way ------------------------------------------------------------------------

    def expect(self, id: int, context: Name, arm: int, propensity: float = 1.0) -> None:
        """Count a pull whose reward is to come: until then, others try its arm less."""
        state = self.state
        group = likeliest(state.log_weight, self.share, self.numbers.get(context))
        self.under_way[id] = Pull(context, arm, propensity, group)
        state.pending[group, arm] += 1.0
        state.group_visits[group] += 1.0

    def expect_no_more(self, id: int) -> None:
        """Count a pull no more: its reward is here, or will not come."""
        pull = self.under_way.pop(id)
        self.state.pending[pull.group, pull.arm] -= 1.0
        self.state.group_visits[pull.group] -= 1.0

    def recover(self, pulls: dict[int, Pull], group_visits: FloatVector) -> None:
        """Return to the pulls and visits before a call that was cut off."""
        self.under_way = pulls
        self.state.pending[:] = count(pulls, *self.state.pending.shape)
        self.state.group_visits[:] = group_visits

    @property
    def share(self) -> FloatVector:
        """The logarithm of each group's share of contexts."""
        return ONE_GROUP if self.last_fit is None else self.last_fit.share

    # --- Fits -----------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Return all that was seen: a snapshot, which may be pickled and sent elsewhere."""
        return counts_of(self.state)

    def due(self) -> bool:
        """Whether it is time for a fit, or the last one reads rewards as what they are no more."""
        return self.tells >= self.next_fit or self._turned(self.last_fit)

    def _turned(self, fit: Fit | None) -> bool:
        return bool(self.state.logged[0] > 0) != (fit is not None and fit.real)

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit of what was seen, now or a while ago.

        Rewards, contexts and arms that came since the snapshot count (see `fitted.catch_up`). Where
        a context was forgotten since, the fit is of another learner: fit anew.
        """
        counts, tells = self.counts(), self.tells
        if fit.rewards > tells or not np.isin(fit.context, counts.context).all():
            raise BadArgument("fit", "a fit of this learner's rewards", "one of others")
        fit, counts = widen(fit, self.arms - len(fit.pulls)), counts.read_as(real=fit.real)
        if fit.rewards != tells:
            fit = fitted.catch_up(counts, fit)
        growth = self.growth[tells >= EARLY * len(fit.context)]
        next_fit = max(tells + 1, math.ceil(growth * tells))
        state = believe(self.state, counts, fit)
        pulls = regroup(self.under_way, self.numbers, state.log_weight, fit.share)
        due = np.array([0 if self._turned(fit) else next_fit])
        state = expecting(state, pulls)._replace(due=due)
        self.become(state, last_fit=fit, next_fit=next_fit, under_way=pulls)

    def answer_at_once(self) -> None:
        """Let no caller wait for compiled code: until it is there, rounds are interpreted."""
        self.at_once = True
        self._connect()

    def leave_fits(self) -> None:
        """Leave all fits to whoever holds this learner, who looks whether one is `due`."""
        self.fits = False

    def refit(self) -> None:
        """Make room for more cells; fit and adopt what is due."""
        self.become(with_room(self.state))
        if not self.fits:
            self.state.due[0] = NEVER
        elif self.due():
            self.adopt(self.fit(self.counts(), self.last_fit))
        else:
            self.state.due[0] = self.next_fit

    # --- What is believed -----------------------------------------------------------------------

    def posterior_means(self, contexts: IntVector) -> FloatMatrix:
        """Return the mean reward of every arm for these contexts, as believed now."""
        state, m0 = self.state, self.state.value[OWN]
        mean: FloatMatrix = self.membership(contexts) @ self.group_means()
        if state.loading.shape[1] > 0:
            factor = np.linalg.solve(
                state.precision[contexts], state.precision_mean[contexts][:, :, None]
            )
            mean = mean + factor[:, :, 0] @ self.effects.T
        if not math.isinf(m0):
            row, at = cells_at(state, contexts)
            arm, n, s = state.arm[at], state.pulls[at], state.total[at]
            mean[row, arm] = (m0 * mean[row, arm] + s) / (m0 + n)
        return mean

    @property
    def effects(self) -> FloatMatrix:
        """What a context's factors add to the mean reward of each arm, (K, q)."""
        state = self.state
        table: FloatMatrix = state.worth_loading if state.value[REAL] > 0.0 else state.loading
        return table

    def group_means(self) -> FloatMatrix:
        """Return the mean reward of every arm in each group, (M, K), as believed now."""
        state = self.state
        if state.value[REAL] > 0.0:
            kappa = state.noise / state.value[BETWEEN]
            total = state.worth_total + kappa * state.worth_centre
            worth: FloatMatrix = total / (state.worth_pulls + kappa)
            return worth
        kappa = state.value[KAPPA]
        mean: FloatMatrix = (state.group_total + kappa * state.centre) / (state.group_pulls + kappa)
        return mean

    def membership(self, contexts: IntVector) -> FloatMatrix:
        """Return the posterior over groups of these contexts, as believed now."""
        row = self.state.log_weight[contexts]
        weight = np.exp(row - row.max(axis=1, keepdims=True))
        member: FloatMatrix = weight / weight.sum(axis=1, keepdims=True)
        return member

    def policy(self) -> IntVector:
        """Return each context's allowed arm with the largest posterior mean."""
        best = np.empty(self.contexts, dtype=np.int64)
        for rows in np.array_split(
            np.arange(self.contexts), 1 + self.contexts * self.arms // 10**7
        ):
            mean = np.where(self.state.allowed, self.posterior_means(rows), -np.inf)
            best[rows] = np.argmax(mean, axis=1)
        return best

    def labels(self) -> IntVector:
        """Return the likeliest group of each context."""
        label: IntVector = np.argmax(self.state.log_weight, axis=1)
        return label
