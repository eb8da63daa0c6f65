"""Files that are written whole: links stay, and what killed processes left is swept away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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
    mine = f".kept.{files._machine()}-{os.getppid()}-1"
    far = ".kept.abcdef-1234567-1"  # of another machine: nobody here can know
    unlike = ".kept.swp"
    for name in (mine, far, unlike):
        (tmp_path / name).touch()
    files.replace(tmp_path / "kept", b"new")
    assert {each.name for each in tmp_path.iterdir()} == {mine, far, unlike, "kept"}


def test_long_names_and_errors(tmp_path: Path) -> None:
    files.replace(tmp_path / ("n" * 255), b"new")
    (tmp_path / ("n" * 255)).unlink()
    with pytest.raises(KeyError), files.replacing(tmp_path / "kept"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
