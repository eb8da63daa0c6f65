"""The one conversation: a plan asks for data (`Collect`) and gets them (`seen.Sample`).

A plan can also hand contexts to other plans, side by side (`Split`), and gets their results.

Law of this module, and of every plan: no randomness, clock, I/O, logging or globals. The same
answers always give the same requests, ties go to the first index, and arguments are never
changed. So a run is the history of its answers, and to resume is to replay them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, overload

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, BoolVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.plans.about import About, Kind
from lumpable.plans.seen import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What a plan believes when it asks: for displays and for contexts that are asked nothing.

    `policy` is what the plan would answer if it were stopped now.
    """

    phase: str
    """What the request is for, in words."""
    policy: IntVector
    candidates: tuple[int, ...] = ()
    number: int = 0
    """h, the number of the phase; 0 if the algorithm does not count phases."""
    cluster: IntVector | None = None
    """P_h: the cluster of each context, numbered from 0; None if the plan forms none."""
    good: BoolMatrix | None = None
    """GOOD_h: row c holds the arms that are still good for cluster c (at the deepest level)."""
    notes: tuple[str, ...] = ()
    """What a reader should know: guesses that were given up, and why."""
    kind: Kind = ""
    """What the request is for, as a value."""
    restarts: int = 0
    """How often the plan has started again from scratch."""


@dataclass(frozen=True, slots=True, eq=False)
class Collect:
    """A request for Algorithm 2: `rounds` rounds, each drawn arm played `repeats` times.

    Row i of `arms` is the exploration set K(i); an empty row asks nothing of context i, but its
    rounds count (reading 10).
    """

    rounds: int
    repeats: int
    arms: BoolMatrix
    belief: Belief | None = None

    def __post_init__(self) -> None:
        checks.whole("rounds", self.rounds, 1)
        checks.whole("repeats", self.repeats, 1)
        if not (isinstance(self.arms, np.ndarray) and self.arms.dtype == bool):
            raise BadArgument("arms", "a bool (S, K) array", f"{type(self.arms).__name__}")
        if self.arms.ndim != 2 or self.arms.size == 0:
            raise BadArgument("arms", "a bool (S, K) array", f"shape {self.arms.shape}")
        object.__setattr__(self, "arms", checks.read_only(self.arms))

    @property
    def shape(self) -> tuple[int, int]:
        """(contexts, arms)."""
        return self.arms.shape[0], self.arms.shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A request to hand contexts over to other plans for `rounds` rounds, side by side.

    `bucket[i]` is the number of the plan that context i goes to, -1: none, it plays the belief's
    policy. Each plan runs on its own clock, with its own contexts numbered from 0 in their order;
    one that ends early serves its policy. The answer is their results so far.
    """

    rounds: int
    bucket: IntVector
    plans: tuple[Plan, ...]
    belief: Belief | None = None

    def __post_init__(self) -> None:
        checks.whole("rounds", self.rounds, 1)
        bucket = np.asarray(self.bucket)
        if bucket.ndim != 1 or bucket.dtype.kind not in "iu" or not (bucket.size and self.plans):
            raise BadArgument(
                "bucket and plans", why="expected plans, and a plan's number for each context"
            )
        if bucket.min() < -1 or bucket.max() >= len(self.plans):
            wrong = bucket[(bucket < -1) | (bucket >= len(self.plans))][0]
            raise BadArgument("bucket", f"-1 .. {len(self.plans) - 1}", f"{wrong}")
        for number, plan in enumerate(self.plans):
            contexts = int(np.sum(bucket == number))
            if plan.shape != (contexts, self.plans[0].shape[1]):
                raise BadArgument(
                    "plans",
                    why=f"bucket {number} has {contexts} contexts, its plan is for {plan.shape}",
                )
        object.__setattr__(self, "bucket", checks.read_only(bucket.astype(np.int64)))

    def contexts(self, number: int) -> IntVector:
        """Return the contexts of one plan, in their order."""
        return np.flatnonzero(self.bucket == number)

    @property
    def shape(self) -> tuple[int, int]:
        """(contexts, arms)."""
        return len(self.bucket), self.plans[0].shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """One bucket of Algorithm 3: contexts that come about equally often, and what became of it."""

    level: int
    contexts: BoolVector
    frequency: float
    epsilon: float
    rounds: int
    result: Result | None
    """None when the bucket was given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a plan ends with: an arm for each context, and how it came to it."""

    policy: IntVector
    candidates: tuple[int, ...] = ()
    screenings: tuple[int, ...] = ()
    """Screening rounds at each accuracy level (Algorithm 1)."""
    buckets: tuple[Bucket, ...] = ()
    """The buckets that were not empty (Algorithm 3)."""
    notes: tuple[str, ...] = ()
    """What a reader should know before trusting the policy; empty when all is well."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "policy", checks.read_only(self.policy))


Request = Collect | Split
Reply = Sample | tuple[Result, ...]
"""A `Collect` is answered with a sample, a `Split` with the results of its plans so far."""

Conversation = Generator[Collect, Sample, Result]
"""The body of an algorithm, as a generator function writes it."""
Branching = Generator[Request, Any, Result]
"""The same for one that splits: it names what comes back (`sample: Sample = yield ...`)."""


class Plan(Generator[Request, Reply, Result]):
    """A conversation that knows its name and parameters, so that it can be made again.

    It runs to its first request when it is made: a bad argument is an error at the call, not at
    the first answer. `next`, `send` and `yield from` work as on any generator; like any generator
    it is for one run.
    """

    def __init__(
        self,
        about: About,
        parameters: dict[str, Any],
        body: Branching,
        again: Callable[[], Plan] | None = None,
    ) -> None:
        self.about = about
        self._again = again
        self.parameters = MappingProxyType(parameters)
        self._body = body
        first = next(body)
        self.shape = first.shape
        """(contexts, arms)."""
        self._first: Request | None = first

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!s}' for k, v in self.parameters.items())})"

    @property
    def name(self) -> str:
        """The public path of its algorithm, `lumpable.pac.near_uniform`."""
        return self.about.name

    @property
    def runs(self) -> About:
        """What does the work: the plan that was chosen, where one chooses, else itself."""
        return self._body.runs if isinstance(self._body, Plan) else self.about

    def again(self) -> Plan:
        """Make the same plan anew; only what `algorithm` made knows how."""
        if self._again is None:
            raise BadArgument("plan", "one that can be made again", repr(self))
        return self._again()

    @property
    def begun(self) -> bool:
        """Whether the first request was fetched already."""
        return self._first is None

    def send(self, reply: Reply | None) -> Request:
        """Answer the open request; the next one comes back."""
        if self._first is None:
            return self._body.send(reply)
        if reply is not None:
            raise BadArgument("sample", why="fetch the first request with next(); got a sample")
        first, self._first = self._first, None
        return first

    @overload
    def throw(
        self,
        typ: type[BaseException],
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Request: ...
    @overload
    def throw(
        self, typ: BaseException, val: None = None, tb: TracebackType | None = None, /
    ) -> Request: ...
    def throw(self, typ: Any, val: Any = None, tb: TracebackType | None = None, /) -> Request:
        """Raise inside the body, as `yield from` does when it is interrupted."""
        return self._body.throw(typ if val is None else val)
