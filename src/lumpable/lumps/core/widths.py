"""How wide the index is: what exploring a group, and a context's own deviation, is worth now.

Reads the state; writes nothing.
"""

from __future__ import annotations

import math

from lumpable.base.arrays import FloatVector
from lumpable.learners.engine.clock import kernel
from lumpable.lumps.core.state import CEILING, OWN, REAL, RISE, STEP, TRIALS, State

WIDTH, WIDTH_LOG = 0.25, 0.03
"""The group level is explored with c^2 = WIDTH + WIDTH_LOG ln(1 + N / K)."""
SHARED = 8.0
"""Where contexts of several groups deviate, less of what a group explores is of use to them:
WIDTH counts m0 / (m0 + SHARED) times."""
AHEAD = 0.3
"""Own deviations of real rewards are explored by the Gittins index, as if this part of a context's
rounds so far were still to come."""


@kernel
def group_width(state: State, N: float, arms: int) -> float:
    """Return c^2 of the group level after N rounds with this many arms to choose from."""
    m0, width = state.value[OWN], WIDTH
    if len(state.weight) > 1 and not math.isinf(m0):
        width *= m0 / (m0 + SHARED)
    return width + WIDTH_LOG * math.log(1.0 + N / arms)


@kernel
def gittins(x: float) -> float:
    """Return the square of the Gittins index of a normal arm, in standard deviations.

    x is what is known of it now against what rounds to come will tell (Chick and Gans, "Economic
    analysis of simulation selection problems", Management Science 55(3), 2009, equation 18).
    """
    if x <= 1.0 / 7.0:
        return x / 2.0
    log = math.log(x)
    if x <= 100.0:
        b = math.exp(-0.02645 * log * log + 0.89106 * log - 0.4873)
        return b * b / x
    return 2.0 * log - math.log(log) - math.log(16.0 * math.pi)


@kernel
def eagerness(value: FloatVector, visits: float, known: float) -> float:
    """Return L_u: how much the own deviation of an arm is worth exploring to a context."""
    if value[RISE] > 0.0:  # how many times over the rounds to come pay for finding out
        return 1.0 + AHEAD * (visits + 1.0) / float(value[TRIALS])
    if value[REAL] > 0.0:
        return gittins(AHEAD * (visits + 1.0) / known)
    return math.log(1.0 + visits / known)


@kernel
def upper(value: FloatVector, level: float, square: float, own: float) -> float:
    """Return an index: its level, and as many standard deviations as exploring is worth.

    What contexts have of their own is real only up to a ceiling: no arm is much better than the
    best ones that contexts have found, so nothing above that is looked for. Where own means have
    two values, the level is the lower one, `square` what the other is more, and `own` the odds of
    it times what finding out is worth.
    """
    if value[RISE] > 0.0:
        return level + square * own / (1.0 + own)
    wide = math.sqrt(square + own)
    if value[REAL] == 0.0 or own == 0.0:
        return level + wide
    shared = math.sqrt(square)
    room: float = max(value[CEILING] - level - shared, value[STEP])
    return level + shared + room * (1.0 - math.exp((shared - wide) / room))
