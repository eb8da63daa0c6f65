"""Claims 10 and 11: how many samples Algorithm 1 takes, and what they grow with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable import worlds
from lumpable.plans import bounds
from lumpable.plans.problem import PAPER, Problem
from lumpable.reproduce.claim import Check, Effort, slope
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series
from lumpable.reproduce.claims.witness import DELTA, algorithm_1
from lumpable.reproduce.old import CLAIMS, Finding, claim

# --- 10: the 524 formula --------------------------------------------------------------------


def share_of_bound(contexts: int, epsilon: float, seed: int, factor: float) -> float:
    """Return a run's rounds over the printed bound, with the screening threshold this wide."""
    world = worlds.lumpable(contexts, 10, 2, seed=seed)
    constants = PAPER if factor == 1 else witness.threshold_times(factor)
    run = algorithm_1(world, epsilon, seed, constants).run
    return run.rounds / bounds.whole(witness.size_of(world), epsilon, DELTA)


@claim(
    10,
    "Theorem 1: the samples",
    printed="At most 524 log(rSK/δ) (1 + 2 log₂(1/ε))² r(S + K)/ε² samples",
    broken="contexts leave screening one at a time, not with their block (a threshold of nearly 0)",
    seconds=(3.0, 20.0),
)
def samples_bound(effort: Effort) -> Finding:
    """Hold whole runs against the printed bound at many sizes and accuracies."""
    runs = effort.pick(3, 20)
    sizes = effort.pick((25, 50, 100, 200, 400), (25, 50, 100, 200, 400, 800, 1600))
    epsilons = (0.5, 0.1, 0.01, 0.001)
    rows: Rows = []
    for epsilon in epsilons:
        for S in sizes:
            found = max(share_of_bound(S, epsilon, seed, 1.0) for seed in range(runs))
            rows.append({"series": f"ε = {epsilon:g}", "S": S, "share": found})
    for S in sizes:
        found = max(share_of_bound(S, 0.5, seed, 1e-9) for seed in range(min(runs, 3)))
        rows.append({"series": "broken, ε = 0.5", "S": S, "share": found})
    most = {
        broken: max(row["share"] for row in rows if str(row["series"]).startswith("b") == broken)
        for broken in (False, True)
    }
    colours = (sketch.BLUE, sketch.SKY, sketch.GREEN, sketch.PINK)
    what = "largest rounds over the printed bound"
    return Finding(
        setting=f"S in {sizes}, K = 10, r = 2, ε in {epsilons}, δ = {DELTA:g}, uniform means",
        seeds=runs * len(sizes) * len(epsilons),
        printed=(Check(what, most[False], "<=", 1.0),),
        broken=(Check(what, most[True], "<=", 1.0),),
        words=(
            f"Runs took at most {most[False]:.1%} of the bound, the less the smaller ε. What makes "
            "it hold is that whole blocks leave together: one context at a time costs up to "
            f"{most[True]:.1f} times the bound, growing with S."
        ),
        figure=sketch.picture(
            rows,
            Axis("S", "contexts S", "log", sizes),
            Axis("share", "rounds over the printed bound", "log"),
            {
                **{
                    f"ε = {e:g}": Series(colour)
                    for e, colour in zip(epsilons, colours, strict=True)
                },
                "broken, ε = 0.5": Series(sketch.ORANGE),
            },
            bars={"the bound": 1.0},
            title="The 524 formula is generous",
            subtitle=[f"Largest of {runs} runs. Broken: contexts leave one at a time."],
            description=(
                "Rounds as a share of the printed bound against S: a few percent and flat for "
                "Algorithm 1, growing past 1 when contexts leave one at a time."
            ),
        ),
    )


# --- 11: growth -----------------------------------------------------------------------------

EPSILON, GROUPS = 0.1, 5
SAME_SUM = ((100, 1000), (550, 550), (1000, 100))


