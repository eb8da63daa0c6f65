"""A service without luck or time of its own: the test turns the clock and names the events."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.lumps.core.layout import CELLS, LOG, cells_of
from lumpable.lumps.use.believer import Believer, FitInput
from lumpable.service.fits_beside import Done, Fitter, InlineFitter
from lumpable.service.folds import Fold
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.settings import Settings, parse_settings
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import Store

DEFAULTS = {"window": None, "default": None}


class Clock:
    """Time that stands still until it is told, in seconds."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> int:
        return round(self.now * 1_000_000)


def settings(**given: Any) -> Settings:
    return parse_settings(**(DEFAULTS | given))


def opened(
    store: Store | None = None, clock: Clock | None = None, fitter: Fitter | None = None,
    arms: tuple[Any, ...] = ("red", "green", "blue"), snapshot: Path | None = None, **given: Any,
) -> LiveExperiment:  # fmt: skip
    """Open an experiment; events are called e0, e1, ..."""
    count = itertools.count()
    experiment = LiveExperiment(
        MemoryStore() if store is None else store, settings(**given), fitter or InlineFitter(),
        snapshot=snapshot, clock=clock or Clock(), new_id=lambda: f"e{next(count)}",
    )  # fmt: skip
    for arm in arms:
        experiment.add_arm(arm)
    return experiment


class Later:
    """Fits when the test says so, as a process beside would."""

    failed = 0

    def __init__(self) -> None:
        self._waiting: list[tuple[FitInput, Done]] = []

    def prepare(self) -> None: ...

    def start(self, taken: FitInput, done: Done) -> None:
        self._waiting.append((taken, done))

    def finish(self) -> None:
        while self._waiting:
            taken, done = self._waiting.pop(0)
            done(Believer.fit(taken))

    def close(self) -> None:
        self._waiting.clear()


SCRATCH = {"weight", "mean", "spread", "scale", "cover", "factor", "score", "due"}
LAYOUT = {"start", "room", "used", "logged", *CELLS, *LOG}


def bits(experiment: LiveExperiment) -> str:
    """Return a digest of everything that decides: the learner to the last bit, and the ledger."""
    ledger = experiment._ledger
    learner = ledger.learner
    if isinstance(learner, Fold):
        return fold_bits(experiment, learner)
    assert isinstance(learner, Believer)
    core, seen, digest = learner.core, len(learner.contexts), hashlib.sha256()
    arrays = {name: a for name, a in core.state._asdict().items() if name not in SCRATCH | LAYOUT}
    for name in ("length", "visits", "log_weight", "precision_mean", "precision"):
        arrays[name] = arrays[name][:seen]
    arrays |= {name: a for name, a in cells_of(core.state).items() if name != "length"}
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
    pulls = sorted((pull.context, pull.arm, pull.group) for pull in core.under_way.values())
    rest = (
        learner.contexts, learner.arms, learner.retired, core.tells, core.next_fit, pulls,
        ledger.version, sorted(ledger.paused, key=str),
    )  # fmt: skip
    digest.update(repr(rest).encode())
    return digest.hexdigest()


def fold_bits(experiment: LiveExperiment, fold: Fold) -> str:
    """Return the same of another learner: all that it was told, in order, and what it made of it.

    Everybody is asked first, as a learner may use arrays of its state to work out an answer.
    """
    ledger, core = experiment._ledger, fold._current() if fold.arms else None
    new = ["new"] if fold.kind.users is None else []
    asked = [fold.ask(user) for user in (*fold.contexts, *new)] if core else []
    digest = hashlib.sha256()
    for name, array in sorted(getattr(getattr(core, "state", None), "_asdict", dict)().items()):
        if isinstance(array, np.ndarray):
            digest.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
    rest = (
        fold.contexts, fold.arms, fold.retired, fold._who, fold._what, fold._reward, fold._room,
        asked, list(fold.recommended().items()) if core else [],
        sorted(fold._waiting.values(), key=str),
        ledger.version, sorted(ledger.paused, key=str), getattr(core, "late", None),
    )  # fmt: skip
    digest.update(repr(rest).encode())
    return digest.hexdigest()
