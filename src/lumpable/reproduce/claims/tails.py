"""Claims 1 and 2: the lemmas on chance that everything else rests on, against exact tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatVector
from lumpable.base.extras import need
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Series, Sketch, curves
from lumpable.runs.answers import answer


def stats() -> Any:
    """Return scipy.stats, or say how to install it."""
    return need("scipy.stats", "research", "reproducing the paper")


# --- 1: coupon collector --------------------------------------------------------------------

RISK, RISKS = 0.1, (0.4, 0.1, 0.01, 0.001)
"""delta' of the runs, and those of the exact probabilities."""


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


def measure_coupon_collector(effort: Effort) -> Measured:
    """Count what is missed, and work out the same probability exactly."""
    sizes = effort.pick((2, 5, 20, 100), (2, 5, 10, 20, 50, 100, 300, 1000))
    runs = effort.pick(2000, 20000)
    rng = np.random.default_rng(1)
    rows: Rows = []
    facts = {}
    for name, draws in (("printed", draws_as_printed), ("K log K draws", draws_without_risk)):
        missed = {K: misses(K, draws(K, RISK), runs, rng) for K in sizes}
        exact = {(K, d): miss_probability(K, draws(K, d)) for K in sizes for d in RISKS}
        for K in sizes:
            rows.append({"series": name, "K": K, "missed": missed[K] / runs})
            rows.append({"series": f"{name}, exact", "K": K, "missed": exact[K, RISK]})
        ratio = max(probability / d for (_, d), probability in exact.items())
        facts[name] = {"missed": max(missed.values()), "ratio": ratio}
    setting = {"K": sizes, "risk": RISK, "risks": RISKS, "runs": runs}
    return Measured(seeds=runs * len(sizes), setting=setting, rows=rows, facts=facts)


def judge_coupon_collector(measured: Measured) -> Verdict:
    """Hold the misses at the worst K, drawn and exact, against delta'."""
    runs, risk = measured.setting["runs"], measured.setting["risk"]

    def checks(name: str) -> tuple[Check, ...]:
        got = measured.facts[name]
        return (
            rate("some element was missed, at the worst K", got["missed"], runs, risk),
            Check("exact probability of a miss over δ′, largest", got["ratio"], "<=", 1.0),
        )

    return Verdict(printed=checks("printed"), broken=checks("K log K draws"))


def word_coupon_collector(measured: Measured, verdict: Verdict) -> Words:
    """Tell how tight the lemma is."""
    at = measured.setting
    exact = [row["missed"] for row in measured.rows if row["series"] == "printed, exact"]
    return Words(
        setting=(
            f"K in {tuple(at['K'])}, δ′ = {at['risk']:g} in the runs, δ′ in {tuple(at['risks'])} "
            "for exact probabilities"
        ),
        takeaway=(
            f"At δ′ = {at['risk']:g} the exact probability of a miss is {min(exact):.3f} to "
            f"{max(exact):.3f}: the lemma is tight to within {1 - max(exact) / at['risk']:.1%} "
            f"at K = {at['K'][-1]}."
        ),
    )


COUPON_COLLECTOR = Claim(
    1,
    "Coupon collector",
    printed="M ≥ K log(K/δ′) draws from K elements show every element with probability ≥ 1 − δ′",
    broken="K log K draws: δ′ is forgotten",
    seconds=(2.0, 8.0),
    measure=measure_coupon_collector,
    judge=judge_coupon_collector,
    word=word_coupon_collector,
    draw=Sketch(
        Axis("K", "elements K", "log", "points"),
        Axis("missed", "share of runs that missed an element", "log", (0.05, 0.1, 0.2, 0.5, 1)),
        {
            "printed": Series("blue", "point"),
            "printed, exact": Series("sky", "line"),
            "K log K draws": Series("orange", "point"),
            "K log K draws, exact": Series("pink", "line"),
        },
        bars={f"δ′ = {RISK:g}": RISK},
        title="K log(K/δ′) draws show everything",
        subtitle="Points: {runs:,} runs each. Lines: inclusion and exclusion.",
        description=(
            "Share of runs that missed an element against K: just below δ′ with the printed "
            "number of draws, about six times as high without δ′ in it."
        ),
    ),
)


# --- 2: tails -------------------------------------------------------------------------------

RADIUS, EXPECTED = 2.0, 16.0
"""2 sqrt(log(1/delta') / M) and M p >= 16 log(1/delta')."""
DRAWN_RISK = 0.05


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


