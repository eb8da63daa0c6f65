"""Where cells lie, how much room they take, and that looking at them in parts changes nothing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from counts_made import made

from lumpable.lumps.belief import posterior
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import counts as counts_module
from lumpable.lumps.model import likelihoods, search
from lumpable.lumps.model.counts import Counts, sample


def rows(rng: np.random.Generator, S: int, K: int, number: int) -> tuple[Any, ...]:
    """Return contexts, arms, rewards and counts; early contexts come more often."""
    context = (S * rng.random(number) ** 2).astype(np.int64)
    reward = rng.integers(2, size=number).astype(float)
    return context, rng.integers(K, size=number), reward, rng.integers(3, size=number)


@pytest.mark.parametrize("seed", range(3))
def test_batches_and_single_rewards_leave_the_cells_that_they_say(seed: int) -> None:
    S, K = 20, 60
    rng, learner = np.random.default_rng(seed), ThreeLevels(S, K)
    n, s = np.zeros((2, S, K))
    for number in rng.integers(1, 200, 30).tolist():
        batch = rows(rng, S, K, number)
        tell_many(learner, *batch)
        for i, j, reward, times in zip(*(column.tolist() for column in batch), strict=True):
            n[i, j] += times
            s[i, j] += times * reward
        i, j, reward = int(rng.integers(S)), int(rng.integers(K)), float(rng.integers(2))
        learner.tell(i, j, reward)
        n[i, j] += 1.0
        s[i, j] += reward
    found = learner.counts()
    at = found.context[found.row], found.arm
    assert np.array_equal(found.n, n[at])
    assert np.array_equal(found.s, s[at])
    assert len(found.n) == np.count_nonzero(n)
    assert (np.diff(found.row * K + found.arm) > 0).all()  # in order
    assert (learner.state.length <= learner.state.room).all()
    assert (
        learner.state.used[0] <= 4 * S * K
    )  # rows move to twice the room, or more, and no oftener


def test_a_table_takes_no_more_room_than_its_cells() -> None:
    S, K = 30, 300
    context, arm = np.repeat(np.arange(S), 100), np.tile(np.arange(100), S)
    learner = ThreeLevels(S, K)
    tell_many(
        learner, context, arm, (arm % 2).astype(np.float64), np.ones(len(arm), dtype=np.int64)
    )
    assert learner.state.used[0] == len(arm)
    assert (learner.state.room[:S] == 100).all()


@pytest.mark.parametrize("block", [1, 7, 50])
def test_cells_in_blocks_are_those_in_one_piece(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, learner = np.random.default_rng(block), ThreeLevels(40, 9)
    tell_many(learner, *rows(rng, 40, 9, 500))
    whole = learner.counts()
    fit = search.one_group(whole)
    label = np.zeros(whole.contexts, dtype=np.int64)
    surprise = search._surprise(whole, fit, label)
    monkeypatch.setattr(counts_module, "BLOCK", block)
    parts = learner.counts()
    for name in ("context", "first", "arm", "n", "s"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
    assert np.array_equal(search._surprise(whole, fit, label), surprise)
    found = [*whole.blocks()]
    assert found[0][0].start == 0
    assert found[-1][0].stop == whole.contexts
    assert all(one[0].stop == two[0].start for one, two in itertools.pairwise(found))
    assert all(
        (one.start, one.stop) == (whole.first[rows_.start], whole.first[rows_.stop])
        for rows_, one in found
    )


def test_a_sample_has_the_cells_of_its_contexts() -> None:
    n = np.random.default_rng(3).integers(0, 3, (60, 9))
    n[:, 0] += 1  # everybody was seen
    whole = made(n, n // 2)
    some, kept = sample(whole, len(whole.arm) // 3)
    inside = np.isin(whole.row, kept)
    assert 1 < some.contexts < whole.contexts
    for name in ("arm", "n", "s"):
        assert np.array_equal(getattr(some, name), getattr(whole, name)[inside])
    assert np.array_equal(np.diff(some.first), np.diff(whole.first)[kept])


@pytest.mark.parametrize("m0", [0.5, 8.0, np.inf])
def test_likelihoods_from_a_table_are_those_of_each_cell(m0: float) -> None:
    rng, S, K, M = np.random.default_rng(5), 300, 4, 3
    first = np.arange(S + 1) * K
    arm, n = np.tile(np.arange(K), S), rng.integers(1, 7, S * K).astype(np.float64)
    n[::50] += 0.5  # coins of a score may be parts
    s = np.floor(n * rng.random(S * K)) + rng.integers(2, size=S * K) * 0.25
    mean, member = rng.uniform(0.1, 0.9, (K, M)), rng.dirichlet(np.ones(M), S)
    share = np.log(np.full(M, 1.0 / M))
    assert S * K > likelihoods.MANY * K  # looked up ...
    whole = likelihoods.mixture_likelihood(first, arm, n, s, mean, share, member, m0)
    each = 0.0
    for i in range(S):  # ... and here not
        own = slice(first[i], first[i + 1])
        each += likelihoods.mixture_likelihood(
            first[:2], arm[own], n[own], s[own], mean, share, member[i : i + 1], m0
        )
    assert whole == each


def test_questions_in_one_block_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = ThreeLevels(40, 9)
    tell_many(learner, *rows(np.random.default_rng(1), 40, 9, 900))
    asked, count = list[int](), ThreeLevels.counts

    def counted(self: ThreeLevels) -> Counts:
        asked.append(self.tells)
        return count(self)

    monkeypatch.setattr(ThreeLevels, "counts", counted)
    apart = posterior.posterior_now(learner), posterior.intervals_of(learner, 0.9)
    asked.clear()
    with posterior.cache_answers(learner):
        for _ in range(2):
            now = posterior.posterior_now(learner), posterior.intervals_of(learner, 0.9)
            posterior.coins_now(learner)
            posterior.best_arms_of(learner)
        assert asked == [learner.tells]
        learner.tell(0, 0, 1.0)
        assert posterior.posterior_now(learner).counts.rewards == learner.tells == asked[-1]
    assert np.array_equal(now[0].mean, apart[0].mean)
    assert np.array_equal(now[1], apart[1])
