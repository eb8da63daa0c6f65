"""Problems to learn in: lumpable, low rank, the paper's hard instances, or a matrix of your own.

A world knows the truth (means, groups, frequencies, noise) and can judge a policy. It knows no
algorithm; learners never see it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from lumpable import checks
from lumpable.checks import FloatMatrix, FloatVector, IntVector
from lumpable.extras import need

NOISES = ("gaussian", "bernoulli")


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """Mean rewards, groups, context frequencies and noise; everything that a learner must find out.

    Means of one context span at most 1 (reading 3): another scale is an error that says by what to
    divide.
    """

    mean: FloatMatrix
    frequency: FloatVector
    group: IntVector
    noise: str = "gaussian"
    sd: float = 1.0
    """Standard deviation of Gaussian noise."""
    name: str = "matrix"
    context_names: tuple[Hashable, ...] = field(default=())
    """Names of the contexts, where they came with names."""
    arm_names: tuple[Hashable, ...] = field(default=())

    def __post_init__(self) -> None:
        mean = _checked_mean(self.mean)
        checks.choice("noise", self.noise, NOISES)
        if self.noise == "bernoulli" and (mean.min() < 0 or mean.max() > 1):
            low, high = mean.min(), mean.max()
            raise ValueError(f"mean: Bernoulli needs means in [0, 1], got {low:g} .. {high:g}")
        if self.sd != 0:
            checks.real("sd", self.sd, "a finite number of at least 0", 0.0, math.inf)
        frequency = _checked_frequency(self.frequency, len(mean))
        group = np.array(self.group)
        if group.shape != (len(mean),) or group.dtype.kind not in "iu" or group.min() < 0:
            raise ValueError(f"group: expected {len(mean)} group numbers, got {self.group!r}")
        for name, value in (("mean", mean), ("frequency", frequency), ("group", group)):
            object.__setattr__(self, name, checks.frozen(value))

    def __repr__(self) -> str:
        noise = f"gaussian, sd={self.sd:g}" if self.noise == "gaussian" else self.noise
        size = f"contexts={self.contexts}, arms={self.arms}, groups={self.groups}"
        return f"World({self.name}, {size}, {noise})"

    @property
    def contexts(self) -> int:
        """S, the number of contexts."""
        return int(self.mean.shape[0])

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return int(self.mean.shape[1])

    @property
    def groups(self) -> int:
        """r, the number of groups, also those that have no context."""
        return int(self.group.max()) + 1

    @cached_property
    def group_frequency(self) -> FloatVector:
        """omega: how often each group comes."""
        omega: FloatVector = np.zeros(self.groups)
        np.add.at(omega, self.group, self.frequency)
        return omega

    @cached_property
    def policy(self) -> IntVector:
        """An optimal policy: each context's best arm, the first of several."""
        arms: IntVector = np.argmax(self.mean, axis=1)
        return arms

    @cached_property
    def best(self) -> FloatVector:
        """Each context's largest mean."""
        largest: FloatVector = self.mean.max(axis=1)
        return largest

    def reward(self, context: int, arm: int, rng: np.random.Generator) -> float:
        """Draw one reward, for playing round by round."""
        mean = float(self.mean[context, arm])
        if self.noise == "bernoulli":
            return float(rng.random() < mean)
        return mean + self.sd * rng.standard_normal()

    def loss(self, policy: npt.ArrayLike) -> float:
        """Return how far the mean reward of this policy is below the best one's."""
        return float(self.frequency @ self.loss_by_context(policy))

    def loss_by_context(self, policy: npt.ArrayLike) -> FloatVector:
        """Return each context's loss under this policy."""
        arms = np.asarray(policy)
        if arms.shape != (self.contexts,) or arms.dtype.kind not in "iu":
            raise ValueError(f"policy: expected {self.contexts} arms, got {_shape(arms)}")
        if arms.min() < 0 or arms.max() >= self.arms:
            wrong = int(arms[(arms < 0) | (arms >= self.arms)][0])
            raise ValueError(f"policy: expected arms 0 .. {self.arms - 1}, got {wrong}")
        loss: FloatVector = self.best - self.mean[np.arange(self.contexts), arms]
        return loss


