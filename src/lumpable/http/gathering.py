"""Many callers, few threads: what comes while a batch of calls is made goes into the next one.

Each call succeeds or fails for itself, and is answered when what it did is durable. A batch waits
for one commit, so a thread for each caller is not needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future as Done
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lumpable.service.live_experiment import LiveExperiment

AT_ONCE = 3
"""Batches under way: one is made while others wait for the disk."""
MOST = 256
"""Calls of a batch."""

Work = Callable[[], Any]


class Gathering:
    """Makes calls of an experiment in batches; its queue belongs to the event loop."""

    def __init__(self, experiment: Callable[[], LiveExperiment]) -> None:
        self._experiment = experiment
        self._threads = ThreadPoolExecutor(AT_ONCE, "lumpable batch")
        self._queue: list[tuple[Work, asyncio.Future[Any]]] = []
        self._under_way = 0

    async def run(self, work: Work) -> Any:
        """Make a call; return its result when what it did is durable."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._queue.append((work, answer))
        if self._under_way < AT_ONCE:
            self._start(loop)
        return await answer

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._queue = self._queue[:MOST], self._queue[MOST:]
        self._under_way += 1
        self._threads.submit(self._make, loop, batch)

    def _make(
        self, loop: asyncio.AbstractEventLoop, batch: list[tuple[Work, asyncio.Future[Any]]]
    ) -> None:
        try:
            outcomes = make_calls(self._experiment(), [work for work, _ in batch])
        except Exception as error:
            outcomes = [(None, error)] * len(batch)
        answers = [answer for _, answer in batch]
        loop.call_soon_threadsafe(self._finish, loop, answers, outcomes)

    def _finish(
        self, loop: asyncio.AbstractEventLoop, answers: list[asyncio.Future[Any]],
        outcomes: list[tuple[Any, Exception | None]],
    ) -> None:  # fmt: skip
        self._under_way -= 1
        for answer, (result, error) in zip(answers, outcomes, strict=True):
            if answer.cancelled():
                continue
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)
        if self._queue:
            self._start(loop)

    def close(self) -> None:
        """Finish what is under way."""
        self._threads.shutdown()


def make_calls(experiment: LiveExperiment, works: list[Work]) -> list[tuple[Any, Exception | None]]:
    """Make calls one after the other; return what each came to when all of it is durable."""
    results: list[tuple[Any, Exception | None]] = []
    waits: list[list[Done[None]]] = []
    for work in works:
        with experiment.without_waiting() as handed_in:
            try:
                results.append((work(), None))
            except Exception as error:
                results.append((None, error))
        waits.append(handed_in)
    return [_durable(*result, wait) for result, wait in zip(results, waits, strict=True)]


def _durable(
    result: Any, error: Exception | None, handed_in: list[Done[None]]
) -> tuple[Any, Exception | None]:
    for done in handed_in:
        failure = done.exception()
        if error is None and failure is not None:
            assert isinstance(failure, Exception)
            return None, failure
    return result, error
