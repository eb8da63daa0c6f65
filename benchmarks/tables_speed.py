"""From a log to an answer: reading against a bare GROUP BY of the same file, then each step.

    python benchmarks/tables_speed.py --events 1e6 --users 10000 --items 200
    python benchmarks/tables_speed.py --events 1e7 --users 100000 --items 1000 --logged --reading

The log is made: users of five kinds, items chosen evenly, rewards 0 and 1, in one Parquet file. The
ratio is the median over repetitions in turn, so that a slow moment of the machine hits both. Times
are those on the clock, and of the processor in brackets, since others may share it. Memory is the
most that the process had until then. A plan is made from evidence in a folder: the first time with
a fit, then with the one that is kept.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
import duckdb

import lumpable as lb

Made = TypeVar("Made")
READ = (), ("propensity",), ("id",), ("id", "time", "propensity")
"""Columns besides user, item and reward that are read, where a log has them; all in the end."""
BARE = 'SELECT "user", item, reward, count(*) AS times FROM {} GROUP BY ALL'
MADE = """
SELECT u AS "user", i AS item, (random() < 0.1 + 0.5 * ((hash(u % 5, i) % 1000) / 1000.0))::INT AS
reward FROM (SELECT floor(random() * {users})::INT AS u, floor(random() * {items})::INT AS i
FROM range({events}))
"""
LOGGED = """
SELECT *, row_number() OVER () AS id, 1.0 / {items} AS propensity,
TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(row_number() OVER ()) AS "time" FROM ({made})
"""


def timed(words: str, action: Callable[[], Made]) -> tuple[Made, float]:
    clock, processor = time.perf_counter(), time.process_time()
    made = action()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    click.echo(f"{words:28} {clock:8.1f} s  ({processor:.1f} s)")
    return made, clock


def memory(when: str) -> None:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    click.echo(f"{'memory ' + when:28} {most * unit / 1e9:8.2f} GB")


def make(path: Path, events: int, users: int, items: int, *, logged: bool) -> None:
    with duckdb.connect() as con:
        con.execute("SET threads = 1")
        con.execute("SELECT setseed(0.5)")
        query = MADE.format(events=events, users=users, items=items)
        query = LOGGED.format(items=items, made=query) if logged else query
        con.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def bare(path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE evidence AS {BARE.format(repr(str(path)))}")


@click.command()
@click.option("--events", type=float, default=1e6, show_default=True)
@click.option("--users", default=10_000, show_default=True)
@click.option("--items", default=200, show_default=True)
@click.option("--repetitions", default=3, show_default=True)
@click.option("--logged", is_flag=True, help="Events have ids, times and propensities, too.")
@click.option("--reading", is_flag=True, help="Only how fast it is read.")
def main(
    events: float, users: int, items: int, repetitions: int, logged: bool, reading: bool
) -> None:
    """Measure reading, learning, the answer, the page and plans."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        make(path, int(events), users, items, logged=logged)
        columns = ("id", "time", "propensity") if logged else ()
        names: dict[str, Any] = {name: name for name in columns}
        kinds: list[dict[str, Any]] = [
            {name: name for name in some} for some in READ if set(some) <= set(columns)
        ]
        ratios: list[list[float]] = [[] for _ in kinds]
        for _ in range(repetitions):
            _, least = timed("bare GROUP BY", lambda: bare(path))
            for found, given in zip(ratios, kinds, strict=True):
                words = ", ".join(["read_events", *given])
                read, took = timed(words, partial(lb.read_events, path, **given))
                found.append(took / least)
        for found, given in zip(ratios, kinds, strict=True):
            words = f" with {', '.join(given)}" if given else ""
            click.echo(f"reading{words} takes {statistics.median(found):.2f} times as long")
        memory("after read_events")
        if reading:
            return
        learned, _ = timed("learn", lambda: lb.learn(read))
        timed("summary", learned.summary)
        timed("groups", learned.groups)
        timed("policy", learned.policy)
        timed("lift", learned.lift)
        if logged:
            timed("value, off policy", learned.value)
        timed("answers again, and a page", lambda: learned.report(Path(folder) / "page.html"))
        memory("after the page")
        state, plan = lb.Nightly(Path(folder) / "state"), Path(folder) / "plan.parquet"
        timed("evidence", lambda: state.evidence(path, **names))
        timed("plan", lambda: state.plan(out=plan))
        timed("plan again", lambda: state.plan(out=plan))
        memory("at the end")


if __name__ == "__main__":
    main()
