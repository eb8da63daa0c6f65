"""A service that is called for ten minutes does not grow: what it keeps in memory has limits."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lumpable.client import Client

RATE, CALLERS = 1_250, 8
"""Calls a second, half of what is asked of it, and threads that make them."""
FILLING, STEADY = 360, 240
"""Seconds until all that has a limit has reached it, and those in which memory is looked at."""
GROWTH = 1.05


def resident(pid: int) -> int:
    """Return the bytes that a process and its children hold."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]
    return int(own) * 1024 + sum(resident(int(child)) for child in children)


def call(url: str, number: int, end: float, failures: list[Exception]) -> None:
    """Decide and reward, in pairs, as often as the rate says."""
    client, rng, pause = Client(url), random.Random(number), 2 * CALLERS / RATE
    due = time.monotonic()
    try:
        while (now := time.monotonic()) < end:
            due = max(due + pause, now - 1.0)
            made = client.decide(f"user {rng.randrange(2_000)}")
            client.reward(made.event, float(rng.random() < 0.3))
            time.sleep(max(0.0, due - time.monotonic()))
    except Exception as error:
        failures.append(error)


@pytest.mark.nightly
def test_memory_does_not_grow(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lumpable", "serve", str(tmp_path / "soak.db"), "--port", "0"]
    command += ["--rewards", "binary", "--window", "60", "--default", "0"]
    command += [word for k in range(20) for word in ("--arm", f"arm {k}")]
    failures: list[Exception] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = "http://127.0.0.1:" + server.stdout.readline().strip().rpartition(":")[2]
        Client(url).wait_until_ready(300)
        end = time.monotonic() + FILLING + STEADY
        callers = [
            threading.Thread(target=call, args=(url, number, end, failures))
            for number in range(CALLERS)
        ]
        for caller in callers:
            caller.start()
        time.sleep(FILLING)
        before = resident(server.pid)
        for caller in callers:
            caller.join()
        after, status = resident(server.pid), Client(url).status()["experiment"]
        server.terminate()
    print(f"{status['decisions']:,} decisions; {before / 2**20:.0f} MiB, then {after / 2**20:.0f}")
    assert not failures
    assert after < GROWTH * before
