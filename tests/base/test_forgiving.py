"""Trouble with compiled code on disk costs time and nothing else, and does not last."""

from __future__ import annotations

import errno
import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import IndexDataCacheFile

from lumpable.base.forgiving import Forgiving

SOURCE = """\
from numba import njit
from lumpable.base.forgiving import compile_cached
def double(x):
    return {times} * x
double = compile_cached(njit, double)
"""


@pytest.fixture(autouse=True)
def beside_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep compiled code where the test looks for it, and let each test be warned anew.

    Python's own bytecode goes by seconds and sizes: a source that changes within one would be old.
    """
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    monkeypatch.setattr(Forgiving, "warned", False)


def started(folder: Path, times: int = 2) -> Any:
    """Return the function as a new process would meet it."""
    path = folder / "mine.py"
    source = SOURCE.format(times=times)
    if not path.exists() or path.read_text() != source:
        path.write_text(source)
    spec = importlib.util.spec_from_file_location("mine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def kept(folder: Path, ending: str) -> Path:
    (found,) = (folder / "__pycache__").glob(f"*.{ending}")
    return found


def test_compiled_code_is_kept(tmp_path: Path) -> None:
    for before in (0, 1):
        double = started(tmp_path)
        assert double(3) == 6
        assert hits(double) == before


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x80\x05", "half", "flipped"])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_file_is_made_anew(ending: str, damage: bytes | str, tmp_path: Path) -> None:
    started(tmp_path)(3)
    path = kept(tmp_path, ending)
    whole = path.read_bytes()
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    elif damage == "half":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        path.write_bytes(bytes(byte ^ 0x55 for byte in whole))
    double = started(tmp_path)
    with pytest.warns(RuntimeWarning, match="__pycache__ cannot be used .*: it is compiled again"):
        assert double(3) == 6
    assert hits(double) == 0
    again = started(tmp_path)
    assert again(3) == 6
    assert hits(again) == 1


def test_what_may_not_be_read_is_left_alone(tmp_path: Path) -> None:
    """A folder in the place of the index can neither be read nor replaced, even by root."""
    started(tmp_path)(3)
    index = kept(tmp_path, "nbi")
    index.unlink()
    index.mkdir()
    with pytest.warns(RuntimeWarning, match="IsADirectoryError") as said:
        assert started(tmp_path)(3) == 6
    assert len(said) == 1  # though it could not be saved either
    assert index.is_dir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once in a process
        assert started(tmp_path)(3) == 6


@pytest.mark.parametrize("what", ["_save_index", "_save_data"])
def test_a_full_disk(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old code was kept for the old source, which must not come back with the new one."""
    assert started(tmp_path)(3) == 6

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, what, full)
        with pytest.warns(RuntimeWarning, match="No space left on device"):
            assert started(tmp_path, times=5)(3) == 15
    assert started(tmp_path, times=5)(3) == 15


def test_ctrl_c_while_compiled_code_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(tmp_path)(3) == 6

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_save_data", interrupt)
        with pytest.raises(KeyboardInterrupt):
            started(tmp_path, times=5)(3)
    assert started(tmp_path, times=5)(3) == 15


def test_no_place_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert started(tmp_path)(3) == 6
    assert not list(tmp_path.rglob("*.nb*"))
