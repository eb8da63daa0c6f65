"""Learn who is alike while you learn what works.

`import lumpable as lb`: worlds to learn in, plans that learn, executors that run them.
"""

from typing import TYPE_CHECKING, Any

from lumpable import bounds, learners, pac, reductions, regret, schedule, standard, worlds
from lumpable.budget import Budget, budget
from lumpable.cite import citation
from lumpable.extras import MissingExtra
from lumpable.plan import Belief, Bucket, Collect, Plan, Result, Sample, Split, algorithm
from lumpable.play import Played, play
from lumpable.problem import PAPER, Constants, Problem
from lumpable.progress import Progress, replay
from lumpable.run import Run, Side, Step, Turn
from lumpable.scene import Scene
from lumpable.simulate import exact, simulate
from lumpable.world import World

if TYPE_CHECKING:
    from lumpable.experiment.comparison import Comparison, compare
    from lumpable.lumps.exploring import PolicyFinder
    from lumpable.lumps.named import Lumps
    from lumpable.session import Session

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "Belief",
    "Bucket",
    "Budget",
    "Collect",
    "Comparison",
    "Constants",
    "Lumps",
    "MissingExtra",
    "Plan",
    "Played",
    "PolicyFinder",
    "Problem",
    "Progress",
    "Result",
    "Run",
    "Sample",
    "Scene",
    "Session",
    "Side",
    "Split",
    "Step",
    "Turn",
    "World",
    "algorithm",
    "bounds",
    "budget",
    "citation",
    "compare",
    "exact",
    "learners",
    "pac",
    "play",
    "reductions",
    "regret",
    "replay",
    "schedule",
    "simulate",
    "standard",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Import what brings files, JSON or a compiler along only when somebody names it."""
    if name == "Lumps":
        from lumpable.lumps.named import Lumps

        return Lumps
    if name == "PolicyFinder":
        from lumpable.lumps.exploring import PolicyFinder

        return PolicyFinder
    if name == "Session":
        from lumpable.session import Session

        return Session
    if name in ("Comparison", "compare"):
        from lumpable.experiment import comparison

        return getattr(comparison, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
