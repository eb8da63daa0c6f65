"""`lumpable serve` as a process: what it prints, how it ends, and that it loses nothing."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lumpable as lb
from kits.served import served
from lumpable.base import extras
from lumpable.base.errors import BadArgument
from lumpable.cli import serving
from lumpable.cli.main import main
from lumpable.cli.serving import learner_from_options
from lumpable.client import Client, Unreachable
from lumpable.http.http_server import Address, HttpServer
from lumpable.service.fits_beside import child_environment
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.settings import to_user_units as settings_said


def started(*words: str, **environment: str) -> tuple[subprocess.Popen[str], str, list[str]]:
    """Start the command; return the process, its address and the first lines."""
    command = [sys.executable, "-m", "lumpable", "serve", "--port", "0", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    return process, first.rpartition(" at ")[2].strip(), [first]


def test_sigterm_loses_nothing(tmp_path: Path) -> None:
    """Callers are at it when the service is stopped: what was answered is in the file."""
    file, answered = tmp_path / "clicks.db", set[str]()
    process, url, lines = started(str(file), "--arm", "red", "--arm", "green")
    enough = threading.Event()

    def work(name: str) -> None:
        with Client(url, tries=1) as client:
            try:
                for k in range(10**6):
                    event = f"{name}-{k}"
                    client.decide(f"user-{k % 5}", event=event)
                    answered.add(event)
                    if len(answered) > 60:
                        enough.set()
            except Unreachable:
                return

    with process:
        with Client(url) as first:
            first.wait_until_ready(120)
        workers = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for worker in workers:
            worker.start()
        assert enough.wait(60)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stderr is not None
        lines += process.stdout.readlines()
        logged = [json.loads(line) for line in process.stderr]
        for worker in workers:
            worker.join()
        assert process.wait(60) == 0
    words = "".join(lines)
    assert "/openapi.json" in words
    assert f"open {url} in a browser" in words
    assert "no tokens" in words
    assert "no window" in words
    assert (logged[0]["what"], logged[-1]["what"]) == ("ready", "stopped")
    assert "user-" not in json.dumps(logged)
    assert Path(f"{file}.snapshot").exists()
    with lb.open(file, fits="inline") as again:
        counts = again.status()
        kept = {entry.event for _, entry in again._store.entries() if entry.kind == "decided"}
    assert answered <= kept
    assert counts.decisions == len(kept)


def said(*words: str, **environment: str | None) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["serve", *words], env=environment)
    return result.exit_code, result.output


def test_without_what_draws_there_is_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line says what to install; the rest is served all the same."""
    assert extras.has("json", "csv")
    assert not extras.has("json", "no_such_module")
    monkeypatch.setattr(serving, "page_files", lambda title: {})  # none is asked for

    def enough(_: LiveExperiment) -> None:
        raise BadArgument("file", why="enough")

    monkeypatch.setattr(LiveExperiment, "warm", enough)  # after it was opened
    for here, line in ((True, "in a browser"), (False, "no page: it needs the extra plot")):
        monkeypatch.setattr(serving, "has", lambda *modules, here=here: here)
        code, words = said(str(tmp_path / "clicks.db"), "--port", "0")
        assert (code, "serves" in words, "enough" in words) == (2, True, True)
        assert line in words


def test_the_page_is_made_before_anybody_looks() -> None:
    made: list[str] = []
    begun, done = threading.Event(), threading.Event()

    def make() -> dict[str, tuple[str, bytes]]:
        made.append("page")
        begun.set()
        done.wait(60)
        return {"/": ("text/html", b"<p>hello</p>")}

    with served(page=make) as shop:
        assert begun.wait(60)
        assert shop.get("/").json["openapi"]  # who wants no page does not wait for it
        done.set()
        for _ in range(2):
            assert shop.get("/", Accept="text/html").body == b"<p>hello</p>"
    assert made == ["page"]


def test_a_page_that_cannot_be_made_is_tried_again() -> None:
    tries: list[int] = []

    def make() -> dict[str, tuple[str, bytes]]:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("no more processes")
        return {"/": ("text/html", b"<p>hello</p>")}

    with served(page=make) as shop:
        found = [shop.get("/", Accept="text/html").status for _ in range(3)]
    assert found[-1] == 200
    assert set(found) == {500, 200}


