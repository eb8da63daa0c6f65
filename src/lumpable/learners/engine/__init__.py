"""A learner's two steps, compiled: for whole simulations, and for one round from Python.

What the page of a learner needs of the engine is named here.
"""

from lumpable.learners.engine.caching import cached_njit
from lumpable.learners.engine.clock import TELLS, Clock, kernel, kernel_without_nan, start_choice
from lumpable.learners.engine.draws import (
    among,
    below,
    beta,
    by_log_weight,
    drawn,
    gamma,
    largest,
    normal,
    normals,
    uniform,
)
from lumpable.learners.engine.entries import Kernels

__all__ = [
    "TELLS",
    "Clock",
    "Kernels",
    "among",
    "below",
    "beta",
    "by_log_weight",
    "cached_njit",
    "drawn",
    "gamma",
    "kernel",
    "kernel_without_nan",
    "largest",
    "normal",
    "normals",
    "start_choice",
    "uniform",
]
