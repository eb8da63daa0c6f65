"""What a policy would have earned, from a log of what another one did: numbers in, numbers out.

IPS weighs each event by 1 / propensity where the policy would have chosen as the log did, and by 0
elsewhere (Horvitz and Thompson 1952). SNIPS divides by the sum of the weights. The direct method
believes a model; the doubly robust one corrects the model by the weighted errors that it makes
(Dudik, Langford and Li, "Doubly robust policy evaluation and learning", ICML 2011). Each value is
the mean of a number per event, its influence, and the interval is the normal one of this mean. Of
influences that do not vary at all nothing follows: then no interval is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.tables.betting import betting_interval
from lumpable.tables.normal_law import terms

IPS, SNIPS, DIRECT, ROBUST = "IPS", "SNIPS", "direct", "doubly robust"
BETTING = "IPS, by betting"
WEIGHTED = IPS, SNIPS, ROBUST
"""Methods that need propensities."""
SHUFFLED = 41
"""The stream of chance in which events are put in order."""


@dataclass(frozen=True, slots=True)
class PolicyEstimate:
    """A value, by one method, with the ends of an interval."""

    method: str
    value: float
    low: float
    high: float
    """Both ends are NaN where none are known."""
    terms: float = math.inf
    """So many equal rewards would vary as much; a normal interval asks for `terms_needed` of them.
    Infinite where no normal law of rewards is assumed."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows of a log that are judged by a policy and a model which did not see them.

    Row k stands for `times[k]` equal events.
    """

    times: IntVector
    reward: FloatVector
    weight: FloatVector
    """1 / propensity where the policy chooses what was logged, else 0."""
    logged: FloatVector
    """What the model expects of what was logged, ..."""
    chosen: FloatVector
    """... and of what the policy chooses."""
    believed: FloatVector
    """What the model of all events expects of what the policy chooses, for the direct method."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much of a log speaks about a policy."""

    events: int
    matched: int
    """Events in which the policy would have chosen the same."""
    effective: float
    """So many events with equal weights would tell as much."""
    largest: float
    """The part of all weight that one event carries."""
    mean: float
    """1, up to chance, if propensities are right, ..."""
    error: float
    """... with this standard error."""


def estimates(
    folds: Sequence[Fold], other: Sequence[Fold] | None = None, level: float = 0.95,
    methods: Sequence[str] = (IPS, SNIPS, DIRECT, ROBUST), doubt: float = 0.0,
) -> list[PolicyEstimate]:  # fmt: skip
    """Return the value of a policy, or what it earns more than another one on the same rows.

    `doubt` is the variance of the direct method that is due to doubt about the model.
    """
    rows = []
    times = np.concatenate([fold.times for fold in folds]).astype(np.float64)
    same = other is not None and all(map(_same, folds, other))

    def influences(method: str) -> FloatVector:
        each: FloatVector = np.concatenate([_influence(method, fold) for fold in folds])
        if other is None:
            return each
        rest: FloatVector = np.concatenate([_influence(method, fold) for fold in other])
        return each - rest

    for method in methods:
        each = influences(method)
        if same:  # whatever comes, it is no more
            rows.append(PolicyEstimate(method, 0.0, 0.0, 0.0))
        elif method == DIRECT:
            rows.append(_interval(method, each, times, level, math.inf, doubt))
        else:
            seen = terms(each, times)
            if method == ROBUST:  # the model's part varies even if no reward that matched did
                seen = min(seen, terms(influences(SNIPS), times))
            rows.append(_interval(method, each, times, level, seen))
    return rows


def _same(one: Fold, other: Fold) -> bool:
    """Whether two policies choose the same on all rows."""
    columns = ("weight", "chosen", "believed")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


def _interval(
    method: str, each: FloatVector, times: FloatVector, level: float, seen: float,
    doubt: float = 0.0,
) -> PolicyEstimate:  # fmt: skip
    """Return the mean with its normal interval; there is none where nothing varies."""
    mean, error = _mean(each, times)
    wide = NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt(error + doubt)
    if wide == 0.0 or seen == 0.0:
        wide = math.nan
    return PolicyEstimate(method, mean, mean - wide, mean + wide, seen)


def _influence(method: str, fold: Fold) -> FloatVector:
    """Return a number per row whose mean is the value of the policy."""
    w, r = fold.weight, fold.reward
    if method == IPS:
        return w * r
    if method == DIRECT:
        return fold.believed
    if method == ROBUST:
        return fold.chosen + w * (r - fold.logged)
    sum_of_weights = float(fold.times @ w)
    if sum_of_weights == 0.0:
        return np.full(len(w), math.nan)
    value = float(fold.times @ (w * r)) / sum_of_weights
    return value + w * (r - value) * (float(fold.times.sum()) / sum_of_weights)


def _mean(each: FloatVector, times: FloatVector) -> tuple[float, float]:
    """Return the mean, and its variance."""
    events = float(times.sum())
    mean = float(times @ each) / events
    spread = float(times @ (each - mean) ** 2) / max(events - 1.0, 1.0)
    return mean, spread / events


def mean_logged(folds: Sequence[Fold], level: float = 0.95) -> PolicyEstimate:
    """Return what the events earned as they were, per event."""
    reward = np.concatenate([fold.reward for fold in folds])
    times = np.concatenate([fold.times for fold in folds]).astype(np.float64)
    return _interval("as logged", reward, times, level, terms(reward, times))


# --- Weights --------------------------------------------------------------------------------------


def weights(folds: Sequence[Fold], most: float = 0.0) -> Weights:
    """Return how much of the log speaks about the policy; no weight is above `most`.

    The standard error is that of one more event, with the largest weight: it may not have occurred.
    """
    times = np.concatenate([fold.times for fold in folds])
    w = np.concatenate([fold.weight for fold in folds])
    total, squares, events = float(times @ w), float(times @ w**2), int(times.sum())
    around = float(times @ (w - total / events) ** 2) + most**2
    return Weights(
        events, int(times[w > 0.0].sum()), total**2 / squares if squares else 0.0,
        float(w.max(initial=0.0)) / total if total else 0.0,
        total / events, math.sqrt(around) / events,
    )  # fmt: skip


# --- Without a normal law -------------------------------------------------------------------------


def by_betting(
    folds: Sequence[Fold], ends: tuple[float, float], largest: float,
    other: Sequence[Fold] | None = None, level: float = 0.95,
) -> PolicyEstimate:  # fmt: skip
    """Return the IPS value, or the difference of two, with an interval that needs no normal law.

    Rewards lie between `ends`, weights between 0 and `largest`. Folds are judged apart, each with
    a part of the error. Evidence has no order, so events are taken in one drawn by lot, which is
    another one when the log has grown: the interval is for one look. `value_in_time` has intervals
    for many.
    """
    (low, high), level = ends, 1.0 - (1.0 - level) / len(folds)
    events = sum(int(fold.times.sum()) for fold in folds)
    whole = np.zeros(3)
    for number, fold in enumerate(folds):
        part = (fold.reward - low) / (high - low)
        x, shift, unit = fold.weight * part / largest, low, largest * (high - low)
        if other is not None:  # from -1 to 1
            x = (x - other[number].weight * part / largest + 1.0) / 2.0
            shift, unit = -unit, 2.0 * unit
        order = np.random.default_rng([SHUFFLED, number]).permutation(int(fold.times.sum()))
        x = np.repeat(x, fold.times)[order]
        found = np.array([float(x.mean()), *betting_interval(x, level)])
        whole += len(x) / events * (shift + unit * found)
    return PolicyEstimate(BETTING, *(float(one) for one in whole))
