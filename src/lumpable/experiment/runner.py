"""Run an experiment: take over what is done, carry out the rest, keep every cell as it comes."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lumpable.experiment.backends import BACKENDS, carried_out, ready
from lumpable.experiment.cells import Cell
from lumpable.experiment.plan import Experiment
from lumpable.experiment.rows import Row
from lumpable.experiment.store import MANY, Store


@dataclass(frozen=True, slots=True)
class Step:
    """How far a comparison is: at its start and after every cell."""

    done: int
    """Cells that came in this run."""
    total: int
    """Cells of this run."""
    taken: int
    """Cells that were done before and are not run again."""
    latest: Row | None
    """The last row of the cell that came just now."""
    left: float | None
    """About how many seconds are left; None: nobody knows yet."""


def run(
    experiment: Experiment,
    store: Store,
    *,
    backend: str = "local",
    jobs: int | None = None,
    address: str | None = None,
    watch: Callable[[Step], None] = lambda step: None,
) -> Any:
    """Run all cells that are not done, and return the table of the experiment's rows.

    On Ctrl-C what has come is in the file, and `KeyboardInterrupt` goes on.
    """
    _check(backend, jobs, address)
    ready(backend, jobs)
    cells = experiment.cells()
    order = {cell.key: place for place, cell in enumerate(cells)}
    before = store.done()
    # all learners meet a seed before the next one: whoever stops has all of them with fewer seeds
    seeds = {seed: place for place, seed in enumerate(experiment.seeds)}
    ahead = [cell for cell in cells if cell.key not in before]
    ahead.sort(key=lambda cell: seeds[cell.seed])
    store.begin()
    pace = Pace.of(ahead)
    watch(Step(0, len(ahead), len(cells) - len(ahead), None, None))
    try:
        with contextlib.closing(carried_out(ahead, store, backend, jobs, address)) as results:
            for done, rows in enumerate(results, start=1):
                store.keep(rows)
                if done % MANY == 0:
                    store.combine(order)
                left = pace.left(rows[-1])
                watch(Step(done, len(ahead), len(cells) - len(ahead), rows[-1], left))
    finally:
        table = store.combine(order)
        store.close()
    return table


def _check(backend: str, jobs: int | None, address: str | None) -> None:
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise ValueError(f"jobs: expected a whole number of at least 1, got {jobs!r}")
    if address is not None and backend == "local":
        raise ValueError("address: expected a backend dask or ray with it, got local")


@dataclass(slots=True)
class Pace:
    """How long the rest will take, from the seconds of what has come."""

    ahead: Counter[tuple[str, str]]
    began: float
    took: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    came: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Pace:
        """Begin with these cells ahead."""
        pairs = Counter((cell.learner.label, cell.world.label) for cell in cells)
        return cls(pairs, time.monotonic())

    def left(self, row: Row) -> float:
        """Take note of a cell that has come; returns about how many seconds are left.

        A cell takes what others of its learner and world took, or else an average one.
        """
        pair = (row["learner"], row["world"])
        self.ahead[pair] -= 1
        self.took[pair] += row["seconds"] or 0.0
        self.came[pair] += 1
        total = sum(self.took.values()) + 1e-9
        usual = total / sum(self.came.values())
        rest = sum(
            number * (self.took[pair] / self.came[pair] if self.came[pair] else usual)
            for pair, number in self.ahead.items()
        )
        return (time.monotonic() - self.began) * rest / total
