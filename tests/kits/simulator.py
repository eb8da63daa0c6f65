"""A whole service in one process, without time or luck of its own: everything follows from a seed.

Clients send requests through a network that drops, repeats and reorders; the service runs on a disk
that refuses to write or loses power before or after a commit; fits finish late, never, or after a
restart. Each call runs in a greenlet and stands still where it waits for its commit, so that others
come between. What must hold is said in `literal` and in the methods that begin with `check`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greenlet import getcurrent, greenlet

from kits.service import Clock, bits, settings
from lumpable.base.errors import BadArgument
from lumpable.lumps.use.believer import Believer, Taken
from lumpable.service.fits_beside import Done
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.settings import Settings
from lumpable.service.writer import Writer
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import Store, StoreError
from lumpable.stores.log_entries import Entry, Name

ARMS, USERS = ("red", "green", "blue", "grey"), tuple(f"u{k}" for k in range(5))
SECOND = 1_000_000


# --- What must come out ----------------------------------------------------------------------


def literal(entries: list[Entry], rules: Settings, now: int) -> list[tuple[Any, ...]]:
    """Return the evidence of a set of entries at a time, as the promises say it."""
    events: dict[str, list[Entry]] = {}
    for entry in entries:
        events.setdefault(entry.event, []).append(entry)
    table: Counter[tuple[Any, ...]] = Counter()
    for own in events.values():
        for d in (entry for entry in own if entry.kind == "decided"):
            end = float("inf") if rules.window is None else rules.window
            sent = {(e.at, e.value, e.detail) for e in own if e.kind == "rewarded"}
            values = [value for at, value, _ in sorted(sent) if abs(at - d.at) <= end]
            shown = d.active or any(e.kind == "activated" for e in own)
            if not values and rules.default is not None and shown and now > d.at + end:
                values = [rules.default]
            if values:
                which = {"first": values[0], "last": values[-1], "sum": sum(values)}  # type: ignore[arg-type]
                table[d.user, d.arm, which[rules.repeated]] += 1
    return sorted((*cell, times) for cell, times in table.items())


# --- A disk, and a process that may die -------------------------------------------------------


class Fault:
    """What happens to the next write, if anything."""

    REFUSED, CUT_BEFORE, CUT_AFTER = "refused", "cut before", "cut after"


class Disk(MemoryStore):
    """What outlives processes."""

    def __init__(self) -> None:
        super().__init__(salt=lambda: b"salt")


class Mounted(Store):
    """The disk as one process sees it: after a power cut nothing reaches it, or comes back."""

    def __init__(self, disk: Disk) -> None:
        self._disk, self.dead = disk, False
        self.next: str = ""
        """The fault of the next write."""

    def _write(self, change: Callable[[], int]) -> int:
        fault, self.next = self.next, ""
        if self.dead or fault == Fault.REFUSED:
            raise StoreError("the disk is full; nothing was written")
        if fault == Fault.CUT_BEFORE:
            self.dead = True
            raise StoreError("the power was cut")
        result = change()
        if fault == Fault.CUT_AFTER:
            self.dead = True
            raise StoreError("the power was cut, after all")
        return result

    @property
    def last(self) -> int:
        return self._disk.last

    @property
    def settings(self) -> bytes:
        return self._disk.settings

    def configure(self, settings: bytes) -> None:
        self._disk.configure(settings)

    def append(self, entries: Any) -> int:
        return self._write(lambda: self._disk.append(entries)) if entries else self.last

    def entries(self, after: int = 0) -> Iterator[tuple[int, Entry]]:
        return self._disk.entries(after)

    def about(self, event: str) -> list[tuple[int, Entry]]:
        return self._disk.about(event)

    def digest(self, number: int) -> bytes:
        return self._disk.digest(number)

    def erase(self, user: Name) -> int:
        return self._write(lambda: self._disk.erase(user))

    def verify(self) -> list[Any]:
        return self._disk.verify()

    def close(self) -> None: ...


class Waited(Future[None]):
    """A commit: who waits for it stands still until the simulator goes on with them."""

    writer: Driven

    def result(self, timeout: float | None = None) -> None:
        while not self.done():
            if self.writer.locked() or getcurrent().parent is None:
                self.writer.commit()  # nobody else can come between
            else:
                getcurrent().parent.switch(self)
        return super().result(0)


class Driven(Writer):
    """A writer without a thread: the simulator says when it commits."""

    locked: Callable[[], bool] = staticmethod(lambda: True)

    def start(self) -> None: ...

    def hand_in(self, entries: Any) -> Future[None]:
        return self._waited(super().hand_in(entries))

    def so_far(self) -> Future[None]:
        return self._waited(super().so_far())

    def _waited(self, inner: Future[None]) -> Waited:
        done = Waited()
        done.writer = self

        def pass_on(made: Future[None]) -> None:
            error = made.exception()
            done.set_result(None) if error is None else done.set_exception(error)

        inner.add_done_callback(pass_on)
        return done

    def handed(self) -> list[Entry]:
        """Return what is not written yet."""
        return [entry for entries, _ in self._queue for entry in entries]

    def close(self) -> None:
        while self.commit():
            pass
        super().close()


class Fits:
    """Fits that wait until the simulator makes them, in any order."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Taken, Done]] = []

    def prepare(self) -> None: ...

    def start(self, taken: Taken, done: Done) -> None:
        self.waiting.append((taken, done))

    def close(self) -> None:
        self.waiting.clear()


