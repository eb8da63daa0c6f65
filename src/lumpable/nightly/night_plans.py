"""What to give to whom until the next night: rows of a plan, with the probability of each.

The same state gives the same plan: all chance follows from the plan's version, or, for a plan of
the paper, from its seed.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO, Name
from lumpable.base.version import __version__
from lumpable.live.session import Session
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.decisions import chances, check_floor, draw_arm
from lumpable.nightly.night_fits import KeptFit
from lumpable.nightly.night_folder import Planned
from lumpable.service.learner_kinds import (
    ALSO,
    LUMPS,
    PLANS,
    Description,
    Kind,
    kind_of,
    name_of,
)
from lumpable.tables.events import Events
from lumpable.tables.telling import tell

FLOOR, CHANCE = 0.01, 0.1
"""Without a word about it, each item has at least this probability, and all of them together at
most this much."""
ANYBODY = ""
"""Whoever is not named; nobody has an empty name."""


@dataclass(frozen=True, slots=True, eq=False)
class NightPlan:
    """An action for each user, how likely it was, and one for everybody else."""

    users: tuple[Name, ...]
    actions: list[Name]
    propensity: FloatVector
    default: Name
    """The action for users who are not named, and how likely it was."""
    default_propensity: float
    version: str
    notes: tuple[str, ...]
    """How far it is, in words."""

    def __repr__(self) -> str:
        return f"NightPlan {self.version[:12]}: {len(self.users):,} users, default {self.default!r}"

    def __len__(self) -> int:
        return len(self.users)


def version_of(*parts: object) -> str:
    """Return the digest of all that a plan follows from."""
    return hashlib.sha256(msgspec.msgpack.encode([__version__, *parts])).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A plan, and a fit that was made for it, with the key of its evidence."""

    plan: NightPlan
    fit: tuple[str, Fit] | None = None


def from_lumps(
    events: Events, planned: Planned, users: Sequence[Name], items: Sequence[Name],
    kept: KeptFit | None = None,
) -> Made:  # fmt: skip
    """Ask the practical learner, which is told all evidence; `kept` may have its fit."""
    floor = min(FLOOR, CHANCE / len(items)) if planned.floor is None else planned.floor
    check_floor(floor, np.ones(len(items), dtype=bool))
    given = events.accepted.given
    digest = events.digest()
    version = version_of(digest, LUMPS, given, floor, planned.seed, users, items)
    key = version_of(digest, given)
    fit = None if kept is None else kept.read(key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # names were compared when they were read
        lumps = tell(events, int(version[:15], 16), floor=floor, fit=fit)
        for item in items:
            lumps.add_arm(item)
        batch = lumps.ask_many([*users, ANYBODY], items)
    known = set(events.users)
    new = sum(user not in known for user in users)
    notes = [f"{new:,} of {len(users):,} users have no events yet"] if new else []
    twin = next((user for user in users if user not in known and _twin(user) in known), None)
    if twin is not None:
        notes.append(f"{twin!r} has no events, {_twin(twin)!r} has: these are two names")
    plan = NightPlan(
        tuple(users), batch.arm[:-1], batch.propensity[:-1], batch.arm[-1],
        float(batch.propensity[-1]), version, tuple(notes),
    )  # fmt: skip
    found = lumps.core.last_fit
    return Made(plan, None if found is None or found is fit else (key, found))


def _twin(name: Name) -> Name | None:
    """Return the name of the other kind that looks the same.

    >>> _twin(17), _twin("17"), _twin("ann")
    ('17', 17, None)
    """
    if isinstance(name, int):
        return str(name)
    return int(name) if name.isdecimal() and str(int(name)) == name else None


# --- Plans of the paper ---------------------------------------------------------------------------


def plan_kind(planned: Planned) -> Kind | None:
    """Return the plan of the paper that is played; None: Lumps."""
    description = planned.learner
    if name_of(description) != LUMPS:
        options = {"kind": description} if isinstance(description, str) else {**description}
        description = options | {"users": max(1, len(planned.users))}
    return kind_of(description, planned.seed)


def check_learner(description: Description) -> None:
    """Refuse what is neither Lumps nor a plan of the paper, whatever else was said."""
    name = name_of(description)
    if name != LUMPS and ALSO.get(name, name) not in PLANS:
        kind_of(name, 0)  # refuses names that nobody has
        raise BadArgument("learner", "'lumps' or a plan of the paper", repr(name))


def begin(kind: Kind, planned: Planned) -> Session:
    """Begin to play a plan."""
    session = kind.make(len(planned.users), len(planned.items))
    assert isinstance(session, Session)
    return session


def play(session: Session, planned: Planned, rows: Iterable[tuple[Name, Name, int, int]]) -> None:
    """Tell a plan what came: user, item, millionths and times; it counts what it asked for."""
    users = {name: number for number, name in enumerate(planned.users)}
    items = {name: number for number, name in enumerate(planned.items)}
    for user, item, reward, times in rows:
        if user in users and item in items:
            for _ in range(times):
                session.tell(users[user], items[item], reward / MICRO)


def from_session(
    session: Session, planned: Planned, users: Sequence[Name], contents: Sequence[str]
) -> NightPlan:
    """Say what a plan of the paper asks for now, and its policy where it asks nothing."""
    strangers = [user for user in users if user not in set(planned.users)]
    if strangers:
        expected = f"the {len(planned.users):,} users with whom the plan began, or some of them"
        raise BadArgument("users", expected, f"{strangers[0]!r} as well")
    floor, every = planned.floor or 0.0, np.ones(len(planned.items), dtype=bool)
    version = version_of(list(contents), planned, users)
    number = {name: place for place, name in enumerate(planned.users)}
    luck = chances(int(version[:15], 16), 0, users) if floor > 0.0 else [0.0] * len(users)
    actions, propensity = list[Name](), np.empty(len(users))
    for row, user in enumerate(users):
        asked, context = session.ask(number[user]), number[user]
        arm, _ = draw_arm(asked, every, floor, luck[row])
        choices = session.choices(context)
        propensity[row] = _probability(arm, choices.tolist(), len(every), floor)
        actions.append(planned.items[arm])
    default = Counter(session.policy.tolist()).most_common(1)[0][0]
    return NightPlan(
        tuple(users), actions, propensity, planned.items[default], 1.0, version, _how_far(session)
    )


def _probability(arm: int, choices: Sequence[int], arms: int, floor: float) -> float:
    """Return how likely an arm was: one of the choices was drawn, and then another with `floor`.

    >>> [round(_probability(arm, [0, 1], 3, 0.1), 3) for arm in range(3)]
    [0.45, 0.45, 0.1]
    """
    stays = 1.0 - (arms - 1) * floor if floor > 0.0 else 1.0
    drawn = (1.0 / len(choices)) if arm in choices else 0.0
    return drawn * stays + (1.0 - drawn) * floor


def _how_far(session: Session) -> tuple[str, ...]:
    request = session.request
    told = f"{session.rounds:,} rounds were played, {session.late:,} rewards were not asked for"
    if request is None:
        return (told, "the plan has ended: this is its policy")
    phase = f": {request.belief.phase}" if request.belief is not None else ""
    return (told, f"the plan asks for {request.rounds:,} rounds{phase}")