@dataclass(frozen=True, slots=True)
class Runs:
    """What whole runs at one size took, beside the naive method."""

    problem: Problem
    epsilon: float
    rounds: tuple[int, ...]
    losses: tuple[float, ...]

    @property
    def taken(self) -> float:
        """Mean rounds."""
        return float(np.mean(self.rounds))

    @property
    def naive(self) -> int:
        """Rounds of the naive method."""
        return bounds.naive_rounds(self.problem, self.epsilon, DELTA)

    @property
    def factor(self) -> float:
        """log(rSK/delta) (1 + 2 log2(1/epsilon))^2: what the theorem's tilde hides."""
        return witness.log_x(self.problem) * (1 + 2 * math.log2(1 / self.epsilon)) ** 2


def measure(S: int, K: int, r: int, epsilon: float, runs: int) -> Runs:
    """Run Algorithm 1 with each seed in a world of its own."""
    found = [
        algorithm_1(worlds.lumpable(S, K, r, seed=seed), epsilon, seed) for seed in range(runs)
    ]
    rounds = tuple(run.run.rounds for run in found)
    return Runs(Problem(S, K, r), epsilon, rounds, tuple(run.loss for run in found))


def at_same_sum(found: Sequence[Runs], naive: bool) -> tuple[float, float]:
    """Return the exponent of S K at the same S + K, and its standard error.

    From the middle over the average of the ends, with log(rSK/delta) divided out.
    """
    logs = [witness.log_x(each.problem) for each in found]
    level = [
        (each.naive if naive else each.taken) / log for each, log in zip(found, logs, strict=True)
    ]
    spread = [
        0.0 if naive else float(np.std(each.rounds, ddof=1)) / log / math.sqrt(len(each.rounds))
        for each, log in zip(found, logs, strict=True)
    ]
    ends, middle = (level[0] + level[2]) / 2, level[1]
    product = [each.problem.contexts * each.problem.arms for each in found]
    growth = math.log(product[1] / product[0])
    error = math.hypot(spread[1] / middle, math.hypot(spread[0], spread[2]) / 2 / ends)
    return math.log(middle / ends) / growth, error / growth


def grows(found: Sequence[Runs], size: Sequence[float], naive: bool) -> tuple[float, float]:
    """Return the exponent of a size in the rounds, with the theorem's logarithms divided out."""
    taken = [(each.naive if naive else each.taken) / each.factor for each in found]
    return slope(size, taken)


def bend(found: Sequence[Runs]) -> float:
    """Return by how much one more logarithm would bend an exponent: d log(log x) / d log x."""
    return 1 / min(witness.log_x(each.problem) for each in found)


Exponents = dict[str, tuple[float, float, float]]
"""By size: the exponent, its standard error and its bar."""


def as_checks(found: Exponents) -> tuple[Check, ...]:
    """Hold exponents against their bars, with two standard errors to spare."""
    return tuple(
        Check(
            f"exponent of {size}, ± {error:.3f}; allowed: two errors and a logarithm's bend",
            value,
            "<=",
            bar + 2 * error,
        )
        for size, (value, error, bar) in found.items()
    )


