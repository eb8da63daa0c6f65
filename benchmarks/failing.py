"""How often Lumps fails to see what there is: numbers of docs/explanation/lumps.md.

    python benchmarks/failing.py

Two counts. In worlds with one taste: how often `summary()` says that users differ. In worlds where
some users like everything more than others: what is found in place of the level. Arms are drawn at
random. Takes some five minutes on one core.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

import lumpable as lb
from lumpable.base.words import counted

LAWS = ("bernoulli", "gaussian", "beta", "poisson", "exponential", "stars", "student", "revenue")
USERS, ARMS, REWARDS, SEEDS = 100, 20, (5, 20, 60), 20
"""With one taste: 8 laws, 3 numbers of rewards for each user, 20 seeds."""
LEVELS = ((100, 60), (100, 200), (1000, 60), (1000, 200))
"""Users, and rewards of each, where users have levels; the world has 10 arms."""
DIFFER = "differ, but in no common way"


def one_taste(law: str, seed: int) -> lb.World:
    """Return a world in which all users have the same means."""
    row = np.random.default_rng([seed, 1]).uniform(0.1, 0.9, ARMS)
    row = 1.0 + 4.0 * row if law == "stars" else row
    return lb.worlds.from_matrix(np.tile(row, (USERS, 1)), noise=law)


def told(world: lb.World, rewards: int, seed: int) -> lb.Lumps:
    """Return a learner that was told so many rewards of each context."""
    rng = np.random.default_rng([seed, 2])
    context = np.repeat(np.arange(world.contexts), rewards)
    arm = rng.integers(world.arms, size=len(context))
    drawn = world.law.part(context).draw(world.mean[context], rng)
    reward = drawn[np.arange(len(context)), arm]
    lumps = lb.Lumps(seed=seed)
    lumps.tell_many({"context": context, "arm": arm, "reward": reward})
    return lumps


def said_to_differ() -> Iterator[tuple[str, int, int, int]]:
    """Yield law, rewards of each user, how often users were said to differ, and finite strengths.

    A finite strength is the likeliest where one user is taken to differ from another.
    """
    for law in LAWS:
        for rewards in REWARDS:
            every = [told(one_taste(law, seed), rewards, seed) for seed in range(SEEDS)]
            said = sum(DIFFER in lumps.summary() for lumps in every)
            finite = sum(any(row.believed and math.isfinite(row.m0) for row in lumps.evidence())
                         for lumps in every)  # fmt: skip
            yield law, rewards, said, finite


def found_of_levels() -> Iterator[tuple[int, int, str]]:
    """Yield users, rewards of each, and what was found how often."""
    for users, rewards in LEVELS:
        found = Counter[tuple[int, str]]()
        for seed in range(SEEDS):
            world = lb.worlds.with_levels(users, 10, seed=seed)
            fit = told(world, rewards, seed).core.last_fit
            assert fit is not None
            found[(fit.rank, "direction") if fit.rank else (fit.groups, "group")] += 1
        words = (f"{counted(*what)} in {worlds}" for what, worlds in sorted(found.items()))
        yield users, rewards, ", ".join(words)


def main() -> None:
    """Print both tables."""
    print(f"One taste, {USERS} users, {SEEDS} worlds each")
    print("| law | rewards of each | said to differ | a finite strength |")
    print("| --- | --- | --- | --- |")
    whole = 0
    for law, rewards, said, finite in said_to_differ():
        whole += said
        print(f"| {law} | {rewards} | {said} | {finite} |", flush=True)
    print(f"In all: {whole} of {len(LAWS) * len(REWARDS) * SEEDS}\n")
    print(f"Levels, 0/1 rewards, {SEEDS} worlds each")
    print("| users | rewards of each | found |")
    print("| --- | --- | --- |")
    for users, rewards, found in found_of_levels():
        print(f"| {users} | {rewards} | {found} |", flush=True)


if __name__ == "__main__":
    main()
