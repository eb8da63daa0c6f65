"""What an experiment is told when it is opened, kept with its log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO, Name, to_micro
from lumpable.lumps.use.naming import Names
from lumpable.lumps.use.rewards import Accepted
from lumpable.service import learner_kinds
from lumpable.stores.law import StoreError

Repeated = Literal["first", "last", "sum"]
Mode = Literal["serve", "shadow", "observe"]
SECOND = 1_000_000
"""Microseconds."""
LARGEST = 2**64 - 1
"""The largest whole number that can be kept."""
LASTING = ("rewards", "window", "default", "repeated", "seed", "learner")
"""What an experiment is begun with cannot be changed: the past would come to something else."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that may be set; times in microseconds, rewards in millionths."""

    rewards: str | tuple[float, float] = "any"
    window: int | None = None
    """How long after a decision its reward counts; None: for ever."""
    default: int | None = None
    """The reward of what was shown and had none when the window closed; None: it tells nothing."""
    repeated: Repeated = "first"
    """Which of several rewards of one event counts."""
    mode: Mode = "serve"
    hold_back: float = 0.0
    """The share of decisions that are not the learner's: they say what it is worth."""
    control: Name | None = None
    """What these show, and everybody in shadow mode; None: an arm drawn uniformly."""
    at_most: int | None = None
    """How often an arm may be shown to one user."""
    new_arms: bool = False
    floor: float = 0.0
    seed: int = 0
    learner: learner_kinds.Description = learner_kinds.LUMPS
    """What learns: a name, or `kind` and options."""
    learned_digest: str | None = None
    """Of the evidence that it began with; None: it began without any."""
    learned_left: bool = False
    """Whether some of that evidence may not be in the log yet."""


def parse_settings(**given: Any) -> Settings:
    """Check what a user says, in seconds and units of reward; what is kept is plain."""
    settings = Settings(**{
        name: PLAIN[name](value) if name in PLAIN else value for name, value in given.items()
    })  # fmt: skip
    if settings.default is not None:
        Accepted.of(settings.rewards).one(settings.default / MICRO)
        if settings.window is None:
            raise BadArgument(
                "default", "a window", "none", why="needs a window, after which it counts"
            )
    kind = learner_kinds.kind_of(settings.learner, settings.seed)
    if kind is not None:
        learner_kinds.check(kind, settings.rewards, settings.repeated, settings.at_most)
    if settings.mode == "shadow" and settings.control is None:
        why = "required in shadow mode: the arm that everybody is shown"
        raise BadArgument("control", "an arm", "none", why=why)
    return settings


def _rewards(given: Any) -> str | tuple[float, float]:
    accepted = Accepted.of(given)
    return str(given) if isinstance(given, str) else (accepted.low, accepted.high)


def _default(value: float) -> int:
    return to_micro(checks.real("default", value, "a number", -float("inf"), float("inf")))


def true_or_false(name: str, value: object) -> bool:
    """Return what is True or False; anything else, such as "no", would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise BadArgument(name, "True or False", repr(value))
    return bool(value)


def _share(name: str, expected: str, value: float) -> float:
    return checks.real(name, value, expected, -1e-300, 1.0 - 2**-53)


def _one_of(name: str, choices: tuple[str, ...], value: object) -> str:
    if not isinstance(value, str) or value not in choices:
        raise BadArgument(name, "one of " + ", ".join(map(repr, choices)), repr(value))
    return str(value)


def _if_any(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


PLAIN: dict[str, Callable[[Any], Any]] = {
    "rewards": _rewards,
    "window": _if_any(lambda value: seconds("window", value)),
    "default": _if_any(_default),
    "repeated": partial(_one_of, "repeated", get_args(Repeated)),
    "mode": partial(_one_of, "mode", get_args(Mode)),
    "hold_back": partial(_share, "hold_back", "a share in [0, 1)"),
    "control": _if_any(lambda arm: Names("control").plain(arm)),
    "at_most": _if_any(lambda value: checks.whole("at_most", value, 1, LARGEST)),
    "new_arms": partial(true_or_false, "new_arms"),
    "floor": partial(_share, "floor", "a number in [0, 1)"),
    "seed": lambda value: checks.whole("seed", value, 0, LARGEST),
    "learner": learner_kinds.plain,
}
"""From what a user says to what is kept: values of plain types, which JSON gives back."""


def encode(settings: Settings) -> bytes:
    """Return settings as they are kept; what could not be read again is refused here."""
    held = msgspec.json.encode(settings)
    if decode(held) != settings:
        why = "the settings cannot be stored without loss; nothing was saved"
        raise StoreError(why, "other")
    return held


def decode(held: bytes) -> Settings:
    """Return settings that were kept."""
    try:
        return msgspec.json.decode(held, type=Settings) if held else Settings()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        why = f"the settings of the experiment are damaged: {error}"
        raise StoreError(why, "damaged") from error


def rewards_for_learner(settings: Settings) -> str | tuple[float, float]:
    """Return which rewards the learner may be told: a sum may leave the range of its parts."""
    return "any" if settings.repeated == "sum" else settings.rewards


def seconds(name: str, value: float) -> int:
    """Return a length of time in microseconds."""
    most = 2**62 / SECOND
    return round(SECOND * checks.real(name, value, "a positive number of seconds", 0.0, most))


def to_user_units(settings: Settings) -> dict[str, Any]:
    """Return settings as users say them: seconds, and units of reward."""
    window, default = settings.window, settings.default
    return {name: getattr(settings, name) for name in settings.__struct_fields__} | {
        "window": None if window is None else window / SECOND,
        "default": None if default is None else default / MICRO,
    }
