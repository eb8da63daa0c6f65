"""Learn who is alike while you learn what works.

`import lumpable as lb`: worlds to learn in, plans that learn, executors that run them.
"""

from typing import TYPE_CHECKING, Any

from lumpable import bounds, pac, reductions, standard, worlds
from lumpable.budget import Budget, budget
from lumpable.cite import citation
from lumpable.extras import MissingExtra
from lumpable.plan import Belief, Bucket, Collect, Plan, Progress, Result, Sample, algorithm, replay
from lumpable.problem import PAPER, Constants, Problem
from lumpable.simulate import Run, Step, exact, simulate
from lumpable.world import World

if TYPE_CHECKING:
    from lumpable.session import Session

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


def __getattr__(name: str) -> Any:
    """Import what brings files and JSON along only when somebody plays live."""
    if name == "Session":
        from lumpable.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
