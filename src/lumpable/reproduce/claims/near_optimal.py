"""Claims 5 and 6: how good the candidates are, and that good candidates make a good policy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import FloatVector
from lumpable.plans.problem import PAPER, Constants
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Series, Sketch, curves
from lumpable.reproduce.claims.witness import DELTA, Watched, algorithm_1, size_of

EPSILON = 2.0**-8

# --- 5: a near-optimal candidate ------------------------------------------------------------

PRINTED_NEAR, PROVED_NEAR = 10.0, 8.0
DECOYS = (1.0, 2.0, 3.0, 3.6, 4.5, 6.0, 8.0, 9.0, 10.5, 11.5, 13.0, 15.0)
"""How far below the best arm the decoy lies, in sqrt(log x) epsilon_b."""


def decoy_gaps(units: float, runs: int, constants: Constants) -> list[float]:
    """Return, run by run, the largest gap of the candidates, in sqrt(log x) epsilon_b."""
    world = witness.decoy(12, 8, EPSILON, units)
    root = math.sqrt(witness.log_x(size_of(world)))
    seen = (algorithm_1(world, EPSILON, seed, constants) for seed in range(runs))
    return [max(run.gap(block) for block in run.blocks()) / root for run in seen]


def measure_near_optimal_candidate(effort: Effort) -> Measured:
    """Offer a block a decoy at every distance and see how bad an arm it can be left with."""
    runs = effort.pick(12, 100)
    forms = {"printed": PAPER, "broken": witness.threshold_times(3.0)}
    gaps = {
        name: {f"{units:g}": decoy_gaps(units, runs, constants) for units in DECOYS}
        for name, constants in forms.items()
    }
    return Measured(
        seeds=runs * len(DECOYS),
        setting={"delta": DELTA, "decoys": DECOYS, "runs": runs},
        rows=[
            {"series": name, "decoy": float(units), "gap": max(each)}
            for name, by_decoy in gaps.items()
            for units, each in by_decoy.items()
        ],
        facts=gaps,
    )


def judge_near_optimal_candidate(measured: Measured) -> Verdict:
    """A run fails when the gap is above the bar; the worst decoy counts."""

    def checks(name: str, bar: float) -> tuple[Check, ...]:
        gaps = measured.facts[name].values()
        failures = max(sum(gap > bar for gap in each) for each in gaps)
        what = f"no candidate within {bar:g} √(log x) ε_b, at the worst decoy"
        largest = max(max(each) for each in gaps)
        return (
            rate(what, failures, measured.setting["runs"], 4 * measured.setting["delta"]),
            Check("largest gap of the candidates, in √(log x) ε_b", largest, "<=", bar),
        )

    return Verdict(
        printed=checks("printed", PRINTED_NEAR),
        repaired=checks("printed", PROVED_NEAR),
        broken=checks("broken", PRINTED_NEAR),
    )


def word_near_optimal_candidate(measured: Measured, verdict: Verdict) -> Words:
    """Tell how bad an arm a decoy can leave."""
    at = measured.setting
    return Words(
        setting=(
            f"S = 12, K = 8, r = 2, ε = 2^-8, δ = {at['delta']:g}; the best arm of one block lies "
            f"{at['decoys'][0]:g} to {at['decoys'][-1]:g} √(log x) ε below the best of the other"
        ),
        takeaway=(
            f"A decoy can leave a block with an arm {verdict.printed[1].measured:.2f} √(log x) ε_b "
            "below its best, just under the 4 of the screening threshold and far from 8 or 10. A "
            f"threshold three times as wide gives {verdict.broken[1].measured:.1f}."
        ),
    )


NEAR_OPTIMAL_CANDIDATE = Claim(
    5,
    "Lemma pac-4: a near-optimal candidate for every block",
    printed=(
        "With probability ≥ 1 − 4δ the candidates hold, for every block with ω(b) ≥ ε/r, an arm "
        "within 10 √(log(rSK/δ)) ε_b of its best"
    ),
    repaired="the printed steps give 12; a shorter route gives 8 √(log(rSK/δ)) ε_b",
    broken="a screening threshold three times as wide, all lengths as printed",
    seconds=(5.0, 25.0),
    measure=measure_near_optimal_candidate,
    judge=judge_near_optimal_candidate,
    word=word_near_optimal_candidate,
    draw=Sketch(
        Axis("decoy", "distance of the decoy below the best arm, in √(log x) ε_b"),
        Axis("gap", "gap of the best candidate, same unit"),
        {"printed": "blue", "broken": "orange"},
        bars={"10, printed": PRINTED_NEAR, "8, proved": PROVED_NEAR},
        title="How bad a block's best candidate can be",
        subtitle=(
            "Largest gap of {runs} runs a point. A decoy that screening cannot tell apart is all "
            "that the block gets. Broken: threshold three times as wide."
        ),
        description=(
            "Gap of a block's best candidate against the distance of a decoy: it follows the "
            "decoy up to 4 and is 0 beyond; with a threshold three times as wide up to 12."
        ),
    ),
)


# --- 6: candidates suffice ------------------------------------------------------------------

PRINTED_SLOPE, PROVED_SLOPE = 2.0, 1.25


def weighted_accuracy(omega: FloatVector) -> float:
    """Return the sum of omega(b) epsilon_b over epsilon.

    >>> weighted_accuracy(np.array([0.5, 0.5]))
    1.0
    """
    r = len(omega)
    return float(np.sum(np.maximum(omega, np.sqrt(omega / r))))


def largest_weighted_accuracy(runs: int) -> float:
    """Return the largest sum over drawn block frequencies, and over those that make it largest."""
    rng = np.random.default_rng(6)
    laws = [np.full(r, a) for r in (2, 5, 50) for a in (0.1, 1.0, 10.0)]
    drawn = [rng.dirichlet(law) for law in laws for _ in range(runs)]
    quarter = np.concatenate([np.full(199, 1 / 800), [1 - 199 / 800]])  # u = 1/4 for all but one
    return max(map(weighted_accuracy, [*drawn, quarter]))


def one_arm_for_all(run: Watched) -> float:
    """Return the loss of the single candidate that is best on average."""
    world = run.run.world
    return min(world.loss(np.full(world.contexts, arm)) for arm in run.candidates)


LOSSES: dict[str, Callable[[int], lb.World]] = {
    "uniform means": lambda seed: worlds.lumpable(24, 20, 3, seed=seed),
    "geometric sizes": lambda seed: worlds.lumpable(24, 20, 3, sizes="geometric", seed=seed),
    "planted arms": lambda _: witness.planted(24, 20, 3, 0.5),
    "decoys": lambda seed: witness.decoy(12, 20, EPSILON, 0.3 * (seed % 13)),
}


def measure_candidates_suffice(effort: Effort) -> Measured:
    """Measure C and the loss of whole runs, and the sum in which the constants differ."""
    runs = effort.pick(26, 260)
    rows: Rows = []
    for make in LOSSES.values():
        for seed in range(runs):
            run = algorithm_1(make(seed), EPSILON, seed)
            C = max(run.gap(block) for block in run.blocks())
            losses = {"Algorithm 1": run.loss, "one arm for all": one_arm_for_all(run)}
            rows += [{"series": name, "C": C, "loss": y / EPSILON} for name, y in losses.items()]
    lines = {"2(C + 1), printed": PRINTED_SLOPE, "1.25 C + 2": PROVED_SLOPE}
    reached = np.linspace(0, max(row["C"] for row in rows), 30).tolist()
    heights = {name: [slope * C + 2 for C in reached] for name, slope in lines.items()}
    return Measured(
        seeds=runs * len(LOSSES),
        setting={"epsilon": EPSILON, "delta": DELTA},
        rows=rows + curves("C", reached, "loss", heights),
        facts={"factor": largest_weighted_accuracy(runs)},
    )


def judge_candidates_suffice(measured: Measured) -> Verdict:
    """Hold losses against lines in C, and the sum against its bound."""

    def excess(series: str, slope: float) -> Check:
        mine = (row for row in measured.rows if row["series"] == series)
        over = max(row["loss"] - slope * row["C"] for row in mine)
        return Check(f"largest loss / ε − {slope:g} C", over, "<=", 2.0)

    def checks(slope: float) -> tuple[Check, ...]:
        total = Check("largest Σ ω(b) ε_b / ε", measured.facts["factor"], "<=", slope)
        return excess("Algorithm 1", slope), total

    broken = tuple(excess("one arm for all", slope) for slope in (PRINTED_SLOPE, PROVED_SLOPE))
    return Verdict(printed=checks(PRINTED_SLOPE), repaired=checks(PROVED_SLOPE), broken=broken)


def word_candidates_suffice(measured: Measured, verdict: Verdict) -> Words:
    """Tell the largest C, the largest loss and the largest sum."""
    mine = [row for row in measured.rows if row["series"] == "Algorithm 1"]
    return Words(
        setting=(
            f"ε = 2^-8, δ = {measured.setting['delta']:g}; (24, 20, 3) with uniform means, "
            "geometric sizes and planted arms, (12, 20, 2) with decoys; block frequencies also "
            "drawn from Dirichlet laws"
        ),
        takeaway=(
            f"With C up to {max(row['C'] for row in mine):.1f} the loss was at most "
            f"{max(row['loss'] for row in mine):.2f} ε. Block frequencies never made Σ ω(b) ε_b "
            f"larger than {measured.facts['factor']:.3f} ε: 1.25 is the sharp constant, 2 is "
            "generous."
        ),
    )


CANDIDATES_SUFFICE = Claim(
    6,
    "Lemma pac-1: candidates suffice",
    printed=(
        "If W has a C ε_b-optimal arm for every block b with ω(b) ≥ ε/r, the loss is ≤ 2(C + 1) ε"
    ),
    repaired="the same steps give (1.25 C + 2) ε, since √u − u ≤ 1/4",
    broken="Step 3 gives all contexts the one candidate that is best on average",
    seconds=(2.0, 13.0),
    measure=measure_candidates_suffice,
    judge=judge_candidates_suffice,
    word=word_candidates_suffice,
    draw=Sketch(
        Axis("C", "measured C: largest gap of the candidates, in ε_b"),
        Axis("loss", "loss, in ε", "symlog", (0, 1, 2, 5, 10, 20, 50, 100)),
        {
            "2(C + 1), printed": GUIDE,
            "1.25 C + 2": Series("green", "line"),
            "one arm for all": Series("orange", "point"),
            "Algorithm 1": Series("blue", "point"),
        },
        title="Good candidates make a good policy",
        subtitle="{seeds} whole runs. Broken: one candidate for all contexts.",
        description=(
            "Loss against the measured C: all runs of Algorithm 1 lie below both lines; with "
            "one arm for all most lie far above."
        ),
    ),
)
