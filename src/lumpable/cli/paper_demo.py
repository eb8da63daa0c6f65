"""The paper's Algorithm 3, explained to a newcomer: hide groups in a world, find them, draw them.

`lumpable demo paper` calls `run`. Sizes are such that the paper's method is the cheaper
one, as `lumpable budget` says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lumpable import worlds
from lumpable.base.extras import MissingExtra
from lumpable.base.words import short
from lumpable.cli import show
from lumpable.cli.budgets import advice
from lumpable.cli.watching import watch_run
from lumpable.plans import bounds, pac, standard
from lumpable.plans.costs import budget
from lumpable.plans.making import Algorithm
from lumpable.plans.problem import Problem
from lumpable.runs.run import Run
from lumpable.worlds.world import World

if TYPE_CHECKING:
    from rich.table import Table

PROBLEM = Problem(contexts=1500, arms=1500, groups=5)
EPSILON, DELTA = 0.02, 0.05
SEED = 0
"""The default of `lumpable simulate pac`: the world is drawn with it, the run with the next."""
SIZES = (
    *((100, 100), (200, 200), (400, 400), (800, 800)),
    *((100, 700), (700, 100), (100, 1500), (1500, 100)),
)
"""(contexts, arms) of the runs that show how rounds grow: four squares, then the same S + K."""


def run(folder: Path) -> None:
    """Explain, learn, compare, and write the pictures into the folder."""
    say(
        f"Imagine {PROBLEM.contexts} users and {PROBLEM.arms} offers. Showing an offer to a user "
        "(a round) earns a reward that is mostly chance. The users belong to "
        f"{PROBLEM.groups} groups with the same taste, but nobody knows who belongs to which.\n"
        "Wanted: an offer for every user that is, on average, not much more than epsilon = "
        f"{EPSILON:g} worse than the best one. The naive method tries every offer on every user; "
        "the paper's Algorithm 3 finds out on the way who is alike.\n"
    )
    say(advice(budget(PROBLEM, EPSILON, DELTA)) + "\n")
    world = hide_groups(PROBLEM)
    say("Learning with the paper's Algorithm 3 (simulated, exactly in law) ...")
    found = learn(pac.any_contexts, world, PROBLEM)
    judge(world, found)
    rows = compare_growth(found)
    draw(folder, found, rows)


def say(words: str) -> None:
    """Print a paragraph."""
    show.console().print(words)


def hide_groups(problem: Problem) -> World:
    """Hide equal groups in a world with uniform means, Gaussian noise of sd 1."""
    S, K, r = problem.letters
    return worlds.lumpable(contexts=S, arms=K, groups=r, seed=SEED)


def learn(make: Algorithm[...], world: World, problem: Problem) -> Run:
    """Run a method to its end, with live progress."""
    label = "" if problem == PROBLEM else f"{world.contexts} x {world.arms}, {make.about.title}"
    plan = make(problem, epsilon=EPSILON, delta=DELTA)
    return watch_run(plan, world, seed=SEED + 1, label=label)


def judge(world: World, found: Run) -> None:
    """Say how good the policy is and what it cost, beside the paper and the naive method."""
    naive = bounds.naive_rounds(PROBLEM, EPSILON, DELTA)
    near = np.mean(world.loss_by_context(found.policy) <= EPSILON)
    rows = [
        ("loss of the policy", f"{world.loss(found.policy):.4f} of reward a round, on average"),
        ("promised loss", show.loss_bound(bounds.any_contexts_promise(PROBLEM, EPSILON, DELTA))),
        ("rounds used", short(found.rounds)),
        (
            "the paper's bound",
            f"{short(bounds.whole(PROBLEM, EPSILON, DELTA))} in each bucket of contexts",
        ),
        ("the naive method", f"{short(naive)}, {naive / found.rounds:.1f} times as many"),
        ("users served well", f"{near:.1%} get an offer within epsilon of their best"),
        ("clusters found", clusters(world, found)),
    ]
    show.console().print(show.grid(rows))
    S, K, r = PROBLEM.letters
    size = f"--contexts {S} --arms {K} --groups {r} --epsilon {EPSILON:g}"
    say(f"The same run: lumpable simulate pac {size}")


def clusters(world: World, found: Run) -> str:
    """Say how well users with the same offer agree with the hidden groups."""
    arms = np.unique(found.policy)
    own = sum(int(np.bincount(world.group[found.policy == arm]).max()) for arm in arms)
    return (
        f"{len(arms)} for {world.groups} hidden groups; {own / world.contexts:.1%} of the users "
        "are in a cluster where their group is the majority"
    )


def compare_growth(found: Run) -> list[dict[str, Any]]:
    """Run both methods at several sizes; rows for `report.growth`, the main run among them."""
    say(f"\nNow both methods at {len(SIZES)} smaller sizes, to see how the rounds grow ...")
    rows = []
    for contexts, arms in SIZES:
        problem = Problem(contexts, arms, PROBLEM.groups)
        world = hide_groups(problem)
        for make in (pac.any_contexts, standard.naive):
            run = learn(make, world, problem)
            rows.append(row(make, problem, run.rounds, world.loss(run.policy)))
    rows.append(row(pac.any_contexts, PROBLEM, found.rounds, found.world.loss(found.policy)))
    naive = bounds.naive_rounds(PROBLEM, EPSILON, DELTA)
    rows.append(row(standard.naive, PROBLEM, naive, None))
    show.console().print(growth_table(rows))
    say(
        "The rounds of Algorithm 3 grow with S + K, those of the naive method with S x K. With few "
        "users or few offers the naive method needs fewer rounds; with many of both, Algorithm 3 "
        "does.\n"
    )
    return rows


def row(make: Algorithm[...], problem: Problem, rounds: int, loss: float | None) -> dict[str, Any]:
    """Return one run as a row; without a loss it was not run, since its rounds are known."""
    S, K, r = problem.letters
    sizes = {"contexts": S, "arms": K, "groups": r, "epsilon": EPSILON}
    return {**sizes, "method": make.about.title, "rounds": rounds, "loss": loss}


def growth_table(rows: list[dict[str, Any]]) -> Table:
    """Return the rows as a table, both methods of a size side by side."""
    return show.table(
        f"Rounds and loss at epsilon {EPSILON:g}",
        ("S x K", "S + K", "Algorithm 3", "loss", "naive method", "loss"),
        [
            (
                f"{paper['contexts']} x {paper['arms']}",
                f"{paper['contexts'] + paper['arms']}",
                short(paper["rounds"]),
                f"{paper['loss']:.4f}",
                short(naive["rounds"]),
                "not run" if naive["loss"] is None else f"{naive['loss']:.4f}",
            )
            for paper, naive in zip(rows[::2], rows[1::2], strict=True)
        ],
    )


def draw(folder: Path, found: Run, rows: list[dict[str, Any]]) -> None:
    """Write both pictures, each as PNG and as a page; without the extra, say how to get it."""
    from lumpable.reports import charts as pictures
    from lumpable.reports.kit import save

    try:
        charts = {"matrix": pictures.sorted_matrix(found), "growth": pictures.growth(rows)}
        folder.mkdir(parents=True, exist_ok=True)
        for name, chart in charts.items():
            for kind in ("png", "html"):
                save.chart(chart, folder / f"{name}.{kind}")
                say(f"wrote {folder / name}.{kind}")
    except MissingExtra as missing:
        say(f"No pictures: {missing}")
