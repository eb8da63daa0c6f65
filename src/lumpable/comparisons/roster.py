"""Make a learner for a scene: it gets what its signature names, the truth included."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.protocols import Learner
from lumpable.base.words import nearest
from lumpable.learners.catalogue import find
from lumpable.learners.learner import Unfit
from lumpable.worlds.scene import Scene

TINIEST = 1e-6
"""The scale of the noise that learners are told where there is no noise."""


def make(
    learner: str | Callable[..., Learner],
    scene: Scene,
    *,
    horizon: int,
    seed: int,
    given: Mapping[str, Any] | None = None,
) -> Learner:
    """Make a learner, from its name or a callable, with the parameters that it names.

    >>> from lumpable import worlds
    >>> scene = Scene(worlds.lumpable(contexts=6, arms=4, groups=2, seed=1))
    >>> make("ucb", scene, horizon=100, seed=1, given={"width": 0.2}).state.width
    0.2
    """
    maker, sets = find(learner) if isinstance(learner, str) else (learner, {})
    name = learner if isinstance(learner, str) else getattr(learner, "__name__", repr(learner))
    signature = inspect.signature(maker).parameters
    known = facts_of(scene, horizon, seed)
    chosen = {k: v for k, v in known.items() if k in signature} | sets | dict(given or {})
    for key in chosen:
        if key not in signature:
            raise BadArgument(name, why=f"has no parameter {key!r}{nearest(key, signature)}")
    made = maker(**chosen)
    if getattr(made, "unit_rewards", False) and scene.world.noise != "bernoulli":
        raise Unfit(f"{name}: needs rewards in [0, 1], got {scene.world.noise} noise")
    return made


def facts_of(scene: Scene, horizon: int, seed: int) -> dict[str, Any]:
    """Return everything about a scene that a learner may name.

    To know the scale of the noise, `sd`, does not make a learner an oracle.
    """
    world = scene.world
    inhabited, group = np.unique(world.group, return_inverse=True)
    member = (group == np.arange(len(inhabited))[:, np.newaxis]).astype(np.float64)
    return {
        "contexts": world.contexts,
        "arms": world.arms,
        "horizon": horizon,
        "seed": seed,
        "sd": max(world.sd, TINIEST) if world.noise == "gaussian" else 0.5,
        "groups": len(inhabited),
        "group": group,
        "group_means": member @ world.mean / member.sum(axis=1, keepdims=True),
        "frequency": world.frequency,
    }