def simulate_errors(runs: int) -> tuple[FloatVector, FloatVector]:
    """Return errors of means of the package's own simulator, and sqrt(log(1/delta') / M) each."""
    world = lb.World(np.full((runs, 1), 0.5), np.full(runs, 1 / runs), np.zeros(runs, dtype=int))
    request = lb.Collect(40 * runs, 8, np.ones((runs, 1), dtype=bool))
    got = answer(request, world, np.random.default_rng(2)).sample
    seen = got.plays[:, 0] > 0
    unit = np.sqrt(math.log(1 / DRAWN_RISK) / (8 * got.plays[seen, 0]))
    return np.abs(got.mean[seen, 0] - 0.5), unit


def measure_tails(effort: Effort) -> Measured:
    """Work out both tails for noises and sizes where they are largest."""
    risks = [float(risk) for risk in np.geomspace(1e-8, 0.499, effort.pick(25, 200))]
    runs = effort.pick(20_000, 500_000)
    errors, unit = simulate_errors(runs)
    series, far = {"tail = δ′": risks}, {}
    for name, part in (("printed", 1), ("broken", 2)):
        radius, expected = RADIUS / part, EXPECTED / part**2
        series[f"mean, {name}"] = [largest_error_tail(risk, radius) for risk in risks]
        series[f"count, {name}"] = [largest_count_tail(risk, expected) for risk in risks]
        far[name] = int(np.sum(errors > radius * unit))
    rows = curves("risk", risks, "tail", series)
    return Measured(seeds=runs, setting={"risk": DRAWN_RISK}, rows=rows, facts={"far": far})


def judge_tails(measured: Measured) -> Verdict:
    """Hold exact tails and simulated means against delta'."""
    risk = measured.setting["risk"]

    def ratio(series: str) -> float:
        mine = (row for row in measured.rows if row["series"] == series)
        return float(max(row["tail"] / row["risk"] for row in mine))

    def checks(name: str) -> tuple[Check, ...]:
        far = measured.facts["far"][name]
        return (
            Check("tail of the mean over δ′, largest", ratio(f"mean, {name}"), "<=", 1.0),
            Check("tail of the count over δ′, largest", ratio(f"count, {name}"), "<=", 1.0),
            rate(f"simulated mean too far off, δ′ = {risk:g}", far, measured.seeds, risk),
        )

    return Verdict(printed=checks("printed"), broken=checks("broken"))


def word_tails(measured: Measured, verdict: Verdict) -> Words:
    """Tell how much room the lemmas have."""
    mean, count, _ = (check.measured for check in verdict.printed)
    return Words(
        setting="δ′ in 1e-8 .. 1/2; Gaussian noise and fair signs, M = 1 .. 1000; p in 1e-4 .. 1/2",
        takeaway=(
            f"The exact tails are at most {mean:.2f} δ′ (means) and {count:.2f} δ′ (counts); both "
            "lemmas have room: the tails fall like δ′² and faster."
        ),
    )


TAILS = Claim(
    2,
    "Sub-Gaussian means and counts",
    printed=(
        "|mean − μ| ≤ 2 √(log(1/δ′)/M) with probability ≥ 1 − δ′ (δ′ < 1/2), and a count of mean "
        "Mp ≥ 16 log(1/δ′) is ≥ Mp/2 with probability ≥ 1 − δ′"
    ),
    broken="half the radius, a quarter of the expected count",
    seconds=(0.5, 2.0),
    measure=measure_tails,
    judge=judge_tails,
    word=word_tails,
    draw=Sketch(
        Axis("risk", "δ′, the probability that is promised", "log"),
        Axis("tail", "largest exact tail", "log", [10.0**-p for p in range(0, 25, 4)]),
        {
            "mean, printed": Series("blue", "line"),
            "count, printed": Series("sky", "line"),
            "tail = δ′": GUIDE,
            "mean, broken": Series("orange", "line"),
            "count, broken": Series("pink", "line"),
        },
        title="Both tail lemmas hold with room",
        subtitle=(
            "A lemma holds where its line is below the dashed one. "
            "Broken: half the radius, a quarter of the expected count."
        ),
        description=(
            "Exact tails against the promised probability on log axes: the printed lemmas lie "
            "below the diagonal everywhere, the broken ones above it."
        ),
    ),
)
