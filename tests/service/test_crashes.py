"""Processes that are killed, fits beside, flipped bits: nothing that was answered is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import lumpable as lb
from kits.service import bits, opened
from lumpable.base.errors import BadArgument
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.service.fits_beside import NICER, BackgroundFitter
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError

WORK = """
import sys, threading
import lumpable as lb
from lumpable.stores import checkpoints
checkpoints.STEP, checkpoints.LONGEST = 20, 60  # so that many are killed
path, tag = sys.argv[1:]
e = lb.open(path, ["red", "green"], fits="inline")
out = threading.Lock()
def work(name):
    for k in range(10**6):
        event = f"{tag}-{name}-{k}"
        e.decide(f"u{k % 7}", event=event)
        with out:
            print("d", event, flush=True)
        e.reward(event, float(k % 2))
        with out:
            print("r", event, flush=True)
for name in "abc":
    threading.Thread(target=work, args=(name,), daemon=True).start()
threading.Event().wait()
"""


def killed(path: Path, tag: str, after: int, delay: float) -> tuple[set[str], set[str]]:
    """Let a process work until so many answers came, and kill it a little later.

    Returns the events whose decision and whose reward were answered.
    """
    command, lines = [sys.executable, "-c", WORK, str(path), tag], list[str]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line)
            if len(lines) == after:
                threading.Timer(delay, child.send_signal, [signal.SIGKILL]).start()
    said = [line.split() for line in lines if line.endswith("\n")]
    return {e for kind, e in said if kind == "d"}, {e for kind, e in said if kind == "r"}


def check(path: Path, decided: set[str], rewarded: set[str]) -> None:
    with SQLiteStore(path) as store:
        assert not store.verify()
        kinds = [(entry.kind, entry.event) for _, entry in store.entries()]
        assert decided <= {event for kind, event in kinds if kind == "decided"}
        assert rewarded <= {event for kind, event in kinds if kind == "rewarded"}
        assert len(set(kinds)) == len([k for k in kinds if k[1]]) + len(
            {k for k in kinds if not k[1]}
        )


def check_replays(path: Path) -> None:
    """By the snapshot that a killed process left, by one of a good end, and by the log alone."""
    snapshot, found = Path(f"{path}.snapshot"), list[tuple[str, str]]()
    for removed in (False, False, True):
        if removed:
            snapshot.unlink()
        with lb.open(path, fits="inline") as e:
            found.append((bits(e), e.digest()))
    assert len(set(found)) == 1


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    """Killed again and again, the log goes on, and replays to the same bits each time."""
    path, rng = tmp_path / "clicks.db", random.Random(17)
    decided: set[str] = set()
    rewarded: set[str] = set()
    for life in range(2):
        d, r = killed(path, f"life{life}", 40, rng.random() * 0.05)
        decided, rewarded = decided | d, rewarded | r
        check(path, decided, rewarded)
    check_replays(path)


@pytest.mark.nightly
def test_two_hundred_killed_processes_lose_nothing(tmp_path: Path) -> None:
    path, rng = tmp_path / "clicks.db", random.Random(200)
    decided: set[str] = set()
    rewarded: set[str] = set()
    for life in range(200):
        d, r = killed(path, f"life{life}", 1 + rng.randrange(60), rng.random() * 0.05)
        decided, rewarded = decided | d, rewarded | r
        if life % 20 == 19:
            check_replays(path)
    check(path, decided, rewarded)


@pytest.mark.parametrize("place", ["main file", "write-ahead log"])
def test_flipped_bits_are_found_or_leave_a_clean_prefix(tmp_path: Path, place: str) -> None:
    """In the main file every flip that changes an entry is found; a torn log ends earlier."""
    path = tmp_path / "clicks.db"
    store = SQLiteStore(path)
    e = opened(store, arms=("red", "blue"))
    for k in range(40):
        e.reward(e.decide(f"user {k % 5}").event, float(k % 2))
    if place == "main file":
        e.close()
    file = path if place == "main file" else path.with_name("clicks.db-wal")
    written, whole = list(store_entries(path, e, place)), file.read_bytes()
    rest = {p: p.read_bytes() for p in tmp_path.iterdir() if p != file}
    e.close()
    rng, found = random.Random(3), 0
    for _ in range(40):
        for p, content in rest.items():
            p.write_bytes(content)
        at, bit = rng.randrange(len(whole)), rng.randrange(8)
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        try:
            with SQLiteStore(path) as again:
                damages, now = again.verify(), list(again.entries())
        except (StoreError, BadArgument, KeyError, ValueError):
            found += 1
            continue
        if place == "main file":
            assert damages or now == written
        else:
            assert damages or now == written[: len(now)]
        found += bool(damages) or now != written
    assert found > 5  # the test can see something


def store_entries(path: Path, e: object, place: str) -> list[object]:
    if place == "main file":
        with SQLiteStore(path) as store:
            return list(store.entries())
    return list(e._store.entries())  # type: ignore[attr-defined]


# --- Fits beside ----------------------------------------------------------------------------


def until(condition: object, seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def test_fits_are_made_beside_and_adopted_as_versions(tmp_path: Path) -> None:
    store, fitter = SQLiteStore(tmp_path / "clicks.db"), BackgroundFitter()
    with opened(store, fitter=fitter, arms=("red", "blue")) as e:
        for k in range(60):
            made = e.decide(f"u{k % 6}")
            e.reward(made.event, float((k % 2 == 0) == (made.arm == "red")))
        until(lambda: e.status().version >= 1)
        assert fitter._child is not None
        own, its = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, fitter._child.pid))
        assert its == min(own + NICER, 19)  # it gives way to who decides
        fitter._child.kill()  # another one is started
        before = e.status().version
        for k in range(60):
            e.reward(e.decide(f"u{k % 6}").event, 1.0)
        until(lambda: e.status().version > before)
        assert fitter.failed == 0  # since it last made one
        assert e.decide("ann").version == e.status().version
        live = bits(e)
    with opened(SQLiteStore(tmp_path / "clicks.db"), arms=()) as again:
        assert bits(again) == live


def test_nobody_waits_for_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a fit is made, decisions and rewards go on: they never fit by themselves."""

    def never(*_: object) -> None:
        raise AssertionError("a caller fitted")

    class Nowhere:
        failed = 0

        def prepare(self) -> None: ...

        def start(self, *_: object) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(ThreeLevels, "fit", staticmethod(never))
    with opened(fitter=Nowhere()) as e:
        for k in range(300):
            e.reward(e.decide(f"u{k % 90}").event, (0.0, 1.0, 0.3)[k % 3])
        assert e.status().counted == 300
