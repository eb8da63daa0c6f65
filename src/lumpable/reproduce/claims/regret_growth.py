"""Claim 22: how the regret of Algorithms 4 and 6 grows (24: `level_lengths`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base import words
from lumpable.base.arrays import FloatVector
from lumpable.plans import bounds, regret, standard
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import rates
from lumpable.reproduce.claims.rates import check_exponent, curve, exponent
from lumpable.reproduce.claims.sketch import Axis, Series, Sketch, curves

Logs = Callable[[Problem, float], float]
Worlds = Callable[[Problem, int], lb.World]
"""From a size and a seed to a world whose means span at most 1."""
TIMES = tuple(4.0**k for k in range(14, 32))
"""Rounds at which regret is read: from 3e8 to 5e18."""
SIZE = Problem(30, 20, 3)
FIXED = "Algorithm 4, one fixed world"


@dataclass(frozen=True, slots=True)
class Method:
    """An algorithm, its bound, and how finely its worst gaps are looked for."""

    name: str
    algorithm: Callable[[Problem], lb.Plan]
    rate: Callable[[Problem, float], float]
    """Its bound without constants and logarithms."""
    logs: Logs
    """What the tilde of its bound hides at T rounds, but for constants."""
    step: float
    """Worlds have means uniform on [0, 2^-k], for k = 0, step, 2 step, ..."""

    def first(self, problem: Problem) -> float:
        """Return the least of the times at which its bound is not vacuous.

        What the bound promises there, 6 x logs x rate (played arms are within 6 eps~), is below T,
        the most that any algorithm can lose.
        """
        return next(T for T in TIMES if 6 * self.logs(problem, T) * self.rate(problem, T) < T)


FOUR = Method("Algorithm 4", regret.equal_groups, bounds.regret_rate, rates.equal_logs, 0.5)
SIX = Method("Algorithm 6", regret.any_groups, bounds.regret_rate, rates.any_logs, 1.0)
EACH = Method(
    "elimination per context", standard.online, bounds.standard_rate, rates.standard_logs, 0.5
)


def uniform(problem: Problem, seed: int) -> lb.World:
    """Return a world with means uniform on [0, 1]."""
    return worlds.lumpable(*problem.letters, seed=seed)


def one_gap(problem: Problem, seed: int) -> lb.World:
    """Return a world with one good arm a group; all others are worse by the same."""
    return worlds.lumpable(*problem.letters, means="hard", gap=0.5, seed=seed)


def one_level(problem: Problem, T: float) -> float:
    """lg_h, and the share of arms that lose anything: what size hides where there is one gap.

    Algorithm 6 adds up its levels. Uniform means have gaps of all sizes from 2^-k / K on and keep
    2 log2 K levels busy, a logarithm that grows with the size; one gap keeps one level busy, but
    for a geometric series.
    """
    return rates.last_any_groups_phase(problem, T).lg * (1 - 1 / problem.arms)


def worst_regret(
    method: Method,
    problem: Problem,
    seed: int,
    times: Sequence[float],
    *,
    coarser: int = 1,
    world: Worlds = uniform,
) -> FloatVector:
    """Return the largest regret at each time over all gaps: so gaps are scaled with T.

    The search has no edge: k = 0 is the largest span that the paper allows, and it ends where T
    rounds cannot lose more than was lost already, since a round loses at most 2^-k.
    """
    base = world(problem, seed)
    worst: FloatVector = np.zeros(len(times))
    k = 0.0
    while np.any(2.0**-k * np.asarray(times) > worst):
        found = curve(method.algorithm(problem), shrink(base, k), seed, times)
        worst = np.maximum(worst, found)
        k += coarser * method.step
    return worst


def shrink(world: lb.World, halvings: float) -> lb.World:
    """Return the same world with all means 2^-k times as large."""
    return replace(world, mean=world.mean * 2.0**-halvings)


def in_time(method: Method, curves: Sequence[FloatVector]) -> tuple[float, float]:
    """Return the exponent of T in the worst regret, logarithms divided out."""
    first = method.first(SIZE)
    late = [(k, T) for k, T in enumerate(TIMES) if first <= T]
    logs = [method.logs(SIZE, T) for _, T in late]
    return exponent(
        slope(
            [T for _, T in late], [found[k] / log for (k, _), log in zip(late, logs, strict=True)]
        )
        for found in curves
    )


def at_end(
    method: Method,
    problems: Sequence[Problem],
    seeds: int,
    *,
    coarser: int,
    world: Worlds = uniform,
) -> list[list[float]]:
    """Return, for each seed, the worst regret of every size at the end."""
    T = TIMES[-1]
    for problem in problems:
        method.first(problem)  # raises where the bound is vacuous even at the end

    def lost(problem: Problem, seed: int) -> float:
        return float(worst_regret(method, problem, seed, [T], coarser=coarser, world=world)[0])

    return [[lost(problem, seed) for problem in problems] for seed in range(seeds)]


def in_size(
    found: list[list[float]], problems: Sequence[Problem], size: Sequence[float], logs: Logs
) -> tuple[float, float]:
    """Return the exponent of a size in the worst regret at the end, logarithms divided out."""
    hidden = [logs(problem, TIMES[-1]) for problem in problems]
    return exponent(
        slope(size, [lost / log for lost, log in zip(each, hidden, strict=True)]) for each in found
    )


def measure_growing(effort: Effort) -> Measured:
    """Measure the worst regret over all gaps, while T, S + K and r grow one at a time."""
    coarser, more = effort.pick(2, 1), effort.pick(1, 3)
    seeds = {FOUR.name: effort.pick(2, 8), SIX.name: effort.pick(1, 3), EACH.name: more}
    worst = {
        method.name: [
            worst_regret(method, SIZE, seed, TIMES, coarser=coarser)
            for seed in range(seeds[method.name])
        ]
        for method in (FOUR, SIX, EACH)
    }
    fixed = curve(regret.equal_groups(SIZE), worlds.lumpable(*SIZE.letters, seed=0), 0, TIMES)
    sides = effort.pick((10, 20, 40), (10, 20, 40, 80, 160))
    squares, sums = [Problem(n, n, 3) for n in sides], [2.0 * n for n in sides]
    counts = effort.pick((2, 4, 8), (2, 3, 4, 6, 8, 12))
    lumped = [Problem(48, 24, r) for r in counts]
    by_sum = {
        method.name: in_size(
            at_end(method, squares, more, coarser=coarser), squares, sums, method.logs
        )
        for method in (FOUR, EACH)
    }
    facts: dict[str, Any] = {
        "T": {method.name: in_time(method, worst[method.name]) for method in (FOUR, SIX)},
        "S + K": by_sum,
        "r": in_size(at_end(FOUR, lumped, more, coarser=coarser), lumped, counts, FOUR.logs),
        "fixed": [slope(TIMES[k:][:3], list(fixed[k:][:3]))[0] for k in (0, len(TIMES) - 3)],
    }
    runs = sum(seeds.values()) + more * (2 * len(sides) + len(counts))
    if not effort.quick:  # half a minute a seed
        ends = at_end(SIX, squares, 2, coarser=coarser, world=one_gap)
        by_sum[SIX.name] = in_size(ends, squares, sums, one_level)
        even = at_end(SIX, squares, 1, coarser=2)
        facts["all levels"] = in_size(even, squares, sums, SIX.logs)
        runs += 2 * len(sides)
    means = {
        name: [float(np.mean(at)) for at in zip(*found, strict=True)]
        for name, found in worst.items()
    }
    return Measured(
        seeds=runs,
        setting={"sides": sides, "counts": counts},
        rows=curves("T", TIMES, "regret", {**means, FIXED: fixed.tolist()}),
        facts={**facts, "behind": means[FOUR.name][-1] / means[EACH.name][-1]},
    )


def judge_growing(measured: Measured) -> Verdict:
    """Exponents must not be above those of the bound by more than two errors."""
    facts = measured.facts
    return Verdict(
        printed=(
            check_exponent("exponent of T, Algorithm 4", facts["T"][FOUR.name], 0.5),
            check_exponent("exponent of T, Algorithm 6", facts["T"][SIX.name], 0.5),
            check_exponent("exponent of S + K, Algorithm 4", facts["S + K"][FOUR.name], 0.5),
            check_exponent("exponent of r, Algorithm 4", facts["r"], 1.5),
        ),
        broken=(check_exponent("exponent of S + K", facts["S + K"][EACH.name], 0.5),),
    )


def word_growing(measured: Measured, verdict: Verdict) -> Words:
    """Tell the exponents, and how large the constants are."""
    at, facts = measured.setting, measured.facts
    one = why = ""
    if "all levels" in facts:
        one = " (Algorithm 6: one gap, 2^-k / 2, for all bad arms)"
        why = (
            " Algorithm 6 adds up its levels. With uniform means, more arms keep more of them busy "
            "(about 2 log₂ K; divided by all levels alike, its exponent is "
            "{:.2f} ± {:.2f}). So its S + K is read, not judged, where all bad arms have the same "
            "gap, which keeps one busy."
        ).format(*facts["all levels"])
    first = {method: words.number(method.first(SIZE), 1) for method in (FOUR, SIX)}
    sums = ", ".join(f"{value:.2f} ({name})" for name, (value, _) in facts["S + K"].items())
    return Words(
        setting=(
            f"(S, K, r) = {SIZE.letters}, T from {first[FOUR]} (Algorithm 6: {first[SIX]}), where "
            f"the bound falls below T, to {words.number(TIMES[-1], 1)}, means uniform on "
            f"[0, 2^-k], worst k at each T; S = K in {tuple(at['sides'])}{one}; r in "
            f"{tuple(at['counts'])} at (48, 24)"
        ),
        takeaway=(
            f"Exponents, logarithms divided out: T {facts['T'][FOUR.name][0]:.3f} (Algorithm 4) "
            f"and {facts['T'][SIX.name][0]:.3f} (Algorithm 6), S + K {sums}, r "
            f"{facts['r'][0]:.2f} (Algorithm 4).{why} On one fixed world the slope in T goes from "
            f"{facts['fixed'][0]:.2f} to {facts['fixed'][1]:.2f}. The constants are large: at this "
            f"size elimination per context has {facts['behind']:,.0f} times less regret."
        ),
    )


GROWING = Claim(
    22,
    "Regret grows like √T",
    printed="The regret of Algorithms 4 and 6 is Õ(√(r³(S + K)T)), that of standard ones Õ(√(SKT))",
    broken="elimination per context: no contexts are lumped together",
    seconds=(10.0, 150.0),
    measure=measure_growing,
    judge=judge_growing,
    word=word_growing,
    draw=Sketch(
        Axis("T", "rounds T", "log", [1e10, 1e12, 1e14, 1e16, 1e18]),
        Axis("regret", "regret", "log"),
        {SIX.name: "green", FOUR.name: "blue", FIXED: Series("sky", "line"), EACH.name: "orange"},
        title="At the worst gaps regret grows like √T",
        subtitle=(
            f"(S, K, r) = {SIZE.letters}; at each T the gaps that hurt most. One fixed world goes "
            "from slope 1 to flat: what is not seen yet costs T, what is seen costs nothing."
        ),
        description=(
            "Regret against rounds on log axes: the worst regret of Algorithms 4 and 6 has slope "
            "one half once gaps can show, that of elimination per context too, far below; on one "
            "fixed world it goes from slope one to flat."
        ),
    ),
)
