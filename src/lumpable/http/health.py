"""What looks wrong with a running service, in words, each with what to do about it.

Watches what was answered; asks nobody, so that it can be read while the experiment is busy.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from lumpable.http.messages import Concern
from lumpable.service.joining import Standing
from lumpable.service.settings import Settings
from lumpable.stores.log_entries import Name

LATELY = 1_000
"""Decisions and rewards that are looked back at."""
ENOUGH = 200
"""Of them, before anything is said about shares."""
QUIET = 600.0
"""Seconds without a reward that are worth a word, ..."""
UNREWARDED = 50
"""... if so many decisions came meanwhile."""
OFTEN = 3
"""Fits that failed in a row: one may have been bad luck."""
A_DAY = 86_400.0
ALMOST_ALL = 0.95
MANY = 0.2


class Watch:
    """Keeps what was decided and rewarded lately."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._clock, self._wall, self._lock = clock, wall, threading.Lock()
        self.arms: Counter[Name] = Counter()
        """Decisions by arm, since the start."""
        self.standings: Counter[str] = Counter()
        """Rewards by where their event stood, since the start."""
        self._lately: deque[Name] = deque(maxlen=LATELY)
        self._stood: deque[str] = deque(maxlen=LATELY)
        self._rewarded_at, self._since, self._unrewarded = clock(), wall(), 0
        self._broken = ""
        self.open_arms: Sequence[Name] | None = None
        """The arms that may be chosen, when somebody last said; None: nobody did."""
        self.shared = False
        """Whether the store is a database server, not a file."""

    def decided(self, arms: Sequence[Name]) -> None:
        """Take notice of decisions."""
        with self._lock:
            self._broken = ""
            self.arms.update(arms)
            self._lately.extend(arms)
            self._unrewarded += len(arms)

    def rewarded(self, standings: Sequence[Standing]) -> None:
        """Take notice of rewards."""
        with self._lock:
            self._broken = ""
            self.standings.update(standings)
            self._stood.extend(standings)
            if standings:
                self._rewarded_at, self._since = self._clock(), self._wall()
                self._unrewarded = 0

    def failed(self, why: str) -> None:
        """Take notice of a call that the store could not do."""
        with self._lock:
            self._broken = why

    def counts(self) -> tuple[dict[Name, int], dict[str, int]]:
        """Return decisions by arm and rewards by standing."""
        with self._lock:
            return dict(self.arms), dict(self.standings)

    def concerns(self, settings: Settings | None, failed_fits: int = 0) -> list[Concern]:
        """Return what looks wrong, in an experiment with these settings if it is open."""
        with self._lock:
            found = [
                *self._store(), *_fits(failed_fits), *self._no_arms(settings), *self._no_rewards(),
                *self._one_arm(settings), *self._unknown_events(), *self._late(settings),
                *self._no_control(settings),
            ]  # fmt: skip
        return [Concern(what=what, do=do) for what, do in found]

    def _store(self) -> list[tuple[str, str]]:
        if not self._broken:
            return []
        look, what = (
            ("Look at the database server: does it run, can it be reached, is its disk full?",
             "server")
            if self.shared else ("Look at the disk: is it full, or read-only?", "disk")
        )  # fmt: skip
        do = (f"{look} Callers get 503 and may try again; the service goes on as soon as the "
              f"{what} does.")  # fmt: skip
        return [(f"the last call could not be written: {self._broken}", do)]

    def _no_arms(self, settings: Settings | None) -> list[tuple[str, str]]:
        if self.open_arms is None or self.open_arms or settings is None or settings.new_arms:
            return []
        return [("there is no arm to choose", "Add arms with POST /arms/add, or resume some.")]

    def _no_control(self, settings: Settings | None) -> list[tuple[str, str]]:
        control = None if settings is None else settings.control
        if settings is None or control is None or not self.open_arms or control in self.open_arms:
            return []
        if settings.mode == "shadow":
            so = "so no decision is made"
        elif settings.mode == "serve" and settings.hold_back > 0.0:
            so = "so what is held back shows any arm"
        else:
            return []
        what = f"the control arm {control!r} is paused, removed or unknown, {so}"
        do = "Resume it with POST /arms/resume (or /arms/add), or start with another --control."
        return [(what, do)]

    def _no_rewards(self) -> list[tuple[str, str]]:
        quiet = self._clock() - self._rewarded_at
        if quiet < QUIET or self._unrewarded < UNREWARDED:
            return []
        since = datetime.fromtimestamp(self._since, UTC)
        shown = f"{since:%H:%M} UTC" if quiet < A_DAY else f"{since:%Y-%m-%d %H:%M} UTC"
        what = (f"rewards have stopped coming since {shown}: none for {quiet / 60:,.0f} minutes, "
                f"while {self._unrewarded:,} decisions came")  # fmt: skip
        do = ("Look at whoever sends POST /reward: does it run, does its token still open it (401 "
              "and 403 in the log), does it send the event ids that were given?")  # fmt: skip
        return [(what, do)]

    def _one_arm(self, settings: Settings | None) -> list[tuple[str, str]]:
        shadow = settings is not None and settings.mode == "shadow"
        alone = self.open_arms is not None and len(self.open_arms) == 1
        if len(self._lately) < ENOUGH or shadow or alone:
            return []
        share = Counter(self._lately).most_common(1)[0][1] / len(self._lately)
        if share < ALMOST_ALL:
            return []
        what = f"one arm gets {share:.0%} of decisions (of the last {len(self._lately):,})"
        do = ("It may be best for almost everybody: see GET /groups, and /metrics for which it is. "
              "If not, look whether rewards of other arms arrive and whether requests allow "
              "others; a floor or a hold-back keeps trying them.")  # fmt: skip
        return [(what, do)]

    def _share(self, *standings: Standing) -> float:
        if len(self._stood) < ENOUGH:
            return 0.0
        return sum(standing in standings for standing in self._stood) / len(self._stood)

    def _unknown_events(self) -> list[tuple[str, str]]:
        share = self._share("early", "orphan")
        if share < MANY:
            return []
        what = f"{share:.0%} of rewards are for events that nobody decided"
        do = "Send the event ids that /decide gave, unchanged; an id is for one decision."
        return [(what, do)]

    def _late(self, settings: Settings | None) -> list[tuple[str, str]]:
        share = self._share("late")
        if share < MANY:
            return []
        window = "" if settings is None or settings.window is None else (
            f" of {settings.window / 1e6:,.0f} seconds"
        )  # fmt: skip
        what = f"{share:.0%} of rewards come after the window{window}, and do not count"
        do = ("Send rewards sooner, or with `at`, the time when they happened; or begin a new "
              "experiment with a longer window.")  # fmt: skip
        return [(what, do)]


def _fits(failed: int) -> list[tuple[str, str]]:
    if failed < OFTEN:
        return []
    what = f"fits fail: the process that makes them ended {failed:,} times in a row"
    do = ("Decisions and rewards go on, with the groups of the last fit. Look at what this process "
          "wrote to stderr, and whether the machine or the container is short of memory. It is "
          "tried again, at least once a minute.")  # fmt: skip
    return [(what, do)]
