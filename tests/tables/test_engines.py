"""The query of evidence does in an engine what `read_events` does here, to the bit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import psycopg
import pytest
import sqlglot
from click.testing import CliRunner, Result
from engine_logs import COLUMNS, TABLE, in_duckdb, in_postgres, in_spark, ugly
from psycopg.rows import dict_row
from sqlglot import exp

import engine_sql
import lumpable as lb
from kits import postgres
from lumpable import BadArgument, Events, evidence_from, read_events
from lumpable.cli.main import main
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.cleaning import Columns
from lumpable.tables.engine_queries import DIALECTS, FOLDER, EngineTable

CASES: tuple[tuple[tuple[str, ...], Any], ...] = (
    ((), "any"),
    (("propensity",), (-0.5, 0.30000000000000004)),
    (("id",), "any"),
    (("id", "time"), (-0.5, 0.30000000000000004)),
    (("time",), "binary"),
    (("id", "time", "propensity"), "any"),
    (("id", "time", "propensity", "rewarded"), "any"),
    (("time", "rewarded"), "any"),
)
"""Columns beside those that must be, and which rewards are accepted."""
QUOTED = '"' + TABLE.replace('"', '""') + '"'
LOG = ugly(1500, seed=1)


def named(*roles: str) -> dict[str, Any]:
    return {role: COLUMNS[role] for role in ("user", "item", "reward", *roles)}


def same(one: Events, other: Events) -> None:
    """Say that two readings agree in all that an engine can tell."""
    assert one.digest() == other.digest()
    assert (one.users, one.items, one.span) == (other.users, other.items, other.span)
    assert np.array_equal(one.times, other.times)
    if one.propensity is None or other.propensity is None:
        assert one.propensity is other.propensity
    else:
        assert np.array_equal(one.propensity, other.propensity)
    assert one.dirt.rows == other.dirt.rows
    faults = [[(fault.fault, fault.rows) for fault in each.dirt.faults] for each in (one, other)]
    assert faults[0] == faults[1]


@cache
def expected(case: int) -> Events:
    roles, rewards = CASES[case]
    return read_events(LOG, **named(*roles), rewards=rewards)


def compare(connection: Any, table: str, cases: Sequence[int] = range(len(CASES))) -> None:
    for case in cases:
        roles, rewards = CASES[case]
        found = evidence_from(connection, table, **named(*roles), rewards=rewards)
        same(found, expected(case))


def test_the_ugly_log_has_everything() -> None:
    """Or the tests below would prove little."""
    events = expected(6)
    found = {fault.fault for fault in events.dirt.faults}
    assert len(found) == 13, found
    assert {"NULL", "17", "ü", "u\u0308"} <= set(events.users)
    assert 17 in events.items
    exact = LOG[COLUMNS["reward"]].drop_nulls().drop_nans() * 1e6
    assert ((exact % 1 == 0.5) & (exact.abs() < 1e9)).sum() > 50


def test_duckdb_gives_the_same_evidence() -> None:
    compare(in_duckdb(LOG), QUOTED)


def test_postgres_gives_the_same_evidence() -> None:
    address = postgres.server().address("public")
    with psycopg.connect(address) as connection:
        compare(in_postgres(LOG, connection), QUOTED)
    with psycopg.connect(address, row_factory=dict_row) as connection:
        compare(in_postgres(LOG, connection), QUOTED, [5])


def test_a_lazy_frame_of_polars_gives_the_same_evidence(tmp_path: Path) -> None:
    LOG.write_parquet(tmp_path / "log.parquet")
    for case in (0, 5):
        lazy = read_events(pl.scan_parquet(tmp_path / "log.parquet"), **named(*CASES[case][0]))
        same(lazy, expected(case))
        assert lazy.dirt == expected(case).dirt  # rows are numbered, too


@pytest.mark.parametrize("dialect", [None, "postgres", "spark"])
def test_polars_gives_the_same_evidence(dialect: str | None) -> None:
    context = pl.SQLContext({TABLE: LOG.lazy()})
    for case, (roles, rewards) in enumerate(CASES):
        options = {"rewards": rewards, "dialect": dialect, **named(*roles)}
        same(evidence_from(context, QUOTED, **options), expected(case))
    for table, options in (("nowhere", {}), (QUOTED, {"shard": (0, 2), **named()})):
        with pytest.raises(BadArgument, match="the engine refuses the query"):
            evidence_from(context, table, **options)


@pytest.mark.nightly
def test_spark_gives_the_same_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    session = (
        builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        compare(in_spark(LOG, session), "events")
        with pytest.raises(BadArgument, match="the engine refuses the query"):
            evidence_from(session, "nowhere")
    finally:
        session.stop()


def test_numbers_text_and_truth_values_keep_what_they_are() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE log AS SELECT * FROM (VALUES (17, '17', true), (17, '17', false), "
        "(3, 'a', NULL)) AS log(u, i, x)"  # names that the query itself uses
    )
    events = evidence_from(con, "log", "u", "i", "x", rewards="binary")
    assert (events.users, events.items) == ((17,), ("17",))
    assert (events.reward.tolist(), events.times.tolist()) == ([0, 10**6], [1, 1])
    assert [(one.fault, one.rows) for one in events.dirt.faults] == [("x is missing", 1)]
    con.execute("CREATE TABLE turned AS SELECT i, u, u AS x FROM log")
    assert evidence_from(con, "turned", "i", "u", "x").users == ("17", "a")
    con.execute("CREATE TABLE floats AS SELECT 17.0::DOUBLE AS u, uuid() AS i, 0.1::FLOAT AS x")
    floats = evidence_from(con, "floats", "u", "i", "x")
    assert floats.users == (17,)
    assert floats.reward.tolist() == [100000]
    assert "came as floats" in floats.dirt.notes[0]


def test_shards_split_the_users_and_are_the_same_on_every_engine() -> None:
    whole = expected(0)
    con = in_duckdb(LOG)
    with psycopg.connect(postgres.server().address("public")) as connection:
        other = in_postgres(LOG, connection)
        shards = [evidence_from(con, QUOTED, **named(), shard=(k, 3)) for k in range(3)]
        for k, shard in enumerate(shards):
            same(evidence_from(other, QUOTED, **named(), shard=(k, 3)), shard)
    users = [name for shard in shards for name in shard.users]
    assert sorted(users) == sorted(map(str, whole.users))
    assert sum(shard.dirt.rows for shard in shards) == whole.dirt.rows
    assert sum(len(shard) for shard in shards) == len(whole)


def test_a_learner_takes_what_an_engine_gives() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE log AS SELECT k % 20 AS user, k % 3 AS item, (k % 2 = k % 3)::INT AS reward "
        "FROM range(600) AS range(k)"
    )
    assert lb.learn(evidence_from(con, "log")).lumps.core.tells == 600
    con.execute("CREATE TABLE gap AS SELECT 1 AS user, NULL::INT AS item, 1 AS reward")
    with pytest.raises(BadArgument, match="1 of 1 row left out"):
        evidence_from(con, "gap", strict=True)


def test_bad_tables_are_refused_in_words() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE log AS SELECT 'a' AS user, 1 AS item, 1 AS reward, '2026' AS at")
    con.execute("CREATE TABLE empty AS SELECT * FROM log LIMIT 0")
    con.execute("CREATE TABLE far AS SELECT * REPLACE ('infinity'::TIMESTAMP AS \"at\") FROM log")
    con.execute("CREATE TABLE odd AS SELECT DATE '2026-01-01' AS user, 0.5 AS item, 1 AS n, 1 AS m")
    for given, options, words in (
        ((con, "nowhere"), {}, "the engine refuses the query: Catalog Error"),
        ((con, "log"), {"item": "offer"}, "the engine refuses the query: Binder Error"),
        ((con, "log"), {"user": "at", "reward": "user"}, "or true and false, in column 'user'"),
        ((con, "log"), {"time": "at"}, "expected dates or times in column 'at', got '2026' (str)"),
        ((con, "far"), {"time": "at"}, "expected finite times in column 'at', got an infinite one"),
        ((con, "odd"), {"reward": "m"}, "user: expected strings or whole numbers in column 'user'"),
        ((con, "odd"), {"user": "n", "reward": "m"}, "item: expected strings or whole numbers"),
        ((con, "empty"), {}, "it has no rows"),
        ((con, "log"), {"rewards": (2, 3)}, "no event counts"),
        ((con, "log"), {"dialect": "duck"}, "the nearest is 'duckdb'"),
        ((con, "log"), {"user": ""}, "the name of a column"),
        ((con, "log"), {"user": "a\0b"}, "the name of a column"),
        ((con, "log..x"), {}, "the name of a table"),
        ((con, '"log'), {}, "the name of a table"),
        ((con, "log"), {"shard": (2, 2)}, "(k, n) with 0 <= k < n"),
        ((7, "log"), {}, "dialect: expected one of bigquery"),
        ((7, "log"), {"dialect": "trino"}, "a connection (DB-API, DuckDB), a Spark session"),
        ((LOG, "log"), {}, "or an SQLContext of polars, got DataFrame"),
    ):  # fmt: skip
        with pytest.raises(BadArgument) as refused:
            evidence_from(*given, **options)
        assert words in str(refused.value), str(refused.value)


# --- The text -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_shipped_files_are_what_the_tool_makes(dialect: str) -> None:
    shipped = (FOLDER / f"{dialect}.sql").read_text(encoding="utf-8")
    assert shipped == engine_sql.file_of(dialect), "run python tools/engine_sql.py"
    assert engine_sql.DIALECTS == DIALECTS
    assert {path.stem for path in FOLDER.iterdir()} == set(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_stay_names_in_every_dialect(dialect: str) -> None:
    """A parser of the dialect reads back the very names, and no other table or statement."""
    columns = Columns(**COLUMNS)
    asked = EngineTable(dialect, f"sales.{QUOTED}", columns, Accepted(0.0, 5.0), shard=(1, 7))
    for text in (asked.evidence(), asked.faults()):
        trees = sqlglot.parse(text, dialect=dialect)
        assert len(trees) == 1
        tree = trees[0]
        assert tree is not None
        read = {table.name: table.db for table in tree.find_all(exp.Table)}
        ours = {name: db for name, db in read.items() if not name.startswith("lumpable_")}
        assert ours == {TABLE: "sales"}
        assert set(COLUMNS.values()) <= {column.name for column in tree.find_all(exp.Column)}
        assert all(name.args["quoted"] for name in tree.find_all(exp.Identifier))


# --- The command line -----------------------------------------------------------------------------


def call(*words: str) -> Result:
    return CliRunner().invoke(main, ["sql", *words], prog_name="lumpable")


def test_a_dialect_is_all_that_must_be_said() -> None:
    asked = EngineTable("spark", "events", Columns("user", "item", "reward"), Accepted())
    assert call("evidence", "--dialect", "spark").stdout == asked.evidence()
    assert call("faults", "--dialect", "spark").stdout == asked.faults()


def test_the_command_prints_what_the_engine_runs(tmp_path: Path) -> None:
    con = in_duckdb(LOG)
    options = [f"--{role}={name}" for role, name in COLUMNS.items()]
    given = ("--dialect", "duckdb", "--table", QUOTED, *options, "--rewards", "-1:1")
    result = call("evidence", *given)
    assert result.exit_code == 0, result.output
    rows = con.execute(result.stdout)
    assert [column[0] for column in rows.description] == [
        "user", "item", "reward", "times", "propensity",
    ]  # fmt: skip
    times = sum(row[3] for row in rows.fetchall())
    mine = read_events(LOG, **named("id", "time", "propensity", "rewarded"), rewards=(-1, 1))
    assert times == len(mine)
    counted = {row[0]: row[1] for row in con.execute(call("faults", *given).stdout).fetchall()}
    assert counted.pop("none") == len(mine)
    assert sum(counted.values()) == mine.dirt.dropped


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--table", "a..b"), "expected the name of a table"),
        (("--table", "a", "--shard", "1"), "expected K/N, such as 0/16, got '1'"),
        (("--table", "a", "--shard", "2/2"), "with 0 <= k < n"),
        (("--table", "a", "--rewards", "some"), "'any', 'binary' or a range"),
        (("--table", "a", "--user", ""), "the name of a column"),
    ],
)
def test_bad_words_are_one_clear_message(words: tuple[str, ...], said: str) -> None:
    result = call("evidence", "--dialect", "spark", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
