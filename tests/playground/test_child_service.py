"""Children of a command look for code where the package is, not in the current directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumpable.cli.serving import page_files
from lumpable.playground.child_service import ChildService

LEFT = "import pathlib; pathlib.Path({!r}).write_text('ran'); raise SystemExit('ran')"


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of somebody's: what runs its code leaves this file."""
    folder, mark = tmp_path / "download", tmp_path / "mark"
    folder.mkdir()
    for name in ("msgspec", "numpy", "click", "lumpable", "altair"):
        (folder / f"{name}.py").write_text(LEFT.format(str(mark)))
    monkeypatch.chdir(folder)
    return mark


def test_a_service_runs_no_code_of_the_current_directory(tmp_path: Path, left: Path) -> None:
    with ChildService(tmp_path / "shop.db", ["--arm", "red"]) as service:
        assert service.url.startswith("http://127.0.0.1:")
    assert not left.exists()


def test_neither_does_whoever_makes_the_page(left: Path) -> None:
    assert "/" in page_files("clicks.db")
    assert not left.exists()
