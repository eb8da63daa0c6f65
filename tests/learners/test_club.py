"""CLUB, RCLUMB and UniCLUB against a literal version, and their published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.club import CLUB
from lumpable.learners.fitting.random_graphs import components, random_graph
from lumpable.runs.measures import adjusted_rand
from lumpable.runs.playing import play
from twins.agree import LONG_MEMORY, agree
from twins.stream import Stream


class LiteralCLUB:
    """CLUB of Gentile, Li and Zappella (2014) with M = I + sum x x' kept as matrices.

    `eps` is the misspecification of RCLUMB (Wang et al. 2023) with its factor `c` in the cuts, `T0`
    the rounds of UniCLUB (Li et al. 2025).
    """

    def __init__(
        self,
        learner: CLUB,
        arms: int,
        alpha: float,
        alpha2: float,
        seed: int,
        eps: float = 0.0,
        c: float = 0.0,
        T0: int = 0,
    ) -> None:
        S = learner.contexts
        self.alpha, self.alpha2, self.eps, self.c, self.T0 = alpha, alpha2, eps, c, T0
        self.played: list[tuple[int, int]] = []
        self.edges = {frozenset(pair) for pair in learner.edges().tolist()}
        self.M = [np.eye(arms) for _ in range(S)]
        self.b = [np.zeros(arms) for _ in range(S)]
        self.T = [0] * S
        self.stream = Stream(seed)

    def component(self, i: int) -> list[int]:
        found, waiting = {i}, [i]
        while waiting:
            node = waiting.pop()
            for edge in self.edges:
                if node in edge:
                    (other,) = edge - {node}
                    if other not in found:
                        found.add(other)
                        waiting.append(other)
        return sorted(found)

    def ask(self, i: int) -> int:
        self.stream.begin_choice(i)
        t = self.stream.tells + 1
        if t <= self.T0:
            return self.stream.below(len(self.b[0]))
        cluster = self.component(i)
        eye = np.eye(len(self.b[0]))
        M = eye + sum((self.M[k] - eye for k in cluster), np.zeros_like(eye))
        inverse = np.linalg.inv(M)
        w = inverse @ sum((self.b[k] for k in cluster), np.zeros(len(eye)))
        rounds = [arm for k, arm in self.played if k in cluster] if self.eps > 0 else []
        score = [
            w @ x
            + self.alpha * math.sqrt(x @ inverse @ x * math.log(t + 1))
            + self.eps * sum(abs(x @ inverse @ eye[arm]) for arm in rounds)
            for x in eye
        ]
        return self.stream.largest([round(float(value), 12) for value in score])

    def tell(self, i: int, arm: int, reward: float) -> None:
        x = np.eye(len(self.b[0]))[arm]
        self.M[i] = self.M[i] + np.outer(x, x)
        self.b[i] = self.b[i] + reward * x
        self.T[i] += 1
        w = [np.linalg.inv(M) @ b for M, b in zip(self.M, self.b, strict=True)]
        f = [math.sqrt((1 + math.log(1 + T)) / (1 + T)) for T in self.T]
        for k in range(len(w)):
            if np.linalg.norm(w[i] - w[k]) > self.alpha2 * (f[i] + f[k] + self.c * self.eps):
                self.edges.discard(frozenset((i, k)))
        self.played.append((i, arm))
        self.stream.told()


@pytest.mark.parametrize(
    ("alpha", "alpha2", "density", "noise"),
    [
        (0.3, 0.5, 1.0, "bernoulli"),
        (0.3, 1.5, 0.4, "gaussian"),
        pytest.param(1.0, 1.2, None, "bernoulli", marks=pytest.mark.nightly),
        pytest.param(0.5, 0.9, 0.3, "bernoulli", marks=pytest.mark.nightly),
    ],
)
def test_decisions_are_the_literal_ones(
    alpha: float, alpha2: float, density: float | None, noise: str
) -> None:
    world = lb.worlds.lumpable(9, 4, 3, noise=noise, seed=3)
    learner = CLUB(9, 4, alpha=alpha, alpha2=alpha2, density=density, seed=8)
    literal = LiteralCLUB(learner, 4, alpha, alpha2, 8)
    before = len(literal.edges)
    agree(learner, literal, world)
    assert {frozenset(pair) for pair in learner.edges().tolist()} == literal.edges
    assert len(literal.edges) < before  # edges were cut, so that something was compared
    first = [min(literal.component(i)) for i in range(9)]
    assert adjusted_rand(learner.labels(), np.array(first)) == 1.0


@pytest.mark.parametrize(
    ("eps", "c", "T0", "noise"),
    [
        (0.2, 1.5, 0, "bernoulli"),
        pytest.param(0.1, 1.0, 0, "gaussian", marks=pytest.mark.nightly),
        (0.0, 0.0, 45, "bernoulli"),
    ],
)
def test_settings_for_rclumb_and_uniclub_are_the_literal_ones(
    eps: float, c: float, T0: int, noise: str
) -> None:
    world = lb.worlds.lumpable(9, 4, 3, noise=noise, seed=3)
    learner = CLUB(
        9, 4, alpha=0.5, alpha2=0.5, slack=c * eps, misfit=eps, explore=T0 / 9, density=1.0, seed=8
    )
    literal = LiteralCLUB(learner, 4, 0.5, 0.5, 8, eps, c, T0)
    agree(learner, literal, world, rounds=LONG_MEMORY)
    assert {frozenset(pair) for pair in learner.edges().tolist()} == literal.edges
    assert len(literal.edges) < 36  # edges were cut, so that something was compared


@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_contexts_that_differ_by_the_slack_stay_together(slack: float) -> None:
    """RCLUMB (Wang et al. 2023): estimates of one cluster may differ by alpha_2 slack for ever.

    Without noise, alpha_2 = 2: two contexts that are 0.5 apart are cut as soon as 2 (F + F + slack)
    falls below the distance of their shrunk estimates, 0.5 n / (1 + n); with slack 0.3 it never
    does. No random chance.
    """
    learner = CLUB(2, 2, alpha2=2.0, slack=slack, density=1.0)
    cut = None
    for n in range(1, 2000):
        for i in range(2):
            for j in range(2):
                learner.tell(i, j, 0.5 * i * j)
        if cut is None and len(learner.edges()) == 0:
            cut = n
    F = [math.sqrt((1 + math.log(1 + 2 * n)) / (1 + 2 * n)) for n in range(2000)]
    due = [n for n in range(1, 2000) if 0.5 * n / (1 + n) > 2 * (2 * F[n] + slack)]
    assert cut == (due[0] if due else None)
    assert bool(due) == (slack == 0.0)


def test_misfit_is_trusted_to_arms_that_were_played() -> None:
    """An arm with N - 1 plays gains eps (N - 1) / N: here enough to outdo one never played.

    After one reward of 0 the indices are s / sqrt 2 + eps / 2 and s, s = alpha sqrt(ln 3): they
    cross at eps = (2 - sqrt 2) s.
    """
    s = 0.3 * math.sqrt(math.log(3))
    for eps in (0.0, (2 - math.sqrt(2)) * s * 0.99, (2 - math.sqrt(2)) * s * 1.01):
        learner = CLUB(1, 2, alpha=0.3, misfit=eps)
        learner.tell(0, 0, 0.0)
        assert learner.ask(0) == int(eps < (2 - math.sqrt(2)) * s)


def test_exploring_first_finds_clusters_that_clubs_own_choices_miss() -> None:
    """UniCLUB (Li et al. 2025): with arms drawn at random, every context's estimates are of all
    arms when contexts are compared, and clusters are found soon.

    60 contexts in 3 clusters that share the best arm and differ in the three others by 0.8: CLUB
    soon plays the best arm alone, and what sets the clusters apart is never seen. With 100 rounds
    per context that explore, 2.4 F(100) = 0.57 is half of the distance between clusters, 0.8 sqrt 2
    times 25 / 26, and four times that within one, about sqrt(3 * 2 * 0.09 / 25) = 0.15.
    """
    means = np.array([[1.0, 0.9, 0.1, 0.1], [1.0, 0.1, 0.9, 0.1], [1.0, 0.1, 0.1, 0.9]])
    for seed in range(4):
        world = lb.worlds.lumpable(60, 4, 3, means=means, noise="bernoulli", seed=seed)
        found = []
        for explore in (100.0, 0.0):
            learner = CLUB(60, 4, alpha=0.3, alpha2=1.2, density=1.0, explore=explore, seed=seed)
            play(learner, world, horizon=7000, seed=seed, at=[])
            found.append(adjusted_rand(learner.labels(), world.group))
        assert found == [1.0, 0.0]


def explored(alpha: float, alpha2: float) -> tuple[CLUB, lb.World]:
    """Return CLUB after everyone has played all arms equally often, as with isotropic features."""
    means = np.array([[0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.9], [0.1, 0.9, 0.9, 0.1]])
    world = lb.worlds.lumpable(60, 4, 3, means=means, noise="bernoulli", seed=5)
    learner = CLUB(60, 4, alpha=alpha, alpha2=alpha2, seed=2)
    rng = np.random.default_rng(1)
    for step in range(800):
        for i in range(60):
            learner.tell(i, step % 4, world.reward(i, step % 4, rng))
    return learner, world


def test_edges_within_a_cluster_stay_and_all_others_are_cut() -> None:
    """What the analysis of Gentile, Li and Zappella (2014) rests on: when features are isotropic,
    with high probability no edge between contexts of one cluster is ever cut, and all others are
    when contexts have come often enough; clusters are then the true ones.

    60 contexts, 3 clusters that differ by 0.8 in two or four arms, 200 plays of each arm.
    alpha_2 = 3: two contexts of one cluster are further apart than 3 (F + F) at n visits only if
    a chi-square of 4 degrees (squared distance over 2 * 0.09 / (n/4)) is above 36 (1 + ln(1+n)) /
    (0.72) > 50, chance below 1e-9 per check and pair; at the end 3 (F + F) = 6 F(800) = 0.59,
    while different clusters differ by at least 0.8 sqrt(2) = 1.13.
    """
    learner, world = explored(0.3, 3.0)
    within = world.group[learner.edges()]
    assert np.all(within[:, 0] == within[:, 1])
    drawn = random_graph(60, 3 * math.log(60) / 60, np.random.default_rng([2, 60]))
    ends = world.group[drawn]
    assert len(within) == np.count_nonzero(ends[:, 0] == ends[:, 1])
    assert len(drawn) > len(within)


def test_with_the_complete_graph_components_are_the_true_clusters() -> None:
    """The same with all edges: the clusters are those of the world, exactly."""
    means = np.array([[0.9, 0.1], [0.1, 0.9]])
    world = lb.worlds.lumpable(20, 2, 2, means=means, noise="bernoulli", seed=5)
    learner = CLUB(20, 2, alpha2=3.0, density=1.0, seed=2)
    rng = np.random.default_rng(1)
    for step in range(800):
        for i in range(20):
            learner.tell(i, step % 2, world.reward(i, step % 2, rng))
    assert adjusted_rand(learner.labels(), world.group) == 1.0
    assert learner.state.clusters[0] == 2
    np.testing.assert_array_equal(learner.policy(), world.policy)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2, 3))]
)
def test_beats_one_for_all_and_one_for_each_with_balanced_clusters(seed: int) -> None:
    """Gentile, Li and Zappella (2014), experiments on synthetic data: with balanced clusters CLUB
    has less regret than LinUCB-ONE and LinUCB-IND, which are this learner with no edge ever cut and
    with no edge at all. 300 contexts in 2 clusters, 5 arms, one of them good (0.9 against 0.1), T =
    30,000, alpha = 1 as for a confidence. Measured: a third of the better of the two; asked for:
    six tenths, with each seed.
    """
    means = np.full((2, 5), 0.1)
    means[[0, 1], [0, 1]] = 0.9
    world = lb.worlds.lumpable(300, 5, 2, means=means, noise="bernoulli", seed=seed)
    club, one, each = (
        play(learner, world, horizon=30_000, seed=seed, at=[]).regret
        for learner in (
            CLUB(300, 5, alpha=1.0, alpha2=0.5, seed=seed),
            CLUB(300, 5, alpha=1.0, alpha2=1e6, density=1.0, seed=seed),
            CLUB(300, 5, alpha=1.0, density=0.0, seed=seed),
        )
    )
    assert club < 0.6 * min(one, each), (club, one, each)


def test_random_graph_draws_each_edge_with_its_chance() -> None:
    """E edges are binomial (6 standard errors), each pair is there equally often (chi-square)."""
    rng = np.random.default_rng(3)
    hits = np.zeros((30, 30))
    for _ in range(400):
        ends = random_graph(30, 0.3, rng)
        assert np.all(ends[:, 0] < ends[:, 1])
        assert len(np.unique(ends, axis=0)) == len(ends)
        hits[ends[:, 0], ends[:, 1]] += 1
    pairs = hits[np.triu_indices(30, 1)]
    z = (pairs - 400 * 0.3) / math.sqrt(400 * 0.3 * 0.7)
    assert np.all(np.abs(z) < 6)
    assert abs(np.sum(z**2) - len(z)) < 6 * math.sqrt(2 * len(z))
    assert len(random_graph(5, 1.0, rng)) == 10
    assert random_graph(5, 0.0, rng).shape == (0, 2)
    assert random_graph(1, 1.0, rng).shape == (0, 2)


def test_components_of_a_graph() -> None:
    ends = np.array([[0, 3], [3, 5], [1, 2]])
    assert components(6, ends).tolist() == [0, 1, 1, 0, 2, 0]


def test_mistakes_are_named_and_too_large_a_graph_is_unfit() -> None:
    with pytest.raises(lb.learners.Unfit, match="edges"):
        CLUB(10_000, 2, density=1.0)
    with pytest.raises(ValueError, match="alpha:"):
        CLUB(3, 2, alpha=0.0)
    with pytest.raises(ValueError, match="alpha2:"):
        CLUB(3, 2, alpha2=-1.0)
    for name in ("slack", "misfit", "explore"):
        with pytest.raises(ValueError, match=f"{name}: expected a number of at least 0"):
            CLUB(3, 2, **{name: -0.1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="density"):
        CLUB(3, 2, density=1.5)
    with pytest.raises(ValueError, match="seed"):
        CLUB(3, 2, seed=-1)
