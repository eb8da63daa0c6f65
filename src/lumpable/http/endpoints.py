"""Addresses of the service, as data: who may call them, what they take, do and give."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lumpable.base.errors import BadArgument
from lumpable.http import messages as m
from lumpable.http.health import Watch
from lumpable.http.tokens import Role
from lumpable.lumps.belief.advice import Advice
from lumpable.service.activity import Activity
from lumpable.service.entering import Decided
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.overview import BeliefsNow

SMALL, LARGE = 64 * 1024, 8 * 1024 * 1024
"""Bytes of a body, and of one with many events."""
SHOWN = 100
"""Arms that /activity counts, of those that were shown most: pages ask for it again and again."""
INTEGER = re.compile(r"-?[0-9]{1,19}")
ONLY_LUMPS = "Only Lumps says so: with another learner, 400."
Call = Callable[[LiveExperiment, Any, Mapping[str, str]], Any]
"""From the experiment, what was sent and the parts of the path to the answer."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address."""

    method: Literal["GET", "POST"]
    path: str
    role: Role
    takes: type[m.Message] | None
    """The body of a POST, the query of a GET."""
    gives: type | None
    call: Call
    about: str
    status: int = 200
    limit: int = SMALL
    note: Callable[[Watch, Any], None] | None = None
    """Tells the watch of an answer."""
    quick: bool = False
    """Whether calls of many connections are made together."""
    refusals: tuple[int, ...] = ()
    """How it may say no, beside what all may answer."""


def name_in(query: m.OfUser) -> m.Name:
    """Return the user that an address names."""
    if query.type == "string":
        return query.user
    if not INTEGER.fullmatch(query.user) or abs(number := int(query.user)) >= 2**63:
        raise BadArgument("user", "an integer of at most 64 bits, as `type` says", query.user[:80])
    return number


def _decide(e: LiveExperiment, asked: m.Decide, _: object) -> Decided:
    return e.decide(asked.user, asked.allowed, event=asked.event, activate=asked.activate)


def _decide_many(e: LiveExperiment, asked: m.DecideMany, _: object) -> m.Decisions:
    made = e.decide_many(
        asked.users, asked.allowed, events=asked.events, activate=asked.activate
    )  # fmt: skip
    return m.Decisions(decisions=made)


def _reward(e: LiveExperiment, told: m.Reward, _: object) -> m.Stands:
    return m.Stands(standing=e.reward(told.event, told.value, at=told.at, key=told.key))


def _reward_many(e: LiveExperiment, told: m.RewardMany, _: object) -> m.StandMany:
    rewards = [(one.event, one.value) for one in told.rewards]
    return m.StandMany(standings=e.reward_many(rewards, at=told.at, key=told.key))


def _activate(e: LiveExperiment, told: m.Activate, _: object) -> m.Activated:
    e.activate(told.event)
    return m.Activated(event=told.event)


def _observe(e: LiveExperiment, told: m.Observe, _: object) -> Decided:
    return e.observe(
        told.user, told.arm, event=told.event, propensity=told.propensity, at=told.at
    )  # fmt: skip


def _arm(change: Callable[[LiveExperiment, m.Name], None]) -> Call:
    def call(e: LiveExperiment, told: m.Arm, _: object) -> m.Arms:
        change(e, told.arm)
        return m.Arms(arms=list(e.status().arms))

    return call


def _forget(e: LiveExperiment, told: m.Forget, _: object) -> m.Forgotten:
    e.forget(told.user)
    return m.Forgotten(forgotten=True)


def _groups(e: LiveExperiment, *_: object) -> m.Groups:
    return m.Groups(groups=e.groups(), summary=e.summary())


def _activity(e: LiveExperiment, *_: object) -> Activity:
    going = e.activity()
    return dataclasses.replace(going, arms=going.arms[:SHOWN])


def _beliefs(e: LiveExperiment, *_: object) -> BeliefsNow:
    return e.beliefs()


def _advice(advice: Advice) -> m.Recommendation:
    """Return a row of advice as the service speaks: its contexts are users."""
    return m.Recommendation(
        user=advice.context, best_arm=advice.best_arm, mean=advice.mean, low=advice.low,
        high=advice.high, probability_best=advice.probability_best, runner_up=advice.runner_up,
        runner_up_mean=advice.runner_up_mean, expected_loss=advice.expected_loss,
    )  # fmt: skip


