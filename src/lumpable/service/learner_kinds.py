"""Which learner an experiment is told to have: a name, or a name with options.

Lumps, the learners of the catalogue and the plans, by their names only: a file must not name code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.protocols import Learner
from lumpable.base.words import nearest
from lumpable.learners import catalogue
from lumpable.learners.learner import Unfit
from lumpable.live.saved import CELLS
from lumpable.live.session import Session
from lumpable.lumps.use.registry import FIRST_ROOM
from lumpable.lumps.use.rewards import Accepted
from lumpable.plans import methods
from lumpable.plans.making import Algorithm
from lumpable.plans.problem import Problem, changed_constants

LUMPS = "lumps"
Description = str | dict[str, Any]
"""A name, or a mapping of `kind` and options, as experiments and comparisons keep it."""
PREFIX = "lumpable."
PLANS = {name.removeprefix(PREFIX): make for name, make in methods.BY_NAME.items()}
ALSO = {
    "algorithm-4": "regret.equal_groups", "algorithm-6": "regret.any_groups",
    "elimination-plan": "standard.online",
}  # fmt: skip
"""What the catalogue calls plans."""
MOST_USERS = 1_000_000
HIDDEN = {
    "group": "the group of each user", "group_means": "the means of each group",
    "frequency": "how often each user comes",
}  # fmt: skip
"""What nobody knows of users who are yet to come."""
WRONG = (TypeError, ValueError, OverflowError, MemoryError)
"""What options that are none may lead to."""
OWN = ("contexts", "arms", "seed", "problem")
"""What the experiment says itself."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A learner that is no Lumps: how it is made, and what it can do."""

    name: str
    make: Callable[[int, int], Learner]
    """From the numbers of users and arms."""
    users: int | None
    """How many there is room for; None: room is made."""
    plan: bool
    """Whether it is a plan, whose arms are fixed from its first decision on."""


def plain(given: object) -> Description:
    """Return a description as it is kept: the name alone if there are no options."""
    if isinstance(given, str):
        return str(given)
    if not isinstance(given, Mapping) or not isinstance(given.get("kind"), str):
        expected = "a name, or a mapping with `kind` and options"
        raise BadArgument("learner", expected, repr(given)[:80])
    try:
        kept: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(given)))
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as cause:
        raise BadArgument("learner", f"options that can be written ({cause})") from None
    return kept if len(kept) > 1 else str(kept["kind"])


def name_of(description: Description) -> str:
    """Return the name of a learner."""
    return description if isinstance(description, str) else str(description["kind"])


def kind_of(description: Description, seed: int) -> Kind | None:
    """Return what a description stands for; None: Lumps."""
    name = name_of(description)
    options = {} if isinstance(description, str) else {**description}
    options.pop("kind", None)
    known = [LUMPS, *catalogue.CATALOGUE, *PLANS]
    if name not in known:
        raise BadArgument("learner", "a learner or plan of this package", _near(name, known))
    for own in OWN:
        if own in options:
            raise BadArgument("learner", why=f"{own!r} comes from the experiment, not from options")
    if name == LUMPS:
        if options:
            raise BadArgument("learner", "no options, as there is nothing to tune", f"{options}")
        return None
    users = options.pop("users", None)
    if users is not None:
        users = checks.whole("users", users, 1, MOST_USERS)
    plan = PLANS.get(ALSO.get(name, name))
    if plan is not None:
        return _plan(name, plan, users, options, seed)
    return Kind(name, partial(_make_learner, name, options, seed), users, plan=False)


def check(kind: Kind, rewards: object, repeated: str, at_most: int | None) -> None:
    """Refuse settings of an experiment that a learner cannot keep."""
    name = kind.name
    if repeated != "first":
        why = f"{name!r} would have to relearn everything when a reward is replaced"
        raise BadArgument("repeated", "'first'", f"{repeated!r}: {why}")
    if at_most is not None:
        raise BadArgument("at_most", why=f"{name!r} cannot leave arms out; Lumps can")
    accepted = Accepted.of(rewards)
    maker = None if kind.plan else catalogue.find(name)[0]
    if getattr(maker, "unit_rewards", False) and (accepted.low < 0.0 or accepted.high > 1.0):
        expected = f"'binary' or a range in (0, 1), which {name!r} needs"
        raise BadArgument("rewards", expected, repr(rewards))


def try_out(kind: Kind, arms: int) -> None:
    """Make a learner that nobody keeps, so that bad options are refused before they are kept."""
    kind.make(kind.users or FIRST_ROOM, max(arms, 2))


def _near(name: str, known: list[str]) -> str:
    return f"{name!r}{nearest(name, known)}"


def _make_learner(
    name: str, options: Mapping[str, Any], seed: int, users: int, arms: int
) -> Learner:
    """Make a learner of the catalogue; it gets what its signature names."""
    maker, sets = catalogue.find(name)
    signature = inspect.signature(maker).parameters
    for hidden, words in HIDDEN.items():
        if hidden in options or (hidden in signature and _is_required(signature[hidden])):
            raise BadArgument("learner", why=f"{name!r} needs {words}, which is not known here")
    known = {"contexts": users, "arms": arms, "seed": seed}
    chosen = {key: value for key, value in known.items() if key in signature} | sets | {**options}
    _check_options(name, signature, chosen)
    try:
        return maker(**chosen)
    except Unfit as error:
        raise BadArgument("learner", why=str(error)) from error
    except WRONG as error:
        raise _wrong_option(name, error) from error


def _check_options(
    name: str, signature: Mapping[str, inspect.Parameter], chosen: Mapping[str, Any]
) -> None:
    for key in chosen:
        if key not in signature:
            raise BadArgument("learner", why=f"{name!r} has no option {_near(key, [*signature])}")
    missing = [key for key, each in signature.items() if _is_required(each) and key not in chosen]
    if missing:
        given = ", ".join(f"{key!r}: ..." for key in missing)
        words = f"{name!r} needs {', '.join(missing)}: say {{'kind': {name!r}, {given}}}"
        raise BadArgument("learner", why=words)


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _wrong_option(name: str, error: Exception) -> BadArgument:
    return BadArgument("learner", why=f"{name!r} cannot be made: {error}")


# --- Plans --------------------------------------------------------------------------------------


def _plan(
    name: str, make: Algorithm[...], users: int | None, options: dict[str, Any], seed: int
) -> Kind:
    """Return a plan as a learner; it knows the numbers of users and groups beforehand."""
    if users is None:
        words = f"a plan knows the number of users: say {{'kind': {name!r}, 'users': ...}}"
        raise BadArgument("learner", why=words)
    free = make.about.guesses or make.about.name.startswith(PREFIX + "standard.")
    if "groups" not in options and not free:
        raise BadArgument(
            "learner", why=f"{name!r} needs the option groups: at most how many there are"
        )
    return Kind(name, partial(_make_session, name, make, options, seed), users, plan=True)


def _make_session(
    name: str, make: Algorithm[...], options: Mapping[str, Any], seed: int, users: int, arms: int
) -> Learner:
    if users * arms > CELLS:
        expected = f"at most {CELLS:,} pairs of a user and an arm"
        raise BadArgument("users", expected, f"{users:,} times {arms:,}")
    chosen = {**options}
    problem = Problem(users, arms, chosen.pop("groups", 1))
    _check_options(name, inspect.signature(make).parameters, chosen | {"problem": problem})
    if "constants" in chosen:
        chosen["constants"] = changed_constants(chosen["constants"])
    try:
        return Session(make(problem=problem, **chosen), seed=seed)
    except WRONG as error:
        raise _wrong_option(name, error) from error
