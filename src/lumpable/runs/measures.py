"""What is measured of a learner at a checkpoint. Knows no algorithm."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable.base.checks import IntVector
from lumpable.worlds.world import World


class Misbehaved(RuntimeError):
    """A learner broke its contract; the message names it and what it did."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was measured of a learner after a number of rounds, as a row of a table."""

    round: int
    regret: float
    reward: float | None
    """The sum of the rewards; None where they are not drawn one by one."""
    simple_regret: float
    """The loss of the policy that it would recommend."""
    worse_off: float
    """The share of contexts that have less under that policy than under the best single arm."""
    clusters: int | None
    """None for a learner without clusters."""
    ari: float | None
    """The adjusted Rand index of its clusters against the truth."""
    bytes: int | None
    seconds: float


def measure(
    learner: Any,
    world: World,
    *,
    round: int,
    regret: float,
    reward: float | None,
    seconds: float,
) -> Checkpoint:
    """Measure what a learner would recommend, how good that is, and which clusters it sees."""
    policy = current_policy(learner, world.contexts, world.arms)
    one = int(np.argmax(world.frequency @ world.mean))
    rows = np.arange(world.contexts)
    worse = world.mean[rows, policy] < world.mean[:, one]
    labels = current_labels(learner, world.contexts)
    return Checkpoint(
        round=round,
        regret=regret,
        reward=reward,
        simple_regret=world.loss(policy),
        worse_off=float(worse.mean()),
        clusters=None if labels is None else len(np.unique(labels)),
        ari=None if labels is None else adjusted_rand(labels, world.group),
        bytes=size(learner),
        seconds=seconds,
    )


def current_policy(learner: Any, contexts: int, arms: int) -> IntVector:
    """Return what a learner recommends; one that has no `policy` recommends what it would play."""
    if hasattr(learner, "policy"):
        said, policy = "policy()", _one_each(learner, "policy()", learner.policy(), contexts)
    else:
        said, policy = "ask", np.array([learner.ask(context) for context in range(contexts)])
    _whole(learner, said, policy, "not an arm")
    wrong = np.flatnonzero((policy < 0) | (policy >= arms))
    if len(wrong):
        raise _wrong(learner, said, policy, int(wrong[0]), "not an arm")
    return policy


def current_labels(learner: Any, contexts: int) -> IntVector | None:
    """Return the clusters that a learner sees; None for one without clusters."""
    labels = learner.labels() if hasattr(learner, "labels") else None
    if labels is None:
        return None
    found = _one_each(learner, "labels()", labels, contexts)
    _whole(learner, "labels()", found, "not a whole number")
    return found


def _one_each(learner: Any, said: str, values: Any, contexts: int) -> IntVector:
    """Return what a learner said, as an array with a value for each context."""
    try:
        given: IntVector = np.asarray(values)
    except ValueError:  # rows of different lengths
        given = np.zeros((0, 0), dtype=np.int64)
    if given.shape != (contexts,):
        got = f"{len(given)} values" if given.ndim == 1 else repr(values)
        words = f"{said} returned {got}, expected one for each of {contexts} contexts"
        raise Misbehaved(f"{type(learner).__name__}: {words}")
    return given


def _whole(learner: Any, said: str, values: IntVector, what: str) -> None:
    """Refuse values that are not whole numbers, and name the first."""
    if values.dtype.kind in "iu":
        return
    number = next((i for i, x in enumerate(values.tolist()) if not _is_whole(x)), None)
    if number is not None:
        raise _wrong(learner, said, values, number, what)
    words = f"{said} returned numbers of type {values.dtype}, expected whole ones, such as int64"
    raise Misbehaved(f"{type(learner).__name__}: {words}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _wrong(learner: Any, said: str, values: IntVector, number: int, what: str) -> Misbehaved:
    words = f"{said} returned {values[number]} for context {number}, {what}"
    return Misbehaved(f"{type(learner).__name__}: {words}")


def adjusted_rand(labels: IntVector, truth: IntVector) -> float:
    """Return the adjusted Rand index (Hubert and Arabie, J. Classif. 2, 1985): 1 is the truth.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 2, 2]))
    1.0
    """
    _, a = np.unique(labels, return_inverse=True)
    _, b = np.unique(truth, return_inverse=True)
    pairs, n = _pairs, len(a)
    both = float(pairs(np.unique(a * (b.max() + 1) + b, return_counts=True)[1]).sum())
    rows, columns = (float(pairs(np.bincount(x)).sum()) for x in (a, b))
    all_pairs = n * (n - 1) / 2
    expected = rows * columns / all_pairs if all_pairs else 0.0
    most = (rows + columns) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _pairs(counts: IntVector) -> IntVector:
    return counts * (counts - 1) // 2


def size(learner: Any) -> int:
    """Return the bytes that a learner holds: what it says, or its attributes one level deep."""
    said = getattr(learner, "nbytes", None)
    if said is not None:
        return int(said)
    return sum(getattr(x, "nbytes", sys.getsizeof(x)) for x in vars(learner).values())
