"""The command `lumpable compare`: options in, progress on stderr, a summary on stdout."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted, runs, time_left
from lumpable.cli import bars, outputs, show
from lumpable.cli.options import default_is, rounds

if TYPE_CHECKING:
    from lumpable.comparisons.comparison import Comparison
    from lumpable.comparisons.rows import Row
    from lumpable.comparisons.running import Step

FAILED = 1
QUIET = 10.0
"""Seconds between two lines about progress where there is no terminal."""
SHOWN = 10
"""Lines about cells that failed or were not run."""


@click.command("compare")
@click.argument("experiment", metavar="FILE.toml|suite")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("rows.parquet"),
    show_default=True,
    help="Where the rows go; cells that it holds are not run again.",
)
@click.option("--quick", is_flag=True, help="With suite: a short version of a few minutes.")
@click.option(
    "--seeds", type=click.IntRange(min=1), help="How many seeds, instead of what the file says."
)
@click.option(
    "--horizon",
    type=rounds,
    metavar="ROUNDS",
    help="T for all worlds, instead of what the file says.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help=default_is("How many cells are run at a time.", "one for each core"),
)
@click.option(
    "--backend",
    type=click.Choice(("local", "dask", "ray")),
    default="local",
    show_default=True,
    help="Processes of this machine, or a cluster.",
)
@click.option("--address", help="Where the cluster is: tcp://host:8786 (Dask), host:6379 (Ray).")
@click.pass_context
def compare(
    ctx: click.Context,
    experiment: str,
    out: Path,
    quick: bool,
    seeds: int | None,
    horizon: int | None,
    jobs: int | None,
    backend: str,
    address: str | None,
) -> None:
    """Play learners against each other: the same worlds, contexts and luck for all.

    FILE.toml names learners, worlds, a horizon and seeds; examples/compare.toml shows how. `suite`
    is the comparison that comes with the package. Every finished cell (a learner in a world with a
    seed) is kept at once: an interrupted run continues where it stopped, and more seeds or learners
    add only their cells. Cells that failed or were not run are tried again.

    \b
    Examples:
      lumpable compare suite --quick
      lumpable compare mine.toml --out mine.parquet --seeds 50
      lumpable compare mine.toml --backend dask --address tcp://cluster:8786

    Exit codes: 0 done, 1 a cell failed, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.comparisons import toml
    from lumpable.comparisons.comparison import Comparison
    from lumpable.comparisons.running import Broken, Step, run
    from lumpable.comparisons.store import Store

    if experiment != toml.SUITE and not Path(experiment).exists():
        raise BadArgument("", why=f"no such file: {experiment!r}{toml.nearest_file(experiment)}")
    if quick and experiment != toml.SUITE:
        raise BadArgument("--quick", "suite", repr(experiment), why="only with `suite`")
    if experiment != toml.SUITE:
        outputs.check({"--out": out}, read=[Path(experiment)])
    changes = {"seeds": seeds, "horizon": horizon}
    if experiment == toml.SUITE:
        plan = toml.suite(quick, changes)
        for sentence in plan.left_out:
            show.say(sentence, err=True)
    else:
        plan = toml.read(experiment, changes)
    store = Store(out)
    again = f"to resume: {shlex.join(['lumpable', *sys.argv[1:]])}"
    last = Step(0, 0, 0, None, None)
    with bars.progress(QUIET) as (say, advance):

        def watch(step: Step) -> None:
            nonlocal last
            last = step
            if step.latest is None:
                say(opening(step))
            advance(step.done, step.total, state(step))

        try:
            table = run(plan, store, backend=backend, jobs=jobs, address=address, watch=watch)
        except KeyboardInterrupt:
            far = f"{last.done + last.taken:,} of {last.total + last.taken:,} cells"
            words = f"stopped after {far}, which are in {out}; {again}"
            raise KeyboardInterrupt(words) from None
        except Broken as error:
            show.say(f"interrupted: {error}\n{again}", err=True)
            ctx.exit(FAILED)
    found = Comparison(table)
    conclude(found, out)
    if found.cells["failed"]:
        ctx.exit(FAILED)


# --- While it runs ----------------------------------------------------------------------------


def opening(step: Step) -> str:
    """Say how many cells are to be run, and which again."""
    taken = f", {step.taken:,} were done before" if step.taken else ""
    again = ""
    if step.older:
        again = f", {step.older:,} of them again: they were run by another version of lumpable"
    lost = "".join(f"\ndamaged, its cell is run again: {part}" for part in step.damaged)
    return f"{counted(step.total, 'cell')} to run{again}{taken}{lost}"


def state(step: Step) -> str:
    """Say in one line where a comparison is."""
    words = f"{step.done:,} of {step.total:,} cells"
    if step.failed:
        words += f", {step.failed:,} failed"
    if step.left is None or step.done == step.total:
        return words
    now = "" if step.latest is None else f", last {step.latest.learner}"
    return f"{words}, {time_left(step.left)}{now}"


# --- When it is done --------------------------------------------------------------------------


def conclude(found: Comparison, out: Path) -> None:
    """Print how many cells are done, which failed or were not run and why, and the file."""
    from lumpable.comparisons.comparison import count_cells

    console = show.console()
    console.print(count_cells(found.cells))
    for status in ("failed", "not run"):
        lines = group(rows_with(found, status))
        for line in lines[:SHOWN]:
            console.print(f"{status}: {line}")
        if len(lines) > SHOWN:
            console.print(f"{status}: {len(lines) - SHOWN} more")
    page = f"lumpable report {shlex.quote(str(out))}"
    if found.cells["failed"]:
        console.print(f"tracebacks: {page}")
    console.print(f"rows: {out}\npage: {page}")


def rows_with(found: Comparison, status: str) -> list[Row]:
    """Return the rows of cells with this status."""
    from lumpable.comparisons.parquet import column_of

    table = found.table
    where = [i for i, word in enumerate(table.column("status").to_pylist()) if word == status]
    return type(found)(table.take(column_of(where, "int64"))).rows()


def group(rows: list[Row]) -> list[str]:
    """Return a line for each learner, world and kind of reason, with the seeds."""
    seeds: dict[tuple[str, str, str], list[int]] = {}
    first: dict[tuple[str, str, str], str] = {}
    for row in rows:
        who = f"{row.learner} in {row.world}, seed {row.seed}: "
        reason = row.reason.partition("\n")[0].removeprefix(who)
        kind = reason.partition(":")[0] if row.status == "failed" else reason
        group = (row.learner, row.world, kind)
        seeds.setdefault(group, []).append(row.seed)
        first.setdefault(group, reason)
    return [
        f"{learner} in {world}, {list_seeds(seeds[learner, world, kind])}: {reason}"
        for (learner, world, kind), reason in first.items()
    ]


def list_seeds(seeds: list[int]) -> str:
    """Write seeds briefly.

    >>> list_seeds([0, 1, 2, 5]), list_seeds([3])
    ('seeds 0-2, 5', 'seed 3')
    """
    found = runs(seeds)
    words = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found[:SHOWN])
    more = f" and {counted(len(set(seeds)), 'seed')} in all" if len(found) > SHOWN else ""
    return f"seed{'s' if len(set(seeds)) > 1 else ''} {words}{more}"
