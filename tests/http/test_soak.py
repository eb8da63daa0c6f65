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

CALLERS, USERS, BATCH = 8, 2_000, 1_000
MEASURED, SOAKED = 30.0, 600.0
"""Seconds at full speed, and then at half of what was reached."""
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


def fill(url: str, events: int) -> None:
    """Bring so many events, in batches, that all that has a limit has reached it."""
    rng = random.Random(17)
    with Client(url) as client:
        for _ in range(0, events, BATCH):
            made = client.decide_many([f"user {rng.randrange(USERS)}" for _ in range(BATCH)])
            client.reward_many([(one.event, float(rng.random() < 0.3)) for one in made])


def call(url: str, number: int, end: float, pause: float, made: list[int]) -> None:
    """Decide and reward, in pairs, one in each pause; count the calls."""
    rng, due = random.Random(number), time.monotonic()
    with Client(url) as client:
        while (now := time.monotonic()) < end:
            due = max(due + pause, now - 1.0)  # what was missed is made up for, up to a second
            event = client.decide(f"user {rng.randrange(USERS)}").event
            client.reward(event, float(rng.random() < 0.3))
            made[number] += 2
            time.sleep(max(0.0, min(due, end) - time.monotonic()))


def called(url: str, pid: int, seconds: float, rate: float) -> tuple[float, list[int]]:
    """Call for so long at a rate; return the one that was reached, and the memory by the second."""
    made, memory, begun = [0] * CALLERS, list[int](), time.monotonic()
    pause, end = 2 * CALLERS / rate, begun + seconds
    callers = [
        threading.Thread(target=call, args=(url, number, end, pause, made))
        for number in range(CALLERS)
    ]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        memory.append(resident(pid))
        time.sleep(1.0)
    return sum(made) / (time.monotonic() - begun), memory


def soaked(folder: Path, events: int, measured: float, seconds: float) -> Soaked:
    """Fill a service, see how much it can do, and let it do half of that."""
    with service(folder) as (url, pid):
        fill(url, events)
        full, _ = called(url, pid, measured, float("inf"))
        half, memory = called(url, pid, seconds, full / 2)
    tenth = max(1, len(memory) // 10)
    return Soaked(
        full, half, statistics.median(memory[:tenth]), statistics.median(memory[-tenth:])
    )  # fmt: skip


@pytest.mark.nightly
def test_memory_does_not_grow(tmp_path: Path) -> None:
    found = soaked(tmp_path, MOST_EVENTS + 50 * BATCH, MEASURED, SOAKED)
    print(f"{found.full:,.0f} calls a second, then {found.half:,.0f}; "
          f"{found.before / 2**20:.0f} MiB, then {found.after / 2**20:.0f}")  # fmt: skip
    assert found.half > REACHED * found.full / 2
    assert found.after < GROWTH * found.before
