"""Rows on disk: each finished cell at once as a part, all of them in the end as one Parquet file.

A part is written whole, so that a crash at any moment leaves whole cells only. The cells of parts
and file are done; that of a damaged part is run again. Several comparisons may write to one file.
Knows nothing of how rows are made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.files import alone, sweep
from lumpable.comparisons import parquet
from lumpable.comparisons.parquet import arrow, column_of
from lumpable.comparisons.rows import COLUMNS, Key, Row, keys, table, without_code

MANY = 500
"""After this many cells the parts are put into the file, even if more are to come."""


def read(path: Path) -> Any:
    """Read a table of rows."""
    return parquet.read(path, COLUMNS)


def parts_of(path: Path) -> Path:
    """Return the folder of the parts of a file."""
    return path.with_name(f"{path.name}.parts")


def read_parts(path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield each part of a file and its table, which is None if it is damaged."""
    for part in sorted(parts_of(path).glob("[!.]*.parquet")):
        try:
            yield part, read(part)
        except BadArgument:
            yield part, None
        except FileNotFoundError:
            continue  # just now put into the file by another comparison


class Store:
    """A Parquet file of rows and, while cells come, the folder of its parts."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".parquet":
            raise BadArgument("out", "a name that ends in .parquet", repr(str(path)))
        arrow()  # if it is missing, nothing runs
        self.path = path
        self.folder = parts_of(path)
        if path.exists():
            read(path)  # a damaged file is refused before anything runs
        path.parent.mkdir(parents=True, exist_ok=True)

    def begin(self) -> None:
        """Make the folder of parts, without what a killed run left half-written."""
        self.folder.mkdir(exist_ok=True)
        sweep(self.folder)

    def done(self) -> tuple[dict[Key, str], list[Path]]:
        """Return the cells that are done, with the version of each, and the parts that are damaged.

        Cells that failed or were not run are run again: to be refused again costs next to nothing,
        and the reason may be gone.
        """
        found: dict[Key, str] = {}
        parts = list(read_parts(self.path))
        whole = [read(self.path)] if self.path.exists() else []
        for rows in (*whole, *(rows for _, rows in parts if rows is not None)):
            more = (rows.column(name).to_pylist() for name in ("status", "version"))
            for key, status, version in zip(keys(rows), *more, strict=True):
                if status == "done":
                    found[key] = version
        return found, [part for part, rows in parts if rows is None]

    def keep(self, rows: Sequence[Row]) -> None:
        """Write the rows of a finished cell; after this they outlive a crash."""
        digest = hashlib.sha256(json.dumps(list(rows[0].key)).encode()).hexdigest()[:24]
        made = table(rows)
        for attempt in (1, 2, 3):
            self.folder.mkdir(exist_ok=True)
            try:
                return parquet.write(made, self.folder / f"{digest}.parquet")
            except FileNotFoundError:  # another comparison was done and took the folder away
                if attempt == 3:
                    raise

    def combine(self, order: Mapping[Key, int]) -> Any:
        """Put all parts into the file, in this order, and remove them; returns its table.

        Rows of other experiments stay, after these. A part replaces older rows of its cell, even of
        other code of the same learner. Damaged parts are removed: their cells were run again.
        """
        with alone(self.path.resolve().parent):
            parts = list(read_parts(self.path))
            old = read(self.path) if self.path.exists() else table([])
            fresh = arrow().concat_tables(
                [table([]), *(new for _, new in parts if new is not None)]
            )
            newer = set(map(without_code, keys(fresh)))
            stays = [i for i, key in enumerate(keys(old)) if without_code(key) not in newer]
            rows = arrow().concat_tables([old.take(column_of(stays, "int64")), fresh])
            place = [order.get(key, len(order)) for key in keys(rows)]
            rows = rows.take(column_of(sorted(range(len(place)), key=place.__getitem__), "int64"))
            parquet.write(rows, self.path)
            for part, _ in parts:
                part.unlink(missing_ok=True)
        return rows.slice(0, sum(at < len(order) for at in place))

    def close(self) -> None:
        """Remove the folder of parts, unless there are any."""
        if self.folder.exists():
            sweep(self.folder)
            with contextlib.suppress(OSError):  # not empty: another comparison is at work
                self.folder.rmdir()
