"""Protocols shared by rooms that do not know each other."""

from __future__ import annotations

from typing import Protocol


class Learner(Protocol):
    """An object that chooses an arm for a context and learns from the reward.

    Law: `ask` changes nothing, so asked twice it gives the same arm; only `tell` writes.
    """

    def ask(self, context: int) -> int:
        """Return the arm to play for this context now."""
        ...

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        ...
