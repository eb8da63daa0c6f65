"""Several processes of a simulated service on one disk: who runs, who waits, who is dead."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from greenlet import greenlet

from kits.service import Clock, settings
from kits.simulated_clients import Clients, Request
from kits.simulated_disk import Disk
from kits.simulated_process import Running, Worker
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.stores.law import StoreError


class Broken(AssertionError):
    """A promise was broken; the message holds the steps that led there."""


class Processes:
    """Processes and the calls in them; what an answer promises is said elsewhere."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng, self.done = random.Random(seed), list[str]()
        self.seed, self.clock, self.disk = seed, Clock(), Disk()
        rng = self.rng
        window = rng.choice([None, 5, 20])
        self.rules = settings(
            window=window, default=rng.choice([None, 0.0, 0.5]) if window else None,
            repeated=rng.choice(["first", "last", "sum"]), hold_back=rng.choice([0.0, 0.3]),
        )  # fmt: skip
        self.shared = rng.random() < 0.75
        self.snapshot = folder / f"{seed}.snapshot" if rng.random() < 0.5 else None
        self.clients = Clients(rng)
        if self.clients.rewards == (0.0, 1.0) and self.rules.default in (None, 0):
            self.rules = msgspec.structs.replace(self.rules, rewards="binary")
        self.forgets: Counter[Name] = Counter()
        self.say(str(self.rules))
        number = rng.choice([1, 2, 2, 3, 4]) if self.shared else 1
        self.workers = [self.started(k) for k in range(number)]

    def answered(self, running: Running, request: Request, result: Any) -> None:
        """Take notice of an answer."""
        request.answered = True

    def say(self, words: str) -> None:
        self.done.append(f"{self.clock.now:6.0f} {words}")

    def broken(self, why: str) -> Broken:
        return Broken(f"seed {self.seed}: {why}\n" + "\n".join(self.done))

    def started(self, name: int) -> Worker:
        snapshot = None if self.shared else self.snapshot
        worker = Worker(
            name, self.disk, self.rules, self.clock, shared=self.shared, snapshot=snapshot
        )
        self.go_on(worker, Running("start", greenlet(worker.boot)))
        return worker

    def call(self, worker: Worker, name: str, work: Callable[[], object]) -> Running:
        """Begin a call, and run it until it waits or ends."""
        self.say(f"{worker.name}: {name}")
        running = Running(name, greenlet(work), self.disk.last, self.forgets.copy())
        self.go_on(worker, running)
        return running

    def go_on(self, worker: Worker, running: Running) -> None:
        if running in worker.calls:
            worker.calls.remove(running)
        try:
            result = running.call.switch()
        except BadArgument as error:
            self.say(f"  {worker.name}: refused: {error}")
            if running.request is not None:
                running.request.answered = True
                if running.request.verb in ("reward", "observe"):
                    raise self.broken(f"refused, and nothing is wrong with it: {error}") from error
        except StoreError as error:
            self.say(f"  {worker.name}: {running.name} failed: {error}")
            if error.kind == "other":
                raise self.broken(f"nobody knows why: {error}") from error
            running.failed = error
        else:
            if not running.call.dead:
                running.ready = result
                worker.calls.append(running)
            elif running.request is not None and not worker.store.dead:
                self.answered(running, running.request, result)
        if running.call.dead:
            self.ended(running)
        if worker.wrong:
            raise self.broken(f"process {worker.name}: {worker.wrong}")

    def ended(self, running: Running) -> None:
        """Nothing of a call can happen any more."""
        if running.request is not None and running.request.verb == "forget":
            self.forgets[running.request.about[0]] += 1

    def kill(self, worker: Worker) -> None:
        for running in worker.calls:
            self.ended(running)
        worker.die()

    def restart_dead(self) -> None:
        """Start what died, or could not start."""
        for k, worker in enumerate(self.workers):
            ended = worker.store.dead or (worker.ending and not worker.calls)
            if ended or (worker.e is None and not worker.calls):
                self.kill(worker)
                self.say(f"{worker.name}: started")
                self.workers[k] = self.started(worker.name)

    def some(self) -> Worker | None:
        return self.rng.choice([worker for worker in self.workers if worker.up] or [None])

    def forgetting(self, user: Name | None) -> bool:
        """Whether somebody is being forgotten: what is written of them now may be gone soon."""
        requests = [running.request for running in self.waiting()]
        return any(r.verb == "forget" and r.about[0] == user for r in requests if r is not None)

    def waiting(self) -> list[Running]:
        return [running for worker in self.workers for running in worker.calls]

    def ready(self) -> list[tuple[Worker, Running]]:
        return [(w, r) for w in self.workers if not w.store.dead for r in w.calls if r.ready()]

    def go_on_all(self) -> None:
        """Go on with everybody who may, once each, in any order."""
        waiting = self.ready()
        self.rng.shuffle(waiting)
        for worker, running in waiting:
            if running in worker.calls and running.ready():
                self.go_on(worker, running)

    def finish(self, worker: Worker, name: str, work: Callable[[], object]) -> bool:
        """Run a call to its end, while others go on; False: it failed, or the process died."""
        running = self.call(worker, name, work)
        while not running.call.dead and not worker.store.dead:
            self.push()
        return running.failed is None and not worker.store.dead

    def push(self) -> None:
        """Let something happen in the processes; if nothing can, they wait for each other."""
        self.restart_dead()
        committed = [w.commit() for w in self.workers]
        if self.waiting() and not any(committed) and not self.ready():
            raise self.broken(f"deadlock: {[running.name for running in self.waiting()]}")
        self.go_on_all()
