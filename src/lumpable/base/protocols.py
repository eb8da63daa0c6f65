"""What rooms that do not know each other agree on."""

from __future__ import annotations

from typing import Protocol


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
