"""Claim 12: why Algorithm 1 collects at several accuracy levels."""

from __future__ import annotations

import math

import numpy as np

import lumpable as lb
from lumpable.plans import lengths, pac
from lumpable.plans.plan import Belief, Collect, Conversation
from lumpable.plans.problem import Problem
from lumpable.plans.standard import best_of
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import Axis, Sketch
from lumpable.reproduce.claims.witness import DELTA, Watched, algorithm_1, size_of


@lb.algorithm
def deepest_level_only(problem: Problem, *, epsilon: float, delta: float) -> Conversation:
    """Algorithm 1 without its levels: all of Step 1 at level N, and screening there only."""
    S, K, _ = problem.letters
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
    N = size.levels
    policy = np.zeros(S, dtype=np.int64)
    belief = Belief("collecting, deepest level", policy)
    everything = np.ones((S, K), dtype=bool)
    sample = yield Collect(size.explore, 2**N, everything, belief)
    candidates: set[int] = set()
    top = pac.top_of_each_context(sample)
    count, _ = yield from pac.screen(size, N, top, candidates, policy)
    chosen = tuple(sorted(candidates))
    policy = yield from best_of(problem, chosen, size.settle)
    return lb.Result(policy, chosen, (count,))


EPSILON = 2.0**-12
ALL, DEEPEST = "all levels", "deepest only"
LARGE, SMALL = "the large block", "small blocks"


def missing_by_level(run: Watched) -> dict[tuple[str, int], float]:
    """Return the share of arms that the large and the small blocks lack at each level."""
    N = lengths.near_uniform_lengths(run.problem, run.epsilon, DELTA).levels
    shares = {}
    for n in range(1, N + 1):
        by_block = [run.uncovered(block, n) / run.problem.arms for block in run.blocks()]
        shares[LARGE, n] = by_block[0]
        shares[SMALL, n] = float(np.mean(by_block[1:]))
    return shares


def measure_several_levels(effort: Effort) -> Measured:
    """Take the levels away in a world with one large block and single rare contexts."""
    S, K, r = 200, 200, 3
    runs = effort.pick(20, 150)
    world = witness.one_large_block(S, K, r, 0.8)
    problem = size_of(world)
    N = lengths.near_uniform_lengths(problem, EPSILON, DELTA).levels
    uncovered = {ALL: 0, DEEPEST: 0}
    gaps: dict[str, list[float]] = {ALL: [], DEEPEST: []}
    missing: dict[tuple[str, int], list[float]] = {}
    for seed in range(runs):
        alone = deepest_level_only(problem, epsilon=EPSILON, delta=DELTA)
        whole, deepest = algorithm_1(world, EPSILON, seed), witness.watch(alone, world, seed)
        for name, run, level in ((ALL, whole, None), (DEEPEST, deepest, N)):
            blocks = run.blocks()
            uncovered[name] += any(run.uncovered(block, level) for block in blocks)
            gaps[name].append(max(run.gap(block) for block in blocks))
        for key, share in missing_by_level(whole).items():
            missing.setdefault(key, []).append(share)
    rows = [
        {"series": name, "level": n, "missing": float(np.mean(shares))}
        for (name, n), shares in missing.items()
    ]
    setting = {"S": S, "K": K, "r": r, "delta": DELTA, "N": N, "own": blocks[1].level}
    facts = {"uncovered": uncovered, "gaps": gaps, "log x": witness.log_x(problem)}
    return Measured(seeds=runs, setting=setting, rows=rows, facts=facts)


def judge_several_levels(measured: Measured) -> Verdict:
    """A run fails when a block lacks an arm at its level, or a good candidate."""
    delta, facts, runs = measured.setting["delta"], measured.facts, measured.seeds
    near = 8 * math.sqrt(facts["log x"])

    def checks(name: str) -> tuple[Check, ...]:
        lacking = sum(gap > near for gap in facts["gaps"][name])
        return (
            rate("a sizeable block lacks an arm", facts["uncovered"][name], runs, 2 * delta),
            rate("no candidate within 8 √(log x) ε_b", lacking, runs, 4 * delta),
        )

    return Verdict(printed=checks(ALL), broken=checks(DEEPEST))


def word_several_levels(measured: Measured, verdict: Verdict) -> Words:
    """Tell what a rare context lacks at the deepest level."""
    at, deepest = measured.setting, measured.rows[-1]
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, ε = 2^-12, δ = {at['delta']:g}; two "
            "blocks are single contexts of frequency 1/(8S), every block has one good arm, 0.8 "
            "above the others"
        ),
        takeaway=(
            f"A single rare context tries every arm at its own level {at['own']}; at the deepest "
            f"level {at['N']} it lacks {deepest['missing']:.1%} of the arms. With that level only, "
            f"{verdict.broken[1].measured:g} of {measured.seeds} runs left a small block without a "
            f"good candidate; with all levels, {verdict.printed[1].measured:g}."
        ),
    )


SEVERAL_LEVELS = Claim(
    12,
    "Why there are several accuracy levels",
    printed=(
        "Levels n = 1 … N explore every block at its own accuracy; one level for all would leave "
        "small blocks under-explored"
    ),
    broken="Step 1 and screening at the deepest level only",
    seconds=(2.5, 15.0),
    measure=measure_several_levels,
    judge=judge_several_levels,
    word=word_several_levels,
    draw=Sketch(
        Axis("level", "accuracy level n", ticks="points"),
        Axis("missing", "share of arms never finished"),
        {LARGE: "blue", SMALL: "orange"},
        title="Deep levels miss what small blocks need",
        subtitle=(
            "Mean over {seeds} runs. The large block's own level is {N}, that of small blocks is "
            "{own}: each covers all arms there."
        ),
        description=(
            "Share of arms that a block never finished against the level: zero for the large block "
            "everywhere, rising from zero to a large share for small blocks at the deepest levels."
        ),
    ),
)
