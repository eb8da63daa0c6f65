"""Simulated lives of a service keep every promise; with a bug in it, some life does not.

A failing seed is the bug report: `Simulator(seed).run()` takes the same steps again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kits.simulated_disk import Shared
from kits.simulated_process import Driven
from kits.simulated_processes import Broken
from kits.simulator import Simulator
from lumpable.lumps.use import fits_kept
from lumpable.service import minds
from lumpable.service.ledger import Ledger
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.snapshots import Snapshots
from lumpable.service.turns import FIT, Turns
from lumpable.stores.log_entries import Entry

SEEDS = 100


def lives(folder: Path, seeds: range) -> None:
    for seed in seeds:
        Simulator(seed, folder).run()


def test_simulated_lives_keep_every_promise(tmp_path: Path) -> None:
    lives(tmp_path, range(SEEDS))


@pytest.mark.parametrize("seed", [416, 2140])
def test_lives_that_once_broke(tmp_path: Path, seed: int) -> None:
    """A turn that was never given up; a snapshot of before, put aside while somebody is forgotten.

    Both among several processes.
    """
    Simulator(seed, tmp_path).run()


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_many_simulated_lives(tmp_path: Path, part: int) -> None:
    lives(tmp_path, range(1000 * part, 1000 * (part + 1)))


def test_a_seed_says_everything(tmp_path: Path) -> None:
    """The same steps, the same log."""
    runs = [Simulator(7, tmp_path / name) for name in "ab"]
    for run in runs:
        run.run()
    assert runs[0].done == runs[1].done
    assert list(runs[0].disk.entries()) == list(runs[1].disk.entries())


# --- Bugs that it must find ---------------------------------------------------------------------


def at_once() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done


def acknowledge_before_commit(patch: Any) -> None:
    patch.setattr(Driven, "_waited", lambda self, inner: at_once())


def answer_a_repeat_at_once(patch: Any) -> None:
    patch.setattr(Driven, "so_far", lambda self: at_once())


def count_a_repeat(patch: Any) -> None:
    def told(self: Ledger, user: Any, arm: Any, before: Any, after: Any) -> None:
        if after is not None:
            self.learner.tell(user, arm, after / 1e6)

    patch.setattr(Ledger, "_learn", told)


def write_a_repeat(patch: Any) -> None:
    known = LiveExperiment._decision_of

    def forgetful(self: LiveExperiment, event: str, user: Any) -> Any:
        found = known(self, event, user)
        return None if found is not None and random.Random(event).random() < 0.3 else found

    patch.setattr(LiveExperiment, "_decision_of", forgetful)


def lose_what_was_handed_in(patch: Any) -> None:
    def close(self: Driven) -> None:
        for _, done in self._queue:
            done.set_result(None)
        self._queue.clear()

    patch.setattr(Driven, "close", close)


def go_on_after_a_failed_commit(patch: Any) -> None:
    def recover(self: LiveExperiment) -> None:
        self._writer.start_again()

    patch.setattr(LiveExperiment, "_recover", recover)


def adopt_an_old_fit(patch: Any) -> None:
    def adopt(self: LiveExperiment, taken: Any, made: Any) -> None:
        if self._ledger.taken is not None and self._writer.failure is None:
            entry = Entry(kind="adopted", at=self._clock(), version=self._ledger.version + 1)
            self._ledger.apply(entry, made=made)
            self._writer.hand_in([entry])

    patch.setattr(LiveExperiment, "_adopt", adopt)


def leave_closed_windows(patch: Any) -> None:
    patch.setattr(LiveExperiment, "_settle", lambda self, entries: None)


def keep_who_was_forgotten(patch: Any) -> None:
    patch.setattr(Ledger, "forget", lambda self, user: None)


def lose_open_windows(patch: Any) -> None:
    of = Ledger.of.__func__  # type: ignore[attr-defined]

    def forgetful(cls: Any, *given: Any) -> Ledger:
        ledger: Ledger = of(cls, *given)
        ledger._closing = []
        return ledger

    patch.setattr(Ledger, "of", classmethod(forgetful))


def hold_sums_to_the_range_of_rewards(patch: Any) -> None:
    patch.setattr(minds, "rewards_for_learner", lambda settings: settings.rewards)


# --- Of several processes -----------------------------------------------------------------------


def write_without_the_turn(patch: Any) -> None:
    patch.setattr(Turns, "take", lambda self, now: None)
    has = property(lambda self: True, lambda self, has: None)
    patch.setattr(Shared, "_has_turn", has, raising=False)


def do_not_catch_up(patch: Any) -> None:
    patch.setattr(LiveExperiment, "_notice", lambda self: False)


def everybody_fits(patch: Any) -> None:
    patch.setattr(Turns, "elected", lambda self: True)


def adopt_the_fit_of_something_else(patch: Any) -> None:
    def find(self: Turns, entry: Entry) -> Any:
        held = None if self._store is None else self._store.find_aside(FIT)
        return None if held is None else fits_kept.from_bytes(held)

    patch.setattr(Turns, "find_fit", find)


def keep_the_turn(patch: Any) -> None:
    patch.setattr(LiveExperiment, "_rest", lambda self: None)


def keep_snapshots_of_who_was_forgotten(patch: Any) -> None:
    patch.setattr(Snapshots, "remove", lambda self: None)


def trust_any_snapshot(patch: Any) -> None:
    patch.setattr(Snapshots, "remove", lambda self: None)
    patch.setattr(Snapshots, "_forgot_since", lambda self, number: False)


BUGS: list[Callable[[Any], None]] = [
    acknowledge_before_commit, answer_a_repeat_at_once, count_a_repeat, write_a_repeat,
    lose_what_was_handed_in, go_on_after_a_failed_commit, adopt_an_old_fit, leave_closed_windows,
    keep_who_was_forgotten, hold_sums_to_the_range_of_rewards, write_without_the_turn,
    do_not_catch_up, everybody_fits, keep_the_turn,
]  # fmt: skip
RARER: list[Callable[[Any], None]] = [
    lose_open_windows, adopt_the_fit_of_something_else, keep_snapshots_of_who_was_forgotten,
    trust_any_snapshot,
]  # fmt: skip
"""Those that take the most seeds."""


def found(bug: Callable[[Any], None], folder: Path, patch: Any, most: int) -> int:
    """Return the number of seeds until the bug is found; 0: it is not."""
    bug(patch)
    for seed in range(most):
        try:
            Simulator(seed, folder).run()
        except Broken:
            return seed + 1
    return 0


@pytest.mark.parametrize(
    "bug",
    [*BUGS, *(pytest.param(bug, marks=pytest.mark.nightly) for bug in RARER)],
    ids=lambda bug: bug.__name__,
)
def test_bugs_are_found(
    bug: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each within the seeds that are always run."""
    assert found(bug, tmp_path, monkeypatch, SEEDS)
