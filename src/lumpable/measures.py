"""What is measured of a learner at a checkpoint, beside its regret. Knows no algorithm."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lumpable.checks import IntVector
from lumpable.world import World


def measured(learner: Any, world: World) -> dict[str, Any]:
    """Return what a learner would recommend, how good that is, and which clusters it sees.

    `simple_regret` is the loss of its current policy; `worse_off` the share of contexts that have
    less under it than under the best single arm for all; `clusters`, `ari` (adjusted Rand index
    against the truth) are None for a learner without clusters.
    """
    policy = current_policy(learner, world.contexts)
    one = int(np.argmax(world.frequency @ world.mean))
    rows = np.arange(world.contexts)
    worse = world.mean[rows, policy] < world.mean[:, one]
    labels = learner.labels() if hasattr(learner, "labels") else None
    return {
        "simple_regret": world.loss(policy),
        "worse_off": float(worse.mean()),
        "clusters": None if labels is None else len(np.unique(labels)),
        "ari": None if labels is None else adjusted_rand(labels, world.group),
        "bytes": size(learner),
    }


def current_policy(learner: Any, contexts: int) -> IntVector:
    """Return what a learner recommends; one that has no `policy` recommends what it would play."""
    if hasattr(learner, "policy"):
        policy: IntVector = np.asarray(learner.policy())
        return policy
    return np.array([learner.ask(context) for context in range(contexts)], dtype=np.int64)


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