# --- Clients ----------------------------------------------------------------------------------


@dataclass
class Request:
    """What a client wants: the same one is sent again until it is answered."""

    verb: str
    about: tuple[Any, ...]
    more: dict[str, Any] = field(default_factory=dict)
    sent: int = 0
    answered: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.about} {self.more or ''}".rstrip()


@dataclass
class Running:
    """A call inside the service."""

    request: Request
    call: greenlet
    last: int
    """The last entry on the disk when it came in, ..."""
    forgets: Counter[Name]
    """... and how often each user had been forgotten."""
    waits: Waited | None = None


class Broken(AssertionError):
    """A promise was broken; the message holds the steps that led there."""


class Simulator:
    """One life of a service, from a seed."""

    def __init__(self, seed: int, folder: Path | None = None, steps: int = 60) -> None:
        self.rng, self.steps, self.done = random.Random(seed), steps, list[str]()
        self.seed, self.clock, self.disk = seed, Clock(), Disk()
        rng = self.rng
        window = rng.choice([None, 5, 20])
        self.rules = settings(
            window=window, default=rng.choice([None, 0.0, 0.5]) if window else None,
            repeated=rng.choice(["first", "last", "sum"]), hold_back=rng.choice([0.0, 0.3]),
        )  # fmt: skip
        self.snapshot = None if folder is None else folder / f"{seed}.snapshot"
        self.rewards = rng.choice([(0.0, 1.0), (0.0, 1.0, 0.3)])
        self.network: list[Request] = []
        self.answers: dict[str, Any] = {}
        self.promised: dict[tuple[Any, ...], Name | None] = {}
        """What was acknowledged, and the user whose forgetting may take it away."""
        self.users: dict[str, Name] = {}
        self.forgets: Counter[Name] = Counter()
        self.events = 0
        self.say(str(self.rules))
        self.boot()
        self.begin()

    def begin(self) -> None:
        """Some arms, and almost enough rewards for a first fit."""
        for arm in ARMS[:2]:
            self.e.add_arm(arm)
        for k in range(10):
            event = self.e.observe(USERS[k % 4], ARMS[k % 2], event=f"first {k}").event
            self.users[event] = USERS[k % 4]
        self.e.reward_many([(event, self.rewards[k % 2]) for k, event in enumerate(self.users)])

    def say(self, words: str) -> None:
        self.done.append(f"{self.clock.now:6.0f} {words}")

    def broken(self, why: str) -> Broken:
        return Broken(f"seed {self.seed}: {why}\n" + "\n".join(self.done))

    def boot(self) -> None:
        self.store, self.fits = Mounted(self.disk), Fits()
        self.running: list[Running] = []
        self.e = LiveExperiment(
            self.store, self.rules, self.fits, snapshot=self.snapshot, clock=self.clock,
            writer=Driven,
        )  # fmt: skip
        self.writer: Any = self.e._writer
        self.writer.locked = self.e._lock._is_owned  # type: ignore[attr-defined]
        self.version = self.e._ledger.version

    # --- Steps --------------------------------------------------------------------------------

    def run(self) -> None:
        """Take all steps, then let everything come to rest; promises are checked on the way."""
        try:
            for _ in range(self.steps):
                self.step()
                self.check_version()
            self.rest()
        except Broken:
            raise
        except Exception as error:
            raise self.broken(f"{type(error).__name__}: {error}") from error

    def step(self) -> None:
        weights = {
            self.new_request: 8, self.deliver: 14, self.commit: 9, self.pass_time: 3,
            self.finish_fit: 1.5, self.fault: 1, self.restart: 0.7, self.compare: 1, self.burst: 2,
        }  # fmt: skip
        self.rng.choices(list(weights), list(weights.values()))[0]()
        if self.store.dead:
            self.cut()

    def new_request(self) -> None:
        rng = self.rng
        known = list(self.users)
        what = rng.random()
        if what < 0.42 or not known:
            self.network.append(self.new_decision())
        elif what < 0.84:
            event = rng.choice(known[-12:])
            more = {"at": self.clock.now + rng.choice([-8, -1, 0, 0, 0, 3]),
                    "key": rng.choice(["", "", "x"])}  # fmt: skip
            about = (event, rng.choice(self.rewards))
            self.network.append(Request("reward", about, {} if rng.random() < 0.15 else more))
        elif what < 0.88:
            self.network.append(Request("activate", (rng.choice(known[-12:]),)))
        elif what < 0.94:
            verb = rng.choice(["add_arm", "remove_arm", "pause_arm", "resume_arm"])
            self.network.append(Request(verb, (rng.choice(ARMS[1:]),)))
        else:
            self.network.append(Request("forget", (rng.choice(USERS),)))

    def new_decision(self) -> Request:
        self.events += 1
        event, user = f"e{self.events}", self.rng.choice(USERS)
        self.users[event] = user
        if self.rng.random() < 0.15:
            at = self.clock.now - self.rng.choice([0, 2, 9])
            about = user, self.rng.choice(ARMS[:2])
            return Request("observe", about, {"event": event, "at": at})
        return Request("decide", (user,), {"event": event, "activate": self.rng.random() < 0.8})

    def burst(self) -> None:
        """Several decisions with their rewards: soon a fit is due."""
        for _ in range(4):
            request = self.new_decision()
            event = request.more["event"]
            self.serve(request)
            more = {"at": self.clock.now, "key": ""}
            self.serve(Request("reward", (event, self.rng.choice(self.rewards)), more))

    def deliver(self) -> None:
        """Let a message through, or lose it; either way it may be sent once more."""
        if not self.network:
            return
        at = self.rng.randrange(min(4, len(self.network)))
        request = self.network.pop(at)
        fate = self.rng.random()
        if request.sent < 4 and (fate < 0.35 or not request.answered):
            self.network.append(request)
        request.sent += 1
        if fate < 0.1:
            self.say(f"lost: {request}")
        else:
            self.serve(request)

    def serve(self, request: Request) -> None:
        self.say(f"call: {request}")
        if request.verb == "forget":  # from now on it may be gone
            self.promised = {k: u for k, u in self.promised.items() if u != request.about[0]}
            self.forgets[request.about[0]] += 1
        method = getattr(self.e, request.verb)
        call = greenlet(lambda: method(*request.about, **request.more))
        self.go_on(Running(request, call, self.disk.last, self.forgets.copy()))

    def go_on(self, running: Running) -> None:
        """Run a call until it waits or ends."""
        try:
            result = running.call.switch()
        except BadArgument as error:
            self.say(f"  refused: {error}")
            running.request.answered = True
        except StoreError as error:
            self.say(f"  failed: {error}")
        else:
            if running.call.dead:
                if not self.store.dead:
                    self.answered(running, result)
            else:
                running.waits = result
                self.running.append(running)

    def commit(self) -> None:
        if self.writer.commit():
            self.say(f"commit: up to {self.disk.last}")
        if not self.store.dead:
            waiting, self.running = self.running, []
            for running in waiting:
                if running.waits is not None and running.waits.done():
                    self.go_on(running)
                else:
                    self.running.append(running)

    def pass_time(self) -> None:
        self.clock.now += self.rng.choice([1, 1, 4, 11])

    def finish_fit(self) -> None:
        if self.fits.waiting:
            taken, done = self.fits.waiting.pop(self.rng.randrange(len(self.fits.waiting)))
            self.say("a fit is made")
            done(Believer.fit(taken))

    def fault(self) -> None:
        self.store.next = self.rng.choice([Fault.REFUSED, Fault.CUT_BEFORE, Fault.CUT_AFTER])
        self.say(f"fault: {self.store.next}")

    def cut(self) -> None:
        """The power is cut: nobody who waits gets an answer."""
        self.say("power cut; start")
        self.running.clear()
        self.boot()

    def restart(self) -> None:
        """Stop and start, in good order or not."""
        if self.rng.random() < 0.5:
            self.say("killed; start")
            self.running.clear()
        else:
            self.say("closed; start")
            self.e.close()
            if not self.store.dead:
                self.commit()
        self.boot()

    # --- Answers and promises -----------------------------------------------------------------

    def answered(self, running: Running, result: Any) -> None:
        request = running.request
        request.answered = True
        self.say(f"  answered: {request.verb} {request.about} {request.more.get('event', '')}")
        event = request.more.get("event", request.about[0])
        user = self.users.get(event)
        if self.forgets[user] != running.forgets[user]:  # type: ignore[index]
            return  # what was written may be gone by now
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
            left = [n for n, entry in self.disk.entries() if entry.user == request.about[0]]
            if left and left[0] <= running.last:
                raise self.broken(f"{request.about[0]} was forgotten and is still there")

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

    def check_version(self) -> None:
        if self.writer.failure is None:
            now = self.e._ledger.version
            if now < self.version:
                raise self.broken(f"version {now} after {self.version}")
            self.version = now
        else:
            self.version = 0

    def compare(self) -> None:
        """What is in memory is what the log and what was handed in come to."""
        if self.writer.failure is not None:
            return
        log = [entry for _, entry in self.disk.entries()]
        if kept := [key for key in self.promised if key not in held(enumerate(log))]:
            raise self.broken(f"acknowledged and lost: {kept}")
        if self.store.next or self.disk.last == 0:
            return
        self.e.add_arm(ARMS[0])  # time may have passed since the last call
        if self.store.dead or self.writer.failure is not None:
            return
        log = [entry for _, entry in self.disk.entries()] + self.writer.handed()
        expected = literal(log, self.rules, self.clock())
        if self.e.evidence() != expected:
            raise self.broken(f"evidence {self.e.evidence()}, expected {expected}")

    def rest(self) -> None:
        """Deliver all, wait until every window has closed, and compare with a replay."""
        self.store.next = ""
        while self.network:
            self.serve(self.network.pop(0))
            self.commit()
        for _ in range(2):
            self.commit()
            self.clock.now += 100
            self.compare()
        self.commit()
        if self.running:
            raise self.broken(f"{len(self.running)} calls were never answered")
        log = list(self.disk.entries())
        self.check_log(log)
        if damages := self.disk.verify():
            raise self.broken(f"{damages}")
        was = bits(self.e), self.e.evidence()
        self.say("replayed")
        quick = self.snapshot is not None and self.snapshot.exists()
        for path in (None, self.snapshot)[: 1 + quick]:
            again = LiveExperiment(
                Mounted(self.disk), self.rules, Fits(), snapshot=path, clock=self.clock,
                writer=Driven,
            )  # fmt: skip
            if (bits(again), again.evidence()) != was:
                raise self.broken(f"a replay {'with a snapshot ' * (path is not None)}differs")

    def check_log(self, log: list[tuple[int, Entry]]) -> None:
        once = Counter(
            (e.kind, e.event, e.at * (e.kind == "rewarded"), e.value, e.detail)
            for _, e in log
            if e.event
        )
        if twice := [key for key, times in once.items() if times > 1]:
            raise self.broken(f"written twice: {twice}")
        versions = [e.version for _, e in log if e.kind in ("decided", "adopted", "forgot")]
        if versions != sorted(versions):  # type: ignore[type-var]
            raise self.broken(f"versions {versions}")


def held(log: Any) -> set[tuple[Any, ...]]:
    """Return what the entries of a log acknowledge."""
    return {
        ("decided", e.event, e.user, e.arm, e.version)
        if e.kind == "decided"
        else (e.kind, e.event, e.at, e.value, e.detail)
        for _, e in log
    }
