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
from lumpable.worlds.world import World

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

    `lumpable.Lumps` and `lumpable.PolicyFinder`, which take names, are taken for the learners of
    numbers that they play by. What a comparison does not do is refused: floors and limits, other
    arms and contexts than those of the world, rewards that the world does not give.

    >>> from lumpable import worlds
    >>> scene = Scene(worlds.lumpable(contexts=6, arms=4, groups=2, seed=1))
    >>> make("ucb", scene, horizon=100, seed=1, given={"width": 0.2}).state.width
    0.2
    """
    maker, sets = find(learner) if isinstance(learner, str) else (learner, {})
    name = learner if isinstance(learner, str) else getattr(learner, "__name__", repr(learner))
    signature = inspect.signature(maker).parameters
    known = facts_of(scene, horizon, seed)
    if _takes_names(maker):
        known = {"seed": seed}
    chosen = {k: v for k, v in known.items() if k in signature} | sets | dict(given or {})
    for key in chosen:
        if key not in signature:
            raise BadArgument(name, why=f"has no parameter {key!r}{nearest(key, signature)}")
    made = maker(**chosen)
    if _takes_names(type(made)):
        made = _learner_of_numbers(name, made, scene)
    low, high = scene.world.law.support
    if getattr(made, "unit_rewards", False) and (low < 0.0 or high > 1.0):
        raise Unfit(f"{name}: needs rewards in [0, 1], got {scene.world.law.name} noise")
    return made


def _takes_names(maker: object) -> bool:
    from lumpable.lumps.use.named_learner import NamedLearner

    return isinstance(maker, type) and issubclass(maker, NamedLearner)


def _learner_of_numbers(name: str, made: Any, scene: Scene) -> Learner:
    """Return a learner with names as one of numbers, for this scene."""
    from lumpable.lumps.core.levels import ThreeLevels
    from lumpable.lumps.core.top_two import TopTwo
    from lumpable.lumps.use.finder import PolicyFinder

    S, K = scene.world.contexts, scene.world.arms
    if made.core.tells > 0:
        raise BadArgument(name, "a learner that has seen nothing", repr(made))
    _check_names(name, made, scene.world)
    if isinstance(made, PolicyFinder):
        return TopTwo(S, K, epsilon=made.epsilon, delta=made.delta, seed=made.seed)
    if made.floor > 0.0 or made.at_most is not None:
        raise BadArgument(name, why="plays by `ask` in comparisons: without floor and at_most")
    return ThreeLevels(S, K, seed=made.seed)


def _check_names(name: str, made: Any, world: World) -> None:
    """Refuse arms, contexts and rewards that are not those of a world: there they are numbers."""
    named, law = made._named, world.law
    if (len(named.arms), len(made.arms)) not in ((0, 0), (world.arms, world.arms)):
        expected = f"no arms, or all {world.arms} of the world"
        raise BadArgument(name, expected, f"{made.arms}")
    if len(named.contexts) not in (0, world.contexts):
        expected = f"no contexts, or all {world.contexts} of the world"
        raise BadArgument(name, expected, f"{made.contexts[:10]}")
    accepted, (low, high) = named.accepted, law.support
    coins = law.name == "bernoulli"
    if low < accepted.low or high > accepted.high or (accepted.binary and not coins):
        raise Unfit(f"{name}: expects {accepted.words}, got {law.name} noise")


def _noise_scale(world: World) -> float:
    """Return the scale of a world's noise; any coin's is at most 1/2."""
    if not world.plain:
        return world.spread
    return world.sd if world.noise == "gaussian" else 0.5


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
        "sd": max(_noise_scale(world), TINIEST),
        "groups": len(inhabited),
        "group": group,
        "group_means": member @ world.mean / member.sum(axis=1, keepdims=True),
        "frequency": world.frequency,
    }
