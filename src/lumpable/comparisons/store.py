"""Rows on disk: each finished cell at once as a part, all of them at last as one Parquet file.

A part is written beside its name and renamed, so that a crash at any moment leaves whole cells
only. Parts and file together say which cells are done. Knows nothing of how rows come about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.files import replace
from lumpable.comparisons.arrow import WHAT, arrow, filled, kind
from lumpable.comparisons.cell import Key, as_json
from lumpable.comparisons.rows import COLUMNS, KEY, Row

MANY = 500
"""So many parts are put into the file, even if there are more to come."""


def schema() -> Any:
    """Return `rows.COLUMNS` in Arrow's words."""
    return arrow().schema([(name, kind(type_)) for name, type_ in COLUMNS.items()])


def table(rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table with the columns of `rows.COLUMNS`."""
    columns = [filled([row[name] for row in rows], type_) for name, type_ in COLUMNS.items()]
    return arrow().Table.from_arrays(columns, schema=schema())


def key_of(row: Row) -> Key:
    """Return the key of a row."""
    learner, parameters, world, setting, horizon, seed = (row[name] for name in KEY)
    return learner, parameters, world, setting, horizon, seed


def keys(rows: Any) -> list[Key]:
    """Return the key of each row of a table."""
    return list(zip(*(rows.column(name).to_pylist() for name in KEY), strict=True))


def whoever(key: Key) -> Key:
    """Return the key of a cell without the digest of its learner's code."""
    return (key[0], _sourceless(key[1]), *key[2:])


@cache
def _sourceless(parameters: str) -> str:
    said = json.loads(parameters)
    return as_json({name: value for name, value in said.items() if name != "source"})


def read(path: Path, columns: Sequence[str] = tuple(COLUMNS)) -> Any:
    """Read these columns of a table of rows; a file that is none is an error that names it."""
    files = need("pyarrow.parquet", "research", WHAT)
    try:
        with files.ParquetFile(path) as file:  # read_table would import pandas
            missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
            if missing:
                raise BadArgument(str(path), "rows of a comparison", f"no {missing[0]!r}")
            found = file.read(list(columns))
    except arrow().ArrowInvalid as error:
        raise BadArgument(str(path), "a Parquet file", f"another: {error}") from error
    wanted = schema()
    return found.select(list(columns)).cast(arrow().schema([wanted.field(c) for c in columns]))


def write(rows: Any, path: Path) -> None:
    """Write a table of rows whole, or leave the old file."""
    files = need("pyarrow.parquet", "research", WHAT)
    sink = arrow().BufferOutputStream()
    files.write_table(rows, sink)
    replace(path, sink.getvalue().to_pybytes())


class Store:
    """A Parquet file of rows and, while cells come, the folder of its parts."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".parquet":
            raise BadArgument("out", "a name that ends in .parquet", repr(str(path)))
        arrow()  # if it is missing, nothing runs
        self.path = path
        self.folder = path.with_name(f"{path.name}.parts")
        if path.exists():
            read(path, KEY)  # a file that is none is refused before anything runs
        path.parent.mkdir(parents=True, exist_ok=True)

    def begin(self) -> None:
        """Make the folder of parts; what was under way when somebody was killed is forgotten."""
        self.folder.mkdir(exist_ok=True)
        self._sweep()

    def done(self) -> dict[Key, str]:
        """Return the keys of all cells that are done, and the version that each was run with.

        Those that failed are run again, and so are those that were not run: to be refused again
        costs next to nothing, and the reason may be gone.
        """
        found: dict[Key, str] = {}
        for file in (*([self.path] if self.path.exists() else []), *self._parts()):
            rows = read(file, (*KEY, "status", "version"))
            more = (rows.column(name).to_pylist() for name in ("status", "version"))
            for key, status, version in zip(keys(rows), *more, strict=True):
                if status == "done":
                    found[key] = version
        return found

    def keep(self, rows: list[Row]) -> None:
        """Write the rows of a finished cell; after this they outlive a crash."""
        write(table(rows), self.part(key_of(rows[0])))

    def part(self, key: Key, suffix: str = "parquet") -> Path:
        """Return where the part of a cell lies."""
        digest = hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:24]
        return self.folder / f"{digest}.{suffix}"

    def combine(self, order: Mapping[Key, int]) -> Any:
        """Put all parts into the file, in this order, and remove them; returns its table.

        Rows of other experiments stay, after these. A part takes the place of older rows, be they
        of other code of the same learner.
        """
        parts = self._parts()
        old = read(self.path) if self.path.exists() else table([])
        fresh = arrow().concat_tables([table([]), *map(read, parts)])
        newer = set(map(whoever, keys(fresh)))
        stays = [i for i, key in enumerate(keys(old)) if whoever(key) not in newer]
        rows = arrow().concat_tables([old.take(filled(stays, "int64")), fresh])
        place = [order.get(key, len(order)) for key in keys(rows)]
        rows = rows.take(filled(sorted(range(len(place)), key=place.__getitem__), "int64"))
        write(rows, self.path)
        for part in parts:
            part.unlink(missing_ok=True)
        return rows.slice(0, sum(at < len(order) for at in place))

    def close(self) -> None:
        """Remove the folder of parts, unless there are any."""
        self._sweep()
        if self.folder.exists() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _sweep(self) -> None:
        for left in (*self.folder.glob("*.running"), *self.folder.glob(".*.parquet.*")):
            left.unlink(missing_ok=True)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("[!.]*.parquet"))
