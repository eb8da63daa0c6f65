"""What an experiment tells about itself.

Most of it is worked out from a copy. Who decides waits while that is made, which takes a
millisecond or two, and shares the processor with the rest. Counts, and what a learner other than
Lumps says of itself, are read under the lock.
"""

from __future__ import annotations

import copy
import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO, Name
from lumpable.base.words import counted, percent
from lumpable.lumps.belief.advice import Advice, Lift
from lumpable.lumps.belief.beliefs import LEVEL, Expected, Group, Mean, Member
from lumpable.lumps.belief.posterior import cache_answers
from lumpable.lumps.use.believer import Believer
from lumpable.service.activity import Activity, activity
from lumpable.service.folds import Fold
from lumpable.service.learner_kinds import name_of
from lumpable.service.ledger import Ledger
from lumpable.service.minds import Mind
from lumpable.service.overview import BeliefsNow, Overview
from lumpable.service.settings import SECOND

NO_GROUPS = "finds no groups"
NO_BELIEFS = "does not say what it expects (see `recommended`)"
"""What other learners than Lumps do not do."""
CALLED = {"context": "user", "contexts": "users"}
"""What arguments of Lumps are called here."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a user is shown what is believed best for them."""

    advice: Advice
    group: int | None
    """The user's group, as far as groups are identified, ..."""
    probability: float | None
    """... and how surely it is theirs."""
    rewards: int
    """How many of the user's own rewards this rests on."""
    in_group: Mean | None = None
    """What the arm brings in this group, ..."""
    runner_up_in_group: Mean | None = None
    """... and what the runner-up does."""

    def __str__(self) -> str:
        own = self.advice
        next_one = "" if own.runner_up is None else f"; next comes {own.runner_up!r}"
        if own.runner_up_mean is not None:
            next_one += f" with {own.runner_up_mean:.3g}"
        best = (
            f"{own.best_arm!r} brings {_with_interval(own)} and is best with a probability of "
            f"{percent(own.probability_best)}{next_one}."
        )
        return f"{own.context!r} is {self._where()} {best}"

    def _where(self) -> str:
        """Say which group it is, and what is known of the two arms there."""
        seen = f"{counted(self.rewards, 'reward')} of their own"
        if self.group is None or self.probability is None:
            return f"in no known group, with {seen}."
        sure = percent(self.probability)
        where = f"in group {self.group} with a probability of {sure}, by {seen}."
        if self.in_group is None:
            return f"{where} For them"
        there, other = self.in_group, self.runner_up_in_group
        arms = f"{there.arm!r} brings {_with_interval(there)}"
        arms += "" if other is None else f", {other.arm!r} {_with_interval(other)}"
        return f"{where} In this group {arms}. For them"


def _with_interval(row: Advice | Mean) -> str:
    return f"{row.mean:.3g} ({row.low:.3g} to {row.high:.3g})"


@dataclass(frozen=True, slots=True)
class Status:
    """How an experiment stands."""

    entries: int
    decisions: int
    rewards: int
    """That were reported, ..."""
    counted: int
    """... and outcomes that the learner counts, defaults included."""
    waiting: int
    users: int
    arms: tuple[Name, ...]
    version: int


@contextmanager
def in_own_words(allowed: bool = False) -> Iterator[None]:
    """Speak in errors of users, and of `allowed` arms only if the caller named some."""
    try:
        yield
    except BadArgument as error:
        name = "arms" if error.argument == "allowed" and not allowed else error.argument
        raise error.named(CALLED.get(name, name)) from error


