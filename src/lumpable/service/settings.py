"""What an experiment is told when it is opened, kept with its log."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.lumps.use.rewards import Accepted
from lumpable.service import learner_kinds
from lumpable.stores.log_entries import MICRO, Name, micro

Repeated = Literal["first", "last", "sum"]
Mode = Literal["serve", "shadow", "observe"]
SECOND = 1_000_000
"""Microseconds."""
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


def made(**given: Any) -> Settings:
    """Check what a user says, in seconds and units of reward."""
    window, default = given.pop("window"), given.pop("default")
    given["learner"] = learner_kinds.plain(given.get("learner", learner_kinds.LUMPS))
    settings = Settings(
        window=None if window is None else seconds("window", window),
        default=None if default is None else micro(checks.real(
            "default", default, "a number", -float("inf"), float("inf"))),
        **given,
    )  # fmt: skip
    accepted = Accepted.of(settings.rewards)
    if settings.default is not None:
        accepted.one(settings.default / MICRO)
        if settings.window is None:
            raise BadArgument("default", "a window after which it counts", "none")
    _one_of("repeated", settings.repeated, get_args(Repeated))
    _one_of("mode", settings.mode, get_args(Mode))
    checks.real("hold_back", settings.hold_back, "a share in [0, 1)", -1e-300, 1.0 - 2**-53)
    checks.real("floor", settings.floor, "a number in [0, 1)", -1e-300, 1.0 - 2**-53)
    checks.whole("seed", settings.seed, 0)
    if settings.at_most is not None:
        checks.whole("at_most", settings.at_most, 1)
    kind = learner_kinds.kind_of(settings.learner, settings.seed)
    if kind is not None:
        learner_kinds.check(kind, settings.rewards, settings.repeated, settings.at_most)
    if settings.mode == "shadow" and settings.control is None:
        raise BadArgument("control", "the arm that everybody is shown in shadow mode", "none")
    return settings


def told_rewards(settings: Settings) -> str | tuple[float, float]:
    """Return which rewards the learner may be told: a sum may leave the range of its parts."""
    return "any" if settings.repeated == "sum" else settings.rewards


def seconds(name: str, value: float) -> int:
    """Return a length of time in microseconds."""
    most = 2**62 / SECOND
    return round(SECOND * checks.real(name, value, "a positive number of seconds", 0.0, most))


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadArgument(name, "one of " + ", ".join(map(repr, choices)), repr(value))


def said(settings: Settings) -> dict[str, Any]:
    """Return settings as users say them: seconds, and units of reward."""
    window, default = settings.window, settings.default
    return {name: getattr(settings, name) for name in settings.__struct_fields__} | {
        "window": None if window is None else window / SECOND,
        "default": None if default is None else default / MICRO,
    }
