"""Claims 10 and 11: how many samples Algorithm 1 takes, and what they grow with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lumpable import worlds
from lumpable.plans import bounds
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series, Sketch
from lumpable.reproduce.claims.witness import DELTA, algorithm_1, size_of

# --- 10: the 524 formula --------------------------------------------------------------------

ONE_AT_A_TIME = "broken, ε = 0.5"


def share_of_bound(contexts: int, epsilon: float, seed: int, factor: float) -> float:
    """Return a run's rounds over the printed bound, with the screening threshold this wide."""
    world = worlds.lumpable(contexts, 10, 2, seed=seed)
    run = algorithm_1(world, epsilon, seed, witness.threshold_times(factor)).run
    return run.rounds / bounds.whole(size_of(world), epsilon, DELTA)


def measure_samples_bound(effort: Effort) -> Measured:
    """Hold whole runs against the printed bound at many sizes and accuracies."""
    runs = effort.pick(3, 20)
    sizes = effort.pick((25, 50, 100, 200, 400), (25, 50, 100, 200, 400, 800, 1600))
    epsilons = (0.5, 0.1, 0.01, 0.001)
    series = {f"ε = {epsilon:g}": (epsilon, runs, 1.0) for epsilon in epsilons}
    series[ONE_AT_A_TIME] = (0.5, min(runs, 3), 1e-9)
    rows: Rows = [
        {"series": name, "S": S, "share": max(share_of_bound(S, e, seed, f) for seed in range(n))}
        for name, (e, n, f) in series.items()
        for S in sizes
    ]
    setting = {"S": sizes, "epsilons": epsilons, "delta": DELTA, "runs": runs}
    return Measured(seeds=runs * len(sizes) * len(epsilons), setting=setting, rows=rows)


def judge_samples_bound(measured: Measured) -> Verdict:
    """No run may take more rounds than the bound."""

    def check(broken: bool) -> Check:
        mine = [row for row in measured.rows if (row["series"] == ONE_AT_A_TIME) == broken]
        most = max(row["share"] for row in mine)
        return Check("largest rounds over the printed bound", most, "<=", 1.0)

    return Verdict(printed=(check(broken=False),), broken=(check(broken=True),))


def word_samples_bound(measured: Measured, verdict: Verdict) -> Words:
    """Tell how much of the bound runs take."""
    at = measured.setting
    return Words(
        setting=(
            f"S in {tuple(at['S'])}, K = 10, r = 2, ε in {tuple(at['epsilons'])}, "
            f"δ = {at['delta']:g}, uniform means"
        ),
        takeaway=(
            f"Runs took at most {verdict.printed[0].measured:.1%} of the bound, the less the "
            "smaller ε. What makes it hold is that whole blocks leave together: one context at a "
            f"time costs up to {verdict.broken[0].measured:.1f} times the bound, growing with S."
        ),
    )


SAMPLES_BOUND = Claim(
    10,
    "Theorem 1: the samples",
    printed="At most 524 log(rSK/δ) (1 + 2 log₂(1/ε))² r(S + K)/ε² samples",
    broken="contexts leave screening one at a time, not with their block (a threshold of nearly 0)",
    seconds=(3.0, 20.0),
    measure=measure_samples_bound,
    judge=judge_samples_bound,
    word=word_samples_bound,
    draw=Sketch(
        Axis("S", "contexts S", "log", "points"),
        Axis("share", "rounds over the printed bound", "log"),
        {
            "ε = 0.5": "blue",
            "ε = 0.1": "sky",
            "ε = 0.01": "green",
            "ε = 0.001": "pink",
            ONE_AT_A_TIME: "orange",
        },
        bars={"the bound": 1.0},
        title="The 524 formula is generous",
        subtitle="Largest of {runs} runs. Broken: contexts leave one at a time.",
        description=(
            "Rounds as a share of the printed bound against S: a few percent and flat for "
            "Algorithm 1, growing past 1 when contexts leave one at a time."
        ),
    ),
)


# --- 11: growth -----------------------------------------------------------------------------

EPSILON, GROUPS = 0.1, 5
SAME_SUM = ((100, 1000), (550, 550), (1000, 100))
GROUP_COUNTS = (2, 4, 8, 16, 32)
EXPECTED = {"S K at the same S + K": 0, "S + K": 1, "r": 1, "1/ε²": 1}
"""The exponent of each size in r(S + K)/ε²."""


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


def run_size(S: int, K: int, r: int, epsilon: float, runs: int) -> Runs:
    """Run Algorithm 1 with each seed in a world of its own."""
    made = (worlds.lumpable(S, K, r, seed=seed) for seed in range(runs))
    seen = [algorithm_1(world, epsilon, seed) for seed, world in enumerate(made)]
    rounds = tuple(run.run.rounds for run in seen)
    return Runs(Problem(S, K, r), epsilon, rounds, tuple(run.loss for run in seen))


def at_same_sum(shapes: Sequence[Runs], naive: bool) -> tuple[float, float]:
    """Return the exponent of S K at the same S + K, and its standard error.

    From the middle over the average of the ends, with log(rSK/delta) divided out.
    """
    level, spread = [], []
    for each in shapes:
        log, error = witness.log_x(each.problem), float(np.std(each.rounds, ddof=1))
        level.append((each.naive if naive else each.taken) / log)
        spread.append(0.0 if naive else error / log / math.sqrt(len(each.rounds)))
    ends, middle = (level[0] + level[2]) / 2, level[1]
    product = [each.problem.contexts * each.problem.arms for each in shapes]
    growth = math.log(product[1] / product[0])
    error = math.hypot(spread[1] / middle, math.hypot(spread[0], spread[2]) / 2 / ends)
    return math.log(middle / ends) / growth, error / growth


