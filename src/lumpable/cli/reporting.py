"""The command `lumpable report`: rows in, a page out."""

from __future__ import annotations

from pathlib import Path

import click

from lumpable.cli import bars, outputs
from lumpable.cli.options import default_is
from lumpable.cli.show import say


@click.command("report")
@click.argument("rows", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help=default_is("The page to write.", "beside ROWS, ending in .html"),
)
@click.option(
    "--png",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write every picture as PNG into this folder.",
)
@click.option("--title", default="Learners compared", show_default=True, help="Title of the page.")
def report(rows: Path, out: Path | None, folder: Path | None, title: str) -> None:
    """Make a page of the rows of a comparison that opens in any browser, offline.

    ROWS is the Parquet file that `lumpable compare` writes; while it is still at work, the name of
    the file that it is going to write. The page shows for each world regret over time, ratios to
    the best fair peer with paired intervals, who beats whom, time, memory and the groups that were
    found, and says what was not run or failed, and why.

    \b
    Examples:
      lumpable report rows.parquet
      lumpable report rows.parquet --out report.html --png pictures

    Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.reports import compared

    page = rows.parent / f"{rows.stem}.html" if out is None else out
    outputs.check({"--out": page}, read=[rows])
    read = compared.read(rows)
    compared.report(read, page, title=title)
    say(f"page: {page}")
    if folder is not None:
        with bars.progress() as (_, advance):

            def show(done: int, total: int, name: str) -> None:
                advance(done, total, f"{done} of {total}, {name}")

            files = compared.pictures(read, folder, progress=show)
        say(f"pictures: {len(files)} in {folder}")
