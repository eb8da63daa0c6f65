"""How few samples find a good policy, and how often the stopping rule is wrong.

Run `python benchmarks/exploring.py`; it prints its tables and writes docs/measured/exploring.md. A
number after it is the percentage of the 1,000 runs of the stopping rule that is made. CAUTION was
derived on world seeds 0 .. 24 at (20, 6, 3) and 5000 .. 5099 at (12, 5, 3), the choice of arms on
seeds 1000 .. 1011; the seeds here begin at FIRST.
"""

from __future__ import annotations

import datetime
import functools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import best_arms
import numpy as np
from page_tables import table
from scipy import stats

from lumpable import worlds
from lumpable.comparisons import roster
from lumpable.lumps.core.stopping import CAUTION
from lumpable.lumps.core.top_two import TopTwo
from lumpable.runs.playing import play
from lumpable.worlds.scene import Scene
from lumpable.worlds.world import World

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "exploring.md"
EPSILON = DELTA = 0.05
SEEDS = 20
FIRST = 7000
HORIZONS = {
    "PolicyFinder": 3000,
    "lumps": 4000,
    "uniform": 30_000,
    "elimination": 30_000,
}
"""Learners that are compared, and rounds that are enough for them."""
RUNS = {(12, 5, 3): 100, (20, 6, 3): 100, (40, 8, 3): 50}
"""Runs of the stopping rule in each kind of world, by size."""
MOST = 50_000
"""Rounds after which a run counts as one that does not stop."""

TEXT = """\
# Finding a policy with few samples

Made by `{command}` on {date}, in {minutes:.0f} minutes beside other work.

`PolicyFinder` looks for a good arm for each context and ignores the rewards on the way. It plays
top-two Thompson sampling (D. Russo, "Simple Bayesian algorithms for best-arm identification",
Operations Research 68(6), 1625-1647, 2020) under the three-level model. It stops when its posterior
gives probability at most delta to the event that the recommended policy loses more than epsilon, on
average over contexts. [How to use it](../how-to/find-a-policy.md).

## Samples

How many rounds until the true loss of the recommended policy, averaged over {SEEDS} worlds, falls
to {EPSILON:g} and stays there? The worlds have 100 contexts, 20 arms, 4 groups, Bernoulli rewards
and uniform contexts. The loss is measured at rounds that grow by 10 %.

{samples}

PolicyFinder needs {ratio:.3f} of what elimination per context needs; the bar is 0.1.

## When it stops

Here epsilon = {EPSILON:g} and delta = {DELTA:g}. A run is wrong if the true loss at the stop
exceeds epsilon. All worlds have Bernoulli rewards and uniform contexts. There are four kinds:
*groups* of identical contexts; groups whose members each have their own *deviations*, with sd 0.1;
*one group*; and *no structure*, where every mean is drawn independently.

{stops}

In all, {wrong} of {runs} runs were wrong: {share:.1%}, with an exact 95 % interval from {low:.1%}
to {high:.1%}. {open_runs} did not stop within {MOST} rounds.

## What the rule promises, and what it does not

If the posterior is right, P(loss > epsilon) <= delta holds at the stop, on average over worlds
drawn from the prior. It holds whenever you look, since a posterior does not depend on why you
stopped. It is not a promise for each single world, nor for worlds that the model does not describe.

And the posterior is not quite right, because the number of groups and all strengths are fitted.
Three things correct for that:

- The strength of individual deviations matters most early on. It is drawn from its posterior, not
  fitted. Without this, fits that had seen no difference yet stopped too early.
- Low-rank directions are not trusted. In a low-rank world it therefore stops late.
- All counts are divided by {CAUTION:g}^2, which makes spreads {CAUTION:g} times as wide. The factor
  was chosen on other worlds. There, a factor of 1 was wrong in 9 of 100 runs at (20, 6, 3). A
  factor of 1.25 was wrong in none of these, but in 6 of 100 at (12, 5, 3) with groups.

The rule is checked at each fit, at times that grow by 15 %, so it stops a little later than it
could.

{best_arms}"""


@dataclass(frozen=True)
class Stops:
    """How the stopping rule did in runs of one kind."""

    rounds: list[int]
    losses: list[float]
    open_runs: int

    @property
    def wrong(self) -> int:
        """Runs that stopped with too large a loss."""
        return sum(loss > EPSILON for loss in self.losses)


