"""Do two samples follow one law? Tests that fail only where a p-value is below 1e-9."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from lumpable.base.arrays import FloatVector

FAILS_BELOW = 1e-9
Ints = npt.NDArray[np.int64]


def alike(p: float, what: str) -> None:
    assert p >= FAILS_BELOW, f"{what}: p = {p:.3g}"


def binned(column: Ints, most: int = 6) -> Ints:
    """Return bins of about equal weight where there are more than `most` values."""
    if len(np.unique(column)) <= most:
        return column
    edges = np.unique(np.quantile(column, np.arange(1, most) / most))
    return np.searchsorted(edges, column).astype(np.int64)


def same_law(a: Ints, b: Ints, what: str) -> None:
    """Two-sample chi-square on whole rows; rare rows (fewer than 20 of both) count as one."""
    rows = np.concatenate([a, b]).reshape(len(a) + len(b), -1)
    cells = np.stack([binned(column) for column in rows.T], axis=1)
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    number = int(cell.max()) + 1
    table = np.stack([np.bincount(half, minlength=number) for half in np.split(cell, [len(a)])])
    rare = table.sum(axis=0) < 20
    rest = table[:, rare].sum(axis=1, keepdims=True)
    table = np.concatenate([table[:, ~rare], rest], axis=1)
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        alike(float(stats.chi2_contingency(table, correction=False).pvalue), what)


def same_distribution(a: FloatVector, b: FloatVector, what: str) -> None:
    """Two-sample Kolmogorov-Smirnov, if there is enough to see; ties only make it milder.

    Rounded, because sums of the same gaps in another order differ in the last bits.
    """
    a, b = np.round(a, 9), np.round(b, 9)
    if min(len(a), len(b)) >= 50:
        alike(float(stats.ks_2samp(a, b, method="asymp").pvalue), what)


def has_mean(values: npt.NDArray[np.generic], expected: npt.ArrayLike, what: str) -> None:
    """Each column's mean in units of its standard error; the normal law gives the p-value."""
    columns = values.astype(np.float64).reshape(len(values), -1)
    targets = np.asarray(expected, dtype=np.float64).reshape(-1)
    for k, (column, target) in enumerate(zip(columns.T, targets, strict=True)):
        error = column.std(ddof=1) / math.sqrt(len(column))
        distance = column.mean() - target
        if error < 1e-12:
            assert abs(distance) < 1e-9, f"{what}, column {k}: {column.mean()}, not {target}"
        else:
            alike(2 * float(stats.norm.sf(abs(distance) / error)), f"{what}, column {k}")
