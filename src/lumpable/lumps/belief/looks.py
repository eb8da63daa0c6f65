"""What the rewards look like, and what is made of them: in numbers and in words."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.base.words import counted, number
from lumpable.lumps.belief.halves import SHOWN, apart
from lumpable.lumps.belief.posterior import seen_now
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.model.scores import Score, all_values

FEW = 0.01
"""Rewards beside zeros and ones are few up to this share."""
HEAVY = 0.2
"""Tails are heavy if the largest hundredth of the rewards carries this part of their sum."""
CLIPPED = "from 0 to 1"
REPEATED, MANY_VALUES = 0.2, 100
"""Rewards seem to be logged twice if this share repeats one of the same cell, of many values."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What the rewards look like, and what is made of them."""

    rewards: int
    least: float
    largest: float
    scored: str
    """How contexts are compared: "as coins", "by value", "by rank" or, where the first rewards that
    are neither 0 nor 1 came since the last fit, "from 0 to 1"."""
    wild: int
    """Rewards beyond the fence, which count as its end."""
    fence: tuple[float, float]
    heavy: float
    """The part of the sum of all sizes, up to the fence, that the largest hundredth carries."""
    repeated: float
    """The share of rewards that repeat one of the same context and arm exactly."""
    apart: float | None
    """How far the groups that differ most are apart, in standard errors of one half of the rewards,
    where the other half found them; None without groups, and for coins."""
    notes: tuple[str, ...]
    """What one should know before trusting groups and means; empty if all is well."""

    @property
    def shown(self) -> bool:
        """Whether groups, if there are any, are shown to differ in their means."""
        return self.apart is None or self.apart >= SHOWN

    @property
    def reading(self) -> str:
        """How the rewards are read, in a sentence or two."""
        if self.rewards == 0:
            return "There are no rewards yet."
        if self.scored == "as coins":
            return "All rewards are 0 or 1."
        ends = f"{number(self.least)} to {number(self.largest)}"
        if self.scored == CLIPPED:
            return (
                f"Rewards are numbers from {ends}. Until the next fit, those below 0 count as 0, "
                "and those above 1 as 1."
            )
        return (
            f"Rewards are numbers from {ends}. Contexts are compared {self.scored}; means are "
            "those of the rewards themselves."
        )

    @property
    def words(self) -> str:
        """All of it in sentences."""
        apart = "" if self.shown else "That the means of the groups differ is not shown."
        return " ".join(filter(None, [self.reading, *self.notes, apart]))


def looks(learner: Levels) -> Looks:
    """Return what the rewards look like."""
    counts, fit = seen_now(learner), learner.last_fit
    others = counts.others
    if others is None:
        ends = (0.0, 1.0) if counts.contexts else (0.0, 0.0)
        return Looks(int(counts.rewards), *ends, "as coins", 0, (0.0, 1.0), 0.0, 0.0, None, ())
    value, times = all_values(counts)
    if fit is None or fit.scale is None:
        ends = float(value[0]), float(value[-1])
        return Looks(int(counts.rewards), *ends, CLIPPED, 0, (0.0, 1.0), 0.0, 0.0, None, ())
    score = fit.scale.score
    beyond = (others.value < score.low) | (others.value > score.high)
    wild = int(others.times[beyond].sum())
    fenced = np.clip(value, score.low, score.high)  # one wild value would carry all of the sum
    heavy, repeated = _heavy(fenced, times), _repeated(counts)
    far = _apart(learner, counts, fit) if fit.groups > 1 else None
    notes = itertools.chain(
        _about_wild(counts, score, wild), _about_tails(counts, score, heavy),
        _about_repeats(repeated),
    )  # fmt: skip
    return Looks(
        int(counts.rewards), float(value[0]), float(value[-1]), _how(score), wild,
        (score.low, score.high), heavy, repeated, far, tuple(notes),
    )  # fmt: skip


def _how(score: Score) -> str:
    return "by value" if len(score.knot) == 2 else "by rank"


def _are_coins(counts: Counts, score: Score) -> bool:
    """Whether all but a few rewards are 0 or 1, and scored so."""
    others = counts.others
    assert others is not None
    few = others.times.sum() <= FEW * counts.rewards
    return bool(few and score.knot[0] == 0.0 and score.knot[-1] == 1.0)


def _heavy(value: FloatVector, times: FloatVector) -> float:
    size = np.abs(value - float(np.median(value)) if value[0] < 0.0 else value)
    order = np.argsort(-size, kind="stable")
    before = np.cumsum(times[order]) - times[order]
    left = np.clip(0.01 * times.sum() - before, 0.0, times[order])
    part = float((left * size[order]).sum() / max(float((times * size).sum()), 1e-300))
    return min(part, 1.0)


def _repeated(counts: Counts) -> float:
    """Return the share of real rewards that repeat one of their cell, if values are many."""
    others = counts.others
    assert others is not None
    if len(np.unique(others.value)) < max(MANY_VALUES, 0.2 * len(others.value)):
        return 0.0
    return float((others.times - 1.0).sum() / others.times.sum())


_known: WeakKeyDictionary[Levels, tuple[int, Fit, float]] = WeakKeyDictionary()
"""How far groups are apart, until a learner learns more: it takes about as long as two fits."""


def _apart(learner: Levels, counts: Counts, fit: Fit) -> float:
    known = _known.get(learner)
    if known is None or known[0] != learner.tells or known[1] is not fit:
        known = _known[learner] = (learner.tells, fit, apart(counts, fit))
    return known[2]


# --- In words -----------------------------------------------------------------------------------


def _about_wild(counts: Counts, score: Score, wild: int) -> list[str]:
    others = counts.others
    assert others is not None
    if _are_coins(counts, score):
        odd, example = int(others.times.sum()), number(float(others.value[0]))
        verb = "is" if odd == 1 else "are"
        clipped = f", and {wild} of them in means as the fence" if wild else ""
        inside = ((others.value > 0.0) & (others.value < 1.0)).any()
        scored = "from 0 to 1" if inside else "as 0 or 1"
        return [
            f"{odd:,} of {int(counts.rewards):,} rewards {verb} neither 0 nor 1, such as "
            f"{example}: counted {scored} in finding groups{clipped}. Is that a mistake?"
        ]
    if wild == 0:
        return []
    ends = f"{number(score.low)} to {number(score.high)}"
    return [f"{counted(wild, 'reward')} beyond {ends}: counted as the nearer end."]


def _about_tails(counts: Counts, score: Score, heavy: float) -> list[str]:
    if heavy < HEAVY or _are_coins(counts, score):  # of few ones, a hundredth of all is many
        return []
    part = f"{100.0 * heavy:.0f} %"
    return [f"The largest hundredth of the rewards carries {part} of their sum: means need many."]


def _about_repeats(repeated: float) -> list[str]:
    if repeated < REPEATED:
        return []
    part = f"{100.0 * repeated:.0f} %"
    return [f"{part} of the rewards repeat another exactly: are they logged more than once?"]
