"""Write the queries of evidence for every engine: `python tools/engine_sql.py`.

One text, written here in DuckDB's SQL, is turned into the SQL of each engine by sqlglot. The files
are part of the package, so that using them needs no sqlglot; a test says that they are up to date.

What is done in the engine is what `read_events` does. Only operations are used that IEEE 754 and
the SQL standard define to the bit. Rounding is built from a product, floors and comparisons, since
ROUND differs between engines. NaN is above all numbers on some engines, and compares with nothing
on others; the conditions below hold for both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import sqlglot
from sqlglot import exp

FOLDER = Path(__file__).resolve().parents[1] / "src" / "lumpable" / "tables" / "sql"
DIALECTS = (
    "bigquery", "databricks", "duckdb", "postgres", "redshift", "snowflake", "spark", "trino",
)  # fmt: skip
HEAD = "-- made by tools/engine_sql.py\n"

RAW = """
SELECT __user__ AS u, __item__ AS i, CAST(__reward__ AS DOUBLE) AS x,
  CAST(__propensity__ AS DOUBLE) AS p, __time__ AS t, __rewarded__ AS w, __id__ AS e
FROM __table__ WHERE __shard__
"""
"""The columns that there are; those that are not are constants that nothing is wrong with."""

SCALED = """
SELECT u, i, x, p, t, w, e,
  CASE WHEN x >= -10000000000 AND x <= 10000000000 THEN ABS(x) * 1000000 END AS y
FROM lumpable_raw
"""
"""The size of a reward in millionths, not yet rounded; too large ones would overflow."""

CHECKED = """
SELECT u, i, p, t, e,
  CAST(CASE WHEN x < 0 THEN -1 ELSE 1 END * (FLOOR(y) + CASE
    WHEN y - FLOOR(y) > 0.5 THEN 1
    WHEN y - FLOOR(y) = 0.5 AND FLOOR(y) - 2 * FLOOR(FLOOR(y) * 0.5) = 1 THEN 1
    ELSE 0 END) AS BIGINT) AS m,
  CASE
    WHEN u IS NULL OR CAST(u AS TEXT) = '' THEN 'user is missing'
    WHEN i IS NULL OR CAST(i AS TEXT) = '' THEN 'item is missing'
    WHEN x IS NULL THEN 'reward is missing'
    WHEN (x > 0 AND -x > 0) OR NOT (x <= 0 OR x >= 0) THEN 'reward is NaN'
    WHEN x = CASE WHEN x > 1 OR x < -1 THEN x * 0.5 ELSE 2 END THEN 'reward is infinite'
    WHEN y IS NULL OR y > 9007199254740991 OR NOT __accepted__ THEN 'reward is out of range'
    WHEN p IS NULL THEN 'propensity is missing'
    WHEN NOT (p >= 2.2250738585072014e-308 AND p <= 1) THEN 'propensity is outside (0, 1]'
    WHEN t IS NULL THEN 'time is missing'
    WHEN w < t THEN 'reward before its decision'
    WHEN e IS NULL OR CAST(e AS TEXT) = '' THEN 'event id is missing'
  END AS fault
FROM lumpable_scaled
"""
"""Rewards in millionths, halves to the even one, and the first thing that is wrong with a row."""

VERSIONS = """
SELECT e, u, i, m, p, COUNT(*) AS n, MIN(t) AS earliest, MAX(t) AS latest
FROM lumpable_checked WHERE fault IS NULL GROUP BY e, u, i, m, p
"""
RANKED = """
SELECT u, i, m, p, n, earliest, latest,
  COUNT(*) OVER (PARTITION BY e) AS versions,
  CASE WHEN RANK() OVER (PARTITION BY e ORDER BY earliest) = 1
    AND COUNT(*) OVER (PARTITION BY e, earliest) = 1 THEN 1 ELSE 0 END AS kept
FROM lumpable_versions
"""
"""An event id counts once; of versions that differ the first one, if it is known which that is."""

PLAIN = {"lumpable_raw": RAW, "lumpable_scaled": SCALED, "lumpable_checked": CHECKED}
ONCE = PLAIN | {"lumpable_versions": VERSIONS, "lumpable_ranked": RANKED}

EVIDENCE = """
SELECT u AS "user", i AS "item", m AS "reward", COUNT(*) AS "times"
FROM {} GROUP BY u, i, m
"""
JUDGED = """
SELECT u AS "user", i AS "item", m AS "reward", COUNT(*) AS "times", p AS "propensity"
FROM {} GROUP BY u, i, m, p
"""
FAULTS = """
SELECT COALESCE(fault, 'none') AS "fault", COUNT(*) AS "rows", MIN(t) AS "first", MAX(t) AS "last"
FROM lumpable_checked GROUP BY fault
"""
FAULTS_ONCE = """
SELECT fault AS "fault", COUNT(*) AS "rows", MIN(t) AS "first", MAX(t) AS "last"
FROM lumpable_checked WHERE fault IS NOT NULL GROUP BY fault
UNION ALL SELECT 'none', COUNT(*), MIN(earliest), MAX(latest) FROM lumpable_ranked WHERE kept = 1
UNION ALL SELECT 'event id repeats the same', CAST(SUM(n - 1) AS BIGINT), MIN(earliest), MAX(latest)
FROM lumpable_ranked WHERE versions = 1 HAVING SUM(n - 1) > 0
UNION ALL SELECT 'event id contradicts another', CAST(SUM(n - kept) AS BIGINT), MIN(earliest),
MAX(latest) FROM lumpable_ranked WHERE versions > 1 HAVING SUM(n - kept) > 0
"""
GOOD, KEPT = "lumpable_checked WHERE fault IS NULL", "lumpable_ranked WHERE kept = 1"
QUERIES = {
    "evidence": (PLAIN, EVIDENCE.format(GOOD)),
    "evidence propensity": (PLAIN, JUDGED.format(GOOD)),
    "evidence id": (ONCE, EVIDENCE.format(KEPT)),
    "evidence id propensity": (ONCE, JUDGED.format(KEPT)),
    "faults": (PLAIN, FAULTS),
    "faults id": (ONCE, FAULTS_ONCE),
}
SHARD = "COALESCE(SUBSTRING(MD5(CAST(__user__ AS TEXT)), 1, 4), '0000')"
"""Four digits, the same on all engines, by which users are split; those without a name stay."""


def texts() -> dict[str, str]:
    """Return the queries, and the expression of shards, in DuckDB's SQL."""
    whole = {
        name: "WITH " + ", ".join(f"{step} AS ({sql})" for step, sql in steps.items()) + last
        for name, (steps, last) in QUERIES.items()
    }
    return whole | {"shard": f"SELECT {SHARD}"}


def translated(sql: str, dialect: str) -> str:
    """Return a text in the SQL of an engine; every name is quoted, placeholders are not."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", not name.name.startswith("__"))
    return tree.sql(dialect=dialect, pretty=True)


def file_of(dialect: str) -> str:
    """Return the file of an engine: sections that begin with a line `-- name: ..`."""
    sections = [f"-- name: {name}\n{translated(sql, dialect)}\n" for name, sql in texts().items()]
    return HEAD + "\n".join(sections)


def main() -> int:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for dialect in DIALECTS:
        path = FOLDER / f"{dialect}.sql"
        path.write_text(file_of(dialect), encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
