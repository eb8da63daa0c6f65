"""Whether groups, policies and intervals can be believed under every law of rewards.

    python benchmarks/laws.py            # all laws and sizes: one to two hours on two cores
    python benchmarks/laws.py --quick    # fewer seeds, fewer large worlds: a quarter of an hour

Writes docs/measured/laws.md. Rows are kept in practical/ as they come, and a run that was stopped
goes on where it was. Seeds follow from the commit that froze learner and measure.
"""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path

import click
import law_runs
from law_bars import TASTES, bars
from law_page import About, page
from law_runs import ITSELF, LOGGED, Case, Run
from protocol import frozen
from protocol.page import verdict
from resumed import carry_out, line, measure

from lumpable.worlds.people import REWARDS

Size = tuple[int, int]
SMALL, LARGE, TINY = (100, 20), (1000, 100), (16, 4)
PULLS = (20, 60, 200)
SEEDS, LARGE_SEEDS, QUICK_SEEDS = 20, 3, 5
QUICK_LAWS = ("bernoulli", "sd by arm", "poisson", "revenue")
"""Laws of the large worlds when it must be quick."""
JUDGES = tuple(f"benchmarks/{name}.py" for name in ("laws", "law_runs", "law_bars"))


def cases(commit: str, size: Size, laws: tuple[str, ...], seeds: int) -> list[Case]:
    """Return every case of a size; worlds are the same for all numbers of rewards."""
    return [
        Case(law, *size, groups, pulls, how, seed)
        for law in laws
        for groups in (1, TASTES)
        for seed in frozen.seeds(commit, frozen.FRESH, f"{law}, {size}, {groups}", seeds)
        for pulls in PULLS
        for how in (LOGGED, ITSELF)
    ]


def planned(
    commit: str, *, quick: bool, tiny: bool, seeds: int | None, large: int | None
) -> list[Case]:
    """Return what is to be run, in turn: the small worlds first."""
    every = tuple(REWARDS)
    if tiny:
        return cases(commit, TINY, every[:2], seeds or 2)
    few = QUICK_SEEDS if quick else SEEDS
    return [
        *cases(commit, SMALL, every, seeds or few),
        *cases(commit, LARGE, QUICK_LAWS if quick else every,
               (1 if quick else LARGE_SEEDS) if large is None else large),
    ]  # fmt: skip


@click.command(help=__doc__.partition("\n")[0])
@click.option("--freeze", help="The commit that froze the learner; by default the last of it.")
@click.option("--quick", is_flag=True, help="Fewer seeds, and of the large worlds fewer laws.")
@click.option("--tiny", is_flag=True, help="A trial of the command itself: tiny worlds, two laws.")
@click.option("--seeds", type=click.IntRange(1), help="Worlds of each kind.")
@click.option("--large", type=click.IntRange(0), help="Of the large ones; 0: none.")
@click.option("--changed", is_flag=True, help="Measure changes that are not in the commit, too.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; by default all cores.")
@click.option("--rows", default=frozen.ROOT / "practical", type=Path, help="Where rows are kept.")
@click.option(
    "--out", default=frozen.ROOT / "docs" / "measured" / "laws.md", type=Path, help="The page."
)
def main(
    freeze: str | None, quick: bool, tiny: bool, seeds: int | None, large: int | None,
    changed: bool, jobs: int | None, rows: Path, out: Path,
) -> None:  # fmt: skip
    """Run every case, print every bar and write the page."""
    began, measured = time.monotonic(), measure(JUDGES, freeze, changed=changed or tiny)
    asked = planned(measured.commit, quick=quick, tiny=tiny, seeds=seeds, large=large)
    file = rows / measured.folder / "laws.jsonl"
    found = carry_out(law_runs.measured, {case.key: case for case in asked}, file, jobs)
    runs = [Run.of(row) for row in found.values()]
    judged = bars(runs, TINY if tiny else SMALL, max(PULLS))
    command = "python benchmarks/laws.py" + " --quick" * quick + " --tiny" * tiny
    command += "".join(f" --{name} {x}" for name, x in (("seeds", seeds), ("large", large))
                       if x is not None)  # fmt: skip
    about = About(
        command, measured.said, f"{datetime.date.today():%Y-%m-%d}", os.cpu_count() or 1,
        (time.monotonic() - began) / 60,
    )  # fmt: skip
    out.write_text(page(judged, runs, about))
    click.echo("\n".join(map(line, judged)))
    click.echo(verdict(judged))


if __name__ == "__main__":
    main()
