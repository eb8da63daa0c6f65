"""Scenes: in which order contexts come, what a tape holds, late rewards, worlds that change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners import UCB1
from lumpable.runs.measures import Misbehaved
from lumpable.runs.playing import checkpoints, play
from lumpable.worlds.scene import BURST, CHUNK, Scene, Tape

WORLD = lb.worlds.lumpable(7, 4, 3, frequency="zipf", noise="bernoulli", seed=1)
EQUAL = lb.worlds.lumpable(6, 4, 3, noise="gaussian", sd=0.5, seed=1)
FAR = 6.2
"""A normal variable is farther from its mean than this many deviations once in 1.8e9 tries."""


def contexts_of(scene: Scene, rounds: int, seed: int = 3) -> np.ndarray[Any, Any]:
    tape = Tape(scene, rounds, seed)
    return np.concatenate([tape.chunk(k)[0] for k in range(-(-rounds // CHUNK))])


def near(found: Any, expected: Any, variance: Any) -> bool:
    return bool(np.all(np.abs(found - expected) <= FAR * np.sqrt(variance) + 1e-12))


@pytest.mark.parametrize("world", [WORLD, EQUAL])
def test_contexts_come_by_their_frequency(world: lb.World) -> None:
    T = 2 * CHUNK + 77
    came = np.bincount(contexts_of(Scene(world), T), minlength=world.contexts)
    nu = world.frequency
    assert came.sum() == T
    assert near(came, T * nu, T * nu * (1 - nu))


def test_bursts_keep_the_frequencies_and_repeat() -> None:
    T = 4 * CHUNK
    came = contexts_of(Scene(WORLD, "bursts"), T)
    nu = WORLD.frequency
    again = float((came[1:] == came[:-1]).mean())
    stays = 1 - 1 / BURST
    expected = stays + (1 - stays) * float(nu @ nu)
    assert near(again, expected, expected * (1 - expected) / T)
    # a context's visits are clumped: about 2 BURST times the variance of independent rounds
    share = np.bincount(came, minlength=7) / T
    assert near(share, nu, 2 * BURST * nu * (1 - nu) / T)


def test_sorted_contexts_come_group_by_group() -> None:
    T = CHUNK + 5000
    came = contexts_of(Scene(WORLD, "sorted"), T)
    group = WORLD.group[came]
    assert (np.diff(group) >= 0).all()
    share = np.bincount(group, minlength=3) / T
    assert np.abs(share - WORLD.group_frequency).max() <= 1.5 / T  # by place, not by chance
    nu = WORLD.frequency
    assert near(np.bincount(came, minlength=7) / T, nu, nu / T)


def test_round_robin_takes_everybody_in_turn() -> None:
    came = contexts_of(Scene(WORLD, "round robin"), CHUNK + 70)
    assert sorted(came[:7].tolist()) == list(range(7))
    assert (came[7:] == came[:-7]).all()


def test_a_tape_is_a_function_of_seed_and_chunk() -> None:
    tape = Tape(Scene(EQUAL), 3 * CHUNK, 5)
    later, noise = tape.chunk(2)
    tape.chunk(0)
    assert (tape.chunk(2)[0] == later).all()
    assert (tape.chunk(2)[1] == noise).all()
    assert (tape.chunk(1)[0] != later).any()
    assert (Tape(Scene(EQUAL), 3 * CHUNK, 6).chunk(2)[1] != noise).all()


def test_noise_is_normal_or_uniform() -> None:
    z = Tape(Scene(EQUAL), CHUNK, 5).chunk(0)[1]
    u = Tape(Scene(WORLD), CHUNK, 5).chunk(0)[1]
    assert near(z.mean(), 0.0, 1 / CHUNK)
    assert near((z**2).mean(), 1.0, 2 / CHUNK)
    assert near(u.mean(), 0.5, 1 / 12 / CHUNK)
    assert u.min() >= 0
    assert u.max() < 1


class Noted:
    """A learner in plain Python that writes down what it is told and plays arms in turn."""

    def __init__(self, arms: int) -> None:
        self.arms = arms
        self.told: list[tuple[int, int, float]] = []

    def ask(self, context: int) -> int:
        return (context + len(self.told)) % self.arms

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.told.append((context, arm, reward))


def test_late_rewards_are_told_in_order_after_so_many_rounds() -> None:
    learner = Noted(4)
    T, delay = 500, 17
    play(learner, Scene(EQUAL, delay=delay), horizon=T, seed=3)
    assert len(learner.told) == T - delay
    contexts, noise = Tape(Scene(EQUAL), T, 3).chunk(0)
    for t, (context, arm, reward) in enumerate(learner.told):
        assert context == contexts[t]
        told_by_then = max(0, t - delay)
        assert arm == (context + told_by_then) % 4
        assert math.isclose(reward, EQUAL.mean[context, arm] + 0.5 * noise[t], abs_tol=1e-12)


def test_delay_is_the_same_for_compiled_and_plain_learners() -> None:
    class Plain:
        def __init__(self) -> None:
            self.inner = UCB1(6, 4, seed=9)
            self.ask, self.tell = self.inner.ask, self.inner.tell

    for scene in (Scene(EQUAL, delay=5), Scene(EQUAL, "bursts", later=((300, EQUAL),))):
        fast = play(UCB1(6, 4, seed=9), scene, horizon=700, seed=3)
        slow = play(Plain(), scene, horizon=700, seed=3)
        assert fast.regret == slow.regret
        assert [r.reward for r in fast.rows()] == [r.reward for r in slow.rows()]


def test_a_world_takes_over_from_its_round_on() -> None:
    turned = lb.worlds.from_matrix(1 - WORLD.mean, frequency=WORLD.frequency, noise="bernoulli")
    scene = Scene(WORLD, later=((100, turned),))

    class First:
        def ask(self, context: int) -> int:
            return 0

        def tell(self, context: int, arm: int, reward: float) -> None:
            pass

    played = play(First(), scene, horizon=250, seed=3, at=[100, 101])
    came = contexts_of(scene, 250)
    before = (WORLD.best - WORLD.mean[:, 0])[came[:100]].sum()
    after = (turned.best - turned.mean[:, 0])[came[100:]].sum()
    assert math.isclose(played.rows()[0].regret, before, rel_tol=1e-12)
    assert math.isclose(played.regret, before + after, rel_tol=1e-12)
    one = (turned.best - turned.mean[:, 0])[came[100]]
    step = played.rows()[1].regret - played.rows()[0].regret
    assert math.isclose(step, one, abs_tol=1e-12)
    # judged by the world of the round that was played last
    assert played.rows()[0].simple_regret == WORLD.loss(np.zeros(7, dtype=int))
    assert played.rows()[1].simple_regret == turned.loss(np.zeros(7, dtype=int))


def test_rows_say_everything() -> None:
    row = play(UCB1(7, 4, seed=1), WORLD, horizon=1000, seed=2).rows()[-1]
    assert row.round == 1000
    assert row.clusters is None
    assert row.ari is None
    assert row.bytes == 4 * 7 * 8 * 3 + 7 * 8 + 4 * 8
    assert row.seconds > 0
    assert 0 <= row.worse_off <= 1
    assert row.simple_regret >= 0


def test_checkpoints_do_not_change_a_run() -> None:
    one = play(UCB1(7, 4, seed=1), WORLD, horizon=5000, seed=2, at=[])
    many = play(UCB1(7, 4, seed=1), WORLD, horizon=5000, seed=2, at=range(1, 5000, 7))
    assert one.regret == pytest.approx(many.regret, rel=1e-12)
    assert len(many.rows()) == 716
    assert checkpoints(10**4)[-6:] == [1000, 1585, 2512, 3981, 6310, 10000]


@pytest.mark.parametrize("answer", [4, -1, math.nan, "0", None])
def test_an_answer_that_is_no_arm_is_named(answer: Any) -> None:
    class Wrong:
        def __init__(self) -> None:
            self.left = 30

        def ask(self, context: int) -> Any:
            return answer if self.left == 0 else 0

        def tell(self, context: int, arm: int, reward: float) -> None:
            self.left -= 1

    with pytest.raises(Misbehaved, match=r"Wrong: ask\(\d\) returned .* in round 31"):
        play(Wrong(), EQUAL, horizon=100, seed=1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Scene(WORLD, "sometimes"), "arrivals: expected one of iid, bursts"),
        (lambda: Scene(WORLD, delay=-1), "delay: expected"),
        (lambda: Scene(WORLD, later=((9, WORLD), (9, WORLD))), "later: expected rounds"),
        (lambda: Scene(WORLD, later=((9, EQUAL),)), "later: expected worlds like the first"),
        (lambda: play(Noted(4), EQUAL, horizon=0, seed=1), "horizon: expected"),
        (lambda: play(Noted(4), EQUAL, horizon=5, seed=-1), "seed: expected"),
        (lambda: play(Noted(4), EQUAL, horizon=5, seed=1, at=[6]), "at: expected"),
    ],
)
def test_bad_scenes_are_named(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
