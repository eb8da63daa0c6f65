"""Jain and Pal's two methods against literal versions, and their published behaviour."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import lumpable as lb
from lumpable.learners.fitting.completion import als
from lumpable.learners.jain_pal import OCTAL
from lumpable.worlds.scene import Scene
from twins.agree import agree
from twins.stream import Stream

Matrix = npt.NDArray[np.float64]


class LiteralETC:
    """Random arms for m epochs, then the best arm of the completed matrix."""

    def __init__(self, made: OCTAL, rank: int, epochs: int) -> None:
        self.S, self.K, self.rank, self.seed = made.contexts, made.arms, rank, made.seed
        self.rounds = self.S * epochs
        self.stream = Stream(made.seed)
        self.rewards: dict[tuple[int, int], list[float]] = {}
        self.best: list[int] = []

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        return self.best[context] if self.best else self.stream.below(self.K)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.setdefault((context, arm), []).append(reward)
        self.stream.told()
        if self.stream.tells == self.rounds:
            fitted = completed(self.rewards, range(self.S), range(self.K), self.rank, self.rng())
            self.best = [int(np.argmax(row)) for row in fitted]

    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.stream.tells])


def completed(
    rewards: dict[tuple[int, int], list[float]],
    rows: range | list[int],
    columns: range | list[int],
    rank: int,
    rng: np.random.Generator,
) -> Matrix:
    seen = [[rewards.get((i, j), []) for j in columns] for i in rows]
    plays = np.array([[len(x) for x in row] for row in seen], dtype=np.float64)
    mean = np.array([[sum(x) / len(x) if x else 0.0 for x in row] for row in seen])
    U, V = als(plays, mean, rank, 0.1, 20, rng)
    return U @ V.T


class LiteralOCTAL(LiteralETC):
    """Phases of 8, 16, 32, ... epochs; contexts by sign, arms by sign, as sets."""

    def __init__(self, made: OCTAL, sd: float, width: float) -> None:
        super().__init__(made, 1, 8)
        self.sd, self.width, self.phase = sd, width, 8
        self.sign = dict.fromkeys(range(self.S), 0)
        self.arms = {sign: list(range(self.K)) for sign in (0, 1, 2)}
        self.profile: Matrix = np.zeros(self.K)

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        arms = self.arms[self.sign[context]]
        return arms[self.stream.below(len(arms))]

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.setdefault((context, arm), []).append(reward)
        self.stream.told()
        if self.stream.tells == self.rounds:
            rng = self.rng()
            for sign in (1, 2, 0):
                rows = [i for i in self.sign if self.sign[i] == sign]
                if any(self.visits(i) for i in rows):
                    self.judge(sign, rows, rng)
            self.rewards = {}
            self.phase *= 2
            self.rounds += self.S * self.phase

    def visits(self, i: int) -> int:
        return sum(len(x) for (k, _), x in self.rewards.items() if k == i)

    def judge(self, sign: int, rows: list[int], rng: np.random.Generator) -> None:
        columns = list(self.arms[sign])
        P = completed(self.rewards, rows, columns, 1, rng)
        n = sum(self.visits(i) for i in rows)
        error = {
            i: self.width
            * self.sd
            * math.sqrt(2 * math.log(self.S * self.K) * (1 / self.visits(i) + len(columns) / n))
            for i in rows
            if self.visits(i)
        }
        joined: dict[int, list[int]] = {1: [], 2: []}
        if sign:
            joined[sign] = list(error)
        else:
            # all rows of P are multiples of one; orient that one like the last phase's
            shape = P[int(np.argmax(np.abs(P).sum(axis=1)))]
            if np.cov(shape, self.profile)[0, 1] < 0:
                shape = -shape
            self.profile = shape
            for at, i in enumerate(rows):
                if i in error and max(P[at]) - min(P[at]) > 4 * error[i]:
                    self.sign[i] = 1 if P[at] @ shape > 0 else 2
                    joined[self.sign[i]].append(i)
        for side in [side for side in (1, 2) if joined[side]]:
            left = []
            for arm in self.arms[side]:
                at = columns.index(arm)
                losses = [(max(P[rows.index(i)]) - P[rows.index(i)][at], i) for i in joined[side]]
                if all(loss <= 2 * error[i] for loss, i in losses):
                    left.append(arm)
            self.arms[side] = left or self.arms[side]


def rank_one(S: int, K: int, sd: float, seed: int) -> lb.World:
    """Means u_i v_j of both signs, the rows spanning at most 1."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(0.3, 1.0, S) * rng.choice([-1.0, 1.0], S)
    return lb.worlds.from_matrix(np.outer(u, rng.uniform(-0.5, 0.5, K)), sd=sd)


@pytest.mark.parametrize(("rank", "horizon"), [(2, 2000), (1, 9000)])
def test_etc_decides_literally(rank: int, horizon: int) -> None:
    world = lb.worlds.lumpable(6, 5, 2, sd=0.5, seed=3)
    learner = OCTAL(6, 5, horizon=horizon, rank=rank, explore=0.5, sd=0.5, seed=8)
    epochs = math.ceil(0.5 * (horizon / 6 * 0.5 * math.sqrt(rank * 11 / 6)) ** (2 / 3))
    literal = LiteralETC(learner, rank, epochs)
    agree(learner, literal, world)
    assert learner.policy().tolist() == literal.best
    assert learner.labels() is None


