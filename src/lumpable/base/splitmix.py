"""SplitMix64, a counter-based generator: a draw is a pure function of a key and a number.

No state is kept, so the order of the draws does not matter. Python integers and arrays; compiled
learners have the same finaliser as a kernel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import IntMatrix, IntVector

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
UNIT = 2.0**-53
UintVector = npt.NDArray[np.uint64]


def mix(z: int) -> int:
    """Return SplitMix64's finaliser of z: 64 bits in, 64 well-mixed bits out."""
    z = ((z ^ (z >> 30)) * MIX_1) & MASK
    z = ((z ^ (z >> 27)) * MIX_2) & MASK
    return z ^ (z >> 31)


def request_key(seed: int, number: int) -> int:
    """Return the key of request `number` of a session with this seed."""
    return mix((mix((seed + GOLDEN) & MASK) + (number + 1) * GOLDEN) & MASK)


def context_keys(key: int, contexts: int) -> list[int]:
    """Return a key for each context of a request."""
    return [mix((key + (i + 1) * GOLDEN) & MASK) for i in range(contexts)]


def draw(key: int, play: int, number: int) -> int:
    """Return a uniform number in 0 .. number - 1 for play `play` of the context with this key."""
    return int((mix((key + (play + 1) * GOLDEN) & MASK) >> 11) * UNIT * number)


def draws(keys: UintVector, first: IntVector, number: IntVector, plays: int) -> IntMatrix:
    """Return `draw` for `plays` plays of several contexts at once, from play `first` on."""
    play = (first[:, np.newaxis] + np.arange(1, plays + 1)).astype(np.uint64)
    z = keys[:, np.newaxis] + play * np.uint64(GOLDEN)  # wraps around, as intended
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    z = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    drawn: IntMatrix = (z * UNIT * number[:, np.newaxis]).astype(np.int64)
    return drawn
