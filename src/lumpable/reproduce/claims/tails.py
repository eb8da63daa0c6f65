"""Claims 1 and 2: the lemmas on chance that everything else rests on, against exact tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.base.extras import need
from lumpable.reproduce.claim import Check, Effort, Finding, claim, rate
from lumpable.reproduce.claims import sketch
from lumpable.reproduce.claims.sketch import Axis, Rows, Series
from lumpable.runs.answers import answer


def stats() -> Any:
    """Return scipy.stats, or say how to install it."""
    return need("scipy.stats", "research", "reproducing the paper")


# --- 1: coupon collector --------------------------------------------------------------------

RISK = 0.1
"""delta' of the runs; exact probabilities are worked out for others too."""


def draws_as_printed(elements: int, risk: float) -> int:
    """M = ceil(K log(K / delta'))."""
    return math.ceil(elements * math.log(elements / risk))


def draws_without_risk(elements: int, _: float) -> int:
    """K log K: what is left when delta' is forgotten; at least one."""
    return max(1, math.ceil(elements * math.log(elements)))


def miss_probability(elements: int, draws: int) -> float:
    """Return the exact probability that some element does not appear (inclusion and exclusion).

    >>> round(miss_probability(2, 3), 6)
    0.25
    """
    terms = []
    for k in range(1, elements):
        log_term = (
            math.lgamma(elements + 1)
            - math.lgamma(k + 1)
            - math.lgamma(elements - k + 1)
            + draws * math.log1p(-k / elements)
        )
        terms.append((-1) ** (k + 1) * math.exp(log_term))
        if log_term < -40:  # later terms are smaller still
            break
    return min(1.0, max(0.0, math.fsum(terms)))


def misses(elements: int, draws: int, runs: int, rng: np.random.Generator) -> int:
    """Draw with replacement, again and again; count how often some element did not appear."""
    uniform = np.full(elements, 1 / elements)
    return sum(bool((rng.multinomial(draws, uniform) == 0).any()) for _ in range(runs))


@claim(
    1,
    "Coupon collector",
    printed="M ≥ K log(K/δ′) draws from K elements show every element with probability ≥ 1 − δ′",
    broken="K log K draws: δ′ is forgotten",
    seconds=(2.0, 8.0),
)
def coupon_collector(effort: Effort) -> Finding:
    """Count what is missed, and work out the same probability exactly."""
    sizes = effort.pick((2, 5, 20, 100), (2, 5, 10, 20, 50, 100, 300, 1000))
    risks = (0.4, RISK, 0.01, 0.001)
    runs = effort.pick(2000, 20000)
    rng = np.random.default_rng(1)
    rows: Rows = []
    checks: dict[str, tuple[Check, ...]] = {}
    for name, draws in (("printed", draws_as_printed), ("K log K draws", draws_without_risk)):
        worst = 0
        for K in sizes:
            missed = misses(K, draws(K, RISK), runs, rng)
            worst = max(worst, missed)
            rows.append({"series": name, "K": K, "missed": missed / runs})
            exact = miss_probability(K, draws(K, RISK))
            rows.append({"series": f"{name}, exact", "K": K, "missed": exact})
        ratio = max(miss_probability(K, draws(K, d)) / d for K in sizes for d in risks)
        checks[name] = (
            rate("some element was missed, at the worst K", worst, runs, RISK),
            Check("exact probability of a miss over δ′, largest", ratio, "<=", 1.0),
        )
    exact_here = [miss_probability(K, draws_as_printed(K, RISK)) for K in sizes]
    return Finding(
        setting=f"K in {sizes}, δ′ = {RISK:g} in the runs, δ′ in {risks} for exact probabilities",
        seeds=runs * len(sizes),
        printed=checks["printed"],
        broken=checks["K log K draws"],
        words=(
            f"At δ′ = {RISK:g} the exact probability of a miss is {min(exact_here):.3f} to "
            f"{max(exact_here):.3f}: the lemma is tight to within {1 - max(exact_here) / RISK:.0%} "
            f"at K = {sizes[-1]}."
        ),
        figure=sketch.picture(
            rows,
            Axis("K", "elements K", "log", sizes),
            Axis("missed", "share of runs that missed an element", "log", (0.05, 0.1, 0.2, 0.5, 1)),
            {
                "printed": Series(sketch.BLUE, "point"),
                "printed, exact": Series(sketch.SKY, "line"),
                "K log K draws": Series(sketch.ORANGE, "point"),
                "K log K draws, exact": Series(sketch.PINK, "line"),
            },
            bars={f"δ′ = {RISK:g}": RISK},
            title="K log(K/δ′) draws show everything",
            subtitle=[f"Points: {runs:,} runs each. Lines: inclusion and exclusion."],
            description=(
                "Share of runs that missed an element against K: just below δ′ with the printed "
                "number of draws, about six times as high without δ′ in it."
            ),
        ),
    )


# --- 2: tails -------------------------------------------------------------------------------

RADIUS, EXPECTED = 2.0, 16.0
"""2 sqrt(log(1/delta') / M) and M p >= 16 log(1/delta')."""


