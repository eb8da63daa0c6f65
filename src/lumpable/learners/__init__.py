"""Learners that decide every round. They know no world: `ask` reads, `tell` writes."""

from __future__ import annotations

from typing import Protocol

from lumpable.learners.exp4 import ConstantExperts
from lumpable.learners.ucb import UCB1

__all__ = ["UCB1", "ConstantExperts", "Learner"]


class Learner(Protocol):
    """Whatever chooses an arm for a context and learns from its reward.

    Law: `ask` changes nothing, so asked twice it answers the same; only `tell` does.
    """

    def ask(self, context: int) -> int:
        """Return the arm to play for this context now."""
        ...

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        ...