def _growth(same: Sequence[Runs], squares: Sequence[Runs], runs: int) -> Any:
    """Draw the rounds of both methods against S + K."""
    rows: Rows = [
        {"series": name, "size": 2 * each.problem.arms, "rounds": rounds}
        for each in squares
        for name, rounds in (("Algorithm 1", each.taken), ("naive method", each.naive))
    ]
    rows += [
        {"series": f"{name}, S K smaller", "size": 1100, "rounds": rounds}
        for each in (same[0], same[2])
        for name, rounds in (("Algorithm 1", each.taken), ("naive method", each.naive))
    ]
    rows += [
        {"series": name, "size": 1100, "rounds": rounds}
        for name, rounds in (("Algorithm 1", same[1].taken), ("naive method", same[1].naive))
    ]
    return sketch.picture(
        sorted(rows, key=lambda row: float(row["size"])),
        Axis("size", "S + K", "log", [2 * each.problem.arms for each in squares]),
        Axis("rounds", "rounds", "log"),
        {
            "Algorithm 1": Series(sketch.BLUE),
            "Algorithm 1, S K smaller": Series(sketch.SKY, "point"),
            "naive method": Series(sketch.ORANGE),
            "naive method, S K smaller": Series(sketch.PINK, "point"),
        },
        title="Samples follow S + K, not S K",
        subtitle=[
            f"S = K, r = {GROUPS}, ε = {EPSILON:g}, means of {runs} runs. At S + K = 1100 also "
            "(100, 1000)",
            "and (1000, 100), where S K is a third as large.",
        ],
        description=(
            "Rounds against S + K on log axes: Algorithm 1 has slope one and hardly depends on "
            "the shape; the naive method has slope two, takes a third as much where S K is a "
            "third, and is cheaper at small sizes."
        ),
    )


@claim(
    11,
    "Samples grow with r(S + K)/ε², not with S K",
    printed="Algorithm 1 takes Õ(r(S + K)/ε²) samples where the naive method takes Õ(S K/ε²)",
    broken="the naive method: every arm on every context",
    seconds=(2.5, 40.0),
)
def growth(effort: Effort) -> Finding:
    """Grow r, S + K, S K and 1/ε² one at a time in whole runs."""
    runs = effort.pick(3, 12)
    same = [measure(S, K, GROUPS, EPSILON, runs) for S, K in SAME_SUM]
    sides = effort.pick((50, 100, 200, 400, 600), (50, 100, 200, 400, 800, 1200))
    squares = [measure(n, n, GROUPS, EPSILON, runs) for n in sides]
    counts = (2, 4, 8, 16, 32)
    groups = [measure(200, 200, r, EPSILON, runs) for r in counts]
    fines = [2.0**-k for k in range(2, effort.pick(9, 11))]
    fine = [measure(60, 40, 3, epsilon, runs) for epsilon in fines]

    def exponents(naive: bool) -> Exponents:
        return {
            "S K at the same S + K": (*at_same_sum(same, naive), bend(same)),
            "S + K": (*grows(squares, [2.0 * n for n in sides], naive), 1 + bend(squares)),
            "r": (*grows(groups, counts, naive), 1 + bend(groups)),
            "1/ε²": (*grows(fine, [1 / e**2 for e in fines], naive), 1 + bend(fine)),
        }

    own = exponents(naive=False)
    ratio = [each.taken / each.naive for each in squares]
    crossing = float(np.exp(np.interp(0.0, -np.log(ratio), np.log(sides))))
    loss = [float(np.mean(each.losses)) for each in same]
    return Finding(
        setting=(
            f"r = {GROUPS}, ε = {EPSILON:g}, δ = {DELTA:g}, uniform means; (100, 1000), "
            f"(550, 550), (1000, 100); S = K in {sides}; r in {counts} at (200, 200); ε = 2^-2 .. "
            f"2^-{len(fines) + 1} at (60, 40, 3)"
        ),
        seeds=runs * (len(same) + len(squares) + len(groups) + len(fine)),
        printed=as_checks(own),
        broken=as_checks(exponents(naive=True)),
        words=(
            "Exponents: "
            + ", ".join(f"{v:.3f} ± {e:.3f} in {size}" for size, (v, e, _) in own.items())
            + f" (logarithms divided out). Mean losses at the three shapes: {loss[0]:.3f}, "
            f"{loss[1]:.3f}, {loss[2]:.3f}. Up to S = K = {crossing:.0f} the naive method is "
            "cheaper."
        ),
        figure=_growth(same, squares, runs),
    )


SAMPLES_BOUND = CLAIMS[10]
GROWTH = CLAIMS[11]
