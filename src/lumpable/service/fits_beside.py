"""Where fits are made: in a process beside this one, or at once.

The process is a plain child with two pipes. It needs no guard in the caller's script, and it ends
when this one does. What goes through the pipes is pickled by one of them and read by the other:
nobody else can write there.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from lumpable.lumps.core.parts_compiled import of_fits
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.believer import Believer, FitInput

Done = Callable[[Fit], None]
FIRST_WAIT, LONGEST_WAIT = 0.01, 60.0
"""Seconds before another child is started."""
LOG = logging.getLogger(__name__)
NICER = 5
"""How much the child gives way to who decides, where processors are short."""


class Fitter(Protocol):
    """Makes fits, one after the other."""

    @property
    def failed(self) -> int:
        """How often it has failed since it last made one."""

    def prepare(self) -> None:
        """Begin to get ready for the first fit."""

    def start(self, taken: FitInput, done: Done) -> None:
        """Begin a fit; `done` is called with it when it is made, maybe from another thread."""

    def close(self) -> None:
        """Give up what was begun."""


class InlineFitter:
    """Fits while the caller waits: for scripts, simulations and replays."""

    failed = 0
    """Who waits gets the error."""

    def prepare(self) -> None:
        """Nothing can be done before."""

    def start(self, taken: FitInput, done: Done) -> None:
        """Fit."""
        done(Believer.fit(taken))

    def close(self) -> None:
        """Nothing was begun."""


class BackgroundFitter:
    """Fits in a child process, started when it is first needed; if it dies, another is started.

    One fit at a time: the child answers in order, and nobody may take what another one asked for.
    """

    def __init__(self) -> None:
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = threading.Event()
        self._died = self._refused = 0
        """How often in a row the child did, and whoever asked for a fit could not adopt it."""

    @property
    def failed(self) -> int:
        """How often it has failed since a fit was last made and adopted."""
        return self._died + self._refused

    def prepare(self) -> None:
        """Start the child, which compiles what fits call before it is asked for one."""
        with contextlib.suppress(OSError):  # the first fit tries again
            self._running()

    def start(self, taken: FitInput, done: Done) -> None:
        """Send what was taken, and wait for the fit in a thread."""
        threading.Thread(target=self._make, args=(taken, done), daemon=True).start()

    def _make(self, taken: FitInput, done: Done) -> None:
        with self._turn:
            made = self._ask_until_answered(taken)
        if made is None or self._closed.is_set():
            return
        try:
            done(made)
            self._refused = 0
        except Exception:  # a bug: who decides goes on without this fit, and health says so
            self._refused += 1
            LOG.exception("a fit could not be adopted; it is made once more")

    def _ask_until_answered(self, taken: FitInput) -> Fit | None:
        """Ask until there is an answer, not at once after a failure; None: it is closed."""
        while not self._closed.wait(self._pause):
            with contextlib.suppress(OSError, EOFError, ValueError, pickle.UnpicklingError):
                if child := self._running():
                    made = _ask(child, taken)
                    self._died = 0
                    return made
            self._died += 1
            self._end()  # the child died: once more with another one
        return None

    @property
    def _pause(self) -> float:
        """How long to wait after so many failures."""
        return min(FIRST_WAIT * 2.0 ** min(self.failed - 1, 30), LONGEST_WAIT * bool(self.failed))

    def _running(self) -> subprocess.Popen[bytes] | None:
        """Return the child; None: it is closed."""
        with self._lock:
            if self._child is None and not self._closed.is_set():
                # -P: nothing in the current folder is taken for a module, unless it is on the path
                command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
                self._child = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment()
                )
            return self._child

    def _end(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):  # what was not sent yet
                    if pipe is not None:
                        pipe.close()
            child.wait()

    def close(self) -> None:
        """End the child, whatever it is at; who waits for it gives up."""
        self._closed.set()
        with self._lock:
            if self._child is not None:
                self._child.kill()
        with self._turn:
            self._end()


def _ask(child: subprocess.Popen[bytes], taken: FitInput) -> Fit:
    to, back = child.stdin, child.stdout
    assert to is not None
    assert back is not None
    pickle.dump(taken, to)
    to.flush()
    made: Fit = pickle.load(back)
    return made


def child_environment() -> dict[str, str]:
    """Return the environment of a child that finds the same packages."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def serve() -> None:
    """Fit what comes in until nothing comes any more: the child's whole life."""
    come, go = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed must not mix with fits
    if hasattr(os, "nice"):
        os.nice(NICER)
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        gc.disable()  # the compiler leaves little behind, and looking for it is a tenth of its work
        for part in of_fits():
            part.make()
        gc.freeze()
        gc.enable()
        while True:
            pickle.dump(Believer.fit(pickle.load(come)), go)
            go.flush()