def lumpable(
    contexts: int,
    arms: int,
    groups: int,
    *,
    sizes: str | Sequence[int] = "equal",
    frequency: str | npt.ArrayLike = "uniform",
    noise: str = "gaussian",
    sd: float = 1.0,
    means: str | npt.ArrayLike = "uniform",
    gap: float = 0.4,
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
        Means of each group: `uniform` on [0, 1], `hard` (1/2, and `gap` more for one arm that is
        drawn for each group) or a (groups, arms) array.

    >>> world = lumpable(contexts=6, arms=4, groups=2, seed=1)
    >>> world
    World(lumpable, contexts=6, arms=4, groups=2, gaussian, sd=1)
    >>> world.loss(world.policy)
    0.0
    """
    S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
    r = checks.whole("groups", groups, 1, S)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    group = rng.permutation(np.repeat(np.arange(r), _sizes(sizes, S, r)))
    group_mean = _group_means(means, r, K, gap, rng)
    nu = _frequencies(frequency, S, rng)
    return World(group_mean[group], nu, group, noise, sd, "lumpable")


def low_rank(
    contexts: int,
    arms: int,
    rank: int,
    *,
    frequency: str | npt.ArrayLike = "uniform",
    noise: str = "gaussian",
    sd: float = 1.0,
    seed: int,
) -> World:
    """Mix types: each context is a random mixture of `rank` types with means uniform on [0, 1].

    No two contexts are alike, so each is its own group.
    """
    S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    mixture = rng.dirichlet(np.ones(checks.whole("rank", rank, 1, min(S, K))), size=S)
    mean = mixture @ rng.random((mixture.shape[1], K))
    nu = _frequencies(frequency, S, rng)
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
    """The three instances of the lower bound (Theorem 3): Bernoulli 1/2, one arm a group better.

    Case 1 (r >= K): a context's good arm is uniform on all arms. Case 2: uniform on the first r
    arms. Case 3: only the first r contexts ever come, and each group's good arm is uniform on all
    arms. With the printed gap epsilon every policy would be epsilon-optimal, so the gap is
    4 epsilon unless given (reading 36).
    """
    case = checks.whole("case", case, 1, 3)
    S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
    r = checks.whole("groups", groups, 2, S)
    if case == 1 and r < K:
        raise ValueError(f"groups: case 1 needs at least as many groups as arms ({K}), got {r}")
    if case == 2 and r > K:
        raise ValueError(f"groups: case 2 needs at most as many groups as arms ({K}), got {r}")
    checks.real("epsilon", epsilon, "a number in (0, 1/8]", 0.0, 0.125)
    gap = checks.real("gap", 4 * epsilon if gap is None else gap, "in (0, 1/2]", 0.0, 0.5)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
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
    noise: str = "gaussian",
    sd: float = 1.0,
    seed: int = 0,
) -> World:
    """Use a (contexts, arms) array of means; contexts with equal rows are one group.

    >>> from_matrix([[0.1, 0.9], [0.8, 0.2], [0.1, 0.9]]).group
    array([0, 1, 0])
    """
    checked = _checked_mean(mean)
    nu = _frequencies(frequency, len(checked), np.random.default_rng(seed))
    return World(checked, nu, _equal_rows(checked), noise, sd)


def from_frame(
    frame: Any,
    *,
    context: str = "context",
    arm: str = "arm",
    mean: str = "mean",
    frequency: str | npt.ArrayLike = "uniform",
    noise: str = "gaussian",
    sd: float = 1.0,
    seed: int = 0,
) -> World:
    """Use a frame of (context, arm, mean) from pandas, polars, pyarrow or any that narwhals knows.

    Contexts and arms keep their names, in order of first appearance. Every pair must be there once.
    """
    table = nw.from_native(frame, eager_only=True)
    for column in (context, arm, mean):
        if column not in table.columns:
            raise ValueError(f"frame: expected a column {column!r}, got {table.columns}")
    rows = zip(*(table[column].to_list() for column in (context, arm, mean)), strict=True)
    return _from_rows(rows, frequency, noise, sd, seed)


def read(
    path: str | Path,
    *,
    frequency: str | npt.ArrayLike = "uniform",
    noise: str = "gaussian",
    sd: float = 1.0,
    seed: int = 0,
) -> World:
    """Read a CSV or Parquet file with the columns context, arm and mean."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"path: expected a CSV or Parquet file, got {str(path)!r}, which is none")
    if path.suffix == ".parquet":
        parquet = need("pyarrow.parquet", "research", "reading Parquet files")
        table = parquet.read_table(path)
        return from_frame(table, frequency=frequency, noise=noise, sd=sd, seed=seed)
    if path.suffix != ".csv":
        raise ValueError(f"path: expected a name that ends in .csv or .parquet, got {path.name!r}")
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        if not {"context", "arm", "mean"} <= set(table.fieldnames or ()):
            raise ValueError(f"path: expected columns context, arm, mean, got {table.fieldnames}")
        rows = [(row["context"], row["arm"], _number(row["mean"])) for row in table]
    return _from_rows(rows, frequency, noise, sd, seed)


def _from_rows(
    rows: Iterable[tuple[Hashable, Hashable, float]],
    frequency: str | npt.ArrayLike,
    noise: str,
    sd: float,
    seed: int,
) -> World:
    contexts: dict[Hashable, int] = {}
    arms: dict[Hashable, int] = {}
    cells: dict[tuple[int, int], float] = {}
    for context, arm, value in rows:
        cell = contexts.setdefault(context, len(contexts)), arms.setdefault(arm, len(arms))
        if cell in cells:
            raise ValueError(f"rows: expected each pair once, got {(context, arm)} twice")
        cells[cell] = math.nan if value is None else value
    if not cells:
        raise ValueError("rows: expected at least one (context, arm, mean), got none")
    mean = np.full((len(contexts), len(arms)), math.nan)
    for (i, j), value in cells.items():
        mean[i, j] = value
    if np.isnan(mean).any():
        i, j = np.argwhere(np.isnan(mean))[0]
        pair = tuple(contexts)[i], tuple(arms)[j]
        raise ValueError(f"rows: expected a mean for every pair, got none for {pair}")
    nu = _frequencies(frequency, len(mean), np.random.default_rng(seed))
    group = _equal_rows(_checked_mean(mean))
    return World(mean, nu, group, noise, sd, "table", tuple(contexts), tuple(arms))


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        raise ValueError(f"mean: expected a number, got {text!r}") from None


def _equal_rows(mean: FloatMatrix) -> IntVector:
    """Number the distinct rows in order of first appearance."""
    _, first, inverse = np.unique(mean, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.reshape(-1)]


def _checked_mean(mean: npt.ArrayLike) -> FloatMatrix:
    try:
        matrix = np.array(mean, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"mean: expected a (contexts, arms) array, got {mean!r}") from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"mean: expected a (contexts, arms) array, got {_shape(matrix)}")
    bad = ~np.isfinite(matrix)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        value = matrix[i, j]
        raise ValueError(f"mean: expected finite numbers, got {value} at context {i}, arm {j}")
    span = matrix.max(axis=1) - matrix.min(axis=1)
    if span.max() > 1 + 1e-12:
        i = int(np.argmax(span))
        raise ValueError(
            f"mean: expected means of one context to span at most 1, got {span[i]:g} "
            f"at context {i}; divide the means and the sd by {span[i]:g}"
        )
    return matrix


