"""The learner of today against that of another commit: regret on the same worlds.

    git worktree add ../before COMMIT
    python benchmarks/before.py ../before            # the problems of practical.py, by the hour
    python benchmarks/before.py ../before --most 20  # seeds of each

Both learners play every world of every problem with the same seeds, each in a process of its own
that imports its own tree. Rows are kept as they come, and a run that was stopped goes on. Prints
the ratio of regrets at each mark with its standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import click
import numpy as np
from protocol import frozen
from protocol.problems import LONG, Problem, problems

HERE = Path(__file__).resolve()
MOST, LONG_MOST, LONGEST = 24, 12, 2
"""Seeds of a problem, of a long one, and of that of a million rounds."""


def play(problem: Problem, seed: int) -> list[float]:
    """Return the regret of the learner that this process imports, at the marks of a problem."""
    import lumpable as lb  # the tree that this process was told to import
    from lumpable.lumps.core.levels import ThreeLevels

    given = dict(problem.world)
    world = getattr(lb.worlds, given.pop("kind"))(**given, seed=seed)
    learner = ThreeLevels(world.contexts, world.arms, seed=seed)
    at = [mark * problem.contexts for mark in problem.marks]
    played = lb.play(learner, world, horizon=at[-1], seed=seed + 1, at=at)
    return [float(each.regret) for each in played.checkpoints]


def chosen(most: int | None, longest: int) -> list[tuple[Problem, int]]:
    """Return the problems whose worlds are drawn, with their number of seeds."""
    rows = []
    for problem in problems(quick=True):
        if problem.world["kind"] == "survey" or problem.world.get("arrivals"):
            continue
        long = problem.part == LONG
        number = most or (LONG_MOST if long else MOST)
        rows.append((problem, min(number, longest) if long and problem.size == "b" else number))
    return rows


def work(out: Path, commit: str, most: int | None, longest: int) -> None:
    """Play everything that is not in the file yet, and write each row as it comes."""
    seen = {tuple(json.loads(line)[:2]) for line in out.read_text().splitlines()}
    with out.open("a") as file:
        for problem, number in chosen(most, longest):
            for seed in frozen.seeds(commit, frozen.FRESH, problem.label, number):
                if (problem.label, seed) not in seen:
                    file.write(json.dumps([problem.label, seed, play(problem, seed)]) + "\n")
                    file.flush()


def ratios(today: Path, before: Path) -> list[str]:
    """Return a line for each problem: the ratio of regrets at its marks."""
    old = {tuple(row[:2]): row[2] for row in map(json.loads, before.read_text().splitlines())}
    pairs = defaultdict(list)
    for label, seed, regret in map(json.loads, today.read_text().splitlines()):
        if (label, seed) in old:
            pairs[label].append((regret, old[label, seed]))
    marks = {problem.label: problem.marks for problem in problems(quick=True)}
    lines = []
    for label, each in pairs.items():
        new, then = np.array(each).transpose(1, 2, 0)
        ratio = new.sum(axis=1) / then.sum(axis=1)
        error = (new - ratio[:, None] * then).std(axis=1, ddof=1) / np.sqrt(len(each))
        error /= then.mean(axis=1)
        shown = (
            f"{mark}: {x:.3f} ({e:.3f})"
            for mark, x, e in zip(marks[label], ratio, error, strict=True)
        )
        lines.append(f"{label} ({len(each)} worlds): {', '.join(shown)}")
    return lines


@click.command(help=__doc__.partition("\n")[0])
@click.argument("tree", type=click.Path(True, file_okay=False, path_type=Path))
@click.option("--freeze", help="The commit that worlds follow from; by default the learner's last.")
@click.option("--most", type=click.IntRange(2), help="Seeds of a problem at most.")
@click.option("--longest", default=LONGEST, type=click.IntRange(2), show_default=True,
              help="Seeds of the problem of a million rounds.")  # fmt: skip
@click.option("--rows", default=frozen.ROOT / "practical", type=Path, help="Where rows are kept.")
@click.option("--out", type=Path, hidden=True, help="Play in this process, into this file.")
def main(
    tree: Path, freeze: str | None, most: int | None, longest: int, rows: Path, out: Path | None
) -> None:
    """Play everything with both learners, side by side, and print the ratios."""
    commit = frozen.full_hash(freeze) if freeze else frozen.last_commit()
    if out is not None:
        work(out, commit, most, longest)
        return
    rows = rows / commit[:12]
    rows.mkdir(exist_ok=True, parents=True)
    running, files = [], [rows / "today.jsonl", rows / "before.jsonl"]
    for folder, file in zip((frozen.ROOT, tree), files, strict=True):
        file.touch()
        command = [sys.executable, str(HERE), str(tree), "--out", str(file), "--freeze", commit]
        command += ["--longest", str(longest)] + ([] if most is None else ["--most", str(most)])
        running.append(subprocess.Popen(command, env={"PYTHONPATH": str(folder / "src")}))
    ended = [each.wait() for each in running]
    if any(ended):
        raise click.ClickException("a learner stopped; what it printed is above")
    click.echo("\n".join(ratios(*files)))


if __name__ == "__main__":
    main()
