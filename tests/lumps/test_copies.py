"""Copies, pickles and forks beside a thread that learns: whole, and never stuck."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lumpable import Lumps
from lumpable.lumps.core.under_way import Pull, count, regroup

WAYS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda lumps: pickle.loads(pickle.dumps(lumps)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_beside_a_thread_is_whole(way: str) -> None:
    lumps, stop = Lumps(["red", "green"], seed=1), threading.Event()
    failed: list[BaseException] = []
    for t in range(60):  # all is compiled
        lumps.reward(lumps.decide_many([f"user {t}", "ann"])[0], float(t % 2))
    copy.deepcopy(lumps)

    def learn() -> None:
        rng, user = np.random.default_rng(1), 0
        try:
            while not stop.is_set():
                user += 1
                made = lumps.decide_many([f"user {user}", f"user {user // 2}"])
                lumps.reward(made[int(rng.integers(2))], float(rng.random() < 0.5))
        except BaseException as error:
            failed.append(error)

    switch, thread = sys.getswitchinterval(), threading.Thread(target=learn)
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        copies = [WAYS[way](lumps) for _ in range(40)]
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(switch)
    assert failed == []
    for each in copies:
        core = each.core
        assert core.counts().n.sum() == core.tells
        assert core.numbers is each._named.contexts.number
        assert list(core.numbers) == list(each.contexts)
        assert each._book.made == core.tells + each.outstanding
        assert np.array_equal(core.state.pending, count(core.under_way, *core.state.pending.shape))
        each.tell("ann", "red", 1.0)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_and_its_original_go_on_apart(way: str) -> None:
    """Names and pulls are copied at once, and all the same what comes to one does not to other."""
    lumps = Lumps(["red", "green"], ["ann"], new_arms=True, seed=1)
    for t in range(12):
        lumps.tell("ann", "red", float(t % 2))
    lumps.decide("ann")
    twin = WAYS[way](lumps)
    before = lumps.contexts, lumps.arms, lumps.outstanding, lumps.core.tells, lumps.ask("ann")
    for t in range(30):
        twin.tell(f"user {t}", "blue", 1.0)
    twin.decide("bob")
    assert (lumps.contexts, lumps.arms, lumps.outstanding, lumps.core.tells,
            lumps.ask("ann")) == before  # fmt: skip
    assert len(twin.contexts) == 31
    assert twin.outstanding == 2


def test_pulls_under_way_are_counted_where_they_are_likeliest() -> None:
    rng = np.random.default_rng(0)
    numbers: dict[str | int, int] = {f"user {i}": i for i in range(20)}
    log_weight, share = rng.normal(size=(32, 3)), rng.normal(size=3)
    pulls = {
        id: Pull(f"user {rng.integers(30)}", int(rng.integers(4)), 0.5, int(rng.integers(2)))
        for id in range(200)
    }
    moved = regroup(pulls, numbers, log_weight, share)
    pending = np.zeros((3, 4))
    for (id, pull), (same, before) in zip(moved.items(), pulls.items(), strict=True):
        weights = log_weight[numbers[pull.context]] if pull.context in numbers else share
        assert id == same
        assert pull == before._replace(group=int(np.argmax(weights)))
        pending[pull.group, pull.arm] += 1.0
    assert np.array_equal(count(moved, 3, 4), pending)
    assert np.array_equal(count({}, 3, 4), np.zeros((3, 4)))


FORKS = """
import os, signal, sys, threading, time
from lumpable import Lumps
lumps = Lumps(["red", "green"], max_outstanding=50)
stop = threading.Event()

def learn():
    while not stop.is_set():
        lumps.reward(lumps.decide("ann"), 1.0)

for _ in range(20):
    lumps.reward(lumps.decide("ann"), 1.0)
thread = threading.Thread(target=learn)
thread.start()
bad = 0
for _ in range(40):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        whole = lumps.core.counts().n.sum() == lumps.core.tells and lumps.outstanding <= 1
        lumps.reward(lumps.decide("bob"), 1.0)
        os._exit(0 if whole else 1)
    bad += os.waitpid(child, 0)[1] != 0
stop.set()
thread.join()
lumps.ask("ann")
sys.exit(bad)
"""


def test_a_fork_beside_a_thread_is_whole_and_not_stuck() -> None:
    """40 children, each of which asks and rewards."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], timeout=600, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
