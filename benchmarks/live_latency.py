"""How long one caller waits for a durable decision or reward, while fits are made beside.

    python benchmarks/live_latency.py                    # 20,000 users, 200 arms
    python benchmarks/live_latency.py --users 100000 --arms 1000 --told 500000

Fills a new file with rewards of users with hidden tastes, then decides and rewards one by one.
Prints a table: all calls, and those that came while a fit was being made.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
import numpy as np

import lumpable as lb
from lumpable.service.live_experiment import LiveExperiment

TASTES, BATCH = 8, 2_000
Call = tuple[str, float, bool]
"""What was called, its seconds, and whether a fit was being made."""


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
            with experiment.unwaited():
                experiment.observe(user, arm, event=event)
        experiment.reward_many([(event, shop.reward(user, arm)) for event, user, arm in rows])


def call(experiment: LiveExperiment, shop: Shop, number: int) -> list[Call]:
    """Decide and reward one by one."""
    times: list[Call] = []

    def timed(what: str, work: object) -> object:
        began = time.perf_counter()
        result = work()  # type: ignore[operator]
        fitting = experiment._ledger.taken is not None
        times.append((what, time.perf_counter() - began, fitting))
        return result

    for _ in range(number // 2):
        user = int(shop.rng.integers(len(shop.taste)))
        made = timed("decide", lambda user=user: experiment.decide(user))
        reward = shop.reward(user, made.arm)  # type: ignore[attr-defined]
        timed("reward", lambda made=made, reward=reward: experiment.reward(made.event, reward))
    return times


def lines(times: list[Call]) -> list[str]:
    """Return the rows of the table."""
    found = []
    for what in ("decide", "reward"):
        for during in (False, True):
            own = sorted(t for w, t, fit in times if w == what and (fit or not during))
            if len(own) > 1:
                cuts = [f"{1e3 * own[int(q * (len(own) - 1))]:.2f}" for q in (0.5, 0.99, 0.999, 1)]
                name = f"{what}, while a fit is made" if during else what
                found.append(f"| {name} | {len(own):,} | {' | '.join(cuts)} |")
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
        before = experiment.status().version
        times = call(experiment, shop, calls)
        status = experiment.status()
        experiment.close()
    click.echo(f"{users:,} users, {arms:,} arms, {status.counted:,} rewards at the end; "
               f"{status.version - before} fits adopted meanwhile\n")  # fmt: skip
    click.echo("| call | number | p50 (ms) | p99 | p99.9 | longest |\n" + "| --- " * 6 + "|")
    click.echo("\n".join(lines(times)))


if __name__ == "__main__":
    main()
