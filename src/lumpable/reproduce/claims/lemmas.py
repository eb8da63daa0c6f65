"""Claims 3 and 4: that Step 1 covers every block, and that screening finds few candidates.

Claims 1 and 2 are in `tails`, 5 and 6 in `candidates`, 7 and 8 in `steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import lumpable as lb
from lumpable import worlds
from lumpable.plans.problem import PAPER
from lumpable.reproduce.claim import Effort, Finding, claim, rate
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series
from lumpable.reproduce.claims.witness import DELTA, Watched, algorithm_1

# --- 3: coverage ----------------------------------------------------------------------------

COVERED: dict[str, Callable[[int], lb.World]] = {
    "equal groups": lambda seed: worlds.lumpable(12, 60, 3, seed=seed),
    "one giant group": lambda seed: worlds.lumpable(12, 60, 3, sizes="giant", seed=seed),
    "most uneven": lambda seed: worlds.lumpable(
        18, 60, 3, frequency=witness.most_uneven(18), seed=seed
    ),
}
JUST_ABOVE = 0.245
"""An epsilon with 1/epsilon^2 just above a power of two: then 2^n_b is nearly 2/epsilon^2."""


def uncovered_runs(share: float, runs: int, make: Callable[[int], lb.World]) -> int:
    """Count runs in which a sizeable block lacks an arm, with this share of Step 1's rounds."""
    constants = replace(PAPER, explore=PAPER.explore * share)
    seen = (
        algorithm_1(make(seed), JUST_ABOVE, seed, constants, only_step_1=True)
        for seed in range(runs)
    )
    return sum(any(run.uncovered(block) for block in run.blocks()) for run in seen)


@claim(
    3,
    "Lemma pac-2: every block tries every arm",
    printed=(
        "With probability ≥ 1 − 2δ every block b with ω(b) ≥ ε/r has every arm j in D_n for some "
        "context, n = ⌈log₂(1/ε_b²)⌉"
    ),
    broken="a sixty-fourth of Step 1's rounds",
    seconds=(2.5, 15.0),
)
def coverage(effort: Effort) -> Finding:
    """Run Step 1 in three kinds of worlds, with the printed rounds and with fewer."""
    runs = effort.pick(40, 300)
    shares = [1.0, *(0.5**k for k in range(2, 9))]
    rows: Rows = []
    worst = dict.fromkeys(shares, 0)
    for name, make in COVERED.items():
        for share in shares:
            missed = uncovered_runs(share, runs, make)
            worst[share] = max(worst[share], missed)
            rows.append({"series": name, "divisor": 1 / share, "missed": missed / runs})
    kept = max((1 / s for s in shares if worst[s] <= 2 * DELTA * runs), default=0.0)
    return Finding(
        setting=(
            f"S = 12 (uneven: 18), K = 60, r = 3, ε = {JUST_ABOVE:g}, δ = {DELTA:g}; equal groups, "
            "one giant group, most uneven frequencies"
        ),
        seeds=runs * len(COVERED),
        printed=(rate("an arm is missing, worst world", worst[1.0], runs, 2 * DELTA),),
        broken=(rate("an arm is missing, worst world", worst[1 / 64], runs, 2 * DELTA),),
        words=(
            f"With the printed rounds {worst[1.0]} of {runs} runs missed an arm in the worst "
            f"world, and the promise is kept with up to {kept:g} times fewer: Step 1 collects for "
            "accuracy, coverage comes free."
        ),
        figure=sketch.picture(
            rows,
            Axis("divisor", "printed rounds of Step 1, divided by", "log", [1 / s for s in shares]),
            Axis("missed", "share of runs with a missing arm"),
            {
                name: Series(colour)
                for name, colour in zip(
                    COVERED, (sketch.BLUE, sketch.GREEN, sketch.ORANGE), strict=True
                )
            },
            bars={"2δ": 2 * DELTA},
            title="How much of Step 1 coverage needs",
            subtitle=[f"{runs} runs a point. Broken variant: the points at 64."],
            description=(
                "Share of runs in which a sizeable block lacks an arm, against the number by which "
                "the printed rounds are divided: zero up to 8, most of them from 64 on."
            ),
        ),
    )


# --- 4: few candidates ----------------------------------------------------------------------


def most_screenings(seen: Sequence[Watched]) -> list[int]:
    """Return the most screenings of any run at each level."""
    counts = [run.run.result.screenings for run in seen if run.run.result is not None]
    return [max(level) for level in zip(*counts, strict=True)]


@claim(
    4,
    "Lemma pac-3: few candidates",
    printed="With probability ≥ 1 − 4δ a level takes at most r screenings, so |W| ≤ N r",
    broken="a screening threshold a thirty-second as wide, all lengths as printed",
    seconds=(3.5, 20.0),
)
def few_candidates(effort: Effort) -> Finding:
    """Count screenings at accuracies where the threshold tells groups apart."""
    S, K, r, epsilon = 100, 100, 3, 2.0**-7
    runs = effort.pick(40, 300)
    N = lb.lengths.near_uniform_lengths(lb.Problem(S, K, r), epsilon, DELTA).levels
    rows: Rows = []
    checks = {}
    most = narrow = 0
    for name, constants in (("printed", PAPER), ("broken", witness.threshold_times(1 / 32))):
        seen = [
            algorithm_1(worlds.lumpable(S, K, r, seed=seed), epsilon, seed, constants)
            for seed in range(runs)
        ]
        by_level = most_screenings(seen)
        rows += [{"series": name, "level": n, "most": m} for n, m in enumerate(by_level, start=1)]
        over = sum(max(most_screenings([run])) > r for run in seen)
        crowded = sum(len(run.candidates) > N * r for run in seen)
        if name == "printed":
            most = max(len(run.candidates) for run in seen)
        narrow = max(by_level)
        checks[name] = (
            rate("a level took more than r screenings", over, runs, 4 * DELTA),
            rate("more than N r candidates", crowded, runs, 4 * DELTA),
        )
    return Finding(
        setting=f"S = {S}, K = {K}, r = {r}, ε = 2^-7, δ = {DELTA:g}, means uniform on [0, 1]",
        seeds=runs,
        printed=checks["printed"],
        broken=checks["broken"],
        words=(
            f"Of {runs} runs {checks['printed'][0].measured:g} took more than r = {r} screenings "
            f"at a level; candidates were at most {most} of the N r = {N * r} allowed. With the "
            f"narrow threshold blocks do not leave together: up to {narrow} screenings at a level."
        ),
        figure=sketch.picture(
            rows,
            Axis("level", "accuracy level n", values=range(1, N + 1)),
            Axis("most", "most screenings of any run", "log", (1, 2, 3, 5, 10, 20, 50, 100)),
            {"printed": Series(sketch.BLUE), "broken": Series(sketch.ORANGE)},
            bars={f"r = {r}": r},
            title="A screening clears at least one block",
            subtitle=[f"{runs} runs. Broken: the threshold is a thirty-second as wide."],
            description=(
                "Most screenings at each accuracy level: at most r with the printed threshold, up "
                "to the number of contexts with the narrow one."
            ),
        ),
    )
