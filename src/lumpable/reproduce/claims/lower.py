"""Claim 15: Theorem 3, a lower bound that everybody who tries must stay above.

Each of the three hard instances is m bandits with k arms that come equally often: (m, k) is (S, K),
(S, r) and (r, K). Each bandit has one good arm, uniform on its k arms, so nobody learns about one
bandit from another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lumpable import worlds
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import SURPRISE, Check, Claim, Effort, Measured, Verdict, Words
from lumpable.reproduce.claims import guessing, two_arms
from lumpable.reproduce.claims.guessing import ARMS, EPSILON, MANY, SIDE, UNITS, Point, Size
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Series, curves, panel

BOUND, EXACT, TOLD = "nobody is below", "best possible, exact", "told who is alike"
UNIFORM, BEST = "uniform play", "most probable arm"
SEED = 1500
DEVIATION = 3.72
"""Standard errors that a normal variable exceeds with probability `SURPRISE`."""
LETTERS = {"m": "S (instances 1, 2), r (3)", "k": "K (1, 3), r (2)", "1/ε²": "1/ε²"}


def without_samples(runs: int) -> float:
    """Return the share of printed instances (gap epsilon) that the worst policy of all loses."""
    lost = []
    for case, arms, groups in ((1, 8, 8), (2, 12, 8), (3, 12, 8)):
        for seed in range(runs):
            world = worlds.hard(case, 20, arms, groups, epsilon=EPSILON, gap=EPSILON, seed=seed)
            lost.append(world.loss(world.mean.argmin(axis=1)) > EPSILON + 1e-12)
    return float(np.mean(lost))


def exact_errors() -> tuple[Rows, dict[str, float]]:
    """Return exact errors of two arms by budget, and by how much errors are above the bound."""
    gap = 4 * EPSILON
    plays = np.arange(math.ceil(Size(2, EPSILON).plays(UNITS[-1])) + 1, dtype=float)
    best = two_arms.least_error(gap, len(plays) - 1)
    bound = guessing.wrong_at_least(2, gap, plays)
    units = (plays * EPSILON**2 / 2).tolist()
    series = {EXACT: best[1:].tolist(), BOUND: np.maximum(0, bound)[1:].tolist()}
    evenly = [guessing.wrong_if_uniform(2, gap, n) for n in range(1, (len(plays) + 1) // 2)]
    rows = curves("units", units[1:], "wrong", series)
    rows += curves("units", units[2::2], "wrong", {UNIFORM: evenly})
    spare = {"any play, k = 2": float(np.min((best - bound)[1:]))}
    for k in (2, 4, 8, 32):
        often = range(1, 60, 3)
        wrong = np.array([guessing.wrong_if_uniform(k, gap, n) for n in often])
        least = guessing.wrong_at_least(k, gap, k * np.array(often, dtype=float))
        spare[f"uniform play, k = {k}"] = float(np.min(wrong - least))
    return rows, spare


def measure_lower_bound(effort: Effort) -> Measured:
    """Play all attackers on many bandits, stop them at every budget; compute what is exact."""
    arms = effort.pick((4, 8, 16), (4, 8, 16, 32))
    epsilons = effort.pick((0.09, EPSILON, 0.044), (0.09, EPSILON, 0.044, 0.031, 0.022))
    sides = effort.pick((16, 32, 64), (16, 32, 64, 128))
    bandits = effort.pick(2**13, 2**15)
    middle = Size(ARMS, EPSILON)
    sizes = [Size(k, EPSILON) for k in arms] + [Size(ARMS, e) for e in epsilons if e != EPSILON]
    pools = {s: s.guesses(bandits // s.arms, SEED + 10 * k) for k, s in enumerate(sizes)}
    held = {size: guessing.points(found, size, SIDE) for size, found in pools.items()}
    long = {TOLD: middle.guess(BEST, bandits // ARMS, SEED, longer=4)}
    told = guessing.points(long, middle, MANY[-1], told=True)
    exact, spare = exact_errors()
    rows: Rows = [
        {"series": p.series, "units": p.unit, "wrong": p.wrong} for p in held[middle] + told
    ]
    rows += [{"series": BOUND, "units": p.unit, "wrong": max(0.0, p.bound)} for p in told]
    return Measured(
        seeds=bandits // ARMS,
        setting={"epsilons": epsilons, "arms": arms, "sides": sides, "epsilon": EPSILON},
        rows=rows,
        facts={
            "two arms": exact,
            "spare": spare,
            "held": worst([point for found in held.values() for point in found]),
            "told": worst(told),
            "exponents": {
                "m": guessing.exponent(pools, [(side, middle, side) for side in sides]),
                "k": guessing.exponent(pools, [(k, Size(k, EPSILON), SIDE) for k in arms]),
                "1/ε²": guessing.exponent(pools, [(e**-2, Size(ARMS, e), SIDE) for e in epsilons]),
                TOLD: guessing.exponent({middle: long}, [(S, middle, S) for S in MANY], told=True),
            },
            "unsampled": without_samples(effort.pick(5, 20)),
        },
    )


def worst(some: list[Point]) -> dict[str, float]:
    """Return how far points are below the bounds, if at all."""
    return {
        "points": len(some),
        "surprises": sum(point.chance < SURPRISE for point in some),
        "deviation": min(point.deviation for point in some),
    }


def judge_lower_bound(measured: Measured) -> Verdict:
    """Nobody below the bounds, and no exponent below 1 by more than two standard errors."""
    facts = measured.facts

    def checks(which: str, letters: dict[str, str]) -> tuple[Check, ...]:
        found = facts[which]
        above = f"share of wrong contexts above its bound, smallest of {found['points']} points"
        rare = f"of {found['points']} points, those with fewer failures than the bound allows"
        return (
            Check(f"{above}, in standard errors", found["deviation"], ">=", -DEVIATION),
            Check(f"{rare} (probability below {SURPRISE:g})", found["surprises"], "<=", 0),
            *(
                Check(
                    f"exponent of {words} in the cheapest attacker's budget, ± {error:.3f}; two "
                    "errors allowed",
                    value,
                    ">=",
                    1 - 2 * error,
                )
                for letter, words in letters.items()
                for value, error in [facts["exponents"][letter]]
            ),
        )

    exact = (
        Check(f"exact share of wrong arms above its bound, {who}; smallest", spare, ">=", 0.0)
        for who, spare in facts["spare"].items()
    )
    unsampled = "share of instances with gap ε that the worst policy loses without a sample"
    return Verdict(
        printed=(Check(unsampled, facts["unsampled"], ">=", 0.5),),
        repaired=(*exact, *checks("held", LETTERS)),
        broken=checks("told", {TOLD: "S"}),
    )


def word_lower_bound(measured: Measured, verdict: Verdict) -> Words:
    """Tell the exponents, and how far the attackers stay above the bound."""
    at, found = measured.setting, measured.facts["exponents"]
    named = ", ".join(
        f"{found[letter][0]:.2f} ± {found[letter][1]:.2f} in {words}"
        for letter, words in LETTERS.items()
    )
    best = crossing(measured.rows, BEST)
    visible = 1 - (2 + 1.65) * max(found[letter][1] for letter in LETTERS)
    return Words(
        setting=(
            f"gap 4ε; m = {tuple(at['sides'])} at k = {ARMS}, k = {tuple(at['arms'])} at "
            f"m = {SIDE}, ε = {tuple(at['epsilons'])} at k = {ARMS}, else ε = 1/16; (m, k) = "
            f"(S, K), (S, r), (r, K) for the three instances; told who is alike: S up to {MANY[-1]}"
        ),
        takeaway=(
            "On the printed instances (gap ε) nobody can lose more than ε, so nothing has to be "
            "learned. The theorem stands: with gap 4ε nobody gets below the bound, not the best "
            "possible play of two arms (computed), and not six attackers, of which the best know "
            "gap and prior. The best one needs "
            f"{best:.3f} cells/ε² for a quarter of wrong contexts, the bound says "
            f"{crossing(measured.rows, BOUND):.3f}; that half of the runs fail, it says up to "
            f"{guessing.half_fail(ARMS):.4f}. The cheapest budget has exponents {named} (below "
            f"{visible:.2f} they would be caught). "
            f"Told who is alike, S costs nothing ({found[TOLD][0]:.2f} ± {found[TOLD][1]:.2f})."
        ),
    )


def crossing(rows: Rows, series: str) -> float:
    """Return the budget at which a quarter of the contexts are wrong, between two points."""
    own = [row for row in rows if row["series"] == series]
    wrong = [-row["wrong"] for row in own]
    return math.exp(float(np.interp(-0.25, wrong, [math.log(row["units"]) for row in own])))


def draw_lower_bound(measured: Measured) -> Any:
    """Draw the best that two arms allow beside the bound; and attackers on eight arms."""
    styles: dict[str, Series] = {
        BOUND: GUIDE,
        EXACT: Series("green", "line"),
        UNIFORM: Series("pink", "both"),
        "LUCB": Series("sky", "both"),
        BEST: Series("blue", "both"),
        TOLD: Series("orange", "both"),
    }
    x = Axis("units", "budget, in cells/ε²", "log", (0.001, 0.003, 0.01, 0.03))
    y = Axis("wrong", "share of contexts with a wrong arm")
    left = panel(measured.facts["two arms"], x, y, styles, {"loss ε": 0.25}, width=270)
    right = panel(measured.rows, x, y, styles, {"loss ε": 0.25}, width=270)
    return canvas.with_title(
        left.properties(title="k = 2: everything is exact")
        | right.properties(title=f"k = {ARMS}: attackers"),
        "Theorem 3, gap 4ε: nobody gets below the bound",
        [
            "Left: whatever is played, computed. Right: simulated; the best know gap and prior.",
            f"Orange: a learner that is told which of {MANY[-1]} contexts are alike.",
        ],
        "Share of contexts with a wrong arm against the budget. Left, two arms: the best possible "
        "play lies above the bound and below uniform play. Right, eight arms: all attackers lie "
        "above the bound; a learner that is told who is alike lies far below it.",
    )


LOWER_BOUND = Claim(
    15,
    "Theorem 3: the lower bound",
    printed=(
        "Being ε-optimal with probability ≥ 1/2 takes Ω(min(r(S + K), S K)/ε²) samples: S K, r S "
        "and r K over ε² on three hard instances with Bernoulli(1/2 + ε) for good arms"
    ),
    repaired=(
        "good arms 4ε better (ε ≤ 1/16): with n samples at least 1 − 1/k − √(64ε²n/(3mk)) of the "
        "contexts have a wrong arm on average, so up to (3/64)(3/8 − 1/k)² mk/ε² samples fail with "
        "probability ≥ 1/2; mk is S K, r S and r K, k ≥ 3"
    ),
    broken="a learner that is told which contexts are alike",
    seconds=(2.0, 25.0),
    stands=False,
    measure=measure_lower_bound,
    judge=judge_lower_bound,
    word=word_lower_bound,
    draw=draw_lower_bound,
)
