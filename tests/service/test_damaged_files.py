"""Files that somebody harmed: refused or made anew, never a crash, never a huge allocation."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import lumpable as lb
from kits.service import bits, opened
from lumpable.base.errors import BadArgument
from lumpable.service import snapshots
from lumpable.service.ledger import Ledger
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError

MOST_MEMORY = 60_000_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("whole")
    with lb.open(folder / "clicks.db", ["red", "green"], window=1e9, fits="inline") as e:
        for k in range(40):
            made = e.decide(f"u{k % 5}", event=f"e{k}")
            if k % 4:
                e.reward(made.event, (0.0, 1.0, 0.3)[k % 3])
        e._writer.so_far().result()
        digest = bits(e)
    return folder, digest


def copied(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    return to / "clicks.db"


def reopened(path: Path) -> str:
    """Return the digest of what is opened; empty: it was refused."""
    try:
        with SQLiteStore(path, read_only=True) as store:
            store.verify()
            snapshots.problem(Path(f"{path}.snapshot"), store)
        with lb.open(path, fits="inline") as e:
            return bits(e)
    except (BadArgument, StoreError, FileNotFoundError):
        return ""


def harmed(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, overwrite with extreme numbers, or fill with noise."""
    at, kind = rng.randrange(len(content)), rng.randrange(4)
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
    some = rng.choice([b"\xff" * 8, b"\x7f" + b"\xff" * 7, bytes(8), rng.randbytes(40)])
    return content[:at] + some + content[at + len(some) :]


@pytest.mark.parametrize("many", [12, pytest.param(1500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["clicks.db.snapshot", "clicks.db"])
def test_random_harm(whole: tuple[Path, str], tmp_path: Path, name: str, many: int) -> None:
    """A snapshot costs time at most; a database is refused, or found damaged, or still whole."""
    folder, digest = whole
    content = (folder / name).read_bytes()
    with SQLiteStore(folder / "clicks.db", read_only=True) as store:
        written = list(store.entries()), store.settings
    for seed in range(many):
        path = copied(folder, tmp_path / "here")
        path.with_name(name).write_bytes(harmed(content, random.Random(seed)))
        assert name != "clicks.db" or noticed(path, written), seed
        found = reopened(path)
        assert name == "clicks.db" or found == digest, seed


def noticed(path: Path, written: tuple[Any, bytes]) -> bool:
    """Whether a file is refused, or found to be damaged, or holds what was written."""
    try:
        with SQLiteStore(path, read_only=True) as store:
            return bool(store.verify()) or (list(store.entries()), store.settings) == written
    except (BadArgument, StoreError):
        return True


def test_every_flipped_bit_of_a_snapshot_is_found(whole: tuple[Path, str], tmp_path: Path) -> None:
    """Also where the archive in it would not notice: in names and dates of its parts."""
    path = copied(whole[0], tmp_path / "here")
    snapshot, rng = Path(f"{path}.snapshot"), random.Random(5)
    content = snapshot.read_bytes()
    first, last = range(80), range(len(content) - 1_000, len(content))
    with SQLiteStore(path, read_only=True) as store:
        assert not snapshots.problem(snapshot, store)
        for at in (*first, *rng.sample(range(len(content)), 300), *last):
            flipped = content[at] ^ 1 << rng.randrange(8)
            snapshot.write_bytes(content[:at] + bytes([flipped]) + content[at + 1 :])
            assert snapshots.problem(snapshot, store), at


def test_a_snapshot_of_an_earlier_version_is_used(
    whole: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such files begin with the archive, and have no digest."""
    path = copied(whole[0], tmp_path / "here")
    snapshot = Path(f"{path}.snapshot")
    held = snapshot.read_bytes()
    snapshot.write_bytes(held[held.index(b"PK\x03\x04") :])
    with SQLiteStore(path, read_only=True) as store:
        assert not snapshots.problem(snapshot, store)
    monkeypatch.setattr(Ledger, "apply", lambda *_: pytest.fail("the log was replayed"))
    with SQLiteStore(path) as store:
        assert bits(opened(store, arms=(), snapshot=snapshot, window=1e9)) == whole[1]


def rewritten(path: Path, header: Callable[[dict[str, Any]], None]) -> None:
    """Write a snapshot again with another header, and all checksums right."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    said = msgspec.json.decode(members["header.json"])
    header(said)
    members["header.json"] = msgspec.json.encode(said)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)


@pytest.mark.parametrize(
    "sizes", [(2**31 - 1,), pytest.param((0, 2**61, -1), marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(
    "field",
    ["contexts", "arms", "tells", "groups", "rank", "cells", "extra", "logged", "knots", "fitted"],
)
def test_sizes_are_checked_before_memory_is_taken(
    whole: tuple[Path, str], tmp_path: Path, field: str, sizes: tuple[int, ...]
) -> None:
    folder, digest = whole
    for size in sizes:
        path = copied(folder, tmp_path / "here")
        value = [size, size] if field == "fitted" else size
        rewritten(Path(f"{path}.snapshot"), lambda said, v=value: said.update({field: v}))  # type: ignore[misc]
        tracemalloc.start()
        found, (_, peak) = reopened(path), tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MOST_MEMORY
        assert found == digest or field == "tells"


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE log SET digest = 'text' WHERE number = 5",
        "UPDATE log SET at = 'text' WHERE number = 5",
        "UPDATE log SET kind = 'unknown' WHERE number = 5",
        "UPDATE log SET user = 99 WHERE number = 5",
        "UPDATE log SET arm = x'00' WHERE number = 5",
        "UPDATE log SET value = 1e300 WHERE kind = 'rewarded'",
        "UPDATE log SET detail = 'retired', kind = 'arm', event = NULL WHERE number = 5",
        "UPDATE users SET name = 'no json' WHERE number = 1",
        "UPDATE users SET name = x'ff' WHERE number = 1",
        "UPDATE users SET salt = 5",
        "UPDATE arms SET name = '[1]' WHERE number = 1",
        "UPDATE chain SET link = 5",
        "UPDATE about SET value = 'no json'",
        "UPDATE about SET value = x'7b7d7d'",
        "UPDATE sqlite_sequence SET seq = 'text'",
        "UPDATE sqlite_sequence SET seq = 0",
        "DROP TABLE chain",
        "DELETE FROM arms",
    ],
)
def test_tables_with_other_things_in_them(
    whole: tuple[Path, str], tmp_path: Path, query: str
) -> None:
    path = copied(whole[0], tmp_path / "here")
    Path(f"{path}.snapshot").unlink()
    db = sqlite3.connect(path)
    db.execute(query)
    db.commit()
    db.close()
    if reopened(path):  # what cannot be seen when it is opened is found by verify
        with SQLiteStore(path, read_only=True) as store:
            assert store.verify() or query.endswith("seq = 'text'")  # which opening mends
