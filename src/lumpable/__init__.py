"""Learn who is alike while you learn what works.

`import lumpable as lb`: worlds to learn in, plans that learn, executors that run them.
"""

from lumpable import bounds, pac, reductions, standard, worlds
from lumpable.budget import Budget, budget
from lumpable.cite import citation
from lumpable.extras import MissingExtra
from lumpable.plan import Belief, Bucket, Collect, Plan, Progress, Result, Sample, algorithm, replay
from lumpable.problem import PAPER, Constants, Problem
from lumpable.session import Session
from lumpable.simulate import Run, Step, exact, simulate
from lumpable.world import World

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "Belief",
    "Bucket",
    "Budget",
    "Collect",
    "Constants",
    "MissingExtra",
    "Plan",
    "Problem",
    "Progress",
    "Result",
    "Run",
    "Sample",
    "Session",
    "Step",
    "World",
    "algorithm",
    "bounds",
    "budget",
    "citation",
    "exact",
    "pac",
    "reductions",
    "replay",
    "simulate",
    "standard",
    "worlds",
]
