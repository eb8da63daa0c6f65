"""A service without luck or time of its own: the test turns the clock and names the events."""

from __future__ import annotations

import itertools
from typing import Any

from lumpable.service.experiment import Experiment
from lumpable.service.fitting import AtOnce, Fitter
from lumpable.service.settings import Settings, made
from lumpable.store.law import Store
from lumpable.store.memory import MemoryStore

DEFAULTS = {"window": None, "default": None}


class Clock:
    """Time that stands still until it is told, in seconds."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> int:
        return round(self.now * 1_000_000)


def settings(**given: Any) -> Settings:
    return made(**(DEFAULTS | given))


def opened(
    store: Store | None = None, clock: Clock | None = None, fitter: Fitter | None = None,
    arms: tuple[Any, ...] = ("red", "green", "blue"), start: int = 0, **given: Any,
) -> Experiment:  # fmt: skip
    """Open an experiment; events are called e0, e1, ..."""
    count = itertools.count(start)
    experiment = Experiment(
        MemoryStore() if store is None else store, settings(**given), fitter or AtOnce(),
        clock=clock or Clock(), new_id=lambda: f"e{next(count)}",
    )  # fmt: skip
    for arm in arms:
        experiment.add_arm(arm)
    return experiment
