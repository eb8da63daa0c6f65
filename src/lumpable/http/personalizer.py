"""The verbs of Azure Personalizer, with its JSON: rank, reward, activate.

An action is an arm; the user is named by one of the context's features. Other features are ignored:
groups are learned from rewards. The page move-from-personalizer.md says what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, field

from lumpable.base.errors import BadArgument
from lumpable.http import messages as m
from lumpable.http.endpoints import LARGE, Endpoint
from lumpable.http.health import Watch
from lumpable.http.refusals import Refusal, unreadable
from lumpable.service.asked import LONGEST_ID
from lumpable.service.joining import Standing
from lumpable.service.live_experiment import LiveExperiment

ROOT = "/personalizer/v1.0"
USER = "user"
"""The feature that names the user, unless another one does."""

PathId = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_ID, extra_json_schema={"pattern": "^[^/]*$"})
]
"""An id that can stand in the path of its reward."""
CALLED = {"allowed": "actions", "event": "eventId", "reward": "value"}
"""What arguments of an experiment are called here."""


class Action(m.Message):
    """Something that may be shown; its features are ignored."""

    id: m.Text
    features: Any = None


class RankRequest(m.Message, rename="camel"):
    """Whom to choose for, and among what."""

    actions: Annotated[list[Action], Meta(min_length=1, max_length=m.MANY)]
    context_features: Annotated[list[dict[str, Raw]], Meta(max_length=m.MANY)] = field(
        default_factory=list
    )
    excluded_actions: Annotated[list[m.Text], Meta(max_length=m.MANY)] = field(default_factory=list)
    event_id: PathId | None = None
    defer_activation: bool = False


class RankedAction(m.Message):
    """An action and how likely it was to be chosen; null: that is not known."""

    id: str
    probability: float | None


class RankResponse(m.Message, rename="camel"):
    """What to show: `rewardActionId`."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: m.Name


class RewardRequest(m.Message):
    """How well it went."""

    value: float


def user_of(features: list[dict[str, Raw]], feature: str) -> m.Name:
    """Return the user that the features of a context name."""
    for part in features:
        if feature in part:
            try:
                name: m.Name = msgspec.json.decode(part[feature], type=m.Name)
            except msgspec.MsgspecError as error:
                raise unreadable(error, feature) from error
            return name
    raise BadArgument("contextFeatures", f"a feature {feature!r} that names the user", "none")


@contextmanager
def in_their_words(excluded: bool = False) -> Iterator[None]:
    """Name in errors what the caller sent; `excluded`: whether all actions were."""
    try:
        yield
    except BadArgument as error:
        name = CALLED.get(error.argument, error.argument)
        if excluded and name == "actions":
            raise BadArgument("excludedActions", "an action that is left", "all of them") from error
        raise error.named(name) from error


def endpoints(feature: str = USER) -> tuple[Endpoint, ...]:
    """Return the three addresses; `feature` names the user."""

    def rank(e: LiveExperiment, asked: RankRequest, _: object) -> RankResponse:
        excluded = set(asked.excluded_actions)
        if twice := [id for id, n in Counter(one.id for one in asked.actions).items() if n > 1]:
            raise BadArgument("actions", "each id once", f"{twice[0]!r} more than once")
        if asked.event_id is not None and "/" in asked.event_id:
            expected = "an id without a slash, as it stands in the path of its reward"
            raise BadArgument("eventId", expected, repr(asked.event_id))
        allowed = [action.id for action in asked.actions if action.id not in excluded]
        user = user_of(asked.context_features, feature)
        with in_their_words(excluded=not allowed):
            made = e.decide(
                user, allowed, event=asked.event_id, activate=not asked.defer_activation
            )
        if made.arm not in allowed:  # nobody may be shown what is not offered now
            expected = "an id that is new, or one whose action is among those that may be shown"
            raise Refusal(409, "eventId", expected, f"one that was decided as {made.arm!r}")
        rest = 0.0 if made.propensity == 1.0 else None

        def probability(id: str) -> float | None:
            return made.propensity if id == made.arm else 0.0 if id in excluded else rest

        ranking = [RankedAction(id=one.id, probability=probability(one.id))
                   for one in asked.actions]  # fmt: skip
        return RankResponse(ranking=ranking, event_id=made.event, reward_action_id=made.arm)

    def reward(e: LiveExperiment, told: RewardRequest, path: Mapping[str, str]) -> Standing:
        with in_their_words():
            return e.reward(path["eventId"], told.value)

    def activate(e: LiveExperiment, _: Any, path: Mapping[str, str]) -> None:
        with in_their_words():
            e.activate(path["eventId"])

    def note_rank(watch: Watch, _: RankResponse) -> None:
        watch.on_durable()

    def note_reward(watch: Watch, standing: Standing) -> None:
        watch.on_rewards([standing])

    return (
        Endpoint("POST", f"{ROOT}/rank", "decide", RankRequest, RankResponse, rank,
                 "Choose an action, as Azure Personalizer would be asked to.", status=201,
                 limit=LARGE, note=note_rank, quick=True, refusals=(409,)),
        Endpoint("POST", f"{ROOT}/events/{{eventId}}/reward", "reward", RewardRequest, None,
                 reward, "Report the reward of an event.", status=204, note=note_reward,
                 quick=True),
        Endpoint("POST", f"{ROOT}/events/{{eventId}}/activate", "decide", None, None, activate,
                 "Say that what was chosen with deferActivation was shown.", status=204),
    )  # fmt: skip
