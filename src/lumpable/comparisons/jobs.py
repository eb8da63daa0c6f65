"""Tasks on many processes or machines: on this machine, on Dask or on Ray. Knows no task.

Answers come as soon as they are there, in any order. A task that fails, or kills its worker, is an
answer with an error, and the others go on. Workers are spawned, so that threads and compiled code
are safe in them; they leave Ctrl-C to their parent and end with it. Once the events are no longer
read, all work stops.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.interrupts import defer_interrupts

BACKENDS = ("local", "dask", "ray")
TICK = 1.0
"""Seconds between two looks at what is running."""


class Task(NamedTuple):
    """A function and what it is called with; the key says whose answer it is."""

    key: Hashable
    function: Callable[[Any], Any]
    argument: Any


class Answer(NamedTuple):
    """The result of a task, or its error."""

    key: Any
    result: Any = None
    error: BaseException | None = None


class Event(NamedTuple):
    """An answer, or None about once a second, and what is running then."""

    answer: Answer | None
    running: dict[Any, float]
    """The keys of tasks under way, and since when by the monotonic clock."""


Events = Generator[Event, None, None]


class Died(RuntimeError):
    """A worker process ended while it was at a task."""

    def __init__(self) -> None:
        super().__init__("a worker process ended abruptly (killed, or out of memory)")


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work: processes of this machine, or a cluster."""

    backend: str = "local"
    jobs: int | None = None
    """How many tasks at a time; None: as many as there are cores."""
    address: str | None = None
    """Where a cluster is."""

    def __post_init__(self) -> None:
        checks.choice("backend", self.backend, BACKENDS)
        if self.jobs is not None:
            checks.whole("jobs", self.jobs, 1)
        if self.address is not None and self.backend == "local":
            raise BadArgument(
                "address", "backend dask or ray", "local", why="only with dask or ray"
            )

    def carry_out(self, tasks: Sequence[Task]) -> Events:
        """Yield the answer to each task as it comes."""
        if not tasks:
            return
        if self.backend == "local":
            yield from in_processes(tasks, self.jobs or cores())
            return
        from lumpable.comparisons import remote

        run = remote.on_dask if self.backend == "dask" else remote.on_ray
        yield from run(tasks, self.jobs, self.address)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error: compiled code and clusters turn it into others."""
    while error.__context__ is not None:
        error = error.__context__
        if isinstance(error, KeyboardInterrupt):
            return True
    return False


def here(tasks: Iterable[Task]) -> Events:
    """Do the work in this process, one after the other."""
    for task in tasks:
        try:
            answer = Answer(task.key, task.function(task.argument))
        except Exception as error:
            answer = Answer(task.key, error=error)
        yield Event(answer, {})


def pack(task: Task) -> bytes:
    """Return a task as bytes; what was defined in a script or a notebook goes with it."""
    cloudpickle = need("cloudpickle", "research", "running tasks in processes")
    packed: bytes = cloudpickle.dumps((task.function, task.argument))
    return packed


def call(packed: bytes) -> Any:
    """In a worker: do the task."""
    function, argument = pickle.loads(packed)
    return function(argument)


def keep_busy(tasks: Iterable[Task], many: int, submit: Callable[[bytes], Future[Any]]) -> Events:
    """Keep `many` tasks under way at a time, and yield the answer to each as it comes."""
    waiting = deque(tasks)
    running: dict[Future[Any], tuple[Any, float]] = {}

    def hand_out() -> None:
        while waiting and len(running) < many:
            task = waiting.popleft()
            try:
                packed = pack(task)
            except Exception as error:
                future = _failed_future(error)
            else:
                future = submit(packed)
            running[future] = (task.key, time.monotonic())

    hand_out()
    while running:
        yield Event(None, dict(running.values()))
        done, _ = concurrent.futures.wait(
            running, TICK, return_when=concurrent.futures.FIRST_COMPLETED
        )
        ended = [(running.pop(future)[0], future) for future in done]
        hand_out()  # before anybody looks at the answers
        for key, future in ended:
            yield Event(_answer(key, future), dict(running.values()))


def _failed_future(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def _answer(key: Any, future: Future[Any]) -> Answer:
    error = future.exception()
    if error is None:
        return Answer(key, future.result())
    return Answer(key, error=Died() if isinstance(error, BrokenProcessPool) else error)


# --- Processes ------------------------------------------------------------------------------


def in_processes(tasks: Iterable[Task], jobs: int) -> Events:
    """Do the work in worker processes, each a pool of its own: if one dies, its task is known."""
    free: list[ProcessPoolExecutor] = []
    busy: dict[Future[Any], ProcessPoolExecutor] = {}
    with contextlib.ExitStack() as pools, _end_with_us():

        def submit(packed: bytes) -> Future[Any]:
            for future in [future for future in busy if future.done()]:
                pool = busy.pop(future)
                if not isinstance(future.exception(), BrokenProcessPool):
                    free.append(pool)
            pool = free.pop() if free else pools.enter_context(_worker())
            try:
                with defer_interrupts(), _without_main():
                    future = pool.submit(call, packed)
            except Exception as error:  # its process has ended
                return _failed_future(error)
            busy[future] = pool
            return future

        yield from keep_busy(tasks, jobs, submit)


def _worker() -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Let a worker start without importing the main script, which may have no guard.

    What the script defines goes with each task instead.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _end_with_us() -> Iterator[None]:
    """End the processes that were started here, whatever happens."""
    others = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise


def _begin() -> None:
    """In a worker: leave Ctrl-C to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
