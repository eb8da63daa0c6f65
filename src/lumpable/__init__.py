"""Learn who is alike while you learn what works.

`import lumpable as lb`: `lb.Lumps` decides for people now; worlds to learn in, plans that learn,
executors that run them and comparisons are for research.
"""

import importlib
from typing import TYPE_CHECKING, Any

from lumpable import learners, worlds
from lumpable.base.cite import citation
from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra
from lumpable.base.version import __version__
from lumpable.plans import (
    bounds,
    compared_rates,
    lengths,
    pac,
    reductions,
    regret,
    regret_bounds,
    standard,
)
from lumpable.plans.about import About
from lumpable.plans.costs import Budget, budget
from lumpable.plans.making import algorithm
from lumpable.plans.plan import Belief, Bucket, Collect, Plan, Result, Split
from lumpable.plans.problem import PAPER, TIGHT, Constants, Problem
from lumpable.plans.progress import Progress, replay
from lumpable.plans.regret_costs import RegretBudget, regret_budget
from lumpable.plans.seen import Sample
from lumpable.runs.bulk import exact, simulate
from lumpable.runs.measures import Checkpoint
from lumpable.runs.playing import Played, play
from lumpable.runs.run import RequestRow, Run, Side, Step, Turn
from lumpable.worlds.scene import Scene
from lumpable.worlds.world import World

if TYPE_CHECKING:
    from lumpable.comparisons.comparison import Comparison, compare
    from lumpable.live.session import Session
    from lumpable.lumps.use.finder import PolicyFinder
    from lumpable.lumps.use.named import Lumps
    from lumpable.nightly.night_state import Nightly
    from lumpable.service.entering import Decided
    from lumpable.service.live_experiment import LiveExperiment
    from lumpable.service.opening import open
    from lumpable.stores.law import StoreError
    from lumpable.tables.engine_reading import evidence_from
    from lumpable.tables.events import Events
    from lumpable.tables.ingest import read_events
    from lumpable.tables.learned import Learned, learn
    from lumpable.tables.looks_in_time import value_in_time

__all__ = [
    "PAPER",
    "TIGHT",
    "About",
    "BadArgument",
    "Belief",
    "Bucket",
    "Budget",
    "Checkpoint",
    "Collect",
    "Comparison",
    "Constants",
    "Decided",
    "Events",
    "Learned",
    "LiveExperiment",
    "Lumps",
    "MissingExtra",
    "Nightly",
    "Plan",
    "Played",
    "PolicyFinder",
    "Problem",
    "Progress",
    "RegretBudget",
    "RequestRow",
    "Result",
    "Run",
    "Sample",
    "Scene",
    "Session",
    "Side",
    "Split",
    "Step",
    "StoreError",
    "Turn",
    "World",
    "__version__",
    "algorithm",
    "bounds",
    "budget",
    "citation",
    "compare",
    "compared_rates",
    "evidence_from",
    "exact",
    "learn",
    "learners",
    "lengths",
    "open",
    "pac",
    "play",
    "read_events",
    "reductions",
    "regret",
    "regret_bounds",
    "regret_budget",
    "replay",
    "simulate",
    "standard",
    "value_in_time",
    "worlds",
]

LATER = {
    "Comparison": "lumpable.comparisons.comparison",
    "Decided": "lumpable.service.entering",
    "Events": "lumpable.tables.events",
    "Learned": "lumpable.tables.learned",
    "LiveExperiment": "lumpable.service.live_experiment",
    "Lumps": "lumpable.lumps.use.named",
    "Nightly": "lumpable.nightly.night_state",
    "PolicyFinder": "lumpable.lumps.use.finder",
    "Session": "lumpable.live.session",
    "StoreError": "lumpable.stores.law",
    "compare": "lumpable.comparisons.comparison",
    "evidence_from": "lumpable.tables.engine_reading",
    "learn": "lumpable.tables.learned",
    "open": "lumpable.service.opening",
    "read_events": "lumpable.tables.ingest",
    "value_in_time": "lumpable.tables.looks_in_time",
}
"""These import files, JSON or a compiler, so they are imported only when they are used."""


def __getattr__(name: str) -> Any:
    """Import a name of `LATER` when it is first used."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(LATER[name]), name)


def __dir__() -> list[str]:
    """List all public names, including those that are imported later."""
    return sorted(__all__)
