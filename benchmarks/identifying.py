"""How well can anybody tell the groups apart from what Lumps plays?

Run `python benchmarks/identifying.py`; it prints a row for each world. The adjusted Rand index of
the groups that Lumps finds stands beside that of somebody who sees the same rewards and knows the
true mean of every group and arm, and so needs only to find each context's group. Lumps plays what
pays: groups that share good arms leave few rewards behind that tell them apart.
"""

from __future__ import annotations

import sys

import numpy as np

from lumpable import worlds
from lumpable.checks import IntVector
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import Counts
from lumpable.measures import adjusted_rand
from lumpable.play import play
from lumpable.world import World

SIZE, PULLS, SEEDS, FIRST = (1000, 100, 5), 100, 20, 9000


def likeliest(counts: Counts, world: World) -> IntVector:
    """Return the group of each context that makes its rewards the most likely."""
    groups = int(world.group.max()) + 1
    member = [int(np.flatnonzero(world.group == g)[0]) for g in range(groups)]
    mean = np.clip(world.mean[member], 1e-9, 1.0 - 1e-9)[:, counts.arm].T
    likely = counts.s[:, None] * np.log(mean) + (counts.n - counts.s)[:, None] * np.log1p(-mean)
    whole = np.zeros((counts.contexts, groups))
    np.add.at(whole, np.repeat(np.arange(counts.contexts), np.diff(counts.first)), likely)
    label: IntVector = np.argmax(whole, axis=1)
    return label


def indices(seed: int) -> tuple[int, float, float]:
    """Return the number of groups found, and the Rand index of Lumps and of who knows the means."""
    world = worlds.lumpable(*SIZE, noise="bernoulli", seed=seed)
    learner = ThreeLevels(SIZE[0], SIZE[1], seed=seed)
    play(learner, world, horizon=PULLS * SIZE[0], seed=seed, at=[])
    counts = learner.counts()
    seen, ours = world.group[counts.context], learner.labels()[counts.context]
    known = likeliest(counts, world)
    return len(learner.state.group_visits), adjusted_rand(ours, seen), adjusted_rand(known, seen)


def main(seeds: int) -> None:
    """Print a row for each world, then the means."""
    print(f"{SIZE}, {PULLS} pulls for each context, Bernoulli\n")
    print("groups found   ARI of Lumps   ARI of who knows the means")
    rows = []
    for seed in range(FIRST, FIRST + seeds):
        rows.append(indices(seed))
        print("{:12}   {:12.3f}   {:26.3f}".format(*rows[-1]), flush=True)
    print("{:>12}   {:12.3f}   {:26.3f}".format("mean", *np.mean(rows, axis=0)[1:]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
