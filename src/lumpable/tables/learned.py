"""From a log to an answer: groups, what to give to whom, what it is worth, and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumpable.base.units import Name
from lumpable.base.words import number
from lumpable.lumps.belief import summary
from lumpable.lumps.belief.advice import Lift
from lumpable.lumps.belief.beliefs import Group
from lumpable.lumps.use.named import Lumps
from lumpable.tables import policy_rows
from lumpable.tables.events import Events
from lumpable.tables.ingest import read_events
from lumpable.tables.judged_policies import Value, value_of
from lumpable.tables.policy_rows import PolicyRow
from lumpable.tables.queries import Progress
from lumpable.tables.telling import tell

ANSWERS = {"yes": "Yes", "no": "No", "open": "Not known yet"}
LEVEL = 0.95
"""Of every interval, here as on the page and in the terminal."""
SURELY = 1e-6
"""One group is ruled out below this probability."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What a log teaches: a learner that was told everything, and what it believes."""

    lumps: Lumps
    events: Events

    def __repr__(self) -> str:
        return f"Learned from {len(self.events):,} events. {self.summary()}"

    def summary(self) -> str:
        """Say in a sentence whether there is group structure at all."""
        core, (who, _) = self.lumps.core, self.events.columns.words
        found, fit = summary.structure(core, who), core.last_fit
        several = found.answer == "yes" and fit is not None and fit.groups > 1
        words = found.words.rstrip(".")
        if several and fit is not None:
            chance = "under one in a million" if fit.doubt < SURELY else number(fit.doubt, 2)
            words += f"; the probability that there is only one group is {chance}"
        return f"{ANSWERS[found.answer]}: {words[0].lower()}{words[1:]}."

    def groups(self, *, level: float = LEVEL) -> list[Group]:
        """Return a row for each group: how large it is, its best item, and how sure both are."""
        return self.lumps.groups(level=level)

    def policy(self, *, level: float = LEVEL) -> list[PolicyRow]:
        """Return a row for each user: the best item, how sure that is, and what to do."""
        return [policy_rows.row_of(advice) for advice in self.lumps.policy(level=level)]

    def lift(self, *, level: float = LEVEL) -> Lift:
        """Return what each user's own best item brings over one for all, as the model says.

        Users count by their events. It holds as far as the model does; `value` asks the log.
        """
        return self.lumps.lift(level=level)

    def value(self, policy: Mapping[Name, Name] | None = None, *, level: float = LEVEL) -> Value:
        """Return what a policy would have earned per event, off-policy, by several methods.

        `policy` maps users to items. Without it, it is each user's own best item, learned on one
        half of the events and judged on the other, both ways round. Only the direct method, which
        believes the model of all events, does not need the propensities of the log; without them,
        `notes` says what cannot be said.
        """
        return value_of(self.events, self.lumps.core, policy, level)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the learner to a file that `Lumps.load` opens."""
        self.lumps.save(path, overwrite=overwrite)

    def save_policy(self, path: str | Path) -> None:
        """Write the policy to a CSV or Parquet file."""
        policy_rows.write(self.policy(), Path(path))

    def report(self, path: str | Path) -> Path:
        """Write all of this as one page with pictures that needs nothing else (extra `plot`)."""
        from lumpable.reports.pages import log_page  # brings pictures along

        return log_page.report(self, path)


def learn(
    source: Any,
    user: str = "user",
    item: str = "item",
    reward: str = "reward",
    *,
    time: str | None = None,
    id: str | None = None,
    propensity: str | None = None,
    rewarded: str | None = None,
    rewards: str | tuple[float, float] = "any",
    strict: bool = False,
    memory: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Learned:
    """Learn from a log who is alike and what works for whom (extra `warehouse`).

    `source` is what `read_events` takes, as are all other arguments, or what it returned.
    """
    if isinstance(source, Events):
        events = source
    else:
        events = read_events(
            source, user, item, reward, time=time, id=id, propensity=propensity,
            rewarded=rewarded, rewards=rewards, strict=strict, memory=memory, progress=progress,
        )  # fmt: skip
    if progress is not None:
        progress(1.0, f"learning from {len(events):,} events")
    return Learned(tell(events, seed), events)
