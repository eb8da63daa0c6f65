"""Worlds in which every method must lose: those of lower bounds, and arms that hide.

Their gaps are made for a number of rounds: much smaller ones cost little, much larger ones are soon
found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.worlds import made
from lumpable.worlds.noises import Noise
from lumpable.worlds.world import World


def lower_bound(
    case: int,
    contexts: int,
    arms: int,
    groups: int,
    *,
    rounds: int | float,
    gap: float | None = None,
    seed: int,
) -> World:
    """Make one of the three worlds of the lower bound on regret: Bernoulli 1/2, one better arm.

    Each is m bandits with k arms that come equally often. Case 1 (r >= K): each context likes one
    of all K arms, at random. Case 2 (r < K): each context likes one of the first r arms. Case 3
    (r < K): context i is in group i mod r, and each group likes one of all K arms.

    Parameters
    ----------
    rounds
        T, for which the gap is made: sqrt(3mk/(8T)) / 4, with m k = SK, Sr and rK in the three
        cases (case 3 where r does not divide S: sqrt(rK/(4T)) / 4).
    gap
        How much better the good arm is, if not that; at most 1/2.

    >>> world = lower_bound(2, contexts=6, arms=4, groups=3, rounds=10**6, seed=1)
    >>> world, f"{world.best[0] - 0.5:.2g}"
    (World(lower bound 2, contexts=6, arms=4, groups=3, bernoulli), '0.00065')
    """
    case = checks.whole("case", case, 1, 3)
    S, K = made.size(contexts, arms)
    if K < 2:
        raise BadArgument("arms", "a whole number of at least 2", repr(arms))
    r = checks.whole("groups", groups, 2, S)
    if (case == 1) != (r >= K):
        needs = f"case {case} needs {'at least as many' if case == 1 else 'fewer'} groups"
        raise BadArgument(
            "groups", why=f"{needs} {'as' if case == 1 else 'than'} arms ({K}), got {r}"
        )
    T = checks.count("rounds", rounds, 1, checks.MOST_ROUNDS)
    given = lower_bound_gap(case, S, K, r, T) if gap is None else gap
    D = checks.real("gap", given, "a number in (0, 1/2]", 0.0, 0.5)
    rng = made.generator(seed)
    if case == 3:
        group = np.arange(S) % r
        good_arm = rng.integers(K, size=r)
    else:
        good_arm = np.arange(K if case == 1 else r)
        group = rng.integers(len(good_arm), size=S)
    mean = np.full((len(good_arm), K), 0.5)
    mean[np.arange(len(good_arm)), good_arm] += D
    nu = np.full(S, 1 / S)
    return World(mean[group], nu, group, "bernoulli", name=f"lower bound {case}")


def lower_bound_gap(case: int, contexts: int, arms: int, groups: int, rounds: int) -> float:
    """Return D of the lower bound, at most 1/4: the gap that is hardest for so many rounds."""
    S, K, r = contexts, arms, groups
    size = 3 / 8 * {1: S * K, 2: S * r, 3: r * K}[case]
    if case == 3 and S % r:
        size = r * K / 4
    return min(0.25, math.sqrt(size / rounds) / 4)


def hidden_arms(
    contexts: int,
    arms: int,
    groups: int,
    *,
    rounds: int | float,
    units: float = 40.0,
    sizes: str | Sequence[int] = "equal",
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "gaussian",
    sd: float = 1.0,
    seed: int,
) -> World:
    """Hide one arm for each group: one arm is fairly good for everybody, all others are bad.

    A random arm has mean 1/2 on every context. The best arm of each group has `gap` more, all other
    arms have `gap` less; groups have different best arms as long as there are enough.

    Parameters
    ----------
    rounds, units
        gap = units x sqrt(r (S + K) / T), T = `rounds`: in such units the gap that costs a method
        most depends little on S, K, r and T. A gap above 1/2 is refused.
    sizes, frequency, noise, sd
        As in `lumpable`.

    >>> world = hidden_arms(contexts=6, arms=4, groups=2, rounds=10**6, units=10, seed=1)
    >>> sorted({f"{mean:.3f}" for mean in world.mean.flat})
    ['0.455', '0.500', '0.545']
    """
    S, K = made.size(contexts, arms)
    if K < 2:
        raise BadArgument("arms", "a whole number of at least 2", repr(arms))
    r = checks.whole("groups", groups, 1, S)
    T = checks.count("rounds", rounds, 1, checks.MOST_ROUNDS)
    checks.real("units", units, "a positive number", 0.0, math.inf)
    gap = units * math.sqrt(r * (S + K) / T)
    if gap > 0.5:
        most = 0.5 / math.sqrt(r * (S + K) / T)
        raise BadArgument("units", f"at most {most:.3g} for {T:g} rounds (gap 1/2)", f"{units:g}")
    order = np.random.default_rng([checks.whole("seed", seed, 0), 1]).permutation(K)
    means = np.full((r, K), 0.5 - gap)
    means[:, order[0]] = 0.5
    means[np.arange(r), order[1 + np.arange(r) % (K - 1)]] = 0.5 + gap
    world = made.lumpable(
        S, K, r, sizes=sizes, frequency=frequency, noise=noise, sd=sd, means=means, seed=seed
    )
    return World(world.mean, world.frequency, world.group, noise, sd, "hidden arms")
