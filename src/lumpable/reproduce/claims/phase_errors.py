"""Claim 21: the good event of a phase."""

from __future__ import annotations

from lumpable import worlds
from lumpable.plans import lengths, regret
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import phases
from lumpable.reproduce.claims.sketch import Axis, Rows, Sketch

SHARES = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256)
"""Parts of the printed constants 64 and 128."""
LAST = 10
"""About the phase at which runs are cut: errors in units of eps~ hardly depend on the phase."""
SIZE = Problem(100, 100, 2)
FOUR, SIX = "Algorithm 4", "Algorithm 6"


def errors_of(share: float, runs: int, levelled: bool) -> list[float]:
    """Return the largest error of every phase of runs, in eps~/4, with smaller constants."""
    constants = phases.scale_constants(share)
    algorithm = regret.any_groups if levelled else regret.equal_groups
    phase = lengths.any_groups_phase if levelled else lengths.equal_groups_phase
    horizon = 2 * phase(SIZE, LAST, constants).explore(LAST)
    worst: dict[tuple[int, int], float] = {}
    for seed in range(runs):
        world = worlds.lumpable(*SIZE.letters, seed=seed)
        seen = phases.looks(algorithm(SIZE, constants=constants), world, seed, horizon)
        for look in phases.explorations(seen):
            key = seed, look.h
            worst[key] = max(worst.get(key, 0.0), look.largest_error())
    return list(worst.values())


def measure_good_event(effort: Effort) -> Measured:
    """Compare every mean of every phase with the truth."""
    runs = effort.pick(4, 40)
    rows: Rows = []
    facts: dict[str, dict[str, dict[str, float]]] = {FOUR: {}, SIX: {}}
    for name in facts:
        for share in SHARES:
            errors = errors_of(share, runs, name == SIX)
            facts[name][f"{1 / share:g}"] = {
                "worst": max(errors),
                "failed": sum(error > 1 for error in errors),
                "phases": len(errors),
            }
            rows.append({"series": name, "divided": 1 / share, "error": max(errors)})
    S, K, r = SIZE.letters
    return Measured(
        seeds=2 * runs, setting={"S": S, "K": K, "r": r, "runs": runs}, rows=rows, facts=facts
    )


def judge_good_event(measured: Measured) -> Verdict:
    """A phase fails when one of its means errs by more than eps~/4."""

    def checks(divided: str) -> tuple[Check, ...]:
        promised = phases.delta(SIZE, 1)
        return tuple(
            rate(
                f"{name}: an error above ε̃/4 in a phase",
                found[divided]["failed"],
                found[divided]["phases"],
                promised,
            )
            for name, found in measured.facts.items()
        )

    return Verdict(printed=checks("1"), broken=checks("64"))


def word_good_event(measured: Measured, verdict: Verdict) -> Words:
    """Tell how much room there is."""
    at, facts = measured.setting, measured.facts
    broken = [found["64"] for found in facts.values()]
    failed, every = (sum(each[key] for each in broken) for key in ("failed", "phases"))
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, uniform means, Gaussian noise, phases "
            f"to about {LAST}"
        ),
        takeaway=(
            f"With the printed constants the largest error was {facts[FOUR]['1']['worst']:.2f} "
            f"(Algorithm 4) and {facts[SIX]['1']['worst']:.2f} (Algorithm 6) of what the event "
            f"allows; with a 64th of them {failed} of {every} phases break it. The proof counts "
            "one play of 2ⁿ rewards a mean, and most means have many."
        ),
    )


GOOD_EVENT = Claim(
    21,
    "The good event of a phase",
    printed="All means of phase h err by at most ε̃_{h,n}/4, with probability ≥ 1 − δ_h",
    broken="a 64th of the constants 64 and 128: thresholds an eighth as wide",
    seconds=(2.0, 22.0),
    measure=measure_good_event,
    judge=judge_good_event,
    word=word_good_event,
    draw=Sketch(
        Axis("divided", "printed constants divided by", "log", "points"),
        Axis("error", "largest error of a mean, in ¼√lg ε", "log"),
        {FOUR: "blue", SIX: "green"},
        bars={"the good event": 1.0},
        title="The good event holds with room to spare",
        subtitle="Largest of all pairs, phases and {runs} runs. Broken variant: at 1/64.",
        description=(
            "Largest error of a mean in units of what the good event allows, against what the "
            "printed constants are divided by: far below 1 as printed, above 1 at 64."
        ),
    ),
)
