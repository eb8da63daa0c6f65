"""Claim 12: why Algorithm 1 collects at several accuracy levels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.plans import lengths, pac
from lumpable.plans.plan import Belief, Collect, Conversation
from lumpable.plans.problem import Problem
from lumpable.plans.standard import best_of
from lumpable.reproduce.claim import Check, Effort, Finding, claim, rate
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.reproduce.claims.witness import DELTA, Watched, algorithm_1


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


LEVELS_WORLD = (200, 200, 3)
LEVELS_EPSILON = 2.0**-12


def missing_by_level(run: Watched) -> dict[tuple[str, int], float]:
    """Return the share of arms that the large and the small blocks lack at each level."""
    N = lengths.near_uniform_lengths(run.problem, run.epsilon, DELTA).levels
    found = {}
    for n in range(1, N + 1):
        by_block = [run.uncovered(block, n) / run.problem.arms for block in run.blocks()]
        found["the large block", n] = by_block[0]
        found["small blocks", n] = float(np.mean(by_block[1:]))
    return found


def _missing(missing: dict[tuple[str, int], list[float]], runs: int, own: int) -> Any:
    """Draw the share of arms that blocks lack at each level."""
    N = max(n for _, n in missing)
    return sketch.picture(
        [
            {"series": name, "level": n, "missing": float(np.mean(shares))}
            for (name, n), shares in missing.items()
        ],
        Axis("level", "accuracy level n", values=range(1, N + 1)),
        Axis("missing", "share of arms never finished"),
        {
            "the large block": Series(sketch.BLUE),
            "small blocks": Series(sketch.ORANGE),
        },
        title="Deep levels miss what small blocks need",
        subtitle=[
            f"Mean over {runs} runs. The large block's own level is {N}, that of small blocks",
            f"is {own}: each covers all arms there.",
        ],
        description=(
            "Share of arms that a block never finished against the level: zero for the large "
            "block everywhere, rising from zero to a large share for small blocks at the "
            "deepest levels."
        ),
    )


@claim(
    12,
    "Why there are several accuracy levels",
    printed=(
        "Levels n = 1 … N explore every block at its own accuracy; one level for all would leave "
        "small blocks under-explored"
    ),
    broken="Step 1 and screening at the deepest level only",
    seconds=(2.5, 15.0),
)
def several_levels(effort: Effort) -> Finding:
    """Take the levels away in a world with one large block and single rare contexts."""
    S, K, r = LEVELS_WORLD
    runs = effort.pick(20, 150)
    world = witness.one_large_block(S, K, r, 0.8)
    problem = witness.size_of(world)
    near = 8 * math.sqrt(witness.log_x(problem))
    lacking = {"all levels": 0, "deepest only": 0}
    uncovered = dict.fromkeys(lacking, 0)
    missing: dict[tuple[str, int], list[float]] = {}
    for seed in range(runs):
        alone = deepest_level_only(problem, epsilon=LEVELS_EPSILON, delta=DELTA)
        seen = {
            "all levels": algorithm_1(world, LEVELS_EPSILON, seed),
            "deepest only": witness.watch(alone, world, seed),
        }
        N = lengths.near_uniform_lengths(problem, LEVELS_EPSILON, DELTA).levels
        for name, run in seen.items():
            level = N if name == "deepest only" else None
            uncovered[name] += any(run.uncovered(block, level) for block in run.blocks())
            lacking[name] += any(run.gap(block) > near for block in run.blocks())
        for key, share in missing_by_level(seen["all levels"]).items():
            missing.setdefault(key, []).append(share)

    def checks(name: str) -> tuple[Check, ...]:
        return (
            rate("a sizeable block lacks an arm", uncovered[name], runs, 2 * DELTA),
            rate("no candidate within 8 √(log x) ε_b", lacking[name], runs, 4 * DELTA),
        )

    own = run.blocks()[1].level
    deepest = float(np.mean(missing["small blocks", N]))
    return Finding(
        setting=(
            f"S = {S}, K = {K}, r = {r}, ε = 2^-12, δ = {DELTA:g}; two blocks are single contexts "
            "of frequency 1/(8S), every block has one good arm, 0.8 above the others"
        ),
        seeds=runs,
        printed=checks("all levels"),
        broken=checks("deepest only"),
        words=(
            f"A single rare context tries every arm at its own level {own}; at the deepest level "
            f"{N} it lacks {deepest:.0%} of the arms. With that level alone, "
            f"{lacking['deepest only']} of {runs} runs left a small block without a good "
            f"candidate; with all levels, {lacking['all levels']}."
        ),
        figure=_missing(missing, runs, own),
    )
