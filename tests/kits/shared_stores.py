"""Stores that several processes share, as `Shelf`s: one kit of laws, in memory and in PostgreSQL.

A `Bench` opens the same store as other processes do, and takes its sessions from a process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kits import postgres
from kits.simulated_disk import Disk, Shared
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.law import SharedStore


@dataclass(frozen=True)
class Bench:
    """Where a shared store stands."""

    open: Callable[[], SharedStore]
    lose: Callable[[SharedStore], None]
    """Takes the sessions of a store, behind its back."""


def in_memory() -> Bench:
    disk = Disk()

    def lose(store: Any) -> None:
        store.lose()
        store.lost_reading = True

    return Bench(lambda: Shared(disk), lose)


def in_postgres() -> Bench:
    address = postgres.server().address()

    def lose(store: Any) -> None:
        pids = [s._db.info.backend_pid for s in (store._writing, store._reading) if s is not None]
        with postgres.server().connect() as db:
            db.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s) AS pid", (pids,))

    return Bench(lambda: PostgresStore(address), lose)


HOLD = """
import sys
from lumpable.stores.in_postgres import PostgresStore
store = PostgresStore(sys.argv[1])
store.take_turn()
assert store.elected()
print("here", flush=True)
sys.stdin.read()
"""


def holder(address: str) -> subprocess.Popen[str]:
    """Start a process that has the turn and is elected, and stays so."""
    command = [sys.executable, "-c", HOLD, address]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "here\n"
    return child


class Beside:
    """Something that runs in a thread, and may have to wait."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.done = threading.Event()

        def run() -> None:
            work()
            self.done.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def finished(self) -> bool:
        """Wait until it is done; False: it is not, after a long time."""
        self._thread.join(60)
        return self.done.is_set()
