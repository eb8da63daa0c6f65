"""Claim 29: means of low rank by a cover, PAC (30, regret: `frozen`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.plans import bounds, lengths, reductions
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Sketch, curves
from lumpable.reproduce.claims.witness import DELTA

SIZE = (500, 30)
ACCURACY = 0.005
"""Small enough for the bound on the loss not to be vacuous."""
COVER, FORMULA, BROKEN = "Algorithm 1, R cells", "R log R", "broken: R = S"

# --- Worlds whose factors are known: mean = U V, and the grid that covers U -----------------------


@dataclass(frozen=True, slots=True, eq=False)
class Factored:
    """A world and its factors."""

    world: lb.World
    U: FloatMatrix
    V: FloatMatrix

    @classmethod
    def of(cls, U: FloatMatrix, V: FloatMatrix, sd: float = 1.0) -> Factored:
        """Multiply out."""
        return cls(worlds.from_matrix(U @ V, sd=sd), U, V)

    @property
    def rank(self) -> int:
        """r, the length of a context's vector."""
        return int(self.U.shape[1])

    def cells(self, width: float, bound: float = 1.0) -> list[list[int]]:
        """Return the contexts of each cell that holds one, in a grid on [-B, B]^r."""
        place = np.maximum(np.ceil((self.U + bound) / width), 1).astype(int).tolist()
        members: dict[tuple[int, ...], list[int]] = {}
        for i, cell in enumerate(place):
            members.setdefault(tuple(cell), []).append(i)
        return list(members.values())

    def difference(self, width: float) -> float:
        """Return the largest difference of means inside a cell, over max_j ||v_j||_1."""
        spans = [np.ptp(self.world.mean[cell], axis=0).max() for cell in self.cells(width)]
        return float(max(spans)) / float(np.abs(self.V).sum(axis=0).max())


def spread(contexts: int, arms: int, rank: int, bound: float, seed: int) -> Factored:
    """Vectors of contexts uniform on [-B, B]^r, those of arms on [-1/(2r), 1/(2r)]^r."""
    rng = np.random.default_rng(seed)
    U = rng.uniform(-bound, bound, (contexts, rank))
    return Factored.of(U, rng.uniform(-0.5, 0.5, (rank, arms)) / rank)


def decoys(contexts: int, arms: int, seed: int) -> Factored:
    """Rank one: a tenth of the contexts like most what all others like least.

    Their best arm has the largest mean of all, so screening starts with it; if the others left with
    them, they would lose nearly everything.
    """
    rng = np.random.default_rng(seed)
    few = np.arange(contexts) < contexts // 10
    u = np.where(few, rng.uniform(0.95, 1.0, contexts), rng.uniform(-0.9, -0.5, contexts))
    v: FloatVector = rng.uniform(-0.5, 0.5, arms)
    v[:2] = 0.5, -0.5
    return Factored.of(u[:, np.newaxis], v[np.newaxis, :])


# --- 29 -------------------------------------------------------------------------------------


def run_cover(
    truth: Factored, epsilon: float, constants: Constants, bound: float, seed: int
) -> lb.Run:
    """Run Algorithm 1 with a cover and without the switch."""
    plan = reductions.low_rank(
        Problem(*SIZE, truth.rank),
        epsilon=epsilon,
        delta=DELTA,
        bound=bound,
        switch=False,
        constants=constants,
    )
    return lb.simulate(plan, truth.world, seed=seed)


def widest(problem: Problem) -> Constants:
    """Return constants with which the screening threshold is 1 at the deepest level.

    Means span at most 1, so all contexts leave screening together.
    """
    size = lengths.near_uniform_lengths(problem, ACCURACY, DELTA)
    return witness.threshold_times(1 / size.threshold(size.levels))


def loss(truth: Factored, constants: Constants, seed: int) -> float:
    """Return the loss of Algorithm 1 with a cover, in units of what Theorem 1 allows with R groups.

    2 alpha are added for means that are not quite alike.
    """
    R = lengths.cover(Problem(*SIZE, truth.rank), 1.0, ACCURACY)
    allowed = bounds.near_uniform_printed(Problem(*SIZE, R), ACCURACY, DELTA) + 2 * ACCURACY
    run = run_cover(truth, ACCURACY, constants, 1.0, seed)
    return truth.world.loss(run.policy) / allowed


def measure_grid(runs: int) -> dict[str, float]:
    """Return the largest numbers of cells, over R, and differences inside them, over alpha."""
    most = dict.fromkeys(("cells", "narrow cells", "difference", "wide difference"), 0.0)
    for seed in range(runs):
        for rank in (1, 2):
            truth = spread(*SIZE, rank, 1.0, seed)
            for alpha in (0.2, 0.05):
                R = lengths.cover(Problem(*SIZE, rank), 1.0, alpha)
                found = {
                    "cells": len(truth.cells(alpha)) / R,
                    "narrow cells": len(truth.cells(alpha / 2)) / R,
                    "difference": truth.difference(alpha) / alpha,
                    "wide difference": truth.difference(2 * alpha) / alpha,
                }
                most = {name: max(most[name], value) for name, value in found.items()}
    return most


