"""Contexts are said to differ where that is clear, and not where they are alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from rewards_made import LAWS, Law, seen, tastes
from scipy import stats

from lumpable import Lumps
from lumpable.base.arrays import FloatMatrix
from lumpable.lumps.belief import deviating, summary
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import M0

S, K, FEW, SEEDS = 100, 20, 20, range(20)
UNLIKELY = 1e-9
"""A test of a law fails by chance with less than this probability."""
COINS = Law(lambda rng, p, _: (rng.random(len(p)) < p).astype(np.float64), lambda p: p)
NORMAL = Law(lambda rng, p, _: rng.normal(p, 0.3), lambda p: p)


def alike(name: str) -> list[ThreeLevels]:
    law = COINS if name == "coins" else LAWS[name]
    return [seen(law, tastes(1, K, seed), S, FEW, seed).learner for seed in SEEDS]


def test_contexts_that_are_alike_are_not_said_to_differ() -> None:
    """In one of 40 worlds at most, up to an exact bound; strengths are finite far more often."""
    every = [each for name in ("coins", "beta", "exponential", "revenue") for each in alike(name)]
    said = sum("differ, but in no common way" in summary.summary(each) for each in every)
    finite = [each for each in every if math.isfinite(each.state.value[M0])]
    assert stats.binom.sf(said - 1, len(every), 1 / 40) > UNLIKELY
    assert stats.binom.sf(len(finite) - 1, len(every), 1 / 40) < UNLIKELY
    # What is open is called so, and the sentence agrees with the evidence.
    for each in finite:
        if deviating.log_odds(each) < math.log(deviating.ODDS):
            assert "whether contexts differ at all is open" in summary.summary(each)


def own_tastes(seed: int) -> FloatMatrix:
    """Return means of contexts that have nothing in common."""
    rng = np.random.default_rng([seed, 66])
    means: FloatMatrix = np.clip(0.5 + 0.25 * rng.standard_normal((S, K)), 0.05, 0.95)
    return means


@pytest.mark.parametrize("law", [COINS, NORMAL])
def test_contexts_that_differ_are_said_to(law: Law) -> None:
    for seed in range(3):
        learner = seen(law, own_tastes(seed), S, 60, seed).learner
        assert deviating.clearly_deviate(learner)
        assert "contexts differ, but in no common way" in summary.summary(learner).lower()


@pytest.mark.parametrize("name", ["coins", "exponential", "revenue"])
def test_rewards_of_a_cell_do_not_go_together_where_contexts_are_alike(name: str) -> None:
    """In standard errors: of mean 0 and variance 1, up to six standard errors of the mean."""
    found = [deviating.togetherness(each) for each in alike(name)]
    assert abs(np.mean(found)) < 6.0 / math.sqrt(len(found))
    assert max(np.abs(found)) < 6.0


def told(users: int, arms: int, rewards: int, reward: Callable[[int], float]) -> Lumps:
    """Return a learner of users and arms that take turns, without any chance."""
    turn = np.arange(rewards)
    lumps = Lumps([f"a{k}" for k in range(arms)], [f"u{k}" for k in range(users)])
    lumps.tell_counted(
        lumps.contexts, lumps.arms, context=turn % users, arm=turn % arms,
        reward=np.array([float(reward(k)) for k in range(rewards)]),
        count=np.ones(rewards, np.int64),
    )  # fmt: skip
    lumps.core.refit()
    return lumps


def test_contexts_whose_own_rewards_never_vary_differ() -> None:
    """Two always like it and two never do: there is no noise by which to measure that."""
    for rewards in (40, 90, 900):
        learner = told(4, 1, rewards, lambda k: k % 2).core
        assert "contexts differ, but in no common way" in summary.summary(learner).lower()
        assert deviating.togetherness(learner) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.7, -3.0])
def test_contexts_whose_rewards_are_all_the_same_look_alike(reward: float) -> None:
    assert summary.structure(told(40, 1, 4000, lambda _: reward).core).answer == "no"
    assert summary.structure(told(40, 1, 40, lambda _: reward).core).answer == "open"  # too little


def test_groups_are_open_while_one_group_has_a_probability() -> None:
    """Groups that are likelier than one, and no more, are none that one can say "yes" to."""
    lumps = told(4, 3, 900, lambda k: k % 2)
    fit = lumps.core.last_fit
    assert fit is not None
    assert fit.groups == 2
    assert fit.doubt > summary.DOUBTFUL
    found = summary.structure(lumps.core)
    said = f"2 groups are likelier than one, but the probability of one is {fit.doubt:.2g}."
    assert (found.answer, found.words, lumps.summary()) == ("open", said, said)
