"""Laws of rewards: means, variances and distributions against exact ones; what is refused."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable import worlds
from lumpable.runs.answers import answer
from lumpable.worlds.custom import ByMethod
from lumpable.worlds.noises import LAWS, find

FAR = 6.2
"""A normal variable is farther from its mean than this many deviations once in 1.8e9 tries."""
UNLIKELY = 1e-7
N = 60_000
MEANS = np.array([[0.15, 0.4, 0.8], [0.3, 0.5, 0.9]])
STARS = worlds.Stars()


def coins_of_two(mean: Any, rng: np.random.Generator) -> Any:
    """A law of one's own: 0 or 2."""
    return 2.0 * (rng.random(mean.shape) < mean / 2)


CASES: dict[str, tuple[worlds.Law, Any]] = {
    "gaussian": (worlds.Gaussian(0.7), MEANS),
    "sd by arm": (worlds.Gaussian([0.1, 0.5, 2.0]), MEANS),
    "sd by context": (worlds.Gaussian([[0.1], [2.0]]), MEANS),
    "sd by pair": (worlds.Gaussian(MEANS[::-1]), MEANS),
    "sd by mean": (worlds.Gaussian(0.05, slope=1.0), MEANS),
    "bernoulli": (worlds.Bernoulli(), MEANS),
    "beta": (worlds.Beta(5.0), MEANS),
    "poisson": (worlds.Poisson(), 3 * MEANS),
    "exponential": (worlds.Exponential(), MEANS + 0.1),
    "revenue": (worlds.Revenue(0.0, 0.5), MEANS),
    "student": (worlds.StudentT(9.0, scale=0.5), MEANS),
    "stars": (STARS, STARS.mean_of(1 + 4 * MEANS)),
    "custom": (worlds.Custom(coins_of_two), MEANS),
}


def draws(law: worlds.Law, mean: Any, many: int = N, seed: int = 1) -> Any:
    """Draw many rewards of each pair: (many, contexts, arms)."""
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(len(mean)), many)
    return law.part(rows).draw(mean[rows], rng).reshape(many, *mean.shape)


@pytest.mark.parametrize("case", CASES)
def test_rewards_have_the_mean_and_the_variance_that_the_law_says(case: str) -> None:
    law, mean = CASES[case]
    law.check(mean)
    rewards = draws(law, mean)
    variance = law.variance(mean)
    if case == "custom":  # its variance is itself estimated
        assert np.allclose(variance, mean * (2 - mean), rtol=0.4)
        variance = mean * (2 - mean)
    assert np.all(np.abs(rewards.mean(axis=0) - mean) <= FAR * np.sqrt(variance / N))
    squares = (rewards - mean) ** 2
    error = squares.std(axis=0) / math.sqrt(N)
    assert np.all(np.abs(squares.mean(axis=0) - variance) <= FAR * error + 1e-12)
    low, high = law.support
    assert rewards.min() >= low
    assert rewards.max() <= high


DISTRIBUTIONS: dict[str, Callable[[float, tuple[int, int]], Any]] = {
    "gaussian": lambda m, at: stats.norm(m, 0.7),
    "sd by arm": lambda m, at: stats.norm(m, [0.1, 0.5, 2.0][at[1]]),
    "sd by context": lambda m, at: stats.norm(m, [0.1, 2.0][at[0]]),
    "sd by pair": lambda m, at: stats.norm(m, MEANS[::-1][at]),
    "sd by mean": lambda m, at: stats.norm(m, 0.05 + m),
    "beta": lambda m, at: stats.beta(5 * m, 5 * (1 - m)),
    "exponential": lambda m, at: stats.expon(scale=m),
    "student": lambda m, at: stats.t(9, m, 0.5),
}


@pytest.mark.parametrize("case", DISTRIBUTIONS)
def test_rewards_have_their_distribution(case: str) -> None:
    law, mean = CASES[case]
    rewards = draws(law, mean, 20_000)
    for at in np.ndindex(*mean.shape):
        found = stats.kstest(rewards[:, *at], DISTRIBUTIONS[case](float(mean[at]), at).cdf)
        assert found.pvalue > UNLIKELY