def exponent(runs: Sequence[Runs], size: Sequence[float], naive: bool) -> tuple[float, float]:
    """Return the exponent of a size in the rounds, with the theorem's logarithms divided out."""
    taken = [(each.naive if naive else each.taken) / each.factor for each in runs]
    return slope(size, taken)


def bend(runs: Sequence[Runs]) -> float:
    """Return by how much one more logarithm would bend an exponent: d log(log x) / d log x."""
    return 1 / min(witness.log_x(each.problem) for each in runs)


def growth_rows(same: Sequence[Runs], squares: Sequence[Runs]) -> Rows:
    """Return the rounds of both methods against S + K; the ends of `same` have a smaller S K."""
    smaller = ", S K smaller"
    shapes = [(same[0], smaller), (same[2], smaller), (same[1], "")]
    rows: Rows = [
        {"series": name + shape, "size": each.problem.contexts + each.problem.arms, "rounds": taken}
        for each, shape in [*((each, "") for each in squares), *shapes]
        for name, taken in (("Algorithm 1", each.taken), ("naive method", each.naive))
    ]
    return sorted(rows, key=lambda row: float(row["size"]))


def measure_growth(effort: Effort) -> Measured:
    """Grow r, S + K, S K and 1/ε² one at a time in whole runs."""
    runs = effort.pick(3, 12)
    sides = effort.pick((50, 100, 200, 400, 600), (50, 100, 200, 400, 800, 1200))
    fines = [2.0**-k for k in range(2, effort.pick(9, 11))]
    same = [run_size(S, K, GROUPS, EPSILON, runs) for S, K in SAME_SUM]
    squares = [run_size(n, n, GROUPS, EPSILON, runs) for n in sides]
    groups = [run_size(200, 200, r, EPSILON, runs) for r in GROUP_COUNTS]
    fine = [run_size(60, 40, 3, epsilon, runs) for epsilon in fines]

    def exponents(naive: bool) -> dict[str, tuple[float, float, float]]:
        """By size: the exponent, its standard error and its bend."""
        return {
            "S K at the same S + K": (*at_same_sum(same, naive), bend(same)),
            "S + K": (*exponent(squares, [2.0 * n for n in sides], naive), bend(squares)),
            "r": (*exponent(groups, GROUP_COUNTS, naive), bend(groups)),
            "1/ε²": (*exponent(fine, [1 / e**2 for e in fines], naive), bend(fine)),
        }

    ratio = [each.taken / each.naive for each in squares]
    return Measured(
        seeds=runs * (len(same) + len(squares) + len(groups) + len(fine)),
        setting={"sides": sides, "finest": len(fines) + 1, "delta": DELTA, "runs": runs},
        rows=growth_rows(same, squares),
        facts={
            "own": exponents(naive=False),
            "naive": exponents(naive=True),
            "losses": [np.mean(each.losses) for each in same],
            "crossing": np.exp(np.interp(0.0, -np.log(ratio), np.log(sides))),
        },
    )


def judge_growth(measured: Measured) -> Verdict:
    """Hold exponents against those of the theorem, with two standard errors to spare."""

    def checks(method: str) -> tuple[Check, ...]:
        return tuple(
            Check(
                f"exponent of {size}, ± {error:.3f}; allowed: two errors and a logarithm's bend",
                value,
                "<=",
                EXPECTED[size] + bent + 2 * error,
            )
            for size, (value, error, bent) in measured.facts[method].items()
        )

    return Verdict(printed=checks("own"), broken=checks("naive"))


def word_growth(measured: Measured, verdict: Verdict) -> Words:
    """Tell the exponents, the losses and where the naive method is cheaper."""
    at, facts = measured.setting, measured.facts
    exponents = [f"{v:.3f} ± {e:.3f} in {size}" for size, (v, e, _) in facts["own"].items()]
    return Words(
        setting=(
            f"r = {GROUPS}, ε = {EPSILON:g}, δ = {at['delta']:g}, uniform means; (100, 1000), "
            f"(550, 550), (1000, 100); S = K in {tuple(at['sides'])}; r in {GROUP_COUNTS} at "
            f"(200, 200); ε = 2^-2 .. 2^-{at['finest']} at (60, 40, 3)"
        ),
        takeaway=(
            f"Exponents: {', '.join(exponents)} (logarithms divided out). Mean losses at the three "
            f"shapes: {', '.join(f'{loss:.3f}' for loss in facts['losses'])}. Up to S = K = "
            f"{facts['crossing']:.0f} the naive method is cheaper."
        ),
    )


GROWTH = Claim(
    11,
    "Samples grow with r(S + K)/ε², not with S K",
    printed="Algorithm 1 takes Õ(r(S + K)/ε²) samples where the naive method takes Õ(S K/ε²)",
    broken="the naive method: every arm on every context",
    seconds=(2.5, 40.0),
    measure=measure_growth,
    judge=judge_growth,
    word=word_growth,
    draw=Sketch(
        Axis("size", "S + K", "log"),
        Axis("rounds", "rounds", "log"),
        {
            "Algorithm 1": "blue",
            "Algorithm 1, S K smaller": Series("sky", "point"),
            "naive method": "orange",
            "naive method, S K smaller": Series("pink", "point"),
        },
        title="Samples follow S + K, not S K",
        subtitle=(
            f"S = K, r = {GROUPS}, ε = {EPSILON:g}, means of {{runs}} runs. At S + K = 1100 also "
            "S = 100 and S = 1000, where S K is a third as large."
        ),
        description=(
            "Rounds against S + K on log axes: Algorithm 1 has slope one and hardly depends on "
            "the shape; the naive method has slope two, takes a third as much where S K is a "
            "third, and is cheaper at small sizes."
        ),
    ),
)
