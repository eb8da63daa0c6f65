"""LATTICE against a literal version, its phases, its clusters and its regret."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.fitting.completion import als
from lumpable.learners.lattice import LATTICE
from lumpable.learners.ucb import UCB1
from lumpable.runs.measures import adjusted_rand
from twins.agree import agree
from twins.stream import Stream


class LiteralLATTICE:
    """Our reading of Pal et al. (2023), with the lengths that the class states, in lists."""

    def __init__(
        self, contexts: int, arms: int, groups: int, width: float, few: float, sd: float, seed: int
    ) -> None:
        self.S, self.K, self.C = contexts, arms, groups
        self.width, self.few, self.sd, self.seed = width, few, sd, seed
        self.stream = Stream(seed)
        self.rewards: list[list[list[float]]] = [[[] for _ in range(arms)] for _ in range(contexts)]
        self.blocks = [(list(range(contexts)), list(range(arms)), 1)]
        self.phases_ended = 0

    def block(self, context: int) -> tuple[list[int], list[int], int]:
        return next(block for block in self.blocks if context in block[0])

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        _, arms, _ = self.block(context)
        if len(arms) > int(self.few * self.C):
            return arms[self.stream.below(len(arms))]
        seen = [self.rewards[context][j] for j in arms]
        n = sum(len(x) for x in seen)
        index = [
            sum(x) / len(x) + self.sd * math.sqrt(2 * math.log(n) / len(x)) if x else math.inf
            for x in seen
        ]
        return arms[self.stream.largest(index)]

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards[context][arm].append(reward)
        self.stream.told()
        rng = np.random.default_rng([self.seed, self.stream.tells])
        waiting = [block for block in self.blocks if self.over(block)]
        while waiting:
            block = waiting.pop(0)
            self.blocks.remove(block)
            fresh = self.ended(block, rng)
            self.blocks += fresh
            waiting += [block for block in fresh if self.over(block)]
        self.blocks.sort()

    def over(self, block: tuple[list[int], list[int], int]) -> bool:
        users, arms, phase = block
        if len(arms) <= int(self.few * self.C):
            return False
        seen = sum(len(self.rewards[i][j]) for i in users for j in arms)
        return seen >= self.width**2 * self.C * (len(users) + len(arms)) * 4.0 ** (phase - 1)

    def ended(
        self, block: tuple[list[int], list[int], int], rng: np.random.Generator
    ) -> list[tuple[list[int], list[int], int]]:
        users, arms, phase = block
        self.phases_ended += 1
        Q = self.completed(users, arms, rng)
        delta = self.sd * 2.0 ** (1 - phase)
        found, left = [], list(users)
        while left:
            component = [left.pop(0)]
            for i in component:  # it grows while it is walked
                near = [k for k in left if all(abs(Q[i, j] - Q[k, j]) <= 2 * delta for j in arms)]
                component += near
                left = [k for k in left if k not in near]
            best = {i: max(Q[i, j] for j in arms) for i in component}
            unknown = [j for j in arms if not any(self.rewards[i][j] for i in users)]
            good = [j for j in arms if any(Q[i, j] >= best[i] - 2 * delta for i in component)]
            kept = sorted({*good, *unknown})
            found.append((sorted(component), kept, phase + 1))
        return found

    def completed(
        self, users: list[int], arms: list[int], rng: np.random.Generator
    ) -> dict[tuple[int, int], float]:
        n = np.array([[float(len(self.rewards[i][j])) for j in arms] for i in users])
        everyone = {j: [y for i in users for y in self.rewards[i][j]] for j in arms}
        overall = [y for x in everyone.values() for y in x]
        other = sum(overall) / len(overall)
        column = {j: sum(x) / len(x) if x else other for j, x in everyone.items()}
        rest = np.zeros(n.shape)
        for a, i in enumerate(users):
            for b, j in enumerate(arms):
                seen = self.rewards[i][j]
                rest[a, b] = sum(seen) / len(seen) - column[j] if seen else -column[j]
        if len(users) > self.C and len(arms) > self.C:
            U, V = als(n, rest, self.C, 4.0 * self.sd, 10, rng)
            rest = U @ V.T
        else:
            rest[n == 0] = 0.0
        cells = [(a, b) for a in range(len(users)) for b in range(len(arms))]
        return {(users[a], arms[b]): column[arms[b]] + float(rest[a, b]) for a, b in cells}


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
@pytest.mark.parametrize(("width", "few"), [(1.0, 0.5), (0.6, 1.0)])
def test_decisions_are_the_literal_ones(width: float, few: float, noise: str) -> None:
    world = lb.worlds.lumpable(12, 9, 2, noise=noise, sd=0.4, gap=0.1, seed=3)
    learner = LATTICE(12, 9, groups=2, width=width, few=few, sd=0.4, seed=16)
    literal = LiteralLATTICE(12, 9, 2, width, few, 0.4, 16)
    agree(learner, literal, world)
    assert literal.phases_ended == learner.completions > 2
    assert learner.labels().tolist() == [literal.block(i)[0][0] for i in range(12)]
    assert few < 1.0 or learner.state.size.min() <= int(few * 2)  # UCB was reached


def separated(contexts: int, arms: int, clusters: int, noise_sd: float) -> lb.World:
    """Clusters with one good arm each (0.9), all other means 0.3, in turns."""
    mean = np.full((contexts, arms), 0.3)
    mean[np.arange(contexts), np.arange(contexts) % clusters] = 0.9
    return lb.worlds.from_matrix(mean, noise="gaussian", sd=noise_sd)


@pytest.mark.parametrize("seed", range(3))
def test_no_cluster_is_ever_split_and_all_are_found(seed: int) -> None:
    """If every completion is within Delta, no user leaves its cluster's group.

    Clusters are 0.6 apart and the noise is 0.1; width 4 makes Delta four standard errors of a
    completed entry. The clusters are parted as soon as 2 Delta < 0.6, and each keeps its good arm.
    """
    world = separated(60, 12, 3, 0.1)
    learner = LATTICE(60, 12, groups=3, width=4.0, few=0.4, sd=0.1, seed=seed)
    rows = lb.play(learner, world, horizon=40_000, seed=seed).rows()
    assert {row.clusters for row in rows} == {1, 3}
    assert rows[-1].ari == 1.0
    assert world.loss(learner.policy()) == 0.0
    assert all(learner.state.active[i, i % 3] for i in range(60))


def test_regret_flattens_where_that_of_ucb_for_each_user_does_not() -> None:
    """Against users on their own: sharing pays while users have few pulls for an arm.

    300 users in 2 clusters, 100 arms with uniform means, 100 pulls a user, noise 0.25, equal
    bonuses. UCB has pulled each arm about once: its regret in the second half is that of uniform
    play, near 0.45 a round. LATTICE has parted the clusters and dropped most arms. Half of UCB's is
    asked, a fifth was seen.
    """
    for seed in range(2):
        world = lb.worlds.lumpable(300, 100, 2, sd=0.25, seed=seed)
        shared = LATTICE(300, 100, groups=2, width=1.0, sd=0.25, seed=1)
        alone = UCB1(300, 100, width=0.25, seed=1)
        late = []
        for learner in (shared, alone):
            rows = lb.play(learner, world, horizon=30_000, seed=1, at=[15_000]).rows()
            late.append(rows[-1].regret - rows[0].regret)
        assert 2 * late[0] < late[1]
        assert adjusted_rand(shared.labels(), world.group) > 0.9


def test_completions_are_few() -> None:
    """O(log T) calls, says the abstract: the block of phase l holds at least 4^(l-1) rewards.

    So a group ends at most log_4 T phases, and at width 4 there are never more groups than the 3
    clusters.
    """
    world = lb.worlds.lumpable(60, 12, 3, noise="bernoulli", seed=1)
    calls = []
    for T in (1_000, 10_000, 100_000):
        learner = LATTICE(60, 12, groups=3, width=4.0, few=0.4, seed=1)
        lb.play(learner, world, horizon=T, seed=2, at=[])
        calls.append(learner.completions)
        assert learner.completions <= 3 * math.log(T, 4)
    assert calls[0] < calls[1] < calls[2]


def test_the_first_phase_has_the_stated_length() -> None:
    """width^2 C (S + K) rewards: 0.81 * 2 * 13 = 21.06, so the 22nd ends it."""
    learner = LATTICE(8, 5, groups=2, width=0.9, seed=1)
    for t in range(21):
        learner.tell(t % 8, t % 5, 0.5)
    assert learner.completions == 0
    learner.tell(0, 0, 0.5)
    assert learner.completions == 1


def test_an_arm_that_nobody_played_stays() -> None:
    """And is not taken for better or worse than the mean of all, whatever the rewards' level."""
    learner = LATTICE(20, 6, groups=2, width=0.9, few=0.5, sd=0.01, seed=1)
    for t in range(60):
        learner.tell(t % 20, t % 5, -7.0 - (t % 5))
    assert learner.completions > 0
    assert learner.state.active.tolist() == [[1, 0, 0, 0, 0, 1]] * 20
    assert learner.policy().tolist() == [0] * 20


def test_rewards_of_dropped_arms_do_not_count() -> None:
    learner = LATTICE(8, 6, groups=2, width=0.5, few=0.5, sd=0.01, seed=1)
    while learner.state.size[0] == 6:
        for arm in range(6):
            learner.tell(0, arm, float(arm > 2))
    left = learner.state.left.copy()
    learner.tell(0, 0, 0.0)
    assert learner.state.left.tolist() == left.tolist()


@pytest.mark.parametrize("name", ["groups", "width", "few", "sd"])
def test_parameters_are_checked(name: str) -> None:
    values = {"groups": 2} | {name: 0}
    with pytest.raises(ValueError, match=name):
        LATTICE(4, 3, **values)
