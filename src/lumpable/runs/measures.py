"""What is measured of a learner at a checkpoint. Knows no algorithm."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable.base.arrays import IntVector
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
    """The loss of the policy that it recommends."""
    worse_off: float
    """The share of contexts that do worse under that policy than under the best single arm."""
    clusters: int | None
    """None for a learner without clusters."""
    ari: float | None
    """The adjusted Rand index of its clusters and the true groups."""
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
    """Measure a learner's policy and its clusters."""
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
    """Return what a learner recommends: its `policy()` or, without one, what it would play.

    The policy of a learner with names is for people; it, too, is asked.
    """
    if hasattr(learner, "policy") and not hasattr(learner, "core"):
        return _one_each(learner, "policy()", learner.policy(), contexts, arms)
    asked = [learner.ask(context) for context in range(contexts)]
    return _one_each(learner, "ask", asked, contexts, arms)


def current_labels(learner: Any, contexts: int) -> IntVector | None:
    """Return a learner's clusters; None for one without clusters."""
    labels = learner.labels() if hasattr(learner, "labels") else None
    return None if labels is None else _one_each(learner, "labels()", labels, contexts)


def _one_each(
    learner: Any, method: str, values: Any, contexts: int, arms: int | None = None
) -> IntVector:
    """Return what a method returned: a whole number for each context, below `arms` if given."""
    returned = f"{type(learner).__name__}: {method} returned"
    try:
        given: IntVector = np.asarray(values)
    except ValueError:  # rows of different lengths
        given = np.zeros((0, 0), dtype=np.int64)
    if given.shape != (contexts,):
        got = f"{len(given)} values" if given.ndim == 1 else repr(values)
        raise Misbehaved(f"{returned} {got}, expected one for each of {contexts} contexts")
    for context, value in enumerate(given.tolist()):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not whole or (arms is not None and not 0 <= value < arms):
            what = "not a whole number" if arms is None else "not an arm"
            raise Misbehaved(f"{returned} {value} for context {context}, {what}")
    if given.dtype.kind not in "iu":
        raise Misbehaved(f"{returned} numbers of type {given.dtype}, expected whole, such as int64")
    return given


def adjusted_rand(labels: IntVector, truth: IntVector) -> float:
    """Return the adjusted Rand index (Hubert and Arabie, J. Classif. 2, 1985): 1 if equal.

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
    """Return a learner's bytes: its `nbytes`, or those of its attributes, one level deep."""
    own = getattr(learner, "nbytes", None)
    if own is not None:
        return int(own)
    return sum(getattr(x, "nbytes", sys.getsizeof(x)) for x in vars(learner).values())