def _explain(e: LiveExperiment, asked: m.OfUser, _: object) -> m.Explained:
    why = e.explain(name_in(asked))
    return m.Explained(
        text=str(why), advice=_advice(why.advice), group=why.group, probability=why.probability,
        rewards=why.rewards, in_group=why.in_group, runner_up_in_group=why.runner_up_in_group,
    )  # fmt: skip


def _expected(e: LiveExperiment, asked: m.OfUser, _: object) -> m.ExpectedOfArms:
    user = name_in(asked)
    return m.ExpectedOfArms(user=user, expected=e.expected(user))


def _policy(e: LiveExperiment, *_: object) -> m.Policy:
    return m.Policy(policy=[_advice(row) for row in e.policy()])


def _recommended(e: LiveExperiment, *_: object) -> m.Recommended:
    rows = e.recommended().items()
    return m.Recommended(recommended=[m.ForUser(user=user, arm=arm) for user, arm in rows])


def _note_durable(watch: Watch, _: object) -> None:
    watch.on_durable()


def _note_reward(watch: Watch, stands: m.Stands) -> None:
    watch.on_rewards([stands.standing])


def _note_rewards(watch: Watch, stand: m.StandMany) -> None:
    watch.on_rewards(stand.standings)


ENDPOINTS = (
    Endpoint("POST", "/decide", "decide", m.Decide, Decided, _decide,
             "Choose an arm for a user. The same event gets the same decision again.",
             note=_note_durable, quick=True),
    Endpoint("POST", "/decide/many", "decide", m.DecideMany, m.Decisions, _decide_many,
             "Choose for many users, in one commit.", limit=LARGE, note=_note_durable),
    Endpoint("POST", "/reward", "reward", m.Reward, m.Stands, _reward,
             "Report the reward of an event.", note=_note_reward, quick=True),
    Endpoint("POST", "/reward/many", "reward", m.RewardMany, m.StandMany, _reward_many,
             "Report many rewards, in one commit.", limit=LARGE, note=_note_rewards),
    Endpoint("POST", "/activate", "decide", m.Activate, m.Activated, _activate,
             "Say that what was decided with activate = false was shown."),
    Endpoint("POST", "/observe", "decide", m.Observe, Decided, _observe,
             "Report a decision that somebody else made."),
    Endpoint("POST", "/arms/add", "admin", m.Arm, m.Arms, _arm(LiveExperiment.add_arm),
             "Let an arm be chosen from now on.", note=_note_durable),
    Endpoint("POST", "/arms/pause", "admin", m.Arm, m.Arms, _arm(LiveExperiment.pause_arm),
             "Choose an arm no more until it is resumed.", note=_note_durable),
    Endpoint("POST", "/arms/resume", "admin", m.Arm, m.Arms, _arm(LiveExperiment.resume_arm),
             "Choose a paused or removed arm again.", note=_note_durable),
    Endpoint("POST", "/arms/remove", "admin", m.Arm, m.Arms, _arm(LiveExperiment.remove_arm),
             "Choose an arm no more; its evidence stays.", note=_note_durable),
    Endpoint("POST", "/forget", "admin", m.Forget, m.Forgotten, _forget,
             "Erase a user: no byte of the name stays."),
    Endpoint("GET", "/groups", "read", m.Nothing, m.Groups, _groups,
             f"The groups that are believed in. {ONLY_LUMPS}"),
    Endpoint("GET", "/activity", "read", m.Nothing, Activity, _activity,
             "What is going on: by the minute, against the hold-back, what is unusual."),
    Endpoint("GET", "/beliefs", "read", m.Nothing, BeliefsNow, _beliefs,
             "What is believed, at a glance; worked out seldom, so it may be a minute old."),
    Endpoint("GET", "/explain", "read", m.OfUser, m.Explained, _explain,
             f"Why a user is shown what is believed best for them. {ONLY_LUMPS}"),
    Endpoint("GET", "/expected", "read", m.OfUser, m.ExpectedOfArms, _expected,
             f"What each arm is expected to bring for a user. {ONLY_LUMPS}"),
    Endpoint("GET", "/policy", "read", m.Nothing, m.Policy, _policy,
             f"The arm that is believed best for each known user. {ONLY_LUMPS}"),
    Endpoint("GET", "/recommended", "read", m.Nothing, m.Recommended, _recommended,
             "The arm that the learner, whatever it is, would recommend to each known user."),
)  # fmt: skip
