"""How fast an experiment in a file is, in one run beside what its disk and a plain table allow.

    python benchmarks/live_speed.py
    python benchmarks/live_speed.py --postgres postgresql://user@host/database

Prints a table: durable events a second in batches and one by one, bare syncs of the disk, plain
inserts of as many rows, and the time to open the file again. With an address, the same in a
PostgreSQL database, whose schema should be empty: by one process, by two, and by one caller.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click
import numpy as np

import lumpable as lb

USERS, ARMS, BATCH = 2000, 50, 500
Row = tuple[str, float, str]


def rate(events: int, work: Callable[[], object]) -> float:
    """Return events a second."""
    began = time.perf_counter()
    work()
    return events / (time.perf_counter() - began)


def syncs(path: Path, number: int) -> float:
    """Return how often a second the disk syncs a file that grows."""
    with path.open("wb") as file:

        def work() -> None:
            for _ in range(number):
                file.write(b"x" * 200)
                file.flush()
                os.fsync(file.fileno())

        return rate(number, work)


def inserts(path: Path, batches: int) -> float:
    """Return rows a second of a plain table with the same settings, a batch at a time."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
    db.execute("CREATE TABLE log (event TEXT PRIMARY KEY, user TEXT, arm TEXT, value REAL)")

    def work() -> None:
        for b in range(batches):
            db.execute("BEGIN IMMEDIATE")
            rows = [(f"{b}-{k}", "user", "arm", 1.0) for k in range(BATCH)]
            db.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
            db.execute("COMMIT")

    found = rate(batches * BATCH, work)
    db.close()
    return found


def live(path: Path, batches: int, single: int) -> list[Row]:
    """Return what an experiment does, and how long it takes to open it again."""
    rng = np.random.default_rng(0)
    experiment = lb.open(path, [f"arm {k}" for k in range(ARMS)], rewards="binary")
    experiment.reward(experiment.decide("somebody").event, 1.0)  # compiled

    def many() -> None:
        for _ in range(batches // 2):
            users = [f"user {i}" for i in rng.integers(USERS, size=BATCH)]
            made = experiment.decide_many(users)
            experiment.reward_many([(d.event, float(rng.random() < 0.3)) for d in made])

    def one_by_one() -> None:
        for k in range(single // 2):
            experiment.reward(experiment.decide(f"user {k}").event, 1.0)

    together, alone = rate(batches * BATCH, many), rate(single, one_by_one)
    entries = experiment.status().entries
    experiment.close()
    began = time.perf_counter()
    lb.open(path).close()
    again = (time.perf_counter() - began) / entries * 1e6
    return [
        (f"events a second, {BATCH} a commit", together, f"{USERS:,} users, {ARMS} arms"),
        ("events a second, one a commit", alone, "one caller"),
        ("seconds to open a million entries again", again, f"by a snapshot, {entries:,} entries"),
    ]


def postgres_inserts(address: str, batches: int) -> float:
    """Return rows a second of a plain table in PostgreSQL, a batch at a time."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as db:
        db.execute("CREATE SCHEMA IF NOT EXISTS lumpable_bare")
        db.execute("DROP TABLE IF EXISTS lumpable_bare.log")
        columns = "event TEXT PRIMARY KEY, who TEXT, arm TEXT, value FLOAT8"
        db.execute(f"CREATE TABLE lumpable_bare.log ({columns})")
        query = "INSERT INTO lumpable_bare.log SELECT unnest(%s::text[]), 'user', 'arm', 1.0"

        def work() -> None:
            for b in range(batches):
                db.execute(query, ([f"{b}-{k}" for k in range(BATCH)],))

        found = rate(batches * BATCH, work)
        db.execute("DROP SCHEMA lumpable_bare CASCADE")
    return found


def events(address: str, batches: int, name: str) -> None:
    """Decide and reward in batches, as one of several processes."""
    rng = np.random.default_rng(0)
    with lb.open(address) as experiment:
        for b in range(batches // 2):
            users = [f"user {i}" for i in rng.integers(USERS, size=BATCH)]
            ids = [f"{name}-{b}-{k}" for k in range(BATCH)]
            made = experiment.decide_many(users, events=ids)
            experiment.reward_many([(d.event, float(rng.random() < 0.3)) for d in made])


def shared(address: str, batches: int, single: int) -> list[Row]:
    """Return what an experiment in a database does, by one process and by two."""
    bare = postgres_inserts(address, batches)
    with lb.open(address, [f"arm {k}" for k in range(ARMS)], rewards="binary") as experiment:
        experiment.reward(experiment.decide("somebody").event, 1.0)  # compiled
        alone = rate(batches * BATCH, lambda: events(address, batches, "one"))

        def one_by_one() -> None:
            for k in range(single // 2):
                experiment.reward(experiment.decide(f"user {k}").event, 1.0)

        caller = rate(single, one_by_one)
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            both = ("first", "second")
            list(pool.map(events, [address] * 2, [2] * 2, ("warm 1", "warm 2")))
            two = rate(
                2 * batches * BATCH,
                lambda: list(pool.map(events, [address] * 2, [batches] * 2, both)),
            )
    return [
        (f"plain inserts a second in PostgreSQL, {BATCH} a commit", bare, ""),
        (f"events a second in PostgreSQL, {BATCH} a commit", alone, "one process"),
        (
            f"events a second in PostgreSQL, {BATCH} a commit",
            two,
            "two processes, opening included",
        ),
        ("events a second in PostgreSQL, one a commit", caller, "one caller"),
    ]


@click.command(help=__doc__.partition("\n")[0])
@click.option("--batches", default=200, type=click.IntRange(2), show_default=True)
@click.option("--single", default=400, type=click.IntRange(2), show_default=True)
@click.option("--postgres", default=None, help="The address of a database to measure, too.")
def main(batches: int, single: int, postgres: str | None) -> None:
    """Measure everything in one run, in one folder."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        here = Path(folder)
        rows: list[Row] = [
            ("bare syncs of the disk a second", syncs(here / "bare", single), "200 bytes each"),
            (f"plain inserts a second, {BATCH} a commit", inserts(here / "plain.db", batches), ""),
            *live(here / "clicks.db", batches, single),
            *(shared(postgres, batches, single) if postgres else []),
        ]
    click.echo("| what | measured | of what |\n| --- | --- | --- |")
    for what, found, about in rows:
        click.echo(f"| {what} | {found:,.3g} | {about} |")


if __name__ == "__main__":
    main()
