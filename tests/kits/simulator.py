"""A whole service in one process, without time or luck of its own: everything follows from a seed.

One process owns a log, or up to four share it. Clients send requests through a network that drops,
repeats and reorders, a repeat maybe to another process. Disks refuse to write, processes die before
or after a commit, with and without the turn, sessions are lost, a server fails for all at once;
fits finish late, never, or after a restart. What must hold is said in `simulated_clients` and in
the methods that begin with `check`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from greenlet import greenlet

from kits.service import bits
from kits.simulated_clients import ARMS, USERS, Request, wrong_in
from kits.simulated_disk import ALONE, SHARED
from kits.simulated_process import Running, Worker
from kits.simulated_processes import Broken
from kits.simulated_promises import Promises
from lumpable.lumps.use.believer import Believer
from lumpable.stores.law import StoreError


class Simulator(Promises):
    """One life of a service, from a seed."""

    def __init__(self, seed: int, folder: Path, steps: int = 60) -> None:
        super().__init__(seed, folder)
        self.steps = steps

    # --- Steps --------------------------------------------------------------------------------

    def run(self) -> None:
        """Take all steps, then let everything come to rest; promises are checked on the way."""
        try:
            self.begin()
            for _ in range(self.steps):
                self.step()
                self.check_versions()
            self.rest()
        except Broken:
            raise
        except Exception as error:
            raise self.broken(f"{type(error).__name__}: {error}") from error
        finally:
            for worker in self.workers:
                worker.die()

    def begin(self) -> None:
        """Some arms, and almost enough rewards for a first fit."""
        first, users = self.workers[0].e, self.clients.users
        assert first is not None
        for k in range(10):
            users[f"first {k}"] = USERS[k % 4]

        def work() -> None:
            for arm in ARMS[:2]:
                first.add_arm(arm)
            for k, event in enumerate(users):
                first.observe(USERS[k % 4], ARMS[k % 2], event=event)
            first.reward_many([(e, self.clients.rewards[k % 2]) for k, e in enumerate(users)])

        self.finish(self.workers[0], "begin", work)

    def step(self) -> None:
        weights = {
            self.new_request: 8, self.deliver: 14, self.commit: 9, self.pass_time: 3,
            self.finish_fit: 3, self.fault: 1, self.restart: 0.9, self.compare: 1, self.burst: 2,
            self.take_snapshot: 0.9, self.follow: 2 * self.shared, self.lose: 0.6 * self.shared,
        }  # fmt: skip
        self.rng.choices(list(weights), list(weights.values()))[0]()
        self.restart_dead()

    def new_request(self) -> None:
        self.clients.ask(self.clock.now)

    def burst(self) -> None:
        """Several decisions with their rewards: soon a fit is due."""
        for _ in range(4):
            request = self.clients.decision(self.clock.now)
            self.serve(request)
            self.serve(self.clients.reward(request.event, self.clock.now))

    def deliver(self) -> None:
        sent = self.clients.next()
        if sent is not None and sent[1]:
            self.serve(sent[0])

    def serve(self, request: Request) -> Running | None:
        worker = self.some()
        if worker is None:
            return None
        if request.verb == "forget":  # from now on it may be gone
            self.promised = {k: u for k, u in self.promised.items() if u != request.about[0]}
            self.forgets[request.about[0]] += 1
        method = getattr(worker.e, request.verb)
        self.say(f"{worker.name}: {request}")
        call = greenlet(lambda: method(*request.about, **request.more))
        running = Running(str(request), call, self.disk.last, self.forgets.copy(), request)
        self.go_on(worker, running)
        return running

    def commit(self) -> None:
        worker = self.rng.choice(self.workers)
        if worker.commit():
            self.say(f"{worker.name}: commit up to {self.disk.last}")
        if self.rng.random() < 0.7:
            self.go_on_all()

    def pass_time(self) -> None:
        self.clock.now += self.rng.choice([0.01, 1, 1, 4, 11])

    def finish_fit(self) -> None:
        if (worker := self.some()) and worker.fits.waiting:
            waiting = worker.fits.waiting
            taken, done = waiting.pop(self.rng.randrange(len(waiting)))
            self.call(worker, "a fit is made", lambda: done(Believer.fit(taken)))

    def take_snapshot(self) -> None:
        """The elected process writes a snapshot, as it does every so many entries."""
        worker = self.some()
        if worker and worker.sound and worker.lock.owner is None and worker.writer.idle:
            e: Any = worker.e
            try:
                if e._snapshots.due(e._ledger, 1) and e._turns.elected():
                    self.say(f"{worker.name}: snapshot")
                    e._snapshots.write(e._ledger, e._writer.so_far())
                    e._snapshots.finish()
            except StoreError as error:
                self.say(f"  {error}")

    def follow(self) -> None:
        if worker := self.some():
            self.call(worker, "follow", worker.e.follow)  # type: ignore[union-attr]

    def fault(self) -> None:
        worker = self.rng.choice(self.workers)
        worker.store.next = self.rng.choice(SHARED if self.shared else ALONE)
        self.say(f"{worker.name}: fault: {worker.store.next}")

    def lose(self) -> None:
        """Sessions are lost: of one process, or with the server those of all."""
        everybody = self.rng.random() < 0.5
        self.say("the server fails" if everybody else "sessions are lost")
        for worker in self.workers if everybody else [self.rng.choice(self.workers)]:
            worker.store.lose()
            worker.store.lost_reading = everybody or self.rng.random() < 0.5

    def restart(self) -> None:
        """Stop and start, in good order or not."""
        worker = self.rng.choice(self.workers)
        if worker.e is None or self.rng.random() < 0.5:
            self.say(f"{worker.name}: killed")
            self.kill(worker)
        elif not worker.ending:
            worker.ending = True
            self.call(worker, "close", worker.e.close)

    # --- The end ------------------------------------------------------------------------------

    def rest(self) -> None:
        """Deliver all, wait until every window has closed, and compare with a replay."""
        for worker in self.workers:
            worker.store.next = ""
        while self.clients.network:
            self.sent_to_the_end(self.clients.network.pop(0))
        for seconds in (100, 100, 0):
            self.clock.now += seconds
            for k in range(len(self.workers)):
                self.at_last(lambda k=k: self.looks(k))  # type: ignore[misc]
        if calls := self.waiting():
            raise self.broken(f"never answered: {[running.name for running in calls]}")
        log = list(self.disk.entries())
        if why := wrong_in(log) or self.disk.verify():
            raise self.broken(str(why))
        self.check_replays()

    def sent_to_the_end(self, request: Request) -> None:
        def sent() -> bool:
            running = self.serve(request)
            while not running.call.dead if running else any(w.calls for w in self.workers):
                if running and running not in self.waiting():
                    return False  # it died with its process
                self.push()
            self.restart_dead()
            return running is not None and running.failed is None

        self.at_last(sent)

    def looks(self, k: int) -> bool:
        """Whether a process is there, has seen all, and is right."""
        self.restart_dead()
        worker = self.workers[k]
        while worker.calls:
            self.push()
        if not worker.up:
            return False
        done = self.finish(worker, "compare", lambda: self.check_evidence(worker))
        worker.commit()
        return done and worker.sound

    def at_last(self, work: Callable[[], bool]) -> None:
        """Try it until it is done: everything works again when the cause is gone."""
        for _ in range(8):
            if work():
                return
        raise self.broken("it does not work again")

    def check_replays(self) -> None:
        """All processes, and new ones with a snapshot and without, have the same bits."""
        was = {(bits(w.e), str(w.e.evidence())) for w in self.workers if w.e is not None}
        if len(was) > 1:
            raise self.broken("processes differ")
        for what in ("with a snapshot", "from the log alone"):
            path = self.snapshot if what == "with a snapshot" else None
            again = Worker(9, self.disk, self.rules, self.clock, shared=self.shared, snapshot=path)
            e = again.opened()
            if (bits(e), str(e.evidence())) not in was:
                raise self.broken(f"a replay {what} differs")
            again.die()
            self.disk.aside.clear()
