"""Which arm a decision shows, and with which probability: the learner's, or one held back.

All luck follows from the seed and the event's id: asked again, it falls the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.service.settings import Settings

LEARNER, HELD_BACK, SHADOW, OBSERVED = "learner", "held back", "shadow", "observed"
"""Who decided."""
WHO = frozenset([LEARNER, HELD_BACK, SHADOW, OBSERVED])


def luck(seed: int, event: str, stream: str) -> float:
    """Return a number in [0, 1), 53 bits, that belongs to an event."""
    digest = hashlib.sha256(f"{seed}/{stream}/{event}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def check_choices(settings: Settings, choices: Sequence[Name]) -> None:
    """Refuse arms that nothing can be chosen from as the settings say."""
    n, floor, control = len(choices), settings.floor, settings.control
    if settings.mode == "shadow":
        if control is None or control not in choices:
            raise BadArgument("allowed", f"the control arm {control!r} among them", f"{choices}")
    elif floor * n >= 1.0:
        raise BadArgument("floor", f"less than 1 / {n} where {n} arms are allowed", f"{floor}")


def choose(
    settings: Settings, event: str, choices: Sequence[Name], ask: Callable[[], Name]
) -> tuple[Name, float, str]:
    """Return the arm to show, its probability, and who decided, as `decided_by` reads it."""
    check_choices(settings, choices)
    n, floor, control = len(choices), settings.floor, settings.control
    if settings.mode == "shadow":
        assert control is not None
        return control, 1.0, _in_shadow(ask)
    best, held = ask(), settings.hold_back
    if held == floor == 0.0:
        return best, 1.0, LEARNER

    def probability(arm: Name) -> float:
        own = 1.0 - (n - 1) * floor if arm == best else floor
        if held == 0.0:
            return own
        if control in choices:
            return held * (arm == control) + (1.0 - held) * own
        return held / n + (1.0 - held) * own

    if luck(settings.seed, event, "hold back") < held:
        arm = control if control in choices else _one(choices, luck(settings.seed, event, "arm"))
        assert arm is not None
        return arm, probability(arm), HELD_BACK
    u, most = luck(settings.seed, event, "floor"), 1.0 - (n - 1) * floor
    arm = best if u < most else _one([a for a in choices if a != best], (u - most) / (1.0 - most))
    return arm, probability(arm), LEARNER


def _in_shadow(ask: Callable[[], Name]) -> str:
    """Say who decided, and what the learner would have shown if it can say so."""
    try:
        return f"{SHADOW} {msgspec.json.encode(ask()).decode()}"
    except BadArgument:  # it chooses among all arms, and some are not allowed: nobody shows its arm
        return SHADOW


def decided_by(detail: str) -> str:
    """Return who decided, from what a decision's entry says.

    >>> decided_by("learner"), decided_by('shadow "red"'), decided_by("shadow")
    ('learner', 'shadow', 'shadow')
    """
    return detail if detail in WHO else detail.partition(" ")[0]


def learner_choice(detail: str) -> Name | None:
    """Return what the learner would have shown in the shadow; None: it was not asked.

    >>> details = 'shadow "red"', "shadow 17", "shadow", "held back"
    >>> [learner_choice(detail) for detail in details]
    ['red', 17, None, None]
    """
    by, _, arm = detail.partition(" ")
    if by != SHADOW or not arm:
        return None
    try:
        name: Name = msgspec.json.decode(arm, type=Name)
        return name
    except msgspec.MsgspecError:  # of a damaged log, which `verify` finds
        return None


def _one(choices: Sequence[Name], u: float) -> Name:
    return choices[min(int(u * len(choices)), len(choices) - 1)]
