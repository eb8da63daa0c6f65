"""The last decisions and rewards, for whoever looks whether all is well: a function of the log.

So all processes that share a log see the same, and a call that is repeated counts once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

from lumpable.service.history import LATE, PREDATED, UNDECIDED, History, Silence
from lumpable.service.settings import SECOND

DECISIONS = 1_000
"""That are looked back at."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """How long no reward has come, and how likely that is by what was usual."""

    since: float
    """When the last one came or, before there was one, the first decision; seconds since 1970."""
    decisions: int
    """That came since."""
    longest: float
    """The most decisions that came between two rewards; it fades."""
    probability: float | None
    """That so many come and no reward, if all is as before; None: none has come yet."""


@dataclass(frozen=True, slots=True)
class ArmShown:
    """How often an arm was decided since the experiment began."""

    arm: Any
    decisions: int


@dataclass(frozen=True, slots=True)
class Lately:
    """The last decisions and rewards, in the order in which they came."""

    decisions: int
    commonest: Any
    """The arm that was decided most often among them; null: there was none, ..."""
    commonest_decisions: int
    """... and how often it was."""
    rewards: int
    late: int
    """Of these, after the window, ..."""
    undecided: int
    """... and of events that had no decision then."""
    predated: int
    """Dated before their decision, by more than the window."""
    quiet: Quiet


def lately(history: History) -> Lately:
    """Return what happened last."""
    last = itertools.islice(reversed(history.lately), DECISIONS)
    arms = Counter(arm for _, arm in last)
    arm, times = max(arms.items(), key=lambda row: row[1], default=(None, 0))
    told = Counter(history.told)
    return Lately(
        arms.total(), arm, times, len(history.told), told[LATE], told[UNDECIDED],
        told[PREDATED], quiet(history.silence),
    )  # fmt: skip


def quiet(silence: Silence) -> Quiet:
    """Return how long no reward has come.

    If each decision brings the next reward with the same unknown probability, and a spells of m
    decisions in all were seen, then another spell is longer than n with probability
    (m / (m + n))^a, by a flat prior of the rate's logarithm: few spells make few surprises.
    """
    a, m, n = len(silence.spells), sum(silence.spells), silence.decisions
    probability = (m / (m + n)) ** a if a else None
    return Quiet(silence.since / SECOND, n, silence.longest, probability)


def arms_by_decisions(history: History) -> list[ArmShown]:
    """Return how often each arm was decided, the most frequent first."""
    return [ArmShown(arm, times) for arm, times in history.arms.most_common()]