def test_a_service_that_began_with_a_log_ends_without_a_word(tmp_path: Path) -> None:
    """What read the log is freed at the end: else its library lists all of it as lost."""
    (tmp_path / "log.csv").write_text("customer,offer,clicked\nann,tea,1\nbob,tea,0\nbob,,1\n")
    process, url, _ = started(
        str(tmp_path / "clicks.db"), "--learned", str(tmp_path / "log.csv"), "--user", "customer",
        "--item", "offer", "--reward", "clicked", "--rewards", "0:5",
    )  # fmt: skip
    with Client(url) as client:
        assert client.status()["experiment"]["users"] == 2
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    told = [line for line in errors.splitlines() if not line.startswith("{")]
    assert told == [
        "--learned: 1 of 3 rows left out (33.3 %).", "  offer is missing: 1 row; line 4",
    ]  # fmt: skip


def test_whoever_makes_the_page_ends_with_the_service() -> None:
    code = "from lumpable.cli.serving import send_page; send_page()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, "clicks.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=child_environment(),
    )  # fmt: skip
    out, _ = child.communicate(timeout=60)  # closes its stdin, as the end of the service does
    assert (child.returncode, out) == (1, b"")


def test_what_cannot_be_served_is_said_in_a_line(tmp_path: Path) -> None:
    file = str(tmp_path / "clicks.db")
    code, words = said(file, "--host", "0.0.0.0", "--port", "0")
    assert (code, words.count("\n")) == (2, 1)
    assert (
        "reached from other machines and needs tokens (--tokens FILE or LUMPABLE_TOKENS)" in words
    )
    (tmp_path / "tokens").write_text("read short\n")
    code, words = said(file, "--tokens", str(tmp_path / "tokens"))
    assert code == 2
    assert "tokens:1: tokens: expected roles" in words
    code, words = said(file, LUMPABLE_TOKENS="nonsense")
    assert code == 2
    assert "nonsense" not in words
    for wrong in (["--rewards", "1"], ["--window", "x"], ["--port", "70000"], ["--mode", "x"]):
        assert said(file, *wrong)[0] == 2
    assert not Path(file).exists()


