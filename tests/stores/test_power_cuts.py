"""The power may be cut at any write: no acknowledged entry is lost, and the file opens."""

from __future__ import annotations

import itertools
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from kits.power import Beside, Disk
from kits.stores import decided, rewarded
from lumpable.stores import sqlite_file
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry


def work(store: SQLiteStore, rng: random.Random, acknowledged: list[Entry], beside: Beside) -> None:
    """Append batches until the power is cut; what was acknowledged is in the list."""
    numbers = itertools.count()

    def commit() -> None:
        k = next(numbers)
        batch = [decided(f"{k}", f"u{k % 5}"), rewarded(f"{k}", k)]
        batch += [rewarded(f"{k}", k + j) for j in range(rng.randrange(3))]
        store.append(batch)
        acknowledged.extend(batch)

    while len(acknowledged) < 500:
        commit()
        beside.turn(store, commit)


def cut(
    folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch, counts: Counter[str] | None = None
) -> str:
    """Cut the power somewhere; return what is wrong with what is found, nothing if all is well.

    Every other time that is in the middle of a checkpoint.
    """
    rng, acknowledged = random.Random(seed), list[Entry]()
    before, after = folder / f"{seed} before", folder / f"{seed} after"
    before.mkdir()
    after.mkdir()
    cut_in = rng.randrange(1, 5) if seed % 2 else None
    disk, store = Disk(cut_after=rng.randrange(20, 800) if cut_in is None else None), None
    beside = Beside(disk, rng, cut_in)
    often, longest = rng.choice([12, 30, 100]), rng.choice([1, 40, 200])
    with disk.used(monkeypatch), beside.used(monkeypatch, often, longest):
        try:
            store = SQLiteStore(before / "log.db")
            assert store._rows("PRAGMA wal_autocheckpoint") == [(0,)]  # none in commits
            work(store, rng, acknowledged, beside)
        except StoreError as error:
            kind = error.kind
            assert (disk.cut, kind) == (True, "disk")
        if counts is not None:
            counts.update(cut=disk.cut, cut_in_checkpoints=beside.cut, made=beside.whole,
                          overtaken=beside.overtaken)  # fmt: skip
        disk.left_in(after, rng)
        disk.left, disk.cut = None, False
        if store is not None:
            store.close()
    try:
        with SQLiteStore(after / "log.db") as found:
            log = [entry for _, entry in found.entries()]
            if damages := found.verify():
                return f"{damages}"
            if log[: len(acknowledged)] != acknowledged:
                return f"{len(acknowledged)} acknowledged, {len(log)} found"
            found.append([decided("after")])
    except StoreError as error:
        return f"not opened: {error}"
    finally:
        shutil.rmtree(before)
        shutil.rmtree(after)
    return ""


@pytest.mark.parametrize("many", [40, pytest.param(1000, marks=pytest.mark.nightly)])
def test_power_cuts_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Made beside, as they are in earnest, checkpoints are cut in the middle, too."""
    counts = Counter[str]()
    for seed in range(many):
        assert cut(tmp_path, seed, monkeypatch, counts) == "", seed
    assert counts["cut"] >= 0.9 * many
    assert counts["cut_in_checkpoints"] >= 0.4 * many
    assert counts["made"] >= many
    assert counts["overtaken"] >= many


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_without_syncs_they_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synchronous: str
) -> None:
    """The test above can fail."""
    lax = tuple(p.replace("FULL", synchronous) for p in sqlite_file.WRITING)
    monkeypatch.setattr(sqlite_file, "WRITING", lax)
    assert any(cut(tmp_path, seed, monkeypatch) for seed in range(10))