def test_counts_are_poisson() -> None:
    law, mean = CASES["poisson"]
    rewards = draws(law, mean, 20_000)
    for at in np.ndindex(*mean.shape):
        expected = 20_000 * stats.poisson(mean[at]).pmf(np.arange(4))
        seen = np.array([(rewards[:, *at] == k).sum() for k in range(4)])
        assert np.all(np.abs(seen - expected) <= FAR * np.sqrt(expected))


def test_revenue_is_a_click_and_then_an_amount() -> None:
    law, mean = CASES["revenue"]
    rewards = draws(law, mean, 20_000)
    for at in np.ndindex(*mean.shape):
        some = rewards[:, *at][rewards[:, *at] > 0]
        p = mean[at] / math.exp(0.125)
        assert abs(len(some) - 20_000 * p) <= FAR * math.sqrt(20_000 * p * (1 - p))
        assert stats.kstest(np.log(some), stats.norm(0, 0.5).cdf).pvalue > UNLIKELY


@pytest.mark.parametrize("sd", [0.25, 1.0, 4.0])
def test_stars_are_impressions_rounded_and_cut_off(sd: float) -> None:
    law, taste = worlds.Stars(sd), np.array([[0.5, 2.2, 3.0, 4.4, 6.0]])
    mean = law.mean_of(taste)
    edges = stats.norm(taste[..., None], sd).cdf(np.array([1.5, 2.5, 3.5, 4.5]))
    share = np.diff(edges, prepend=0.0, append=1.0)
    assert np.allclose(mean, share @ np.arange(1, 6), atol=1e-12)
    assert np.allclose(law.tastes(mean), taste, atol=1e-6)
    rewards = draws(law, mean, 20_000)
    for j in range(taste.shape[1]):
        seen = np.bincount(rewards[:, 0, j].astype(int), minlength=6)[1:]
        assert np.all(
            np.abs(seen - 20_000 * share[0, j]) <= FAR * np.sqrt(20_000 * share[0, j]) + 1
        )


@pytest.mark.parametrize("case", CASES)
def test_sums_have_the_law_of_rewards_that_are_added_up(case: str) -> None:
    """Two samples of sums of 7 rewards: drawn at once, and added up one by one."""
    law, mean = CASES[case]
    rng, many = np.random.default_rng(3), 2000
    number = np.full(mean.shape, 7, dtype=np.int64)
    at_once = np.array([law.total(mean, number, rng) for _ in range(many)])
    added = draws(law, mean, 7 * many, seed=4).reshape(many, 7, *mean.shape).sum(axis=1)
    for at in np.ndindex(*mean.shape):
        assert stats.ks_2samp(at_once[:, *at], added[:, *at]).pvalue > UNLIKELY
    none = law.total(mean, np.zeros(mean.shape, dtype=np.int64), rng)
    assert (none == 0).all()


@pytest.mark.parametrize("case", CASES)
def test_a_law_can_be_pickled_and_says_what_it_is(case: str) -> None:
    law, mean = CASES[case]
    again = pickle.loads(pickle.dumps(law))
    assert str(again) == str(law)
    assert np.array_equal(draws(again, mean, 10), draws(law, mean, 10))


@pytest.mark.parametrize("name", LAWS)
def test_a_name_a_table_and_a_law_are_the_same_law(name: str) -> None:
    mean = np.full((2, 3), 1.5 if name == "stars" else 0.5)
    three = [lb.World(mean, np.full(2, 0.5), np.zeros(2, dtype=int), noise=noise)
             for noise in (name, {"law": name}, LAWS[name]())]  # fmt: skip
    assert len({world.summary for world in three}) == 1
    assert {str(world.noise).partition(",")[0] for world in three} == {name}


