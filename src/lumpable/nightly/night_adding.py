"""Add files of events to a state, each event once."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.lumps.use.rewards import Accepted
from lumpable.nightly import coming_back, night_rows
from lumpable.nightly.night_folder import Folder, Manifest, Segment, digest_of_file
from lumpable.tables import cleaning
from lumpable.tables.cleaning import Columns
from lumpable.tables.column_values import FLOATS
from lumpable.tables.dirt import Dirt
from lumpable.tables.events import Events
from lumpable.tables.ingest import none_counts, read_all
from lumpable.tables.source_parts import TAGGED, Part
from lumpable.tables.sources import empty_files, reading

NEEDED = ("user", "item", "reward")
"""Columns that every log has, and what they are called unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file of events."""

    source: str
    """Its name; empty for a frame."""
    events: int
    """Events that are new."""
    again: int
    """Events whose id was known from before, or that were learned from this state."""
    against: int
    """Those of them that say something else than before; what was there first stays."""
    known: bool
    """Whether the same content had been added before: then nothing of it counts again."""
    dirt: Dirt | None
    """What was wrong with it; None if it was not read again."""
    notes: tuple[str, ...] = ()
    """What one should know of it."""


class Adding:
    """Adds files of events to a state, one by one; the manifest is written at the end."""

    def __init__(
        self, folder: Folder, con: Any, columns: Columns, accepted: Accepted, manifest: Manifest
    ) -> None:
        self.folder, self.con, self.columns, self.accepted = folder, con, columns, accepted
        self.manifest = manifest

    def add(self, part: Part, source: Any, **options: Any) -> Added:
        """Add a file or frame, unless it is there."""
        if part.empty:
            return Added(part.name, 0, 0, 0, False, Dirt(0, (), tuple(empty_files([part]))))
        bytes_ = "" if part.path is None else digest_of_file(part.path)
        if any(bytes_ and bytes_ == one.source_sha256 for one in self.manifest.segments):
            return Added(part.name, 0, 0, 0, True, None)
        whole = source if part.path is None else part.path
        events: Events = read_all(whole, self.columns, self.accepted, **options)
        if len(events.times) == 0:
            return Added(part.name, 0, 0, 0, False, events.dirt)
        with reading(self.con, [part]):
            self._gather(part, events)
        notes = self._notes_of_growth(part)
        again = against = 0
        content = "" if self.columns.id is not None else night_rows.content_of(self.con, events)
        if content and any(content == one.content for one in self.manifest.segments):
            return Added(part.name, 0, 0, 0, True, events.dirt)
        if self.columns.id is not None:
            floats = part.types[self.columns.id] in (*FLOATS, TAGGED)
            known = [self.folder.path / one.name for one in self.manifest.segments]
            again, against = night_rows.drop_known(self.con, known, floats=floats)
            own = coming_back.drop_own(self.con, known, self.columns, self.accepted)
            if own:
                notes += (f"{counted(own, 'event')} had been learned from this state: known",)
            again += own
        with tempfile.TemporaryDirectory(prefix="lumpable-") as scratch:
            made = Path(scratch) / "rows.parquet"
            new = night_rows.write(self.con, made)
            if new:
                digest = self.folder.put(made)
                segment = Segment(digest, new, part.name, bytes_, content)
                segments = (*self.manifest.segments, segment)
                self.manifest = msgspec.structs.replace(self.manifest, segments=segments)
        return Added(part.name, new, again, against, not new, events.dirt, notes)

    def _notes_of_growth(self, part: Part) -> tuple[str, ...]:
        """Say that a file came before with other contents, if nothing tells its events apart."""
        before = any(one.source == part.name for one in self.manifest.segments)
        if self.columns.id is not None or part.path is None or not before:
            return ()
        return (f"a file {part.name!r} came before with other events: without ids, rows that are "
                "in both count twice",)  # fmt: skip

    @staticmethod
    def refuse_none(made: Sequence[Added], source: Any) -> None:
        """Refuse files of which nothing counts; one among others is no harm: a day without events.

        Files that came before are known, and their events counted then.
        """
        if not any(one.events or one.known for one in made):
            dirt = next((one.dirt for one in made if one.dirt is not None and one.dirt.rows), None)
            raise BadArgument("source", why=none_counts(dirt or Dirt(0, (), ()), source))

    def _gather(self, part: Part, events: Events) -> None:
        """Make the table `came`, and see that it says what `events` do."""
        zones = False
        if self.columns.time is not None:
            zoned, naive = self.con.execute(cleaning.zones_of(part, self.columns)).fetchone()
            zones = zoned and naive
            self._check_zone(bool(zoned))
        night_rows.gather(self.con, part, self.columns, self.accepted, zones=zones)
        came = night_rows.evidence(self.con, "came", self.columns, self.accepted)
        if came.digest() != events.digest():
            raise BadArgument("source", why=f"{part.name!r} changed while it was read")

    def _check_zone(self, zoned: bool) -> None:
        """Refuse times that would be read in another way than those before."""
        if self.manifest.zoned is None:
            self.manifest = msgspec.structs.replace(self.manifest, zoned=zoned)
        elif self.manifest.zoned != zoned:
            ways = ("without a zone", "with a zone")
            expected = f"times {ways[self.manifest.zoned]}, as they came before"
            raise BadArgument("time", expected, f"times {ways[zoned]}")


def resolve_columns(
    manifest: Manifest, given: Mapping[str, str | None], rewards: Any
) -> tuple[Columns, Accepted]:
    """Return columns and rewards that are accepted: what is remembered, or else what is given."""
    if manifest.columns is None:
        named = dict(zip(NEEDED, NEEDED, strict=True))
        named |= {role: column for role, column in given.items() if column is not None}
        return Columns(**named), Accepted.of("any" if rewards is None else rewards)
    for role, column in given.items():
        was = manifest.columns.get(role)
        if column is not None and column != was:
            expected = f"{was!r}, as in the first night" if was else "none, as in the first night"
            raise BadArgument(role, expected, repr(column))
    accepted = Accepted.of(manifest.rewards)
    if rewards is not None and Accepted.of(rewards) != accepted:
        expected = f"{accepted.given!r}, as in the first night"
        raise BadArgument("rewards", expected, repr(rewards))
    return Columns(**manifest.columns), accepted
