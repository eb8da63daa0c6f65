"""The one conversation: a plan asks for data (`Collect`) and is told them (`Sample`).

Law of this module, and of every plan: no randomness, clock, I/O, logging or globals. The same
answers always give the same requests, ties go to the first index, and what is handed in is never
changed. So a run is the history of its answers, and to resume is to replay them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, ParamSpec, overload

import numpy as np

from lumpable import checks
from lumpable.checks import BoolMatrix, BoolVector, FloatMatrix, IntMatrix, IntVector

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What a plan thinks when it asks: for displays and for contexts that are asked nothing.

    `policy` is what the plan would answer if it were stopped now.
    """

    phase: str
    policy: IntVector
    candidates: tuple[int, ...] = ()


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
            raise ValueError(f"arms: expected a bool (S, K) array, got {type(self.arms).__name__}")
        if self.arms.ndim != 2 or self.arms.size == 0:
            raise ValueError(f"arms: expected a bool (S, K) array, got shape {self.arms.shape}")
        object.__setattr__(self, "arms", checks.frozen(self.arms))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The answer: finished plays of each pair (D_n) and their mean reward (A-hat_n).

    `mean` is NaN exactly where `plays` is 0; it is the average of plays x repeats rewards.
    """

    plays: IntMatrix
    mean: FloatMatrix

    def __post_init__(self) -> None:
        plays, mean = np.asarray(self.plays), np.asarray(self.mean, dtype=np.float64)
        if plays.ndim != 2 or plays.shape != mean.shape:
            shapes = f"{plays.shape} and {mean.shape}"
            raise ValueError(f"plays and mean: expected two (S, K) arrays, got {shapes}")
        if plays.dtype.kind not in "iu":
            raise ValueError(f"plays: expected whole numbers, got {plays.dtype}")
        plays = plays.astype(np.int64, copy=False)
        if plays.min(initial=0) < 0:
            raise ValueError(f"plays: expected no negative number, got {plays.min()}")
        odd = np.isfinite(mean) != (plays > 0)
        if odd.any():
            wrong = "finite where plays is not 0 and NaN elsewhere"
            raise ValueError(f"mean: expected numbers that are {wrong}, not so {_first(odd)}")
        if np.isinf(mean).any():
            raise ValueError("mean: expected NaN where plays is 0, got inf")
        object.__setattr__(self, "plays", checks.frozen(plays))
        object.__setattr__(self, "mean", checks.frozen(mean))


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
        object.__setattr__(self, "policy", checks.frozen(self.policy))


Conversation = Generator[Collect, Sample, Result]
"""The body of an algorithm, as a generator function writes it."""


class Plan(Generator[Collect, Sample, Result]):
    """A conversation that knows its name and parameters, so that it can be found again.

    It runs to its first request when it is made: a bad argument is an error at the call, not at
    the first answer. `next`, `send` and `yield from` work as on any generator.
    """

    def __init__(self, name: str, parameters: dict[str, Any], body: Conversation) -> None:
        self.name = name
        self.parameters = MappingProxyType(parameters)
        self._body = body
        self._first: Collect | None = next(body)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!s}' for k, v in self.parameters.items())})"

    def send(self, sample: Sample | None) -> Collect:
        """Answer the open request; the next one comes back."""
        if self._first is None:
            return self._body.send(sample)  # type: ignore[arg-type]
        if sample is not None:
            raise ValueError("sample: the first request is fetched with next(), got a sample")
        first, self._first = self._first, None
        return first

    @overload
    def throw(
        self,
        typ: type[BaseException],
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Collect: ...
    @overload
    def throw(
        self, typ: BaseException, val: None = None, tb: TracebackType | None = None, /
    ) -> Collect: ...
    def throw(self, typ: Any, val: Any = None, tb: TracebackType | None = None, /) -> Collect:
        """Raise inside the body, as `yield from` does when it is interrupted."""
        return self._body.throw(typ if val is None else val)


def algorithm(body: Callable[P, Conversation]) -> Callable[P, Plan]:
    """Make the generator function of an algorithm return a `Plan`."""
    signature = inspect.signature(body)
    name = f"{body.__module__}.{body.__qualname__}"

    @functools.wraps(body)
    def make(*args: P.args, **kwargs: P.kwargs) -> Plan:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Plan(name, dict(bound.arguments), body(*args, **kwargs))

    make.__annotations__ = {**body.__annotations__, "return": "Plan"}
    make.algorithm = name  # type: ignore[attr-defined]
    return make


class Progress:
    """A plan under way: its open request or, once it has ended, its result.

    The one place that drives a plan. `request` is None exactly when `result` is not.
    """

    def __init__(self, plan: Generator[Collect, Sample, Result]) -> None:
        self.plan = plan
        self.answered = 0
        self.rounds = 0
        """Rounds of the requests answered so far."""
        self.request: Collect | None = next(plan)
        self.result: Result | None = None

    def answer(self, sample: Sample) -> None:
        """Give the open request its sample; a sample that does not fit changes nothing."""
        if self.request is None:
            raise ValueError(f"sample: the plan ended after {self.answered} requests")
        asked = self.request.arms
        if sample.plays.shape != asked.shape:
            raise ValueError(
                f"sample: request {self.answered} asks for shape {asked.shape}, "
                f"got {sample.plays.shape}"
            )
        stray = (sample.plays > 0) & ~asked
        if stray.any():
            raise ValueError(
                f"sample: request {self.answered} does not ask for the pair {_first(stray)}"
            )
        self.rounds += self.request.rounds
        self.answered += 1
        try:
            self.request = self.plan.send(sample)
        except StopIteration as end:
            self.request, self.result = None, end.value


def replay(plan: Generator[Collect, Sample, Result], samples: Iterable[Sample]) -> Progress:
    """Bring a fresh plan to where these answers lead; one that does not fit is an error."""
    progress = Progress(plan)
    for sample in samples:
        progress.answer(sample)
    return progress


def _first(where: BoolMatrix) -> str:
    context, arm = np.argwhere(where)[0]
    return f"at context {context}, arm {arm}"
