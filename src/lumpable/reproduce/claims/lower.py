"""Claim 15: the budgets at which the three hard instances of Theorem 3 are lost half of the time.

Played directly, without a plan: uniform play on the cells that are unknown, then the best mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lumpable import worlds
from lumpable.base.arrays import FloatMatrix
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Series, Sketch, curves

KNOWS_GROUPS, LINE = "told who is alike", "0.05 cells"


@dataclass(frozen=True, slots=True)
class Size:
    """A hard instance (1, 2 or 3) of S contexts, K arms and r groups, with good arms 4 epsilon."""

    case: int
    contexts: int
    arms: int
    groups: int
    epsilon: float = 0.05

    @property
    def cells(self) -> int:
        """The unknown cells: S K, S r or r K."""
        rows = self.groups if self.case == 3 else self.contexts
        return rows * self.unknown

    @property
    def unknown(self) -> int:
        """The arms that may be good."""
        return self.groups if self.case == 2 else self.arms


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """Many draws of one hard instance: means (runs, rows, arms) and how often each row comes."""

    mean: FloatMatrix
    weight: FloatMatrix
    epsilon: float

    def failure_rate(self, plays: int, rng: np.random.Generator) -> float:
        """Return the share of runs that end more than epsilon below the best policy.

        Every cell is played equally often; the best mean wins, ties are broken at random.
        """
        heads = rng.binomial(plays, self.mean) + rng.random(self.mean.shape) / 2
        chosen = heads.argmax(axis=2)[:, :, np.newaxis]
        gap = self.mean.max(axis=2) - np.take_along_axis(self.mean, chosen, axis=2)[:, :, 0]
        loss = np.sum(gap * self.weight, axis=1)
        return float(np.mean(loss > self.epsilon + 1e-12))


def hard_instances(size: Size, runs: int, knows_groups: bool) -> Instances:
    """Draw an instance for each seed. With `knows_groups` a row is a group, not a context."""
    means, weights = [], []
    for seed in range(runs):
        world = worlds.hard(
            size.case, size.contexts, size.arms, size.groups, epsilon=size.epsilon, seed=seed
        )
        if knows_groups:
            mean = np.full((size.groups, size.arms), 0.5)
            mean[world.group] = world.mean
            weight = np.zeros(size.groups)
            np.add.at(weight, world.group, world.frequency)
        else:
            comes = world.frequency > 0
            mean, weight = world.mean[comes], world.frequency[comes]
        means.append(mean[:, : size.unknown].astype(float))
        weights.append(weight)
    return Instances(np.array(means), np.array(weights), size.epsilon)


def half_budget(size: Size, runs: int, knows_groups: bool, rng: np.random.Generator) -> float:
    """Return the budget at which half of the runs fail: plays of a cell times cells."""
    instances = hard_instances(size, runs, knows_groups)
    low, high = 1.0, 2.0
    while instances.failure_rate(round(high), rng) > 0.5:
        low, high = high, 2 * high
    for _ in range(8):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if instances.failure_rate(round(middle), rng) > 0.5 else (low, middle)
        )
    return math.sqrt(low * high) * int(instances.mean[0].size)


def families(sides: Sequence[int], epsilons: Sequence[float]) -> dict[str, dict[str, list[Size]]]:
    """Return for each instance what grows, one letter at a time."""
    wide = [4 * side for side in sides]
    return {
        "1: S K": {
            "S": [Size(1, n, 8, 8) for n in wide],
            "K": [Size(1, 64, n, n) for n in sides],
            "1/ε²": [Size(1, 64, 8, 8, e) for e in epsilons],
        },
        "2: r S": {
            "S": [Size(2, n, 12, 8) for n in wide],
            "r": [Size(2, 64, 40, n) for n in sides],
            "1/ε²": [Size(2, 64, 12, 8, e) for e in epsilons],
        },
        "3: r K": {
            "K": [Size(3, 20, n, 16) for n in wide],
            "r": [Size(3, 140, 40, n) for n in wide],
            "1/ε²": [Size(3, 20, 40, 16, e) for e in epsilons],
        },
    }


def growing(size: Size, letter: str) -> float:
    """Return the value of a letter of a size."""
    values = {"S": size.contexts, "K": size.arms, "r": size.groups, "1/ε²": 1 / size.epsilon**2}
    return float(values[letter])


def measure_lower_bound(effort: Effort) -> Measured:
    """Find the budget at which uniform play fails half of the time, at many sizes."""
    runs = effort.pick(30, 400)
    sides = effort.pick((4, 8, 16, 32), (4, 6, 8, 12, 16, 24, 32))
    epsilons = effort.pick((0.02, 0.04, 0.08), (0.01, 0.02, 0.03, 0.04, 0.06, 0.08))
    rows: Rows = []
    exponents = []
    multiples: list[float] = []
    for knows_groups in (False, True):
        rng = np.random.default_rng(15)
        for name, family in families(sides, epsilons).items():
            for letter, sizes in family.items():
                if knows_groups and letter != "S":
                    continue  # knowing the groups helps as contexts are added
                budgets = [half_budget(size, runs, knows_groups, rng) for size in sizes]
                series = KNOWS_GROUPS if knows_groups else f"instance {name}"
                here: Rows = [
                    {"series": series, "cells": size.cells, "budget": budget * size.epsilon**2}
                    for size, budget in zip(sizes, budgets, strict=True)
                ]
                rows += here if letter != "1/ε²" else []
                multiples += [] if knows_groups else [p["budget"] / p["cells"] for p in here]
                value, error = slope([growing(size, letter) for size in sizes], budgets)
                one = {"series": series, "instance": name[0], "letter": letter}
                exponents.append({**one, "value": value, "error": error})
    ends = [pick(row["cells"] for row in rows) for pick in (min, max)]
    return Measured(
        seeds=runs,
        setting={"epsilons": epsilons},
        rows=rows + curves("cells", ends, "budget", {LINE: [0.05 * cells for cells in ends]}),
        facts={"exponents": exponents, "multiples": (min(multiples), max(multiples))},
    )


def judge_lower_bound(measured: Measured) -> Verdict:
    """Every exponent must be at least 1, with two standard errors to spare."""

    def checks(knows_groups: bool) -> tuple[Check, ...]:
        return tuple(
            Check(
                f"exponent of {one['letter']} on instance {one['instance']}, ± {one['error']:.3f}; "
                "two errors allowed",
                one["value"],
                ">=",
                1 - 2 * one["error"],
            )
            for one in measured.facts["exponents"]
            if (one["series"] == KNOWS_GROUPS) == knows_groups
        )

    return Verdict(printed=checks(knows_groups=False), broken=checks(knows_groups=True))


def word_lower_bound(measured: Measured, verdict: Verdict) -> Words:
    """Tell the exponents, and the cost of a cell."""
    by_instance: dict[str, list[str]] = {}
    for one in measured.facts["exponents"]:
        if one["series"] != KNOWS_GROUPS:
            words = f"{one['letter']} {one['value']:.2f} ± {one['error']:.2f}"
            by_instance.setdefault(one["instance"], []).append(words)
    low, high = measured.facts["multiples"]
    exponents = "; ".join(f"{name}: {', '.join(each)}" for name, each in by_instance.items())
    return Words(
        setting=(
            f"gap 4ε, ε = 0.05 (and {tuple(measured.setting['epsilons'])}); instance 1: S up to "
            "128 at K = 8, K up to 32 at S = 64; 2: S up to 128 at r = 8, r up to 32 at S = 64; "
            "3: K up to 128 at r = 16, r up to 128 at K = 40"
        ),
        takeaway=(
            f"Exponents of the budget at which half of the runs fail: instance {exponents}. It is "
            f"{low:.3f} to {high:.3f} cells/ε²; arms cost more than in proportion, by their "
            "logarithm and because few are guessed more easily. Told who is alike, S costs nothing."
        ),
    )


LOWER_BOUND = Claim(
    15,
    "Theorem 3: the lower bound",
    printed=(
        "Being ε-optimal with probability ≥ 1/2 takes Ω(min(r(S + K), S K)/ε²) samples: S K, r S "
        "and r K over ε² on three hard instances (here with gap 4ε: with the printed gap ε every "
        "policy is ε-optimal)"
    ),
    broken="a learner that is told which contexts are alike",
    seconds=(4.0, 42.0),
    measure=measure_lower_bound,
    judge=judge_lower_bound,
    word=word_lower_bound,
    draw=Sketch(
        Axis("cells", "unknown cells: S K, r S or r K", "log"),
        Axis("budget", "budget lost by half of the runs, times ε²", "log"),
        {
            "instance 1: S K": Series("blue", "ring"),
            "instance 2: r S": Series("green", "point"),
            "instance 3: r K": Series("pink", "point"),
            KNOWS_GROUPS: Series("orange", "point"),
            LINE: GUIDE,
        },
        title="The lower bound: every unknown cell costs its share",
        subtitle="Uniform play on the unknown cells, best mean, gap 4ε, {seeds} runs a try.",
        description=(
            "Budget at which half of the runs fail against the number of unknown cells on log "
            "axes: all three hard instances follow a line of slope one; a learner that is told "
            "which contexts are alike stays flat as contexts are added."
        ),
    ),
)
