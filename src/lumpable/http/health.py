"""What looks wrong with a running service, in words, each with what to do about it.

Judges by what the log says, which all processes that share it have in common, and by what the store
could not do. Names no file and no address: whoever asks needs no token.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lumpable.base.units import Name
from lumpable.http.messages import Concern
from lumpable.http.refusals import CAUSES, cause
from lumpable.service.activity import Activity
from lumpable.service.joining import Standing
from lumpable.service.lately import Lately
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.settings import Settings
from lumpable.stores.law import StoreError

ENOUGH = 200
"""Decisions or rewards, before anything is said about shares of them."""
QUIET = 600.0
"""Seconds without a reward that are worth a word, ..."""
SURPRISE = 1e-4
"""... if so many decisions without one are less likely than this, ..."""
LONGER = 2.0
"""... and so many times more than ever came between two rewards: they may come in heaps."""
NEVER = 1_000
"""Decisions without any reward that are worth a word where none has come yet."""
OFTEN = 3
"""Fits that failed in a row: one may have been bad luck."""
HELD_UP = 2.0
"""Seconds for which one call may keep all others waiting."""
A_DAY = 86_400.0
ALMOST_ALL = 0.95
MANY = 0.2
Found = list[tuple[str, str]]
"""What looks wrong, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What an experiment said of itself when it was last asked."""

    settings: Settings
    arms: Sequence[Name]
    """Those that may be chosen."""
    decisions: int
    activity: Activity
    shared: bool = False
    """Whether the store is a database server, not a file."""

    @classmethod
    def of(cls, experiment: LiveExperiment) -> Seen:
        """Ask an experiment; this may wait for those who decide."""
        status, activity = experiment.status(), experiment.activity()
        return cls(experiment.settings, status.arms, status.decisions, activity, experiment.shared)


class Watch:
    """Keeps what was seen last, and what the store could not do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seen: Seen | None = None
        self.standings: Counter[str] = Counter()
        """Rewards by where their event stood when they were answered, since the start."""
        self.trouble = ""
        """Why the last call could not be written, for those who may read it; empty: it was."""
        self._cause = ""
        self.writable = True
        """Whether the file may be written, as far as one can see without writing."""

    def on_durable(self) -> None:
        """Take notice of a call that was durable."""
        self.trouble = self._cause = ""

    def on_rewards(self, standings: Sequence[Standing]) -> None:
        """Take notice of rewards."""
        self.on_durable()
        with self._lock:
            self.standings.update(standings)

    def on_failure(self, error: StoreError) -> None:
        """Take notice of a call that the store could not do."""
        self.trouble, self._cause = str(error), cause(error)

    def standing(self) -> dict[str, int]:
        """Return rewards by standing."""
        with self._lock:
            return dict(self.standings)

    def concerns(self, failed_fits: int = 0, waiting: float = 0.0) -> list[Concern]:
        """Return what looks wrong; `waiting`: seconds for which the experiment did not answer."""
        seen = self.seen
        found = [*self._store(), *_held_up(waiting), *_fits(failed_fits)]
        if seen is not None:
            found += [*_no_arms(seen), *_floor(seen), *_no_rewards(seen), *_one_arm(seen),
                      *_unknown_events(seen), *_late(seen), *_predated(seen),
                      *_no_control(seen)]  # fmt: skip
        return [Concern(what=what, do=do) for what, do in found]

    def _store(self) -> Found:
        if not self._cause and self.writable:
            return []
        if self._cause == CAUSES["read"]:
            do = ("Nobody can be forgotten while somebody reads the file, as a back-up or lumpable "
                  "verify do. Forget again after it; other calls go on.")  # fmt: skip
            return [(f"the last call could not be written: {self._cause}", do)]
        look, what = (
            ("Look at the database server: does it run, can it be reached, is its disk full?",
             "server")
            if self.seen is not None and self.seen.shared
            else ("Look at the disk: is it full, or read-only?", "disk")
        )  # fmt: skip
        do = (f"{look} Callers get 503 and may try again; the service goes on as soon as the "
              f"{what} does. The log on stderr and /status give the reason.")  # fmt: skip
        if not self._cause:
            do = ("Let the user of this process write the file, those beside it and their folder, "
                  "and start it again.")  # fmt: skip
            return [("nothing can be written: the file, or its folder, is read-only", do)]
        return [(f"the last call could not be written: {self._cause}", do)]


def _held_up(seconds: float) -> Found:
    if seconds < HELD_UP:
        return []
    what = f"callers wait: one call has held up all others for {seconds:,.0f} seconds"
    do = ("They are answered after it. What takes long is a log that is read anew after a write "
          "that failed (see stderr), or a disk that hangs.")  # fmt: skip
    return [(what, do)]


