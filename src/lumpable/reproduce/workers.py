"""Claims in worker processes: several at a time, and none takes the others down with it.

Workers are spawned, not forked, so that threads and compiled code are safe in them.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.interrupts import spared
from lumpable.base.version import __version__
from lumpable.reports.kit import canvas
from lumpable.reproduce import record
from lumpable.reproduce.claim import Claim, Effort
from lumpable.reproduce.record import Row

TICK = 1.0
"""Seconds between two looks at what is running."""


@dataclass(frozen=True, slots=True)
class Task:
    """A claim to measure, and what its row must agree with to be taken over."""

    claim: Claim
    quick: bool
    source: str

    @property
    def expected(self) -> float:
        """About how many seconds it takes."""
        quick, whole = self.claim.seconds
        return quick if self.quick else whole

    @property
    def key(self) -> tuple[int, bool, str, str]:
        """Number, effort, version and code."""
        return self.claim.number, self.quick, __version__, self.source

    def about(self, seconds: float) -> dict[str, Any]:
        """Return what a row says of how it was measured."""
        named = {"quick": self.quick, "version": __version__, "source": self.source}
        return {**named, "seconds": seconds}


class Running(NamedTuple):
    """A task in a worker, and since when by the monotonic clock."""

    task: Task
    since: float


Event = tuple[Row | None, list[Running]]
"""A row that has come, or None, and what is running then."""


def measured(tasks: list[Task], jobs: int) -> Generator[Event, None, None]:
    """Yield each row as it comes, or None about once a second, with what is running then.

    When a worker dies (killed, out of memory), those that were running are rows with an error,
    and new workers take the rest.
    """
    waiting = deque(tasks)
    while waiting:
        with crew(jobs) as pool:
            yield from _until_broken(pool, waiting, jobs)


def _until_broken(
    pool: ProcessPoolExecutor, waiting: deque[Task], jobs: int
) -> Generator[Event, None, None]:
    running: dict[Future[Row], Running] = {}
    broken = False
    while running or (waiting and not broken):
        while waiting and len(running) < jobs and not broken:
            task = waiting.popleft()
            running[_submit(pool, task)] = Running(task, time.monotonic())
        yield None, list(running.values())
        done, _ = concurrent.futures.wait(
            running, timeout=TICK, return_when=concurrent.futures.FIRST_COMPLETED
        )
        for future in done:
            error = future.exception()
            task, since = running.pop(future)
            broken = broken or isinstance(error, BrokenProcessPool)
            row = _lost(task, since, error) if error else future.result()
            yield row, list(running.values())


def _submit(pool: ProcessPoolExecutor, task: Task) -> Future[Row]:
    """Hand a task to a worker; where none is left, the answer is that error."""
    try:
        with spared():
            return pool.submit(measure, task)
    except BrokenProcessPool as error:
        failed: Future[Row] = Future()
        failed.set_exception(error)
        return failed


def _lost(task: Task, since: float, error: BaseException) -> Row:
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, BrokenProcessPool):
        words = "a worker process ended abruptly (killed, or out of memory)"
    return record.unmeasured(task.claim, words, **task.about(time.monotonic() - since))


@contextlib.contextmanager
def crew(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Start worker processes; whatever happens, none of them outlives this."""
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_begin)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """In a worker: leave Ctrl-C to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


# --- In a worker ----------------------------------------------------------------------------


def measure(task: Task) -> Row:
    """Measure one claim and draw its figure; an error becomes part of the row."""
    began = time.perf_counter()
    try:
        finding = task.claim.measure(Effort(task.quick))
        figure = None if finding.figure is None else finding.figure.to_dict()
        picture = "" if figure is None else drawn(figure)
        row = record.row(task.claim, finding, **task.about(time.perf_counter() - began))
    except Exception as error:
        return record.unmeasured(
            task.claim, _words(error), **task.about(time.perf_counter() - began)
        )
    return msgspec.structs.replace(row, figure=figure, picture=picture)


def drawn(figure: dict[str, Any]) -> str:
    """Return a Vega-Lite specification as SVG."""
    if not figure.get("description"):
        raise BadArgument("figure", why="expected a description for those who cannot see it")
    return canvas.svg(figure)


def _words(error: Exception) -> str:
    """Say what went wrong, and where."""
    first = (str(error).splitlines() or [""])[0]
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first} ({os.path.basename(at.filename)}, line {at.lineno})"