def _checked_frequency(frequency: npt.ArrayLike, contexts: int) -> FloatVector:
    nu = np.array(frequency, dtype=np.float64)
    if nu.shape != (contexts,):
        raise ValueError(f"frequency: expected {contexts} numbers, got {_shape(nu)}")
    if not np.isfinite(nu).all() or nu.min() < 0:
        raise ValueError(f"frequency: expected no negative or missing number, got {nu.min()}")
    if abs(nu.sum() - 1) > 1e-9:
        raise ValueError(f"frequency: expected numbers that add up to 1, got {nu.sum()}")
    nu /= nu.sum()
    return nu


def _frequencies(
    frequency: str | npt.ArrayLike, contexts: int, rng: np.random.Generator
) -> FloatVector:
    if not isinstance(frequency, str):
        return _checked_frequency(frequency, contexts)
    checks.choice("frequency", frequency, ("uniform", "zipf"))
    if frequency == "uniform":
        return np.full(contexts, 1 / contexts)
    nu: FloatVector = 1 / rng.permutation(np.arange(1, contexts + 1))
    nu /= nu.sum()
    return nu


def _sizes(sizes: str | Sequence[int], contexts: int, groups: int) -> list[int]:
    S, r = contexts, groups
    if not isinstance(sizes, str):
        given = [checks.whole("sizes", size, 1) for size in sizes]
        if len(given) != r or sum(given) != S:
            raise ValueError(f"sizes: expected {r} numbers that add up to {S}, got {list(sizes)}")
        return given
    checks.choice("sizes", sizes, ("equal", "geometric", "giant"))
    if sizes == "giant":
        return [S - r + 1] + [1] * (r - 1)
    if sizes == "equal":
        return [S // r + (b < S % r) for b in range(r)]
    share = np.array([0.5**b for b in range(r)])
    cut = np.floor((S - r) * share / share.sum()).astype(int) + 1  # nobody is left empty
    cut[0] += S - int(cut.sum())
    return [int(size) for size in cut]


def _group_means(
    means: str | npt.ArrayLike, groups: int, arms: int, gap: float, rng: np.random.Generator
) -> FloatMatrix:
    if not isinstance(means, str):
        given = _checked_mean(means)
        if given.shape != (groups, arms):
            raise ValueError(f"means: expected shape {(groups, arms)}, got {given.shape}")
        return given
    checks.choice("means", means, ("uniform", "hard"))
    if means == "uniform":
        return rng.random((groups, arms))
    mean = np.full((groups, arms), 0.5)
    mean[np.arange(groups), rng.integers(arms, size=groups)] += checks.real(
        "gap", gap, "a number in (0, 1/2]", 0.0, 0.5
    )
    return mean


def _shape(array: npt.NDArray[Any]) -> str:
    return f"an array of shape {array.shape} and type {array.dtype}"
