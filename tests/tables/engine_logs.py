"""One ugly log, put into tables of several engines, and read from each."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from typing import Any

import duckdb
import polars as pl

TABLE = 'odd "events"; DROP TABLE x'
COLUMNS = {
    "user": 'wer "ist" das?',
    "item": "o`f\\fer",
    "reward": "it's; --",
    "time": "__user__",
    "id": "ereignis ü",
    "propensity": "%s {p} $1",
    "rewarded": "w",
}
"""Names of columns that a careless text would take for something else."""
ODD = [
    "NULL", "null", "17", "017", "17.0", "ü", "u\u0308", "名前", 'say "hi"', "it's", "two\nlines",
    " x ", "x", "X", "💡", "a\\b", "a`b", "%s",
]  # fmt: skip


def ugly(rows: int, seed: int) -> pl.DataFrame:
    """Return a log with everything that can be wrong, and much that only looks so."""
    rng = random.Random(seed)
    start = datetime(2026, 1, 1)
    rewards = [
        *((rng.randint(-4000, 4000) + 0.5) * 1e-6 for _ in range(60)),  # halves, nearly
        *(rng.randint(-(10**6), 10**6) / 2.0**21 for _ in range(60)),  # some are exact halves
        *(rng.uniform(-9e9, 9e9) for _ in range(20)),
        *(0.0, -0.0, 2.5e-6, 3.5e-6, 5e-324, -5e-324, 9007199254.7409, 9007199254.7411, 1e305),
        *(math.nan, math.inf, -math.inf, None),
    ]
    user = [rng.choice([*ODD, "", None]) for _ in range(rows)]
    when = [start + timedelta(microseconds=rng.randrange(10**6)) for _ in range(rows)]
    columns: dict[str, list[Any]] = {
        "user": user,
        "item": [rng.choice([17, 5, -(2**62), 2**62, 7, None]) for _ in range(rows)],
        "reward": [rng.choice(rewards) for _ in range(rows)],
        "time": [rng.choice([start, one, one, None]) for one in when],
        "id": [rng.choice([*range(rows // 3), *[None] * (rows // 60)]) for _ in range(rows)],
        "propensity": [
            rng.choice([0.5, 0.25, 0.1, 1.0, 0.0, 1.01, -0.5, math.nan, None, 5e-324, 2.0**-1022])
            for _ in range(rows)
        ],
        "rewarded": [rng.choice([start, one, one, None]) for one in when],
    }
    for row in range(0, rows - 40, 40):  # the same again, and the same but for one thing
        for role, column in columns.items():
            column[row + 1] = column[row]
            column[row + 3] = column[row + 2] if role != "reward" else column[row + 3]
    frame = pl.DataFrame(columns).with_columns(pl.col("propensity").cast(pl.Float64))
    return frame.rename(COLUMNS)


def in_duckdb(frame: pl.DataFrame) -> Any:
    """Return a connection with the log as a temporary table."""
    con = duckdb.connect()
    con.register("frame", frame)
    con.execute(f"CREATE TEMP TABLE {_quoted(TABLE)} AS SELECT * FROM frame")
    return con


def in_postgres(frame: pl.DataFrame, connection: Any) -> Any:
    """Put the log into a temporary table of a connection."""
    kinds = dict(
        zip(
            COLUMNS,
            ("TEXT", "BIGINT", "FLOAT8", "TIMESTAMP", "BIGINT", "FLOAT8", "TIMESTAMP"),
            strict=True,
        )
    )
    spec = ", ".join(f"{_quoted(COLUMNS[role])} {kind}" for role, kind in kinds.items())
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE {_quoted(TABLE)} ({spec})")
        with cursor.copy(f"COPY {_quoted(TABLE)} FROM STDIN") as copy:
            for row in frame.iter_rows():
                copy.write_row(row)
    return connection


def in_spark(frame: pl.DataFrame, session: Any) -> Any:
    """Make the log a temporary view of a session."""
    session.createDataFrame(frame.to_arrow()).createOrReplaceTempView("events")
    return session


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
