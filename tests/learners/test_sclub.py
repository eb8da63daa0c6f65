"""SCLUB against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.club import CLUB
from lumpable.learners.sclub import SCLUB
from lumpable.runs.measures import adjusted_rand
from lumpable.runs.playing import play
from twins.agree import agree
from twins.stream import Stream


def spread(n: int) -> float:
    return math.sqrt((1 + math.log(1 + n)) / (1 + n))


def norm(a: list[float], b: list[float]) -> float:
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


class LiteralSCLUB:
    """SCLUB of Li, Chen, Li and Leung (2019) with sets, from all rewards each time."""

    def __init__(
        self, contexts: int, arms: int, alpha: float, alpha_theta: float, alpha_p: float, seed: int
    ) -> None:
        self.arms, self.alpha, self.alpha_theta, self.alpha_p = arms, alpha, alpha_theta, alpha_p
        self.V: dict[int, set[int]] = {0: set(range(contexts))}
        self.pivot: dict[int, tuple[list[float], int]] = {}
        self.checked: set[int] = set()
        self.seen: list[list[list[float]]] = [[[] for _ in range(arms)] for _ in range(contexts)]
        self.stage_ends = 0
        self.splits = self.merges = self.merges_of_the_left = 0
        self.stream = Stream(seed)

    def rewards(self, members: set[int], arm: int) -> list[float]:
        return [y for i in sorted(members) for y in self.seen[i][arm]]

    def theta(self, members: set[int]) -> list[float]:
        seen = [self.rewards(members, j) for j in range(self.arms)]
        return [sum(y) / (1 + len(y)) for y in seen]

    def T(self, members: set[int]) -> int:
        return sum(len(cell) for i in members for cell in self.seen[i])

    def home(self, context: int) -> int:
        return next(j for j, members in self.V.items() if context in members)

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        V, t = self.V[self.home(context)], self.stream.tells + 1
        theta = self.theta(V)
        score = [
            theta[j] + self.alpha * math.sqrt(math.log(1 + t) / (1 + len(self.rewards(V, j))))
            for j in range(self.arms)
        ]
        return self.stream.largest([round(x, 12) for x in score])

    def tell(self, i: int, arm: int, reward: float) -> None:
        tau = self.stream.tells + 1
        if tau > self.stage_ends:  # stage s ends with round 2^(s + 1) - 2
            s = int(math.log2(tau + 1))
            self.stage_ends = 2 ** (s + 1) - 2
            self.checked = set()
            self.pivot = {j: (self.theta(V), self.T(V)) for j, V in self.V.items()}
        self.seen[i][arm].append(reward)
        j = self.home(i)
        if len(self.V[j]) > 1 and self.inconsistent(i, j, tau):
            self.splits += 1
            new = min(set(range(len(self.V) + 1)) - set(self.V))
            self.V[j] = self.V[j] - {i}
            self.V[new] = {i}
            self.pivot[new] = (self.theta({i}), self.T({i}))
        self.checked.add(i)
        if self.home(i) != j:
            before = self.merges
            self.merge(j, tau)
            self.merges_of_the_left += self.merges - before
        self.merge(self.home(i), tau)
        self.stream.told()

    def inconsistent(self, i: int, j: int, tau: int) -> bool:
        theta, T = self.pivot[j]
        far = norm(self.theta({i}), theta) > self.alpha_theta * (spread(self.T({i})) + spread(T))
        p = {k: self.T({k}) / tau for k in self.V[j]}
        limit = 2 * self.alpha_p * spread(tau)
        return far or any(abs(p[i] - p[k]) > limit for k in self.V[j])

    def merge(self, j: int, tau: int) -> None:
        if not self.V[j] <= self.checked:
            return
        for other in sorted(self.V):
            if other == j or not self.V.get(other, {-1}) <= self.checked:
                continue  # itself, merged away by now, or not checked
            a, b = self.V[j], self.V[other]
            width = spread(self.T(a)) + spread(self.T(b))
            p, q = (self.T(x) / len(x) / tau for x in (a, b))
            if norm(self.theta(a), self.theta(b)) < self.alpha_theta / 2 * width and (
                abs(p - q) < self.alpha_p / 2 * spread(tau)
            ):
                self.merges += 1
                del self.V[max(j, other)]
                j = min(j, other)
                self.V[j] = a | b
                self.pivot[j] = (self.theta(a | b), self.T(a | b))


@pytest.mark.parametrize(
    ("alpha", "alpha_theta", "alpha_p", "noise", "frequency"),
    [
        (1.0, 0.7, math.sqrt(2), "bernoulli", "uniform"),
        (1.0, 0.5, 0.3, "bernoulli", "zipf"),
        (1.0, 0.4, 0.2, "bernoulli", "uniform"),
        (0.5, 1.5, 1.0, "gaussian", "uniform"),
    ],
)
def test_decisions_are_the_literal_ones(
    alpha: float, alpha_theta: float, alpha_p: float, noise: str, frequency: str
) -> None:
    world = lb.worlds.lumpable(7, 3, 3, noise=noise, frequency=frequency, seed=3)
    learner = SCLUB(7, 3, alpha=alpha, alpha_theta=alpha_theta, alpha_p=alpha_p, seed=8)
    literal = LiteralSCLUB(7, 3, alpha, alpha_theta, alpha_p, 8)
    agree(learner, literal, world)
    assert learner.labels().tolist() == [literal.home(i) for i in range(7)]
    assert min(literal.splits, literal.merges) > 0  # both happened, so that both were compared


def test_frequencies_alone_split_a_cluster() -> None:
    """Contexts with the same rewards but different frequencies are parted: the split's second
    condition. Without noise or rewards all w are 0; context 0 comes in nine of ten rounds."""
    learner = SCLUB(4, 2, seed=1)
    for t in range(2000):
        learner.tell(0 if t % 10 else 1 + t // 10 % 3, 0, 0.0)
    assert learner.labels().tolist() == [1, 0, 0, 0]


def test_a_wrong_split_is_mended_by_a_merge() -> None:
    """Li, Chen, Li and Leung (2019): splits are radical, and a context that left its like too early
    comes back by merging. Context 3 has bad luck for its first 30 rounds.
    """
    learner = SCLUB(4, 2, seed=1)
    labels = []
    for t in range(1000):
        for i in range(4):
            learner.tell(i, t % 2, 0.0 if i == 3 and t < 30 else 1.0)
        labels.append(learner.labels().tolist())
    assert labels[29] == [0, 0, 0, 1]
    assert labels[-1] == [0, 0, 0, 0]


def test_merging_waits_until_everyone_was_checked_in_the_stage() -> None:
    """In a stage in which one context of a cluster never comes, that cluster joins no other."""
    learner = SCLUB(3, 2, seed=1)
    for t in range(40):  # context 2 is unlike, then silent, then like the others
        for i in range(3):
            learner.tell(i, t % 2, 0.0 if i == 2 else 1.0)
    assert learner.labels().tolist() == [0, 0, 1]
    while learner.tells < 2**11 - 2:
        learner.tell(2, learner.tells % 2, 1.0)
    assert learner.labels()[2] == 1
    before = learner.state.W.copy()
    assert np.linalg.norm(before[0] - before[1]) < 0.5 * sum(learner.state.width[:2])


def world_of_two(frequency: str, seed: int) -> lb.World:
    means = np.full((2, 5), 0.1)
    means[[0, 1], [0, 1]] = 0.9
    return lb.worlds.lumpable(
        300, 5, 2, means=means, noise="bernoulli", frequency=frequency, seed=seed
    )


def test_unequal_frequencies_slow_down_club_but_not_sclub() -> None:
    """Li, Chen, Li and Leung (2019), experiments on synthetic data: with unequal frequencies SCLUB
    has less regret than CLUB, and hardly more than with equal ones. 300 contexts in 2 clusters, one
    good arm of 5, T = 30,000, frequencies by Zipf, alpha = 1. Measured: CLUB 6,100 with Zipf and
    2,200 without, SCLUB 2,500 and 2,400; asked for: SCLUB below 0.7 of CLUB and below 1.4 of
    itself, 3 seeds.
    """
    for seed in range(3):
        sclub, equal, club = (
            play(learner, world_of_two(frequency, seed), horizon=30_000, seed=seed, at=[]).regret
            for learner, frequency in (
                (SCLUB(300, 5, alpha=1.0, seed=seed), "zipf"),
                (SCLUB(300, 5, alpha=1.0, seed=seed), "uniform"),
                (CLUB(300, 5, alpha=1.0, alpha2=0.5, seed=seed), "zipf"),
            )
        )
        assert sclub < 0.7 * club, (sclub, club)
        assert sclub < 1.4 * equal, (sclub, equal)


def test_true_clusters_are_found_when_all_arms_are_played() -> None:
    """What the analysis of Li, Chen, Li and Leung (2019) rests on: with isotropic features the
    clusters are the true ones in the end, with high probability. 2 clusters that differ by 0.8 in
    both of 2 arms. Noise in an estimate of 1,000 plays is below 0.3 / sqrt(1000) = 0.01, the widths
    are about 0.06.
    """
    means = [[0.9, 0.1], [0.1, 0.9]]
    world = lb.worlds.lumpable(20, 2, 2, means=means, noise="bernoulli", seed=5)
    learner = SCLUB(20, 2, alpha_theta=2.0, seed=2)
    rng = np.random.default_rng(1)
    for step in range(2000):
        for i in range(20):
            learner.tell(i, step % 2, world.reward(i, step % 2, rng))
    assert adjusted_rand(learner.labels(), world.group) == 1.0
    np.testing.assert_array_equal(learner.policy(), world.policy)


def test_cells_that_nobody_is_left_to_have_played_are_zero_to_the_last_bit() -> None:
    """Else rounding would break ties between arms that a cluster knows nothing of."""
    learner = SCLUB(5, 2, seed=1)
    for t in range(10):
        for i in range(3):
            learner.tell(i, 0, 0.0)
        learner.tell(3, 1, 0.1 + 0.01 * t)
        learner.tell(4, 1, 0.3 - 0.07 * t)
    assert learner.labels().tolist() == [0] * 5
    learner.tell(3, 1, 50.0)
    learner.tell(4, 1, 60.0)
    assert learner.labels()[:3].tolist() == [0] * 3
    assert min(learner.labels()[3:]) > 0
    assert learner.state.N[0, 1] == 1.0
    assert learner.state.sum[0, 1] == 0.0


@pytest.mark.parametrize(
    ("alpha_theta", "seed"),
    [
        (0.45, 0),
        (0.2, 0),
        *(pytest.param(0.45, seed, marks=pytest.mark.nightly) for seed in range(1, 6)),
        *(pytest.param(0.2, seed, marks=pytest.mark.nightly) for seed in (1, 2)),
    ],
)
def test_what_is_kept_of_clusters_is_what_their_members_say(alpha_theta: float, seed: int) -> None:
    """After every round, on random plays; and every decision of the literal version besides."""
    world = lb.worlds.lumpable(9, 2, 2, noise="bernoulli", seed=seed)
    learner = SCLUB(9, 2, alpha=1.0, alpha_theta=alpha_theta, alpha_p=0.3, seed=seed)
    literal = LiteralSCLUB(9, 2, 1.0, alpha_theta, 0.3, seed)
    rng, s = np.random.default_rng(seed), learner.state
    for _ in range(400):
        i, j = int(rng.integers(9)), int(rng.integers(2))
        reward = world.reward(i, j, rng)
        learner.tell(i, j, reward)
        literal.tell(i, j, reward)
        assert learner.labels().tolist() == [literal.home(k) for k in range(9)]
        for c in np.unique(s.label):
            mine = s.label == c
            assert s.size[c] == np.count_nonzero(mine)
            assert s.unchecked[c] == np.count_nonzero(mine & ~s.checked)
            assert s.seen[c] == s.visits[mine].sum()
            assert s.width[c] == pytest.approx(spread(int(s.seen[c])))
            np.testing.assert_array_equal(s.N[c], 1 + s.plays[mine].sum(axis=0))
    if alpha_theta == 0.2:  # then clusters merge at once when a context has left them
        assert literal.merges_of_the_left > 0


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="alpha:"):
        SCLUB(3, 2, alpha=0.0)
    with pytest.raises(ValueError, match="alpha_theta:"):
        SCLUB(3, 2, alpha_theta=0.0)
    with pytest.raises(ValueError, match="alpha_p:"):
        SCLUB(3, 2, alpha_p=-1.0)
