"""Files that are written whole: links stay, and what killed processes left is swept away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lumpable.base import files

KILLED = """
import os, signal, sys
from pathlib import Path
from lumpable.base import files
with files.replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    link.symlink_to(real)
    for content in (b"new", b"newer"):  # at first it leads nowhere
        files.replace(link, content)
        assert link.is_symlink()
        assert real.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there"]


def test_what_a_killed_process_left_is_swept_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 2  # not three: the second swept the first away
    files.replace(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
    assert path.read_bytes() == b"new"


def test_what_others_are_writing_is_left_alone(tmp_path: Path) -> None:
    parent = f".kept.{files._machine()}-{os.getppid()}-1"
    far = ".kept.abcdef-1234567-1"  # of another machine: nobody here can know
    unlike = ".kept.swp"
    for name in (parent, far, unlike):
        (tmp_path / name).touch()
    files.replace(tmp_path / "kept", b"new")
    assert {each.name for each in tmp_path.iterdir()} == {parent, far, unlike, "kept"}


def test_what_an_earlier_life_left_is_swept(tmp_path: Path) -> None:
    """In a container the next process often has the same number, and the next one another name."""
    machine, me, thread = files._machine(), os.getpid(), threading.get_ident()
    mine, earlier = f".kept.{machine}-{me}-{thread}", f".kept.{machine}-{me}-1"
    far, long_ago = ".kept.abcdef-1-1", ".kept.fedcba-1-1"
    for name in (mine, earlier, far, long_ago):
        (tmp_path / name).touch()
    os.utime(tmp_path / long_ago, (0, time.time() - 2 * files.DAY))
    files.sweep(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {mine, far}


def test_long_names_and_errors(tmp_path: Path) -> None:
    for name in ("n" * 255, "名" * 85, "é" * 127, "\udce9" * 255):
        files.replace(tmp_path / name, b"new")
        (tmp_path / name).unlink()
    with pytest.raises(KeyError), files.replacing(tmp_path / "kept"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_long_names_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    one, two = (tmp_path / f"{'n' * 200}-{end}" for end in "12")
    with files.replacing(one) as file:
        file.write(b"one")
        files.replace(two, b"two")
    assert (one.read_bytes(), two.read_bytes()) == (b"one", b"two")


@pytest.mark.skipif(os.name != "posix", reason="links that anybody may lay")
def test_a_link_in_the_place_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    """In a folder that others may write to, the name of the unfinished file can be guessed."""
    victim, path = tmp_path / "victim", tmp_path / "kept"
    victim.write_bytes(b"precious")
    writer = f"{files._machine()}-{os.getpid()}-{threading.get_ident()}"
    (tmp_path / f".kept.{writer}").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        files.replace(path, b"new")
    assert victim.read_bytes() == b"precious"


def test_a_folder_that_was_never_opened_is_closed_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C may come before it is; an error in `__del__` would be printed, and is one here."""

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupt)
    with pytest.raises(KeyboardInterrupt), files.alone(Path()):
        pass
    held = files._Held.__new__(files._Held)  # cut off at the first line of its making
    held.__del__()