def test_gaussian_and_bernoulli_laws_are_the_plain_noises() -> None:
    world = worlds.from_matrix(MEANS, noise=worlds.Gaussian(0.3))
    assert (world.noise, world.sd, world.plain) == ("gaussian", 0.3, True)
    assert worlds.from_matrix(MEANS, noise=worlds.Bernoulli()).noise == "bernoulli"
    assert not worlds.from_matrix(MEANS, noise=worlds.Gaussian(0.3, slope=0.1)).plain


def test_spread_is_the_root_of_the_mean_variance() -> None:
    law = worlds.Gaussian([[1.0], [3.0]])
    world = worlds.from_matrix(MEANS, noise=law, frequency=[0.75, 0.25])
    assert world.spread == pytest.approx(math.sqrt(0.75 * 1 + 0.25 * 9))
    assert worlds.from_matrix(MEANS, sd=0.3).spread == pytest.approx(0.3)


def test_a_part_of_a_world_keeps_the_noise_of_its_contexts() -> None:
    world = worlds.from_matrix(MEANS, noise=worlds.Gaussian([[0.0], [5.0]]))
    quiet, loud = world.part(np.array([0])), world.part(np.array([1, 1]))
    rng = np.random.default_rng(0)
    assert quiet.reward(0, 2, rng) == MEANS[0, 2]
    assert loud.law.variance(loud.mean).tolist() == [[25.0] * 3] * 2
    assert world.reward(0, 1, rng) == MEANS[0, 1]
    assert world.reward(1, 1, rng) != MEANS[1, 1]


# --- Rewards of one's own -------------------------------------------------------------------


def test_a_function_is_a_law() -> None:
    for noise in (coins_of_two, worlds.Custom(coins_of_two), f"{__name__}:coins_of_two"):
        world = worlds.from_matrix(MEANS, noise=noise)
        assert repr(world).endswith("coins_of_two)")
        assert set(draws(world.law, world.mean, 50).ravel()) == {0.0, 2.0}


class Doubled(lb.World):
    """A world whose rewards are twice a coin."""

    def reward(self, context: int, arm: int, rng: np.random.Generator) -> float:
        return 2.0 * float(rng.random() < self.mean[context, arm] / 2)


def test_a_world_with_a_reward_method_of_its_own_draws_by_it() -> None:
    world = Doubled(MEANS, np.full(2, 0.5), np.arange(2))
    assert isinstance(world.law, ByMethod)
    assert not world.plain
    played = lb.play(Noted(), world, horizon=3000, seed=1)
    assert set(played.learner.rewards) == {0.0, 2.0}  # type: ignore[attr-defined]
    part = world.part(np.array([1]))
    assert set(draws(part.law, part.mean, 50).ravel()) == {0.0, 2.0}
    plan = lb.standard.naive(lb.Problem(2, 3, 1), epsilon=0.5, delta=0.1)
    coins: list[float] = []

    def watch(step: lb.Step) -> None:
        played = step.request.repeats * step.sample.plays
        coins.extend((step.sample.mean * played / 2)[played > 0])

    lb.simulate(plan, world, seed=1, watch=watch)
    assert np.allclose(coins, np.rint(coins), atol=1e-6)
    assert max(coins) > 0


class Levelled(lb.World):
    """A world whose rewards say which context was asked, by a table that its own makers fill."""

    def __init__(self, levels: Any) -> None:
        levels = np.asarray(levels, dtype=float)
        mean = np.repeat(levels[:, None], 4, axis=1)
        share = [0.3] + [0.7 / (len(levels) - 1)] * (len(levels) - 1)
        super().__init__(mean, np.array(share), np.arange(len(levels)) % 3)
        object.__setattr__(self, "levels", levels)

    def reward(self, context: int, arm: int, rng: np.random.Generator) -> float:
        return float(self.levels[context])  # type: ignore[attr-defined]


