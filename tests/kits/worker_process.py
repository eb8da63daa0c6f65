"""Worker processes on one PostgreSQL database, which may be killed; what they were told is kept.

A worker reads jobs from its pipe, a JSON line each, does them, and says so when they are durable.
It tries again what fails with `StoreError`, but for a deadlock or a conflict of transactions, which
may never reach a caller, and for what nobody can tell the cause of; these, and any other error, end
it, and are shown.
"""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

WORK = """
import json, sys, time
sys.path.insert(0, sys.argv[3])
import lumpable as lb
from kits.service import bits
from lumpable.stores.law import StoreError
from kits.worker_process import never
failures = 0
def again(work):
    global failures
    while True:
        try:
            return work()
        except StoreError as error:
            if never(error) or error.kind == "other":
                raise RuntimeError("callers may not see this") from error
            failures += 1
            time.sleep(0.05)
e = again(lambda: lb.open(sys.argv[1], ["red", "green"], rewards="binary", fits=sys.argv[2]))
print(json.dumps(["ready"]), flush=True)
for line in sys.stdin:
    verb, event, *about = json.loads(line)
    if verb == "decide":
        made = again(lambda: e.decide(about[0], event=event))
        print(json.dumps([verb, event, made.arm, made.version]), flush=True)
    elif verb == "reward":
        again(lambda: e.reward(event, about[0], at=about[1]))
        print(json.dumps([verb, event]), flush=True)
    elif verb == "digest":
        again(lambda: e.add_arm("red"))
        with e._lock:
            found = [verb, e.digest(), e._ledger.number, failures, bits(e)]
        print(json.dumps(found), flush=True)
e.close()
"""
KITS = Path(__file__).parents[1]
NEVER = "40P01", "40001", "55P03"
"""What PostgreSQL calls a deadlock, a conflict of transactions, and a wait that was cut short."""


def never(error: BaseException) -> bool:
    """Whether no caller may see this error: the order of locks must rule it out."""
    words = str(error).lower()
    code = getattr(error.__cause__, "sqlstate", None)
    return code in NEVER or "deadlock" in words or "could not serialize" in words


Job = list[str | float]


class WorkerProcess:
    """A child that works; its answers go into one queue with those of others."""

    def __init__(self, address: str, answers: queue.Queue[list[str]], fits: str) -> None:
        command = [sys.executable, "-c", WORK, address, fits, str(KITS)]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.ready, self._answers = threading.Event(), answers
        self.last: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            if line.endswith("\n"):
                self.last = json.loads(line)
                self._answers.put(self.last)
                self.ready.set()

    def send(self, job: Job) -> None:
        """Give it a job; one that is dead loses it."""
        assert self.child.stdin is not None
        with contextlib.suppress(OSError):
            self.child.stdin.write(json.dumps(job) + "\n")
            self.child.stdin.flush()

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.ended()

    def ended(self) -> str:
        """Wait until it is gone; return what it complained of."""
        if self.child.stdin is not None:
            with contextlib.suppress(OSError):
                self.child.stdin.close()
        self._reader.join()
        assert self.child.stderr is not None
        assert self.child.stdout is not None
        with self.child.stderr, self.child.stdout:
            said = self.child.stderr.read()
        self.child.wait()
        return said
