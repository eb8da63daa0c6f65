"""Law: of who was erased nothing is in any file, not eight bytes of a name or of an event's id.

SQLite leaves copies of rows where a page was split or joined with another, also with
`secure_delete`, so that what was erased where it stands now may stay where it stood once.
"""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from kits.stores import decided, rewarded
from lumpable.stores import page_gaps, sqlite_file
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError

PIECE = 8
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LENGTHS = (8, 12), (15, 40), (20, 400), (100, 900), (1_000, 5_000)
"""Of names: the longest do not fit into a page."""


def pieces(held: bytes) -> set[int]:
    """Return all parts of this length, as numbers."""
    at = np.frombuffer(held, dtype=np.uint8)
    every = np.lib.stride_tricks.sliding_window_view(at, PIECE) if len(at) >= PIECE else at[:0]
    return set(np.ascontiguousarray(every).view(np.uint64).ravel().tolist())


@pytest.fixture(autouse=True)
def no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lives are quick where the disk need not follow."""
    quick = ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON")
    monkeypatch.setattr(sqlite_file, "WRITING", quick)
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Life:
    """A store in which users come and go by chance."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder, self.rng, self.gone = folder, random.Random(seed), set[int]()
        self.lengths = LENGTHS[seed % len(LENGTHS)]
        self.ids, self.batch = self.rng.choice([(8, 40), (26, 26), (60, 120)]), 10 ** (seed % 3)
        self.alive = dict[str, list[str]]()
        self.store = SQLiteStore(folder / "log.db")

    def word(self, least: int, most: int) -> str:
        return "".join(self.rng.choices(LETTERS, k=self.rng.randint(least, most)))

    def come(self, events: int) -> None:
        """Let so many decisions come, each of a user who is there or is new."""
        for _ in range(0, events, self.batch):
            entries = []
            for _ in range(self.batch):
                again = self.alive and self.rng.random() < 0.8
                user = self.rng.choice(list(self.alive)) if again else self.word(*self.lengths)
                event = self.word(*self.ids)
                self.alive.setdefault(user, []).append(event)
                entries += [decided(event, user), rewarded(event, 1)][: self.rng.randint(1, 2)]
            self.store.append(entries)

    def go(self, users: int) -> None:
        """Let so many users be erased."""
        for _ in range(users):
            user = self.rng.choice(list(self.alive))
            for word in (user, *self.alive.pop(user)):
                self.gone |= pieces(word.encode())
            assert self.store.ready_to_erase(user)
            assert self.store.erase(user)

    def reopen(self) -> None:
        self.store.close()
        self.store = SQLiteStore(self.folder / "log.db")

    @property
    def left(self) -> set[str]:
        """The files that hold a piece of somebody who was erased."""
        return {
            path.name for path in self.folder.iterdir() if pieces(path.read_bytes()) & self.gone
        }


def live(folder: Path, seed: int) -> set[str]:
    """Live a life; return the files that ever hold what they should not."""
    life, found = Life(folder, seed), set[str]()
    for part in range(4):
        life.come(100)
        life.go(len(life.alive) // 8)
        found |= life.left
        life.come(100)
        if part == 2:
            life.reopen()
        found |= life.left
    assert life.store.verify() == []
    life.reopen()
    assert life.store.verify() == []
    life.store.close()
    return found | life.left


@pytest.mark.parametrize("many", [6, pytest.param(100, marks=pytest.mark.nightly)])
def test_nothing_is_left_of_who_was_erased(tmp_path: Path, many: int) -> None:
    for seed in range(many):
        assert not live(tmp_path / f"{seed}", seed), seed


def test_without_wiping_gaps_something_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_gaps.Gaps, "wipe", lambda *_: None)
    assert live(tmp_path / "life", 2)


class Keeping:
    """A connection that drops no page from its memory."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def execute(self, query: str) -> sqlite3.Cursor:
        return self._db.execute("SELECT 1" if "shrink" in query else query)


def test_pages_in_memory_would_bring_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wiped gaps drops what it read before: it would be written again with the next row."""
    wipe = page_gaps.Gaps.wipe
    monkeypatch.setattr(page_gaps.Gaps, "wipe", lambda self, db: wipe(self, Keeping(db)))  # type: ignore[arg-type]
    assert any(live(tmp_path / f"{seed}", seed) for seed in range(5))


@pytest.mark.parametrize("cut", [0, 1, 7])
def test_who_was_cut_off_while_wiping_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """The file is whole after any part of it; erasing once more after a restart does the rest."""
    life, left, write = Life(tmp_path / "life", 2), iter(range(cut)), os.write
    life.come(600)

    def torn(file: int, held: bytes) -> int:
        if next(left, None) is None:
            write(file, held[: len(held) // 2])
            raise OSError(5, "Input/output error")
        return write(file, held)

    user, events = next(iter(life.alive.items()))
    with monkeypatch.context() as power:
        power.setattr(os, "write", torn)
        with pytest.raises(StoreError):
            life.store.erase(user)
    for word in (user, *events):
        life.gone |= pieces(word.encode())
    assert life.store.verify() == []
    life.reopen()
    assert not life.store.ready_to_erase(user)
    assert not life.left
    assert life.store.verify() == []
    life.store.close()


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    """Whatever its pages say: no other error, no end of reading, and nothing more is damaged."""
    life = Life(tmp_path / "life", 1)
    life.come(300)
    life.store.ready_to_erase("nobody")
    life.store.close()
    file, rng = tmp_path / "life" / "log.db", random.Random(3)
    whole, said = file.read_bytes(), 0
    roots = [number for number in range(2, 10) if whole[4096 * (number - 1)] in page_gaps.KINDS]
    for _ in range(300):
        harmed = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            harmed[4096 * rng.randrange(len(whole) // 4096) + rng.randrange(20)] = rng.randrange(
                256
            )
        file.write_bytes(harmed[: len(harmed) - rng.choice([0, 0, 1000, 4096])])
        gaps = page_gaps.Gaps(file)
        try:
            list(gaps._gaps(list(roots)))
        except (sqlite3.DatabaseError, OSError):
            said += 1
        gaps.close()
    assert said > 30


def test_a_refusal_changes_nothing(tmp_path: Path) -> None:
    """While somebody reads, also where all is in the main file; then it is done."""
    with SQLiteStore(tmp_path / "log.db") as store:
        store.append([decided("a", "ann"), rewarded("a", 1)])
        reader = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
        for number in range(2):
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM log").fetchone()
            with pytest.raises(StoreError, match="somebody reads the file; nothing was erased"):
                store.ready_to_erase("ann")
            assert [number for number, _ in store.entries()] == list(range(1, 3 + number))
            store.append([decided(f"{number}", "bob")])
            reader.execute("ROLLBACK")
            store._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        reader.close()
        assert store._rows("PRAGMA busy_timeout") == [(30_000,)]
        assert store.ready_to_erase("ann")
        assert store.erase("ann") == 2
        assert store.verify() == []
