"""How well can anybody tell the groups apart from what Lumps plays?

Run `python benchmarks/identifying.py`; it prints a row for each world. The adjusted Rand index of
the groups that Lumps finds stands beside that of somebody who sees the same rewards and knows the
true mean of every group and arm, and so needs only to find each context's group; and the evidence
of a fit that starts from the true groups beside that of what Lumps believes. Lumps plays what pays:
groups that share good arms leave few rewards behind that tell them apart. What that costs in long
runs is the regret of worlds where a group is missing.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from protocol.problems import SIZES, Size

from lumpable import worlds
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.lumps.belief.posterior import current_fit
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts
from lumpable.runs.measures import adjusted_rand
from lumpable.runs.playing import play
from lumpable.worlds.world import World

CASES = (
    ("b", "bernoulli", 100, 20),
    ("s", "gaussian", 60, 20),
    ("s", "gaussian", 200, 20),
    ("s", "bernoulli", 1000, 60),
)
"""Sizes, noise (Gaussian: sd 1), rewards of each context, and worlds."""
FIRST = 9000


class Row(NamedTuple):
    """What was found in one world."""

    groups: int
    ours: float
    known: float
    """The Rand index of who knows the means."""
    truth: float
    """The log evidence of a fit from the true groups, less that of what is believed."""
    regret: float


def log_likelihood(counts: Counts, mean: FloatMatrix) -> FloatMatrix:
    """Return that of each cell in each group with these (cells, groups) means."""
    n, s = counts.n[:, None], counts.s[:, None]
    if counts.real:
        return np.asarray(s * mean - 0.5 * n * mean**2)
    mean = np.clip(mean, 1e-9, 1.0 - 1e-9)
    return np.asarray(s * np.log(mean) + (n - s) * np.log1p(-mean))


def likeliest(counts: Counts, world: World) -> IntVector:
    """Return the group of each context that makes its rewards the most likely."""
    groups = int(world.group.max()) + 1
    member = [int(np.flatnonzero(world.group == g)[0]) for g in range(groups)]
    whole = np.zeros((counts.contexts, groups))
    row = np.repeat(np.arange(counts.contexts), np.diff(counts.first))
    np.add.at(whole, row, log_likelihood(counts, world.mean[member][:, counts.arm].T))
    label: IntVector = np.argmax(whole, axis=1)
    return label


def found(size: Size, noise: str, pulls: int, seed: int) -> Row:
    """Play one world and look at the groups."""
    world = worlds.lumpable(*size, noise=noise, sd=1.0, seed=seed)
    learner = ThreeLevels(size[0], size[1], seed=seed)
    played = play(learner, world, horizon=pulls * size[0], seed=seed, at=[])
    counts = learner.counts()
    seen, ours = world.group[counts.context], learner.labels()[counts.context]
    own, start = current_fit(learner, counts), np.eye(size[2])[seen]
    truth = search.settle(counts, start, replace(own, m0=math.inf))
    return Row(
        len(learner.state.group_visits), adjusted_rand(ours, seen),
        adjusted_rand(likeliest(counts, world), seen), truth.evidence - own.evidence,
        float(played.rows()[-1].regret),
    )  # fmt: skip


def main(most: int | None) -> None:
    """Print for each case a row for each world, then what they have in common."""
    for name, noise, pulls, seeds in CASES:
        size = SIZES[name]
        print(f"{size}, {pulls} pulls for each context, {noise}\n")
        print("groups   ARI of Lumps   of who knows the means   evidence of the truth    regret")
        rows = []
        for seed in range(FIRST, FIRST + min(seeds, most or seeds)):
            rows.append(found(size, noise, pulls, seed))
            print("{:6}   {:12.3f}   {:22.3f}   {:+21.1f}   {:7.0f}".format(*rows[-1]), flush=True)
        print("mean     {:12.3f}   {:22.3f}".format(*np.mean(rows, axis=0)[1:3]))
        print(said(rows, size[2]), end="\n\n")


def said(rows: list[Row], groups: int) -> str:
    """Say in how many worlds a group is missing, and what that costs."""
    missing = [row for row in rows if row.groups < groups]
    if not missing:
        return "no group is missing in any world"
    regret, usual = np.array([row.regret for row in missing]), np.median([r.regret for r in rows])
    part = regret.sum() / sum(row.regret for row in rows)
    return (
        f"a group missing in {len(missing)} of {len(rows)} worlds; less evidence of the truth in "
        f"{sum(row.truth < 0.0 for row in missing)} of them; they have {part:.0%} of the regret, "
        f"{np.median(regret) / usual:.1f} (at most {regret.max() / usual:.1f}) times the usual one"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
