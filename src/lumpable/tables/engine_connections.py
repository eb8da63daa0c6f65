"""Somebody's own connection to an engine, which runs a query and gives back columns.

Knows DuckDB's connections, Spark's sessions, SQL contexts of polars, and whatever follows Python's
DB-API (PEP 249). None of their packages is imported here: whoever has a connection has its package.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.tables.engine_queries import DIALECTS
from lumpable.tables.queries import MISLED

SPEAKS = {
    "databricks": "databricks",
    "duckdb": "duckdb",
    "google": "bigquery",
    "pg8000": "postgres",
    "polars": "duckdb",
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pyspark": "spark",
    "redshift_connector": "redshift",
    "snowflake": "snowflake",
    "trino": "trino",
}
"""The dialect of the connections of a package."""
REFUSALS = {
    "AnalysisException", "ColumnNotFoundError", "DataError", "ParseException", "ProgrammingError",
    "SQLInterfaceError", "SQLSyntaxError",
}  # fmt: skip
"""Errors that say that the query or its names do not fit; others are no fault of the caller."""
ROWS = 50_000
"""Rows that are fetched at once."""
Values = Any
"""A column of a result: an array, or a sequence of Python's own values."""
Table = Sequence[Values]


def dialect_of(connection: Any, dialect: str | None) -> str:
    """Return the dialect that is given, or that of the package which the connection is of."""
    if dialect is not None:
        return dialect
    package = _package(connection)
    if package not in SPEAKS:
        expected = f"one of {', '.join(DIALECTS)} for a connection of {package!r}"
        raise BadArgument("dialect", expected, "none")
    return SPEAKS[package]


def pages(connection: Any, sql: str) -> Iterator[Table]:
    """Run a query and yield its result, page by page."""
    try:
        if _package(connection) == "pyspark":
            yield _arrow_columns(connection.sql(sql).toArrow())
        elif _package(connection) == "duckdb":  # its cursors would not see temporary tables
            with _look_for_nan(connection):
                found = connection.execute(sql).fetchnumpy()
            yield [_without_mask(column) for column in found.values()]
        elif _package(connection) == "polars" and hasattr(connection, "execute"):
            yield [column.to_list() for column in connection.execute(sql, eager=True)]
        elif hasattr(connection, "cursor"):
            yield from _rows(connection.cursor(), sql)
        else:
            expected = "a connection (DB-API, DuckDB), a Spark session or an SQLContext of polars"
            raise BadArgument("connection", expected, type(connection).__name__)
    except Exception as error:
        if REFUSALS & {kind.__name__ for kind in type(error).__mro__}:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise BadArgument("table", why=f"the engine refuses the query: {first}") from error
        raise


@contextlib.contextmanager
def _look_for_nan(connection: Any) -> Iterator[None]:
    """Let a DuckDB look for NaN where it would conclude that there is none; see `MISLED`."""
    row = connection.execute("SELECT current_setting('disabled_optimizers')").fetchone()
    before = str(row[0] or "")
    connection.execute("SET disabled_optimizers = ?", [",".join(filter(None, (before, MISLED)))])
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # in a transaction that failed nothing can be set
            connection.execute("SET disabled_optimizers = ?", [before])


def have_zones(connection: Any, sql: str) -> list[bool]:
    """Return of each column of times that a query has a row of whether they say their zone."""
    if _package(connection) == "duckdb":  # its arrays have lost that
        return ["TIME ZONE" in str(one[1]) for one in connection.execute(sql).description]
    for page in pages(connection, sql):
        for row in zip(*page, strict=True):
            return [getattr(value, "tzinfo", None) is not None for value in row]
    return []


def _package(connection: Any) -> str:
    """Return the package of a connection; that of DuckDB has a name for its inside."""
    return type(connection).__module__.partition(".")[0].lstrip("_")


def _arrow_columns(table: Any) -> Table:
    return [
        column.to_pylist() if "timestamp" in str(column.type) else column.to_numpy()
        for column in table.columns
    ]


def _without_mask(column: Any) -> Values:
    """Return a column of numpy; None where a value is missing."""
    masked = isinstance(column, np.ma.MaskedArray) and column.mask.any()
    return column.astype(object).filled(None) if masked else np.ma.getdata(column)


def _rows(cursor: Any, sql: str) -> Iterator[Table]:
    try:
        cursor.execute(sql)
        while rows := cursor.fetchmany(ROWS):
            if isinstance(rows[0], Mapping):  # a connection may be set to give dicts
                rows = [tuple(row.values()) for row in rows]
            yield list(zip(*rows, strict=True))
    finally:
        cursor.close()
