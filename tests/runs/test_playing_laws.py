"""Playing under any law: every learner meets the same rewards, however a run is cut up.

And what would write outside of a learner's arrays is refused before it is played.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumpable as lb
from lumpable import worlds
from lumpable.comparisons import roster
from lumpable.learners import KLUCB, UCB1, GaussianThompson
from lumpable.learners.catalogue import CATALOGUE
from lumpable.runs.playing import play
from lumpable.worlds.scene import BLOCK, CHUNK, Scene, Tape

LAWS = ["poisson", "exponential", "beta", "revenue", "student"]
T = 2 * BLOCK + 300


def world_of(noise: Any, seed: int = 1) -> lb.World:
    return worlds.lumpable(6, 4, 3, noise=noise, seed=seed)


class Noted:
    """Plays arms in turn from `first` on, and keeps what it is told."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.told: list[tuple[int, int, float]] = []

    def ask(self, context: int) -> int:
        return (self.first + len(self.told)) % 4

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.told.append((context, arm, reward))


def luck(scene: Scene, horizon: int, seed: int) -> Iterator[tuple[int, Any]]:
    """Yield the context and the rewards of all arms, round by round, straight from the tape."""
    assert horizon <= CHUNK
    tape = Tape(scene, horizon, seed)
    came, _ = tape.chunk(0)
    for block in range(-(-horizon // BLOCK)):
        contexts = came[block * BLOCK : (block + 1) * BLOCK]
        each = [tape.rewards(contexts, block, k) for k in range(1 + len(scene.later))]
        for i, context in enumerate(contexts.tolist()):
            yield context, each[scene.changes(block * BLOCK + i)][i]


@pytest.mark.parametrize("noise", LAWS)
def test_a_learner_is_told_the_reward_of_the_arm_that_it_played(noise: str) -> None:
    scene = Scene(world_of(noise))
    first, second = Noted(0), Noted(1)
    for learner in (first, second):
        play(learner, scene, horizon=T, seed=3)
    rounds = zip(first.told, second.told, luck(scene, T, 3), strict=True)
    for one, other, (context, rewards) in rounds:
        assert one[0] == other[0] == context
        assert one[2] == rewards[one[1]]
        assert other[2] == rewards[other[1]]


@pytest.mark.parametrize("noise", LAWS)
def test_how_a_run_is_cut_does_not_change_it(noise: str) -> None:
    once, often = Noted(), Noted()
    play(once, world_of(noise), horizon=T, seed=3, at=[])
    play(often, world_of(noise), horizon=T, seed=3, at=range(1, T, 7))
    assert once.told == often.told


def test_blocks_and_seeds_have_luck_of_their_own() -> None:
    world = world_of("exponential")
    tape = Tape(Scene(world, later=((9, world),)), CHUNK, 3)
    contexts = np.zeros(BLOCK, dtype=np.int64)
    first = tape.rewards(contexts, 0, 0)
    assert np.array_equal(first, tape.rewards(contexts, 0, 0))
    assert (first != tape.rewards(contexts, 1, 0)).all()
    assert (first != tape.rewards(contexts, 0, 1)).all()  # a later world has luck of its own
    assert (first != Tape(tape.scene, CHUNK, 4).rewards(contexts, 0, 0)).all()
    mean = tape.scene.world.mean[0]
    assert np.all(np.abs(first.mean(axis=0) - mean) <= 6.2 * mean / np.sqrt(BLOCK))


@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("delay", [0, 9])
def test_compiled_and_plain_learners_meet_the_same(noise: str, delay: int) -> None:
    class Plain:
        def __init__(self) -> None:
            inner = GaussianThompson(6, 4, seed=9)
            self.ask, self.tell = inner.ask, inner.tell

    scene = Scene(world_of(noise), delay=delay, later=((BLOCK + 100, world_of(noise, 2)),))
    fast = play(GaussianThompson(6, 4, seed=9), scene, horizon=T, seed=3)
    slow = play(Plain(), scene, horizon=T, seed=3)
    assert fast.regret == slow.regret
    assert [row.reward for row in fast.rows()] == [row.reward for row in slow.rows()]


def test_a_later_world_draws_from_its_round_on_even_inside_a_block() -> None:
    silent = worlds.from_matrix(np.zeros((6, 4)), noise="poisson")
    scene = Scene(silent, later=((BLOCK + 100, world_of("poisson")),))
    learner = Noted()
    play(learner, scene, horizon=T, seed=3)
    for t, ((_, arm, reward), (_, rewards)) in enumerate(
        zip(learner.told, luck(scene, T, 3), strict=True)
    ):
        assert reward == rewards[arm]
        assert t >= BLOCK + 100 or reward == 0
    assert sum(reward for *_, reward in learner.told) > 100


def test_worlds_of_different_laws_cannot_follow_each_other() -> None:
    with pytest.raises(lb.BadArgument, match="later: expected worlds like the first"):
        Scene(world_of("poisson"), later=((9, world_of("exponential")),))
    with pytest.raises(lb.BadArgument, match="later: expected worlds like the first"):
        Scene(world_of("gaussian"), later=((9, world_of(worlds.Gaussian(1.0, slope=1.0))),))


# --- Who does not fit -----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_no_learner_is_played_in_a_world_of_another_size(name: str) -> None:
    scene = Scene(worlds.lumpable(6, 4, 2, noise="bernoulli", seed=1))
    learner = roster.make(name, scene, horizon=100, seed=1)
    for S, K, words in (
        (7, 4, "one for 7 contexts, got .* for 6"),
        (5, 4, "one for 5 contexts, got .* for 6"),
        (6, 5, "one for 5 arms, got .* for 4"),
        (6, 3, "one for 3 arms, got .* for 4"),
    ):
        other = worlds.lumpable(S, K, 2, noise="bernoulli", seed=1)
        with pytest.raises(lb.BadArgument, match=f"learner: expected {words}"):
            play(learner, other, horizon=10, seed=1)


@pytest.mark.parametrize("kind", [lb.Lumps, lb.PolicyFinder])
def test_no_learner_with_names_is_played_in_a_world_of_other_arms(kind: Any) -> None:
    world = worlds.lumpable(6, 4, 2, noise="bernoulli", seed=1)
    known = kind(arms=range(4))
    for arms, words in (
        (range(3), f"one for 4 arms, got {kind.__name__} for 3"),
        (range(20), f"one for 4 arms, got {kind.__name__} for 20"),
        ((), f"one for 4 arms, got {kind.__name__} for 0"),
        (range(1, 5), f"one for 4 arms, got {kind.__name__} for 4 of other names, such as 4"),
        ("0123", f"{kind.__name__} for 4 of other names, such as '0'; a world's are 0 to 3"),
    ):
        learner = kind(arms=list(arms), new_arms=True)
        with pytest.raises(lb.BadArgument, match=f"learner: .*{words}"):
            play(learner, world, horizon=10, seed=1)
        assert learner.core.tells == 0
    known.retire_arm(2)
    with pytest.raises(lb.BadArgument, match=f"{kind.__name__} for 3"):
        play(known, world, horizon=10, seed=1)
    assert play(kind(arms=[3, 1, 0, 2]), world, horizon=10, seed=1).rounds == 10


def test_a_learner_that_needs_rewards_in_a_range_is_refused_elsewhere() -> None:
    for noise, name in (("gaussian", "gaussian"), ("poisson", "poisson"), (np_coins, "np_coins")):
        with pytest.raises(lb.BadArgument, match=rf"needs rewards in \[0, 1\], got {name} noise"):
            play(KLUCB(6, 4, seed=1), world_of(noise), horizon=10, seed=1)
    bounded = worlds.Custom(np_coins, low=0.0, high=1.0)
    for world in (world_of("beta"), world_of(bounded)):
        assert play(KLUCB(6, 4, seed=1), world, horizon=10, seed=1).rounds == 10


def np_coins(mean: Any, rng: np.random.Generator) -> Any:
    return rng.random(mean.shape) < mean


def test_a_law_that_gives_the_wrong_shape_in_a_run_is_refused() -> None:
    def narrow(mean: Any, rng: np.random.Generator) -> Any:
        return mean if len(mean) < 3 else mean[:, :1]

    with pytest.raises(lb.BadArgument, match=r"\(300, 4\) rewards from narrow\(mean, rng\), got"):
        play(UCB1(6, 4, seed=1), world_of(narrow), horizon=300, seed=1)
