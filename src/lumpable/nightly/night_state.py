"""A state that learns by night: evidence is added, plans are made, and nothing counts twice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.live.session import Session
from lumpable.lumps.use.rewards import Accepted
from lumpable.nightly import coming_back, name_lists, night_plans, night_rows, plan_files
from lumpable.nightly.night_adding import NEEDED, Added, Adding, resolve_columns
from lumpable.nightly.night_fits import KeptFit
from lumpable.nightly.night_folder import Folder, Manifest, Planned, Segment
from lumpable.nightly.night_plans import Made, NightPlan
from lumpable.service.learner_kinds import LUMPS, plain, try_out
from lumpable.service.log_files import LogFor
from lumpable.tables.cleaning import Columns
from lumpable.tables.events import Events
from lumpable.tables.queries import Progress, database
from lumpable.tables.sources import parts_of


class Nightly:
    """A folder of evidence that plans are made from (extra `warehouse`).

    `evidence` adds events, `plan` says what to give to whom until there are more. Either may be
    repeated: the same events count once, and the same state gives the same plan. One process at a
    time may write; a crash leaves the state as it was before, or after.

    Parameters
    ----------
    path
        A folder; it is created when something is first added or planned.
    """

    def __init__(self, path: str | Path) -> None:
        self._folder = Folder(path)
        self._kept_fit = KeptFit(self._folder.path)

    def __repr__(self) -> str:
        manifest = self._folder.read()
        events = sum(segment.events for segment in manifest.segments)
        return f"Nightly: {events:,} events in {len(manifest.segments):,} segments"

    @property
    def begun(self) -> bool:
        """Whether anything was added or planned."""
        return self._folder.begun

    @property
    def settings(self) -> dict[str, Any]:
        """All that the state remembers, but its events."""
        manifest = self._folder.read()
        how = {} if manifest.planned is None else msgspec.structs.asdict(manifest.planned)
        return {"columns": manifest.columns, "rewards": manifest.rewards} | how

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What was added, in order."""
        return self._folder.read().segments

    def events(self, *, memory: str | None = None) -> Events:
        """Return all evidence; `lb.learn` takes it."""
        manifest = self._folder.read()
        with database(memory) as con:
            return self._events(con, manifest)

    def _events(self, con: Any, manifest: Manifest) -> Events:
        rows = night_rows.relation(self._folder.check(manifest))
        columns = Columns(**(manifest.columns or dict(zip(NEEDED, NEEDED, strict=True))))
        return night_rows.evidence(con, rows, columns, Accepted.of(manifest.rewards))

    def log_for(self, digest: str | None) -> LogFor:
        """Return how a log is written that comes back to this state.

        `digest` is that of the evidence that an experiment began with; None: with none.
        """
        manifest = self._folder.read()
        columns = Columns(**(manifest.columns or dict(zip(NEEDED, NEEDED, strict=True))))
        accepted, known = Accepted.of(manifest.rewards), ""
        if digest is not None:
            with database(None) as con:
                paths = self._folder.check(manifest)
                own = coming_back.is_own(con, digest, paths, columns, accepted)
            known = digest if own else ""
        return LogFor(columns.named, known, manifest.zoned is not False)

    # --- Evidence -----------------------------------------------------------------------------

    def evidence(
        self, source: Any, user: str | None = None, item: str | None = None,
        reward: str | None = None, *, time: str | None = None, id: str | None = None,
        propensity: str | None = None, rewarded: str | None = None,
        rewards: str | tuple[float, float] | None = None, strict: bool = False,
        memory: str | None = None, progress: Progress | None = None,
    ) -> list[Added]:  # fmt: skip
        """Add events: a file, a folder of files or a frame, as `read_events` takes them.

        Columns and `rewards` are remembered from the first time on; others are refused later. With
        a column of ids each event counts in the night in which it first came; without one, a file
        with the same events as one before does not count again. Returns what became of each file.
        """
        given = {"user": user, "item": item, "reward": reward, "time": time, "id": id,
                 "propensity": propensity, "rewarded": rewarded}  # fmt: skip
        with self._folder.writing() as before:
            columns, accepted = resolve_columns(before, given, rewards)
            kept = tuple(accepted.given) if isinstance(accepted.given, tuple) else accepted.given
            manifest = msgspec.structs.replace(before, columns=columns.named, rewards=kept)
            with database(memory) as con:
                self._folder.check(before)
                adding = Adding(self._folder, con, columns, accepted, manifest)
                parts = parts_of(con, source, columns.named.values())
                options = {"strict": strict, "memory": memory, "progress": progress}
                made = [adding.add(part, source, **options) for part in parts]
                adding.refuse_none(made, source)
            if adding.manifest.segments != before.segments:
                self._folder.write(adding.manifest)
                self._kept_fit.remove()  # of less evidence
        return made

    # --- Plans --------------------------------------------------------------------------------

    def plan(
        self, users: Any = None, items: Any = None, *, user: str | None = None,
        item: str | None = None, learner: str | Mapping[str, Any] | None = None,
        floor: float | None = None, seed: int | None = None, out: str | Path | None = None,
        memory: str | None = None,
    ) -> NightPlan:  # fmt: skip
        """Say what to give to whom until there is new evidence.

        `learner`, `floor` and `seed` are remembered from the first time on; others are refused
        later. The same state, users and items give the same plan.

        Parameters
        ----------
        users
            Names, or a file or frame with a column of them; without it, all with events. A plan
            of the paper begins with all its users.
        items
            What may be given, likewise; without it, all with events, or those with which a plan
            of the paper began.
        user, item
            The columns of these files or frames; without it, as in the evidence.
        learner
            "lumps", or a plan of the paper as {"kind": "pac.near_uniform", "groups": 4, ...}.
        floor
            The least probability of each item. Without it, 0.01 for Lumps, and for more than ten
            items 0.1 divided by their number; 0 for a plan of the paper.
        seed
            The random seed; 0 by default.
        out
            The file to write, .csv or .parquet.
        """
        if out is not None:
            plan_files.check_name(Path(out))
            self._check_outside(Path(out))
        with self._folder.writing() as before, database(memory) as con:
            columns = {"user": "user", "item": "item"} | (before.columns or {})
            columns |= {k: v for k, v in {"user": user, "item": item}.items() if v is not None}
            named = {role: None if source is None else
                     name_lists.names_from(role, source, columns[role[:-1]])
                     for role, source in (("users", users), ("items", items))}  # fmt: skip
            planned = _plan_settings(before, learner, floor, seed, **named)
            manifest = msgspec.structs.replace(before, planned=planned)
            made = self._make_plan(con, manifest, named["users"], named["items"])
            if out is not None:
                plan_files.check_plan(made.plan)
            if manifest != before:
                self._folder.write(manifest)
            if out is not None:
                plan_files.write_plan(made.plan, Path(out))
            if made.fit is not None:
                self._kept_fit.write(*made.fit)
        return made.plan

    def _check_outside(self, out: Path) -> None:
        """Refuse to write over what a state consists of."""
        if Path(os.path.realpath(self._folder.path)) in Path(os.path.realpath(out)).parents:
            expected = f"a file outside of the state {str(self._folder.path)!r}"
            raise BadArgument("out", expected, repr(str(out)))

    def _make_plan(
        self, con: Any, manifest: Manifest, users: tuple[Name, ...] | None,
        items: tuple[Name, ...] | None,
    ) -> Made:  # fmt: skip
        planned = manifest.planned or Planned()
        kind = night_plans.plan_kind(planned)
        if kind is not None:
            session = night_plans.begin(kind, planned)
            self._play(con, manifest, session)
            contents = [segment.sha256 for segment in manifest.segments[planned.since :]]
            everybody = users or planned.users
            return Made(night_plans.from_session(session, planned, everybody, contents))
        events = self._events(con, manifest)
        for role, told, known in (("users", users, events.users), ("items", items, events.items)):
            if not (told or known):
                raise BadArgument(role, "names, as there are no events yet", "none")
        names = users or events.users, items or events.items
        return night_plans.from_lumps(events, planned, *names, self._kept_fit)

    def session(self) -> Session:
        """Return the plan of the paper as far as it has come."""
        manifest = self._folder.read()
        planned = manifest.planned or Planned()
        kind = night_plans.plan_kind(planned)
        if kind is None:
            raise BadArgument("state", "one with a plan of the paper", "one with Lumps")
        session = night_plans.begin(kind, planned)
        with database(None) as con:
            self._play(con, manifest, session)
        return session

    def _play(self, con: Any, manifest: Manifest, session: Session) -> None:
        planned = manifest.planned or Planned()
        for path in self._folder.check(manifest)[planned.since :]:
            night_plans.play(session, planned, night_rows.rows_of(con, path))


