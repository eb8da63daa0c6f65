"""Claim 22: how the regret of Algorithms 4 and 6 grows (24: `level_lengths`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.base import words
from lumpable.plans import lengths, regret, standard
from lumpable.plans.problem import PAPER, Problem
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import hardest, rates
from lumpable.reproduce.claims.rates import check_exponent, exponent
from lumpable.reproduce.claims.sketch import Axis, Colour, Rows, panel

TIMES = tuple(4.0**k for k in range(14, 32))
"""Rounds at which regret is read: from 3e8 to 5e18."""
BASE = Problem(16, 16, 4)
"""The world whose contexts and arms are copied, and whose regret is followed in time."""
LAST = 34
"""Sizes are compared at the end of this phase of Algorithm 6: they all have the same levels."""


@dataclass(frozen=True, slots=True)
class Method:
    """An algorithm, whose charge it is held against, and the worlds it is made for."""

    name: str
    algorithm: Callable[[Problem], lb.Plan]
    law: rates.Law
    """Lengths of the phases that the proof charges."""
    uneven: bool
    """Whether groups may have any sizes and contexts come rarely."""
    step: float
    """Gaps are 2^-k, for k = 0, step, 2 step, .."""

    def share(self, problem: Problem, T: float, world: lb.World, seed: int, step: float) -> float:
        """Return the worst regret at T over all gaps, as a share of the charge."""
        make = self.algorithm
        worst = hardest.worst_regret(lambda: make(problem), world, seed, (T,), step=step)
        return float(worst[0]) / rates.charge(problem, T, self.law)

    def world(self, problem: Problem, seed: int) -> lb.World:
        """Return a world that is hard for it."""
        return hardest.own_arms(problem, seed, uneven=self.uneven)


def too_fine(problem: Problem) -> lb.Plan:
    """Algorithm 4 whose calls of Algorithm 5 measure r times as fine as they need to."""
    constants = replace(PAPER, finer=PAPER.finer * problem.groups)
    return regret.equal_groups(problem, constants=constants)


FOUR = Method("Algorithm 4", regret.equal_groups, lengths.equal_groups_phase, False, 0.5)
SIX = Method("Algorithm 6", regret.any_groups, lengths.any_groups_phase, True, 1.5)
EACH = Method("per context", standard.online, lengths.any_groups_phase, True, 1.0)
FINE = Method("splits too fine", too_fine, lengths.equal_groups_phase, False, 0.5)
COLOURS: dict[str, Colour] = {
    FOUR.name: "blue",
    SIX.name: "green",
    EACH.name: "orange",
    FINE.name: "pink",
}


def says_something(problem: Problem, law: rates.Law) -> list[float]:
    """Return the times at which the charge is below T, the most that can be lost."""
    return [T for T in TIMES if rates.charge(problem, T, law) < T]


def in_time(method: Method, seed: int, step: float) -> list[float]:
    """Return the worst regret as a share of the charge, at all times when that says something."""
    times = says_something(BASE, method.law)
    world = method.world(BASE, seed)
    worst = hardest.worst_regret(lambda: method.algorithm(BASE), world, seed, times, step=step)
    charges = [rates.charge(BASE, T, method.law) for T in times]
    return [float(lost / most) for lost, most in zip(worst, charges, strict=True)]


def in_size(method: Method, copies: Sequence[int], seed: int, step: float) -> list[float]:
    """Return the share of the charge for one world and its copies."""
    S, K, r = BASE.letters
    world = method.world(BASE, seed)
    sizes = [Problem(n * S, n * K, r) for n in copies]
    return [
        method.share(size, rates.rounds_through(size, LAST), hardest.copied(world, n), seed, step)
        for n, size in zip(copies, sizes, strict=True)
    ]


def in_groups(
    method: Method, side: int, counts: Sequence[int], seed: int, step: float
) -> list[float]:
    """Return the share of the charge for worlds with more and more groups."""
    sizes = [Problem(side, side, r) for r in counts]
    return [
        method.share(size, rates.rounds_through(size, LAST), method.world(size, seed), seed, step)
        for size in sizes
    ]


def measure_growing(effort: Effort) -> Measured:
    """Measure the worst regret over all gaps, while T, S + K and r grow one at a time."""
    seeds = range(20, effort.pick(21, 23))
    copies = effort.pick((1, 2, 4), (1, 2, 3, 4, 6))
    side, counts = effort.pick((24, (2, 4, 8)), (48, (2, 3, 4, 6, 8, 12)))
    sums = [2.0 * BASE.contexts * n for n in copies]
    exponents: dict[str, dict[str, tuple[float, float]]] = {"T": {}, "S + K": {}, "r": {}}
    rows: Rows = []
    most: dict[str, float] = {}

    def step(method: Method) -> float:
        return method.step * effort.pick(2, 1)

    def keep(what: str, method: Method, at: Sequence[float], shares: list[list[float]]) -> None:
        exponents[what][method.name] = exponent(slope(at, each) for each in shares)
        mean = np.mean(shares, axis=0)
        most[method.name] = max(most.get(method.name, 0.0), float(np.max(shares)))
        rows.extend(
            {"series": method.name, "what": what, "at": x, "left": float(y / mean[0])}
            for x, y in zip(at, mean, strict=True)
        )

    for method in (FOUR, SIX):
        found = [in_time(method, seed, step(method)) for seed in seeds]
        keep("T", method, says_something(BASE, method.law), found)
    for method in (FOUR, SIX, EACH):
        found = [in_size(method, copies, seed, step(method)) for seed in seeds]
        keep("S + K", method, sums, found)
    for method in (FOUR, SIX, FINE):
        found = [in_groups(method, side, counts, seed, step(method)) for seed in seeds]
        keep("r", method, counts, found)
    sizes = [Problem(16 * n, 16 * n, 4) for n in copies] + [Problem(side, side, r) for r in counts]
    charged = [
        rates.charge(size, T := rates.rounds_through(size, LAST), SIX.law) / T for size in sizes
    ]
    return Measured(
        seeds=len(seeds) * (4 + 3 * len(copies) + 3 * len(counts)),
        setting={
            "base": BASE.letters,
            "sides": [BASE.contexts * n for n in copies],
            "side": side,
            "counts": counts,
            "first": {m.name: says_something(BASE, m.law)[0] for m in (FOUR, SIX)},
            "ends": [rates.rounds_through(size, LAST) for size in sizes],
        },
        rows=rows,
        facts={"exponents": exponents, "most": most, "charged": max(charged)},
    )


def judge_growing(measured: Measured) -> Verdict:
    """Nothing may be left but a constant: exponents at most 0, up to two errors."""
    exponents, most = measured.facts["exponents"], measured.facts["most"]

    def left(what: str, name: str) -> Check:
        words = f"exponent of {what} left over the charge, {name}"
        return check_exponent(words, exponents[what][name], 0.0)

    return Verdict(
        printed=(
            *(left(what, name) for what in exponents for name in (FOUR.name, SIX.name)),
            *(
                Check(f"worst regret over the charge, {name}, largest", most[name], "<=", 1.0)
                for name in (FOUR.name, SIX.name)
            ),
        ),
        broken=(left("S + K", EACH.name), left("r", FINE.name)),
    )


def word_growing(measured: Measured, verdict: Verdict) -> Words:
    """Tell the exponents, and how large the constants are."""
    at, facts = measured.setting, measured.facts
    exponents, most = facts["exponents"], facts["most"]
    ends = [words.number(end, 1) for end in (min(at["ends"]), max(at["ends"]))]

    def told(name: str) -> str:
        return ", ".join(f"{exponents[what][name][0]:+.3f} in {what}" for what in exponents)

    error = max(pair[1] for found in exponents.values() for pair in found.values())
    return Words(
        setting=(
            f"Every group has an arm of its own, the other arms lose by {hardest.GRADES} grades; "
            "all gaps times 2^-k, worst k. Algorithm 4: equal groups; Algorithm 6: groups of "
            "S/2, S/4, …, rare contexts with ν = 1/(8S). T: "
            f"(S, K, r) = {tuple(at['base'])} from {words.number(at['first'][FOUR.name], 1)} "
            f"(Algorithm 6: {words.number(at['first'][SIX.name], 1)}), where the charge falls "
            f"below T, to {words.number(TIMES[-1], 1)}. S + K: this world with every context and "
            f"arm copied, S = K in {tuple(at['sides'])}. r in {tuple(at['counts'])} at S = K = "
            f"{at['side']}. Sizes are compared at the end of phase {LAST} of Algorithm 6, "
            f"T = {ends[0]} to {ends[1]} (beyond 2^55 a draw is exact up to 2^-18 in total "
            "variation)"
        ),
        takeaway=(
            "Regret over what the proofs charge for it (6ε̃ a round, all phases, levels and calls, "
            f"logarithms and constants included) leaves exponents {told(FOUR.name)} (Algorithm 4) "
            f"and {told(SIX.name)} (Algorithm 6), errors up to {error:.3f}. The charge is at most "
            f"{facts['charged']:.0%} of T where sizes are compared, the worst regret at most "
            f"{most[FOUR.name]:.3f} and {most[SIX.name]:.3f} of it. Elimination per context "
            f"leaves {exponents['S + K'][EACH.name][0]:+.2f} in S + K: its regret is "
            f"{most[SIX.name] / most[EACH.name]:,.0f} times smaller here, and grows faster. Splits "
            f"r times too fine leave {exponents['r'][FINE.name][0]:+.2f} in r."
        ),
    )


def draw_growing(measured: Measured) -> Any:
    """Draw what is left over the charge against T, S + K and r, on one scale."""
    alt = canvas.altair()
    axes = (("T", "rounds T", (1e14, 1e16, 1e18)), ("S + K", "S + K", ()), ("r", "groups r", ()))
    panels = []
    for what, title, ticks in axes:
        here = [row for row in measured.rows if row["what"] == what]
        names = {row["series"] for row in here}
        panels.append(
            panel(
                here,
                Axis("at", title, "log", ticks or "points"),
                Axis("left", "regret over charge, first = 1", "log", (0.5, 1, 2, 4, 8)),
                {name: colour for name, colour in COLOURS.items() if name in names},
                width=185,
            )
        )
    return canvas.with_title(
        alt.hconcat(*panels).resolve_scale(color="independent", y="shared"),
        "What the proofs charge is what regret grows like",
        [
            "Worst regret over all gaps, divided by the charge of the proof, relative to the first",
            "point. Broken: elimination per context in S + K, splits r times too fine in r.",
        ],
        "Three panels, against rounds, S + K and the number of groups. The share of the charge "
        "that Algorithms 4 and 6 lose stays level or falls in all three; that of elimination per "
        "context rises with S + K, that of splits that are too fine rises with r.",
    )


GROWING = Claim(
    22,
    "Regret grows like √(r³(S + K)T)",
    printed="The regret of Algorithms 4 and 6 is Õ(√(r³(S + K)T)), that of standard ones Õ(√(SKT))",
    broken=(
        "elimination per context: no contexts are lumped together; Algorithm 5 at ε_h/(4r²) "
        "instead of ε_h/(4r)"
    ),
    seconds=(6.0, 80.0),
    measure=measure_growing,
    judge=judge_growing,
    word=word_growing,
    draw=draw_growing,
)