def largest_error_tail(risk: float, radius: float) -> float:
    """Return the largest P(|mean - mu| > radius sqrt(log(1/delta') / M)), exactly.

    Over Gaussian noise (the same for every M) and fair signs, which are 1-sub-Gaussian too.
    """
    z = radius * math.sqrt(math.log(1 / risk))
    tails = [float(2 * stats().norm.sf(z))]
    for M in (1, 2, 3, 5, 10, 30, 100, 1000):
        heads = math.floor((M - z * math.sqrt(M)) / 2 - 1e-12)  # mean = 2 heads / M - 1
        tails.append(float(2 * stats().binom.cdf(heads, M, 0.5)) if heads >= 0 else 0.0)
    return max(tails)


def largest_count_tail(risk: float, expected: float) -> float:
    """Return the largest P(count < M p / 2) at M p >= expected log(1/delta'), exactly."""
    tails = []
    for p in (0.5, 0.1, 0.01, 1e-4):
        M = math.ceil(expected * math.log(1 / risk) / p)
        tails.append(float(stats().binom.cdf(math.ceil(M * p / 2) - 1, M, p)))
    return max(tails)


def drawn_errors(runs: int, radius: float, risk: float) -> int:
    """Count means of the package's own simulator that are further off than the lemma says."""
    world = lb.World(np.full((runs, 1), 0.5), np.full(runs, 1 / runs), np.zeros(runs, dtype=int))
    request = lb.Collect(40 * runs, 8, np.ones((runs, 1), dtype=bool))
    got = answer(request, world, np.random.default_rng(2)).sample
    seen = got.plays[:, 0] > 0
    radii = radius * np.sqrt(math.log(1 / risk) / (8 * np.maximum(got.plays[:, 0], 1)))
    return int(np.sum(np.abs(got.mean[seen, 0] - 0.5) > radii[seen]))


@claim(
    2,
    "Sub-Gaussian means and counts",
    printed=(
        "|mean − μ| ≤ 2 √(log(1/δ′)/M) with probability ≥ 1 − δ′ (δ′ < 1/2), and a count of mean "
        "Mp ≥ 16 log(1/δ′) is ≥ Mp/2 with probability ≥ 1 − δ′"
    ),
    broken="half the radius, a quarter of the expected count",
    seconds=(0.5, 2.0),
)
def tails(effort: Effort) -> Finding:
    """Work out both tails for noises and sizes where they are largest."""
    risks = [float(risk) for risk in np.geomspace(1e-8, 0.499, effort.pick(25, 200))]
    runs = effort.pick(20_000, 500_000)
    rows: Rows = []
    checks: dict[str, tuple[Check, ...]] = {}
    for name, radius, expected in (
        ("printed", RADIUS, EXPECTED),
        ("broken", RADIUS / 2, EXPECTED / 4),
    ):
        error = [largest_error_tail(risk, radius) for risk in risks]
        count = [largest_count_tail(risk, expected) for risk in risks]
        for what, found in (("mean", error), ("count", count)):
            rows += [
                {"series": f"{what}, {name}", "risk": risk, "tail": tail}
                for risk, tail in zip(risks, found, strict=True)
            ]
        checks[name] = (
            Check("tail of the mean over δ′, largest", _most(error, risks), "<=", 1.0),
            Check("tail of the count over δ′, largest", _most(count, risks), "<=", 1.0),
            rate(
                "simulated mean too far off, δ′ = 0.05",
                drawn_errors(runs, radius, 0.05),
                runs,
                0.05,
            ),
        )
    rows += [{"series": "tail = δ′", "risk": risk, "tail": risk} for risk in risks]
    mean, count_ratio = checks["printed"][0].measured, checks["printed"][1].measured
    return Finding(
        setting="δ′ in 1e-8 .. 1/2; Gaussian noise and fair signs, M = 1 .. 1000; p in 1e-4 .. 1/2",
        seeds=runs,
        printed=checks["printed"],
        broken=checks["broken"],
        words=(
            f"The exact tails are at most {mean:.2f} δ′ (means) and {count_ratio:.2f} δ′ (counts); "
            "both lemmas have room: the tails fall like δ′² and faster."
        ),
        figure=sketch.picture(
            rows,
            Axis("risk", "δ′, the probability that is promised", "log"),
            Axis("tail", "largest exact tail", "log", [10.0**-p for p in range(0, 25, 4)]),
            {
                "mean, printed": Series(sketch.BLUE, "line"),
                "count, printed": Series(sketch.SKY, "line"),
                "tail = δ′": Series("#222222", "dash"),
                "mean, broken": Series(sketch.ORANGE, "line"),
                "count, broken": Series(sketch.PINK, "line"),
            },
            title="Both tail lemmas hold with room",
            subtitle=[
                "A lemma holds where its line is below the dashed one.",
                "Broken: half the radius, a quarter of the expected count.",
            ],
            description=(
                "Exact tails against the promised probability on log axes: the printed lemmas lie "
                "below the diagonal everywhere, the broken ones above it."
            ),
        ),
    )


def _most(tails: list[float], risks: list[float]) -> float:
    return max(tail / risk for tail, risk in zip(tails, risks, strict=True))
