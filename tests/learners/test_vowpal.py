"""The adapter to Vowpal Wabbit: what it hands over, and that it learns."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest

import lumpable as lb
from lumpable.base import extras
from lumpable.learners.vowpal import VowpalWabbit
from twins.stream import Stream

package = importlib.import_module("vowpalwabbit")


class Scored:
    """The regression below Vowpal Wabbit's exploration, so that the probabilities are ours.

    `--cb_adf --cb_type mtr` predicts costs; SquareCB's formula is applied to them here.
    """

    def __init__(self, arms: int, scale: float, exponent: float, seed: int) -> None:
        self.arms, self.scale, self.exponent, self.tells = arms, scale, exponent, 0
        self.stream = Stream(seed)
        self.workspace = package.Workspace("--cb_adf --cb_type mtr -q UA --quiet")

    def lines(self, context: int) -> list[str]:
        return [f"shared |U u{context}", *(f"|A a{j}" for j in range(self.arms))]

    def probabilities(self, context: int) -> list[float]:
        cost = self.workspace.predict(self.lines(context))
        b = int(np.argmin(cost))
        gamma = self.scale * self.tells**self.exponent
        p = [1 / (self.arms + gamma * (x - cost[b])) for x in cost]
        p[b] = 1 - sum(p) + p[b]
        return p

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        u = self.stream.uniform()
        return int(np.searchsorted(np.cumsum(self.probabilities(context)), u, side="right"))

    def tell(self, context: int, arm: int, reward: float) -> None:
        lines = self.lines(context)
        lines[arm + 1] = f"0:{-reward}:1 {lines[arm + 1]}"
        self.workspace.learn(lines)
        self.tells += 1
        self.stream.told()


@pytest.mark.parametrize(("scale", "exponent", "sd"), [(10.0, 0.5, 0.2), (40.0, 0.25, 1.0)])
def test_probabilities_are_squarecb_of_its_own_scores(
    scale: float, exponent: float, sd: float
) -> None:
    """1,000 rounds: the same arms, and the same probabilities to the 32 bits it counts in."""
    world = lb.worlds.lumpable(6, 5, 2, sd=sd, seed=3)
    learner = VowpalWabbit(6, 5, gamma_scale=scale, gamma_exponent=exponent, seed=8)
    literal = Scored(5, scale, exponent, 8)
    rng = np.random.default_rng(7)
    for _ in range(1000):
        context = int(rng.integers(6))
        assert np.allclose(
            learner.probabilities(context), literal.probabilities(context), atol=1e-5
        )
        arm = learner.ask(context)
        assert arm == literal.ask(context)
        reward = world.reward(context, arm, rng)
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)
    assert learner.tells == 1000


def test_it_learns_an_easy_problem() -> None:
    """Two groups with different best arms, 3,000 rounds: a quarter of uniform play's regret."""
    means = np.array([[0.9, 0.2, 0.2], [0.2, 0.2, 0.9]])
    world = lb.worlds.lumpable(4, 3, 2, noise="bernoulli", means=means, seed=1)
    learner = VowpalWabbit(4, 3, seed=1)
    played = lb.play(learner, world, horizon=3000, seed=2)
    assert played.rows()[-1].simple_regret == 0.0
    assert played.regret < 0.25 * 3000 * float(np.mean(world.best[:, None] - world.mean))


def test_seeds_differ_and_a_seed_repeats() -> None:
    asked = [[VowpalWabbit(9, 50, seed=s).ask(i) for i in range(3)] for s in (1, 2, 3, 1)]
    assert asked[0] == asked[3]
    assert len({tuple(arms) for arms in asked}) > 1


def test_many_cells_get_more_weights() -> None:
    assert VowpalWabbit(10, 10).bits == 18
    large = VowpalWabbit(1000, 200)
    assert large.bits == 20
    assert large.nbytes == 16 * 2**20


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"contexts": 0}, "contexts: expected a whole number of at least 1, got 0"),
        ({"arms": 0}, "arms: expected a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        ({"gamma_scale": 0}, "gamma_scale: expected a positive number, got 0"),
        ({"gamma_exponent": 2}, r"gamma_exponent: expected a number in \(0, 1\], got 2"),
        ({"learning_rate": math.nan}, "learning_rate: expected a positive number, got nan"),
    ],
)
def test_words(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        VowpalWabbit(**{"contexts": 2, "arms": 2, **given})


def test_without_the_package_it_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("lumpable.base.extras.importlib.import_module", gone)
    with pytest.raises(extras.MissingExtra, match=r"pip install 'lumpable\[vowpal\]'"):
        VowpalWabbit(2, 2)
