"""What every answer of a simulated service promises, and whether it is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kits.simulated_clients import ARMS, SECOND, Request, held, literal
from kits.simulated_process import Running, Worker
from kits.simulated_processes import Processes
from lumpable.base.units import Name


class Promises(Processes):
    """Processes whose answers are held against the disk."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.answers: dict[str, Any] = {}
        self.promised: dict[tuple[Any, ...], Name | None] = {}
        """What was acknowledged, and the user whose forgetting may take it away."""
        super().__init__(seed, folder)

    def answered(self, running: Running, request: Request, result: Any) -> None:
        super().answered(running, request, result)
        self.say(f"  answered: {running.name}")
        event, user = request.event, self.clients.users.get(request.event)
        if running.forgets is None or self.forgets[user] != running.forgets[user]:  # type: ignore[index]
            return  # what was written may be gone by now
        if self.forgetting(user):
            return
        if request.verb in ("decide", "observe"):
            self.check_decision(result)
        elif request.verb == "reward" and "at" in request.more:
            at, key = round(request.more["at"] * SECOND), request.more["key"]
            self.promise(("rewarded", event, at, round(request.about[1] * SECOND), key), user)
        elif request.verb == "activate":
            own = [entry for _, entry in self.disk.entries() if entry.event == event]
            if not any(entry.kind == "activated" or entry.active for entry in own):
                raise self.broken(f"activation of {event} was answered and not written")
        elif request.verb == "forget":
            self.check_forgotten(request.about[0], running.last)

    def check_forgotten(self, user: str, last: int) -> None:
        left = [n for n, entry in self.disk.entries() if entry.user == user]
        if left and left[0] <= last:
            raise self.broken(f"{user} was forgotten and is still there")
        beside = [b for kept in self.disk.aside.values() for b in kept.values()]
        if not left and any(user.encode() in content for content in beside):
            raise self.broken(f"{user} was forgotten and is still put aside")

    def check_decision(self, made: Any) -> None:
        key = ("decided", made.event, made.user, made.arm, made.version)
        first = self.answers.get(made.event)
        if first in self.promised and first != key:
            raise self.broken(f"{made.event} was decided as {first}, then as {key}")
        self.answers[made.event] = key
        self.promise(key, made.user)

    def promise(self, key: tuple[Any, ...], user: Name | None) -> None:
        if key not in held(self.disk.entries()):
            raise self.broken(f"answered and not written: {key}")
        self.promised[key] = user

    def check_versions(self) -> None:
        for worker in self.workers:
            if worker.sound and worker.e is not None:
                now = worker.e._ledger.version
                if now < worker.version:
                    raise self.broken(f"{worker.name}: version {now} after {worker.version}")
                worker.version = now

    def compare(self) -> None:
        """What is in memory is what the log and what was handed in come to."""
        if kept := [key for key in self.promised if key not in held(self.disk.entries())]:
            raise self.broken(f"acknowledged and lost: {kept}")
        if worker := self.some():
            self.call(worker, "compare", lambda: self.check_evidence(worker))

    def check_evidence(self, worker: Worker) -> None:
        e: Any = worker.e
        with worker.lock, e.without_waiting():
            e.add_arm(ARMS[0])  # time may have passed since the last call
            if worker.sound:
                log = [entry for _, entry in self.disk.entries()] + worker.writer.handed()
                found, expected = e.evidence(), literal(log, self.rules, self.clock())
                if found != expected:
                    raise self.broken(f"{worker.name}: evidence {found}, expected {expected}")
