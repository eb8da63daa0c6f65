"""The command `lumpable reproduce`: options in, progress on stderr, verdicts on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lumpable.base.errors import BadArgument
from lumpable.base.words import duration, short, time_left
from lumpable.cli import bars
from lumpable.cli.options import default_is

if TYPE_CHECKING:
    from lumpable.reproduce.record import Row
    from lumpable.reproduce.runner import Step

UNEXPECTED = 1


@click.command("reproduce")
@click.option(
    "--quick", is_flag=True, help="A look of a minute or two, not the whole measurement of ten."
)
@click.option("--only", metavar="NUMBERS", help="Some claims: 3,15 or 1-5.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduce"),
    show_default=True,
    help="Where everything goes.",
)
@click.option("--fresh", is_flag=True, help="Forget what was measured before.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help=default_is("How many claims are measured at a time.", "one for each core"),
)
@click.pass_context
def reproduce(
    ctx: click.Context, quick: bool, only: str | None, folder: Path, fresh: bool, jobs: int | None
) -> None:
    """Measure every claim of the paper that a program can check.

    Writes a page that opens in any browser (index.html), with a table and a figure for each claim:
    as printed, repaired where it needs that, and a broken variant that must fail. The same rows
    are in rows.parquet. A run that was stopped goes on where it was.

    \b
    Examples:
      lumpable reproduce --quick
      lumpable reproduce --only 3,15

    Exit codes: 0 all as expected, 1 not, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.reproduce import runner

    numbers = None if only is None else parse(only)
    with bars.progress() as (say, advance):

        def watch(step: Step) -> None:
            if step.latest is not None:
                say(result_line(step, step.latest))
            elif not step.running and step.taken:
                say(taken_over_line(step))
            advance(len(step.rows), step.total, state(step))

        rows = runner.run(numbers, quick, folder, jobs, fresh=fresh, watch=watch)
    conclude(rows, folder)
    if not all(row.as_expected for row in rows):
        ctx.exit(UNEXPECTED)


def parse(text: str) -> list[int]:
    """Read numbers and ranges.

    >>> parse("3, 15,1-3")
    [3, 15, 1, 2, 3]
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.strip().isdecimal() and len(end) < 9 for end in ends):
            raise BadArgument("only", "numbers such as 3,15 or 1-5", repr(text))
        begin, end = map(int, ends)
        if begin > end or end - begin > 999:
            raise BadArgument("only", "a range such as 1-5", repr(part.strip()))
        found += range(begin, end + 1)
    return found


# --- While it runs --------------------------------------------------------------------------


def state(step: Step) -> str:
    """Say in one line where a run is."""
    words = f"{len(step.rows)} of {step.total} done"
    if not step.running:
        return words
    running = ", ".join(map(str, step.running))
    return f"{words}, {time_left(step.left)}, now {running}"


def result_line(step: Step, row: Row) -> str:
    """Say in one line how a claim came out."""
    place = f"[{len(step.rows)}/{step.total}]"
    return f"{place} {row.number} {row.title}: {outcome(row)}, {duration(row.seconds)}"


def taken_over_line(step: Step) -> str:
    """Say which claims need not be measured again."""
    from lumpable.reproduce.runner import ranges

    return f"measured before by the same code, taken over: {ranges(step.taken)} (--fresh: anew)"


def outcome(row: Row) -> str:
    """Say whether a claim came out as expected, and if not, what did not."""
    from lumpable.reproduce.verdicts import verdicts

    if row.error:
        return f"could not be measured: {row.error}"
    if row.as_expected:
        return "as expected"
    printed, repaired, broken = verdicts(row)
    words = f"printed {printed}"
    if row.repaired_holds is not None:
        words += f", repaired {repaired}"
    return f"not as expected: {words}, broken variant {broken}"


# --- When it is done ------------------------------------------------------------------------


BRIEF = {"does not hold": "fails", "not caught": "missed", "not measured": "error"}
"""Verdicts in fewer letters, so that a table fits into a terminal."""


def conclude(rows: Sequence[Row], folder: Path) -> None:
    """Print the verdicts, those that are not as expected, and where the page is."""
    from lumpable.cli import show

    head = ("claim", "printed", "repaired", "broken", "seeds", "expected")
    table = show.table("Claims of the paper", head, map(brief, rows))
    table.columns[0].no_wrap = False  # a long title takes more lines, not the verdicts' room
    good = sum(row.as_expected for row in rows)
    out = show.console()
    out.print(table)
    out.print(f"{good} of {len(rows)} claims came out as expected.")
    for row in rows:
        if not row.as_expected:
            out.print(f"Claim {row.number}, {row.title}: {outcome(row)}")
    out.print(f"page: {folder / 'index.html'}\nrows: {folder / 'rows.parquet'}")


def brief(row: Row) -> tuple[str, ...]:
    """Return the verdicts of a claim as a line of the table."""
    from lumpable.reproduce.verdicts import verdicts

    return (
        f"{row.number:2d} {row.title}",
        *(BRIEF.get(verdict, verdict) for verdict in verdicts(row)),
        "-" if row.error else short(row.seeds),
        "yes" if row.as_expected else "NO",
    )
