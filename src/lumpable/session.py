"""A live session: a plan whose rounds are played by people who come when they come.

`ask` reads, `tell` writes. A session is a fold over its tells, so it is saved as the plan's name
and parameters, the seed, the samples of finished requests and what the tells since then add up to;
to open it is to replay them. Knows no algorithm, and nothing of how files are written.
"""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from lumpable import archive, checks
from lumpable.checks import IntVector
from lumpable.collector import Collector, request_key
from lumpable.plan import Belief, Collect, Plan, Progress, Result, Sample

SCHEMA = 1
LARGEST = 1e200
"""Rewards are smaller than this in size, so that no sum of them overflows."""


Count = Annotated[int, msgspec.Meta(ge=0)]


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """What a saved session says of itself before its arrays."""

    format: str
    schema: int
    plan: str
    parameters: dict[str, msgspec.Raw]
    seed: int
    samples: Count
    open_rounds: Count
    after: Count
    late: Count


class Session:
    """Play a plan live: ask for a context's arm, tell the reward when it is known.

    A context that is asked nothing, and everybody once the plan has ended, gets the arm of the best
    policy so far. A reward for an arm that is not the assigned one (it came late) changes nothing
    but the counter `late`.

    >>> from lumpable import Problem, pac
    >>> session = Session(pac.near_uniform(Problem(3, 2, 1), epsilon=0.5, delta=0.1), seed=7)
    >>> arm = session.ask(0)
    >>> session.tell(0, arm, 0.25)
    >>> session.rounds, session.late
    (1, 0)
    """

    def __init__(self, plan: Plan, *, seed: int) -> None:
        self.plan = plan
        self.seed = checks.whole("seed", seed, 0)
        self.late = 0
        """Rewards for an arm that was not assigned (any more)."""
        self._after = 0
        self._samples: list[archive.Packed] = []
        self._progress = Progress(plan)
        request = self._progress.request
        if request is None:
            raise ValueError(f"plan: expected one that asks for something, got {plan!r}")
        self._contexts, self._arms = request.arms.shape
        self._policy = np.zeros(self._contexts, dtype=np.int64)
        self._believe()
        self._open()

    def ask(self, context: int) -> int:
        """Return the arm to play for this context. Asked twice, it answers the same."""
        if type(context) is int and 0 <= context < self._contexts:
            return self._arm[context]
        return self._arm[checks.whole("context", context, 0, self._contexts - 1)]

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        if type(context) is not int or not 0 <= context < self._contexts:
            context = checks.whole("context", context, 0, self._contexts - 1)
        if type(arm) is not int or not 0 <= arm < self._arms:
            arm = checks.whole("arm", arm, 0, self._arms - 1)
        if type(reward) is not float or not -LARGEST < reward < LARGEST:
            words = f"a finite number below {LARGEST:g} in size"
            reward = checks.real("reward", reward, words, -LARGEST, LARGEST)
        if arm != self._arm[context]:
            self.late += 1
        elif self._collector is None:
            self._after += 1
        elif self._collector.tell(context, reward):
            self._answer(self._collector.sample())
            self._open()

    @property
    def rounds(self) -> int:
        """Rounds so far, those after the plan's end too."""
        open_rounds = 0 if self._collector is None else self._collector.rounds
        return self._progress.rounds + open_rounds + self._after

    @property
    def request(self) -> Collect | None:
        """The request that is being played; None once the plan has ended."""
        return self._progress.request

    @property
    def belief(self) -> Belief | None:
        """What the plan thought when it made its request."""
        return None if self.request is None else self.request.belief

    @property
    def result(self) -> Result | None:
        """The plan's result; None while it is under way."""
        return self._progress.result

    @property
    def policy(self) -> IntVector:
        """The best policy so far."""
        return self._policy

    def save(self, path: str | Path) -> None:
        """Write the session to a file: the old file stays whole until the new one is."""
        header = Header(
            format="lumpable session",
            schema=SCHEMA,
            plan=self.plan.name,
            parameters=_encoded(self.plan),
            seed=self.seed,
            samples=len(self._samples),
            open_rounds=0 if self._collector is None else self._collector.rounds,
            after=self._after,
            late=self.late,
        )
        arrays = {
            f"sample-{k}-{name}": array
            for k, packed in enumerate(self._samples)
            for name, array in packed.arrays().items()
        }
        if self._collector is not None:
            arrays |= {f"open-{name}": array for name, array in self._collector.state().items()}
        archive.write(Path(path), msgspec.json.encode(header), arrays)

    @classmethod
    def load(cls, path: str | Path, plan: Plan | None = None) -> Session:
        """Open a saved session; it goes on as if it had never stopped.

        The plans of this package are found by name. For a plan of your own, hand in a fresh one
        with the same parameters.
        """
        with archive.Reader(Path(path)) as reader:
            header = _checked_header(reader.header)
            session = cls(_found(header, plan), seed=header.seed)
            for k in range(header.samples):
                packed = archive.Packed.read(reader, f"sample-{k}-", session.shape)
                session._answer(packed.sample(session.shape))
            session._open()
            session._restore(header, reader)
        return session

    @property
    def shape(self) -> tuple[int, int]:
        """(contexts, arms)."""
        return self._contexts, self._arms

    def _restore(self, header: Header, reader: archive.Reader) -> None:
        """Take back what the tells since the last finished request have left."""
        if self._collector is None:
            if header.open_rounds:
                raise ValueError("path: rounds of an open request, but the plan has ended")
        else:
            if header.after:
                raise ValueError("path: rounds after the plan's end, but it has not ended")
            cells = self._contexts * self._arms
            state = {
                name: reader.array(f"open-{name}", array.dtype.kind, cells)
                for name, array in self._collector.state().items()
            }
            self._collector.restore(header.open_rounds, state)
        self._after, self.late = header.after, header.late

    def _answer(self, sample: Sample) -> None:
        self._progress.answer(sample)
        self._samples.append(archive.Packed.of(sample))
        self._believe()

    def _believe(self) -> None:
        """Take over the best policy so far: the result's, or the newest belief's."""
        if self._progress.result is not None:
            self._policy = self._progress.result.policy
        elif self.belief is not None:
            self._policy = self.belief.policy

    def _open(self) -> None:
        """Begin the plan's next request, or serve its policy when there is none."""
        progress = self._progress
        self._collector: Collector | None = None
        self._arm: list[int] = self._policy.tolist()
        if progress.request is not None:
            key = request_key(self.seed, progress.answered)
            self._collector = Collector(progress.request, key, self._policy)
            self._arm = self._collector.arm


