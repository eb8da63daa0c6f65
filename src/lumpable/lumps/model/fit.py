"""What the model believes after a fit: who is in which group, the groups' means, the strengths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model import arithmetic
from lumpable.lumps.model.counts import Counts, weighed
from lumpable.lumps.model.scores import Score
from lumpable.lumps.model.worth import Worth
from lumpable.lumps.model.worth import widen as widen_worth


class Scale(NamedTuple):
    """How rewards that are no coins are read: who is alike by scores, what works by themselves."""

    score: Score
    phi: FloatVector
    """How much less than a coin's the scores of each arm vary."""
    worth: Worth

    def widen(self, more: int) -> Scale:
        """Return the same with more arms, which have no rewards."""
        phi = np.append(self.phi, np.full(more, self.phi.mean()))
        return Scale(self.score, phi, widen_worth(self.worth, more))


@dataclass(frozen=True, eq=False)
class Fit:
    """What the model believes after a fit. Tables are (arms, groups)."""

    context: IntVector
    """The contexts that had been seen."""
    member: FloatMatrix
    """Posterior over groups of each of them, (S, M)."""
    pulls: FloatMatrix
    """Rewards of each arm and group, as much as they tell about the group's mean."""
    totals: FloatMatrix
    share: FloatVector
    """ln pi."""
    kappa: float
    centre: FloatVector
    """p_j; p0 with one group."""
    prior_weight: FloatVector
    """W_j: how much is known of p_j, in pulls; infinite with one group."""
    m0: float
    k0: float
    p0: float
    loading: FloatMatrix
    """L (K, q): contexts differ along q directions, mu_ij = theta_j + L_j f_i; with one group."""
    rewards: float
    """How many rewards it was fitted to."""
    evidence: float
    """The log probability of all that was seen, approximately."""
    scale: Scale | None = None
    """How rewards were scored and what they are worth; None if all of them are 0 or 1."""
    doubt: float = 0.0
    """The probability that there is one group after all, where there are several."""

    @property
    def real(self) -> bool:
        """Whether some reward was neither 0 nor 1."""
        return self.scale is not None

    @property
    def groups(self) -> int:
        """M."""
        return len(self.share)

    @property
    def rank(self) -> int:
        """q."""
        return int(self.loading.shape[1])

    @property
    def means(self) -> FloatMatrix:
        """Posterior means of theta, (K, M)."""
        kappa = self.kappa
        table: FloatMatrix = (self.totals + kappa * self.centre[:, None]) / (self.pulls + kappa)
        return table

    def membership(self, contexts: IntVector) -> FloatMatrix:
        """Return the posterior over groups of these contexts, whether they had been seen or not."""
        share = np.exp(self.share)
        member: FloatMatrix = np.tile(share / share.sum(), (len(contexts), 1))
        at = np.minimum(np.searchsorted(self.context, contexts), len(self.context) - 1)
        seen = self.context[at] == contexts
        member[seen] = self.member[at[seen]]
        return member


def memberships(
    counts: Counts, m0: float, kappa: float, centre: FloatVector, share: FloatVector,
    pulls: FloatMatrix, totals: FloatMatrix,
) -> tuple[FloatMatrix, float]:  # fmt: skip
    """Return the posterior over groups of each context, for group means with these sums.

    And the sum of the logarithms of its normalisers, which grows as the fit gets better.
    """
    member = np.empty((counts.contexts, len(share)))
    slope, level = arithmetic.natural(pulls, totals, kappa, centre)
    n, s = weighed(counts, m0)
    bound = arithmetic.members(counts.first, counts.arm, n, s, slope, level, share, member)
    return member, bound


def averaged(pulls: FloatMatrix, totals: FloatMatrix, doubt: float) -> FloatMatrix:
    """Return totals of (arms, groups) whose means are averages over one group and several."""
    if doubt == 0.0:
        return totals
    whole = totals.sum(axis=1) / np.maximum(pulls.sum(axis=1), 1e-300)
    average: FloatMatrix = (1.0 - doubt) * totals + doubt * whole[:, None] * pulls
    return average


def untried_arm(fit: Fit) -> tuple[float, float]:
    """Return the mean and the prior weight of an arm without rewards."""
    return fit.p0, np.inf if fit.groups == 1 else fit.k0


def widen(fit: Fit, more: int) -> Fit:
    """Return a fit with more arms, which have no rewards."""
    if more == 0:
        return fit
    centre, prior_weight = untried_arm(fit)
    nothing = np.zeros((more, fit.groups))
    new = {
        "pulls": nothing,
        "totals": nothing,
        "loading": np.zeros((more, fit.rank)),
        "centre": np.full(more, centre),
        "prior_weight": np.full(more, prior_weight),
    }
    scale = None if fit.scale is None else fit.scale.widen(more)
    return replace(fit, scale=scale, **lengthen(fit, new))


def lengthen(held: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Return arrays of a fit or a state, by name, with these rows after their own."""
    return {name: np.concatenate([getattr(held, name), more]) for name, more in rows.items()}
