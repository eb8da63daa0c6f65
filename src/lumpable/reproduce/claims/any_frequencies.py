"""Claim 25: any context frequencies online, by buckets of nearly equal frequencies."""

from __future__ import annotations

import math

import numpy as np

from lumpable.base import words
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words
from lumpable.reproduce.claims import skewed
from lumpable.reproduce.claims.frozen import frozen_at_once
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Sketch
from lumpable.reproduce.claims.skewed import SKEWED, in_bars, run_with_fault, uniform_regret


def measure_any_frequencies(effort: Effort) -> Measured:
    """Run the reduction where frequencies are skewed, and look at what it adds.

    What buckets cost is looked at where they have learned something: an arm of gap 1 must have
    fallen in each of them, by lengths. Before that all lose alike, and the factor is 1.
    """
    S, K, r = SKEWED.letters
    runs = effort.pick(1, 5)
    horizons = effort.pick((10**10, 10**14), tuple(10**e for e in range(10, 17)))
    rows: Rows = []
    found: list[dict[str, float]] = []
    factors = []
    for T in horizons:
        here, ratios = [], []
        for seed in range(runs):
            for name, world in skewed.kinds(T, seed).items():
                run = skewed.run_reduction(world, T, seed)
                here.append(run)
                if name == "Zipf" and run.late and skewed.surely_learns(SKEWED, T):
                    ratios.append(run.inside / uniform_regret(world, T, seed))
        found += [in_bars(run, T) for run in here]
        root = math.sqrt(skewed.most_buckets(S, T))  # what the paper allows
        if ratios:
            factors.append({"T": T, "factor": float(np.mean(ratios)), "root": root})
        last = skewed.kinds(T, 0)
        careless = run_with_fault(last["Zipf"], T, skewed.give_up_below_average)
        heights = {
            "in buckets": max(run.inside for run in here),
            "estimating": max(run.estimating for run in here),
            "given up": max(run.given_up for run in here),
            "bar for given up": skewed.given_up_bar(S, T),
            "broken, given up": careless.given_up,
        }
        rows += [{"series": name, "horizon": T, "regret": y} for name, y in heights.items()]
    kept, mixed = (
        in_bars(run_with_fault(last["halving"], T, putting), T)
        for putting in (skewed.keep_all, skewed.no_buckets)
    )
    idle = run_with_fault(last["Zipf"], T, skewed.keep_all, frozen_at_once).inside
    return Measured(
        seeds=len(found),
        setting={"S": S, "K": K, "r": r, "horizons": horizons, "runs": 4 * runs},
        rows=rows,
        facts={
            "most": {name: max(each[name] for each in found) for name in found[0]},
            "factors": factors,
            "broken": {
                "buckets": kept["buckets"],
                "unevenness": mixed["unevenness"],
                "given_up": in_bars(careless, T)["given_up"],
                "times": idle / uniform_regret(last["Zipf"], T, 0) / root,
            },
        },
    )


def judge_any_frequencies(measured: Measured) -> Verdict:
    """Each part of the claim has a check, and a broken variant of its own."""
    factors = measured.facts["factors"]
    times = max(each["factor"] / each["root"] for each in factors)
    first = words.number(factors[0]["T"])

    def checks(found: dict[str, float]) -> tuple[Check, ...]:
        bars = {
            "buckets": ("buckets, over log₂ √(ST) + 1, most", 1.0),
            "unevenness": ("a context against the average of its bucket, factor", 8.0),
            "given_up": ("regret of those given up, over 2 √(ST), most", 1.0),
            "times": (
                "regret in buckets over that with uniform ν, in √(log₂ √(ST) + 1), most, T ≥ "
                f"{first}",
                1.0,
            ),
        }
        return tuple(Check(what, found[name], "<=", bar) for name, (what, bar) in bars.items())

    return Verdict(
        printed=checks({**measured.facts["most"], "times": times}),
        broken=checks(measured.facts["broken"]),
    )


def word_any_frequencies(measured: Measured, verdict: Verdict) -> Words:
    """Tell what skewed frequencies cost."""
    at, most, factors = measured.setting, measured.facts["most"], measured.facts["factors"]
    factor, root = max(each["factor"] for each in factors), min(each["root"] for each in factors)
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, uniform means, printed constants; "
            f"T = 1e10 … {words.number(at['horizons'][-1])}; frequencies ∝ 1/k, ∝ 2^-k, 0.9/√(ST) "
            "or 20/√(ST) for all but two"
        ),
        takeaway=(
            f"Contexts of a bucket come within a factor {most['unevenness']:.1f} of its average, "
            f"those given up cost at most {2 * most['given_up']:.2f} √(ST). From T = "
            f"{words.number(factors[0]['T'])} on, where a gap of 1 must have shown in every "
            f"bucket, the regret in buckets is at most {factor:.2f} times that with uniform "
            f"frequencies; the paper allows {root:.1f}."
        ),
    )


ANY_FREQUENCIES = Claim(
    25,
    "Any context frequencies online",
    printed=(
        "Estimating ν and giving up rare contexts costs an extra Õ(√(ST)); the others fall into "
        "O(log(ST)) buckets of nearly equal frequencies, which costs a factor √log(ST)"
    ),
    broken=(
        "all contexts are kept; no buckets; contexts below half of the average are given "
        "up; no arm ever falls"
    ),
    seconds=(10.0, 95.0),
    measure=measure_any_frequencies,
    judge=judge_any_frequencies,
    word=word_any_frequencies,
    draw=Sketch(
        Axis("horizon", "horizon T", "log"),
        Axis("regret", "regret", "log"),
        {
            "in buckets": "green",
            "estimating": "sky",
            "given up": "blue",
            "bar for given up": GUIDE,
            "broken, given up": "orange",
        },
        title="Skewed frequencies cost √(ST) more",
        subtitle="Largest of {runs} runs a point. Broken: contexts below 1/(2S) are given up.",
        description=(
            "Regret against the horizon: what estimating and giving up cost grows like the square "
            "root, far below the regret in buckets; when too many contexts are given up it grows "
            "linearly."
        ),
    ),
)
