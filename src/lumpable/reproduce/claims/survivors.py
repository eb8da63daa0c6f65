"""Claim 20: what survives elimination."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import lumpable as lb
from lumpable.base import words
from lumpable.plans import lengths, regret
from lumpable.plans.plan import Collect
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.plans.progress import Progress
from lumpable.plans.seen import Sample
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import phases
from lumpable.reproduce.claims.sketch import Axis, Sketch, curves

PHASE = 18
"""The phase whose eps~ sets the scale: means are a few eps~ apart and must span at most 1."""
PRINTED_NEAR, PROVED_NEAR, PRINTED_PLAYED = 3.0, 3.5, 6.0
PAIR = Problem(2, 2, 2)
ERRORS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
AS_PRINTED, WIDE = "thresholds as printed", "broken: thresholds twice as wide"


def unit(constants: Constants = PAPER) -> float:
    """eps~ of the phase that sets the scale."""
    return lengths.equal_groups_phase(PAIR, PHASE, constants).threshold(PHASE)


def mixed_pair(gap: float, between: float = 1.0) -> lb.World:
    """Two contexts, two arms: for the first one arm 1 is `gap` eps~ worse than arm 0.

    For the second one arm 1 is `between` eps~ better than for the first: their cluster flatters
    arm 1 as much as it can without showing a gap.
    """
    mean = unit() * np.array([[gap, 0.0], [gap - 0.5, between]])
    return lb.World(mean, np.full(2, 0.5), np.arange(2), name="mixed pair")


def survives(gap: float, error: float, constants: Constants = PAPER) -> bool:
    """Say whether arm 1 survives the phase when all means err by at most `error` eps~.

    Answers are scripted: without error before, with the worst errors in that phase.
    """
    mean = mixed_pair(gap, unit(constants) / unit() * (1 - 1e-9)).mean
    worst = unit() * error * np.array([-1.0, 1.0])
    progress = Progress(regret.equal_groups(PAIR, constants=constants))
    while isinstance(request := progress.request, Collect):
        belief = request.belief
        if belief is None or belief.kind == "splitting" or belief.number > PHASE:
            return belief is not None and belief.number > PHASE and bool(request.arms[0, 1])
        noise = worst if belief.number == PHASE else np.zeros(2)
        seen = np.where(request.arms, mean + noise, np.nan)
        progress.answer(Sample(request.arms.astype(np.int64), seen))
    return False


def worst_survivor(error: float, constants: Constants = PAPER) -> float:
    """Return the largest gap that survives with such errors, in eps~, by bisection."""
    low, high = 1.0, 10.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if survives(middle, error, constants) else (low, middle)
    return low


def drawn_survivors(gap: float, runs: int) -> int:
    """Count runs with drawn rewards in which an arm this bad survives the phase."""
    world = mixed_pair(gap)
    horizon = sum(lengths.equal_groups_phase(PAIR, h).explore(h) for h in range(1, PHASE + 2)) + 1
    count = 0
    for seed in range(runs):
        seen = phases.looks(regret.equal_groups(PAIR), world, seed, horizon)
        count += any(look.exploring and look.h > PHASE and look.good[0, 1] for look in seen)
    return count


def worst_in_runs(runs: int) -> tuple[float, float]:
    """Return the worst survivor and the worst arm played, in eps~ of their phases.

    Over whole runs of Algorithms 4 and 6, at levels n <= n_b(h).
    """
    algorithms = (regret.equal_groups, regret.any_groups)
    variants = [(each, sizes) for sizes in ("equal", "geometric") for each in algorithms]
    seen = [look for run in phases.whole_runs(variants, runs, 10**14) for look in run]
    return max(look.worst_survivor() for look in seen), max(look.worst_played() for look in seen)


def measure_surviving(effort: Effort) -> Measured:
    """Flatter a bad arm as much as the good event allows, and as luck does."""
    draws, runs = effort.pick(200, 3000), effort.pick(2, 20)
    wide = replace(PAPER, phase=4 * PAPER.phase)
    gaps = {
        AS_PRINTED: [worst_survivor(error) for error in ERRORS],
        WIDE: [worst_survivor(error, wide) for error in ERRORS],
    }
    survived, played = worst_in_runs(runs)
    lucky = drawn_survivors(PRINTED_NEAR, draws)
    return Measured(
        seeds=draws + 4 * runs,
        setting={"draws": draws, "runs": runs},
        rows=curves("error", ERRORS, "gap", gaps),
        facts={
            "worst": max(gaps[AS_PRINTED]),
            "wide": max(gaps[WIDE]),
            "lucky": lucky,
            "survived": survived,
            "played": played,
        },
    )


def judge_surviving(measured: Measured) -> Verdict:
    """Gaps are in thresholds of their phase, and of the next one where they are played."""
    facts, draws = measured.facts, measured.setting["draws"]
    following = unit() / lengths.equal_groups_phase(PAIR, PHASE + 1).threshold(PHASE + 1)

    def checks(largest: float, next_phase: float) -> tuple[Check, ...]:
        return (
            Check("largest gap that survives, in ε̃_h", largest, "<=", PROVED_NEAR),
            Check("largest gap played next, in ε̃_{h+1}", next_phase, "<=", PRINTED_PLAYED),
        )

    what = "an arm 3ε̃ below the best survived"
    return Verdict(
        printed=(rate(what, facts["lucky"], draws, 3 * phases.delta(PAIR, PHASE)),),
        repaired=checks(
            max(facts["worst"], facts["survived"]), max(facts["worst"] * following, facts["played"])
        ),
        broken=checks(facts["wide"], facts["wide"] * following),
    )


def word_surviving(measured: Measured, verdict: Verdict) -> Words:
    """Tell how bad an arm survives."""
    facts, draws = measured.facts, measured.setting["draws"]
    promised = words.number(3 * phases.delta(PAIR, PHASE), 1)
    return Words(
        setting=(
            f"two contexts in one cluster whose means differ by ε̃, phase {PHASE}, scripted answers "
            f"and {draws} drawn runs; whole runs of Algorithms 4 and 6 at (30, 20, 3), T = 1e14"
        ),
        takeaway=(
            f"An arm 3ε̃ below the best survived in {facts['lucky']} of {draws} drawn runs, where a "
            f"rate of {promised} is promised; within the good event {facts['worst']:.2f}ε̃ can "
            f"survive, never more than 3.5. In whole runs the worst survivor was "
            f"{facts['survived']:.2f}ε̃, the worst arm played {facts['played']:.2f} of the 6ε̃."
        ),
    )


SURVIVING = Claim(
    20,
    "What survives elimination",
    printed=(
        "All arms that are 3ε̃_h worse than the best of a block are eliminated in phase h with "
        "probability ≥ 1 − 3δ_h; only arms within 6ε̃ are played in the next"
    ),
    repaired="3.5 in place of 3: a mixed cluster adds an ε̃; the 6 stands",
    broken="thresholds twice as wide, ε̃ as printed",
    seconds=(5.0, 41.0),
    stands=False,
    measure=measure_surviving,
    judge=judge_surviving,
    word=word_surviving,
    draw=Sketch(
        Axis(
            "error",
            "largest error of a mean, in thresholds √lg ε (the good event: ¼)",
            ticks="points",
        ),
        Axis("gap", "largest gap that survives, in thresholds √lg ε", ticks=range(1, 9)),
        {AS_PRINTED: "blue", WIDE: "orange"},
        bars={"3, printed": PRINTED_NEAR, "3.5, repaired": PROVED_NEAR},
        title="A mixed cluster keeps arms that are 3.5 thresholds bad",
        subtitle=(
            "Scripted answers with the worst errors that are allowed. At error 0 a gap of 3 is "
            "on the edge: drawn at random, it survived in {lucky} of {draws} runs."
        ),
        description=(
            "Largest gap that survives elimination against the largest error of a mean: from 3 "
            "without error to 3.5 at the edge of the good event; 6 to 6.5 with thresholds twice as "
            "wide."
        ),
    ),
)