def _no_arms(seen: Seen) -> Found:
    if seen.arms or seen.settings.new_arms:
        return []
    return [("there is no arm to choose", "Add arms with POST /arms/add, or resume some.")]


def _floor(seen: Seen) -> Found:
    floor, n = seen.settings.floor, len(seen.arms)
    if seen.settings.mode != "serve" or floor * n < 1.0:
        return []
    what = f"a floor of {floor:g} is too much for {n} arms: decisions among all of them are refused"
    return [(what, f"Start with a --floor of less than 1 / {n}, or pause some arms.")]


def _no_control(seen: Seen) -> Found:
    settings, control = seen.settings, seen.settings.control
    to_come = settings.new_arms and not seen.decisions  # with the first request
    if control is None or not seen.arms or control in seen.arms or to_come:
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


def _no_rewards(seen: Seen) -> Found:
    quiet, now = seen.activity.lately.quiet, seen.activity.now
    seconds = now - quiet.since
    if seconds < QUIET or quiet.decisions == 0:
        return []
    do = ("Look at whoever sends POST /reward: does it run, does its token still open it (401 "
          "and 403 in the log), does it send the event ids that were given?")  # fmt: skip
    if quiet.probability is None:
        if quiet.decisions < NEVER:
            return []
        return [(f"no reward has come yet, for {quiet.decisions:,} decisions", do)]
    if quiet.probability >= SURPRISE or quiet.decisions <= LONGER * quiet.longest:
        return []
    since = datetime.fromtimestamp(quiet.since, UTC)
    shown = f"{since:%H:%M} UTC" if seconds < A_DAY else f"{since:%Y-%m-%d %H:%M} UTC"
    what = (f"rewards have stopped coming since {shown}: none for {seconds / 60:,.0f} minutes, "
            f"while {quiet.decisions:,} decisions came")  # fmt: skip
    return [(what, do)]


def _one_arm(seen: Seen) -> Found:
    lately = seen.activity.lately
    if lately.decisions < ENOUGH or seen.settings.mode != "serve" or len(seen.arms) == 1:
        return []
    share = lately.commonest_decisions / lately.decisions
    if share < ALMOST_ALL:
        return []
    what = f"one arm gets {share:.0%} of decisions (of the last {lately.decisions:,})"
    do = ("It may be best for almost everybody: see GET /groups, and /metrics for which it is. "
          "If not, look whether rewards of other arms arrive and whether requests allow "
          "others; a floor or a hold-back keeps trying them.")  # fmt: skip
    return [(what, do)]


def _share(lately: Lately, number: int) -> float:
    return 0.0 if lately.rewards < ENOUGH else number / lately.rewards


def _unknown_events(seen: Seen) -> Found:
    share = _share(seen.activity.lately, seen.activity.lately.undecided)
    if share < MANY:
        return []
    what = f"{share:.0%} of rewards are for events that nobody decided"
    do = "Send the event ids that /decide gave, unchanged; an id is for one decision."
    return [(what, do)]


def _late(seen: Seen) -> Found:
    share, window = _share(seen.activity.lately, seen.activity.lately.late), seen.settings.window
    if share < MANY:
        return []
    long = "" if window is None else f" of {window / 1e6:,.0f} seconds"
    what = f"{share:.0%} of rewards come after the window{long}, and do not count"
    do = ("Send rewards sooner, or with `at`, the time when they happened; or begin a new "
          "experiment with a longer window. If they are sent in time, look at the clocks: who "
          "sends `at`, as Client always does, may have one that is ahead of ours.")  # fmt: skip
    return [(what, do)]


def _predated(seen: Seen) -> Found:
    lately, window = seen.activity.lately, seen.settings.window
    share = _share(lately, lately.predated)
    if share < MANY or window is None:
        return []
    long = f"more than {window / 1e6:,.0f} seconds before their decision"
    what = f"{share:.0%} of rewards are dated {long}, and do not count"
    do = ("Set the clocks: who sends `at`, as Client always does, has one that is behind "
          "ours. Or send rewards without `at`: then they are of when they come.")  # fmt: skip
    return [(what, do)]


def _fits(failed: int) -> Found:
    if failed < OFTEN:
        return []
    what = f"fits fail: {failed:,} times in a row, one could not be made or adopted"
    do = ("Decisions and rewards go on, with the groups of the last fit. Look at what this process "
          "wrote to stderr, and whether the machine or the container is short of memory. It is "
          "tried again, at least once a minute.")  # fmt: skip
    return [(what, do)]
