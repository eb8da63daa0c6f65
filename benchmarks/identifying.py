"""How well can anybody tell the groups apart from what Lumps plays?

Run `python benchmarks/identifying.py`; it prints a row for each world. The adjusted Rand index of
the groups that Lumps finds stands beside that of somebody who sees the same rewards and knows the
true mean of every group and arm, and so needs only to find each context's group; and the evidence
of a fit that starts from the true groups beside that of what Lumps believes. Lumps plays what pays:
groups that share good arms leave few rewards behind that tell them apart.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from protocol.problems import SIZES, Size

from lumpable import worlds
from lumpable.checks import FloatMatrix, IntVector
from lumpable.lumps import search
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import Counts
from lumpable.lumps.rivals import believed
from lumpable.measures import adjusted_rand
from lumpable.play import play
from lumpable.world import World

CASES = (("b", "bernoulli", 100), ("s", "gaussian", 60), ("s", "gaussian", 200))
"""Sizes, noise (Gaussian: sd 1), and rewards of each context."""
SEEDS, FIRST = 20, 9000


class Row(NamedTuple):
    """What was found in one world."""

    groups: int
    ours: float
    known: float
    """The Rand index of who knows the means."""
    truth: float
    """The log evidence of a fit from the true groups, less that of what is believed."""


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
    play(learner, world, horizon=pulls * size[0], seed=seed, at=[])
    counts = learner.counts()
    seen, ours = world.group[counts.context], learner.labels()[counts.context]
    own, start = believed(learner, counts), np.eye(size[2])[seen]
    truth = search.settled(counts, start, replace(own, m0=math.inf))
    return Row(
        len(learner.state.group_visits), adjusted_rand(ours, seen),
        adjusted_rand(likeliest(counts, world), seen), truth.evidence - own.evidence,
    )  # fmt: skip


def main(seeds: int) -> None:
    """Print for each case a row for each world, then the means."""
    for name, noise, pulls in CASES:
        size = SIZES[name]
        print(f"{size}, {pulls} pulls for each context, {noise}\n")
        print("groups found   ARI of Lumps   ARI of who knows the means   evidence of the truth")
        rows = []
        for seed in range(FIRST, FIRST + seeds):
            rows.append(found(size, noise, pulls, seed))
            print("{:12}   {:12.3f}   {:26.3f}   {:+21.1f}".format(*rows[-1]), flush=True)
        print("{:>12}   {:12.3f}   {:26.3f}".format("mean", *np.mean(rows, axis=0)[1:3]))
        missing = [row.truth < 0.0 for row in rows if row.groups < size[2]]
        print(f"a group missing in {len(missing)} worlds; less evidence of the truth in "
              f"{sum(missing)} of them\n")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
