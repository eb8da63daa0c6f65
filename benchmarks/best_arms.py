"""Every best arm with a guarantee: BAI-Cl and elimination beside `PolicyFinder`, in small worlds.

The last section of docs/measured/exploring.md. `exploring.py` writes it with the rest of the page;
`python benchmarks/best_arms.py` measures it alone, in some minutes, and replaces it in the page.
"""

from __future__ import annotations

import datetime
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from page_tables import table

from lumpable import worlds
from lumpable.comparisons import roster
from lumpable.lumps.core.top_two import TopTwo
from lumpable.worlds.scene import Scene
from lumpable.worlds.world import World

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "exploring.md"
EPSILON = DELTA = 0.05
FIRST, RUNS = 8000, 10
SIZES = ((12, 5, 3), (20, 6, 3), (40, 8, 3))
BEST, OTHERS = 0.9, 0.6
LOOK = 10
"""Rounds between two looks at whether it is finished."""
FINDER = "PolicyFinder"
LEARNERS = ("elimination", "bai-cl", "bai-cl-plus", FINDER)

HEADING = "## Every best arm, with a guarantee"
TEXT = """\
{HEADING}

Made by `{command}` on {date}, in {minutes:.0f} minutes beside other work.

BAI-Cl and BAI-Cl++ (Yash, N. Karamchandani, A. Ghosh, "Near optimal best arm identification for
clustered bandits", ICML 2025) promise more than `PolicyFinder`: with probability 1 - delta, *every*
context has its best arm when they stop. They know r. They are made for an experimenter who can
call contexts at will, so there are two columns: rounds until the stop when contexts come at random,
and samples when contexts are called one after another, each until it has one arm left.

Rewards are Bernoulli and contexts uniform; the best arms of the groups differ. Their means are
{BEST:g}, all other means are uniform on [0, {OTHERS:g}]; delta = {DELTA:g}. `PolicyFinder` stops by
its own rule, at an average loss of {EPSILON:g}, and does not know r. Numbers are medians of {RUNS}
worlds. "Wrong" counts runs, of both columns, in which any context had another arm than its best;
the loss is the largest of any run.

{rows}

Where contexts can be called, BAI-Cl saves most: it tries all arms in a few contexts only. With
contexts at random, all of them are at work before the r best arms are known, and little is left to
save. `PolicyFinder` needs far fewer rounds, since it may be a little wrong, and since it pools
rewards where the others compare contexts pair by pair at the confidence of a proof.
"""


def different_best_arms(contexts: int, arms: int, groups: int, seed: int) -> World:
    """Return a world whose groups have different best arms, clearly better than all others."""
    rng = np.random.default_rng(seed)
    means = OTHERS * rng.random((groups, arms))
    means[np.arange(groups), rng.permutation(arms)[:groups]] = BEST
    return worlds.lumpable(contexts, arms, groups, means=means, noise="bernoulli", seed=seed)


def made(name: str, world: World, seed: int) -> Any:
    """Return a learner of this name for this world."""
    if name == FINDER:
        return TopTwo(world.contexts, world.arms, epsilon=EPSILON, delta=DELTA, seed=seed)
    return roster.make(name, Scene(world), horizon=1, seed=seed, given={"delta": DELTA})


def finished(learner: Any) -> bool:
    """Whether it has stopped; elimination has when one arm is left in every context."""
    if hasattr(learner, "finished"):
        return bool(learner.finished)
    return bool((learner.active().sum(axis=1) == 1).all())


def one_round(learner: Any, world: World, context: int, rng: np.random.Generator) -> None:
    arm = learner.ask(context)
    learner.tell(context, arm, world.reward(context, arm, rng))


def at_random(learner: Any, world: World, rng: np.random.Generator) -> int:
    """Let contexts come at random until it stops; return the rounds."""
    while not finished(learner):
        for context in rng.integers(world.contexts, size=LOOK).tolist():
            one_round(learner, world, context, rng)
    return int(learner.tells)


def called(learner: Any, world: World, rng: np.random.Generator) -> int:
    """Call contexts one after another, each until it has one arm left; return the samples."""
    for context in rng.permutation(world.contexts).tolist():
        while learner.active()[context].sum() > 1:
            one_round(learner, world, context, rng)
    return int(learner.tells)


def row(name: str, size: tuple[int, int, int]) -> list[str]:
    """Return a line of the table."""
    rounds: list[int] = []
    samples: list[int] = []
    losses, wrong = [], 0
    for seed in range(FIRST, FIRST + RUNS):
        world = different_best_arms(*size, seed=seed)
        for run, counts in ((at_random, rounds), (called, samples)):
            if run is called and name == FINDER:
                continue
            learner = made(name, world, seed)
            counts.append(run(learner, world, np.random.default_rng([seed, 1])))
            losses.append(world.loss(learner.policy()))
            wrong += bool((learner.policy() != world.policy).any())
    middle = [f"{np.median(counts):.0f}" if counts else "" for counts in (rounds, samples)]
    return [str(size)[1:-1], name, *middle, f"{wrong} of {len(losses)}", f"{max(losses):.3f}"]


def section() -> str:
    """Measure everything and return the section, printing its rows on the way."""
    started, rows = time.perf_counter(), []
    for size in SIZES:
        for name in LEARNERS:
            rows.append(row(name, size))
            print("  ".join(rows[-1]), flush=True)
    names = ("S, K, r", "learner", "rounds, at random", "samples, called", "wrong", "loss")
    return TEXT.format(
        **{"HEADING": HEADING, "BEST": BEST, "OTHERS": OTHERS, "RUNS": RUNS},
        **{"EPSILON": EPSILON, "DELTA": DELTA},
        command=" ".join(["python benchmarks/" + Path(sys.argv[0]).name, *sys.argv[1:]]),
        date=datetime.date.today().isoformat(),
        minutes=(time.perf_counter() - started) / 60,
        rows=table(names, rows),
    )


def main() -> None:
    """Measure the section and replace it in the page."""
    rest = PAGE.read_text().partition(HEADING)[0].rstrip()
    PAGE.write_text(f"{rest}\n\n{section()}")


if __name__ == "__main__":
    main()
