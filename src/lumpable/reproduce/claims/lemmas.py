"""Claims 3 and 4: that Step 1 covers every block, and that screening finds few candidates.

Claims 1 and 2 are in `tails`, 5 and 6 in `near_optimal`, 7 and 8 in `good_event`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import lumpable as lb
from lumpable import worlds
from lumpable.plans.problem import PAPER
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Sketch
from lumpable.reproduce.claims.witness import DELTA, algorithm_1

# --- 3: coverage ----------------------------------------------------------------------------

COVERED: dict[str, Callable[[int], lb.World]] = {
    "equal groups": lambda seed: worlds.lumpable(12, 60, 3, seed=seed),
    "one giant group": lambda seed: worlds.lumpable(12, 60, 3, sizes="giant", seed=seed),
    "most uneven": lambda seed: worlds.lumpable(
        18, 60, 3, frequency=witness.most_uneven(18), seed=seed
    ),
}
JUST_ABOVE = 0.245
"""An epsilon with 1/epsilon^2 just above a power of two: then 2^n_b is nearly 2/epsilon^2."""
DIVISORS = (1, *(2**k for k in range(2, 9)))
"""What the printed rounds of Step 1 are divided by."""


def uncovered_runs(divisor: int, runs: int, make: Callable[[int], lb.World]) -> int:
    """Count runs in which a sizeable block lacks an arm, with fewer rounds in Step 1."""
    constants = replace(PAPER, explore=PAPER.explore / divisor)
    seen = (
        algorithm_1(make(seed), JUST_ABOVE, seed, constants, only_step_1=True)
        for seed in range(runs)
    )
    return sum(any(run.uncovered(block) for block in run.blocks()) for run in seen)


def measure_coverage(effort: Effort) -> Measured:
    """Run Step 1 in three kinds of worlds, with the printed rounds and with fewer."""
    runs = effort.pick(40, 300)
    missed = {
        (name, divisor): uncovered_runs(divisor, runs, make)
        for name, make in COVERED.items()
        for divisor in DIVISORS
    }
    return Measured(
        seeds=runs * len(COVERED),
        setting={"epsilon": JUST_ABOVE, "delta": DELTA, "runs": runs},
        rows=[
            {"series": name, "divisor": divisor, "missed": count / runs}
            for (name, divisor), count in missed.items()
        ],
        facts={str(d): max(missed[name, d] for name in COVERED) for d in DIVISORS},
    )


def judge_coverage(measured: Measured) -> Verdict:
    """Hold the runs that miss an arm in the worst world against 2 delta."""

    def check(divisor: str) -> Check:
        promised = 2 * measured.setting["delta"]
        missed = measured.facts[divisor]
        return rate("an arm is missing, worst world", missed, measured.setting["runs"], promised)

    return Verdict(printed=(check("1"),), broken=(check("64"),))


def word_coverage(measured: Measured, verdict: Verdict) -> Words:
    """Tell with how few rounds the promise is still kept."""
    at, missed = measured.setting, measured.facts
    allowed = 2 * at["delta"] * at["runs"]
    enough = max((int(d) for d, count in missed.items() if count <= allowed), default=0)
    return Words(
        setting=(
            f"S = 12 (uneven: 18), K = 60, r = 3, ε = {at['epsilon']:g}, δ = {at['delta']:g}; "
            "equal groups, one giant group, most uneven frequencies"
        ),
        takeaway=(
            f"With the printed rounds {missed['1']} of {at['runs']} runs missed an arm in the "
            f"worst world, and the promise is kept with up to {enough} times fewer: Step 1 "
            "collects for accuracy, coverage comes free."
        ),
    )


COVERAGE = Claim(
    3,
    "Lemma pac-2: every block tries every arm",
    printed=(
        "With probability ≥ 1 − 2δ every block b with ω(b) ≥ ε/r has every arm j in D_n for some "
        "context, n = ⌈log₂(1/ε_b²)⌉"
    ),
    broken="a sixty-fourth of Step 1's rounds",
    seconds=(2.5, 15.0),
    measure=measure_coverage,
    judge=judge_coverage,
    word=word_coverage,
    draw=Sketch(
        Axis("divisor", "printed rounds of Step 1, divided by", "log", "points"),
        Axis("missed", "share of runs with a missing arm"),
        {"equal groups": "blue", "one giant group": "green", "most uneven": "orange"},
        bars={"2δ": 2 * DELTA},
        title="How much of Step 1 coverage needs",
        subtitle="{runs} runs a point. Broken variant: the points at 64.",
        description=(
            "Share of runs in which a sizeable block lacks an arm, against the number by which "
            "the printed rounds are divided: zero up to 8, most of them from 64 on."
        ),
    ),
)


# --- 4: few candidates ----------------------------------------------------------------------

FEW = lb.Problem(100, 100, 3)


def measure_few_candidates(effort: Effort) -> Measured:
    """Count screenings at accuracies where the threshold tells groups apart."""
    epsilon = 2.0**-7
    S, K, r = FEW.letters
    runs = effort.pick(40, 300)
    rows: Rows = []
    facts = {}
    for name, constants in (("printed", PAPER), ("broken", witness.threshold_times(1 / 32))):
        made = (worlds.lumpable(S, K, r, seed=seed) for seed in range(runs))
        seen = (algorithm_1(world, epsilon, n, constants).run for n, world in enumerate(made))
        results = [run.result for run in seen if run.result is not None]
        by_level = zip(*(result.screenings for result in results), strict=True)
        rows += [
            {"series": name, "level": n, "most": max(level)}
            for n, level in enumerate(by_level, start=1)
        ]
        facts[name] = {
            "screenings": [max(result.screenings) for result in results],
            "candidates": [len(result.candidates) for result in results],
        }
    N = lb.lengths.near_uniform_lengths(FEW, epsilon, DELTA).levels
    setting = {"S": S, "K": K, "r": r, "epsilon": epsilon, "delta": DELTA, "N": N}
    return Measured(seeds=runs, setting=setting, rows=rows, facts=facts)


def judge_few_candidates(measured: Measured) -> Verdict:
    """A run fails with more than r screenings at a level, or more than N r candidates."""
    r, N, promised = measured.setting["r"], measured.setting["N"], 4 * measured.setting["delta"]

    def checks(name: str) -> tuple[Check, ...]:
        over = sum(most > r for most in measured.facts[name]["screenings"])
        crowded = sum(count > N * r for count in measured.facts[name]["candidates"])
        return (
            rate("a level took more than r screenings", over, measured.seeds, promised),
            rate("more than N r candidates", crowded, measured.seeds, promised),
        )

    return Verdict(printed=checks("printed"), broken=checks("broken"))


def word_few_candidates(measured: Measured, verdict: Verdict) -> Words:
    """Tell how many screenings and candidates there were."""
    at, facts = measured.setting, measured.facts
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, ε = 2^-7, δ = {at['delta']:g}, means "
            "uniform on [0, 1]"
        ),
        takeaway=(
            f"Of {measured.seeds} runs {verdict.printed[0].measured:g} took more than r = "
            f"{at['r']} screenings at a level; candidates were at most "
            f"{max(facts['printed']['candidates'])} of the N r = {at['N'] * at['r']} allowed. With "
            "the narrow threshold blocks do not leave together: up to "
            f"{max(facts['broken']['screenings'])} screenings at a level."
        ),
    )


FEW_CANDIDATES = Claim(
    4,
    "Lemma pac-3: few candidates",
    printed="With probability ≥ 1 − 4δ a level takes at most r screenings, so |W| ≤ N r",
    broken="a screening threshold a thirty-second as wide, all lengths as printed",
    seconds=(3.5, 20.0),
    measure=measure_few_candidates,
    judge=judge_few_candidates,
    word=word_few_candidates,
    draw=Sketch(
        Axis("level", "accuracy level n", ticks="points"),
        Axis("most", "most screenings of any run", "log", (1, 2, 3, 5, 10, 20, 50, 100)),
        {"printed": "blue", "broken": "orange"},
        bars={f"r = {FEW.groups}": FEW.groups},
        title="A screening clears at least one block",
        subtitle="{seeds} runs. Broken: the threshold is a thirty-second as wide.",
        description=(
            "Most screenings at each accuracy level: at most r with the printed threshold, up "
            "to the number of contexts with the narrow one."
        ),
    ),
)
