"""The practical learner against its bars: one command regenerates the whole table.

    python benchmarks/practical.py            # all of it: three to four hours on two cores
    python benchmarks/practical.py --quick    # fewer seeds, fewer long runs: an hour and a half

Writes docs/measured/practical.md. Rows are kept in practical/ as they come, and a run that was
stopped goes on where it was. Seeds follow from the commit that froze learner and measure:
nobody chooses them.
"""

from __future__ import annotations

import datetime
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import click
from protocol import frozen
from protocol.bars import Bar, regret_bars
from protocol.costs import memory_bar, time_bars
from protocol.page import About, bar_table, page, verdict
from protocol.policies import policy_bars
from protocol.problems import LEAST_SEEDS, SIZES, TINY, Problem, Size, problems
from protocol.running import Measured, Way, measure
from protocol.structure import belief_bars, group_bars

MANY_GROUPS: Size = (5000, 200, 10)
TIMES: tuple[tuple[Size, float], ...] = ((SIZES["b"], 30.0), (MANY_GROUPS, 100.0))
"""The most microseconds that a round may take."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    problems: list[Problem]
    most: int
    least: int = LEAST_SEEDS
    screening: int = 5
    group_size: Size = SIZES["b"]
    many_groups: Size = MANY_GROUPS
    group_seeds: int = 40
    few: int = 5
    """Seeds of many groups."""
    belief_sizes: tuple[tuple[Size, int], ...] = ((SIZES["s"], 60), (SIZES["b"], 10))
    policy_size: Size = SIZES["s"]
    policy_seeds: int = 40
    stops: int = 1000
    times: tuple[tuple[Size, float], ...] = TIMES
    memory: int = 2000


def scaled(*, quick: bool, tiny: bool, most: int | None, longest: int) -> Scale:
    """Return how much to measure."""
    if tiny:
        small = TINY["s"]
        chosen = [
            replace(each, pulls=min(each.pulls, 300), screened=60 if each.pulls == 60 else 100,
                    marks=tuple(mark for mark in each.marks if mark <= 300))
            for each in problems(TINY, quick=True, longest=2)
        ]  # fmt: skip
        return Scale(chosen, most or 2, 2, 2, small, small, 2, 2, ((small, 2),), small, 2, 8,
                     ((small, 1e4),), 50)  # fmt: skip
    if quick:
        return Scale(problems(quick=True, longest=longest), most or 100, group_seeds=20, few=3)
    return Scale(problems(longest=longest), most or 100)


def everything(scale: Scale, way: Way) -> tuple[list[Bar], list[Measured]]:
    """Measure all bars, and say how far it is."""
    times = time_bars(way, scale.times)  # first, while nothing else runs
    found_groups = group_bars(
        way, scale.group_size, scale.many_groups, scale.group_seeds, scale.few
    )
    beliefs = [bar for size, seeds in scale.belief_sizes for bar in belief_bars(way, size, seeds)]
    policies = policy_bars(way, scale.policy_size, scale.policy_seeds, scale.stops)
    rest = [*policies, *found_groups, *beliefs, *times, memory_bar(way, scale.memory)]
    click.echo(bar_table(rest))
    measured = []
    for number, problem in enumerate(scale.problems, 1):
        began = time.monotonic()
        found = measure(problem, way)
        measured.append(found)
        ratios = ", ".join(f"{mark}: {ratio}" for mark, ratio in found.ratios.items())
        spent = time.monotonic() - began
        click.echo(f"{number}/{len(scale.problems)} {problem.label}: {ratios} [{spent:.0f} s]")
    return [*regret_bars(measured), *rest], measured


@click.command(help=__doc__.partition("\n")[0])
@click.option("--freeze", help="The commit that froze the learner; by default the last of it.")
@click.option(
    "--quick", is_flag=True, help="At most 40 seeds of larger problems, and fewer long runs."
)
@click.option("--tiny", is_flag=True, help="A trial of the command itself: tiny worlds, two seeds.")
@click.option("--most", type=click.IntRange(2), help="Seeds of a problem at most.")
@click.option(
    "--longest",
    default=LEAST_SEEDS,
    type=click.IntRange(2),
    show_default=True,
    help="Seeds of the problem of a million rounds.",
)
@click.option("--changed", is_flag=True, help="Measure changes that are not in the commit, too.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; by default all cores.")
@click.option("--rows", default=frozen.ROOT / "practical", type=Path, help="Where rows are kept.")
@click.option(
    "--out", default=frozen.ROOT / "docs" / "measured" / "practical.md", type=Path, help="The page."
)
def main(
    freeze: str | None, quick: bool, tiny: bool, most: int | None, longest: int, changed: bool,
    jobs: int | None, rows: Path, out: Path,
) -> None:  # fmt: skip
    """Measure every bar and write the page."""
    commit = frozen.full_hash(freeze) if freeze else frozen.last_commit()
    same = not frozen.differs(commit)
    if not (same or changed or tiny):
        words = f"learner or measure differ from {commit[:12]}: commit them, or add --changed"
        raise click.ClickException(words)
    began, scale = time.monotonic(), scaled(quick=quick, tiny=tiny, most=most, longest=longest)
    least = scale.least if tiny else None
    folder = rows / (commit[:12] if same else f"{commit[:12]}-{frozen.digest()}")
    way = Way(commit, folder, jobs, least, scale.most, scale.screening)
    bars, measured = everything(scale, way)
    command = "python benchmarks/practical.py" + " --quick" * quick + " --tiny" * tiny
    about = About(
        command=command + (f" --most {most}" if most else "")
        + (f" --longest {longest}" if longest != LEAST_SEEDS else ""),
        commit=commit, frozen=same, date=f"{datetime.date.today():%Y-%m-%d}",
        cores=os.cpu_count() or 1, minutes=(time.monotonic() - began) / 60,
        screening=scale.screening, least=scale.least, most=scale.most,
    )  # fmt: skip
    out.write_text(page(bars, measured, about))
    click.echo(verdict(bars))


if __name__ == "__main__":
    main()
