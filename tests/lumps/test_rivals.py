"""Models beside the believed one: how likely they are, and that beliefs are averaged over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from lumpable import worlds
from lumpable.lumps.belief import alternatives, beliefs, posterior
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import search
from lumpable.lumps.model.evidence import numberings
from lumpable.lumps.model.factors import low_rank
from lumpable.lumps.model.fitted import with_worth
from lumpable.lumps.model.rivals import MOST_SPLITS, SAME, UNLIKELY, neighbours
from lumpable.lumps.model.scores import scored
from lumpable.runs.playing import play

S, K = 60, 8


@pytest.fixture(scope="module", params=["bernoulli", "gaussian"])
def torn(request: pytest.FixtureRequest) -> ThreeLevels:
    """Return a learner that finds three or four groups where the other is about as likely."""
    real = request.param == "gaussian"
    world = worlds.lumpable(S, K, 4, noise=request.param, sd=0.4, seed=3 if real else 2)
    learner = ThreeLevels(S + 1, K, seed=2)
    rng = np.random.default_rng(2)
    for i in np.repeat(np.arange(S), 20):
        j = int(rng.integers(K))
        learner.tell(int(i), j, world.reward(int(i), j, rng))
        learner.next_fit = learner.state.due[0] = 10**9
    learner.adopt(learner.fit(learner.counts()))
    assert learner.last_fit is not None
    assert learner.last_fit.real == real
    return learner


def test_probabilities_are_the_evidence_of_all_numberings(torn: ThreeLevels) -> None:
    counts = posterior.coins_now(torn)
    own = posterior.current_fit(torn, counts)
    fits = [own, *neighbours(counts, own)]
    weight = [
        math.factorial(fit.groups) * math.exp(fit.evidence - numberings(fit.member) - own.evidence)
        for fit in fits
    ]
    expected = [w / sum(weight) for w in weight[1:]]
    found = posterior.rivals_of(torn)
    assert [x.probability for x in found] == pytest.approx([p for p in expected if p >= UNLIKELY])
    assert 0.1 < sum(expected) < 0.9
    assert {fit.groups for fit in fits[1:]} <= {own.groups - 1, own.groups + 1}


def test_they_are_found_once_and_again_after_a_reward(torn: ThreeLevels) -> None:
    first = posterior.rivals_of(torn)
    assert posterior.rivals_of(torn) is first
    other = ThreeLevels(3, 2)
    for _ in range(12):
        other.tell(0, 0, 1.0)
    before = posterior.rivals_of(other)
    other.tell(1, 1, 0.0)
    assert posterior.rivals_of(other) is not before


def test_no_two_are_the_same_and_every_group_is_split(torn: ThreeLevels) -> None:
    counts = posterior.coins_now(torn)
    own = posterior.current_fit(torn, counts)
    fits = [own, *neighbours(counts, own)]
    gaps = np.diff(np.sort([fit.evidence for fit in fits]))
    assert gaps.min() >= SAME
    starts = list(search.splits(counts, own, MOST_SPLITS))
    split = {int(np.argmax(own.member.sum(0) - start[:, :-1].sum(0))) for start in starts}
    assert split == set(range(own.groups))
    more = [fit.evidence for fit in fits if fit.groups > own.groups]
    for start in starts:
        fit = search.settle(counts, start, own)
        assert fit.groups == own.groups or min(abs(fit.evidence - x) for x in more) < SAME


def test_directions_have_none_and_neither_has_what_was_not_fitted(torn: ThreeLevels) -> None:
    assert posterior.rivals_of(ThreeLevels(3, 2)) == []
    directed = deepcopy(torn)
    counts = directed.counts()
    coins, last = posterior.coins_now(directed), directed.last_fit
    one = search.one_group(coins)
    fit = low_rank(coins, one, replace(one, evidence=-math.inf))
    if last is not None and last.scale is not None:
        score, phi, _ = last.scale
        fit = with_worth(counts, fit, score, scored(counts, score), phi)
    directed.adopt(fit)
    assert directed.last_fit is not None
    assert directed.last_fit.rank > 0
    assert posterior.rivals_of(directed) == []


def test_contexts_never_seen_belong_anywhere(torn: ThreeLevels) -> None:
    rival = posterior.rivals_of(torn)[0]
    share = np.exp(rival.fit.share)
    member = rival.fit.membership(np.array([S, 4]))
    assert member[0] == pytest.approx(share / share.sum())
    assert np.array_equal(member[1], rival.fit.member[4])


def test_together_is_averaged_over_models(torn: ThreeLevels) -> None:
    """Literally: in each model the chance that both are in the same group."""
    every = np.arange(S + 1)
    found = posterior.rivals_of(torn)
    own = torn.membership(every)
    expected = (1.0 - sum(x.probability for x in found)) * own @ own.T
    for rival in found:
        member = rival.fit.membership(every)
        expected += rival.probability * member @ member.T
    other = ~np.eye(S + 1, dtype=bool)
    got = beliefs.together(torn, every[:, None], every)
    assert got[other] == pytest.approx(expected[other], abs=1e-12)
    assert np.abs(got - own @ own.T)[other].max() > 0.05


def test_intervals_are_averaged_over_models(torn: ThreeLevels) -> None:
    """Literally: draw a model, a member of the group, the group that it has there, its mean."""
    plain, found = posterior.posterior_now(torn), posterior.averaged_posterior(torn)
    assert np.array_equal(found.mean, plain.mean)
    scale = torn.last_fit.scale if torn.last_fit else None
    others = [
        (x.probability, posterior.posterior_of(plain.counts, x.fit, scale))
        for x in posterior.rivals_of(torn)
    ]
    for j, g in np.ndindex(K, plain.mean.shape[1]):
        second = (1.0 - sum(p for p, _ in others)) * plain.variance[j, g]
        for p, other in others:
            for h in range(other.mean.shape[1]):
                inside = plain.member[:, g] @ other.member[:, h] / plain.member[:, g].sum()
                apart = other.mean[j, h] - plain.mean[j, g]
                second += p * inside * (other.variance[j, h] + apart**2)
        assert found.variance[j, g] == pytest.approx(second, rel=1e-9)
    assert (found.variance > plain.variance).mean() > 0.5


def test_intervals_of_large_rewards_that_differ_little() -> None:
    """What two models' means differ by is not lost beside the means: 1e7 times as large."""
    world = worlds.lumpable(S, K, 4, noise="gaussian", sd=0.4, seed=3)
    rng = np.random.default_rng(2)
    context, arm = np.repeat(np.arange(S), 20), rng.integers(K, size=20 * S)
    reward = rng.normal(world.mean[context, arm], 0.4)
    found = []
    for level in (0.0, 1e7):
        learner = ThreeLevels(S, K, seed=2)
        tell_many(learner, context, arm, level + reward, np.ones(len(arm), dtype=np.int64))
        assert posterior.rivals_of(learner)
        found.append(np.array([(row.mean - level, row.low - level, row.high - level)
                               for row in beliefs.means(learner)]))  # fmt: skip
    assert found[1] == pytest.approx(found[0], rel=1e-4, abs=1e-4)


