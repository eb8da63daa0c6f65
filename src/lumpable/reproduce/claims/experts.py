"""Claim 28: EXP4 with constant experts, where one arm is best for everybody and where none is."""

from __future__ import annotations

import math

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.learners import ConstantExperts
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims.sketch import Axis, Rows, Sketch

CONTEXTS = 10
KINDS = {"w ≥ 0": False, "signed weights": True}


def rank_one(arms: int, gap: float, *, signed: bool, seed: int) -> lb.World:
    """Rewards of 0 or 1 with means (1 + w_i v_j)/2: one arm has v = gap, the next one -gap.

    The shift makes room for both signs; all that it changes in the regret is the factor 1/2.
    """
    w = np.random.default_rng(seed).uniform(0.5, 1.0, CONTEXTS)
    if signed:
        w[::2] *= -1
    v = np.zeros(arms)
    v[:2] = gap, -gap
    return worlds.from_matrix((1 + np.outer(w, v)) / 2, noise="bernoulli")


def bar(arms: int, horizon: int) -> float:
    """Return sqrt(2 K T log K)."""
    return math.sqrt(2 * arms * horizon * math.log(arms))


def mean_regret(arms: int, horizon: int, gap: float, runs: int, *, signed: bool) -> float:
    """Return the mean regret over seeds."""
    regrets = []
    for seed in range(runs):
        learner = ConstantExperts(CONTEXTS, arms, horizon=horizon, seed=seed)
        world = rank_one(arms, gap, signed=signed, seed=seed)
        regrets.append(lb.play(learner, world, horizon=horizon, seed=1000 + seed).regret)
    return float(np.mean(regrets))


def worst_regret(arms: int, horizon: int, runs: int, *, signed: bool) -> float:
    """Return the larger regret of two gaps: one as hard to see in T rounds as possible, and 1."""
    gaps = (1.0,) if signed else (min(1.0, 2 * bar(arms, horizon) / horizon), 1.0)
    often = 1 if signed else runs  # linear regret needs no averaging
    return max(mean_regret(arms, horizon, gap, often, signed=signed) for gap in gaps)


def measure_constant_experts(effort: Effort) -> Measured:
    """Play it round by round where weights are non-negative, and where they are not."""
    runs = effort.pick(3, 8)
    arms = effort.pick((2, 8), (2, 4, 8))
    horizons = effort.pick((1000, 4000, 16000), (1000, 4000, 16000, 64000))
    rows: Rows = []
    slopes = {}
    for kind, signed in KINDS.items():
        regret = {K: [worst_regret(K, T, runs, signed=signed) for T in horizons] for K in arms}
        slopes[kind] = slope(horizons, np.sum(list(regret.values()), axis=0))
        rows += [
            {"series": f"{kind}, K = {K}", "horizon": T, "ratio": y / bar(K, T)}
            for K, values in regret.items()
            for T, y in zip(horizons, values, strict=True)
        ]
    setting = {"S": CONTEXTS, "K": arms, "T": horizons}
    return Measured(seeds=runs, setting=setting, rows=rows, facts=slopes)


def judge_constant_experts(measured: Measured) -> Verdict:
    """Hold regrets against the bar, and their exponent of T against a half."""

    def checks(kind: str) -> tuple[Check, ...]:
        steep, error = measured.facts[kind]
        most = max(row["ratio"] for row in measured.rows if row["series"].startswith(kind))
        return (
            Check("regret over √(2KT log K), largest mean", most, "<=", 1.0),
            Check("exponent of T less 2 standard errors", steep - 2 * error, "<=", 0.5),
        )

    good, bad = map(checks, KINDS)
    return Verdict(printed=good, broken=bad)


def word_constant_experts(measured: Measured, verdict: Verdict) -> Words:
    """Tell how large the regrets are, and how they grow."""
    arms, horizons = measured.setting["K"], measured.setting["T"]
    good, bad = (measured.facts[kind] for kind in KINDS)
    return Words(
        setting=(
            f"S = {measured.setting['S']}, K = {arms[0]} … {arms[-1]}, T = {horizons[0]:,} … "
            f"{horizons[-1]:,}; rewards 0 or 1 with means (1 + w v)/2, the worse of a gap of 1 and "
            "one scaled with T"
        ),
        takeaway=(
            f"With w ≥ 0 the regret is at most {verdict.printed[0].measured:.2f} √(2KT log K) and "
            f"grows like T^({good[0]:.2f} ± {good[1]:.2f}); with signed weights it grows like "
            f"T^{bad[0]:.2f}, {verdict.broken[0].measured:.0f} times the bar at T = "
            f"{horizons[-1]:,}."
        ),
    )


CONSTANT_EXPERTS = Claim(
    28,
    "Rank one: EXP4 with constant experts",
    printed=(
        "For rank one and weights w ≥ 0 the regret of EXP4 with K constant experts is "
        "O(√(KT log K)); for signed weights the idea fails"
    ),
    broken="signed weights: no arm is best for everybody",
    seconds=(3.0, 40.0),
    measure=measure_constant_experts,
    judge=judge_constant_experts,
    word=word_constant_experts,
    draw=Sketch(
        Axis("horizon", "horizon T", "log", "points"),
        Axis("ratio", "regret over √(2KT log K)", "log"),
        {
            "w ≥ 0, K = 2": "sky",
            "w ≥ 0, K = 8": "blue",
            "signed weights, K = 2": "pink",
            "signed weights, K = 8": "orange",
        },
        bars={"the bar": 1.0},
        title="One arm for everybody needs weights of one sign",
        subtitle="Mean over {seeds} runs (signed: one), the worse of two gaps.",
        description=(
            "Regret over the bound against the horizon: flat and below one for non-negative "
            "weights, rising like the square root of T above it for signed ones."
        ),
    ),
)
