"""Lumps against peers on matrices of means: any folder of families, and made worlds of people.

    python benchmarks/matrices.py FOLDER           # sub-folders are families of matrices
    python benchmarks/matrices.py --made           # made worlds, which need no folder
    python benchmarks/matrices.py FOLDER --made    # both: what was run already is not run again

Files are those that `lumpable.worlds.read` reads, with means in [0, 1]. A matrix takes some two
minutes on two cores, the made worlds five. Writes docs/measured/matrices.md, which names no file.
Rows are kept in practical/ as they come, and a run that was stopped goes on where it was. Seeds
follow from the commit that froze learner and measure.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Sequence
from pathlib import Path

import click
import matrix_runs
from matrix_bars import Judged, folder_bars, judge, made_bars
from matrix_page import About, called, page
from matrix_runs import Play, Problem, families, made
from protocol import frozen
from protocol.page import verdict
from resumed import Measure, carry_out, line, measure

from lumpable.base.errors import BadArgument

SIZE, TINY = (100, 30), (8, 4)
MARKS, MADE_MARKS, TINY_MARKS = (60, 300), (60,), (4, 8)
SEEDS, QUICK_SEEDS = 10, 4
QUICK_MATRICES = 3
"""Matrices of a family when it must be quick."""
JUDGES = (
    *(f"benchmarks/{name}.py" for name in ("matrices", "matrix_runs", "matrix_bars")),
    "src/lumpable/learners",
)


def ran(
    problems: Sequence[Problem], measured: Measure, seeds: int, rows: Path, jobs: int | None
) -> list[Judged]:
    """Play every problem with so many seeds, and judge it at its marks."""
    plays = {
        problem: [
            Play(problem, seed)
            for seed in frozen.seeds(
                measured.commit, frozen.FRESH, f"{problem.family}/{problem.name}", seeds
            )
        ]
        for problem in problems
    }
    every = {play.key: play for each in plays.values() for play in each}
    found = carry_out(matrix_runs.played, every, rows / measured.folder / "matrices.jsonl", jobs)
    judged = []
    for problem, each in plays.items():
        at_marks = judge(problem, [found[play.key] for play in each])
        judged += at_marks
        ratios = ", ".join(f"{x.mark}: {x.fair} to {x.fair.peer}" for x in at_marks)
        click.echo(f"{problem.label}: {ratios}")
    return judged


def _given(folder: Path | None, made_too: bool) -> None:
    if folder is None and not made_too:
        raise click.UsageError("expected a FOLDER of matrices, or --made, got neither")


@click.command(help=__doc__.partition("\n")[0])
@click.argument("folder", required=False, type=click.Path(True, file_okay=False, path_type=Path))
@click.option("--made", "made_too", is_flag=True, help="Made worlds of people, too.")
@click.option("--size", nargs=2, type=click.IntRange(2), default=SIZE, show_default=True,
              help="Contexts and arms of a world at most.")  # fmt: skip
@click.option("--freeze", help="The commit that froze the learner; by default the last of it.")
@click.option("--quick", is_flag=True, help="Fewer seeds, and few matrices of each family.")
@click.option("--tiny", is_flag=True, help="A trial of the command itself: tiny worlds, 2 seeds.")
@click.option("--seeds", type=click.IntRange(2), help="Draws of each matrix or made world.")
@click.option("--changed", is_flag=True, help="Measure changes that are not in the commit, too.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; by default all cores.")
@click.option("--rows", default=frozen.ROOT / "practical", type=Path, help="Where rows are kept.")
@click.option(
    "--out", default=frozen.ROOT / "docs" / "measured" / "matrices.md", type=Path, help="The page."
)
def main(
    folder: Path | None, made_too: bool, size: tuple[int, int], freeze: str | None, quick: bool,
    tiny: bool, seeds: int | None, changed: bool, jobs: int | None, rows: Path, out: Path,
) -> None:  # fmt: skip
    """Play everything, print every bar and write the page."""
    _given(folder, made_too)
    began, measured = time.monotonic(), measure(JUDGES, freeze, changed=changed or tiny)
    number = seeds or (2 if tiny else QUICK_SEEDS if quick else SEEDS)
    size, marks, made_marks = (TINY, TINY_MARKS, TINY_MARKS[:1]) if tiny else (
        size, MARKS, MADE_MARKS)  # fmt: skip
    try:
        asked = [] if folder is None else families(
            folder, size, marks, QUICK_MATRICES if quick else None)  # fmt: skip
    except BadArgument as error:
        raise click.UsageError(str(error)) from error
    matrices = ran(asked, measured, number, rows, jobs)
    worlds = ran(made(size, made_marks) if made_too else [], measured, number, rows, jobs)
    bars = [*folder_bars(matrices, called(matrices)), *made_bars(worlds)]
    command = "python benchmarks/matrices.py" + " FOLDER" * bool(folder) + " --made" * made_too
    command += " --size {} {}".format(*size) * (size not in (SIZE, TINY)) + " --quick" * quick
    command += " --tiny" * tiny + (f" --seeds {seeds}" if seeds else "")
    about = About(
        command, measured.said, f"{datetime.date.today():%Y-%m-%d}", os.cpu_count() or 1,
        (time.monotonic() - began) / 60, size, number,
    )  # fmt: skip
    out.write_text(page(bars, matrices, worlds, about))
    click.echo("\n".join(map(line, bars)))
    click.echo(verdict(bars))


if __name__ == "__main__":
    main()
