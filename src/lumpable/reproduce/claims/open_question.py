"""Claim 31: the paper's first open question, regret of order sqrt(r (S + K) T), by candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base import words
from lumpable.plans import regret, regret_bounds
from lumpable.plans.candidates_pooled import FIRST, Block, list_draws
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import Problem
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims.hardest import worst_regret
from lumpable.reproduce.claims.rates import check_exponent, exponent
from lumpable.reproduce.claims.sketch import Axis, Colour, Rows, panel

TIMES = tuple(4.0**k for k in range(16, 32))
"""Rounds at which regret is read: from 4e9 to 5e18."""
LARGEST = 0.01
"""The most that C of the theorem may be."""
GRADUAL = 0.1
"""Allowed in S + K: lists fall below all arms gradually. Without screening 0.23 would be left."""
ELL, SHORTER, SD = 1.0, 16, 0.1
"""Small constants: ell = 1 where noise has a tenth of the deviation that is allowed, lists a
sixteenth as long. With its own constants lists hold all arms until K is above 100."""
HIDDEN, UNIFORM = "hidden arms", "uniform means"
SHORT, EVERYTHING = "short lists", "broken: lists of all arms"
Make = Callable[[Problem], lb.Plan]


@dataclass(frozen=True, slots=True)
class Growing:
    """How sizes are compared with small constants, at the worst gaps."""

    sides: tuple[int, ...]
    """S = K."""
    run: int
    """Regret is read after (S + K) 2^run rounds."""
    start: float
    step: float
    """Gaps are 2^-k, for k = start, start + step, .."""


QUICK, WHOLE = Growing((48, 320), 23, 3.0, 1.0), Growing((64, 128, 256), 26, 5.0, 0.5)
QUICK_SEEDS, SEEDS = range(30, 31), range(2)


# --- Plans ------------------------------------------------------------------------------------


class ShortLists(Block):
    """Candidates with shorter lists: then sizes that can be run are large ones."""

    def m(self, n: int, h: int) -> int:
        """Return the draws of each context for the list of level n in sub-phase h."""
        return math.ceil(list_draws(self.problem, self.R, self.ell, h - n) / SHORTER)


class AllArms(Block):
    """Candidates whose lists hold every open arm: nobody is screened."""

    def full(self, n: int, h: int) -> bool:
        """Every list is to hold everything."""
        return True


@lb.algorithm
def small_constants(problem: Problem, *, screening: bool = True) -> Conversation:
    """Candidates in blocks of runs, with small constants; without screening: elimination."""
    kind = ShortLists if screening else AllArms
    q, blocks = FIRST, 0
    while True:
        block = kind(problem, ELL, blocks)
        for run in range(q, 2 * q):
            yield from block.run(run)
        q, blocks = 2 * q, blocks + 1


# --- Worlds -----------------------------------------------------------------------------------


def hidden(problem: Problem, seed: int, sd: float = 1.0) -> lb.World:
    """Hide one arm for each group; means span 1, but for a thousandth."""
    S, K, r = problem.letters
    T = 4 * 10**6 * r * (S + K)
    return worlds.hidden_arms(S, K, r, rounds=T, units=999.0, sd=sd, seed=seed)


def uniform(problem: Problem, seed: int) -> lb.World:
    """Means uniform on [0, 1]."""
    return worlds.lumpable(*problem.letters, seed=seed)


# --- Measured -----------------------------------------------------------------------------------


def order(problem: Problem, T: float) -> float:
    """sqrt(min(r (S + K), SK) T) ln^3(SKT), the order of Theorem 1 for candidates with memory."""
    return regret_bounds.minimax_rate(problem, T) * logs(problem, T)


def logs(problem: Problem, T: float) -> float:
    """ln^3(SKT)."""
    S, K, _ = problem.letters
    return math.log(S * K * T) ** 3


def shares(
    make: Make,
    problem: Problem,
    world: lb.World,
    seed: int,
    times: Sequence[float],
    **search: float,
) -> list[float]:
    """Return the worst regret over all gaps at each time, divided by its order."""
    worst = worst_regret(lambda: make(problem), world, seed, times, **search)
    return [lost / order(problem, T) for lost, T in zip(worst, times, strict=True)]


def at_run(growing: Growing, screening: bool, problem: Problem, seed: int) -> float:
    """Return the share after the run, hidden arms, small constants."""
    S, K, _ = problem.letters
    T, search = float((S + K) << growing.run), {"start": growing.start, "step": growing.step}

    def make(problem: Problem) -> lb.Plan:
        return small_constants(problem, screening=screening)

    return shares(make, problem, hidden(problem, seed, SD), seed, [T], **search)[0]


def measure_open(effort: Effort) -> Measured:
    """Measure the worst regret over all gaps, while T, r and S + K grow one at a time."""
    seeds, growing = effort.pick(QUICK_SEEDS, SEEDS), effort.pick(QUICK, WHOLE)
    size = Problem(*effort.pick((20, 20, 3), (60, 60, 3)))
    times = TIMES[:: effort.pick(3, 1)]
    counts, wide = effort.pick(((2, 8), 24), ((2, 4, 8, 16), 48))
    exponents: dict[str, dict[str, tuple[float, float]]] = {"T": {}, "r": {}, "S + K": {}}
    bare: dict[str, dict[str, tuple[float, float]]] = {"T": {}, "S + K": {}}
    rows: Rows = []
    largest: list[float] = []

    def keep(what: str, name: str, at: Sequence[float], found: list[list[float]]) -> None:
        exponents[what][name] = exponent(slope(at, each) for each in found)
        mean = np.mean(found, axis=0)
        rows.extend(
            {"series": name, "what": what, "at": x, "left": float(y / mean[0])}
            for x, y in zip(at, mean, strict=True)
        )

    def keep_bare(
        what: str, name: str, at: Sequence[float], found: list[list[float]], by: list[float]
    ) -> None:
        """Without the division by ln^3: what it alone makes of the exponent can be seen."""
        bare[what][name] = exponent(slope(at, np.multiply(each, by).tolist()) for each in found)

    coarse = effort.pick(3.0, 1.0)
    for name, world in ((HIDDEN, hidden), (UNIFORM, uniform)):
        found = [
            shares(regret.candidates, size, world(size, seed), seed, times, step=coarse)
            for seed in seeds
        ]
        keep("T", name, times, found)
        keep_bare("T", name, times, found, [logs(size, T) for T in times])
        largest.append(max(max(each) for each in found))
        groups = [Problem(wide, wide, r) for r in counts]
        found = [
            [
                shares(regret.candidates, each, world(each, seed), seed, [1e15], step=coarse)[0]
                for each in groups
            ]
            for seed in seeds
        ]
        keep("r", name, counts, found)
        largest.append(max(max(each) for each in found))
    if not effort.quick:
        coarser = replace(growing, start=3.0, step=1.0)
        found = [[at_run(coarser, True, each, seed) for each in groups] for seed in seeds]
        keep("r", SHORT, counts, found)
    squares = [Problem(n, n, 2) for n in growing.sides]
    for name, screening in ((SHORT, True), (EVERYTHING, False)):
        found = [[at_run(growing, screening, each, seed) for each in squares] for seed in seeds]
        sums = [2.0 * n for n in growing.sides]
        keep("S + K", name, sums, found)
        at_end = [logs(each, n * 2.0**growing.run) for each, n in zip(squares, sums, strict=True)]
        keep_bare("S + K", name, sums, found, at_end)
    return Measured(
        seeds=len(seeds) * (2 + 3 * len(counts) + 2 * len(growing.sides)),
        setting={
            "size": size.letters,
            "first": times[0],
            "last": times[-1],
            "counts": counts,
            "wide": wide,
            "sides": growing.sides,
            "run": growing.run,
        },
        rows=rows,
        facts={"exponents": exponents, "bare": bare, "largest": max(largest)},
    )


def judge_open(measured: Measured) -> Verdict:
    """Nothing may be left but a constant, and that must be small."""
    exponents = measured.facts["exponents"]

    def left(what: str, name: str) -> Check:
        words = f"exponent of {what} left over √(r(S + K)T) ln³(SKT), {name}"
        return check_exponent(words, exponents[what][name], GRADUAL if what == "S + K" else 0.0)

    return Verdict(
        printed=(
            *(left(what, name) for what in ("T", "r") for name in exponents[what]),
            left("S + K", SHORT),
            Check(
                "worst regret over √(r(S + K)T) ln³(SKT), as shipped, largest",
                measured.facts["largest"],
                "<=",
                LARGEST,
            ),
        ),
        broken=(left("S + K", EVERYTHING),),
    )


def word_open(measured: Measured, verdict: Verdict) -> Words:
    """Tell the exponents, and where they were measured with small constants."""
    at, facts = measured.setting, measured.facts
    exponents = facts["exponents"]

    def told(what: str, exponents: Any = exponents) -> str:
        found = exponents[what].items()
        return ", ".join(f"{value:+.2f} ± {error:.2f} ({name})" for name, (value, error) in found)

    few = ", and the numbers of groups above" if SHORT in exponents["r"] else ""
    first, last = (words.number(at[name], 1) for name in ("first", "last"))
    return Words(
        setting=(
            "`regret.candidates`, told neither r nor T; one hidden arm a group, or uniform means; "
            f"all gaps times 2^-k, worst k. T from {first} to {last} at (S, K, r) = "
            f"{tuple(at['size'])} (beyond 2^55 a draw is exact up to 2^-18 in total variation); r "
            f"in {tuple(at['counts'])} at S = K = {at['wide']}, T = 1e15. Short lists: S = K in "
            f"{tuple(at['sides'])} with r = 2{few}; ℓ = {ELL:g} with noise of sd {SD:g}, for which "
            f"its intervals hold all the same, lists 1/{SHORTER} as long, T = (S + K) 2^{at['run']}"
        ),
        takeaway=(
            "Divided by √(min(r(S + K), SK)T) ln³(SKT), the worst regret has exponents "
            f"{told('T')} in T, {told('r')} in r and {told('S + K')} in S + K; the constant is at "
            f"most {facts['largest']:.4f}. Without the division by ln³, which is the same for all "
            f"r, they would be {told('T', facts['bare'])} in T and {told('S + K', facts['bare'])} "
            "in S + K. With its own constants lists hold all arms until K is "
            "above 100, and at sizes that can be run candidates are close to elimination per "
            "context; S + K shows only with small ones: there, screening makes the difference."
        ),
    )


def draw_open(measured: Measured) -> Any:
    """Draw what is left against T, r and S + K, on one scale."""
    alt = canvas.altair()
    colours: dict[str, Colour] = {
        HIDDEN: "blue",
        UNIFORM: "sky",
        SHORT: "green",
        EVERYTHING: "orange",
    }
    axes: tuple[tuple[str, str, tuple[float, ...]], ...] = (
        ("T", "rounds T", (1e10, 1e14, 1e18)),
        ("r", "groups r", ()),
        ("S + K", "S + K", ()),
    )
    panels = []
    for what, title, ticks in axes:
        here = [row for row in measured.rows if row["what"] == what]
        names = {row["series"] for row in here}
        panels.append(
            panel(
                here,
                Axis("at", title, "log", ticks or "points"),
                Axis("left", "regret over its order, first = 1", "log", (0.25, 0.5, 1, 2)),
                {name: colour for name, colour in colours.items() if name in names},
                width=185,
            )
        )
    return canvas.with_title(
        alt.hconcat(*panels).resolve_scale(color="independent", y="shared"),
        "Without r and T, regret is of order √(r(S + K)T)",
        [
            "Worst regret over all gaps, divided by √(r(S + K)T) ln³(SKT), relative to the first",
            "point. As shipped in T and r; with short lists in S + K. Broken: nobody is screened.",
        ],
        "Three panels, against rounds, groups and S + K. What is left after division by the order "
        "of the theorem stays level or falls; with lists of all arms it rises with S + K.",
    )


OPEN_QUESTION = Claim(
    31,
    "The open question: √(r(S + K)T), r unknown",
    printed=(
        "Theorem 1 of Beyond the paper: for all T, without knowing r or T, candidates with memory "
        "have E Reg_T ≤ C ln³(SKT) √(min(r(S + K), SK) T)"
    ),
    broken="lists hold all arms: nobody is screened, each context eliminates on its own",
    seconds=(6.0, 77.0),
    measure=measure_open,
    judge=judge_open,
    word=word_open,
    draw=draw_open,
)
