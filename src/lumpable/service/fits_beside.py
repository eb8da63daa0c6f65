"""Where fits are made: in a process beside this one, or at once.

The process is a plain child with two pipes. It needs no guard in the caller's script, and it ends
when this one does. What goes through the pipes is pickled by one of them and read by the other:
nobody else can write there.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.believer import Believer, Taken

Done = Callable[[Fit], None]


class Fitter(Protocol):
    """Makes fits, one after the other."""

    def start(self, taken: Taken, done: Done) -> None:
        """Begin a fit; `done` is called with it when it is made, maybe from another thread."""

    def close(self) -> None:
        """Give up what was begun."""


class AtOnce:
    """Fits while the caller waits: for scripts, simulations and replays."""

    def start(self, taken: Taken, done: Done) -> None:
        """Fit."""
        done(Believer.fit(taken))

    def close(self) -> None:
        """Nothing was begun."""


class Beside:
    """Fits in a child process, started when it is first needed; if it dies, another is started."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start(self, taken: Taken, done: Done) -> None:
        """Send what was taken, and wait for the fit in a thread."""
        threading.Thread(target=self._make, args=(taken, done), daemon=True).start()

    def _make(self, taken: Taken, done: Done) -> None:
        while not self._closed:
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                made = self._asked(taken)
                if not self._closed:
                    done(made)
                return
            self._end()  # the child died: once more with another one

    def _asked(self, taken: Taken) -> Fit:
        if self._child is None:
            command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
            )
        to, back = self._child.stdin, self._child.stdout
        assert to is not None
        assert back is not None
        pickle.dump(taken, to)
        to.flush()
        made: Fit = pickle.load(back)
        return made

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def close(self) -> None:
        """End the child, whatever it is at."""
        self._closed = True
        self._end()


def _environment() -> dict[str, str]:
    """Return the environment of a child that finds the same packages."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def serve() -> None:
    """Fit what comes in until nothing comes any more: the child's whole life."""
    come, go = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed must not mix with fits
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            pickle.dump(Believer.fit(pickle.load(come)), go)
            go.flush()
