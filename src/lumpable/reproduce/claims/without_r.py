"""Claim 33: a near-optimal policy without being told r.

Its constants are large, so it is measured in three ways: the promise, in whole runs at small sizes,
where lists hold every arm; screening, in runs with noise so quiet that shorter lists are proved;
and orders, from the lengths of its requests, added up exactly at sizes no run can have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.plans import bounds, pac
from lumpable.plans.candidates_literal import Attempt, certified_rounds, depth
from lumpable.plans.plan import Conversation, Result
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate, slope
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.rates import check_exponent
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Series, Sketch, curves
from lumpable.reproduce.claims.witness import DELTA, size_of

SIZE, EPSILON = (36, 12), 0.1
QUIET = 0.25
"""Noise of sd 1/4: Lg = ln x pays for all errors, and still for coverage and finished plays."""
SCREENED, GROUPS = 160, (2, 3, 4)
"""Contexts and arms, and groups, where candidates are screened."""
HUGE, FEW = 10**9, 8
"""Contexts and arms, and groups, where orders are read off."""
CANDIDATES, TOLD, RUNS = "candidates, at most", "Algorithm 1, told r, same promise", "runs"
SUM, PRODUCT, ONE_BY_ONE = "like S + K", "like S K", "S + K, contexts one by one"

# --- The promise ----------------------------------------------------------------------------------


class OneGroup(Attempt):
    """What one context has learned about an arm counts for everybody."""

    def learn(self, pairs: IntVector, lower: FloatVector) -> None:
        """Take the largest lower bound of any context."""
        S, K, _ = self.problem.letters
        most: FloatVector = np.full(K, -np.inf)
        np.maximum.at(most, pairs % K, lower)
        super().learn(np.arange(S * K), np.tile(most, S))


@lb.algorithm
def as_one_group(problem: Problem, *, epsilon: float, delta: float) -> Conversation:
    """Candidates as if there were one group, at the depth of epsilon and with all lengths."""
    h, Lg = depth(problem, epsilon, delta)
    attempt, R = OneGroup(problem, 1, Lg), 1
    while not (yield from attempt.subphase(h)):
        R *= 2
        attempt = OneGroup(problem, R, Lg)
    return Result(attempt.arm, tuple(sorted(attempt.W)), tuple(attempt.found))


def hard_worlds(epsilon: float) -> list[lb.World]:
    """Four groups whose hidden arms are barely or clearly better, and two with a decoy.

    The first two have the most uneven frequencies that are allowed.
    """
    S, K = SIZE
    uneven = witness.most_uneven(S)
    return [
        witness.planted(S, K, 4, 1.01 * epsilon, uneven),
        witness.planted(S, K, 4, 3 * epsilon, uneven),
        witness.decoy(S, K, epsilon, 2),
    ]


def run_all(epsilon: float, runs: int) -> dict[str, list[lb.Run]]:
    """Run candidates, their broken variant and Algorithm 1 in the same worlds."""
    found: dict[str, list[lb.Run]] = {"sound": [], "broken": [], "told r": [], "told r/4": []}
    for seed in range(runs):
        for world in hard_worlds(epsilon):
            S, K, r = (size := size_of(world)).letters
            fewer = Problem(S, K, max(1, r // 4))
            plans = {
                "sound": pac.candidates(size, epsilon=epsilon, delta=DELTA),
                "broken": as_one_group(size, epsilon=epsilon, delta=DELTA),
                "told r": pac.near_uniform(size, epsilon=epsilon, delta=DELTA),
                "told r/4": pac.near_uniform(fewer, epsilon=epsilon, delta=DELTA),
            }
            for name, plan in plans.items():
                found[name].append(lb.simulate(plan, world, seed=seed))
    return found


def over(runs: Sequence[lb.Run], epsilon: float) -> dict[str, float]:
    """Count losses above epsilon and runs longer than the bound; the largest loss over epsilon."""
    losses = [run.world.loss(run.policy) for run in runs]
    longest = [certified_rounds(size_of(run.world), epsilon, DELTA) for run in runs]
    return {
        "loss": sum(loss > epsilon for loss in losses),
        "rounds": sum(run.rounds > most for run, most in zip(runs, longest, strict=True)),
        "largest": max(losses) / epsilon,
        "share": max(run.rounds / most for run, most in zip(runs, longest, strict=True)),
    }


# --- Screening ------------------------------------------------------------------------------------


@lb.algorithm
def told_quiet(problem: Problem, *, epsilon: float, delta: float) -> Conversation:
    """Candidates for noise of sd `QUIET`: Lg is smaller by its square, all else is as it was."""
    h, Lg = depth(problem, epsilon, delta)
    R, ok = 1, False
    while not ok:
        attempt = Attempt(problem, R, Lg * QUIET**2)
        ok = yield from attempt.subphase(h)
        R *= 2
    notes = (f"{attempt.R}",)
    return Result(attempt.arm, tuple(sorted(attempt.W)), tuple(attempt.found), notes=notes)


@dataclass(frozen=True, slots=True)
class Screened:
    """What one run with screening came to."""

    groups: int
    guess: int
    most: int
    """Screenings of a level."""


def screened(groups: int, seed: int) -> Screened:
    """Run it on one large group and single rare contexts, or on equal groups."""
    uneven = witness.one_large_block(SCREENED, SCREENED, groups, 0.6)
    even = witness.planted(SCREENED, SCREENED, groups, 0.6)
    world = replace(uneven if seed % 2 else even, sd=QUIET)
    run = lb.simulate(told_quiet(size_of(world), epsilon=EPSILON, delta=DELTA), world, seed=seed)
    if run.result is None:
        raise AssertionError("it ends with a result")
    return Screened(groups, int(run.result.notes[0]), max(run.result.screenings, default=0))


# --- Orders ---------------------------------------------------------------------------------------


def without_logs(problem: Problem, epsilon: float) -> float:
    """Return the most rounds over (h + 1)^2 Lg^3, the logarithms of the proof."""
    h, Lg = depth(problem, epsilon, DELTA)
    return certified_rounds(problem, epsilon, DELTA) / ((h + 1) ** 2 * Lg**3)


def orders() -> dict[str, tuple[float, float]]:
    """Return the exponent of each size in the most rounds, and its error."""
    groups = [4**k for k in range(7)]
    sides = [HUGE * 10**k for k in range(5)]
    fine = [2.0**-k for k in range(2, 12)]
    one_by_one = [without_logs(Problem(n, n, n), EPSILON) for n in sides]
    return {
        "r": slope(groups, [without_logs(Problem(HUGE, HUGE, r), EPSILON) for r in groups]),
        "S + K": slope(sides, [without_logs(Problem(n, n, FEW), EPSILON) for n in sides]),
        "1/ε²": slope(
            [epsilon**-2 for epsilon in fine],
            [without_logs(Problem(HUGE, HUGE, FEW), epsilon) for epsilon in fine],
        ),
        ONE_BY_ONE: slope(sides, one_by_one),
    }


def same_promise(problem: Problem, epsilon: float) -> float:
    """Return the epsilon at which what is proved of Algorithm 1 promises the given one."""
    low, high = epsilon * 1e-6, epsilon
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        if bounds.near_uniform_promise(problem, middle, DELTA) > epsilon:
            high = middle
        else:
            low = middle
    return low


# --- 33 -------------------------------------------------------------------------------------------


def measure_without_r(effort: Effort) -> Measured:
    """Measure the promise, screening and orders."""
    runs = run_all(EPSILON, effort.pick(10, 120))
    sides = [10**k for k in range(1, 13)]
    sizes = [Problem(n, n, min(n, FEW)) for n in sides]
    most = [certified_rounds(size, EPSILON, DELTA) for size in sizes]
    told = [bounds.near_uniform_rounds(size, same_promise(size, EPSILON), DELTA) for size in sizes]
    series = {
        CANDIDATES: most,
        TOLD: told,
        PRODUCT: [most[0] * (n / sides[0]) ** 2 for n in sides[:6]] + [math.nan] * 6,
        SUM: [math.nan] * 6 + [most[-1] * n / sides[-1] for n in sides[6:]],
    }
    x = [2 * n for n in sides]
    rows = [row for row in curves("size", x, "rounds", series) if row["rounds"] == row["rounds"]]
    rows += [
        {"series": RUNS, "size": sum(SIZE), "rounds": float(run.rounds)}
        for run in runs["sound"][:3]
    ]
    S, K = SIZE
    return Measured(
        seeds=len(runs["sound"]),
        setting={"S": S, "K": K, "epsilon": EPSILON, "delta": DELTA, "screened": SCREENED},
        rows=rows,
        facts={
            **{name: over(found, EPSILON) for name, found in runs.items()},
            "screenings": [screened(r, seed) for seed in range(effort.pick(1, 12)) for r in GROUPS],
            "orders": orders(),
            "price": most[1] / told[1],
        },
    )


def judge_without_r(measured: Measured) -> Verdict:
    """Count losses, rounds and screenings above what is promised; hold exponents against 1."""
    facts, delta = measured.facts, measured.setting["delta"]

    def promise(name: str) -> tuple[Check, ...]:
        return (
            rate("loss above ε", facts[name]["loss"], measured.seeds, delta),
            rate("more rounds than the bound", facts[name]["rounds"], measured.seeds, delta),
        )

    seen = facts["screenings"]
    many = sum(x["most"] > x["groups"] or x["guess"] >= 2 * x["groups"] for x in seen)
    what = f"of {len(seen)} runs, a level with more than r screenings or a guess of 2r or more"
    return Verdict(
        printed=(
            *promise("sound"),
            Check(what, many, "<=", 0),
            *(
                check_exponent(f"exponent of {size} in the most rounds", tuple(found), 1.0)
                for size, found in facts["orders"].items()
                if size != ONE_BY_ONE
            ),
        ),
        broken=promise("broken"),
    )


def word_without_r(measured: Measured, verdict: Verdict) -> Words:
    """Tell what the promise costs, and what Algorithm 1 does in the same worlds."""
    at, facts = measured.setting, measured.facts
    grown, runs = facts["orders"], measured.seeds
    told, fewer, broken = (facts[name] for name in ("told r", "told r/4", "broken"))
    return Words(
        setting=(
            f"Promise: S = {at['S']}, K = {at['K']}, ε = {at['epsilon']:g}, δ = {at['delta']:g}; "
            "four groups with one arm 1.01 ε or 3 ε better and the most uneven frequencies, two "
            f"groups with a decoy. Screening: S = K = {at['screened']}, r = 2, 3, 4, noise of sd "
            f"{QUIET:g} and told so, equal groups or one large and single rare contexts. Orders: "
            f"S = K from {HUGE:.0e}, request lengths added up"
        ),
        takeaway=(
            f"The largest loss of {runs} runs was {facts['sound']['largest']:.2g} ε. Algorithm 1 "
            f"at the same ε, told r, lost more than ε in {told['loss']:g} of them (told r/4, in "
            f"{fewer['loss']:g}): its theorem promises many ε. Taking all contexts for one group "
            f"loses more than ε in {broken['loss']:g} of {runs}. With "
            f"more than r candidates at a level, or a guess of 2r: {verdict.printed[2].measured:g} "
            f"of {len(facts['screenings'])} runs. The most rounds grow like "
            f"r^{grown['r'][0]:.2f}, (S + K)^{grown['S + K'][0]:.2f} and "
            f"(1/ε²)^{grown['1/ε²'][0]:.2f} once (h + 1)² Lg³ is divided out; with one context a "
            f"screening it would be (S + K)^{grown[ONE_BY_ONE][0]:.2f}. It is a result about "
            "orders: at S = K = 100 what it may take is "
            f"{facts['price']:.0e} times what Algorithm 1, told r, may take for the same promise, "
            "and below about a million contexts and arms its lists may hold every arm."
        ),
    )


WITHOUT_R = Claim(
    33,
    "Candidates: PAC without r",
    printed=(
        "Corollary 3 of Beyond the paper: for ν(i) in [1/(8S), 8/S], without being told r, an "
        "ε-optimal policy with probability ≥ 1 − δ after at most C r(S + K) Lg⁵/ε² samples, "
        "Lg of order log(SK/(εδ))"
    ),
    broken="what one context has learned counts for everybody, as if there were one group",
    seconds=(3.0, 24.0),
    measure=measure_without_r,
    judge=judge_without_r,
    word=word_without_r,
    draw=Sketch(
        Axis("size", "S + K, with S = K", "log"),
        Axis("rounds", "rounds", "log"),
        {
            CANDIDATES: "blue",
            RUNS: Series("orange", "ring"),
            TOLD: "green",
            PRODUCT: Series("pink", "dash"),
            SUM: GUIDE,
        },
        title="PAC without r: order right, constants large",
        subtitle=(
            "r = 8, ε = {epsilon}: all request lengths added up. Rings: runs (S = {S}, K = {K})."
        ),
        description=(
            "Rounds against S + K: candidates grow like S K up to about a million contexts and "
            "arms and like S + K beyond, many orders of magnitude above Algorithm 1, told r."
        ),
    ),
)