def _encoded(plan: Plan) -> dict[str, msgspec.Raw]:
    return {
        name: msgspec.Raw(msgspec.json.encode(value, enc_hook=lambda number: number.item()))
        for name, value in plan.parameters.items()
    }


def _checked_header(raw: bytes) -> Header:
    try:
        header = msgspec.json.decode(raw, type=Header)
    except (msgspec.MsgspecError, RecursionError) as cause:
        raise ValueError(f"path: expected a saved session, but its header says: {cause}") from None
    if header.format != "lumpable session" or header.schema != SCHEMA:
        got = f"{header.format!r} with schema {header.schema}"
        raise ValueError(f"path: expected a lumpable session with schema {SCHEMA}, got {got}")
    return header


def _found(header: Header, plan: Plan | None) -> Plan:
    """Return the plan that the header names: the one handed in, or a new one of this package."""
    if plan is None:
        return _rebuilt(header)
    asked = {name: bytes(value) for name, value in header.parameters.items()}
    given = {name: bytes(value) for name, value in _encoded(plan).items()}
    if (header.plan, asked) != (plan.name, given):
        written = ", ".join(f"{name}={value.decode()}" for name, value in asked.items())
        raise ValueError(f"plan: the session was saved by {header.plan}({written}), got {plan!r}")
    return plan


def _rebuilt(header: Header) -> Plan:
    module, _, name = header.plan.rpartition(".")
    make = _algorithm(module, name)
    if make is None:
        raise ValueError(
            f"path: the session was saved by {header.plan}, which is no plan of this package; "
            "hand in a fresh one as `plan`"
        )
    hints = typing.get_type_hints(inspect.unwrap(make))
    try:
        parameters = {
            name: msgspec.json.decode(value, type=hints[name])
            for name, value in header.parameters.items()
        }
        return make(**parameters)
    except (msgspec.MsgspecError, KeyError, TypeError, MemoryError) as cause:
        raise ValueError(f"path: not the parameters of {header.plan}: {cause}") from None


def _algorithm(module: str, name: str) -> Callable[..., Plan] | None:
    """Find a plan of this package; a file must not be able to name anything else."""
    package, _, room = module.partition(".")
    if package != "lumpable" or not room.isidentifier() or room.startswith("_"):
        return None
    try:
        found: Any = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return found if getattr(found, "algorithm", None) == f"{module}.{name}" else None
