"""Cells on many cores or machines, through joblib: local processes, Dask or Ray.

No scheduler of our own. Cells come back in any order; each is a pure function of itself, so that
the rows are the same wherever they were made, but for the seconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from lumpable.base.extras import need
from lumpable.base.interrupts import spared
from lumpable.comparisons.arrow import WHAT
from lumpable.comparisons.cell import Cell, failed, run_cell
from lumpable.comparisons.rows import Row
from lumpable.comparisons.store import Store, key_of

Rows = Generator[list[Row], None, None]
"""The rows of each cell, as they come."""
BACKENDS = ("local", "dask", "ray")
WAVE = 8
"""Tasks for each core that Ray is handed at once: its joblib backend gives them back together."""


class Died(RuntimeError):
    """A worker process ended while it ran a cell."""


def ready(backend: str, jobs: int | None) -> None:
    """Import what hands out cells, or say which extra brings it, before anything runs."""
    if backend != "local" or jobs != 1:
        _joblib()


def carried_out(
    cells: Sequence[Cell], store: Store, backend: str, jobs: int | None, address: str | None
) -> Rows:
    """Yield the rows of each cell as they come."""
    if not cells:
        return
    if backend == "local":
        many = _here if jobs == 1 else _in_processes
        yield from many(cells, store, jobs or -1)
    elif backend == "dask":
        yield from _on_dask(cells, jobs, address)
    else:
        yield from _on_ray(cells, jobs, address)


def _joblib() -> Any:
    return need("joblib", "research", WHAT)


def _here(cells: Iterable[Cell], store: Store, jobs: int) -> Rows:
    yield from map(run_cell, cells)


# --- Processes --------------------------------------------------------------------------------


def _in_processes(cells: Sequence[Cell], store: Store, jobs: int) -> Rows:
    """Run cells in worker processes; those that kill theirs are rows that say so."""
    ahead = {cell.key: cell for cell in cells}
    while ahead:
        try:
            for rows in _unordered(
                (_joblib().delayed(_marked)(cell, store.part(cell.key, "running"), os.getpid())
                 for cell in tuple(ahead.values())),
                backend="loky", n_jobs=jobs, inner_max_num_threads=1,
            ):  # fmt: skip
                del ahead[key_of(rows[0])]
                yield rows
        except BrokenProcessPool:
            lost = [cell for cell in ahead.values() if store.part(cell.key, "running").exists()]
            if not lost:
                raise
            for cell in lost:
                store.part(cell.key, "running").unlink()
                del ahead[cell.key]
                words = "a worker process ended abruptly (killed, or out of memory)"
                yield [failed(cell, Died(words))]


def _unordered(tasks: Iterable[Any], **config: Any) -> Rows:
    """Run tasks as joblib is configured; when nobody listens any more, workers are ended."""
    joblib = _joblib()
    with _hushed(), contextlib.ExitStack() as stack:
        with _put_off(), spared(), joblib.parallel_config(**config):
            parallel = joblib.Parallel(return_as="generator_unordered")
            results = stack.enter_context(contextlib.closing(parallel(tasks)))
        yield from results


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Keep quiet about a thread of joblib that stumbles over work that was called off."""
    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        name = "" if args.thread is None else args.thread.name
        if not (args.exc_type is KeyError and name.startswith("ExecutorManagerThread")):
            before(args)

    threading.excepthook = hook
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*tasks which were still being processed")
            yield
    finally:
        threading.excepthook = before


@contextlib.contextmanager
def _put_off() -> Iterator[None]:
    """Put off Ctrl-C while joblib starts processes, which would make an error of it.

    To block the signal in this thread is not enough: another one, of linear algebra for instance,
    may be handed it, and then it is raised here all the same.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(*came[0])


def _marked(cell: Cell, mark: Path, parent: int) -> list[Row]:
    """In a worker: run a cell, with a mark beside the parts while it is under way."""
    _follow(parent)
    mark.touch()
    rows = run_cell(cell)
    mark.unlink(missing_ok=True)
    return rows


_followed: set[int] = set()


def _follow(parent: int) -> None:
    """End this worker when the process that started it is gone, even if that was killed."""
    if parent in _followed:
        return
    _followed.add(parent)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# --- Clusters ---------------------------------------------------------------------------------


def _on_dask(cells: Sequence[Cell], jobs: int | None, address: str | None) -> Rows:
    distributed = need("distributed", "dask", "comparing on Dask")
    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    with spared():
        client = distributed.Client(**where)
    with client:
        tasks = (_joblib().delayed(run_cell)(cell) for cell in cells)
        yield from _unordered(tasks, backend="dask", n_jobs=jobs or -1)


def _on_ray(cells: Sequence[Cell], jobs: int | None, address: str | None) -> Rows:
    with _ray(jobs, address) as cores:
        joblib, jobs = _joblib(), min(jobs or cores, cores)
        run: Callable[..., Any] = joblib.delayed(run_cell)
        for first in range(0, len(cells), WAVE * jobs):
            with joblib.parallel_config(backend="ray", n_jobs=jobs):
                wave = joblib.Parallel()(run(cell) for cell in cells[first : first + WAVE * jobs])
            yield from wave


@contextlib.contextmanager
def _ray(jobs: int | None, address: str | None) -> Iterator[int]:
    """Connect to Ray: the one that runs, at an address or here, or else one for this alone."""
    ray = need("ray", "ray", "comparing on Ray")
    need("ray.util.joblib", "ray", "comparing on Ray").register_ray()
    mine = not ray.is_initialized()
    if mine:
        quiet = {"log_to_driver": False, "logging_level": "warning"}
        try:
            ray.init(address=address or "auto", **quiet)
        except ConnectionError:
            if address is not None:
                raise
            ray.init(num_cpus=jobs, include_dashboard=False, **quiet)
    try:
        yield int(ray.cluster_resources()["CPU"])
    finally:
        if mine:
            ray.shutdown()