@pytest.mark.parametrize(("sd", "width", "seed"), [(0.1, 1.0, 4), (0.3, 0.6, 5), (0.2, 0.3, 6)])
def test_octal_decides_literally(sd: float, width: float, seed: int) -> None:
    world = rank_one(6, 5, sd, seed)
    learner = OCTAL(6, 5, horizon=1000, method="octal", sd=sd, width=width, seed=8)
    literal = LiteralOCTAL(learner, sd, width)
    agree(learner, literal, world)
    labels = learner.labels()
    assert labels is not None
    assert labels.tolist() == [literal.sign[i] for i in range(6)]
    assert np.count_nonzero(labels) > 0
    assert learner.state.number[1:].min() < 5


@pytest.mark.parametrize("method", ["etc", "octal"])
def test_the_policy_is_that_of_what_was_seen_and_changes_nothing(method: str) -> None:
    """Before it commits: the best active arm of the completion, in later phases of all rounds.

    Rank 1, 30 contexts and 10 arms with sd 0.3, 30 rounds a context: at most a fifth of the simple
    regret of random arms. Every array of the state is as before.
    """
    world = rank_one(30, 10, 0.3, 1)
    learner = OCTAL(30, 10, horizon=10**6, method=method, rank=1, sd=0.3, seed=1)
    rng = np.random.default_rng(2)
    seen: dict[tuple[int, int], list[float]] = {}
    assert learner.policy().shape == (30,)
    for t in range(900):
        arm = learner.ask(t % 30)
        reward = world.reward(t % 30, arm, rng)
        learner.tell(t % 30, arm, reward)
        seen.setdefault((t % 30, arm), []).append(reward)
    assert (learner.state.plays + learner.state.old_plays).sum() == 900
    before = [x.copy() for x in learner.state]
    policy = learner.policy()
    assert all(np.array_equal(x, y) for x, y in zip(before, learner.state, strict=True))
    fitted = completed(seen, range(30), range(10), 1, np.random.default_rng([1, 900]))
    for i in range(30):
        sign = learner.state.sign[i]
        arms = sorted(learner.state.active[sign, : learner.state.number[sign]].tolist())
        assert policy[i] == max(arms, key=lambda j: fitted[i, j])
    loss = world.mean.max(axis=1) - world.mean[range(30), policy]
    anyhow = world.mean.max(axis=1) - world.mean.mean(axis=1)
    assert loss.mean() < 0.2 * anyhow.mean()


def test_octal_finds_signs_and_best_arms() -> None:
    """Rank 1: contexts of one sign share their best arm; OCTAL ends with it alone for each sign.

    The paper's protocol: in each epoch every context plays once.
    """
    world = rank_one(40, 10, 0.2, 7)
    learner = OCTAL(40, 10, horizon=400_000, method="octal", sd=0.2, seed=1)
    played = lb.play(learner, Scene(world, arrivals="round robin"), horizon=400_000, seed=2)
    positive = world.mean[:, 0] > 0
    labels = learner.labels()
    assert labels is not None
    assert len(set(zip(labels.tolist(), positive.tolist(), strict=True))) == 2
    assert learner.state.number[1:].tolist() == [1, 1]
    assert played.rows()[-1].simple_regret == 0.0
    assert all(learner.ask(i) == world.policy[i] for i in range(40))


@cache
def regret(method: str, epochs: int) -> float:
    """On the paper's own protocol, rank 1, 30 contexts and 10 arms."""
    world = rank_one(30, 10, 0.3, 1)
    learner = OCTAL(30, 10, horizon=30 * epochs, method=method, rank=1, sd=0.3, seed=1)
    scene = Scene(world, arrivals="round robin")
    return lb.play(learner, scene, horizon=30 * epochs, seed=1, at=[]).regret


def test_regret_of_etc_grows_as_two_thirds() -> None:
    """Their bound: ETC's regret is of order T^(2/3).

    Every horizon is 8 times the one before. Once the commitment is right, regret is that of
    exploration alone, whose length is known: exponents within 0.05 of 2/3, as 5 standard errors of
    the shortest run are 9 per cent, 0.045 in the exponent.
    """
    found = [regret("etc", epochs) for epochs in (4000, 32_000, 256_000)]
    for low, high in itertools.pairwise(found):
        assert math.log(high / low, 8) == pytest.approx(2 / 3, abs=0.05)


def test_regret_of_octal_grows_no_faster_than_the_root_and_is_below_at_last() -> None:
    """Their bound: OCTAL's regret is of order sqrt(T), so it wins over ETC for large T.

    From 4,000 to 256,000 epochs the exponent is at most 1/2, and the regret at most half of ETC's
    at the end; on one instance with gaps it is far below both.
    """
    found = [regret("octal", epochs) for epochs in (4000, 256_000)]
    assert math.log(found[1] / found[0], 64) < 0.5
    assert found[1] < 0.5 * regret("etc", 256_000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("horizon", 0),
        ("method", "both"),
        ("rank", 0),
        ("explore", 0.0),
        ("sd", 0.0),
        ("width", 0.0),
        ("ridge", 0.0),
    ],
)
def test_parameters_are_named_in_errors(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        OCTAL(4, 5, **{"horizon": 10, name: value})  # type: ignore[arg-type]
