"""`lumpable demo` and `lumpable play`: a real service in a child process, small shops."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kits.served import served
from kits.service import opened
from lumpable.cli import demo, keep_playing, main
from lumpable.cli.visiting import Scale, Watched
from lumpable.client import Client, Unreachable
from lumpable.playground.child_service import ChildService, ServiceGone
from lumpable.playground.shop import build
from lumpable.service.fits_beside import child_environment
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.writer_lock import WriterLock

SMALL = Scale(build(30, 3), visits=400, pace=1e9)


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main.main, list(words), prog_name="lumpable")


def sound(file: Path) -> int:
    """Return how many decisions are in a file that is whole."""
    with SQLiteStore(file, read_only=True) as store:
        assert store.verify() == []
        return sum(entry.kind == "decided" for _, entry in store.entries())


def test_the_demo_plays_and_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[int] = []
    stop = ChildService.stop

    def watched(service: ChildService) -> None:
        stop(service)
        assert service._process.returncode is not None
        stopped.append(service._process.returncode)

    told: list[Any] = []
    tell = demo.tell

    def told_of(scale: Scale, *more: Any) -> None:
        told.extend(more)
        tell(scale, *more)

    monkeypatch.setattr(ChildService, "stop", watched)
    monkeypatch.setattr(demo, "tell", told_of)
    monkeypatch.setattr(demo, "Scale", lambda shop: SMALL)
    folder = tmp_path / "new"
    result = call("demo", "--folder", str(folder))
    assert result.exit_code == 0, result.output
    assert stopped == [0]  # gracefully
    text, (takings, learned) = " ".join(result.stdout.split()), told
    file = folder / demo.FILE
    assert sound(file) == takings.visits == 400
    assert f"{takings.shown:,.0f} {takings.shown / 400:.1%} {takings.gain:+.0%}" in text
    assert f"(gift card) {takings.popular:,.0f} " in text
    assert f"from the start {takings.best:,.0f} " in text
    assert f"Of {takings.clicks:,} clicks, {takings.late:,} came too late to count" in text
    for taste, visitors in (("cooks", 12), ("gamers", 10), ("hikers", 8)):
        assert f"{taste} {visitors} " in text
    assert "entries, all as they were written" in text.replace(" - ", "-")
    assert learned.measured.held + learned.measured.others == 400
    assert f"Of these {learned.measured.held:,} visits" in text
    assert learned.summary.split(";")[0] in text
    page = (folder / demo.REPORT).read_text()
    assert "chef&#39;s knife" in page
    assert "lumpable play" in text
    again = call("demo", "--folder", str(tmp_path / "new" / demo.FILE / "x"))
    assert (again.exit_code, again.stderr.count("\n")) == (2, 1)
    demo.begin_anew(file)
    assert not file.exists()


def test_a_demo_that_runs_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / demo.FILE
    file.write_text("mine")
    lock = WriterLock(file)
    result = call("demo", "--folder", str(tmp_path))
    lock.release()
    assert result.exit_code == 2
    assert "expected a file that no other process has open" in result.stderr
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)]
)
def test_play_stops_and_leaves_a_sound_file(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "lumpable", "play", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdout is not None
        (url,) = re.findall(r"The page: (http://\S+)/ ", process.stdout.readline())
        with Client(url) as client:
            while (seen := client.status()["experiment"]["decisions"]) < 100:
                pass
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    (visits,) = re.findall(r"stopped after ([\d,]+) visits; .* goes on from there", err)
    with Client(url, tries=1) as client, pytest.raises(Unreachable):
        client.status()
    file = tmp_path / keep_playing.FILE
    assert sound(file) >= int(visits.replace(",", "")) >= seen - 25
    WriterLock(file).release()  # nobody has it any more


def test_what_was_played_is_gone_on_with() -> None:
    arms = SMALL.shop.offers[:-1]
    with served(lambda: opened(arms=arms)) as running, Client(running.url) as client:
        client.decide_many(["visitor 1"] * 230)
        child: Any = SimpleNamespace(url=running.url, check=lambda: None)
        with Watched(child, SMALL) as watched:
            assert (watched.first, watched.visits) == (230, 230)
            *_, _ = watched.platform.play(25)
            assert (watched.visits, watched.platform.renewed) == (255, True)
        assert client.status()["experiment"]["decisions"] == 255


def test_a_service_that_does_not_answer_is_said_in_a_line() -> None:
    with served(lambda: opened(arms=())) as running:
        child: Any = SimpleNamespace(url=running.url, check=lambda: None)
        why = r"does not answer as it should: 400: "
        with Watched(child, SMALL) as watched, pytest.raises(ServiceGone, match=why):
            watched.play(25, 1e9)


def test_a_service_that_is_killed_is_named(tmp_path: Path) -> None:
    with ChildService(tmp_path / "x.db", ["--arm", "red"]) as service:
        service._process.kill()
        service._process.wait()
        with pytest.raises(ServiceGone, match=r"has ended: exit code -9; see .*x\.db\.log"):
            for _ in service.until_ready():
                pass


@pytest.mark.nightly  # by day with `lumpable serve`
def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = call("play", "--folder", str(tmp_path), "--port", port)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert "Error: port: expected an address that is free" in result.stderr


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for command in ("demo", "play"):
        result = call(command, "--folder", str(tmp_path / "new"))
        assert result.exit_code == 2
        assert "pip install 'lumpable[serve]'" in result.stderr
        assert not (tmp_path / "new").exists()


def test_the_service_ends_with_whoever_plays_however_they_end(tmp_path: Path) -> None:
    """Also if they are killed and can tell nobody: its log says that it stopped."""
    play = """
import sys, pathlib, threading
from lumpable.playground.child_service import ChildService
service = ChildService(pathlib.Path(sys.argv[1]), ["--arm", "red"])
for _ in service.until_ready():
    pass
print("ready", flush=True)
threading.Event().wait()
"""
    file = tmp_path / "shop.db"
    with subprocess.Popen(
        [sys.executable, "-c", play, str(file)], stdout=subprocess.PIPE, env=child_environment()
    ) as player:
        assert player.stdout is not None
        assert player.stdout.readline() == b"ready\n"
        player.kill()
    log, end = Path(f"{file}.log"), time.monotonic() + 120.0
    while '"stopped"' not in log.read_text():
        assert time.monotonic() < end, "it did not stop"
        time.sleep(0.05)
    with SQLiteStore(file) as store:  # nobody else has it
        assert store.arms == {"red"}
