"""Open an experiment: begin one, or go on with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.base.words import nearest
from lumpable.lumps.use.naming import Names
from lumpable.service.changing import now
from lumpable.service.fits_beside import BackgroundFitter, Fitter, InlineFitter
from lumpable.service.learned_entries import Evidence, append_evidence, evidence_in, reconcile
from lumpable.service.learner_kinds import kind_of, try_out
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.settings import (
    LASTING,
    Mode,
    Repeated,
    Settings,
    decode,
    encode,
    parse_settings,
    to_user_units,
)
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import SharedStore, Store
from lumpable.stores.postgres_database import is_address

MEMORY = ":memory:"


def open(
    path: str | Path = MEMORY, arms: Iterable[Name] = (), *,
    rewards: str | tuple[float, float] | UnsetType = UNSET,
    window: float | UnsetType | None = UNSET, default: float | UnsetType | None = UNSET,
    repeated: Repeated | UnsetType = UNSET, mode: Mode | UnsetType = UNSET,
    hold_back: float | UnsetType = UNSET, control: Name | UnsetType | None = UNSET,
    at_most: int | UnsetType | None = UNSET, new_arms: bool | UnsetType = UNSET,
    floor: float | UnsetType = UNSET, seed: int | UnsetType = UNSET,
    learner: str | Mapping[str, Any] | UnsetType = UNSET,
    fits: Literal["background", "inline"] = "background", learned: Any = None,
) -> LiveExperiment:  # fmt: skip
    """Begin an experiment in a file, or go on with the one in it.

    Instead of a file, `path` may be the address of a PostgreSQL database, "postgresql://...", which
    several processes open and share (extra `postgres`).

    Settings that are not given keep their earlier values. `arms` are added to those it has.

    - `rewards`: the accepted rewards: "any" number, "binary" or a range
    - `window`: for how many seconds after a decision its reward counts; None: without a limit
    - `default`: the reward assumed if something was shown and none arrived in the window; None:
      such an event teaches nothing
    - `repeated`: which reward counts if an event gets several, "first", "last" or their "sum"
    - `mode`: "serve"; "shadow" (everybody is shown `control`); "observe" (others decide)
    - `hold_back`: the share of decisions withheld from the learner, which show `control`, or any
      arm if there is none
    - `at_most`: how often an arm may be shown to one user
    - `new_arms`: whether requests may introduce new arms
    - `floor`: the least probability of each allowed arm in decisions that are not held back; over
      all decisions it is at least `(1 - hold_back) * floor`, and propensities say what it was
    - `seed`: the random seed
    - `learner`: "lumps", another learner of the catalogue or a plan, by its name or as a mapping of
      `kind` and its options, as in {"kind": "ucb", "width": 0.3}
    - `fits`: made in the "background", in a separate process, or "inline": the caller waits
    - `learned`: what a log taught, from `lb.learn`, `lb.read_events`, `lb.Nightly` or a `lb.Lumps`:
      a new experiment begins with these events, users and arms. The same again changes nothing
    """
    if fits not in ("background", "inline"):
        raise BadArgument("fits", "'background' or 'inline'", repr(fits))
    given = {name: value for name, value in locals().items()
             if name in Settings.__struct_fields__ and value is not UNSET}  # fmt: skip
    if not isinstance(path, str | PathLike) or not str(path):
        expected = "a file, the address of a PostgreSQL database, or ':memory:'"
        raise BadArgument("path", expected, repr(path))
    evidence = None if learned is None else evidence_in(learned)
    names = Names("arm").plains(arms if isinstance(arms, str) else list(arms))
    if str(path) != MEMORY and not is_address(str(path)) and not Path(path).exists():
        _settings(MemoryStore(), given, names, evidence)  # what is refused leaves no new file
    store = store_at(path)
    try:
        with _alone(store):
            settings = _settings(store, given, names, evidence)
            if settings.learned_left and evidence is not None:
                append_evidence(store, evidence, now())
                settings = msgspec.structs.replace(settings, learned_left=False)
                store.configure(encode(settings))
        fitter: Fitter = BackgroundFitter() if fits == "background" else InlineFitter()
        snapshot = Path(f"{path}.snapshot") if isinstance(store, SQLiteStore) else None
        experiment = LiveExperiment(store, settings, fitter, snapshot=snapshot)
        try:
            for arm in names:
                experiment.add_arm(arm)
            experiment.keep_following()
            experiment.get_ready()
        except BaseException:  # its threads end, too
            experiment.close()
            raise
    except BaseException:
        store.close()
        raise
    return experiment


def store_at(path: str | Path, *, read_only: bool = False) -> Store:
    """Open the store at a path: in memory, in a file, or in a PostgreSQL database.

    It is made if it is not there, unless it is only to be read.
    """
    if str(path) == MEMORY:
        return MemoryStore()
    if is_address(str(path)):
        return PostgresStore(str(path), read_only=read_only)
    return SQLiteStore(path, read_only=read_only)


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Let nobody else write meanwhile."""
    if isinstance(store, SharedStore):
        store.take_turn()
    try:
        yield
    finally:
        if isinstance(store, SharedStore):
            store.end_turn()


def _settings(
    store: Store, given: dict[str, Any], arms: list[Name], evidence: Evidence | None
) -> Settings:
    """Return the settings of a store, with those that are given; keep them."""
    before = decode(store.settings)
    begun = _is_begun(store)
    if not begun and evidence is not None:
        given = {"rewards": evidence.accepted.given} | given
    settings = parse_settings(**(to_user_units(before) | given))
    if begun:
        for name in LASTING:
            was, wanted = getattr(before, name), getattr(settings, name)
            if was != wanted:
                expected = f"{to_user_units(before)[name]!r}, with which the experiment began"
                raise BadArgument(name, expected, repr(given[name]))
    elif (kind := kind_of(settings.learner, settings.seed)) is not None:
        try_out(kind, len(arms))
    if "control" in given:
        known = {*arms, *store.arms, *(() if evidence is None else evidence.items)}
        _check_control(settings, known)
    settings = reconcile(before if begun else None, settings, evidence)
    if settings != before or not store.settings:
        store.configure(encode(settings))
    return settings


def _is_begun(store: Store) -> bool:
    """Whether an experiment is under way, so that what it was begun with must stay.

    Where nothing was entered, the first opening may have failed half-way. (But a process that
    shares the store may have it open, and count on what it was told.)
    """
    return store.last > 0 or (isinstance(store, SharedStore) and bool(store.settings))


def _check_control(settings: Settings, known: set[Name]) -> None:
    """Refuse a control arm that is none of the arms there are; if there are none, it may come."""
    unheard_of = settings.control is not None and settings.control not in known
    if unheard_of and known and not settings.new_arms:
        names = [str(name) for name in known]
        got = f"{settings.control!r}{nearest(str(settings.control), names)}"
        raise BadArgument("control", "one of the arms", got)
