"""How long it takes to open a large file again, to see the page and to write the report.

    python benchmarks/live_large.py                      # a million events, 20,000 users, 50 arms
    python benchmarks/live_large.py --events 20000 --users 500

Fills a new file with decisions and rewards of users with hidden tastes, while fits are made beside.
Prints a table: time by the clock and of the processor, by the snapshot and by the log alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from live_latency import Shop

import lumpable as lb
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.opening import store_at

BATCH = 2_000
Row = tuple[str, float, float, str]
"""What was done, its seconds by the clock and of the processor, and what it was done to."""
T = TypeVar("T")


def timed(rows: list[Row], what: str, work: Callable[[], T], about: str = "") -> T:
    """Do it, and add a row that says how long it took."""
    began, worked = time.perf_counter(), time.process_time()
    made = work()
    rows.append((what, time.perf_counter() - began, time.process_time() - worked, about))
    return made


def fill(experiment: LiveExperiment, shop: Shop, events: int) -> None:
    """Decide and reward, in batches; a decision and its reward are two events."""
    users = len(shop.taste)
    for first in range(0, events, 2 * BATCH):
        number = min(BATCH, (events - first + 1) // 2)
        made = experiment.decide_many(shop.rng.integers(users, size=number).tolist())
        experiment.reward_many([(d.event, shop.reward(int(d.user), int(d.arm))) for d in made])


def made(file: Path, shop: Shop, events: int) -> list[Row]:
    """Make the file."""
    rows: list[Row] = []
    arms = range(shop.means.shape[1])
    with lb.open(file, arms, rewards="binary", hold_back=0.05) as experiment:
        experiment.warm()
        timed(rows, "fill it", lambda: fill(experiment, shop, events), f"{events:,} events")
    return rows


def looked(file: Path, report: Path) -> list[Row]:
    """Open it by its snapshot and look, as the page does; the second look is of what is kept."""
    rows: list[Row] = []
    experiment = timed(rows, "open it by its snapshot", lambda: lb.open(file))
    with experiment:
        status = experiment.status()
        about = f"{status.entries:,} entries, {status.users:,} users, {status.version} fits"
        rows[0] = (*rows[0][:3], about)
        timed(rows, "what is believed, for the page", experiment.beliefs)
        timed(rows, "what is believed, asked again", experiment.beliefs)
        timed(rows, "what is going on, for the page", experiment.activity)
        timed(rows, "write the report", lambda: experiment.report(report))
    rows[-1] = (*rows[-1][:3], f"{report.stat().st_size / 1e6:.1f} MB")
    return rows


def read(file: Path) -> list[Row]:
    """Read every entry: to find damage, and to open the file without its snapshot."""
    rows: list[Row] = []
    with store_at(file, read_only=True) as store:
        damages = timed(rows, "verify it", store.verify, f"{file.stat().st_size / 1e6:,.0f} MB")
    assert not damages
    Path(f"{file}.snapshot").unlink()
    timed(rows, "open it by its log alone", lambda: lb.open(file), "fits are made again").close()
    return rows


@click.command(help=__doc__.partition("\n")[0])
@click.option("--events", default=1_000_000, type=click.IntRange(2), show_default=True)
@click.option("--users", default=20_000, type=click.IntRange(1), show_default=True)
@click.option("--arms", default=50, type=click.IntRange(2), show_default=True)
def main(events: int, users: int, arms: int) -> None:
    """Measure everything in one run, in one folder."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        file = Path(folder) / "clicks.db"
        rows = made(file, Shop(users, arms), events)
        rows += looked(file, Path(folder) / "report.html")
        rows += read(file)
    click.echo("| what | seconds | of the processor | of what |\n" + "| --- " * 4 + "|")
    for what, seconds, worked, about in rows:
        click.echo(f"| {what} | {seconds:,.2f} | {worked:,.2f} | {about} |")


if __name__ == "__main__":
    main()
