"""The clock of a compiled learner: its seed, the number of tells, and its stream of random bits.

Every choice and every update begins a stream of its own: a pure function of the seed, the number of
tells and, in a choice, the context. So `ask` asked twice answers the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from lumpable.base import splitmix
from lumpable.learners.engine.inner import Inner

Function = TypeVar("Function", bound=Callable[..., Any])
Clock = npt.NDArray[np.uint64]
"""Key of the seed, number of tells, position of the random stream, each 64 bits."""
SEED, TELLS, STREAM = 0, 1, 2
GOLDEN = np.uint64(splitmix.GOLDEN)
MIX_1, MIX_2 = np.uint64(splitmix.MIX_1), np.uint64(splitmix.MIX_2)


def kernel(function: Function) -> Function:
    """Compile a function where compiled code calls it; division by zero gives infinity or NaN.

    Loops compile fast. An array written to a slice of another one takes seconds, most of them for
    the message if their lengths should differ.
    """
    compiled: Any = Inner(function, targetoptions={"error_model": "numpy"})
    return cast(Function, compiled)


def kernel_without_nan(function: Function) -> Function:
    """Compile a function in which no NaN ever appears: maxima are taken several at a time."""
    options = {"error_model": "numpy", "fastmath": {"nnan", "nsz"}}
    compiled: Any = Inner(function, targetoptions=options)
    return cast(Function, compiled)


def seeded(seed: int) -> Clock:
    """Return the clock of a learner with this seed and no tells."""
    return np.array([splitmix.mix((seed + splitmix.GOLDEN) & splitmix.MASK), 0, 0], dtype=np.uint64)


@kernel
def mixed(z: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: 64 bits in, 64 well-mixed bits out."""
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def start_choice(clock: Clock, context: int) -> None:
    """Begin the stream of a choice: a function of the seed, the number of tells and the context."""
    clock[2] = mixed(clock[0] + (np.uint64(2) * clock[1] + np.uint64(1)) * GOLDEN)
    clock[2] = mixed(clock[2] + np.uint64(context + 1) * GOLDEN)


@kernel
def start_update(clock: Clock) -> None:
    """Begin the stream of an update: a function of the seed and the number of tells."""
    clock[2] = mixed(clock[0] + (np.uint64(2) * clock[1] + np.uint64(2)) * GOLDEN)
