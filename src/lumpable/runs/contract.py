"""A contract for learners: pass a function that makes yours, and every law is checked.

    from lumpable.testing import check_learner

    def test_mine():
        check_learner(lambda contexts, arms, seed: Mine(contexts, arms, seed=seed))

A broken law raises `AssertionError` with the law in words. Needs no test framework.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lumpable.base.protocols import Learner
from lumpable.runs.measures import Misbehaved, current_labels, current_policy
from lumpable.runs.playing import play
from lumpable.worlds.made import lumpable
from lumpable.worlds.scene import Scene
from lumpable.worlds.world import World

Maker = Callable[[int, int, int], Learner]
"""Makes a fresh learner from contexts, arms and a seed."""


def check_learner(
    make: Maker, *, contexts: int = 12, arms: int = 5, rounds: int = 300, noise: str = "bernoulli"
) -> None:
    """Check that a learner obeys the laws of the protocol; raise the first that it breaks.

    >>> from lumpable.learners import UCB1
    >>> check_learner(lambda contexts, arms, seed: UCB1(contexts, arms, seed=seed))
    """
    world = lumpable(contexts, arms, min(3, contexts), noise=noise, seed=1)
    _recommends(make, world, rounds)
    _same_seed_same_run(make, world, rounds)
    _asked_twice(make, world, rounds)
    _same_by_hand(make, world, rounds)
    _takes_late_rewards(make, world, rounds)
    _refuses(make, world, rounds)
    for S, K in ((1, arms), (contexts, 1), (1, 1)):
        small = lumpable(S, K, 1, noise=noise, seed=2)
        play(make(S, K, 3), small, horizon=rounds, seed=4)


def _law(holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(words)


def _after_rounds(make: Maker, world: World, rounds: int) -> Any:
    """Return a learner after `rounds` rounds of ask and tell."""
    learner, rng = make(world.contexts, world.arms, 3), np.random.default_rng(5)
    for _ in range(rounds):
        context = int(rng.integers(world.contexts))
        arm = learner.ask(context)
        _law(0 <= arm < world.arms, f"ask returns an arm: got {arm!r} of {world.arms}")
        learner.tell(context, arm, world.reward(context, arm, rng))
    return learner


def _asked_twice(make: Maker, world: World, rounds: int) -> None:
    """`ask` changes nothing: a learner that is asked more often plays the same."""
    plain, curious = (make(world.contexts, world.arms, 3) for _ in range(2))
    rng = np.random.default_rng(6)
    for t in range(rounds):
        context = int(rng.integers(world.contexts))
        arm = plain.ask(context)
        for other in (context, (context + 1) % world.contexts):
            curious.ask(other)
        again = curious.ask(context)
        _law(arm == again, f"ask changes nothing: round {t} gave {arm}, asked often {again}")
        reward = world.reward(context, arm, rng)
        plain.tell(context, arm, reward)
        curious.tell(context, arm, reward)


def _same_seed_same_run(make: Maker, world: World, rounds: int) -> None:
    """Two learners with the same seed do the same."""
    first, second = (
        play(make(world.contexts, world.arms, 3), world, horizon=rounds, seed=5) for _ in range(2)
    )
    _law(first.regret == second.regret, "the same seed gives the same run")


def _same_by_hand(make: Maker, world: World, rounds: int) -> None:
    """Played round by round from Python or in its own loop, a learner does the same."""
    by_hand = _ByHand(make(world.contexts, world.arms, 3))
    looped = make(world.contexts, world.arms, 3)
    slow, fast = (play(x, world, horizon=rounds, seed=5).regret for x in (by_hand, looped))
    _law(slow == fast, "ask and tell do what the loop does")
    first, second = (
        current_policy(x, world.contexts, world.arms).tolist() for x in (by_hand.learner, looped)
    )
    _law(first == second, "the same policy, too")


class _ByHand:
    """A learner with nothing but ask and tell, which is played by the plain loop."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.ask, self.tell = learner.ask, learner.tell


def _recommends(make: Maker, world: World, rounds: int) -> None:
    """A policy has an arm for every context, before and after rewards."""
    for learner in (make(world.contexts, world.arms, 3), _after_rounds(make, world, rounds)):
        try:
            current_policy(learner, world.contexts, world.arms)
            current_labels(learner, world.contexts)
        except Misbehaved as error:
            _law(False, str(error))


def _takes_late_rewards(make: Maker, world: World, rounds: int) -> None:
    """Late rewards are accepted, also for an arm that it would not choose now."""
    play(make(world.contexts, world.arms, 3), Scene(world, delay=17), horizon=rounds, seed=5)
    learner = make(world.contexts, world.arms, 3)
    for context in range(world.contexts):
        for arm in range(world.arms):
            learner.tell(context, arm, 1.0)
    learner.ask(0)


def _refuses(make: Maker, world: World, rounds: int) -> None:
    """A bad context, arm or reward raises an error that names it, and changes nothing."""
    learner, same = _after_rounds(make, world, rounds), _after_rounds(make, world, rounds)
    S, K = world.contexts, world.arms
    bad: list[tuple[str, Callable[[], Any]]] = [
        ("context", lambda: learner.ask(S)),
        ("context", lambda: learner.ask(-1)),
        ("context", lambda: learner.tell(S, 0, 0.5)),
        ("arm", lambda: learner.tell(0, K, 0.5)),
        ("arm", lambda: learner.tell(0, -1, 0.5)),
        ("reward", lambda: learner.tell(0, 0, math.nan)),
        ("reward", lambda: learner.tell(0, 0, math.inf)),
    ]
    for word, call in bad:
        try:
            call()
        except ValueError as error:
            _law(word in str(error), f"an error names the {word}: got {str(error)!r}")
        else:
            _law(False, f"a bad {word} raises ValueError: nothing was raised")
    for context in range(S):
        _law(learner.ask(context) == same.ask(context), "what is refused changes nothing")
