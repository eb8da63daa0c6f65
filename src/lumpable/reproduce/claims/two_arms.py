"""The best that anybody can do with two arms, exactly: one of them has mean 1/2 + gap, one 1/2.

Which one is better is a fair coin, and all else is known. By dynamic programming: after any plays
the chances depend only on how many more successes, and how many more failures, the first arm had
than the second.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import FloatVector


def least_error(gap: float, visits: int) -> FloatVector:
    """Return the least probability of a wrong last guess after 0 .. `visits` plays of any kind.

    >>> least_error(0.25, 2)
    array([0.5    , 0.375  , 0.34375])
    """
    return _least(gap, visits, 0.0)


def least_regret(gap: float, visits: int) -> FloatVector:
    """Return the least expected regret of 0 .. `visits` plays.

    >>> least_regret(0.25, 2)
    array([0.     , 0.125  , 0.21875])
    """
    return _least(gap, visits, gap)


def _least(gap: float, visits: int, price: float) -> FloatVector:
    """Return the least cost of 0 .. `visits` plays: `price` for a bad play, or 1 for a bad guess.

    With a price there is no guess. The grid loses its rim with every play that is looked ahead.
    """
    more = np.arange(-visits, visits + 1)
    successes, failures = np.log1p(2 * gap), np.log1p(-2 * gap)
    odds = more[:, np.newaxis] * successes + more * failures
    first = 1 / (1 + np.exp(-odds))  # the first arm is the good one
    left = np.zeros_like(first) if price else np.minimum(first, 1 - first)
    found = [left[visits, visits]]
    for _ in range(visits):
        first = first[1:-1, 1:-1]
        one, two = 0.5 + gap * first, 0.5 + gap * (1 - first)
        left = np.minimum(
            price * (1 - first) + one * left[2:, 1:-1] + (1 - one) * left[1:-1, 2:],
            price * first + two * left[:-2, 1:-1] + (1 - two) * left[1:-1, :-2],
        )
        found.append(left[left.shape[0] // 2, left.shape[0] // 2])
    return np.array(found)
