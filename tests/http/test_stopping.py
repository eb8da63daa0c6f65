"""A service that is told to stop waits for what was handed in, and for nothing else for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lumpable as lb
from kits.served import Breakable, served
from kits.service import opened
from lumpable.client import Client
from lumpable.http import life
from lumpable.http.http_server import TWICE
from lumpable.http.json_logs import Log
from lumpable.http.life import Life
from lumpable.service import changing
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.law import StoreError


def test_the_compiler_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was open is closed; who ends the process is told that something goes on."""
    monkeypatch.setattr(life, "LEAVE", 0.05)
    begun, go = threading.Event(), threading.Event()

    def warm(experiment: LiveExperiment) -> None:
        begun.set()
        assert go.wait(60)

    with served(warmer=warm, wait=False) as shop:
        assert begun.wait(60)
        assert shop.post("/decide", {"user": "ann"}).status == 200
    running = shop.server.life
    assert (running.stage, running.left_behind) == ("closing", True)
    with pytest.raises(StoreError, match="closed"):
        running.experiment.decide("ann")
    go.set()
    running._thread.join(60)
    assert (running.stage, running.left_behind) == ("closing", False)
    assert [line["what"] for line in shop.log] == ["stopped"]


def test_it_compiles_no_further_part(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    begun, go = threading.Event(), threading.Event()

    class Part:
        def make(self) -> None:
            made.append(1)
            begun.set()
            assert go.wait(60)

    monkeypatch.setattr(changing, "of_rounds", lambda: [Part()] * 10)
    monkeypatch.setattr(life, "LEAVE", 0.05)
    with served(warmer=LiveExperiment.warm, wait=False) as shop:
        assert begun.wait(60)
    go.set()
    shop.server.life._thread.join(60)
    assert len(made) == 1


def test_what_is_opened_too_late_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "LEAVE", 0.05)
    begun, go = threading.Event(), threading.Event()
    late = opened()

    def opener() -> LiveExperiment:
        begun.set()
        assert go.wait(60)
        return late

    running = Life(opener, Log(lambda line: None))
    running.start()
    assert begun.wait(60)
    running.close()
    assert (running.opened, running.left_behind) == (None, True)
    go.set()
    running._thread.join(60)
    assert running.opened is None
    with pytest.raises(StoreError, match="closed"):
        late.decide("ann")


class Slow(Breakable):
    """A disk that takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def append(self, entries: Any) -> int:
        if any(entry.kind == "decided" for entry in entries):
            self.begun.set()
            assert self.go.wait(60)
        return super().append(entries)


def test_what_was_handed_in_is_durable_before_it_ends_in_a_hurry() -> None:
    """As a second signal does it."""
    store = Slow()
    running = Life(lambda: opened(store), Log(lambda line: None), lambda experiment: None)
    running.start()
    running._thread.join(60)
    done: list[str] = []

    def later(what: str, call: Callable[[], Any]) -> threading.Thread:
        def work() -> None:
            call()
            done.append(what)

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    running.calls.submit(running.experiment.decide, "ann")
    assert store.begun.wait(60)
    ending = later("finished", running.finish)
    ending.join(0.05)
    assert done == []
    store.go.set()
    ending.join(60)
    assert done == ["finished"]
    assert running.experiment.status().decisions == 1
    running.close()


@pytest.mark.parametrize("signals", [1, 2])
def test_signals(tmp_path: Path, signals: int) -> None:
    """One ends it with a snapshot; another one does not wait for a caller who sends no body."""
    file = tmp_path / "clicks.db"
    command = [sys.executable, "-P", "-m", "lumpable", "serve", str(file), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--arm", "red"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert process.stdout is not None
    url = process.stdout.readline().rpartition(" at ")[2].strip()
    with process, Client(url) as client:
        client.wait_until_ready(120)
        client.decide("ann", event="e1")
        if signals == 2:
            client._connection().putrequest("POST", "/decide")
            client._connection().putheader("Content-Type", "application/json")
            client._connection().putheader("Content-Length", "10")
            client._connection().endheaders()
        process.send_signal(signal.SIGTERM)
        if signals == 2:
            time.sleep(2 * TWICE)
            assert process.poll() is None  # it waits for the body
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == (0 if signals == 1 else 128 + signal.SIGTERM)
    assert Path(f"{file}.snapshot").exists() == (signals == 1)
    with lb.open(file, fits="inline") as again:
        assert again.status().decisions == 1
