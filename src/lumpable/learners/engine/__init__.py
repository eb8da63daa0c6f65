"""A learner's two steps, compiled: for whole simulations, and for one round from Python.

What the page of a learner needs of the engine is named here.
"""

from lumpable.learners.engine.caching import cached_njit as cached_njit
from lumpable.learners.engine.clock import TELLS as TELLS
from lumpable.learners.engine.clock import Clock as Clock
from lumpable.learners.engine.clock import kernel as kernel
from lumpable.learners.engine.clock import kernel_without_nan as kernel_without_nan
from lumpable.learners.engine.clock import start_choice as start_choice
from lumpable.learners.engine.draws import among as among
from lumpable.learners.engine.draws import below as below
from lumpable.learners.engine.draws import beta as beta
from lumpable.learners.engine.draws import by_log_weight as by_log_weight
from lumpable.learners.engine.draws import drawn as drawn
from lumpable.learners.engine.draws import gamma as gamma
from lumpable.learners.engine.draws import largest as largest
from lumpable.learners.engine.draws import normal as normal
from lumpable.learners.engine.draws import normals as normals
from lumpable.learners.engine.draws import uniform as uniform
from lumpable.learners.engine.entries import Kernels as Kernels
