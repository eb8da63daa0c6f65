"""Rows carry one checksum, in the footer of their file; what looks like another is a name."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lumpable as lb
from lumpable.comparisons import parquet, store

LIKE = (parquet.CHECKSUM + b"-" + parquet.ZEROS).decode()
WORLD = {"kind": "lumpable", "contexts": 4, "arms": 2, "groups": 2}


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Return a file whose rows are named so that every name looks like forty checksums."""
    label = "".join(f"{LIKE}{i}" for i in range(40))
    path = tmp_path / "rows.parquet"
    lb.compare([{"name": "ucb", "label": label}], [WORLD], horizon=1, seeds=1, jobs=1).save(path)
    assert path.read_bytes().count(parquet.CHECKSUM) > 40
    return path


def test_one_digest_is_enough(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest of the whole file for each of the others would take for ever."""
    taken = []

    def sha256(content: bytes) -> Any:
        taken.append(len(content))
        return hashlib.sha256(content)

    monkeypatch.setattr(parquet, "hashlib", SimpleNamespace(sha256=sha256))
    assert store.read(named)["learner"][0].as_py().startswith(LIKE)
    assert taken == [named.stat().st_size]


@pytest.mark.parametrize("step", [41, pytest.param(7, marks=pytest.mark.nightly)])
def test_names_that_look_like_checksums_hide_no_damage(named: Path, step: int) -> None:
    whole = named.read_bytes()
    for place in range(0, len(whole), step):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        named.write_bytes(flipped)
        with pytest.raises(lb.BadArgument, match="damaged"):
            store.read(named)