def no_structure(contexts: int, arms: int, groups: int, seed: int) -> World:
    """Return a world in which every mean is uniform on [0, 1]."""
    mean = np.random.default_rng(seed).random((contexts, arms))
    return worlds.from_matrix(mean, noise="bernoulli")


def one_group(contexts: int, arms: int, groups: int, seed: int) -> World:
    """Return a world in which all contexts are alike."""
    return worlds.lumpable(contexts, arms, 1, noise="bernoulli", seed=seed)


groups_of_equals = functools.partial(worlds.lumpable, noise="bernoulli")
KINDS: dict[str, Callable[..., World]] = {
    "groups": groups_of_equals,
    "deviations": functools.partial(groups_of_equals, deviation=0.1),
    "one group": one_group,
    "no structure": no_structure,
}


def samples(name: str, horizon: int) -> int | None:
    """Return the rounds until the mean loss is at most epsilon and stays there; None if never."""
    at = np.unique(np.geomspace(100, horizon, 1 + round(np.log(horizon / 100) / np.log(1.1))))
    marks = sorted({round(x) for x in at})
    rows = []
    for seed in range(FIRST, FIRST + SEEDS):
        world = groups_of_equals(100, 20, 4, seed=seed)
        maker = "lumps-policy" if name == "PolicyFinder" else name
        learner = roster.make(maker, Scene(world), horizon=horizon, seed=seed)
        steps = play(learner, world, horizon=horizon, seed=seed, at=marks).rows()
        rows.append([step.simple_regret for step in steps])
    above = np.flatnonzero(np.mean(rows, axis=0) > EPSILON)
    last = above[-1] + 1 if len(above) else 0
    return marks[last] if last < len(marks) else None


def stops(kind: str, size: tuple[int, int, int], runs: int) -> Stops:
    """Play until the rule stops, in so many worlds."""
    rounds, losses, open_runs = [], [], 0
    for seed in range(FIRST, FIRST + runs):
        world = KINDS[kind](*size, seed=seed)
        learner = TopTwo(*size[:2], epsilon=EPSILON, delta=DELTA, seed=seed)
        rng = np.random.default_rng([seed, 1])
        while not learner.finished and learner.tells < MOST:
            context = int(rng.integers(world.contexts))
            arm = learner.ask(context)
            learner.tell(context, arm, world.reward(context, arm, rng))
        if learner.finished:
            rounds.append(learner.tells)
            losses.append(world.loss(learner.policy()))
        open_runs += not learner.finished
    return Stops(rounds, losses, open_runs)


def shown(row: list[str]) -> list[str]:
    print("  ".join(row), flush=True)
    return row


def main(percent: int) -> None:
    """Measure everything, print it and write the page."""
    started, needed, rows = time.perf_counter(), {}, []
    for name, horizon in HORIZONS.items():
        needed[name] = samples(name, horizon)
        rows.append(shown([name, str(needed[name] or f"more than {horizon}")]))
    finder, elimination = (needed[x] for x in ("PolicyFinder", "elimination"))
    ratio = (finder or np.inf) / (elimination or HORIZONS["elimination"])
    found, lines = [], []
    numbers = {size: runs * percent // 100 for size, runs in RUNS.items()}
    for size, runs in numbers.items():
        for kind in KINDS:
            got = stops(kind, size, runs)
            found.append(got)
            mean = f"{np.mean(got.losses):.4f}" if got.losses else ""
            middle = f"{np.median(got.rounds):.0f}" if got.rounds else ""
            lines.append(shown([str(size)[1:-1], kind, f"{got.wrong} of {runs}", middle, mean]))
    wrong, all_runs = sum(x.wrong for x in found), len(KINDS) * sum(numbers.values())
    low, high = stats.binomtest(wrong, all_runs).proportion_ci(0.95, method="exact")
    page = TEXT.format(
        **{"SEEDS": SEEDS, "EPSILON": EPSILON, "DELTA": DELTA, "CAUTION": CAUTION, "MOST": MOST},
        command=" ".join(["python benchmarks/exploring.py", *sys.argv[1:]]),
        date=datetime.date.today().isoformat(),
        minutes=(time.perf_counter() - started) / 60,
        samples=table(("learner", "rounds"), rows),
        ratio=ratio,
        stops=table(("S, K, r", "world", "wrong", "median rounds", "mean loss"), lines),
        wrong=wrong, runs=all_runs, share=wrong / all_runs, low=low, high=high,
        open_runs=sum(x.open_runs for x in found),
        best_arms=best_arms.section(),
    )  # fmt: skip
    PAGE.write_text(page)
    print(page)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
