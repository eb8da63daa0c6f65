"""Claim 29: means of low rank by a cover, PAC (30, regret: `frozen`)."""

from __future__ import annotations

from collections.abc import Sequence

import lumpable as lb
from lumpable.plans import bounds, lengths, reductions
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Effort, Finding, claim, slope
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.factors import Factored, decoys, spread
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.reproduce.claims.witness import DELTA

SIZE = (500, 30)
ACCURACY = 0.005
"""Small enough for the bound on the loss to say something."""


def covered(
    truth: Factored, epsilon: float, constants: Constants, bound: float, seed: int
) -> lb.Run:
    """Run Algorithm 1 with a cover, whatever the switch would say."""
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

    Means span at most 1, so everybody leaves with everybody: nobody is screened.
    """
    size = lengths.near_uniform_lengths(problem, ACCURACY, DELTA)
    return witness.threshold_times(1 / size.threshold(size.levels))


def loss(truth: Factored, constants: Constants, seed: int) -> float:
    """Return the loss of Algorithm 1 with a cover, in units of what Theorem 1 allows with R groups.

    2 alpha are added for means that are not quite alike.
    """
    R = lengths.cover(Problem(*SIZE, truth.rank), 1.0, ACCURACY)
    allowed = bounds.near_uniform_printed(Problem(*SIZE, R), ACCURACY, DELTA) + 2 * ACCURACY
    run = covered(truth, ACCURACY, constants, 1.0, seed)
    return truth.world.loss(run.policy) / allowed


def grid(runs: int) -> dict[str, float]:
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


@claim(
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
)
def low_rank_pac(effort: Effort) -> Finding:
    """Check the four parts on worlds whose factors are known."""
    S, K = SIZE
    runs, epsilon = effort.pick(6, 60), 0.01
    most = grid(runs)
    wide = widest(Problem(S, K, lengths.cover(Problem(S, K, 1), 1.0, ACCURACY)))
    losses = [
        loss(truth, PAPER, seed)
        for seed in range(runs)
        for truth in (spread(S, K, 1, 1.0, seed), spread(S, K, 2, 1.0, seed), decoys(S, K, seed))
    ]
    mixed = [loss(decoys(S, K, seed), wide, seed) for seed in range(runs)]
    sizes = effort.pick((0.0625, 0.25, 1.0), (0.0625, 0.125, 0.25, 0.5, 1.0))
    cells = [lengths.cover(Problem(S, K, 1), B, epsilon) for B in sizes]
    truths = [spread(S, K, 1, B, 0) for B in sizes]
    rounds = [
        covered(truth, epsilon, PAPER, B, 0).rounds for truth, B in zip(truths, sizes, strict=True)
    ]
    careless = [covered(truth, epsilon, PAPER, S * epsilon, 0).rounds for truth in truths]
    formula = [bounds.whole(Problem(S, K, R), epsilon, DELTA) for R in cells]
    guide = [rounds[0] * each / formula[0] for each in formula]
    steep, flat, expected = (slope(cells, values)[0] for values in (rounds, careless, formula))

    def checks(number: float, apart: float, lost: float, exponent: float) -> tuple[Check, ...]:
        return (
            Check("cells that hold a context, over R, most", number, "<=", 1.0),
            Check("difference in a cell, over α max ‖v‖₁, most", apart, "<=", 1.0 + 1e-9),
            Check("loss, over Theorem 1's with R groups + 2α, most", lost, "<=", 1.0),
            Check("exponent of R in the rounds, distance from R log R", exponent, "<=", 0.1),
        )

    series: dict[str, Sequence[float]] = {
        "Algorithm 1, R cells": rounds,
        "R log R": guide,
        "broken: R = S": careless,
    }
    styles = (Series(sketch.BLUE), Series("#222222", "dash"), Series(sketch.ORANGE))
    return Finding(
        setting=(
            f"S = {S}, K = {K}, δ = {DELTA:g}, printed constants, no switch; cells: rank 1 and 2, "
            f"α = 0.2 and 0.05; loss: rank 1 and 2, ε = {ACCURACY:g}; rounds: rank 1, "
            f"ε = {epsilon:g}, B = {sizes[0]:g} … {sizes[-1]:g}"
        ),
        seeds=runs,
        printed=checks(most["cells"], most["difference"], max(losses), abs(steep - expected)),
        broken=checks(
            most["narrow cells"], most["wide difference"], max(mixed), abs(flat - expected)
        ),
        words=(
            f"Contexts of one cell differ by at most {most['difference']:.2f} α max ‖v‖₁, rounds "
            f"grow like R^{steep:.2f}, and the largest loss of {len(losses)} runs was "
            f"{max(losses):.1g} of what the theorem allows; with thresholds of 1 it was "
            f"{max(mixed):.1f} times as much."
        ),
        figure=sketch.picture(
            [
                {"series": name, "cells": R, "rounds": y}
                for name, values in series.items()
                for R, y in zip(cells, values, strict=True)
            ],
            Axis("cells", "cells R (2B/ε, at most S)", "log"),
            Axis("rounds", "rounds", "log"),
            dict(zip(series, styles, strict=True)),
            title="Low rank: the cost grows like the number of cells",
            subtitle=[f"S = {S}, K = {K}, rank 1, ε = {epsilon:g}; as B grows, so does R."],
            description=(
                "Rounds against the number of cells: a line of slope one that follows R log R; "
                "with a cell for every context they are larger and do not depend on B."
            ),
        ),
    )
