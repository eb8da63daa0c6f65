"""An experiment that begins with what a log says: its events become entries of the log.

They are entered before the experiment opens, in an order that follows from the evidence. So one
that was cut off goes on where it stopped, and to replay, to forget, to verify and to export need
not know that they were learned elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO, Name
from lumpable.lumps.use.named import Lumps
from lumpable.lumps.use.rewards import Accepted
from lumpable.service import deciding
from lumpable.service.learner_kinds import kind_of
from lumpable.service.settings import Settings
from lumpable.stores.law import Store
from lumpable.stores.log_entries import Entry

AT_A_TIME = 20_000
"""Entries that go into one commit."""
LEARNED_ID = "^learned-([0-9a-f]{16})-[0-9]+$"
"""Ids of such events; the group is how the digest of the evidence begins."""
Column = npt.NDArray[Any]


class Evidence(Protocol):
    """What a log says, as `read_events` returns it."""

    @property
    def users(self) -> tuple[Name, ...]: ...  # noqa: D102
    @property
    def items(self) -> tuple[Name, ...]: ...  # noqa: D102
    @property
    def user(self) -> Column: ...  # noqa: D102
    @property
    def item(self) -> Column: ...  # noqa: D102
    @property
    def reward(self) -> Column: ...  # noqa: D102
    @property
    def times(self) -> Column: ...  # noqa: D102
    @property
    def propensity(self) -> Column | None: ...  # noqa: D102
    @property
    def span(self) -> tuple[int, int] | None: ...  # noqa: D102
    @property
    def accepted(self) -> Accepted: ...  # noqa: D102
    def digest(self) -> str: ...  # noqa: D102


def evidence_in(learned: Any) -> Evidence:
    """Return the evidence of what was learned: of `Learned`, `Nightly`, `Events` or `Lumps`."""
    if isinstance(learned, Lumps):
        from lumpable.tables.remembered import events_of  # the room above knows tables

        learned = events_of(learned)
    found = getattr(learned, "events", None)
    events: Any = found() if callable(found) else learned if found is None else found
    if not (hasattr(events, "digest") and hasattr(events, "accepted")):
        expected = "what `lb.learn` or `lb.read_events` returned, a `lb.Nightly` or a `lb.Lumps`"
        raise BadArgument("learned", expected, f"{learned!r:.60}")
    evidence: Evidence = events
    if len(evidence.times) == 0:
        raise BadArgument(
            "learned", "events", "none", why=f"the {type(learned).__name__} has no events"
        )
    return evidence


def reconcile(before: Settings | None, settings: Settings, evidence: Evidence | None) -> Settings:
    """Return settings that say what was learned before the experiment began; refuse anything else.

    The same evidence again is fine, and so is none once all of it is entered.
    """
    if evidence is None:
        if settings.learned_left:
            expected = f"the evidence {settings.learned_digest}, which was not entered completely"
            raise BadArgument("learned", expected, "none")
        return settings
    if before is not None:
        was = settings.learned_digest
        if was != evidence.digest():
            expected = f"the evidence {was}, with which it began" if was else "a new experiment"
            got = f"the evidence {evidence.digest()}" if was else "one that was begun without it"
            raise BadArgument("learned", expected, got)
        return settings
    _check(settings, evidence)
    return msgspec.structs.replace(settings, learned_digest=evidence.digest(), learned_left=True)


def _check(settings: Settings, evidence: Evidence) -> None:
    """Refuse evidence that the experiment could not have gathered itself."""
    Accepted.of(settings.rewards).check(np.asarray(evidence.reward, dtype=np.float64) / MICRO)
    kind = kind_of(settings.learner, settings.seed)
    if kind is not None and kind.users is not None and len(evidence.users) > kind.users:
        expected = f"at most {kind.users:,} users, as the learner was told"
        raise BadArgument("learned", expected, f"{len(evidence.users):,}")


def event_id(digest: str, number: int) -> str:
    """Return the id of an event that was learned elsewhere.

    >>> event_id("0123456789abcdef01", 7)
    'learned-0123456789abcdef-7'
    """
    return f"learned-{digest[:16]}-{number}"


def append_evidence(store: Store, evidence: Evidence, now: int) -> None:
    """Enter all events that are not entered yet; nothing else may be in the log."""
    left = islice(entries_of(evidence, now), store.last, None)
    while batch := list(islice(left, AT_A_TIME)):
        store.append(batch)


def entries_of(evidence: Evidence, now: int) -> Iterator[Entry]:
    """Yield the entries that stand for evidence: arms, then decisions, each with its reward."""
    at = now if evidence.span is None else max(0, evidence.span[1])
    for item in evidence.items:
        yield Entry(kind="arm", at=at, arm=item, detail="added")
    likely: Sequence[float | None] = [None] * len(evidence.times)
    if evidence.propensity is not None:
        likely = evidence.propensity.tolist()
    columns = (evidence.user, evidence.item, evidence.reward, evidence.times)
    number, digest = 0, evidence.digest()
    for (user, item, value, times), propensity in zip(
        zip(*(column.tolist() for column in columns), strict=True), likely, strict=True
    ):
        name = evidence.users[user]
        for _ in range(times):
            event, number = event_id(digest, number), number + 1
            yield Entry(
                kind="decided", at=at, event=event, user=name, arm=evidence.items[item], version=0,
                propensity=propensity, active=True, detail=deciding.OBSERVED,
            )  # fmt: skip
            yield Entry(kind="rewarded", at=at, event=event, user=name, value=value)