class Reading(ABC):
    """The half of an experiment that changes nothing."""

    def __init__(self, ledger: Ledger, clock: Callable[[], int]) -> None:
        self._lock, self._ledger, self._clock = threading.RLock(), ledger, clock
        self._sent_again = 0
        """Rewards that came once more, since it was opened: the log has each of them once."""
        self._overview = Overview()

    @abstractmethod
    def _look(self) -> Ledger:
        """Return what is known now, under the lock."""

    def _learner(self) -> Mind:
        with self._lock:
            return copy.deepcopy(self._look().learner)

    def _believer(self, what: str) -> Believer:
        """Return a copy of Lumps; another learner does not do `what` is asked."""
        with self._lock:
            ledger = self._look()
            if isinstance(ledger.learner, Believer):
                return copy.deepcopy(ledger.learner)
            name = name_of(ledger.settings.learner)
        raise BadArgument("learner", why=f"{name!r} {what}; Lumps does")

    def get_ready(self) -> None:
        """Bring the learner up to all that was told, so that no caller waits for it."""
        with self._lock:
            self._look().learner.get_ready()

    def groups(self, *, level: float = LEVEL) -> list[Group]:
        """Return a row for each group: how large it is, its best arm, and how sure both are."""
        return self._believer(NO_GROUPS).groups(level=level)

    def members(self) -> list[Member]:
        """Return a row for each user who had a reward: their group, how surely, their best arm."""
        return self._believer(NO_GROUPS).members()

    def summary(self) -> str:
        """Say in a sentence or two what is believed of users, or how far the learner is."""
        with self._lock:
            learner = self._look().learner
            if isinstance(learner, Fold):
                return learner.summary()
        return self._believer(NO_GROUPS).summary()

    def best(
        self, user: Name, allowed: Iterable[Name] | None = None, *, level: float = LEVEL
    ) -> Advice:
        """Return the arm that is believed best for a user; `decide` explores, this does not."""
        with in_own_words(allowed is not None):
            return self._believer(NO_BELIEFS).best(user, allowed, level=level)

    def policy(
        self, allowed: Iterable[Name] | None = None, *, level: float = LEVEL
    ) -> list[Advice]:
        """Return the row of `best` for each known user."""
        with in_own_words(allowed is not None):
            return self._believer(NO_BELIEFS).policy(allowed, level=level)

    def recommended(self) -> dict[Name, Name]:
        """Return the arm that the learner would recommend to each known user, whatever it is."""
        with self._lock:
            learner = self._look().learner
            if isinstance(learner, Fold):
                return learner.recommended()
        return {row.context: row.best_arm for row in self.policy()}

    def lift(self, *, level: float = LEVEL) -> Lift:
        """Return what each user's best arm brings over one arm for all, with an interval."""
        with in_own_words():
            return self._believer(NO_BELIEFS).lift(level=level)

    def expected(self, user: Name) -> list[Expected]:
        """Return a row for each arm that may be chosen for a user, the next to be tried first."""
        with in_own_words():
            return self._believer(NO_BELIEFS).expected(user)

    def explain(self, user: Name) -> Explanation:
        """Say why a user is shown what is believed best for them."""
        learner = self._believer(NO_BELIEFS)
        with cache_answers(learner.core), in_own_words():  # what groups come to is worked out once
            advice, own = learner.best(user), learner.member(user)
            if own is None:
                return Explanation(advice, None, None, 0)
            there = {row.arm: row for row in learner.means() if row.group == own.group}
        return Explanation(
            advice, own.group, own.probability, own.rewards, there.get(advice.best_arm),
            there.get(advice.runner_up),
        )  # fmt: skip

    def report(self, path: str | Path) -> Path:
        """Write all of this as one page with pictures (extra `plot`)."""
        return self._believer("has no page").report(path)

    def status(self) -> Status:
        """Return counts of what happened.

        Whoever was forgotten here stays in them, as a number, until the log is next replayed.
        """
        with self._lock:
            ledger = self._look()
            learner = ledger.learner
            return Status(
                ledger.number, ledger.tally["decided"], ledger.tally["rewarded"], learner.counted,
                learner.waiting, len(learner.contexts), learner.arms, ledger.version,
            )  # fmt: skip

    def activity(self) -> Activity:
        """Return what is going on: by the minute, against the hold-back, by version."""
        with self._lock:
            ledger = self._look()
            return activity(ledger.history, ledger.settings, self._clock(), self._sent_again)

    def beliefs(self) -> BeliefsNow:
        """Return what is believed, at a glance; seldom worked out anew, so it may be a bit old."""
        with self._lock:
            entries = self._look().number
        return self._overview.beliefs(entries, self._work_out)

    def _work_out(self) -> BeliefsNow:
        with self._lock:
            ledger, at = self._look(), self._clock()
            learner, lately = copy.deepcopy(ledger.learner), list(ledger.history.lately)
            number, version = ledger.number, ledger.version
        return BeliefsNow(
            at / SECOND, number, version, learner.counted, len(learner.contexts), LEVEL,
            learner.summary(), learner.glance(lately),
        )  # fmt: skip

    def evidence(self) -> list[tuple[Name, Name, int, int]]:
        """Return user, arm, reward in millionths and how often it came, sorted: all that counts.

        The same events make the same rows, in whatever order they came and however often.
        """
        rows = [
            (user, arm, round(reward * MICRO), times)  # a sum may be larger than any reward
            for user, arm, reward, times in self._learner().counted_rewards()
        ]
        return sorted(rows, key=lambda row: (*(_sortable(name) for name in row[:2]), row[2:]))

    def digest(self) -> str:
        """Return the SHA-256 of the evidence."""
        return hashlib.sha256(msgspec.json.encode(self.evidence())).hexdigest()


def _sortable(name: Name) -> tuple[bool, str, int]:
    return (True, name, 0) if isinstance(name, str) else (False, "", name)
