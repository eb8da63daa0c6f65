"""The paper's Algorithm 2 written out line by line: the oracle for both executors.

Slow and plain on purpose: one loop over rounds, with the line numbers of the pseudocode. It shares
nothing with the executors but `Collect` and `Sample`. Readings are those of paper.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.splitmix import context_keys, draw, request_key
from lumpable.plans.plan import Collect
from lumpable.plans.seen import Sample
from lumpable.worlds.world import World

Draw = Callable[[int, int, int], int]
"""(context, number of its play, size of K(i)) -> which element of K(i) is drawn."""
Reward = Callable[[int, int], float]
"""(context, arm) -> reward."""


@dataclass(frozen=True)
class Call:
    """What one call of Algorithm 2 saw."""

    sample: Sample
    visits: IntVector
    unfinished_arm: IntVector
    """Arm of the play that each context was in at the end; -1: it was in none."""
    unfinished_rounds: IntVector
    regret: float
    played: list[int]
    """The arm of every round."""


def data_collection(
    request: Collect,
    contexts: Iterator[int],
    uniform: Draw,
    reward: Reward,
    world: World,
    policy: IntVector,
) -> Call:
    """Algorithm 2. A context that is asked nothing plays `policy` and is not in the sample."""
    L, repeats = request.rounds, request.repeats  # line 1; repeats is 2^n
    S, K = request.arms.shape
    sets = [np.flatnonzero(row).tolist() for row in request.arms]
    gap = (world.best[:, np.newaxis] - world.mean).tolist()

    plays = [[0] * K for _ in range(S)]  # line 2; D_n is where plays > 0
    mean = [[np.nan] * K for _ in range(S)]  # A-hat_n
    visits = [0] * S  # the sum of line 8, from the start of the call (reading 7)
    total = [[0.0] * K for _ in range(S)]  # the two sums of line 9, likewise
    times = [[0] * K for _ in range(S)]
    psi = policy.tolist()  # reading 10
    regret = 0.0
    played = []
    for i in range(S):  # line 3
        if sets[i]:
            psi[i] = sets[i][uniform(i, 0, len(sets[i]))]  # line 4
    for _ in range(L):  # line 5
        i = next(contexts)  # line 6
        j = psi[i]
        total[i][j] += reward(i, j)
        times[i][j] += 1
        visits[i] += 1
        regret += gap[i][j]
        played.append(j)
        # line 7: everybody's psi stays as it is
        if sets[i] and visits[i] % repeats == 0:  # line 8
            plays[i][j] += 1  # line 9; a pair drawn again pools its finished plays (reading 8)
            mean[i][j] = total[i][j] / times[i][j]
            psi[i] = sets[i][uniform(i, visits[i] // repeats, len(sets[i]))]  # line 10; reading 9

    under_way = [visits[i] % repeats if sets[i] else 0 for i in range(S)]
    return Call(  # line 11
        Sample(np.array(plays), np.array(mean)),
        np.array(visits),
        np.array([arm if count else -1 for arm, count in zip(psi, under_way, strict=True)]),
        np.array(under_way),
        regret,
        played,
    )


def from_generator(rng: np.random.Generator) -> Draw:
    """Draw arms from a numpy Generator, for comparison in law."""
    return lambda _context, _play, number: int(rng.random() * number)


def from_counter(seed: int, number: int, contexts: int) -> Draw:
    """Draw the arms that a live session with this seed draws in its request `number`."""
    keys = context_keys(request_key(seed, number), contexts)
    return lambda context, play, size: draw(keys[context], play, size)


def noise(world: World, rng: np.random.Generator, rounds: int) -> list[float]:
    """Draw what makes each round's reward random: a normal, or a uniform for Bernoulli."""
    draws = rng.random(rounds) if world.noise == "bernoulli" else rng.standard_normal(rounds)
    return [float(draw) for draw in draws]


def rewards(world: World, noise: Iterator[float]) -> Reward:
    """Return rewards that use up one number of the noise each."""
    mean = world.mean.tolist()
    if world.noise == "bernoulli":
        return lambda context, arm: float(next(noise) < mean[context][arm])
    return lambda context, arm: mean[context][arm] + world.sd * next(noise)


def in_world(
    request: Collect, world: World, rng: np.random.Generator, policy: IntVector | None = None
) -> Call:
    """Play one request in a world; everything random comes from the generator."""
    contexts = rng.choice(world.contexts, size=request.rounds, p=world.frequency).tolist()
    reward = rewards(world, iter(noise(world, rng, request.rounds)))
    idle = np.zeros(world.contexts, dtype=np.int64) if policy is None else policy
    return data_collection(request, iter(contexts), from_generator(rng), reward, world, idle)
