"""What learns behind a log: the protocol, and which one an experiment has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lumpable.base.units import Name
from lumpable.lumps.belief.glance import Glance
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.believer import Believer, FitInput
from lumpable.service.folds import Fold
from lumpable.service.learner_kinds import kind_of
from lumpable.service.settings import Settings, rewards_for_learner


class Mind(Protocol):
    """What a ledger needs of what learns.

    Law: what it answers is a function of the calls that changed it, in their order, so that a log
    that is replayed makes the same mind, bit for bit. `ask` and all that only reads change nothing.
    """

    @property
    def contexts(self) -> tuple[Name, ...]:
        """The users that it knows."""

    @property
    def arms(self) -> tuple[Name, ...]:
        """The arms that may be chosen, ..."""

    @property
    def retired(self) -> tuple[Name, ...]:
        """... and those that may not."""

    @property
    def counted(self) -> int:
        """The rewards that count."""

    @property
    def waiting(self) -> int:
        """The decisions whose rewards are to come."""

    def get_ready(self) -> None:
        """Do now what the next question would have to wait for."""

    def check_users(self, contexts: Iterable[Name]) -> None:
        """Refuse users whom there is no room for, all together."""

    def check_choices(self, choices: Sequence[Name]) -> None:
        """Refuse arms that it cannot be held to."""

    def check_arm(self, arm: Name) -> None:
        """Refuse to add, pause, resume or remove an arm, if that cannot be."""

    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm to show now, of those that are allowed."""

    def expect(self, number: int, context: Name, arm: Name, propensity: float) -> None:
        """Take notice of a decision whose reward is to come."""

    def expect_no_more(self, number: int) -> None:
        """Take notice that its reward is here, or will not come."""

    def user_of(self, number: int) -> Name:
        """Return whose decision that is."""

    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Count a reward."""

    def take_back(self, context: Name, arm: Name, reward: float) -> None:
        """Count a reward no more that was told; another may come in its place at once."""

    def add_arm(self, arm: Name) -> None:
        """Let an arm be chosen."""

    def retire_arm(self, arm: Name) -> None:
        """Choose an arm no more; what was told of it stays."""

    def forget(self, context: Name) -> None:
        """Count nothing of a user any more."""

    def start_anew(self) -> None:
        """Let go of all fits."""

    def counted_rewards(self) -> list[tuple[Name, Name, float, int]]:
        """Return user, arm, reward and how often it was told, of all that counts."""

    def summary(self) -> str:
        """Say in a sentence or two what is believed."""

    def outline(self) -> list[tuple[int, Name | None]]:
        """Return the number of users and the best arm of each group, as far as there are any."""

    def glance(self, lately: Iterable[tuple[Name, Name]] = ()) -> Glance:
        """Return what fits on a screen; `lately` are users and arms of the last decisions."""

    def due(self) -> bool:
        """Whether it is time for a fit."""

    def fit_input(self) -> FitInput:
        """Return what a fit is made of."""

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit."""


def mind_of(settings: Settings) -> Mind:
    """Return what learns in an experiment, before it was told anything."""
    kind = kind_of(settings.learner, settings.seed)
    if kind is None:
        return Believer(rewards=rewards_for_learner(settings), seed=settings.seed)
    return Fold(kind)


def warm_up(passing: Mind, reward: float) -> None:
    """Compile what calls need, by a few calls of a mind that nobody keeps."""
    if passing.arms:
        user = next(iter(passing.contexts), "somebody")
        arm = passing.ask(user)
        passing.expect(-1, user, arm, 1.0)
        passing.expect_no_more(-1)
        passing.tell(user, arm, reward)
        passing.ask(user)
