"""A crash between any two steps loses nothing and repeats nothing.

By day a failure is injected at every step that touches the disk; at night processes are killed.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_nights import HEAD, OFFERS, contents, rows, write

import lumpable as lb
from lumpable.nightly import night_adding
from lumpable.tables import ingest

USERS = [f"u{k}" for k in range(12)]
PAPER = {"kind": "pac.near_uniform", "groups": 2, "epsilon": 0.5, "delta": 0.5}


class Killed(BaseException):
    """The process ends here."""


class Disk:
    """Lets steps in a folder through until one fails; then nothing reaches the disk any more."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, last: int) -> None:
        self.left, self.folder = last, str(folder)
        for name in ("fsync", "replace", "open", "unlink", "mkdir"):
            patch.setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(what: Any, *args: Any, **options: Any) -> Any:
            if isinstance(what, int) or str(what).startswith(self.folder):
                self.left -= 1
                if self.left < 0:
                    raise Killed
            return real(what, *args, **options)

        return step


def add(folder: Path) -> None:
    """Fold a file in."""
    lb.Nightly(folder / "state").evidence(folder / "2.csv", id="id")


def add_folder(folder: Path) -> None:
    """Fold a folder of several files in."""
    lb.Nightly(folder / "state").evidence(folder / "days", id="id")


def plan(folder: Path) -> None:
    """Begin a plan and write it."""
    out = folder / "plan.csv"
    lb.Nightly(folder / "state").plan(USERS, list(OFFERS), learner=PAPER, out=out)


def plan_lumps(folder: Path) -> None:
    """Make a plan of the practical learner, whose fit is kept."""
    lb.Nightly(folder / "state").plan(USERS, list(OFFERS), out=folder / "plan.csv")


def night(folder: Path) -> None:
    """Fold files in and make a plan, as a job that is started again would."""
    state, has_ids = lb.Nightly(folder / "state"), "none" not in folder.name
    for name in ("days",) if "folder" in folder.name else ("1.csv", "2.csv"):
        state.evidence(folder / name, id="id" if has_ids else None)
    learner = PAPER if "paper" in folder.name else "lumps"
    state.plan(USERS, list(OFFERS), learner=learner, out=folder / "plan.csv")


def prepare(folder: Path) -> Path:
    """Make a folder with events of two nights; those with ids have some events in common."""
    folder.mkdir()
    head = HEAD[:3] if "none" in folder.name else HEAD
    write(folder / "1.csv", rows(40), head)
    write(folder / "2.csv", rows(60)[20:], head)
    (folder / "days").mkdir()
    for day in range(2):
        write(folder / "days" / f"{day}.csv", rows(60)[20 * day + 15 : 20 * day + 45], head)
    return folder


def result(folder: Path) -> tuple[dict[str, bytes], bytes]:
    out = folder / "plan.csv"
    return contents(folder / "state"), out.read_bytes() if out.exists() else b""


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with the same bytes are read once: reading writes nothing, and takes most of a job."""
    known, read = dict[bytes, Any](), ingest.read_all

    def remembered(path: Path, *args: Any, **options: Any) -> Any:
        content = path.read_bytes()
        if content not in known:
            known[content] = read(path, *args, **options)
        return known[content]

    monkeypatch.setattr(night_adding, "read_all", remembered)


@pytest.mark.parametrize("job", [add, plan, plan_lumps])
@pytest.mark.parametrize("begun", [False, True])
def test_a_failure_at_every_step(tmp_path: Path, job: Callable[[Path], None], begun: bool) -> None:
    base = prepare(tmp_path / "base")
    if begun:
        lb.Nightly(base / "state").evidence(base / "1.csv", id="id")
    before = contents(base / "state") if begun else {}
    shutil.copytree(base, tmp_path / "whole")
    job(tmp_path / "whole")
    whole = result(tmp_path / "whole")
    last, ended = 0, False
    while not ended:
        folder = tmp_path / f"{last}"
        shutil.copytree(base, folder)
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, folder, last)
            try:
                job(folder)
                ended = True
            except Killed:
                pass
        if begun and not ended:
            assert lb.Nightly(folder / "state").segments in (
                lb.Nightly(base / "state").segments, lb.Nightly(tmp_path / "whole/state").segments
            )  # fmt: skip
            assert before.keys() <= contents(folder / "state").keys()
        job(folder)
        assert result(folder) == whole, f"after step {last}"
        last += 1
    assert last > 8


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("begun", [False, True])
def test_a_folder_fails_at_every_step_in_turn(tmp_path: Path, begun: bool) -> None:
    """One step later each time, upon what the failures before left over; it is all or nothing."""
    folder, whole = prepare(tmp_path / "folder"), tmp_path / "whole"
    if begun:
        lb.Nightly(folder / "state").evidence(folder / "1.csv", id="id")
    shutil.copytree(folder, whole)
    add_folder(whole)
    either = [lb.Nightly(one / "state").segments for one in (folder, whole)]
    for last in itertools.count():
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, folder, last)
            try:
                add_folder(folder)
                break
            except Killed:
                pass
        assert lb.Nightly(folder / "state").segments in either
    assert result(folder) == result(whole)
    assert last > 8


JOB = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_night_crashes import night
night(Path(sys.argv[1]))
"""


KINDS = ("paper, ids", "lumps, ids", "paper, none", "lumps, none", "lumps, folder")
"""Plans of the paper and of Lumps, of events with ids and without, and of a folder."""


@pytest.mark.nightly
def test_200_kills(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command, rng = [sys.executable, "-c", JOB], random.Random(1)
    whole, length = dict[str, tuple[dict[str, bytes], bytes]](), dict[str, float]()
    for number, kind in itertools.product(range(2), KINDS):  # the first ones may compile
        folder, began = prepare(tmp_path / f"whole, {kind}, {number}"), time.monotonic()
        subprocess.run([*command, str(folder), here], env=environment, check=True)
        whole[kind], length[kind] = result(folder), time.monotonic() - began
    kills = Counter[str]()
    for number in itertools.count():
        kind = KINDS[number % len(KINDS)]
        folder = prepare(tmp_path / f"{number}, {kind}")
        for _ in range(5):
            job = subprocess.Popen([*command, str(folder), here], env=environment)
            try:
                job.wait(rng.uniform(0.3, 1.05) * length[kind])
            except subprocess.TimeoutExpired:
                job.send_signal(signal.SIGKILL)
                kills[kind] += 1
            job.wait()
        night(folder)
        assert result(folder) == whole[kind], kind
        if kills.total() >= 200 and min(kills[kind] for kind in KINDS) >= 40:
            break
