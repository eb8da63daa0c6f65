"""The paper's plans as learners: Algorithms 4 and 6, and phased elimination per context.

Lee, Liu, Abbasi-Yadkori, Jin, Lattimore and Szepesvari, Context-lumpable stochastic bandits,
NeurIPS 36, 2023. A plan asks for data; `Session` plays its requests round by round. With
`through="bulk"` the bulk simulator runs it instead, at a cost that does not grow with the rounds:
exact in law, but on its own luck, and measured only at rounds at which a request really ended.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import IntVector
from lumpable.base.errors import BadArgument
from lumpable.learners.learner import Unfit
from lumpable.live.session import Session
from lumpable.plans import regret, standard
from lumpable.plans.plan import Plan
from lumpable.plans.problem import Problem, changed_constants
from lumpable.runs.bulk import simulate
from lumpable.runs.measures import Checkpoint, measure
from lumpable.runs.playing import checkpoints
from lumpable.runs.run import Step
from lumpable.worlds.scene import Scene

THROUGH = ("session", "bulk")


def algorithm_4(
    contexts: int,
    arms: int,
    *,
    groups: int,
    constants: Mapping[str, float] | None = None,
    through: str = "session",
    seed: int = 0,
) -> Planned | Bulk:
    """Algorithm 4, for contexts that come equally often and groups of equal size; knows r.

    Parameters
    ----------
    constants
        Changes to the printed constants, by their names in `lumpable.Constants`. With the printed
        ones it plays at random for billions of rounds; the proofs do not cover smaller ones.
    through
        `session`: round by round. `bulk`: the bulk simulator, for horizons too long to play.

    >>> learner = algorithm_4(6, 3, groups=2, seed=1)
    >>> 0 <= learner.ask(5) < 3
    True
    """
    problem, changed = Problem(contexts, arms, groups), changed_constants(constants)
    return _through(through, lambda: regret.equal_groups(problem, constants=changed), seed)


def algorithm_6(
    contexts: int,
    arms: int,
    *,
    groups: int,
    constants: Mapping[str, float] | None = None,
    mended: bool = False,
    through: str = "session",
    seed: int = 0,
) -> Planned | Bulk:
    """Algorithm 6, for contexts that come about equally often and groups of any size; knows r.

    Parameters as for `algorithm_4`; `mended` repairs what clustering costs.
    """
    problem, changed = Problem(contexts, arms, groups), changed_constants(constants)
    return _through(
        through, lambda: regret.any_groups(problem, constants=changed, mended=mended), seed
    )


def elimination_plan(
    contexts: int, arms: int, *, through: str = "session", seed: int = 0
) -> Planned | Bulk:
    """Phased elimination per context without end, which needs no groups (`standard.online`)."""
    problem = Problem(contexts, arms, 1)
    return _through(through, lambda: standard.online(problem), seed)


def _through(through: str, plan: Callable[[], Plan], seed: int) -> Planned | Bulk:
    checks.choice("through", through, THROUGH)
    return Bulk(plan, seed) if through == "bulk" else Planned(plan(), seed)


class Planned:
    """A plan that is played round by round."""

    unit_span: ClassVar[bool] = True
    """The means of one context may span at most 1."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self._session = Session(plan, seed=seed)
        self.contexts, self.arms = self._session.shape
        self.ask, self.tell = self._session.ask, self._session.tell

    def policy(self) -> IntVector:
        """Return the plan's best policy so far."""
        return self._session.policy

    def labels(self) -> IntVector | None:
        """Return the plan's clusters; None where it forms none."""
        belief = self._session.belief
        return None if belief is None else belief.cluster

    @property
    def nbytes(self) -> int:
        """The bytes of an open request: plays, sums and who may play what, for each pair."""
        S, K = self._session.shape
        return 17 * S * K + 32 * S


class Bulk:
    """A plan that the bulk simulator runs through a scene; it cannot be asked by rounds."""

    unit_span: ClassVar[bool] = True
    """The means of one context may span at most 1."""

    def __init__(self, plan: Callable[[], Plan], seed: int) -> None:
        self._plan = plan
        self.seed = checks.whole("seed", seed, 0)
        plan()  # a bad argument is an error here

    def through_scene(self, scene: Scene, *, horizon: int) -> list[Checkpoint]:
        """Return a row for each checkpoint: of the last request that had ended by then.

        Rewards are not drawn one by one, so there is no sum of them.
        """
        if scene.arrivals != "iid" or scene.delay or scene.later:
            has = scene.arrivals if scene.arrivals != "iid" else "delay" if scene.delay else "drift"
            raise Unfit(f"the bulk simulator needs i.i.d. arrivals, no delay, no drift; got {has}")
        world, began = scene.world, time.perf_counter()
        ends = [_End(0, 0.0, 0.0, np.zeros(world.contexts, dtype=np.int64), None)]

        def watch(step: Step) -> None:
            belief = step.request.belief
            if belief is not None:  # it comes from the answer to the request before
                ends[-1] = ends[-1]._replace(answer=belief.policy, cluster=belief.cluster)
            ends.append(ends[-1]._replace(rounds=step.rounds, regret=step.regret,
                                          seconds=time.perf_counter() - began))  # fmt: skip

        try:
            run = simulate(self._plan(), world, seed=self.seed, horizon=horizon, watch=watch)
        except BadArgument as error:
            if error.argument != "noise":
                raise
            raise Unfit(f"the bulk simulator: {error}") from None
        ends[-1] = ends[-1]._replace(answer=run.policy)
        at = np.array([end.rounds for end in ends])
        last = np.searchsorted(at, checkpoints(horizon), side="right") - 1
        return [ends[i].row(scene) for i in np.unique(last) if i > 0]


class _End(NamedTuple):
    """Where a run stood when a request had ended."""

    rounds: int
    regret: float
    seconds: float
    answer: IntVector
    cluster: IntVector | None
    nbytes: int = 0

    def policy(self) -> IntVector:
        return self.answer

    def labels(self) -> IntVector | None:
        return self.cluster

    def row(self, scene: Scene) -> Checkpoint:
        row = measure(
            self,
            scene.world,
            round=self.rounds,
            regret=self.regret,
            reward=None,
            seconds=self.seconds,
        )
        return dataclasses.replace(row, bytes=None)
