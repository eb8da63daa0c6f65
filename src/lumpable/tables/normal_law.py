"""Whether the normal law may be trusted for a mean of numbers, most of which may be alike.

A normal interval of level 1 - alpha for a mean of n numbers holds the truth less often than it says
by about

    2 phi(z) (z^5 + 2 z^3 - 3 z) / 18 times the square of their skewness, divided by n

(P. Hall, "The bootstrap and Edgeworth expansion", 1992, section 2.5: the leading part of q_2 for
what is skewed; the part of the kurtosis is in its favour). By Cauchy and Schwarz the square of the
skewness over n is at most 1 / m, where m = (sum of squares)^2 / sum of fourth powers of the
deviations: so many equal ones would vary as much. Of rare rewards that are 0 or 1, m is how many
there are. So a lower bound on m bounds what is lost.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from lumpable.base.arrays import FloatVector

LOST = 0.2
"""Of what an interval may miss, at most this part may be missed on top: at 95 % one point."""
ALIKE = 1e-12
"""Numbers that differ by less than this part of the largest are the same, but for rounding."""


def terms(each: FloatVector, times: FloatVector) -> float:
    """Return how many equal deviations would vary as much as these do; 0 where nothing varies.

    >>> hits = np.array([0.0, 1.0])
    >>> round(terms(hits, np.array([2993.0, 7.0])), 2), terms(hits, np.array([3000.0, 0.0]))
    (7.03, 0.0)
    """
    some = each[times > 0.0]
    size = float(np.abs(some).max(initial=0.0))
    if math.isnan(size) or not len(some) or float(np.ptp(some)) <= ALIKE * size:
        return 0.0
    d2 = ((each - float(times @ each) / float(times.sum())) / size) ** 2
    return float(times @ d2) ** 2 / float(times @ d2**2)


def terms_needed(level: float) -> int:
    """Return how many terms keep the loss within `LOST`.

    >>> terms_needed(0.9), terms_needed(0.95), terms_needed(0.99)
    (10, 25, 113)
    """
    law = NormalDist()
    z = law.inv_cdf((1.0 + level) / 2.0)
    skewed = 2.0 * law.pdf(z) * (z**5 + 2.0 * z**3 - 3.0 * z) / 18.0
    return math.ceil(skewed / (LOST * (1.0 - level)))