def test_nothing_is_said_to_be_served_before_it_is(tmp_path: Path) -> None:
    file = str(tmp_path / "clicks.db")
    for words, what in (
        ([file, "--hold-back", "2"], "Error: hold_back: expected a share"),
        ([file, "--tokens", "nobody"], "Error: tokens: expected a file of text that can be read"),
        ([str(tmp_path / "none" / "c.db")], f"Error: no such folder: '{tmp_path / 'none'}'"),
    ):
        command = [sys.executable, "-m", "lumpable", "serve", *words, "--port", "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(what)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with served() as other:
        code, words = said(str(tmp_path / "clicks.db"), "--port", str(other.server.port))
    assert code == 2
    assert "port: expected an address that is free" in words


def test_a_file_that_cannot_be_opened_ends_the_service(tmp_path: Path) -> None:
    file = tmp_path / "clicks.db"
    with lb.open(file, ["red"], rewards="binary", fits="inline"):
        code, words = said(str(file), "--port", "0")
        assert code == 2
        assert "expected a file that no other process has open" in words
    code, words = said(str(file), "--port", "0", "--rewards", "0,5")
    assert code == 2
    assert "expected 'binary', with which the experiment began" in words
    file.write_bytes(b"nonsense" * 1000)
    code, words = said(str(file), "--port", "0")
    assert code == 2
    assert "Error: file:" in words


def test_the_collector_leaves_out_what_stays() -> None:
    """Else it goes through all modules and compiled code while everybody waits."""
    try:
        before = len(gc.get_objects())
        serving.no_long_collections()
        assert len(gc.get_objects()) < before // 10
    finally:
        gc.unfreeze()


@pytest.mark.nightly  # by day a service that plays is stopped so, and SIGTERM stops this one
def test_ctrl_c_stops_it_gracefully(tmp_path: Path) -> None:
    file = str(tmp_path / "clicks.db")
    token = "a-token-of-some-length"
    process, url, _ = started(file, "--new-arms", LUMPABLE_TOKENS=f"decide {token}")
    with process:
        with Client(url, token) as client:
            client.wait_until_ready(120)
            client.decide("ann", ["red"], event="e1")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert token not in out + err
    with lb.open(file, fits="inline") as again:
        assert again.decide("ann", event="e1").arm == "red"


def test_warming_up_touches_nothing() -> None:
    for rewards in ("binary", "any", (2.0, 5.0)):
        with lb.open(arms=["red"], rewards=rewards, fits="inline") as experiment:
            before = experiment.status()
            experiment.warm()
            assert experiment.status() == before


@pytest.mark.parametrize("learner", ["ucb", {"kind": "standard.online", "users": 1}])
def test_other_learners_are_warmed_up_too(learner: Any) -> None:
    with lb.open(arms=["red", "green", "blue"], learner=learner) as experiment:
        before = experiment.status()
        experiment.warm()
        assert experiment.status() == before


def test_a_learner_and_its_options_on_the_command_line(tmp_path: Path) -> None:
    assert learner_from_options("ucb", ("width=0.3", "pooled=true", "rule=plain", "x={}")) == {
        "kind": "ucb", "width": 0.3, "pooled": True, "rule": "plain", "x": {},
    }  # fmt: skip
    assert learner_from_options(None, ()) is None
    file = str(tmp_path / "clicks.db")
    for words, why in (
        (["--learner-option", "a=1"], "needs --learner"),
        (["--learner", "ucb", "--learner-option", "width"], "expected NAME=VALUE"),
        (["--learner", "ucb", "--learner-option", "kind=1"], "each name once"),
        (["--port", "0", "--learner", "ucbb"], "the nearest is 'ucb'"),
        (["--port", "0", "--learner", "ucb", "--learner-option", "widht=1"], "no option 'widht'"),
    ):
        code, said_of_it = said(file, *words)
        assert code == 2
        assert why in said_of_it


def test_what_a_file_has_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Python by None and False; what is not said stays."""
    file = str(tmp_path / "clicks.db")
    opened: list[dict[str, Any]] = []

    class Opened(HttpServer):
        def run(self) -> None:
            with self._socket, self.life._opener() as experiment:
                kept = settings_said(experiment.settings)
                opened.append({name: kept[name] for name in names} | {
                    "arms": list(experiment.status().arms)
                })  # fmt: skip

    names = ("window", "default", "control", "at_most", "new_arms")
    monkeypatch.setattr("lumpable.http.http_server.HttpServer", Opened)
    monkeypatch.setattr(serving, "has", lambda *modules: False)
    words = ["--arm", "17", "--arm", "b", "--control", "17", "--at-most", "3", "--new-arms"]
    begun = {"window": None, "default": None, "control": "17", "at_most": 3, "new_arms": True,
             "arms": ["17", "b"]}  # fmt: skip
    for more, expected in (
        ([*words, "--window", "none", "--default", "None"], begun),
        ([], begun),
        (["--no-new-arms"], begun | {"new_arms": False}),
        (["--control", "none"], begun | {"new_arms": False, "control": None}),
        (["--at-most", "none"], begun | {"new_arms": False, "control": None, "at_most": None}),
    ):
        code, out = said(file, "--port", "0", *more)
        assert code == 0, out
        assert opened[-1] == expected
    for wrong in (["--window", "nothing"], ["--at-most", "1.5"]):
        assert said(file, *wrong)[0] == 2


def test_a_failure_to_open_is_raised_at_the_end() -> None:
    def opener() -> LiveExperiment:
        raise RuntimeError("no")

    server = HttpServer(opener, Address(port=0))
    with pytest.raises(RuntimeError, match="no"):
        server.run()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, words = said(str(tmp_path / "clicks.db"))
    assert code == 2
    assert "serving over HTTP needs an extra that is not installed" in words
    assert "pip install 'lumpable[serve]'" in words
