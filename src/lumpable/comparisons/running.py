"""Run an experiment: take over what is done, run the rest, keep every cell as it comes."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra, need
from lumpable.base.version import __version__
from lumpable.base.words import counted
from lumpable.comparisons import jobs as engine
from lumpable.comparisons.cell import Cell, failure, run_cell
from lumpable.comparisons.experiment import Experiment
from lumpable.comparisons.jobs import Task, Workers
from lumpable.comparisons.parquet import WHAT
from lumpable.comparisons.rows import Row
from lumpable.comparisons.store import MANY, Store
from lumpable.learners.catalogue import CATALOGUE

EARLY = 0.05
"""The share of cells that must have come before the time left is estimated."""
SHOWN = 10
"""Cells that are named when a run breaks down."""


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
    """About how many seconds are left; None: not known yet."""
    failed: int = 0
    """Cells of this run that failed."""
    older: int = 0
    """Cells of this run that are done, but by another version of the package."""
    damaged: tuple[Path, ...] = ()
    """Parts of an earlier run that cannot be read: their cells are run again."""


class Broken(RuntimeError):
    """The processes or the cluster broke down; a new run goes on from there."""


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

    After Ctrl-C the file holds what has come. The same if processes or a cluster break down, which
    raises `Broken`.
    """
    workers = Workers(backend, jobs, address)
    _ready(workers, experiment)
    cells = experiment.cells()
    order = {cell.key: place for place, cell in enumerate(cells)}
    before, damaged = store.done()
    older = {cell.key for cell in cells if cell.key in before and _outdated(cell, before[cell.key])}
    ahead = [cell for cell in cells if cell.key not in before or cell.key in older]
    # seed by seed: a run that is stopped has all learners, with fewer seeds
    seeds = {seed: place for place, seed in enumerate(experiment.seeds)}
    ahead.sort(key=lambda cell: seeds[cell.seed])
    left = {cell.key: cell for cell in ahead}
    store.begin()
    pace = Pace(ahead)
    step = Step(0, len(ahead), len(cells) - len(ahead), None, None, 0, len(older), tuple(damaged))
    watch(step)
    try:
        with contextlib.closing(_rows(ahead, workers)) as results:
            for rows in results:
                store.keep(rows)
                del left[rows[0].key]
                step = replace(
                    step,
                    done=step.done + 1,
                    latest=rows[-1],
                    left=pace.left(rows[-1]),
                    failed=step.failed + (rows[-1].status == "failed"),
                )
                if step.done % MANY == 0:
                    store.combine(order)
                watch(step)
    except (BadArgument, OSError, MissingExtra, MemoryError):
        raise
    except Exception as error:
        if engine.is_interrupt(error):
            raise KeyboardInterrupt from None
        raise Broken(_say_left(list(left.values()), len(ahead), error)) from error
    finally:
        table = store.combine(order)
        store.close()
    return table


def _ready(workers: Workers, experiment: Experiment) -> None:
    """Import what is needed, or say which extra brings it, before anything runs.

    A world that holds something that cannot be sent to other processes is refused by name.
    """
    need("threadpoolctl", "research", WHAT)
    if workers.backend == "local" and workers.jobs == 1:
        return
    cloudpickle = need("cloudpickle", "research", WHAT)
    for world in experiment.worlds:
        try:
            cloudpickle.dumps(world)
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            why = "its law of rewards cannot be sent to another process"
            raise BadArgument(
                world.label, why=f"{why} ({first}); change it, or run with jobs=1"
            ) from error


def _rows(cells: Sequence[Cell], workers: Workers) -> Generator[list[Row], None, None]:
    """Yield the rows of each cell as they come; one job on this machine needs no other process."""
    tasks = {cell.key: Task(cell.key, run_cell, cell) for cell in cells}
    here = workers.backend == "local" and workers.jobs == 1
    work = engine.here(tasks.values()) if here else workers.carry_out(list(tasks.values()))
    with contextlib.closing(work) as events:
        for answer, _ in events:
            if answer is not None and answer.error is not None:
                yield [failure(tasks[answer.key].argument, answer.error)]
            elif answer is not None:
                yield answer.result


def _outdated(cell: Cell, version: str) -> bool:
    """Whether a cell was run by another version; the user's own code has a digest instead."""
    return cell.learner.name in CATALOGUE and version != __version__


def _say_left(cells: Sequence[Cell], total: int, error: Exception) -> str:
    """Say which cells are left after an error that no cell caused."""
    pairs = Counter((cell.learner.label, cell.world.label) for cell in cells)
    named = [
        f"{learner} in {world} ({counted(n, 'seed')})" for (learner, world), n in pairs.items()
    ]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    first = (str(error).splitlines() or [""])[0]
    came = f"{total - len(cells):,} of {counted(total, 'cell')} came"
    why = f"{type(error).__name__}: {first}"
    return f"{why}; {came}, left are {', '.join(named[:SHOWN])}{more}"


class Pace:
    """How long the rest will take, from the seconds of what has come.

    A learner's first cell compiles it, so how long that took does not count.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.ahead = Counter((cell.learner.label, cell.world.label) for cell in cells)
        self.came: Counter[tuple[str, str]] = Counter()
        self.took: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.warm: set[str] = set()
        """Learners of which a cell has come."""
        self.passed = self.paid = 0.0
        """Time on the clock, and by the cells themselves, without each learner's first one."""
        self.last = time.monotonic()

    def left(self, row: Row) -> float | None:
        """Take note of a cell that has come; return about how many seconds are left.

        A cell is expected to take the mean of its learner and world, or else of all. None while
        less than a twentieth of the cells has come, or only first ones.
        """
        pair = (row.learner, row.world)
        took, now = row.seconds or 0.0, time.monotonic()
        self.ahead[pair] -= 1
        self.took[pair] += took
        self.came[pair] += 1
        if row.learner in self.warm:
            self.passed += now - self.last
            self.paid += took
        self.warm.add(row.learner)
        self.last = now
        done = self.came.total()
        if not self.paid or done < EARLY * (done + self.ahead.total()):
            return None
        usual = sum(self.took.values()) / done
        rest = sum(
            number * (self.took[pair] / self.came[pair] if self.came[pair] else usual)
            for pair, number in self.ahead.items()
        )
        return self.passed * rest / self.paid