def measure_low_rank_pac(effort: Effort) -> Measured:
    """Measure the four parts on worlds whose factors are known."""
    S, K = SIZE
    runs, epsilon = effort.pick(6, 60), 0.01
    wide = widest(Problem(S, K, lengths.cover(Problem(S, K, 1), 1.0, ACCURACY)))
    losses = [
        loss(truth, PAPER, seed)
        for seed in range(runs)
        for truth in (spread(S, K, 1, 1.0, seed), spread(S, K, 2, 1.0, seed), decoys(S, K, seed))
    ]
    bounds_on_u = effort.pick((0.0625, 0.25, 1.0), (0.0625, 0.125, 0.25, 0.5, 1.0))
    cells = [lengths.cover(Problem(S, K, 1), B, epsilon) for B in bounds_on_u]
    truths = [(spread(S, K, 1, B, 0), B) for B in bounds_on_u]
    formula = [bounds.whole(Problem(S, K, R), epsilon, DELTA) for R in cells]
    rounds = [run_cover(truth, epsilon, PAPER, B, 0).rounds for truth, B in truths]
    series: dict[str, Sequence[float]] = {
        COVER: rounds,
        FORMULA: [rounds[0] * each / formula[0] for each in formula],
        BROKEN: [run_cover(truth, epsilon, PAPER, S * epsilon, 0).rounds for truth, _ in truths],
    }
    return Measured(
        seeds=runs,
        setting={"S": S, "K": K, "delta": DELTA, "epsilon": epsilon, "B": bounds_on_u},
        rows=curves("cells", cells, "rounds", series),
        facts={
            "grid": measure_grid(runs),
            "runs": len(losses),
            "loss": max(losses),
            "mixed loss": max(loss(decoys(S, K, seed), wide, seed) for seed in range(runs)),
            "slopes": {
                name: slope(cells, values)[0]
                for name, values in {**series, FORMULA: formula}.items()
            },
        },
    )


def judge_low_rank_pac(measured: Measured) -> Verdict:
    """Each part of the claim has a check, and a broken variant of its own."""
    facts, grid, slopes = measured.facts, measured.facts["grid"], measured.facts["slopes"]

    def checks(number: float, apart: float, lost: float, way: str) -> tuple[Check, ...]:
        exponent = abs(slopes[way] - slopes[FORMULA])
        return (
            Check("cells that hold a context, over R, most", number, "<=", 1.0),
            Check("difference in a cell, over α max ‖v‖₁, most", apart, "<=", 1.0 + 1e-9),
            Check("loss, over Theorem 1's with R groups + 2α, most", lost, "<=", 1.0),
            Check("exponent of R in the rounds, distance from R log R", exponent, "<=", 0.1),
        )

    return Verdict(
        printed=checks(grid["cells"], grid["difference"], facts["loss"], COVER),
        broken=checks(grid["narrow cells"], grid["wide difference"], facts["mixed loss"], BROKEN),
    )


def word_low_rank_pac(measured: Measured, verdict: Verdict) -> Words:
    """Tell how far apart a cell is, how rounds grow, and what is lost."""
    at, facts = measured.setting, measured.facts
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, δ = {at['delta']:g}, printed constants, no switch; "
            "cells: rank 1 and 2, α = 0.2 and 0.05; loss: rank 1 and 2, "
            f"ε = {ACCURACY:g}; rounds: rank 1, ε = {at['epsilon']:g}, "
            f"B = {at['B'][0]:g} … {at['B'][-1]:g}"
        ),
        takeaway=(
            f"Contexts of one cell differ by at most {facts['grid']['difference']:.2f} α max ‖v‖₁, "
            f"rounds grow like R^{facts['slopes'][COVER]:.2f}, and the largest loss of "
            f"{facts['runs']} runs was {facts['loss']:.1g} of what the theorem allows; with "
            f"thresholds of 1 it was {facts['mixed loss']:.1f} times as much."
        ),
    )


LOW_RANK_PAC = Claim(
    29,
    "Low rank, PAC",
    printed=(
        "An α-grid of [−B, B]^r has R = O(1/α^r) cells whose contexts differ by O(α); with α = ε "
        "Algorithm 1 takes Õ(R(S + K)/ε²) samples and is Õ(ε)-optimal"
    ),
    broken=(
        "cells half as wide, or twice as wide; screening thresholds of 1, so that contexts of all "
        "cells leave together; a cell for every context"
    ),
    seconds=(2.0, 10.0),
    measure=measure_low_rank_pac,
    judge=judge_low_rank_pac,
    word=word_low_rank_pac,
    draw=Sketch(
        Axis("cells", "cells R (2B/ε, at most S)", "log"),
        Axis("rounds", "rounds", "log"),
        {COVER: "blue", FORMULA: GUIDE, BROKEN: "orange"},
        title="Low rank: the cost grows like the number of cells",
        subtitle="S = {S}, K = {K}, rank 1, ε = {epsilon:g}; as B grows, so does R.",
        description=(
            "Rounds against the number of cells: a line of slope one that follows R log R; with a "
            "cell for every context they are larger and do not depend on B."
        ),
    ),
)
