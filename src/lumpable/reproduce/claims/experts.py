"""Claim 28: EXP4 with constant experts, where one arm is best for everybody and where none is."""

from __future__ import annotations

import math

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.learners import ConstantExperts
from lumpable.reproduce.claim import Check, Effort, slope
from lumpable.reproduce.claims import sketch
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.reproduce.old import CLAIMS, Finding, claim

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
    found = []
    for seed in range(runs):
        learner = ConstantExperts(CONTEXTS, arms, horizon=horizon, seed=seed)
        world = rank_one(arms, gap, signed=signed, seed=seed)
        found.append(lb.play(learner, world, horizon=horizon, seed=1000 + seed).regret)
    return float(np.mean(found))


def worst_regret(arms: int, horizon: int, runs: int, *, signed: bool) -> float:
    """Return the larger regret of two gaps: as hard to see in so many rounds as may be, and 1."""
    gaps = (1.0,) if signed else (min(1.0, 2 * bar(arms, horizon) / horizon), 1.0)
    often = 1 if signed else runs  # linear regret needs no averaging
    return max(mean_regret(arms, horizon, gap, often, signed=signed) for gap in gaps)


@claim(
    28,
    "Rank one: EXP4 with constant experts",
    printed=(
        "For rank one and weights w ≥ 0 the regret of EXP4 with K constant experts is "
        "O(√(KT log K)); for signed weights the idea fails"
    ),
    broken="signed weights: no arm is best for everybody",
    seconds=(3.0, 40.0),
)
def constant_experts(effort: Effort) -> Finding:
    """Play it round by round where weights are non-negative, and where they are not."""
    runs = effort.pick(3, 8)
    arms = effort.pick((2, 8), (2, 4, 8))
    horizons = effort.pick((1000, 4000, 16000), (1000, 4000, 16000, 64000))
    regret = {
        (kind, K): [worst_regret(K, T, runs, signed=signed) for T in horizons]
        for kind, signed in KINDS.items()
        for K in arms
    }
    over = {
        (kind, K): [y / bar(K, T) for T, y in zip(horizons, values, strict=True)]
        for (kind, K), values in regret.items()
    }
    most = {kind: max(max(over[kind, K]) for K in arms) for kind in KINDS}
    slopes = {
        kind: slope(horizons, np.sum([regret[kind, K] for K in arms], axis=0)) for kind in KINDS
    }

    def checks(kind: str) -> tuple[Check, ...]:
        steep, error = slopes[kind]
        return (
            Check("regret over √(2KT log K), largest mean", most[kind], "<=", 1.0),
            Check("exponent of T less 2 standard errors", steep - 2 * error, "<=", 0.5),
        )

    good, bad = KINDS
    ends = (arms[0], arms[-1])
    return Finding(
        setting=(
            f"S = {CONTEXTS}, K = {arms[0]} … {arms[-1]}, T = 1,000 … {horizons[-1]:,}; rewards 0 "
            "or 1 with means (1 + w v)/2, the worse of a gap of 1 and one scaled with T"
        ),
        seeds=runs,
        printed=checks(good),
        broken=checks(bad),
        words=(
            f"With w ≥ 0 the regret is at most {most[good]:.2f} √(2KT log K) and grows like "
            f"T^({slopes[good][0]:.2f} ± {slopes[good][1]:.2f}); with signed weights it grows like "
            f"T^{slopes[bad][0]:.2f}, {most[bad]:.0f} times the bar at T = {horizons[-1]:,}."
        ),
        figure=sketch.picture(
            [
                {"series": f"{kind}, K = {K}", "horizon": T, "ratio": y}
                for kind in KINDS
                for K in ends
                for T, y in zip(horizons, over[kind, K], strict=True)
            ],
            Axis("horizon", "horizon T", "log", horizons),
            Axis("ratio", "regret over √(2KT log K)", "log"),
            {
                f"{good}, K = {ends[0]}": Series(sketch.SKY),
                f"{good}, K = {ends[1]}": Series(sketch.BLUE),
                f"{bad}, K = {ends[0]}": Series(sketch.PINK),
                f"{bad}, K = {ends[1]}": Series(sketch.ORANGE),
            },
            bars={"the bar": 1.0},
            title="One arm for everybody needs weights of one sign",
            subtitle=[f"Mean over {runs} runs (signed: one), the worse of two gaps."],
            description=(
                "Regret over the bound against the horizon: flat and below one for non-negative "
                "weights, rising like the square root of T above it for signed ones."
            ),
        ),
    )


CONSTANT_EXPERTS = CLAIMS[28]
