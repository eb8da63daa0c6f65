"""Fits come late, twice, or of what was lost: only the one that was asked for last is adopted."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kits.service import Later, bits, opened
from lumpable.lumps.use.believer import FitInput
from lumpable.service import fits_beside
from lumpable.service.fits_beside import BackgroundFitter
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import StoreError


def fill(e: LiveExperiment, first: int, last: int, value: float = 1.0) -> None:
    for k in range(first, last):
        e.reward(e.observe(f"u{k % 4}", "red", event=f"{k}").event, value * (k % 2))


def test_a_fit_of_what_was_lost_is_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version would be the same, its evidence is another."""
    store, later = MemoryStore(), Later()
    e = opened(store, fitter=later)
    fill(e, 0, 9)

    def refuse(*_: object) -> int:
        raise StoreError("the disk is full; nothing was written")

    with monkeypatch.context() as broken:
        broken.setattr(store, "append", refuse)
        with pytest.raises(StoreError):
            e.reward_many([("8", 1.0), ("7", 0.25), ("6", 0.75)], at=10.0)  # a fit is due
    assert len(later._waiting) == 1
    fill(e, 20, 24, 0.0)  # another fit is due
    assert len(later._waiting) == 2
    later.finish()
    e._writer.so_far().result()
    assert e.status().version == 1
    assert bits(opened(store, fitter=Later(), arms=())) == bits(e)


def test_everyone_gets_the_fit_they_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads share one child; it answers each with what it sent."""
    child = "import sys, pickle, os\nwhile True:\n pickle.dump(pickle.load(sys.stdin.buffer), \
sys.stdout.buffer); sys.stdout.buffer.flush()"
    monkeypatch.setattr(fits_beside, "__name__", "os import path; exec(" + repr(child) + ") #")
    fitter, got = BackgroundFitter(), dict[int, object]()
    all_here = threading.Event()

    def come(k: int, made: object) -> None:
        got[k] = made
        if len(got) == 20:
            all_here.set()

    for k in range(20):
        taken: FitInput = (k, "x" * 1000 * k)  # type: ignore[assignment]
        fitter.start(taken, lambda made, k=k: come(k, made))  # type: ignore[misc]
    assert all_here.wait(60)
    fitter.close()
    assert got == {k: (k, "x" * 1000 * k) for k in range(20)}


def test_modules_of_the_current_folder_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder may be somebody else's; who imported lumpable took it from elsewhere."""
    for name in ("lumpable", "numpy", "pickle"):
        (tmp_path / f"{name}.py").write_text("open('was run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    words = "lumpable.lumps.use.believer import Believer; import pickle, sys; sys.stdin.read() #"
    monkeypatch.setattr(fits_beside, "__name__", words)
    fitter = BackgroundFitter()
    child = fitter._running()
    assert child is not None
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait() == 0
    fitter.close()
    assert not (tmp_path / "was run").exists()


def test_closing_ends_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the child works, does not start, or dies at once: nothing hangs, no thread stays."""
    for code in ("os import path; import time; time.sleep(100) #", "os import nothing #"):
        monkeypatch.setattr(fits_beside, "__name__", code)
        fitter = BackgroundFitter()
        monkeypatch.setattr(sys, "stderr", None)
        before = threading.active_count()
        fitter.start((1, 2), lambda _: None)  # type: ignore[arg-type]
        threading.Event().wait(0.2)
        closing = threading.Thread(target=fitter.close, daemon=True)
        closing.start()
        closing.join(30)
        assert not closing.is_alive()
        assert threading.active_count() <= before
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: _raise(OSError(24)))
    fitter = BackgroundFitter()
    fitter.start((1, 2), lambda _: None)  # type: ignore[arg-type]
    fitter.close()


def _raise(error: Exception) -> None:
    raise error
