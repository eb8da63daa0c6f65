"""Compare learners from Python: what people hand in becomes an experiment, rows come back."""

from __future__ import annotations

import html
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra
from lumpable.base.words import counted
from lumpable.comparisons import parquet
from lumpable.comparisons.experiment import parse
from lumpable.comparisons.rows import Row, keys, rows_of
from lumpable.comparisons.running import Step, run
from lumpable.comparisons.store import Store
from lumpable.comparisons.values import Refused
from lumpable.worlds.scene import Scene
from lumpable.worlds.world import World

One = str | Mapping[str, Any] | Callable[..., Any] | World | Scene
"""A single learner or world."""


class Comparison:
    """The rows of a comparison: one for each checkpoint of a learner in a world with a seed.

    A notebook shows them as a table; `report` writes a page.
    """

    def __init__(self, table: Any) -> None:
        self.table = table
        """The rows as an Arrow table: `polars.from_arrow(c.table)`, `c.table.to_pandas()`."""

    def rows(self) -> list[Row]:
        """Return the rows, with named fields; pandas and polars make a frame of the list."""
        return rows_of(self.table)

    @property
    def cells(self) -> Counter[str]:
        """How many cells are `done`, `not run` and `failed`."""
        ends = dict(zip(keys(self.table), self.table.column("status").to_pylist(), strict=True))
        return Counter(ends.values())

    def save(self, path: str | Path) -> None:
        """Write the rows to a Parquet file, which `lumpable report` reads."""
        if Path(path).suffix != ".parquet":
            raise BadArgument("path", "a name that ends in .parquet", repr(str(path)))
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        parquet.write(self.table, Path(path))

    def report(self, path: str | Path) -> Path:
        """Write one page with tables and figures that opens in any browser; return its path."""
        from lumpable.reports.compared import report

        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return report(self.table, path)

    def __repr__(self) -> str:
        return f"Comparison({self.table.num_rows} rows; {count_cells(self.cells)})"

    def _repr_html_(self) -> str:
        from lumpable.reports.compared import summary_html

        try:
            summary = summary_html(self.table)
        except MissingExtra as missing:  # without pictures there is no summary
            summary = f"<p>{html.escape(str(missing))}</p>"
        return f"<p>{html.escape(repr(self))}</p>{summary}"


def count_cells(cells: Mapping[str, int]) -> str:
    """Say how many cells are done, not run and failed.

    >>> count_cells({"done": 1200, "failed": 1})
    '1,200 cells done, 1 failed'
    """
    words = [f"{counted(cells.get('done', 0), 'cell')} done"]
    words += [f"{cells[word]:,} {word}" for word in ("not run", "failed") if cells.get(word)]
    return ", ".join(words)


def compare(
    learners: Iterable[Any] | One,
    worlds: Iterable[Any] | One,
    *,
    horizon: int | None = None,
    pulls: int | None = None,
    seeds: int | Iterable[int] = 20,
    out: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "local",
    address: str | None = None,
    watch: Callable[[Step], None] | None = None,
) -> Comparison:
    """Play every learner in every world with every seed, on common luck.

    Parameters
    ----------
    learners
        Names of the catalogue, `module:Class`, classes, callables that make a learner, or mappings
        with a `name` (any of these), a `label` and parameters. Or a mapping from labels to these,
        or a single one.
    worlds
        Worlds, scenes, or mappings as in a TOML file: a `kind`, the parameters of its maker in
        `lumpable.worlds`, `arrivals`, `delay`, `drift`, `at`, `label`. Those are drawn anew for
        each seed; a world itself is the same for all seeds. Or a mapping from labels to these, or
        a single one.
    horizon, pulls
        Rounds, in all or for each context.
    seeds
        How many, or a list of them.
    out
        A Parquet file for the rows. Cells that it holds are not run again; its other rows stay.
    jobs, backend, address
        How many processes (1: this one; by default one for each core), `local`, `dask` or `ray`,
        and the address of that cluster.
    watch
        Called with each `Step`: how far the comparison is.

    >>> found = compare(
    ...     ["ucb", {"name": "ucb", "width": 0.2}],
    ...     [{"kind": "lumpable", "contexts": 6, "arms": 3, "groups": 2}],
    ...     horizon=100, seeds=2, jobs=1,
    ... )
    >>> found
    Comparison(24 rows; 4 cells done)
    """
    top = {"horizon": horizon, "pulls": pulls, "seeds": seeds}
    said = {key: value for key, value in top.items() if value is not None}
    said |= {"learner": _as_list(learners, "learners"), "world": _as_list(worlds, "worlds")}
    try:
        experiment = parse(said)
    except Refused as error:
        table, number = (*error.spot, None, None)[:2]
        place = "" if number is None or table == "seeds" else f"{table}s[{number}]"
        raise error.at(place) from error
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "rows.parquet") if out is None else Path(out))
        tell = watch or (lambda step: None)
        return Comparison(
            run(experiment, store, backend=backend, jobs=jobs, address=address, watch=tell)
        )


def _as_list(items: Any, name: str) -> list[Any]:
    single = {"learners": "name", "worlds": "kind"}[name]
    if isinstance(items, Mapping) and isinstance(items.get(single), str | Callable):
        return [items]
    if isinstance(items, World | Scene) or (
        name == "learners" and (isinstance(items, str) or callable(items))
    ):
        return [items]
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise BadArgument(name, "a list", repr(items))
    if not isinstance(items, Mapping):
        return list(items)
    return [_with_label(item, label) for label, item in items.items()]


def _with_label(item: Any, label: str) -> Any:
    """Give what people handed in a label."""
    if isinstance(item, World):
        return Scene(item, name=label)
    if isinstance(item, Scene):
        return replace(item, name=label)
    return {**item, "label": label} if isinstance(item, Mapping) else {"name": item, "label": label}