def test_a_part_asks_a_reward_method_about_the_contexts_that_it_has() -> None:
    """Not about those that have the same numbers in the whole."""
    world = Levelled(np.arange(12) / 11)
    part = world.part(np.array([7, 2, 11])).part(np.array([2, 0]))
    assert part.mean.tolist() == [[1.0] * 4, [7 / 11] * 4]
    assert np.array_equal(draws(part.law, part.mean, 3), [part.mean] * 3)
    assert part.reward(1, 3, np.random.default_rng(0)) == 7 / 11

    class Offset(lb.World):
        """A law of its own instead of a method."""

        @property
        def law(self) -> Any:
            return worlds.Gaussian(np.arange(float(self.contexts))[:, None])

    law = Offset(MEANS, np.full(2, 0.5), np.arange(2)).part(np.array([1])).law
    assert law.variance(MEANS[1:]).tolist() == [[1.0] * 3]


def test_plans_side_by_side_ask_a_reward_method_about_their_own_contexts() -> None:
    levels = np.arange(12) / 11
    world, asked = Levelled(levels), set[float]()
    plan = lb.reductions.any_contexts_online(lb.Problem(12, 4, 3))

    def watch(step: lb.Step) -> None:
        sample = step.sample
        played = np.unique(sample.mean[sample.plays > 0].round(9))
        asked.update(played.tolist())
        if len(sample.mean) < 12:  # a part: the contexts that come rarely, or a single one
            own = {levels[0]} if len(sample.mean) == 1 else set(levels[1:])
            assert set(played.tolist()) <= {round(level, 9) for level in own}

    lb.simulate(plan, world, horizon=300_000, seed=1, watch=watch)
    assert len(asked) == 12


class Noted:
    """Plays arms in turn, and keeps what it is told."""

    def __init__(self) -> None:
        self.rewards: list[float] = []

    def ask(self, context: int) -> int:
        return len(self.rewards) % 3

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.append(reward)


# --- What is refused ------------------------------------------------------------------------


def stubborn(mean: Any, rng: Any) -> Any:
    return np.random.default_rng().random(mean.shape)  # luck of its own


