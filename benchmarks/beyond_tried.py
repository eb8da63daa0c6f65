"""Two changes of candidates that have proofs and are not built: do they cross elimination earlier?

    python benchmarks/beyond_tried.py        # a few minutes; prints the table

Both are told T. Seeds are for trials: what is shipped is measured by `beyond.py`, on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import click
import numpy as np
from beyond_runs import RANDOM, STANDARD, Play, Size
from page_tables import table

import lumpable as lb
from lumpable import Problem
from lumpable.plans import standard
from lumpable.plans.candidates_pooled import FIRST, Block, list_draws
from lumpable.plans.lengths import doubled
from lumpable.plans.plan import Belief, Collect, Conversation, Plan

HORIZON = 10**12
SEEDS = (1601, 1602)
FEW, MANY = ("hidden arms, 200", "hidden arms, 1000", RANDOM), ("hidden arms, 1000", RANDOM)
CELLS = {
    Size(300, 300, 2): FEW,
    Size(300, 300, 8): FEW,
    Size(1000, 1000, 2): MANY,
    Size(1000, 1000, 8): MANY,
}


class ShorterLists(Block):
    """Lists that are just long enough for the union bound over sets of candidates."""

    def m(self, n: int, h: int) -> int:
        """Return max(S, K)/S (ln N + ell) 2^((h-n)/2), N sets of at most R arms."""
        S, K, _ = self.problem.letters
        if self.R > K:
            return list_draws(self.problem, self.R, self.ell, h - n)
        sets = sum(math.comb(K, k) for k in range(self.R + 1))
        return doubled(max(S, K) / S * (math.log(sets) + self.ell), (h - n) / 2)


@lb.algorithm(lb.About(endless=True))
def changed(
    problem: Problem, *, horizon: int, shorter: bool = False, narrower: bool = False
) -> Conversation:
    """Candidates told T, with shorter lists, narrower intervals, or both."""
    S, K, _ = problem.letters
    rounds = math.sqrt(horizon / (S + K)) if narrower else horizon
    block = (ShorterLists if shorter else Block)(problem, max(1.0, math.log(S * K * rounds)))
    q = FIRST
    while True:
        yield from block.run(q)
        q += 1


@lb.algorithm(lb.About(endless=True))
def narrower_elimination(problem: Problem, *, horizon: int) -> Conversation:
    """The standard algorithm, told T: a failure may cost sqrt(SKT), as for narrower candidates."""
    S, K, _ = problem.letters
    delta = 2 * math.sqrt(S * K / horizon)
    good, policy = np.ones((S, K), dtype=bool), np.zeros(S, dtype=np.int64)
    plays, mean = np.zeros((S, K), dtype=np.int64), np.zeros((S, K))
    phase = 0
    while True:
        phase += 1
        belief = Belief(f"phase {phase}", policy, number=phase, kind="eliminating")
        sample = yield Collect(S * K * 2 ** (phase - 1), 1, good, belief)
        standard.pool(plays, mean, sample)
        lower, upper = standard.confidence(plays, mean, delta)
        lower[~good] = -math.inf
        policy = np.argmax(lower, axis=1)
        good = good & (upper >= lower.max(axis=1, keepdims=True))


TRIED: Mapping[str, Callable[[Problem, int], Plan]] = {
    "as shipped": lambda problem, T: changed(problem, horizon=T),
    "shorter lists": lambda problem, T: changed(problem, horizon=T, shorter=True),
    "narrower": lambda problem, T: changed(problem, horizon=T, narrower=True),
    "both": lambda problem, T: changed(problem, horizon=T, shorter=True, narrower=True),
    "elimination, narrower": lambda problem, T: narrower_elimination(problem, horizon=T),
}


def ratios(size: Size, world: str, horizon: int, seeds: Sequence[int]) -> dict[str, float]:
    """Return the regret of each over that of the standard algorithm, mean over seeds."""
    problem = Problem(size.contexts, size.arms, size.groups)
    found: dict[str, list[float]] = {name: [] for name in TRIED}
    for seed in seeds:
        made = Play(size, world, STANDARD, horizon, seed).made()
        alone = lb.simulate(standard.online(problem), made, horizon=horizon, seed=seed + 1).regret
        for name, make in TRIED.items():
            run = lb.simulate(make(problem, horizon), made, horizon=horizon, seed=seed + 1)
            found[name].append(run.regret / alone)
    return {name: float(np.mean(each)) for name, each in found.items()}


def main() -> None:
    """Run everything and print the table."""
    rows = []
    for size, worlds in CELLS.items():
        for world in worlds:
            found = ratios(size, world, HORIZON, SEEDS)
            rows.append([str(size), world, *(f"{value:.2f}" for value in found.values())])
            click.echo(" ".join(rows[-1]), err=True)
    click.echo(table(["size", "world", *TRIED], rows))


if __name__ == "__main__":
    main()
