"""Claims 5 and 6: how good the candidates are, and that good candidates make a good policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.checks import FloatVector
from lumpable.plans.problem import PAPER, Constants
from lumpable.reproduce.claim import Check, Effort, rate
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series
from lumpable.reproduce.claims.witness import DELTA, Watched, algorithm_1
from lumpable.reproduce.old import CLAIMS, Finding, claim

# --- 5: a near-optimal candidate ------------------------------------------------------------

PRINTED_NEAR, PROVED_NEAR = 10.0, 8.0
DECOYS = (1.0, 2.0, 3.0, 3.6, 4.5, 6.0, 8.0, 9.0, 10.5, 11.5, 13.0, 15.0)
"""How far below the best arm the decoy lies, in sqrt(log x) epsilon_b."""


def decoy_gaps(units: float, runs: int, constants: Constants) -> list[float]:
    """Return, run by run, the largest gap of the candidates, in sqrt(log x) epsilon_b."""
    S, K, epsilon = 12, 8, 2.0**-8
    world = witness.decoy(S, K, epsilon, units)
    root = math.sqrt(witness.log_x(witness.size_of(world)))
    seen = (algorithm_1(world, epsilon, seed, constants) for seed in range(runs))
    return [max(run.gap(block) for block in run.blocks()) / root for run in seen]


@claim(
    5,
    "Lemma pac-4: a near-optimal candidate for every block",
    printed=(
        "With probability ≥ 1 − 4δ the candidates hold, for every block with ω(b) ≥ ε/r, an arm "
        "within 10 √(log(rSK/δ)) ε_b of its best"
    ),
    repaired="the printed steps give 12; a shorter route gives 8 √(log(rSK/δ)) ε_b",
    broken="a screening threshold three times as wide, all lengths as printed",
    seconds=(5.0, 25.0),
)
def near_optimal_candidate(effort: Effort) -> Finding:
    """Offer a block a decoy at every distance and see how bad an arm it can be left with."""
    runs = effort.pick(20, 100)
    rows: Rows = []
    failures = {}
    largest = {}
    for name, constants in (("printed", PAPER), ("broken", witness.threshold_times(3.0))):
        gaps = {units: decoy_gaps(units, runs, constants) for units in DECOYS}
        rows += [
            {"series": name, "decoy": units, "gap": max(found)} for units, found in gaps.items()
        ]
        largest[name] = max(max(found) for found in gaps.values())
        failures[name] = {
            bar: max(sum(gap > bar for gap in found) for found in gaps.values())
            for bar in (PRINTED_NEAR, PROVED_NEAR)
        }

    def checks(name: str, bar: float) -> tuple[Check, ...]:
        what = f"no candidate within {bar:g} √(log x) ε_b, at the worst decoy"
        return (
            rate(what, failures[name][bar], runs, 4 * DELTA),
            Check("largest gap of the candidates, in √(log x) ε_b", largest[name], "<=", bar),
        )

    return Finding(
        setting=(
            f"S = 12, K = 8, r = 2, ε = 2^-8, δ = {DELTA:g}; the best arm of one block lies "
            f"{DECOYS[0]:g} to {DECOYS[-1]:g} √(log x) ε below the best of the other"
        ),
        seeds=runs * len(DECOYS),
        printed=checks("printed", PRINTED_NEAR),
        repaired=checks("printed", PROVED_NEAR),
        broken=checks("broken", PRINTED_NEAR),
        words=(
            f"A decoy can leave a block with an arm {largest['printed']:.2f} √(log x) ε_b below "
            "its best, just under the 4 of the screening threshold and far from 8 or 10. A "
            f"threshold three times as wide gives {largest['broken']:.1f}."
        ),
        figure=sketch.picture(
            rows,
            Axis("decoy", "distance of the decoy below the best arm, in √(log x) ε_b"),
            Axis("gap", "gap of the best candidate, same unit"),
            {"printed": Series(sketch.BLUE), "broken": Series(sketch.ORANGE)},
            bars={"10, printed": PRINTED_NEAR, "8, proved": PROVED_NEAR},
            title="How bad a block's best candidate can be",
            subtitle=[
                f"Largest gap of {runs} runs a point. A decoy that screening cannot tell apart",
                "is all that the block gets. Broken: threshold three times as wide.",
            ],
            description=(
                "Gap of a block's best candidate against the distance of a decoy: it follows the "
                "decoy up to 4 and is 0 beyond; with a threshold three times as wide up to 12."
            ),
        ),
    )


# --- 6: candidates suffice ------------------------------------------------------------------


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
    "decoys": lambda seed: witness.decoy(12, 20, 2.0**-8, 0.3 * (seed % 13)),
}


def _losses(rows: Rows) -> Any:
    """Draw losses against the measured C."""
    C_axis = [float(C) for C in np.linspace(0, max(row["C"] for row in rows), 30)]
    curves = [
        {"series": words, "C": C, "loss": slope * C + 2}
        for words, slope in (("2(C + 1), printed", 2.0), ("1.25 C + 2", 1.25))
        for C in C_axis
    ]
    drawn = [{**row, "C": round(row["C"], 2), "loss": round(row["loss"], 2)} for row in rows]
    return sketch.picture(
        [*drawn, *curves],
        Axis("C", "measured C: largest gap of the candidates, in ε_b"),
        Axis("loss", "loss, in ε", "symlog", (0, 1, 2, 5, 10, 20, 50, 100)),
        {
            "2(C + 1), printed": Series("#222222", "dash"),
            "1.25 C + 2": Series(sketch.GREEN, "line"),
            "one arm for all": Series(sketch.ORANGE, "point"),
            "Algorithm 1": Series(sketch.BLUE, "point"),
        },
        title="Good candidates make a good policy",
        subtitle=[f"{len(rows) // 2} whole runs. Broken: one candidate for everybody."],
        description=(
            "Loss against the measured C: all runs of Algorithm 1 lie below both lines; with "
            "one arm for everybody most lie far above."
        ),
    )


@claim(
    6,
    "Lemma pac-1: candidates suffice",
    printed=(
        "If W has a C ε_b-optimal arm for every block b with ω(b) ≥ ε/r, the loss is ≤ 2(C + 1) ε"
    ),
    repaired="the same steps give (1.25 C + 2) ε, since √u − u ≤ 1/4",
    broken="Step 3 gives everybody the one candidate that is best on average",
    seconds=(2.0, 13.0),
)
def candidates_suffice(effort: Effort) -> Finding:
    """Measure C and the loss of whole runs, and the sum in which the constants differ."""
    runs = effort.pick(26, 260)
    epsilon = 2.0**-8
    rows: Rows = []
    for make in LOSSES.values():
        for seed in range(runs):
            run = algorithm_1(make(seed), epsilon, seed)
            C = max(run.gap(block) for block in run.blocks())
            rows.append({"series": "Algorithm 1", "C": C, "loss": run.loss / epsilon})
            rows.append(
                {"series": "one arm for all", "C": C, "loss": one_arm_for_all(run) / epsilon}
            )
    factor = largest_weighted_accuracy(runs)

    def excess(series: str, slope: float) -> Check:
        over = max(row["loss"] - slope * row["C"] for row in rows if row["series"] == series)
        what = f"largest loss / ε − {slope:g} C"
        return Check(what, over, "<=", 2.0)

    used = [row for row in rows if row["series"] == "Algorithm 1"]
    return Finding(
        setting=(
            f"ε = 2^-8, δ = {DELTA:g}; (24, 20, 3) with uniform means, geometric sizes and planted "
            "arms, (12, 20, 2) with decoys; block frequencies also drawn from Dirichlet laws"
        ),
        seeds=runs * len(LOSSES),
        printed=(
            excess("Algorithm 1", 2.0),
            Check("largest Σ ω(b) ε_b / ε", factor, "<=", 2.0),
        ),
        repaired=(
            excess("Algorithm 1", 1.25),
            Check("largest Σ ω(b) ε_b / ε", factor, "<=", 1.25),
        ),
        broken=(excess("one arm for all", 2.0), excess("one arm for all", 1.25)),
        words=(
            f"With C up to {max(row['C'] for row in used):.1f} the loss was at most "
            f"{max(row['loss'] for row in used):.2f} ε. Block frequencies never made "
            f"Σ ω(b) ε_b larger than {factor:.3f} ε: 1.25 is the sharp constant, 2 is generous."
        ),
        figure=_losses(rows),
    )


NEAR_OPTIMAL_CANDIDATE = CLAIMS[5]
CANDIDATES_SUFFICE = CLAIMS[6]
