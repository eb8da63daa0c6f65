"""Checks of arguments: each error names the argument, what was expected and what was given.

Knows nothing of bandits. Public values and functions check here, before anything changes.
"""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest

MOST_ROUNDS = 2**63 - 1
"""More rounds than this cannot be counted in 64 bits."""
TINIEST = 1e-100
"""Below this, counts would leave the range of floats."""
Scalar = TypeVar("Scalar", bound=np.generic)


def whole(name: str, value: SupportsIndex, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; True and 3.0 are not whole numbers."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool | np.bool_) or number < low or (high is not None and number > high):
        allowed = f"a whole number of at least {low}" if high is None else f"one of {low} .. {high}"
        raise BadArgument(name, allowed, repr(value))
    return number


def count(name: str, value: float, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; a float may be whole, such as 1e10.

    >>> count("horizon", 1e10, 1)
    10000000000
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole(name, value, low, high)  # type: ignore[arg-type]


def real(name: str, value: float, expected: str, low: float, high: float) -> float:
    """Return `value` as a finite float in (low, high]; `expected` is the range in words."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    inside = low < number <= high and math.isfinite(number)
    if isinstance(value, str | bytes | bool | np.bool_) or not inside:
        raise BadArgument(name, expected, repr(value))
    return number


def accuracy(epsilon: float, delta: float) -> tuple[float, float]:
    """Return (epsilon, delta) when both lie where the paper's proofs need them (reading 11)."""
    below_one = math.nextafter(1.0, 0.0)
    epsilon = real("epsilon", epsilon, "a number in (0, 1/2]", 0.0, 0.5)
    delta = real("delta", delta, "a number in (0, 1)", 0.0, below_one)
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value < TINIEST:
            raise BadArgument(name, f"at least {TINIEST:g}", repr(value))
    return epsilon, delta


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return `value` when it is one of the allowed words."""
    if isinstance(value, str) and value in allowed:
        return value
    got = f"{value!r}{nearest(str(value), allowed)}"
    raise BadArgument(name, f"one of {', '.join(allowed)}", got)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a read-only view; the caller's own array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view
