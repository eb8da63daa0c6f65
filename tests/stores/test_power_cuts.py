"""The power may be cut at any write: no acknowledged entry is lost, and the file opens."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from kits.power import Disk
from kits.stores import decided, rewarded
from lumpable.stores import sqlite_file
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry


def work(store: SQLiteStore, rng: random.Random, acknowledged: list[Entry]) -> None:
    """Append batches until the power is cut; what was acknowledged is in the list."""
    store._db.execute(f"PRAGMA wal_autocheckpoint = {rng.choice([3, 12, 1000])}")
    for k in range(60):
        batch = [decided(f"{k}", f"u{k % 5}"), rewarded(f"{k}", k)] * (1 + (k % 7 == 6))
        batch = batch[:2] + [rewarded(f"{k}", k + j) for j in range(rng.randrange(3))]
        store.append(batch)
        acknowledged += batch


def cut(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Cut the power somewhere; return what is wrong with what is found, nothing if all is well."""
    rng, acknowledged = random.Random(seed), list[Entry]()
    before, after = folder / f"{seed} before", folder / f"{seed} after"
    before.mkdir()
    after.mkdir()
    disk, store = Disk(cut_after=rng.randrange(20, 420)), None
    with disk.used(monkeypatch):
        try:
            store = SQLiteStore(before / "log.db")
            work(store, rng, acknowledged)
        except StoreError:
            assert disk.cut
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
    for seed in range(many):
        assert cut(tmp_path, seed, monkeypatch) == "", seed


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_without_syncs_they_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synchronous: str
) -> None:
    """The test above can fail."""
    lax = tuple(p.replace("FULL", synchronous) for p in sqlite_file.WRITING)
    monkeypatch.setattr(sqlite_file, "WRITING", lax)
    assert any(cut(tmp_path, seed, monkeypatch) for seed in range(10))
