"""A DuckDB in memory that may use the disk, and queries that say how far they are."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need

Progress = Callable[[float, str], None]
"""Takes what part is done, from 0 to 1, and words."""
MISLED = "statistics_propagation"
"""What DuckDB must not do: it takes the least and the greatest number of a Parquet file's head for
those of all its rows, and concludes that none is NaN, which that head does not say."""
LOOK = 0.2
"""Seconds between two looks at how far a query is."""


@contextlib.contextmanager
def database(memory: str | None) -> Iterator[Any]:
    """Open a DuckDB; what does not fit into `memory` goes to a folder until it is closed."""
    duckdb = need("duckdb", "warehouse", "reading events")
    folder = tempfile.mkdtemp(prefix="lumpable-")
    con = duckdb.connect()
    try:
        con.execute("SET temp_directory = ?", [folder])
        con.execute("SET TimeZone = 'UTC'")
        con.execute(f"SET disabled_optimizers = '{MISLED}'")
        con.execute("SET enable_progress_bar = true")  # or nobody can say how far a query is
        con.execute("SET enable_progress_bar_print = false")
        if memory is not None:
            _limit(con, memory)
        yield con
    except duckdb.OutOfMemoryException as error:
        if memory is None:
            raise
        first = str(error).splitlines()[0]
        raise BadArgument("memory", why=f"{memory!r} is too little: {first}") from error
    finally:
        con.close()
        shutil.rmtree(folder, ignore_errors=True)


def _limit(con: Any, memory: str) -> None:
    import duckdb

    try:
        con.execute("SET memory_limit = ?", [str(memory)])
    except duckdb.Error:
        raise BadArgument("memory", "a size such as '4GB'", repr(memory)) from None


def run(
    con: Any, sql: str, progress: Progress | None, words: str, span: tuple[float, float]
) -> None:
    """Run a statement; `span` says from where to where the progress goes."""
    if progress is None:
        con.execute(sql)
        return
    low, high = span
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(con.execute, sql)
        try:
            while True:
                try:
                    running.result(LOOK)
                    break
                except NotYet:
                    done = max(0.0, con.query_progress()) / 100.0
                    progress(low + (high - low) * min(done, 1.0), words)
        except BaseException:
            con.interrupt()  # or leaving this block would wait for the query
            raise
    progress(high, words)
