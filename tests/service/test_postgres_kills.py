"""Workers and the server of a shared experiment are killed under load: nothing that was answered is
lost, nothing counts twice, and those who live on have the bits of a replay.
"""

from __future__ import annotations

import json
import queue
import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kits import postgres
from kits.service import bits
from kits.worker_process import Job, WorkerProcess, never
from lumpable.service.ledger import Ledger
from lumpable.service.settings import Settings
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.law import StoreError


class Parent:
    """Sends jobs to workers, each reward to two of them, and keeps what they acknowledge."""

    def __init__(self, seed: int, workers: int, fits: str) -> None:
        self.rng, self.fits = random.Random(seed), fits
        self.address = postgres.server().address()
        self.answers: queue.Queue[list[str]] = queue.Queue()
        self.workers = [self.started() for _ in range(workers)]
        for worker in self.workers:
            assert worker.ready.wait(120)
        self.decided: dict[str, str] = {}
        self.rewarded: set[str] = set()
        self.sent = 0

    def started(self) -> WorkerProcess:
        return WorkerProcess(self.address, self.answers, self.fits)

    def send(self) -> None:
        """Send a decision to one, sometimes to two, and its reward to two, maybe before it."""
        event, user = f"e{self.sent}", f"u{self.sent % 7}"
        value, self.sent = float(self.sent % 3 == 0), self.sent + 1
        first, second = self.rng.sample(self.workers, 2)
        reward: Job = ["reward", event, value, 1e9]
        jobs: list[tuple[WorkerProcess, Job]] = [(first, ["decide", event, user])]
        jobs += [(second, ["decide", event, user])] * (self.rng.random() < 0.2)
        jobs += [(first, reward), (second, reward)]
        for worker, job in jobs:
            worker.send(job)

    def hear(self, number: int) -> None:
        """Wait for so many acknowledgements."""
        while number:
            number -= self.heard() in ("decide", "reward")

    def heard(self) -> str:
        """Take the next answer; return what it is about."""
        verb, *about = self.answers.get(timeout=300)
        if verb == "decide":
            event, arm, _ = about
            assert self.decided.setdefault(event, arm) == arm, "decided twice"
        elif verb == "reward":
            self.rewarded.add(about[0])
        return verb

    def kill_worker(self) -> None:
        k = self.rng.randrange(len(self.workers))
        self.workers[k].kill()
        self.workers[k] = self.started()

    def finish(self) -> list[list[str]]:
        """Let all work be done; return what each of them has in the end."""
        for worker in self.workers:
            worker.send(["digest", ""])
        for _ in range(2):  # the second time everybody has seen what the others wrote
            left = len(self.workers)
            while left:
                left -= self.heard() == "digest"
            for worker in self.workers:
                worker.send(["digest", ""])
        said = [worker.ended() for worker in self.workers]
        assert not any(said), said
        return [worker.last for worker in self.workers]


@pytest.mark.parametrize(
    ("words", "state", "refused"),
    [
        ("deadlock detected", None, True), ("could not serialize access", None, True),
        ("lock", "40P01", True), ("conflict", "40001", True), ("the server is away", None, False),
        ("an event was decided before", "23505", False),
    ],
)  # fmt: skip
def test_workers_do_not_try_again_what_nobody_may_see(
    words: str, state: str | None, refused: bool
) -> None:
    error = StoreError(words)
    if state is not None:
        error.__cause__ = type("Cause", (Exception,), {"sqlstate": state})()
    assert never(error) == refused


def lives(seed: int, workers: int, kills: int, server_kills: int, fits: str) -> Counter[str]:
    """Let workers work while they and their server are killed, and check what is left."""
    parent = Parent(seed, workers, fits)
    plan = ["worker"] * kills + ["server"] * server_kills
    parent.rng.shuffle(plan)
    for what in plan:
        for _ in range(8):
            parent.send()
        parent.hear(parent.rng.randrange(4, 12))
        parent.kill_worker() if what == "worker" else postgres.server().kill()
    last = parent.finish()
    assert len({digest for _, digest, *_ in last}) == 1, last
    with PostgresStore(parent.address) as store:
        assert not store.verify()
        log = [entry for _, entry in store.entries()]
    kinds = Counter((entry.kind, entry.event) for entry in log if entry.event)
    assert set(kinds.values()) == {1}, "counted twice"
    arms = {entry.event: entry.arm for entry in log if entry.kind == "decided"}
    assert all(arms[event] == arm for event, arm in parent.decided.items())
    assert parent.rewarded <= {event for kind, event in kinds if kind == "rewarded"}
    check_replay(parent.address, last)
    return Counter(
        sent=parent.sent, decided=len(parent.decided), rewarded=len(parent.rewarded),
        entries=len(log), adopted=sum(entry.kind == "adopted" for entry in log),
        failures=sum(int(one[3]) for one in last),
    )  # fmt: skip


def check_replay(address: str, last: list[list[str]]) -> None:
    """Who saw as much of the log has the same bits: live, or replayed from the log alone."""
    with PostgresStore(address) as store:
        rules = msgspec.json.decode(store.settings, type=Settings)
        again: Any = SimpleNamespace(_ledger=Ledger.replay(rules, store))
    seen = {(entries, found) for _, _, entries, _, found in last}
    assert len(seen) == len({entries for entries, _ in seen})
    assert (again._ledger.number, bits(again)) in seen


def test_killed_workers_and_servers_lose_nothing() -> None:
    found = lives(seed=4, workers=2, kills=1, server_kills=1, fits="inline")
    assert found["rewarded"] > 5


@pytest.mark.nightly
def test_three_killed_workers_of_three_lose_nothing() -> None:
    found = lives(seed=4, workers=3, kills=3, server_kills=1, fits="inline")
    assert found["rewarded"] > 5


@pytest.mark.nightly
def test_a_hundred_killed_workers_and_twenty_killed_servers_lose_nothing() -> None:
    found = lives(seed=100, workers=4, kills=100, server_kills=20, fits="background")
    print(json.dumps(found))
    assert found["rewarded"] > 300
