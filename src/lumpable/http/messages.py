"""What callers send and what they get back, as JSON. Unknown fields, NaN and Infinity are refused.

Every struct is part of the API's document, its docstring too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lumpable.lumps.belief.beliefs import Expected, Group, Mean
from lumpable.service.asked import LONGEST_ID
from lumpable.service.entering import Decided
from lumpable.service.joining import Standing
from lumpable.service.reading import Status

MANY = 10_000
"""Events of one batch: they are decided one after the other, while others wait."""
LONGEST_NAME = 1_000
"""Characters of the name of a user or an arm."""

Text = Annotated[str, Meta(max_length=LONGEST_NAME)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Name = Text | Whole
"""A user or an arm; "1" and 1 are two names."""
EventId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Key = Annotated[str, Meta(max_length=LONGEST_ID)]
Allowed = Annotated[list[Name], Meta(max_length=MANY)]


class Message(Struct, kw_only=True, forbid_unknown_fields=True):
    """Something that is sent."""


# --- What callers send --------------------------------------------------------------------------


class Decide(Message):
    """Whom to decide for; `allowed` arms, or all; the caller's own `event` id, or a new one."""

    user: Name
    allowed: Allowed | None = None
    event: EventId | None = None
    activate: bool = True


class DecideMany(Message):
    """Whom to decide for, in one commit."""

    users: Annotated[list[Name], Meta(max_length=MANY)]
    allowed: Allowed | None = None
    events: Annotated[list[EventId], Meta(max_length=MANY)] | None = None
    activate: bool = True


class Reward(Message):
    """The reward of an event; the same `at` (seconds since 1970) and `key` make it the same one."""

    event: EventId
    value: float
    at: float | None = None
    key: Key = ""


class EventReward(Message):
    """One reward of several."""

    event: EventId
    value: float


class RewardMany(Message):
    """Rewards of several events, in one commit: all count, or, if one is wrong, none."""

    rewards: Annotated[list[EventReward], Meta(max_length=MANY)]
    at: float | None = None
    key: Key = ""


class Activate(Message):
    """An event whose arm was shown after all."""

    event: EventId


class Observe(Message):
    """A decision that somebody else made."""

    user: Name
    arm: Name
    event: EventId | None = None
    propensity: float | None = None
    at: float | None = None


class Arm(Message):
    """An arm."""

    arm: Name


class Forget(Message):
    """A user who is to be erased."""

    user: Name


class OfUser(Message):
    """A user, in the address; ids that are integers say so by `type`."""

    user: Text
    type: Literal["string", "integer"] = "string"


class Nothing(Message):
    """No parameters."""


# --- What they get back -------------------------------------------------------------------------


class Decisions(Message):
    """A decision for each user, in their order."""

    decisions: list[Decided]


class Stands(Message):
    """Where an event stands now."""

    standing: Standing


class StandMany(Message):
    """Where each event stands now, in their order."""

    standings: list[Standing]


class Activated(Message):
    """An event whose arm counts as shown."""

    event: str


class Arms(Message):
    """The arms that may be chosen now."""

    arms: list[Name]


class Forgotten(Message):
    """The user is erased; nobody is named."""

    forgotten: bool


class Groups(Message):
    """The groups that are believed in, and what is believed in a sentence or two."""

    groups: list[Group]
    summary: str


class Recommendation(Message):
    """The arm that is believed best for a user, and how sure that is."""

    user: Name
    best_arm: Name
    mean: float
    """Its mean reward for this user, and the ends of an interval."""
    low: float
    high: float
    probability_best: float
    runner_up: Name | None
    """The arm with the next largest mean, and this mean; null where there is no other arm."""
    runner_up_mean: float | None
    expected_loss: float
    """What a wrong choice costs on average: how far the best mean lies above this arm's."""


class Explained(Message):
    """Why a user is shown what is believed best for them: in words, and as numbers."""

    text: str
    advice: Recommendation
    group: int | None
    probability: float | None
    rewards: int
    in_group: Mean | None
    runner_up_in_group: Mean | None


class ExpectedOfArms(Message):
    """What each arm is expected to bring for a user, the next to be tried first."""

    user: Name
    expected: list[Expected]


class Policy(Message):
    """The arm that is believed best for each known user."""

    policy: list[Recommendation]


class ForUser(Message):
    """What the learner would recommend to a user."""

    user: Name
    arm: Name


class Recommended(Message):
    """What the learner, whatever it is, would recommend to each known user."""

    recommended: list[ForUser]


class StatusNow(Message):
    """Counts of what happened, and what the experiment was told."""

    experiment: Status
    settings: dict[str, Any]
    """As Python's `open` takes them: the window in seconds."""
    lumpable: str
    up_seconds: float
    trouble: str = ""
    """Why the last call could not be written, in full; empty: it was."""


class Concern(Message):
    """Something that looks wrong, and what to do about it."""

    what: str
    do: str


class Health(Message):
    """The service is alive; what looks wrong, if anything does."""

    alive: bool
    fine: bool
    concerns: list[Concern]


class Ready(Message):
    """Whether the log is replayed, the learner compiled, and the file may be written."""

    ready: bool
    stage: Literal["opening", "warming", "ready", "read-only", "closing", "failed"]


class Pointer(Message):
    """Where to go from here."""

    lumpable: str
    openapi: str
    status: str


class Fault(Message):
    """What was wrong, what was expected there, and what it was."""

    what: str
    expected: str
    got: str = ""


class Failed(Message):
    """An error."""

    error: Fault
