"""All that a log answers, computed once, for the terminal and for the page."""

from __future__ import annotations

from dataclasses import dataclass

from lumpable.base.words import between, counted, figure, plural
from lumpable.lumps.belief.advice import Lift
from lumpable.lumps.belief.beliefs import Group
from lumpable.lumps.belief.posterior import cache_answers
from lumpable.tables.group_profiles import Profile, profiles
from lumpable.tables.judged_policies import FEWEST, WITHOUT, Value
from lumpable.tables.learned import LEVEL, Learned
from lumpable.tables.policy_rows import PolicyRow


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What a log says."""

    learned: Learned
    sentence: str
    groups: list[Group]
    profiles: list[Profile]
    policy: list[PolicyRow]
    lift: Lift
    value: Value | None
    """None where the log cannot say, ..."""
    unsaid: str
    """... and why; else empty."""

    @property
    def words(self) -> tuple[str, str]:
        """What to call a user, and what to call an item."""
        return self.learned.events.columns.words

    @property
    def lift_words(self) -> str:
        """What the policy is worth, as the model says."""
        who, what = self.words
        lift = self.lift
        relative = ""
        if lift.relative is not None:
            relative = f", {100.0 * lift.relative:+.0f} %"
        return (
            f"Each {who}'s own {what} is expected to earn {figure(lift.policy_mean)} per event, "
            f"{lift.one_arm} for all {figure(lift.one_mean)}: a lift of {figure(lift.lift)}"
            f"{relative} (95 % interval {between(lift.low, lift.high)}), if the model "
            "is right."
        )

    @property
    def next_steps(self) -> list[str]:
        """Say what to do next."""
        who, what = self.words
        undecided = sum(row.open for row in self.policy)
        steps = []
        if undecided:
            steps.append(
                f"For {undecided:,} of {counted(len(self.policy), who)} it is open which {what} "
                "is best: try the two that the policy names, and learn again."
            )
        elif self.policy:
            steps.append(f"For every {who} it is settled what to show.")
        if self.lift.low <= 0.0:
            steps.append(
                f"That own {plural(what)} earn more than {self.lift.one_arm} for all is not shown: "
                "collect more events before changing anything."
            )
        if self.learned.events.propensity is None:
            steps.append(
                f"Log the probability with which each {what} is chosen (--propensity): only then "
                "can the log itself say what a policy is worth. So far this is the model's word."
            )
        return steps


def answer(learned: Learned) -> Answered:
    """Compute all that a log answers."""
    unsaid = _unsaid(learned)
    with cache_answers(learned.lumps.core):
        groups = learned.groups(level=LEVEL)
        return Answered(
            learned, learned.summary(), groups, profiles(groups, learned.lumps.means(level=LEVEL)),
            learned.policy(level=LEVEL), learned.lift(level=LEVEL),
            None if unsaid else learned.value(level=LEVEL), unsaid,
        )  # fmt: skip


def _unsaid(learned: Learned) -> str:
    """Return why the log cannot say what a policy is worth; empty: it can."""
    events = learned.events
    if events.propensity is None:
        return WITHOUT
    if len(events) < FEWEST:
        return (
            f"{counted(len(events), 'event')} cannot judge a policy, as one half teaches it and "
            f"the other judges: that takes {FEWEST} or more."
        )
    return ""