def test_evidence_names_the_best_of_each_number_of_groups(torn: ThreeLevels) -> None:
    counts = posterior.coins_now(torn)
    own = posterior.current_fit(torn, counts)
    rows = alternatives.alternatives(torn)
    for many in (own.groups - 1, own.groups + 1):
        best = [fit.evidence for fit in neighbours(counts, own) if fit.groups == many]
        got = [row.log_evidence for row in rows if row.groups == many]
        assert not best or got[0] == max(best)


@pytest.mark.parametrize(
    "seeds",
    [(9004, 9005, 9010), pytest.param(range(9000, 9040), marks=pytest.mark.nightly)],
    ids=["three worlds", "forty worlds"],
)
def test_two_groups_taken_for_one_leave_a_doubt(seeds: Sequence[int]) -> None:
    """Groups that share what is played: who is together there is said with less than certainty.

    In worlds where a group is missing, pairs that are apart but surely together in the believed
    model are less surely so with its rivals. By day three such worlds, by night all in a row.
    """
    wrong, plain = [], []
    for seed in seeds:
        world = worlds.lumpable(100, 20, 4, noise="bernoulli", seed=seed)
        learner = ThreeLevels(100, 20, seed=seed)
        play(learner, world, horizon=10_000, seed=seed, at=[])
        assert learner.last_fit is not None
        if learner.last_fit.groups != 3:
            continue
        member = learner.membership(np.arange(100))
        a, b = np.triu_indices(100, 1)
        apart = world.group[a] != world.group[b]
        without = (member[a] * member[b]).sum(axis=1)
        sure = apart & (without > 0.9)
        wrong.append(float(np.mean(beliefs.together(learner, a[sure], b[sure]))))
        plain.append(float(without[sure].mean()))
    assert len(wrong) >= 3
    assert np.mean(wrong) < np.mean(plain) - 0.05


@pytest.mark.parametrize("seed", [2, 4, 6, 8, 9])
def test_groups_of_quiet_rewards_are_not_said_to_deviate(seed: int) -> None:
    """Contexts are alike in each group, and the groups' means are one of two values.

    Own means of two values are likelier then, by up to a million times, though nobody deviates.
    """
    rng = np.random.default_rng([seed, 100])
    theta, group = rng.choice([0.05, 0.95], size=(3, 10)), rng.integers(3, size=100)
    user, arm = np.repeat(np.arange(100), 60), rng.integers(10, size=6000)
    reward = theta[group[user], arm] + rng.normal(0.0, 0.1, 6000)
    learner = ThreeLevels(101, 10, seed=1)
    tell_many(learner, user, arm, reward, np.ones(6000, dtype=np.int64))
    rows = alternatives.alternatives(learner)
    assert rows[0].believed
    assert {math.isinf(row.m0) for row in rows} == {True, False}
    assert max(row.difference for row in rows) < 1.0
