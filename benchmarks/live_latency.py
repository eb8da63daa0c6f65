"""How long one caller waits for a durable decision or reward, while fits are made beside.

    python benchmarks/live_latency.py                    # 20,000 users, 200 arms
    python benchmarks/live_latency.py --users 100000 --arms 1000 --told 500000

Fills a new file with rewards of users with hidden tastes, then decides and rewards one by one.
Prints a table: all calls, and those that came while a fit was being made, by the clock; the same by
the processor time of the caller, which has everything but the commit; and bare syncs of the disk.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import click
import numpy as np

import lumpable as lb
from lumpable.service.live_experiment import LiveExperiment

TASTES, BATCH = 8, 2_000
SYNCS, PAGE = 1_000, 4_096
"""Bare syncs beside the calls, and the bytes of each."""
CUTS = (0.5, 0.99, 0.999, 1)
T = TypeVar("T")


class Call(NamedTuple):
    """One call."""

    what: str
    seconds: float
    worked: float
    """Seconds of the processor, in the caller's thread."""
    fitting: bool
    """Whether a fit was being made."""


class Shop:
    """Users with hidden tastes."""

    def __init__(self, users: int, arms: int, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.uniform(0.05, 0.6, size=(TASTES, arms))
        self.taste = self.rng.integers(TASTES, size=users)

    def reward(self, user: int, arm: int) -> float:
        """Return a click, or none."""
        return float(self.rng.random() < self.means[self.taste[user], arm])


def fill(experiment: LiveExperiment, shop: Shop, told: int) -> None:
    """Report rewards of decisions that somebody else made, arms at random."""
    users, arms = len(shop.taste), shop.means.shape[1]
    for first in range(0, told, BATCH):
        rows = [(f"told {k}", int(shop.rng.integers(users)), int(shop.rng.integers(arms)))
                for k in range(first, min(first + BATCH, told))]  # fmt: skip
        for event, user, arm in rows:
            with experiment.without_waiting():
                experiment.observe(user, arm, event=event)
        experiment.reward_many([(event, shop.reward(user, arm)) for event, user, arm in rows])


def call(experiment: LiveExperiment, shop: Shop, number: int) -> list[Call]:
    """Decide and reward one by one."""
    times: list[Call] = []

    def timed(what: str, work: Callable[[], T]) -> T:
        began, worked = time.perf_counter(), time.thread_time()
        result = work()
        worked, seconds = time.thread_time() - worked, time.perf_counter() - began
        times.append(Call(what, seconds, worked, experiment._ledger.taken is not None))
        return result

    for _ in range(number // 2):
        user = int(shop.rng.integers(len(shop.taste)))
        made = timed("decide", lambda user=user: experiment.decide(user))  # type: ignore[misc]
        reward = shop.reward(user, int(made.arm))
        timed("reward", lambda made=made, reward=reward: experiment.reward(made.event, reward))  # type: ignore[misc]
    return times


def syncs(path: Path, number: int) -> list[float]:
    """Return the seconds of bare syncs of a file that grows."""
    times = []
    with path.open("wb") as file:
        for _ in range(number):
            began = time.perf_counter()
            file.write(b"x" * PAGE)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return times


def line(name: str, seconds: list[float]) -> str:
    """Return a row of the table."""
    own = sorted(seconds)
    cuts = [f"{1e3 * own[int(share * (len(own) - 1))]:.2f}" for share in CUTS]
    return f"| {name} | {len(own):,} | {' | '.join(cuts)} |"


def lines(times: list[Call]) -> list[str]:
    """Return the rows of calls."""
    found = []
    for what in ("decide", "reward"):
        for during in (False, True):
            own = [call for call in times if call.what == what and (call.fitting or not during)]
            if len(own) > 1:
                name = f"{what}, while a fit is made" if during else what
                found.append(line(name, [call.seconds for call in own]))
                found.append(line(f"{name}: processor time", [call.worked for call in own]))
    return found


@click.command(help=__doc__.partition("\n")[0])
@click.option("--users", default=20_000, show_default=True)
@click.option("--arms", default=200, show_default=True)
@click.option("--told", default=200_000, show_default=True, help="Rewards before it begins.")
@click.option("--calls", default=20_000, show_default=True)
def main(users: int, arms: int, told: int, calls: int) -> None:
    """Fill a file, call, and print how long calls took."""
    shop = Shop(users, arms)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        experiment = lb.open(Path(folder) / "clicks.db", range(arms), rewards="binary")
        fill(experiment, shop, told)
        experiment.warm()  # else a run on a new machine times interpreted code
        before = experiment.status().version
        bare = syncs(Path(folder) / "bare", SYNCS // 2)
        times = call(experiment, shop, calls)
        bare += syncs(Path(folder) / "bare", SYNCS // 2)
        status = experiment.status()
        experiment.close()
    click.echo(f"{users:,} users, {arms:,} arms, {status.counted:,} rewards at the end; "
               f"{status.version - before} fits adopted meanwhile\n")  # fmt: skip
    click.echo("| call | number | p50 (ms) | p99 | p99.9 | longest |\n" + "| --- " * 6 + "|")
    click.echo("\n".join([*lines(times), line("a bare sync of 4 KB", bare)]))


if __name__ == "__main__":
    main()
