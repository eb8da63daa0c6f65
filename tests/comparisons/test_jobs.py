"""The job engine by itself: every task has one answer, whatever becomes of its worker."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import Any

import pytest

from lumpable.comparisons import jobs
from lumpable.comparisons.jobs import Answer, Task


def work(said: Any) -> Any:
    """Return, raise or die as it is told."""
    if said == "raise":
        raise KeyError("no such thing")
    if said == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if said == "sleep":
        time.sleep(600)
    return said, os.getpid()


def answers(events: jobs.Events) -> dict[Any, Answer]:
    found: dict[Any, Answer] = {}
    for answer, _ in events:
        if answer is not None:
            assert answer.key not in found
            found[answer.key] = answer
    return found


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_task_has_one_answer() -> None:
    """An error, a death, what cannot be sent: each is the answer of its own task and no other's."""
    said: dict[str, Any] = {"a": 1, "b": "raise", "c": "die", "d": 2, "e": threading.Lock(), "f": 3}
    tasks = [Task(key, work, each) for key, each in said.items()]
    found = answers(jobs.in_processes(tasks, 2))
    assert set(found) == set(said)
    assert {key: found[key].result[0] for key in "adf"} == {"a": 1, "d": 2, "f": 3}
    assert isinstance(found["b"].error, KeyError)
    assert isinstance(found["c"].error, jobs.Died)
    assert isinstance(found["e"].error, TypeError)
    assert all(found[key].error is None for key in "adf")
    assert os.getpid() not in {found[key].result[1] for key in "adf"}


def test_workers_are_few_and_none_outlives_the_work() -> None:
    found = answers(jobs.in_processes([Task(n, work, n) for n in range(20)], 2))
    workers = {answer.result[1] for answer in found.values()}
    assert len(workers) <= 2
    assert not any(map(alive, workers))


def test_when_nobody_listens_nothing_goes_on() -> None:
    """The generator is closed while one task would sleep for minutes."""
    began = time.monotonic()
    tasks = [Task("short", work, 1), Task("long", work, "sleep")]
    with contextlib.closing(jobs.in_processes(tasks, 2)) as events:
        for answer, running in events:
            if answer is not None:
                assert set(running) == {"long"}
                break
    assert time.monotonic() - began < 60
    assert answer is not None
    assert not alive(answer.result[1])


def test_what_is_running_is_told_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "TICK", 0.05)
    seen = [
        (answer is None, set(running))
        for answer, running in jobs.in_processes([Task("a", time.sleep, 0.3)], 1)
    ]
    assert seen[-1] == (False, set())
    assert len(seen) > 3
    assert set(map(str, seen[:-1])) == {str((True, {"a"}))}


def test_in_this_process_it_is_the_same() -> None:
    found = answers(jobs.here([Task("a", work, 1), Task("b", work, "raise"), Task("c", work, 2)]))
    assert found["a"].result == (1, os.getpid())
    assert isinstance(found["b"].error, KeyError)
    assert found["c"].error is None
    assert answers(jobs.Workers().carry_out([])) == {}