def build(noise: Any, mean: Any = ((0.2, 0.5), (0.1, 0.9)), **more: Any) -> lb.World:
    return worlds.from_matrix(mean, noise=noise, **more)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: build("cauchy"), "noise: expected one of gaussian, bernoulli, beta"),
        (lambda: build(3), "noise: expected one of gaussian"),
        (lambda: build({"concentration": 5}), "noise: expected a key 'law'"),
        (lambda: build({"law": "beta", "sd": 5}), r"of beta \(concentration\), got 'sd'"),
        (lambda: build({"law": "beta", "concentration": 0}), "concentration: expected a positive"),
        (lambda: build({"law": "student", "df": 2}), "df: expected a number above 2"),
        (lambda: build({"law": "revenue", "sigma": 6}), r"sigma: expected a number in \(0, 5\]"),
        (lambda: build({"law": "stars", "sd": 0.1}, [[3.0]]), r"sd: expected a number in \[0.25"),
        (lambda: build("beta", [[0.0, 0.5]]), r"Beta needs means in \(0, 1\), got 0 .. 0.5"),
        (lambda: build("beta", [[1.0, 0.5]]), r"Beta needs means in \(0, 1\)"),
        (lambda: build("poisson", [[-0.5]]), r"Poisson needs means in \[0, 1e15\]"),
        (lambda: build("exponential", [[-0.5]]), r"Exponential needs means in \[0, inf\]"),
        (lambda: build("revenue", [[2.0]]), r"Revenue needs means in \[0, 1.64872\], got 2"),
        (lambda: build("stars"), r"Stars needs means in \(1, 5\), got 0.1 .. 0.9"),
        (lambda: build("stars", [[5.0]]), r"Stars needs means in \(1, 5\)"),
        (lambda: build("poisson", sd=2.0), "sd: goes with noise 'gaussian' only; poisson has"),
        (lambda: build(worlds.Gaussian([1.0, 2.0, 3.0])), "sd: expected a number or an array of"),
        (lambda: build(worlds.Gaussian([-1.0, 2.0])), "sd: expected finite numbers of at least 0"),
        (lambda: build(worlds.Gaussian("loud")), "sd: expected a finite number of at least 0"),
        (lambda: build(worlds.Gaussian(1.0, slope=-1)), "slope: expected a finite number"),
        (lambda: build(worlds.Gaussian(1.0, slope=1), [[0, 3]]), "span at most 1, got 3"),
        (lambda: build(lambda mean, rng: [1.0]), r"\(2, 2\) rewards from <lambda>\(mean, rng\)"),
        (lambda: build(lambda mean, rng: mean * np.nan), "rewards from -1e\\+100 to 1e\\+100"),
        (lambda: build(lambda mean, rng: mean * "x"), r"<lambda>\(mean, rng\) raised"),
        (lambda: build(lambda mean: mean), r"<lambda>\(mean, rng\) raised TypeError"),
        (lambda: build(stubborn), r"stubborn\(mean, rng\) must take all luck from rng"),
        (lambda: build(worlds.Custom(coins_of_two, high=1)), "rewards from -1e\\+100 to 1 from"),
        (lambda: build(worlds.Custom(coins_of_two, low=0.3)), r"needs means in \[0.3, inf\]"),
        (lambda: worlds.Custom(coins_of_two, low=1, high=0), "low: expected a number below `high`"),
        (lambda: worlds.Custom(3), "function: expected a function"),  # type: ignore[arg-type]
        (lambda: build("no_such_module:draw"), "noise: cannot import 'no_such_module:draw'"),
        (lambda: build("math:no_such_name"), "noise: cannot import 'math:no_such_name'"),
        (lambda: find("poisson", sd=0.5), "sd: goes with noise 'gaussian' only"),
    ],
)  # fmt: skip
def test_what_no_law_can_do_is_refused_by_name(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(lb.BadArgument, match=words):
        make()


# --- Plans of the paper ---------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["poisson", "exponential"])
def test_a_plan_runs_in_bulk_where_sums_have_a_law(noise: str) -> None:
    world = worlds.lumpable(30, 20, 3, noise=noise, seed=1)
    plan = lb.pac.near_uniform(lb.Problem(30, 20, 3), epsilon=0.2, delta=0.05)
    run = lb.simulate(plan, world, seed=2)
    assert world.loss(run.policy) < 0.1
    assert run.notes[-1].startswith(f"{noise} rewards are not known to be 1-sub-Gaussian")


def test_means_of_requests_have_the_law_of_rewards() -> None:
    """What a plan is told: means of as many rewards as were played."""
    world = worlds.from_matrix(MEANS, noise="exponential")
    request = lb.Collect(6000, 1, np.ones((2, 3), dtype=bool))
    z = []
    for seed in range(200):
        sample = answer(request, world, np.random.default_rng(seed)).sample
        z.append((sample.mean - MEANS) / MEANS * np.sqrt(sample.plays))
    found = np.array(z)
    assert np.abs(found.mean(axis=0)).max() <= FAR / math.sqrt(200)
    assert np.abs((found**2).mean(axis=0) - 1).max() <= FAR * math.sqrt(2 / 200)


def test_a_plan_is_refused_where_sums_have_none() -> None:
    """The first request is too long already: shorter ones would be drawn before a refusal."""
    plan, again = (
        lb.pac.near_uniform(lb.Problem(2, 3, 2), epsilon=0.001, delta=0.05) for _ in range(2)
    )
    world = worlds.from_matrix(MEANS, noise="student")
    with pytest.raises(lb.BadArgument, match="noise: a sum of student rewards is drawn reward by"):
        lb.simulate(plan, world, seed=1)
    assert lb.exact(again, world).policy.tolist() == world.policy.tolist()


def test_a_plan_is_refused_where_means_span_more_than_one() -> None:
    world = worlds.from_matrix(3 * MEANS, noise="poisson")
    plan = lb.standard.naive(lb.Problem(2, 3, 1), epsilon=0.5, delta=0.1)
    with pytest.raises(lb.BadArgument, match=r"world: plans of the paper need .* got 1.95"):
        lb.simulate(plan, world, seed=1)
