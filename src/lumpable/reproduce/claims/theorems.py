"""Claims 9 and 14: the losses of Theorems 1 and 2.

Claims 10 and 11 are in `samples`, 12 in `several_levels`, 13 in `buckets`, 15 in `lower`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.checks import FloatVector
from lumpable.plans import bounds, pac
from lumpable.plans.problem import PAPER
from lumpable.reproduce.claim import Check, Effort, rate
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series
from lumpable.reproduce.claims.witness import DELTA, algorithm_1
from lumpable.reproduce.old import CLAIMS, Finding, claim


def _figure(
    rows: Rows, epsilons: Sequence[float], names: tuple[str, str], title: str, subtitle: str
) -> Any:
    """Draw losses, sound and broken, against epsilon, with the bounds."""
    sound, broken = names
    return sketch.picture(
        rows,
        Axis("epsilon", "ε", "log", epsilons),
        Axis("loss", "loss"),
        {
            "printed bound": Series("#222222", "dash"),
            "repaired": Series(sketch.GREEN, "line"),
            broken: Series(sketch.ORANGE, "point"),
            sound: Series(sketch.BLUE, "point"),
        },
        bars={"1: no loss is larger": 1.0},
        title=title,
        subtitle=[subtitle],
        description=(
            f"Losses against epsilon: {sound} stays near zero, below both bounds; {broken}: above "
            "them at small epsilon."
        ),
    )


# --- 9: Theorem 1 ---------------------------------------------------------------------------

SIZE = lb.Problem(63, 40, 3)
EPSILONS = (0.02, 0.01, 0.005, 0.0025)
ENOUGH = 0.0025
"""Where the theorem says something: its loss bound is far below 1."""


def theorem_losses(epsilon: float, runs: int, factor: float) -> dict[str, list[float]]:
    """Return losses by kind of world, with the screening threshold this much wider."""
    S, K, r = SIZE.letters
    constants = PAPER if factor == 1 else witness.threshold_times(factor)
    uneven = witness.most_uneven(S)
    found: dict[str, list[float]] = {"uniform means": [], "planted arms": []}
    for seed in range(runs):
        drawn = worlds.lumpable(S, K, r, seed=seed)
        skewed = witness.planted(S, K, r, 0.6, uneven)
        for kind, world in (("uniform means", drawn), ("planted arms", skewed)):
            found[kind].append(algorithm_1(world, epsilon, seed, constants).loss)
    return found


@claim(
    9,
    "Theorem 1: the loss",
    printed=(
        "For ν(i) in [1/(8S), 8/S] Algorithm 1 is 2(10 √(log(rSK/δ)) + 1) ε-optimal with "
        "probability ≥ 1 − δ"
    ),
    repaired="its steps give (10 √(log(rSK/δ)) + 1 + 2√2 + 4ε) ε, half as much",
    broken="a screening threshold thirty times as wide, all lengths as printed",
    seconds=(4.5, 26.0),
)
def theorem_1(effort: Effort) -> Finding:
    """Run it at accuracies where the bound is below 1, in worlds that can break it."""
    runs = effort.pick(20, 120)
    rows: Rows = []
    losses = {}
    for epsilon in EPSILONS:
        bound = bounds.near_uniform_printed(SIZE, epsilon, DELTA)
        promise = bounds.near_uniform_promise(SIZE, epsilon, DELTA)
        rows.append({"series": "printed bound", "epsilon": epsilon, "loss": bound})
        rows.append({"series": "repaired", "epsilon": epsilon, "loss": promise})
        for name, factor in (("Algorithm 1", 1.0), ("broken", 30.0)):
            found = theorem_losses(epsilon, runs, factor)
            losses[name, epsilon] = [loss for kind in found.values() for loss in kind]
            rows += [
                {"series": name, "epsilon": epsilon, "loss": loss}
                for loss in sorted({round(loss, 4) for loss in losses[name, epsilon]})
            ]

    def check(name: str, bound: float, words: str) -> Check:
        over = sum(loss > bound for loss in losses[name, ENOUGH])
        return rate(f"loss above {words} {bound:.3f}", over, 2 * runs, DELTA)

    printed = bounds.near_uniform_printed(SIZE, ENOUGH, DELTA)
    promise = bounds.near_uniform_promise(SIZE, ENOUGH, DELTA)
    good = losses["Algorithm 1", ENOUGH]
    return Finding(
        setting=(
            "S = 63, K = 40, r = 3, uniform means and frequencies, and planted arms with the most "
            f"uneven frequencies; δ = {DELTA:g}, judged at ε = {ENOUGH:g}"
        ),
        seeds=2 * runs,
        printed=(check("Algorithm 1", printed, "the printed"),),
        repaired=(check("Algorithm 1", promise, "the proved"),),
        broken=(
            check("broken", printed, "the printed"),
            check("broken", promise, "the proved"),
        ),
        words=(
            f"At ε = {ENOUGH:g} the bound is {printed:.2f} and the largest loss of {2 * runs} runs "
            f"was {max(good):.2g}; {np.mean(np.array(good) <= ENOUGH):.0%} were ε-optimal "
            f"outright. Above ε = {ENOUGH / printed:.3f} the bound exceeds 1 and says nothing."
        ),
        figure=_figure(
            rows,
            EPSILONS,
            ("Algorithm 1", "broken"),
            "Theorem 1 where it says something",
            f"{2 * runs} runs at each ε. Broken: threshold thirty times as wide.",
        ),
    )


# --- 14: Theorem 2 --------------------------------------------------------------------------

GENERAL_SIZE = lb.Problem(24, 10, 3)
GENERAL_EPSILONS = (0.004, 0.002, 0.001, 0.0005)


def one_dominates(contexts: int) -> FloatVector:
    """Frequencies 0.6 for one context, and Zipf for the others."""
    rest = 1 / np.arange(1, contexts)
    return np.concatenate([[0.6], 0.4 * rest / rest.sum()])


def without_bucket_0(run: lb.Run) -> float:
    """Return the loss when bucket 0 is skipped and its contexts get whatever arm is worst."""
    policy = run.policy.copy()
    result = run.result
    for bucket in () if result is None else result.buckets:
        if bucket.level == 0:
            policy[bucket.contexts] = run.world.mean.argmin(axis=1)[bucket.contexts]
    return run.world.loss(policy)


@claim(
    14,
    "Theorem 2: the loss for any frequencies",
    printed="Algorithm 3 is C √L ε-optimal, C = 2√2 (10 √(log(rSK/δ)) + 1), L = ⌈log₂(S/ε)⌉",
    repaired="3.08 (10 √(log(rSK/δ)) + 3.9) √L ε + 38 L ε² + 1.9 ε, bucket by bucket",
    broken="the loop as printed, over [L − 1]: bucket 0 is skipped and gets an arbitrary arm",
    seconds=(5.0, 44.0),
)
def theorem_2(effort: Effort) -> Finding:
    """Run Algorithm 3 where one context has more than half of all arrivals."""
    S, K, r = GENERAL_SIZE.letters
    runs = effort.pick(15, 150)
    rows: Rows = []
    losses: dict[tuple[str, float], list[float]] = {}
    for epsilon in GENERAL_EPSILONS:
        printed = bounds.any_contexts_printed(GENERAL_SIZE, epsilon, DELTA)
        promise = bounds.any_contexts_promise(GENERAL_SIZE, epsilon, DELTA)
        rows.append({"series": "printed bound", "epsilon": epsilon, "loss": printed})
        rows.append({"series": "repaired", "epsilon": epsilon, "loss": promise})
        for seed in range(runs):
            world = worlds.lumpable(S, K, r, frequency=one_dominates(S), seed=seed)
            plan = pac.any_contexts(GENERAL_SIZE, epsilon=epsilon, delta=DELTA)
            run = lb.simulate(plan, world, seed=seed)
            for name, loss in (
                ("Algorithm 3", world.loss(run.policy)),
                ("bucket 0 skipped", without_bucket_0(run)),
            ):
                losses.setdefault((name, epsilon), []).append(loss)
                rows.append({"series": name, "epsilon": epsilon, "loss": round(loss, 4)})
    finest = GENERAL_EPSILONS[-1]
    printed = bounds.any_contexts_printed(GENERAL_SIZE, finest, DELTA)
    promise = bounds.any_contexts_promise(GENERAL_SIZE, finest, DELTA)

    def check(name: str, words: str, bound: float) -> Check:
        over = sum(loss > bound for loss in losses[name, finest])
        return rate(f"loss above {words} {bound:.3f}", over, runs, DELTA)

    own, skipped = losses["Algorithm 3", finest], losses["bucket 0 skipped", finest]
    return Finding(
        setting=(
            f"S = {S}, K = {K}, r = {r}, δ = {DELTA:g}, one context with 0.6 of all arrivals, Zipf "
            f"for the others; judged at ε = {finest:g}"
        ),
        seeds=runs,
        printed=(
            check("Algorithm 3", "C √L ε =", printed),
            check("Algorithm 3", "C √L ε + 3ε =", printed + 3 * finest),
        ),
        repaired=(check("Algorithm 3", "the proved", promise),),
        broken=(
            check("bucket 0 skipped", "C √L ε + 3ε =", printed + 3 * finest),
            check("bucket 0 skipped", "the proved", promise),
        ),
        words=(
            f"At ε = {finest:g} Algorithm 3 lost at most {max(own):.2g}; the bound is "
            f"{printed:.2f}. Skipping bucket 0, as the printed loop does, may cost "
            f"{np.mean(skipped):.2f} on average: the context that comes most often would get any "
            "arm."
        ),
        figure=_figure(
            rows,
            GENERAL_EPSILONS,
            ("Algorithm 3", "bucket 0 skipped"),
            "Theorem 2 where it says something",
            f"{runs} runs at each ε; one context has 60 % of all arrivals.",
        ),
    )


THEOREM_1 = CLAIMS[9]
THEOREM_2 = CLAIMS[14]
