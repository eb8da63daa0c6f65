"""Candidates against Algorithm 6 and against the standard algorithm: regret after 1e12 rounds.

    python benchmarks/beyond.py                       # up to 1,000 contexts and arms
    python benchmarks/beyond.py --large               # 2,500 and 5,000 too: an hour or two
    python benchmarks/beyond.py --sizes 300 300 3     # this size alone; give it several times
    python benchmarks/beyond.py --large --kept        # a page of what has been run so far

Writes docs/measured/beyond.md, or the page that --out names. Rows are kept in practical/ as they
come, and a run that was stopped goes on where it was. Seeds follow from the last commit of the
plans and of what runs them.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

import beyond_runs
import click
from beyond_page import About, Cell, bars, enough, page, verdict
from beyond_runs import WORLDS, Play, Size
from protocol import frozen
from resumed import Measure, carry_out, kept, line

PLANS = ("src/lumpable/plans", "src/lumpable/runs")
"""What is measured, and what runs it: seeds follow from its last commit."""
TIMES = {Size(300, 300, 3): 100.0, Size(60, 60, 16): 1000.0}
"""How many times below Algorithm 6 candidates must be: fixed before anything was run."""
GROUPS = (2, 8)
SQUARES, LARGE, QUICK_SQUARES = (300, 600, 1000), (2500, 5000), (100, 300)
SIZES = (*TIMES, *(Size(n, n, r) for r in GROUPS for n in SQUARES))
QUICK = (*TIMES, *(Size(n, n, r) for r in GROUPS for n in QUICK_SQUARES))
TINY = {Size(8, 6, 2): 1.0, Size(6, 6, 2): None}
HORIZON, TINY_HORIZON = 10**12, 10**9
SEEDS, FEWEST = 3, 2
PAGE = frozen.ROOT / "docs" / "measured" / "beyond.md"


def measure(commit: str | None, *, changed: bool) -> Measure:
    """Return what is measured; refuse changes that nobody asked for."""
    found = frozen.full_hash(commit) if commit else frozen.last_commit(PLANS)
    same = not frozen.differs(found, PLANS)
    if not (same or changed):
        raise click.ClickException(
            f"plans differ from those of {found[:12]}: commit them, or add --changed"
        )
    return Measure(found, same, found[:12] if same else f"{found[:12]}-{frozen.digest(PLANS)}")


Plays = dict[tuple[Size, str], dict[str, list[Play]]]
"""By size and world, and by method: one for each seed."""


def listed(sizes: Sequence[Size], horizon: int, measured: Measure, seeds: int) -> Plays:
    """Return every method of every size in every world: the same worlds and seeds for all."""
    return {
        (size, world): {
            method: [
                Play(size, world, method, horizon, seed)
                for seed in frozen.seeds(measured.commit, frozen.FRESH, f"{size} {world}", seeds)
            ]
            for method in size.methods
        }
        for size in sizes
        for world in WORLDS
    }


def ran(plays: Plays, file: Path, jobs: int) -> list[Cell]:
    """Run them, but for those that the file holds: one seed of everything before the next."""
    by_seed = zip(*(some for each in plays.values() for some in each.values()), strict=True)
    every = {play.key: play for some in by_seed for play in some}
    return cells(plays, carry_out(beyond_runs.played, every, file, jobs))


def cells(plays: Plays, found: Mapping[str, Mapping[str, float]]) -> list[Cell]:
    """Return what was lost by size and world, of the seeds with which every method was run."""
    made = []
    for (size, world), each in plays.items():
        together = zip(*each.values(), strict=True)
        seeds = [some for some in together if all(play.key in found for play in some)]
        rows = [{play.method: found[play.key] for play in some} for some in seeds]
        regret = {method: [row[method]["regret"] for row in rows] for method in each}
        at_random = [row[beyond_runs.OURS]["at random"] for row in rows]
        seconds = sum(one["seconds"] for row in rows for one in row.values())
        made.append(Cell(size, world, regret, at_random, seconds))
    return made


def title(given: Sequence[tuple[int, int, int]]) -> str:
    """Return the heading of the page; it names the sizes if they were chosen one by one.

    >>> title([(2500, 2500, 2), (2500, 2500, 8), (5000, 5000, 2)])
    'How much candidates lose: 2,500 and 5,000 contexts'
    """
    numbers = " and ".join(f"{n:,}" for n in sorted({contexts for contexts, _, _ in given}))
    return "How much candidates lose" + f": {numbers} contexts" * bool(given)


def chosen(given: Sequence[tuple[int, int, int]], quick: bool, large: bool) -> list[Size]:
    """Return the sizes that were asked for, in order."""
    if given:
        return list(dict.fromkeys(Size(*each) for each in given))
    more = [Size(n, n, r) for r in GROUPS for n in LARGE] if large else []
    return [*(QUICK if quick else SIZES), *more]


@click.command(help=__doc__.partition("\n")[0])
@click.option("--sizes", nargs=3, type=click.IntRange(2), multiple=True,
              help="Contexts, arms and groups; give it several times.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(FEWEST), help=f"Worlds of each kind; {SEEDS}.")
@click.option("--quick", is_flag=True, help="Two seeds, and at most 300 contexts and arms.")
@click.option("--large", is_flag=True, help="2,500 and 5,000 contexts and arms, too.")
@click.option("--tiny", is_flag=True, help="A trial of the command itself: tiny worlds, 2 seeds.")
@click.option("--freeze", help="The commit that seeds follow from; by default the plans' last.")
@click.option("--changed", is_flag=True, help="Measure changes that are not in the commit, too.")
@click.option(
    "--kept", "only_kept", is_flag=True, help="Run nothing: a page of rows that are kept."
)
@click.option("--jobs", default=1, type=click.IntRange(1), show_default=True, help="Processes.")
@click.option("--rows", default=frozen.ROOT / "practical", type=Path, help="Where rows are kept.")
@click.option("--out", default=PAGE, type=Path, help="The page.")
def main(
    sizes: tuple[tuple[int, int, int], ...], seeds: int | None, quick: bool, large: bool,
    tiny: bool, freeze: str | None, changed: bool, only_kept: bool, jobs: int, rows: Path,
    out: Path,
) -> None:  # fmt: skip
    """Run everything, print every bar and write the page."""
    measured = measure(freeze, changed=changed or tiny)
    number = seeds or (FEWEST if tiny or quick else SEEDS)
    horizon = TINY_HORIZON if tiny else HORIZON
    asked = list(TINY) if tiny else chosen(sizes, quick, large)
    plays, file = listed(asked, horizon, measured, number), rows / measured.folder / "beyond.jsonl"
    found = cells(plays, kept(file)) if only_kept else ran(plays, file, jobs)
    times = TINY if tiny else TIMES
    command = "python benchmarks/beyond.py" + " --quick" * quick + " --large" * large
    command += " --tiny" * tiny + (f" --seeds {seeds}" if seeds else "")
    command += "".join(" --sizes {} {} {}".format(*each) for each in sizes)
    command += f" --out {out}" * (out != PAGE)  # repeated without it, it would write another page
    about = About(
        title(sizes), command, measured.said, f"{datetime.date.today():%Y-%m-%d}", horizon, number
    )
    out.write_text(page(found, times, about))
    judged = enough(found)
    click.echo("\n".join(line(bar) for cell in judged for bar in bars(cell, times)))
    click.echo(verdict(judged, times))


if __name__ == "__main__":
    main()
