"""Thompson sampling that knows the grouping: literal versions, and what follows from the groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners.oracle_groups import KnownGroups
from lumpable.learners.thompson_gaussian import GaussianThompson
from twins.agree import agree
from twins.literal_beta import LiteralBeta
from twins.literal_gaussian import LiteralGaussian


class LiteralGroupsBeta(LiteralBeta):
    def __init__(self, arms: int, group: list[int], spread: float, seed: int) -> None:
        super().__init__(arms, False, spread, seed)
        self.group = group

    def key(self, context: int, arm: int) -> tuple[int, int]:
        return (self.group[context], arm)


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("spread", [1.0, 0.5])
def test_decisions_are_the_literal_ones(noise: str, spread: float) -> None:
    world = lb.worlds.lumpable(9, 5, 3, noise=noise, seed=3)
    group = [int(g) for g in world.group]
    learner = KnownGroups(9, 5, group=world.group, spread=spread, seed=8)
    agree(learner, LiteralGaussian(5, lambda i: group[i], spread, 8), world)
    assert learner.labels().tolist() == group


@pytest.mark.parametrize("spread", [1.0, 0.5])
def test_decisions_are_the_literal_ones_with_beta(spread: float) -> None:
    world = lb.worlds.lumpable(9, 5, 3, noise="bernoulli", seed=3)
    learner = KnownGroups(9, 5, group=world.group, model="beta", spread=spread, seed=8)
    agree(learner, LiteralGroupsBeta(5, [int(g) for g in world.group], spread, 8), world)
    policy = learner.policy()
    assert all(policy[world.group == g].std() == 0 for g in range(3))


@pytest.mark.parametrize("pooled", [False, True])
def test_one_group_is_pooled_and_single_groups_are_on_their_own(pooled: bool) -> None:
    world = lb.worlds.lumpable(6, 4, 2, seed=3)
    group = np.zeros(6, dtype=int) if pooled else np.arange(6)
    known = KnownGroups(6, 4, group=group, seed=8)
    agree(known, GaussianThompson(6, 4, pooled=pooled, seed=8), world)


def test_regret_depends_on_groups_not_on_contexts() -> None:
    """Known groups are r bandits, of regret sqrt(rKT): 10 or 160 contexts make no difference.

    Means of 20 runs each with r = 5, K = 10, T = 5,000, Bernoulli, one set of groups; Welch's test
    at p < 1e-9. On their own 160 contexts lose over twice as much.
    """
    means = np.random.default_rng(1).random((5, 10))
    regret: dict[int, list[float]] = {}
    for S in (10, 160):
        world = lb.worlds.from_matrix(np.repeat(means, S // 5, axis=0), noise="bernoulli")
        regret[S] = [
            lb.play(
                KnownGroups(S, 10, group=world.group, seed=s), world, horizon=5000, seed=s
            ).regret
            for s in range(20)
        ]
    assert stats.ttest_ind(regret[10], regret[160], equal_var=False).pvalue > 1e-9
    alone = lb.play(GaussianThompson(160, 10, seed=1), world, horizon=5000, seed=1).regret
    assert alone > 2 * max(regret[160])


def test_parameters_are_named() -> None:
    for bad in ([0, 1], [0, 1, 3], [0, -1, 1], [0.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match=r"group: expected 3 whole numbers in 0 \.\. 2"):
            KnownGroups(3, 2, group=bad)
    with pytest.raises(ValueError, match="model: expected one of gaussian, beta"):
        KnownGroups(3, 2, group=[0, 0, 1], model="normal")
    with pytest.raises(ValueError, match=r"reward: expected a number in \[0, 1\]"):
        KnownGroups(3, 2, group=[0, 0, 1], model="beta").tell(0, 0, 2.0)
    KnownGroups(3, 2, group=[0, 0, 1]).tell(0, 0, 2.0)