def _plan_settings(
    manifest: Manifest, learner: Any, floor: float | None, seed: int | None,
    users: tuple[Name, ...] | None, items: tuple[Name, ...] | None,
) -> Planned:  # fmt: skip
    """Return how plans are made: what is remembered, or else what is given."""
    told = {
        "learner": None if learner is None else plain(learner),
        "floor": None if floor is None else checks.real(
            "floor", floor, "a number in [0, 1)", -1e-300, 1.0 - 2**-53),
        "seed": None if seed is None else checks.whole("seed", seed, 0),
    }  # fmt: skip
    was = manifest.planned
    if was is None:
        return _first_settings(
            manifest, {k: v for k, v in told.items() if v is not None}, users, items
        )
    for name, value in told.items():
        if value is not None and value != getattr(was, name):
            before = getattr(was, name)
            expected = f"{'none' if before is None else repr(before)}, as with the first plan"
            raise BadArgument(name, expected, repr(value))
    if was.items and items is not None and items != was.items:
        raise BadArgument("items", "those with which the plan began, or none", f"{len(items):,}")
    return was


def _first_settings(
    manifest: Manifest, told: dict[str, Any], users: tuple[Name, ...] | None,
    items: tuple[Name, ...] | None,
) -> Planned:  # fmt: skip
    """Return how plans are made from now on."""
    night_plans.check_learner(told.get("learner", LUMPS))
    if told.get("learner", LUMPS) == LUMPS:
        night_plans.plan_kind(planned := Planned(**told))
        return planned
    for role, names in (("users", users), ("items", items)):
        if names is None:
            raise BadArgument(role, "all of them, which a plan of the paper has to know", "none")
    planned = Planned(users=users or (), items=items or (), since=len(manifest.segments), **told)
    kind = night_plans.plan_kind(planned)
    if kind is not None:
        try_out(kind, len(planned.items))
    return planned
