"""What every learner is: the protocol, and the base of those whose steps are compiled.

Learners know no world: they see contexts, choose arms and are told rewards. `ask` reads, `tell`
writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_origin, get_type_hints

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.learners.engine.blocks import Block
from lumpable.learners.engine.clock import TELLS, Clock, seeded
from lumpable.learners.engine.entries import Kernels, entries

LARGEST = 1e100
"""Rewards are at most this large, so that no sum of their squares overflows."""
NEVER = 2**62
"""`due` of a learner that is not refitted any more."""

Cells = Annotated[FloatMatrix, np.float64, "SK"]
"""A number for each context and arm; S contexts and K arms."""
Counts = Annotated[IntMatrix, np.int64, "SK"]
CellsByArm = Annotated[FloatMatrix, np.float64, "KS"]
CountsByArm = Annotated[IntMatrix, np.int64, "KS"]
PerArm = Annotated[FloatVector, np.float64, "K"]
PerContext = Annotated[IntVector, np.int64, "S"]
State = TypeVar("State", bound=NamedTuple)


def zeros(kind: type[State], contexts: int, arms: int) -> State:
    """Return a state in which each field is 0, in the shape that its type names; else None."""
    sizes, hints = {"S": contexts, "K": arms}, get_type_hints(kind, include_extras=True)
    made: list[Any] = []
    for hint in hints.values():
        dtype, axes = hint.__metadata__ if get_origin(hint) is Annotated else (None, "")
        made.append(np.zeros([sizes[axis] for axis in axes], dtype) if axes else None)
    return kind._make(made)


class Unfit(ValueError):
    """A learner cannot be run, or not fairly, on a problem of this size or kind; it says why."""


class Compiled(ABC):
    """A learner whose state is arrays and whose two steps are kernels (see `compiled`).

    A subclass is final. It names its `kernels`, makes its state, and says which arm it recommends.
    If its state has an array `due`, then `refit` is called as soon as the number of tells reaches
    due[0]; it must move due[0] on.
    """

    kernels: ClassVar[Kernels]
    unit_rewards: ClassVar[bool] = False
    """Whether rewards must lie in [0, 1]."""
    loop: Callable[..., int]
    _ask: Callable[[int, int], int]
    _tell: Callable[[int, int, int, float], None]
    _block: Block
    _address: int
    _due: Any
    _low: float
    _high: float

    def __init__(self, contexts: int, arms: int, seed: int, state: NamedTuple) -> None:
        self.contexts = checks.whole("contexts", contexts, 1)
        self.arms = checks.whole("arms", arms, 1)
        self.seed = checks.whole("seed", seed, 0)
        self.state: Any = state
        self.clock = seeded(self.seed)
        self._connect()

    def _connections(self, state: Any, clock: Clock) -> dict[str, Any]:
        """Return a state, and what compiled code needs to reach it: it holds addresses."""
        made, block = entries(self.kernels, state), Block(state, clock)
        low, high = (0.0, 1.0) if self.unit_rewards else (-LARGEST, LARGEST)
        return {
            "state": state, "clock": clock, "loop": made.loop, "_ask": made.ask,
            "_tell": made.tell, "_block": block, "_address": block.address,
            "_due": getattr(state, "due", None), "_low": low, "_high": high,
        }  # fmt: skip

    def _connect(self) -> None:
        """Hand the addresses of the state to compiled code; a copy has addresses of its own."""
        vars(self).update(self._connections(self.state, self.clock))

    def __getstate__(self) -> dict[str, Any]:
        left = ("loop", "_ask", "_tell", "_block", "_address", "_due")
        return {name: value for name, value in vars(self).items() if name not in left}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._connect()

    def ask(self, context: int) -> int:
        """Return the arm to play for this context now. Asked twice, it answers the same."""
        if type(context) is not int or not 0 <= context < self.contexts:
            context = checks.whole("context", context, 0, self.contexts - 1)
        return self._ask(self._address, context)

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        if type(context) is not int or not 0 <= context < self.contexts:
            context = checks.whole("context", context, 0, self.contexts - 1)
        if type(arm) is not int or not 0 <= arm < self.arms:
            arm = checks.whole("arm", arm, 0, self.arms - 1)
        if type(reward) is not float or not self._low <= reward <= self._high:
            reward = self._checked(reward)
        self._tell(self._address, context, arm, reward)
        if self._due is not None and self.clock.item(TELLS) >= self._due.item():
            self.refit()

    def _checked(self, reward: float) -> float:
        kind = (
            "a number in [0, 1]"
            if self.unit_rewards
            else f"a number of at most {LARGEST:g} in size"
        )
        return checks.real("reward", reward, kind, np.nextafter(self._low, -np.inf), self._high)

    @property
    def tells(self) -> int:
        """The number of rewards that were reported."""
        return int(self.clock[TELLS])

    @property
    def nbytes(self) -> int:
        """The bytes of its state."""
        return sum(value.nbytes for value in self.state if isinstance(value, np.ndarray))

    @abstractmethod
    def policy(self) -> IntVector:
        """Return the arm that it would recommend to each context, were this the last round."""

    def labels(self) -> IntVector | None:
        """Return the cluster of each context as it believes now; None if it has no clusters."""
        return None

    def refit(self) -> None:
        """Do what is too rare and too large for a single step; only for states with `due`."""
        raise NotImplementedError(f"{type(self).__name__} has `due` in its state but no `refit`")
