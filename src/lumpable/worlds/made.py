"""Problems to learn in: lumpable, low rank, the paper's hard instances, or a matrix of your own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import short
from lumpable.worlds import surveys, tabular
from lumpable.worlds.noises import Noise
from lumpable.worlds.world import World, checked_frequency, checked_mean

MOST_PAIRS = 10**15
"""More pairs of a context and an arm than any memory holds."""


def lumpable(
    contexts: int,
    arms: int,
    groups: int,
    *,
    sizes: str | Sequence[int] = "equal",
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "gaussian",
    sd: float = 1.0,
    means: str | npt.ArrayLike = "uniform",
    gap: float = 0.4,
    deviation: float = 0.0,
    seed: int,
) -> World:
    """Hide groups among contexts: contexts of one group have the same mean rewards.

    Parameters
    ----------
    sizes
        Contexts in each group: `equal`, `geometric` (each half of the one before), `giant` (one
        group holds all but r - 1 contexts) or a list of numbers.
    frequency
        How often each context comes: `uniform`, `zipf` (the k-th of a random order in proportion
        to 1/k) or a list of numbers that add up to 1; zero is allowed.
    means
        Means of each group: `uniform` on [0, 1], `hard` (1/2, and `gap` more for one random arm of
        each group) or a (groups, arms) array.
    deviation
        Standard deviation of each context's own means around those of its group; they are cut off
        at the ends of [0, 1]. `group` still names the groups.

    >>> world = lumpable(contexts=6, arms=4, groups=2, seed=1)
    >>> world
    World(lumpable, contexts=6, arms=4, groups=2, gaussian, sd=1)
    >>> world.loss(world.policy)
    0.0
    """
    S, K = size(contexts, arms)
    r = checks.whole("groups", groups, 1, S)
    rng = generator(seed)
    group = rng.permutation(np.repeat(np.arange(r), _sizes(sizes, S, r)))
    group_mean = _group_means(means, r, K, gap, rng)
    nu = frequencies(frequency, S, rng)
    mean = group_mean[group]
    if checks.real("deviation", deviation, "a number in [0, 1]", -1e-300, 1.0) > 0:
        mean = np.clip(mean + deviation * rng.standard_normal((S, K)), 0.0, 1.0)
    return World(mean, nu, group, noise, sd, "lumpable")


def low_rank(
    contexts: int,
    arms: int,
    rank: int,
    *,
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "gaussian",
    sd: float = 1.0,
    seed: int,
) -> World:
    """Mix types: each context is a random mixture of `rank` types with means uniform on [0, 1].

    No two contexts are alike, so each is its own group.
    """
    S, K = size(contexts, arms)
    rng = generator(seed)
    mixture = rng.dirichlet(np.ones(checks.whole("rank", rank, 1, min(S, K))), size=S)
    mean = mixture @ rng.random((mixture.shape[1], K))
    nu = frequencies(frequency, S, rng)
    return World(np.clip(mean, 0.0, 1.0), nu, np.arange(S), noise, sd, f"rank {rank}")


def hard(
    case: int,
    contexts: int,
    arms: int,
    groups: int,
    *,
    epsilon: float,
    gap: float | None = None,
    seed: int,
) -> World:
    """Make one of the three instances of Theorem 3: Bernoulli 1/2, one better arm in each group.

    Case 1 (r >= K): a context's good arm is uniform on all arms. Case 2: uniform on the first r
    arms. Case 3: only the first r contexts ever come, and each group's good arm is uniform on all
    arms. With the printed gap epsilon every policy would be epsilon-optimal, so the gap is
    4 epsilon unless given (reading 36).
    """
    case = checks.whole("case", case, 1, 3)
    S, K = size(contexts, arms)
    r = checks.whole("groups", groups, 2, S)
    if (case == 1 and r < K) or (case == 2 and r > K):
        needs = f"case {case} needs at {'least' if case == 1 else 'most'} as many groups as arms"
        raise BadArgument("groups", why=f"{needs} ({K}), got {r}")
    checks.real("epsilon", epsilon, "a number in (0, 1/8]", 0.0, 0.125)
    gap = checks.real("gap", 4 * epsilon if gap is None else gap, "in (0, 1/2]", 0.0, 0.5)
    rng = generator(seed)
    nu = np.full(S, 1 / S)
    if case == 3:
        group = np.minimum(np.arange(S), r - 1)
        good_arm = rng.integers(K, size=r)
        nu = np.where(np.arange(S) < r, 1 / r, 0.0)
    else:
        kinds = K if case == 1 else r
        group, good_arm = rng.integers(kinds, size=S), np.arange(kinds)
    mean = np.full((len(good_arm), K), 0.5)
    mean[np.arange(len(good_arm)), good_arm] += gap
    return World(mean[group], nu, group, "bernoulli", name=f"hard instance {case}")


def from_matrix(
    mean: npt.ArrayLike,
    *,
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "gaussian",
    sd: float = 1.0,
    seed: int = 0,
) -> World:
    """Use a (contexts, arms) array of means; contexts with equal rows are one group.

    >>> from_matrix([[0.1, 0.9], [0.8, 0.2], [0.1, 0.9]]).group
    array([0, 1, 0])
    """
    return _from_means(mean, frequency, noise, sd, seed)


def survey(
    name: str, *, contexts: int | None = None, noise: Noise = "bernoulli", seed: int = 0
) -> World:
    """Use people's answers in a survey as their mean rewards: there are no true groups here.

    Parameters
    ----------
    name
        `bfi` (25 personality items) or `gss` (18 kinds of public spending).
    contexts
        How many people, drawn by the seed; everybody unless given.

    >>> survey("gss", contexts=100, seed=1)
    World(gss survey, contexts=100, arms=18, groups=100, bernoulli)
    """
    mean = surveys.answers(name)
    if contexts is not None:
        S = checks.whole("contexts", contexts, 1, len(mean))
        mean = mean[generator(seed).choice(len(mean), size=S, replace=False)]
    nu = np.full(len(mean), 1 / len(mean))
    return World(mean, nu, _equal_rows(mean), noise, name=f"{name} survey")


def from_frame(
    frame: Any,
    *,
    context: str = "context",
    arm: str = "arm",
    mean: str = "mean",
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "gaussian",
    sd: float = 1.0,
    seed: int = 0,
) -> World:
    """Use a frame of (context, arm, mean) from pandas, polars, pyarrow or any that narwhals knows.

    Contexts and arms keep their names, in order of first appearance. Each pair must occur once.
    """
    table = tabular.from_frame(frame, (context, arm, mean))
    return _from_means(table.mean, frequency, noise, sd, seed, "table", table.contexts, table.arms)


def read(
    path: str | Path,
    *,
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "gaussian",
    sd: float = 1.0,
    seed: int = 0,
) -> World:
    """Read a matrix of means from a CSV, Parquet, npz or npy file.

    A *long* table has the columns context, arm and mean, and each pair once. A *wide* one has a row
    for each context, with its name first, and a column for each arm; in CSV the header names the
    arms. An npz file has an array `mean` and may have names, `contexts` and `arms`; without them,
    or in an npy file, there is one array and no names.
    """
    table = tabular.read(Path(path))
    return _from_means(table.mean, frequency, noise, sd, seed, "table", table.contexts, table.arms)


def _from_means(
    mean: npt.ArrayLike,
    frequency: str | npt.ArrayLike,
    noise: Noise,
    sd: float,
    seed: int,
    *names: Any,
) -> World:
    checked = checked_mean(mean)
    nu = frequencies(frequency, len(checked), generator(seed))
    return World(checked, nu, _equal_rows(checked), noise, sd, *names)


def size(contexts: int, arms: int) -> tuple[int, int]:
    """Return S and K if memory could hold a matrix of that size."""
    S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
    if S * K > MOST_PAIRS:
        raise BadArgument("contexts and arms", f"at most {short(MOST_PAIRS)} pairs", "more")
    return S, K


def generator(seed: int) -> np.random.Generator:
    """Return the generator of a world with this seed."""
    return np.random.default_rng(checks.whole("seed", seed, 0))


def _equal_rows(mean: FloatMatrix) -> IntVector:
    """Number the distinct rows in order of first appearance."""
    _, first, inverse = np.unique(mean, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.reshape(-1)]


def frequencies(
    frequency: str | npt.ArrayLike, contexts: int, rng: np.random.Generator
) -> FloatVector:
    """Return how often each context comes, from a word or from numbers."""
    if not isinstance(frequency, str):
        return checked_frequency(frequency, contexts)
    checks.choice("frequency", frequency, ("uniform", "zipf"))
    if frequency == "uniform":
        return np.full(contexts, 1 / contexts)
    nu: FloatVector = 1 / rng.permutation(np.arange(1, contexts + 1))
    nu /= nu.sum()
    return nu


def _sizes(sizes: str | Sequence[int], contexts: int, groups: int) -> list[int]:
    S, r = contexts, groups
    if not isinstance(sizes, str):
        if not isinstance(sizes, Iterable):
            raise BadArgument("sizes", f"{r} numbers that add up to {S}", repr(sizes))
        given = [checks.whole("sizes", size, 1) for size in sizes]
        if len(given) != r or sum(given) != S:
            raise BadArgument("sizes", f"{r} numbers that add up to {S}", f"{list(sizes)}")
        return given
    checks.choice("sizes", sizes, ("equal", "geometric", "giant"))
    if sizes == "giant":
        return [S - r + 1] + [1] * (r - 1)
    if sizes == "equal":
        return [S // r + (b < S % r) for b in range(r)]
    share = np.array([0.5**b for b in range(r)])
    cut = np.floor((S - r) * share / share.sum()).astype(int) + 1  # no group is empty
    cut[0] += S - int(cut.sum())
    return [int(size) for size in cut]


def _group_means(
    means: str | npt.ArrayLike, groups: int, arms: int, gap: float, rng: np.random.Generator
) -> FloatMatrix:
    if not isinstance(means, str):
        given = checked_mean(means)
        if given.shape != (groups, arms):
            raise BadArgument("means", f"shape {(groups, arms)}", f"{given.shape}")
        return given
    checks.choice("means", means, ("uniform", "hard"))
    if means == "uniform":
        return rng.random((groups, arms))
    mean = np.full((groups, arms), 0.5)
    mean[np.arange(groups), rng.integers(arms, size=groups)] += checks.real(
        "gap", gap, "a number in (0, 1/2]", 0.0, 0.5
    )
    return mean
