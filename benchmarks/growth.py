"""Samples grow with S + K, not with S K: whole runs, printed as a table and kept in docs/growth.md.

Run `python benchmarks/growth.py`; it takes about half a minute on an idle core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lumpable as lb
from lumpable import pac, worlds

PAGE = Path(__file__).parents[1] / "docs" / "growth.md"
GROUPS, EPSILON, DELTA, SEEDS = 5, 0.1, 0.05, 10
SAME_SUM = ((100, 1000), (550, 550), (1000, 100))
SQUARES = ((100, 100), (200, 200), (400, 400), (800, 800))
METHODS: dict[str, Callable[..., lb.Plan]] = {
    "Algorithm 1": pac.near_uniform,
    "Algorithm 3": pac.any_contexts,
}
COLUMNS = (
    "S",
    "K",
    "S K",
    "method",
    "rounds",
    "rounds / (S + K)",
    "candidates",
    "buckets",
    "loss, mean",
    "loss, max",
    "naive rounds",
    "naive / (S + K)",
)

TEXT = """\
# How the samples grow

Made by `python benchmarks/growth.py`: whole runs of both algorithms with the printed constants,
r = {GROUPS}, epsilon = {EPSILON}, delta = {DELTA}, {SEEDS} seeds a line with a new world for each
of them: uniform contexts, means uniform on [0, 1], Gaussian noise of sd 1. Rounds, candidates and
buckets are averages; the naive method's rounds follow from its formula.

## The same S + K

{same_sum}

In the middle S K is three times as large as at the ends. The naive method pays for that in full:
{naive_ratio:.2f} times the average of the ends. Algorithm 1 takes {ratio_1:.2f} times the average.
Its lengths say why: Step 1 takes N r (S + K) lg / epsilon^2 rounds, Steps 2 and 3 grow with S and
do not see K, and lg = 16 log(rSK/delta), largest in the middle, is all that is left of S K.

Algorithm 3 takes {ratio_3:.2f} times the average of the ends. It runs Algorithm 1 once in every
bucket that it finds, and every bucket pays for all K arms: S + 2 K instead of S + K when 1/S lies
near a power of two, so that chance puts the contexts into two buckets. A bucket that hardly ever
comes can cost more than all others together, because epsilon_l stops at 1/2 while its requests
are stretched by 4 over its frequency.

## S = K

{squares}

From the first to the last size S + K grows {times} times. Algorithm 1's rounds for each unit of
S + K grow {flat_1:.2f} times, which is what log(rSK/delta) does ({log:.2f} times); those of the
naive method grow {steep:.1f} times.

## What it does not show

The naive method is the cheaper one at small sizes. By worst-case request counts Algorithm 3 takes
over from S = K = {cheaper} on (`lumpable budget`); its runs mostly take less than the worst case.
And the two do not promise the same loss: [guarantees](guarantees.md).
"""


@dataclass(frozen=True)
class Line:
    """What the runs of one method at one size took."""

    S: int
    K: int
    method: str
    rounds: float
    candidates: float
    buckets: float
    losses: tuple[float, ...]

    @property
    def naive(self) -> int:
        """The naive method's rounds at the same size."""
        return lb.bounds.naive_rounds(lb.Problem(self.S, self.K, GROUPS), EPSILON, DELTA)

    def cells(self) -> list[str]:
        """The line as text, in the order of the columns."""
        S, K = self.S, self.K
        return [
            f"{S}",
            f"{K}",
            f"{S * K:,}",
            self.method,
            f"{self.rounds:.3g}",
            f"{self.rounds / (S + K):,.0f}",
            f"{self.candidates:.1f}",
            f"{self.buckets:.1f}" if self.buckets else "",
            f"{np.mean(self.losses):.3f}",
            f"{max(self.losses):.3f}",
            f"{self.naive:.3g}",
            f"{self.naive / (S + K):,.0f}",
        ]


def measured(S: int, K: int, method: str) -> Line:
    """Run a method with every seed."""
    problem = lb.Problem(S, K, GROUPS)
    runs = [
        lb.simulate(
            METHODS[method](problem, epsilon=EPSILON, delta=DELTA),
            worlds.lumpable(S, K, GROUPS, seed=seed),
            seed=seed,
        )
        for seed in range(SEEDS)
    ]
    results = [run.result for run in runs if run.result is not None]
    return Line(
        S,
        K,
        method,
        float(np.mean([run.rounds for run in runs])),
        float(np.mean([len(result.candidates) for result in results])),
        float(np.mean([len(result.buckets) for result in results])),
        tuple(run.world.loss(run.policy) for run in runs),
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an aligned Markdown table, readable as plain text too."""
    cells = [list(columns), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(map(str.ljust, row, widths)) + " |"
        for row in (cells[0], ["-" * width for width in widths], *cells[1:])
    ]
    return "\n".join(lines)


def lines(sizes: Sequence[tuple[int, int]]) -> list[Line]:
    found = []
    for method in METHODS:
        for S, K in sizes:
            found.append(measured(S, K, method))
            print("  ".join(found[-1].cells()), flush=True)
    return found


def middle_ratio(values: Sequence[float]) -> float:
    """Return the middle one over the average of the ends."""
    first, middle, last = values
    return 2 * middle / (first + last)


def of(method: str, found: Sequence[Line]) -> list[Line]:
    return [line for line in found if line.method == method]


def page(same_sum: Sequence[Line], squares: Sequence[Line]) -> str:
    ones, threes = (of(method, same_sum) for method in METHODS)
    small, *_, large = of("Algorithm 1", squares)
    times = (large.S + large.K) // (small.S + small.K)
    log_x = [np.log(GROUPS * line.S * line.K / DELTA) for line in (small, large)]
    crossing = lb.budget(lb.Problem(100, 100, GROUPS), EPSILON, DELTA).other_from
    return TEXT.format(
        GROUPS=GROUPS,
        EPSILON=EPSILON,
        DELTA=DELTA,
        SEEDS=SEEDS,
        same_sum=table(COLUMNS, (line.cells() for line in same_sum)),
        squares=table(COLUMNS, (line.cells() for line in squares)),
        naive_ratio=middle_ratio([line.naive for line in ones]),
        ratio_1=middle_ratio([line.rounds for line in ones]),
        ratio_3=middle_ratio([line.rounds for line in threes]),
        times=times,
        flat_1=large.rounds / small.rounds / times,
        log=log_x[1] / log_x[0],
        steep=large.naive / small.naive / times,
        cheaper=crossing[0] if crossing else "nowhere",
    )


def main() -> None:
    print("  ".join(COLUMNS))
    PAGE.write_text(page(lines(SAME_SUM), lines(SQUARES)), encoding="utf-8")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
