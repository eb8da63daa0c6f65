"""The life of an experiment behind a server: opened beside, warmed up, ready, closed.

The server listens from the first moment, and says that it is not ready yet.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from lumpable.http.gathering import Gathering
from lumpable.http.json_logs import Log
from lumpable.http.refusals import later
from lumpable.service.live_experiment import LiveExperiment

Stage = Literal["opening", "warming", "ready", "closing", "failed"]
LEAVE = 3.0
"""Seconds that whoever stops it waits for the compiler, or for an opening."""
CALLS, READS = 16, 2
"""Threads for calls that take long, and for reads."""


def may_write(path: Path) -> bool:
    """Whether this process may write a file of SQLite, what lies beside it, and their folder.

    Nothing is written to find out. What only the first write shows, a full disk, is not seen here.
    """
    files = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
    there = [file for file in files if file.exists()]
    return all(os.access(each, os.W_OK) for each in (path.absolute().parent, *there))


class Life:
    """Opens an experiment in a thread, and closes it."""

    def __init__(
        self, opener: Callable[[], LiveExperiment], log: Log,
        warmer: Callable[[LiveExperiment], None] = LiveExperiment.warm,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        self._opener, self._warmer, self._log = opener, warmer, log
        self._may_write = may_write
        self.on_failure: Callable[[], None] = lambda: None
        """Called when the experiment cannot be opened."""
        self.on_ready: Callable[[], None] = lambda: None
        """Called when everything is done that callers could wait for; returns at once."""
        self.stage: Stage = "opening"
        self.failure: BaseException | None = None
        self._experiment: LiveExperiment | None = None
        self.begun = time.monotonic()
        self.quick = Gathering(lambda: self.experiment)
        self.calls = ThreadPoolExecutor(CALLS, "lumpable call")
        self.reads = ThreadPoolExecutor(READS, "lumpable read")
        self.looks = ThreadPoolExecutor(1, "lumpable look")
        self._turn, self._stopping = threading.Lock(), False
        self._thread = threading.Thread(target=self._run, name="lumpable opening", daemon=True)

    def start(self) -> None:
        """Begin to open."""
        self._thread.start()

    def _run(self) -> None:
        try:
            if not self._open():
                return
            self._warmer(self.experiment)  # ends early when the experiment is closed
            with self._turn:
                if self._stopping:
                    return
                self.stage = "ready"
        except BaseException as error:
            self.failure, self.stage = error, "failed"
            self.on_failure()
            return
        if not self.writable:
            self._log.say("store", "error", cause="read-only")
        self._log.say("ready", seconds=round(time.monotonic() - self.begun, 3))
        self.on_ready()

    def _open(self) -> bool:
        """Open the experiment; False: nobody needs it any more."""
        experiment = self._opener()
        with self._turn:
            if not self._stopping:
                self._experiment, self.stage = experiment, "warming"
                return True
        experiment.close()
        return False

    @property
    def writable(self) -> bool:
        """Whether the store can be written, as far as one can see without writing."""
        return self._experiment is None or self._may_write()

    @property
    def ready(self) -> bool:
        """Whether callers will be served, and at once."""
        return self.stage == "ready" and self.writable

    @property
    def opened(self) -> LiveExperiment | None:
        """The experiment, if it is open."""
        return self._experiment

    @property
    def experiment(self) -> LiveExperiment:
        """The experiment; while it is opened, callers are told to come again."""
        if self._experiment is None:
            raise later("service", "a service that is ready (see /ready)", "it is still starting")
        return self._experiment

    def finish(self) -> None:
        """Wait until what callers handed in is durable; calling it twice is fine."""
        self.quick.close()
        self.calls.shutdown()

    def close(self) -> None:
        """Finish what was handed in, and close the experiment, with a snapshot.

        What is compiled, or opened, stops where it can, and is waited for a few seconds.
        """
        with self._turn:
            self._stopping = True
            if self.stage != "failed":
                self.stage = "closing"
        self.finish()
        self.reads.shutdown()
        self.looks.shutdown(wait=False, cancel_futures=True)
        if self._experiment is not None:
            self._experiment.close()
        self._thread.join(LEAVE)

    @property
    def left_behind(self) -> bool:
        """Whether something is still being opened or compiled; Python cannot end beside it."""
        return self._stopping and self._thread.is_alive()
