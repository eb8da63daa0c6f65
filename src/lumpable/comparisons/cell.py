"""One cell of a comparison: a learner, a world, a horizon and a seed in, rows out.

A cell is a small value that can be sent to another process or machine. The world, the tape and the
learner's own luck are pure functions of its seed, so all learners of one world and seed meet the
same contexts and the same noise. Knows no algorithm, no file and no other cell.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra, need
from lumpable.base.version import __version__
from lumpable.comparisons import roster
from lumpable.comparisons.jobs import is_interrupt
from lumpable.comparisons.parquet import WHAT
from lumpable.comparisons.rows import KEY, Key, Row
from lumpable.runs.measures import Checkpoint, Misbehaved
from lumpable.worlds.scene import Scene
from lumpable.worlds.world import World

KINDS: dict[str, str] = {
    "lumpable": "lumpable",
    "low_rank": "low_rank",
    "levels": "with_levels",
    "two_point": "two_point",
    "blocs": "blocs",
    "tastes": "tastes",
    "hard": "hard",
    "lower_bound": "lower_bound",
    "hidden_arms": "hidden_arms",
    "matrix": "from_matrix",
    "table": "read",
    "survey": "survey",
}
"""Kinds of worlds, and the functions of `lumpable.worlds` that make them."""
GIVEN = "given"
"""The kind of a world that is handed over itself, not described."""


@dataclass(frozen=True, slots=True)
class LearnerSpec:
    """A learner of a comparison: its label and how it is made."""

    label: str
    name: str | Callable[..., Any]
    """A name of the catalogue, `module:Class`, or a callable that makes it."""
    given: Mapping[str, Any] = field(default_factory=dict)
    parameters: str = "{}"
    """JSON of what differs from the defaults of its class, and a digest of the user's own code."""
    knows: str = ""
    folder: str = ""
    """Where a module of the user may lie."""

    def make(self, scene: Scene, *, horizon: int, seed: int) -> Any:
        """Make the learner for a scene."""
        reach(self.folder)
        return roster.make(self.name, scene, horizon=horizon, seed=seed, given=self.given)


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """A world of a comparison: its label, how it is drawn and how its contexts arrive."""

    label: str
    kind: str
    given: Mapping[str, Any] = field(default_factory=dict)
    arrivals: str = "iid"
    delay: int = 0
    drift: float = 0.0
    """The share of contexts that move to another group half-way."""
    at: tuple[int, ...] = ()
    """More rounds to measure at, per context, up to the horizon."""
    setting: str = "{}"
    """JSON of everything that differs from the defaults."""
    scene: Scene | None = None
    """The scene, if it was handed over itself."""
    folder: str = ""
    """Where a module of the user may lie."""

    def make(self, *, horizon: int, seed: int) -> Scene:
        """Draw the world with this seed."""
        if self.scene is not None:
            return self.scene
        reach(self.folder)
        world = maker(self.kind)(**self.given, seed=seed)
        later = ((horizon // 2, move_contexts(world, self.drift, seed)),) if self.drift else ()
        return Scene(world, self.arrivals, self.delay, later, self.label)


@dataclass(frozen=True, slots=True)
class Cell:
    """A learner in a world for `horizon` rounds, with a seed."""

    learner: LearnerSpec
    world: WorldSpec
    horizon: int
    seed: int

    @property
    def key(self) -> Key:
        """What identifies it."""
        learner, world = self.learner, self.world
        return (
            *(learner.label, learner.parameters, world.label, world.setting),
            *(self.horizon, self.seed),
        )  # fmt: skip


def reach(folder: str) -> None:
    """Let a module that lies beside the experiment be imported."""
    if folder and folder not in sys.path:
        sys.path.append(folder)


def maker(kind: str) -> Callable[..., World]:
    """Return the function that makes worlds of this kind."""
    found: Callable[..., World] = getattr(importlib.import_module("lumpable.worlds"), KINDS[kind])
    return found


def move_contexts(world: World, share: float, seed: int) -> World:
    """Return the world after this share of its contexts moved to another group.

    A context that moves takes the means of a member of a group that is not its own; both are drawn.

    >>> from lumpable import worlds
    >>> before = worlds.lumpable(contexts=10, arms=3, groups=2, seed=1)
    >>> after = move_contexts(before, 0.3, seed=1)
    >>> int((before.group != after.group).sum())
    3
    """
    if len(np.unique(world.group)) < 2:
        raise BadArgument("drift", "a world of at least two groups", "one")
    rng = np.random.default_rng([seed, 4])  # 2 and 3 are the tape's
    mean, group = world.mean.copy(), world.group.copy()
    for context in rng.permutation(world.contexts)[: round(share * world.contexts)]:
        others = np.unique(world.group[world.group != world.group[context]])
        like = rng.choice(np.flatnonzero(world.group == rng.choice(others)))
        mean[context], group[context] = world.mean[like], world.group[like]
    return replace(world, mean=mean, group=group)


def own_seed(seed: int) -> int:
    """Return the seed of a learner in a cell with this seed: never that of the world or tape.

    >>> own_seed(0) != own_seed(1) != 1
    True
    """
    return int(np.random.SeedSequence([seed, 5]).generate_state(1)[0])


# --- Running ----------------------------------------------------------------------------------


def run_cell(cell: Cell) -> list[Row]:
    """Play a cell: a row for each checkpoint, or one row with the reason for none."""
    from lumpable.learners.learner import Unfit

    about = _about(cell)
    try:
        scene = _scene_of(cell)
        about |= {
            "contexts": scene.world.contexts,
            "arms": scene.world.arms,
            "groups": scene.world.groups,
        }
        with one_thread():
            learner = cell.learner.make(scene, horizon=cell.horizon, seed=own_seed(cell.seed))
            steps = _steps(learner, scene, cell)
    except (Unfit, MissingExtra) as error:
        return [Row.of({**about, "status": "not run", "reason": str(error)})]
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a learner that calls sys.exit ends its own cell only
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        return [failure(cell, error, about)]
    return [Row.of({**about, **asdict(step), "status": "done", "reason": ""}) for step in steps]


def one_thread() -> Any:
    """Limit linear algebra to one thread: more would add in another order and change last digits.

    Processes that run beside each other gain nothing from more.
    """
    return need("threadpoolctl", "research", WHAT).threadpool_limits(1, user_api="blas")


def failure(cell: Cell, error: BaseException, about: Mapping[str, Any] | None = None) -> Row:
    """Return the row of a cell that failed: who, where, and the traceback."""
    first = (str(error).splitlines() or [""])[0]
    who = f"{cell.learner.label} in {cell.world.label}, seed {cell.seed}"
    trace = "".join(traceback.format_exception(error))
    reason = f"{who}: {type(error).__name__}: {first}\n{trace}"
    return Row.of({**(about or _about(cell)), "status": "failed", "reason": reason})


def _steps(learner: Any, scene: Scene, cell: Cell) -> list[Checkpoint]:
    """Measure a learner: by its own `through_scene` if it has one, else round by round."""
    if getattr(learner, "unit_span", False) and scene.world.span > 1 + 1e-12:
        from lumpable.learners.learner import Unfit

        needs = "needs means of one context that span at most 1 (reading 3)"
        raise Unfit(f"{cell.learner.label}: {needs}, got {scene.world.span:.3g}")
    through = getattr(learner, "through_scene", None)
    if through is not None:
        own: list[Checkpoint] = through(scene, horizon=cell.horizon)
        return own
    from lumpable.runs.playing import checkpoints, play

    for method in missing_methods(learner):
        raise Misbehaved(f"{type(learner).__name__}: has no method {method!r}")
    asked = (pulls * scene.world.contexts for pulls in cell.world.at)
    marks = [*checkpoints(cell.horizon), *(mark for mark in asked if mark < cell.horizon)]
    return play(learner, scene, horizon=cell.horizon, seed=cell.seed, at=marks).rows()


def missing_methods(learner: Any) -> list[str]:
    """Return the methods that a learner lacks; one with `through_scene` needs no others."""
    if callable(getattr(learner, "through_scene", None)):
        return []
    return [name for name in ("ask", "tell") if not callable(getattr(learner, name, None))]


_last: list[tuple[tuple[str, int, int], Scene]] = []


def _scene_of(cell: Cell) -> Scene:
    """Draw the world of a cell; the last one is kept, for the next learner plays it too."""
    if cell.world.scene is not None:
        return cell.world.scene
    asked = (cell.world.label + cell.world.setting, cell.horizon, cell.seed)
    for key, scene in tuple(_last):
        if key == asked:
            return scene
    scene = cell.world.make(horizon=cell.horizon, seed=cell.seed)
    _last[:] = [(asked, scene)]
    return scene


def _about(cell: Cell) -> dict[str, Any]:
    about = {"knows": cell.learner.knows, "round": 0, "version": __version__}
    return about | dict(zip(KEY, cell.key, strict=True))
