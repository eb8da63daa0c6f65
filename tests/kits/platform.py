"""A platform with hidden tastes that plays against an experiment, by a clock of its own."""

from __future__ import annotations

import numpy as np

from kits.service import Clock, opened
from lumpable.service.live_experiment import LiveExperiment

ARMS = ("jazz", "rock", "<b>folk</b>", "opera", "ska", "house", "soul", "punk")
BEGUN = 1_780_000_000.0
"""Seconds since 1970: a day in 2026."""
WINDOW = 300.0


class Platform:
    """Users of four tastes; each likes two arms. Some rewards are late, some never come."""

    def __init__(
        self, users: int = 80, tastes: int = 4, seed: int = 0, arms: tuple[str, ...] = ARMS
    ) -> None:
        self.clock, self._rng = Clock(BEGUN), np.random.default_rng(seed)
        self.users, self.tastes, self.arms, self._number = users, tastes, arms, 0
        self.experiment: LiveExperiment = opened(
            clock=self.clock, arms=arms, rewards="binary", window=WINDOW, default=0.0,
            hold_back=0.1, seed=seed,
        )  # fmt: skip
        self._late: list[tuple[float, str, float]] = []

    def name(self, user: int) -> str:
        """Return what a user is called; the first one wants to be read as HTML."""
        return "<img src=x onerror=alert(1)>" if user == 0 else f"user {user}"

    def chance(self, user: int, arm: str) -> float:
        """Return how likely a user clicks."""
        taste, place = user % self.tastes, self.arms.index(arm)
        return 0.75 if place == taste else 0.5 if place == taste + 4 else 0.12

    def visit(self, times: int, seconds: float = 1.0) -> None:
        """Let users come, so many seconds after each other on average."""
        rng = self._rng
        for _ in range(times):
            self.clock.now += float(rng.exponential(seconds))
            while self._late and self._late[0][0] < self.clock.now:
                _, event, value = self._late.pop(0)
                self.experiment.reward(event, value)
            user = int(rng.integers(self.users))
            made = self.experiment.decide(self.name(user), event=f"visit {self._number}")
            self._number += 1
            self._answer(made.event, float(rng.random() < self.chance(user, str(made.arm))))

    def _answer(self, event: str, value: float) -> None:
        luck = self._rng.random()
        if luck < 0.85:
            self.experiment.reward(event, value)
        elif luck < 0.9:
            self.experiment.reward(event, value)
            self.experiment.reward(event, value)  # sent again
        elif luck < 0.95:
            self._late.append((self.clock.now + 2 * WINDOW, event, value))
        elif luck < 0.96:
            self.experiment.reward(f"unknown {event}", value)
