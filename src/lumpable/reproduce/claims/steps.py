"""Claims 7 and 8: two lines of the proof of Theorem 1 whose printed constant is too small."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.plans import standard
from lumpable.plans.problem import PAPER
from lumpable.reproduce.claim import Check, Effort, Finding, claim, rate
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series
from lumpable.reproduce.claims.witness import DELTA, Watched, algorithm_1

# --- 7: the good event ----------------------------------------------------------------------

PRINTED_WIDTH, PROVED_WIDTH = 0.5, 2.0


def largest_errors(run: Watched) -> dict[int, float]:
    """Return, for each level, the largest error of a mean, in sqrt(log x / 2^n)."""
    root = math.sqrt(witness.log_x(run.problem))
    found: dict[int, float] = {}
    for step in run.steps:
        if (repeats := step.request.repeats) > 1:  # Step 3 plays every arm once
            error = float(np.nanmax(np.abs(step.sample.mean - run.run.world.mean)))
            level = repeats.bit_length() - 1
            found[level] = max(found.get(level, 0.0), error * math.sqrt(repeats) / root)
    return found


@claim(
    7,
    "The good event of the proof",
    printed="At a level all estimates err by ≤ ½ √(log(rSK/δ)/2ⁿ) with probability ≥ 1 − 2δ/r",
    repaired="2 √(log(rSK/δ)/2ⁿ), as the sub-Gaussian lemma gives; Lemma pac-3 needs no more",
    broken="noise of standard deviation 4: as if every mean had a sixteenth of its rewards",
    seconds=(1.0, 10.0),
    stands=False,
)
def good_event(effort: Effort) -> Finding:
    """Compare every mean of whole runs with the truth."""
    S, K, r, epsilon = 100, 100, 2, 0.1
    runs = effort.pick(40, 400)
    rows: Rows = []
    worst: dict[str, dict[int, list[float]]] = {}
    for name, sd in (("noise of sd 1", 1.0), ("noise of sd 4", 4.0)):
        by_level: dict[int, list[float]] = {}
        for seed in range(runs):
            world = worlds.lumpable(S, K, r, sd=sd, seed=seed)
            for level, error in largest_errors(algorithm_1(world, epsilon, seed)).items():
                by_level.setdefault(level, []).append(error)
        worst[name] = by_level
        rows += [
            {"series": name, "level": level, "error": float(np.median(errors))}
            for level, errors in by_level.items()
        ]

    def check(name: str, width: float) -> Check:
        failures = max(sum(e > width for e in errors) for errors in worst[name].values())
        what = f"some error above {width:g} √(log x / 2ⁿ), at the worst level"
        return rate(what, failures, runs, 2 * DELTA / r)

    deepest = max(worst["noise of sd 1"])
    deep = worst["noise of sd 1"][deepest]
    return Finding(
        setting=f"S = {S}, K = {K}, r = {r}, ε = {epsilon:g}, δ = {DELTA:g}, Gaussian noise",
        seeds=runs,
        printed=(check("noise of sd 1", PRINTED_WIDTH),),
        repaired=(check("noise of sd 1", PROVED_WIDTH),),
        broken=(check("noise of sd 4", PROVED_WIDTH),),
        words=(
            f"At the deepest level the largest of the {S * K:,} errors is {np.median(deep):.2f} "
            f"√(log x/2ⁿ) (median of {runs} runs), above ½ in {np.mean(np.array(deep) > 0.5):.0%} "
            f"of the runs and at most {max(deep):.2f}. The screening threshold of 4 is made for 2."
        ),
        figure=sketch.picture(
            rows,
            Axis("level", "accuracy level n", values=range(1, deepest + 1)),
            Axis("error", "largest error, in √(log x / 2ⁿ)", "log", (0.05, 0.1, 0.2, 0.5, 1, 2, 4)),
            {
                "noise of sd 1": Series(sketch.BLUE),
                "noise of sd 4": Series(sketch.ORANGE),
            },
            bars={"½, printed": PRINTED_WIDTH, "2, repaired": PROVED_WIDTH},
            title="The good event needs 2, not ½",
            subtitle=[f"Median over {runs} runs of the largest error among all pairs."],
            description=(
                "Largest error of an estimate at each level: below both bars at low levels, where "
                "plays are pooled, above one half at the deepest level, always below 2."
            ),
        ),
    )


# --- 8: Step 3 ------------------------------------------------------------------------------

SETTLES = (4.0, 8.0, 16.0, 32.0, 64.0)
"""The constant of Step 3: 4 is printed, 64 is proved."""


def barely_wrong(contexts: int, candidates: int, epsilon: float) -> lb.World:
    """Give each context one good arm; all others are just more than epsilon worse.

    Frequencies are the most uneven that Theorem 1 allows.
    """
    good = np.arange(contexts)[:, np.newaxis] % candidates == np.arange(candidates)
    mean = np.where(good, 0.5 + 1.01 * epsilon, 0.5)
    return lb.worlds.from_matrix(mean, frequency=witness.most_uneven(contexts))


@claim(
    8,
    "Step 3: the best candidate of every context",
    printed=(
        "4S|W|/ε² log(SK/δ) samples give A(i, π(i)) ≥ max over W of A(i, j) − ε for all contexts i"
    ),
    repaired=(
        "64 in place of 4, with probability ≥ 1 − 2δ (with 4 the loss is small on average, which "
        "is all that the theorem needs)"
    ),
    broken="16 in place of 64: a quarter of the samples",
    seconds=(2.0, 16.0),
    stands=False,
)
def settling(effort: Effort) -> Finding:
    """Run Step 3 under the most uneven frequencies that are allowed."""
    S, K, epsilon = 180, 20, 0.1
    runs = effort.pick(60, 500)
    world = barely_wrong(S, K, epsilon)
    rows: Rows = []
    failed, share, loss = {}, {}, {}
    for constant in SETTLES:
        constants = replace(PAPER, policy=constant)
        wrong, losses = [], []
        for seed in range(runs):
            problem = lb.Problem(S, K, K)
            plan = standard.naive(problem, epsilon=epsilon, delta=DELTA, constants=constants)
            policy = lb.simulate(plan, world, seed=seed).policy
            wrong.append(float(np.mean(world.loss_by_context(policy) > epsilon)))
            losses.append(world.loss(policy))
        failed[constant] = sum(each > 0 for each in wrong)
        share[constant], loss[constant] = float(np.mean(wrong)), max(losses)
        rows += [
            {"series": "share of contexts", "constant": constant, "wrong": share[constant]},
            {"series": "share of runs", "constant": constant, "wrong": failed[constant] / runs},
        ]
    what = "a context more than ε below its best candidate"
    return Finding(
        setting=(
            f"S = {S}, {K} candidates, ε = {epsilon:g}, δ = {DELTA:g}; one arm 1.01 ε better in "
            "each context; ν = 8/S for a ninth of the contexts and 1/(8S) for the others"
        ),
        seeds=runs,
        printed=(rate(f"{what}, constant 4", failed[4.0], runs, DELTA),),
        repaired=(rate(f"{what}, constant 64", failed[64.0], runs, 2 * DELTA),),
        broken=(rate(f"{what}, constant 16", failed[16.0], runs, 2 * DELTA),),
        words=(
            f"With the printed 4, {share[4.0]:.0%} of the contexts end more than ε below their "
            f"best candidate, in {failed[4.0] / runs:.0%} of the runs at least one; with 16 still "
            f"in {failed[16.0] / runs:.0%}, with 64 in {failed[64.0] / runs:.0%}. The wrong ones "
            f"hardly ever come: even with 4 the mean loss was at most {loss[4.0] / epsilon:.2f} ε."
        ),
        figure=sketch.picture(
            rows,
            Axis("constant", "constant of Step 3 (4 is printed, 64 is proved)", "log", SETTLES),
            Axis("wrong", "share with a loss above ε"),
            {
                "share of contexts": Series(sketch.BLUE),
                "share of runs": Series(sketch.ORANGE),
            },
            bars={"2δ": 2 * DELTA},
            title="Step 3: 4 is too few for every context",
            subtitle=[
                f"{runs} runs a point. A run fails when one context loses more than ε.",
            ],
            description=(
                "Share of contexts and of runs with a loss above epsilon, against the constant of "
                "Step 3: all runs fail at 4, none at 64."
            ),
        ),
    )
