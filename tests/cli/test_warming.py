"""`lumpable warm`: shows how far it is, keeps what it made, goes on where it was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lumpable.cli import main, warming
from lumpable.lumps.belief.answers_compiled import of_answers
from lumpable.lumps.core.parts_compiled import of_fits, of_rounds


@dataclass
class Part:
    """As `parts_compiled.Part`; compiles nothing."""

    name: str
    place: str | None = "/kept/here"
    kept: bool = False
    full: bool = False
    stopped: bool = False

    def make(self) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.kept = not self.full


def called(monkeypatch: pytest.MonkeyPatch, *parts: Part) -> Result:
    monkeypatch.setattr(warming, "of_rounds", lambda: parts[:1])
    monkeypatch.setattr(warming, "of_fits", lambda: parts[1:])
    monkeypatch.setattr(warming, "of_answers", list)
    monkeypatch.setattr(warming, "EVERY", -1.0)  # a line for each
    return CliRunner().invoke(main.main, ["warm"], prog_name="lumpable")


def test_each_part_is_made_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Part("decisions"), Part("rewards", kept=True)
    result = called(monkeypatch, *parts)
    assert result.exit_code == 0, result.output
    assert "compiling decisions (1 of 2)" in result.stderr
    assert "reading rewards (2 of 2)" in result.stderr
    assert result.stdout.startswith("compiled 1 part, 1 were there: ")
    assert result.stdout.endswith("in /kept/here\n")


def test_who_stops_it_is_told_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Part("decisions"), Part("rewards", stopped=True)
    result = called(monkeypatch, *parts)
    assert result.exit_code == 130
    assert "stopped after 1 of 2; another run goes on from there" in result.stderr
    assert parts[0].kept


def test_no_room_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    result = called(monkeypatch, Part("decisions"), Part("rewards", full=True))
    assert result.exit_code == 2
    assert "room in /kept/here, got none for rewards" in result.stderr


def test_nowhere_to_keep_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    result = called(monkeypatch, Part("decisions", place=None))
    assert result.exit_code == 2
    assert "a writable folder; there is none" in result.stderr


@pytest.mark.nightly
def test_a_second_run_compiles_nothing(tmp_path: Path) -> None:
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "lumpable", "warm"], capture_output=True, text=True, check=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        said.append(done.stdout)
    parts = len([*of_rounds(), *of_fits(), *of_answers()])
    assert said[0].startswith(f"compiled {parts} parts: ")
    assert said[1].startswith(f"compiled 0 parts, {parts} were there: ")
    assert str(tmp_path) in said[1]
