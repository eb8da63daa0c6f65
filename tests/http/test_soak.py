"""A service that is called for ten minutes does not grow: what it keeps in memory has limits."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lumpable.client import Client
from lumpable.service.ledger import MOST_EVENTS

CALLERS, USERS = 8, 2_000
MORE = 50_000
"""Events beyond those that are kept in memory, before it is measured."""
SOAKED = 600.0
"""Seconds at half of what was reached before."""
INFINITY = float("inf")
REACHED, GROWTH = 0.9, 1.05
"""At half speed half of the time is spare, so that almost all calls come in time."""


@dataclass
class Soaked:
    """What became of it."""

    full: float
    """Calls a second without a pause, ..."""
    half: float
    """... and when half of them were asked for."""
    before: float
    after: float
    """Bytes in the first and in the last tenth of the time: medians, as fits come and go."""


@contextmanager
def service(folder: Path) -> Iterator[tuple[str, int]]:
    """Start a service; yield its address and its process."""
    command = [sys.executable, "-m", "lumpable", "serve", str(folder / "soak.db"), "--port", "0"]
    command += ["--rewards", "binary", "--window", "60", "--default", "0"]
    command += [word for k in range(20) for word in ("--arm", f"arm {k}")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = "http://127.0.0.1:" + server.stdout.readline().strip().rpartition(":")[2]
        try:
            with Client(url) as client:
                client.wait_until_ready(300)
            yield url, server.pid
        finally:
            server.terminate()


def resident(pid: int) -> int:
    """Return the bytes that a process and its children hold."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        own = Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]
    except (FileNotFoundError, IndexError):  # it ended meanwhile
        return 0
    return int(own) * 1024 + sum(resident(int(child)) for child in children)


def call(url: str, number: int, most: float, end: float, pause: float, made: list[int]) -> None:
    """Decide and reward, in pairs, one in each pause, until so many or the end; count the calls."""
    rng, due = random.Random(number), time.monotonic()
    with Client(url) as client:
        while (now := time.monotonic()) < end and made[number] < most:
            due = max(due + pause, now - 1.0)  # what was missed is made up for, up to a second
            event = client.decide(f"user {rng.randrange(USERS)}").event
            client.reward(event, float(rng.random() < 0.3))
            made[number] += 2
            time.sleep(max(0.0, min(due, end) - time.monotonic()))


def called(
    url: str, pid: int, *, most: float = INFINITY, seconds: float = INFINITY, rate: float = INFINITY
) -> tuple[float, list[int]]:
    """Make so many calls, or for so long, at a rate.

    Returns the rate that was reached, and the memory by the second.
    """
    made, memory, begun = [0] * CALLERS, list[int](), time.monotonic()
    callers = [
        threading.Thread(
            target=call,
            args=(url, number, most / CALLERS, begun + seconds, 2 * CALLERS / rate, made),
        )
        for number in range(CALLERS)
    ]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        memory.append(resident(pid))
        time.sleep(1.0)
    return sum(made) / (time.monotonic() - begun), memory


def soaked(folder: Path, events: int, seconds: float) -> Soaked:
    """Bring so many events as fast as it takes them, then let it do half of that.

    By then all that has a limit has reached it: memory grows until some 200,000 events are kept.
    They come one by one, as those that follow: where batches came before, memory is in pieces of
    another size, and needs as many events again until it settles.
    """
    with service(folder) as (url, pid):
        full, _ = called(url, pid, most=2 * events)
        half, memory = called(url, pid, seconds=seconds, rate=full / 2)
    tenth = max(1, len(memory) // 10)
    return Soaked(
        full, half, statistics.median(memory[:tenth]), statistics.median(memory[-tenth:])
    )  # fmt: skip


@pytest.mark.nightly
def test_memory_does_not_grow(tmp_path: Path) -> None:
    found = soaked(tmp_path, MOST_EVENTS + MORE, SOAKED)
    print(f"{found.full:,.0f} calls a second, then {found.half:,.0f}; "
          f"{found.before / 2**20:.0f} MiB, then {found.after / 2**20:.0f}")  # fmt: skip
    assert found.half > REACHED * found.full / 2
    assert found.after < GROWTH * found.before
