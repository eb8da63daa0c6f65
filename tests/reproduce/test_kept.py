"""The file of a measurement: every flipped bit is noticed, and Ctrl-C leaves the old or the new."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lumpable.base import files
from lumpable.reproduce import record, runner
from lumpable.reproduce.claim import Measured
from lumpable.reproduce.record import Kept
from twins.cut_off import cut_off

CLAIM = next(iter(runner.load().values()))
ORDER = runner.Order(CLAIM, quick=True, source="abc")


def content(seeds: int) -> bytes:
    measured = Measured(seeds=seeds, setting={"S": 3}, facts={"loss": 0.25, "most": float("inf")})
    return record.encode(Kept(number=CLAIM.number, measured=measured, **ORDER.about(1.5)))


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = ORDER.place(tmp_path)
    path.parent.mkdir()
    whole = content(7)
    path.write_bytes(whole)
    assert ORDER.read(tmp_path) == record.decode(whole)
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        assert ORDER.read(tmp_path) is None, bit  # it is measured again


def test_other_code_or_effort_is_measured_again(tmp_path: Path) -> None:
    ORDER.place(tmp_path).parent.mkdir()
    ORDER.place(tmp_path).write_bytes(content(7))
    assert replace(ORDER, source="abd").read(tmp_path) is None
    assert replace(ORDER, quick=False).read(tmp_path) is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files left open
def test_ctrl_c_leaves_the_old_or_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    path = ORDER.place(tmp_path)
    path.parent.mkdir()
    seen = set()
    for at in range(10_000):
        path.write_bytes(content(7))
        stopped = cut_off(lambda: files.replace(path, content(8)), at, "base/files.py")
        kept = ORDER.read(tmp_path)
        assert kept is not None, f"line {at}"
        seen.add(kept.measured.seeds)
        assert [each for each in path.parent.iterdir() if each != path] == [], f"line {at}"
        if not stopped:
            break
    assert seen == {7, 8}
    assert at > 10
