"""Claim 22: how the regret of Algorithms 4 and 6 grows (24: `lengths`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import regret, standard, worlds
from lumpable.checks import FloatVector
from lumpable.problem import Problem
from lumpable.reproduce import wording
from lumpable.reproduce.claim import Check, Effort, Finding, claim, slope
from lumpable.reproduce.claims import sketch
from lumpable.reproduce.claims.rates import any_logs, curve, equal_logs, exponent, standard_logs
from lumpable.reproduce.claims.sketch import Axis, Series

TIMES = tuple(4.0**k for k in range(14, 32))
"""Rounds at which regret is read: from 3e8 to 5e18."""
SIZE = Problem(30, 20, 3)


@dataclass(frozen=True, slots=True)
class Method:
    """An algorithm, the gaps at which it suffers most, and the logarithms of its bound."""

    name: str
    algorithm: Callable[[Problem], lb.Plan]
    halvings: tuple[float, ...]
    """Worlds have means uniform on [0, 2^-k], for these k."""
    logs: Callable[[Problem, float], float]
    """What the tilde of its bound hides at T rounds, but for constants."""
    first: float
    """From this T on its bound says something: before, no gap of 1 can show."""


FOUR = Method("Algorithm 4", regret.equal_groups, tuple(np.arange(0, 14, 0.5)), equal_logs, 4.0**21)
SIX = Method("Algorithm 6", regret.any_groups, tuple(np.arange(0.0, 8)), any_logs, 4.0**24)
EACH = Method(
    "elimination per context",
    standard.online,
    tuple(np.arange(0.0, 20)),
    standard_logs,
    first=TIMES[0],
)


def worst_regret(
    method: Method, problem: Problem, seed: int, times: Sequence[float]
) -> FloatVector:
    """Return the largest regret at each time over all gaps: so gaps are scaled with T."""
    base = worlds.lumpable(*problem.letters, seed=seed)
    halvings = (
        method.halvings if len(times) > 1 else method.halvings[len(method.halvings) // 3 :: 2]
    )
    curves = [curve(method.algorithm(problem), shrunk(base, k), seed, times) for k in halvings]
    worst: FloatVector = np.max(curves, axis=0)
    return worst


def shrunk(world: lb.World, halvings: float) -> lb.World:
    """Return the same world with all means 2^-k times as large."""
    return replace(world, mean=world.mean * 2.0**-halvings)


def in_time(method: Method, curves: Sequence[FloatVector]) -> tuple[float, float]:
    """Return the exponent of T in the worst regret, logarithms divided out."""
    late = [(k, T) for k, T in enumerate(TIMES) if method.first <= T]
    logs = [method.logs(SIZE, T) for _, T in late]
    return exponent(
        slope(
            [T for _, T in late], [found[k] / log for (k, _), log in zip(late, logs, strict=True)]
        )
        for found in curves
    )


def in_size(
    method: Method, problems: Sequence[Problem], size: Sequence[float], seeds: int
) -> tuple[float, float]:
    """Return the exponent of a size in the worst regret at the end, logarithms divided out."""
    T = TIMES[-1]

    def scaled(problem: Problem, seed: int) -> float:
        return float(worst_regret(method, problem, seed, [T])[0]) / method.logs(problem, T)

    return exponent(
        slope(size, [scaled(problem, seed) for problem in problems]) for seed in range(seeds)
    )


@claim(
    22,
    "Regret grows like √T",
    printed="The regret of Algorithms 4 and 6 is Õ(√(r³(S + K)T)), that of standard ones Õ(√(SKT))",
    broken="elimination per context: nobody is lumped together",
    seconds=(9.0, 59.0),
)
def growing(effort: Effort) -> Finding:
    """Measure the worst regret over all gaps, while T, S + K and r grow one at a time."""
    seeds = {
        FOUR.name: effort.pick(3, 12),
        SIX.name: effort.pick(1, 8),
        EACH.name: effort.pick(3, 12),
    }
    sides, counts = (
        effort.pick((10, 20, 40), (10, 20, 40, 80, 160)),
        effort.pick((2, 4, 8), (2, 3, 4, 6, 8, 12)),
    )
    worst = {
        method.name: [worst_regret(method, SIZE, seed, TIMES) for seed in range(seeds[method.name])]
        for method in (FOUR, SIX, EACH)
    }
    time = {method.name: in_time(method, worst[method.name]) for method in (FOUR, SIX)}
    squares = [Problem(n, n, 3) for n in sides]
    more = effort.pick(1, 4)
    size = {m.name: in_size(m, squares, [2.0 * n for n in sides], more) for m in (FOUR, EACH)}
    groups = in_size(FOUR, [Problem(48, 24, r) for r in counts], counts, more)
    fixed = curve(regret.equal_groups(SIZE), worlds.lumpable(*SIZE.letters, seed=0), 0, TIMES)
    early, late = slope(TIMES[:3], list(fixed[:3]))[0], slope(TIMES[-3:], list(fixed[-3:]))[0]

    def check(what: str, found: tuple[float, float], bar: float) -> Check:
        value, error = found
        return Check(f"{what}, ± {error:.3f}; two errors allowed", value, "<=", bar + 2 * error)

    behind = float(
        np.mean([c[-1] for c in worst[FOUR.name]]) / np.mean([c[-1] for c in worst[EACH.name]])
    )
    return Finding(
        setting=(
            f"(S, K, r) = {SIZE.letters}, T from {wording.number(FOUR.first, 1)} to "
            f"{wording.number(TIMES[-1], 1)}, means uniform on [0, 2^-k], worst k at each T; S = K "
            f"in {sides}; r in {counts} at (48, 24)"
        ),
        seeds=sum(seeds.values()) + more * (2 * len(sides) + len(counts)),
        printed=(
            check("exponent of T, Algorithm 4", time[FOUR.name], 0.5),
            check("exponent of T, Algorithm 6", time[SIX.name], 0.5),
            check("exponent of S + K, Algorithm 4", size[FOUR.name], 0.5),
            check("exponent of r, Algorithm 4", groups, 1.5),
        ),
        broken=(check("exponent of S + K", size[EACH.name], 0.5),),
        words=(
            f"Exponents, logarithms divided out: T {time[FOUR.name][0]:.3f} (Algorithm 4) and "
            f"{time[SIX.name][0]:.3f} (Algorithm 6), S + K {size[FOUR.name][0]:.2f} (elimination "
            f"per context: {size[EACH.name][0]:.2f}), r {groups[0]:.2f}. On one fixed world the "
            f"slope goes from {early:.2f} to {late:.2f}. The constants are large: at this size "
            f"elimination per context has {behind:,.0f} times less regret."
        ),
        figure=growth_figure(worst, fixed),
    )


def growth_figure(worst: dict[str, list[FloatVector]], fixed: FloatVector) -> Any:
    """Draw worst regret against T for each method, and that of a fixed world."""
    rows = [
        {
            "series": method.name,
            "T": T,
            "regret": float(np.mean([found[k] for found in worst[method.name]])),
        }
        for method in (FOUR, SIX, EACH)
        for k, T in enumerate(TIMES)
    ]
    name = "Algorithm 4, one fixed world"
    rows += [
        {"series": name, "T": T, "regret": float(lost)}
        for T, lost in zip(TIMES, fixed, strict=True)
    ]
    S, K, r = SIZE.letters
    return sketch.picture(
        rows,
        Axis("T", "rounds T", "log", [1e10, 1e12, 1e14, 1e16, 1e18]),
        Axis("regret", "regret", "log"),
        {
            SIX.name: Series(sketch.GREEN),
            FOUR.name: Series(sketch.BLUE),
            name: Series(sketch.SKY, "line"),
            EACH.name: Series(sketch.ORANGE),
        },
        title="At the worst gaps regret grows like √T",
        subtitle=[
            f"S = {S}, K = {K}, r = {r}; at each T the gaps that hurt most. One fixed world goes",
            "from slope 1 to flat: what is not seen yet costs T, what is seen costs nothing.",
        ],
        description=(
            "Regret against rounds on log axes: the worst regret of Algorithms 4 and 6 has slope "
            "one half once gaps can show, that of elimination per context too, far below; on one "
            "fixed world it goes from slope one to flat."
        ),
    )
