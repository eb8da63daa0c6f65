"""Files as their own process sees them: taken away, linked, of the wrong kind, and who may read."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import lumpable as lb
from kits.stores import decided
from lumpable.base.errors import BadArgument
from lumpable.cli import main
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError


@pytest.mark.parametrize("gone", ["log.db", "log.db-wal", "log.db.lock"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_taken_away_is_noticed(tmp_path: Path, gone: str, replaced: bool) -> None:
    """Else calls would be answered, and lost."""
    store = SQLiteStore(tmp_path / "log.db")
    store.append([decided("a")])
    (tmp_path / gone).unlink()
    if replaced:
        (tmp_path / gone).touch()
    for _ in range(2):
        with pytest.raises(StoreError, match="removed or replaced") as error:
            store.append([decided("b")])
        assert (error.value.kind, error.value.place) == ("gone", str(tmp_path / gone))
    store.close()


def test_callers_are_told_that_the_file_is_gone(tmp_path: Path) -> None:
    e = lb.open(tmp_path / "clicks.db", ["red"], fits="inline")
    e.decide("ann")
    (tmp_path / "clicks.db").rename(tmp_path / "moved.db")
    for _ in range(2):
        with pytest.raises(StoreError, match="removed or replaced"):
            e.decide("ann")
    e.close()


def test_a_lock_that_is_taken_away_lets_one_process_write(tmp_path: Path) -> None:
    """The one that came later: the other notices, and writes no more."""
    with SQLiteStore(tmp_path / "log.db") as first:
        first.append([decided("a")])
        (tmp_path / "log.db.lock").unlink()
        with SQLiteStore(tmp_path / "log.db") as second:
            second.append([decided("b")])
            with pytest.raises(StoreError, match=r"log\.db\.lock: it was removed"):
                first.append([decided("c")])
            second.append([decided("d", "dan", "blue")])
            with pytest.raises(StoreError, match=r"log\.db\.lock: it was removed"):
                list(first.entries())
            assert not second.verify()


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "log.db") as store:
        store.append([decided("a")])
        os.link(tmp_path / "log.db", tmp_path / "same.db")
        with pytest.raises(BadArgument, match="second name"):
            SQLiteStore(tmp_path / "same.db")
        assert not (tmp_path / "same.db.lock").exists()
        store.append([decided("b")])


@pytest.mark.parametrize("path", ["", ".", "/dev/null", "FOLDER", "loop", None, 5, b"x.db", "a\0b"])
def test_what_is_no_file_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: object
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    beside = Path("/dev"), tmp_path, tmp_path.parent, tmp_path / "folder"
    before = [sorted(folder.iterdir()) for folder in beside]
    given = str(tmp_path / "folder") if path == "FOLDER" else path
    with pytest.raises(BadArgument, match="path"):
        lb.open(given, ["a"])  # type: ignore[arg-type]
    assert [sorted(folder.iterdir()) for folder in beside] == before


def test_a_file_of_others_gets_no_lock(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(StoreError, match="not a database"):
        SQLiteStore(tmp_path / "text.db")
    assert [path.name for path in tmp_path.iterdir()] == ["text.db"]


def test_opening_that_fails_late_leaves_no_thread(tmp_path: Path) -> None:
    plan = {"kind": "pac.any_contexts", "users": 50, "groups": 3, "epsilon": 0.2, "delta": 0.1}
    with lb.open(tmp_path / "plan.db", ["a", "b"], learner=plan) as e:
        e.decide("ann")
    before = threading.active_count()
    for _ in range(3):
        with pytest.raises(BadArgument, match="fixed from its first decision"):
            lb.open(tmp_path / "plan.db", ["c"])
    assert threading.active_count() == before
    lb.open(tmp_path / "plan.db").close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """Names of users are in them; who changed the mode of a file meant it."""
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], fits="inline") as e:
        e.decide("ann")
        assert {file.name: mode(file) for file in tmp_path.iterdir()} == {
            f"clicks.db{end}": 0o600 for end in ("", "-wal", "-shm", ".lock")
        }
    path.chmod(0o640)
    with lb.open(path, fits="inline") as e:
        e.decide("ann")
        assert mode(path) == mode(Path(f"{path}-wal")) == 0o640
    assert mode(Path(f"{path}.snapshot")) == 0o600


@contextmanager
def nothing_can_be_written(folder: Path) -> Iterator[None]:
    """Whoever may do everything becomes somebody else for a while."""
    for path in (folder, *folder.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    somebody = os.geteuid() == 0
    if somebody:
        os.seteuid(65534)
    try:
        yield
    finally:
        if somebody:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can reach."""
    made = Path(tempfile.mkdtemp())
    yield made
    shutil.rmtree(made)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users here")
def test_a_file_is_read_where_nothing_can_be_written(folder: Path, tmp_path: Path) -> None:
    with lb.open(folder / "clicks.db", ["red"], fits="inline") as e:
        e.decide("ann")
    CliRunner().invoke(main.main, ["show", str(folder / "clicks.db")])  # imports what it needs
    with nothing_can_be_written(folder):
        for command in ("verify", "show"):
            result = CliRunner().invoke(main.main, [command, str(folder / "clicks.db")])
            assert result.exit_code == 0, result.output
    store = SQLiteStore(folder / "clicks.db")
    store.append([decided("later")])
    shutil.copytree(folder, tmp_path / "copy")
    store.close()
    copy = folder / "copy"
    copy.mkdir()
    for end in ("", "-wal"):
        shutil.copy(tmp_path / "copy" / f"clicks.db{end}", copy)
    with nothing_can_be_written(copy):
        result = CliRunner().invoke(main.main, ["verify", str(copy / "clicks.db")])
    assert result.exit_code == 2
    assert "copy both" in result.output


def test_names_that_came_since_are_read(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "log.db") as store:
        store.append([decided("a", "ann")])
        with SQLiteStore(tmp_path / "log.db", read_only=True) as reader:
            store.append([decided("b", "bob", "new")])
            assert [entry.user for _, entry in reader.entries()] == ["ann", "bob"]
