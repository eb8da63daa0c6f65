"""The laws of the random draws. Seeds are fixed; each test fails by chance with p < 1e-9."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from lumpable.base.arrays import FloatVector
from lumpable.learners.engine import draws
from lumpable.learners.engine.clock import seeded, start_choice, start_update
from lumpable.learners.engine.draws import TAIL

RARE = 1e-9
MANY = 100_000
BETAS = [(1.0, 1.0), (0.5, 0.5), (0.05, 2.0), (2.0, 7.0), (3e5, 2.0)]
BETAS += [(1.0, 7.0), (7.0, 1.0), (1.0, 0.5), (0.05, 1.0), (1.0, 3e5), (3e5, 1.0)]


def drawn(draw: Callable[..., float], *shape: float, seed: int = 5) -> FloatVector:
    clock = seeded(seed)
    start_choice(clock, 0)
    return np.array([draw(clock, *shape) for _ in range(MANY)])


def normals(number: int, seed: int = 6) -> FloatVector:
    clock, out = seeded(seed), np.empty(number)
    start_choice(clock, 0)
    draws.normals(clock, out)
    return out


def firsts(seed: int, purpose: int, tells: int = MANY, context: int = 0) -> FloatVector:
    """Return the first uniform draw of each of these numbers of tells."""
    clock, out = seeded(seed), np.empty(tells)
    for t in range(tells):
        clock[1] = t
        if purpose == 0:
            start_choice(clock, context)
        else:
            start_update(clock)
        out[t] = draws.uniform(clock)
    return out


def test_uniform() -> None:
    sample = drawn(draws.uniform)
    assert stats.kstest(sample, "uniform").pvalue > RARE
    assert sample.min() >= 0.0
    assert sample.max() < 1.0
    assert len(np.unique(sample)) == MANY


def test_uniform_has_53_bits() -> None:
    """The lowest bit of a draw is fair, too."""
    last = (drawn(draws.uniform) * 2.0**53) % 2.0
    assert stats.binomtest(int(last.sum()), MANY).pvalue > RARE


@pytest.mark.parametrize("number", [1, 2, 7, 1000])
def test_below(number: int) -> None:
    clock = seeded(7)
    count = np.bincount([draws.below(clock, number) for _ in range(MANY)], minlength=number)
    assert len(count) == number
    assert number == 1 or stats.chisquare(count).pvalue > RARE


def test_drawn() -> None:
    clock, chance = seeded(7), np.array([0.2, 0.0, 0.5, 0.3])
    count = np.bincount([draws.drawn(chance, clock) for _ in range(MANY)], minlength=4)
    assert count[1] == 0
    assert stats.chisquare(count[[0, 2, 3]], MANY * chance[[0, 2, 3]]).pvalue > RARE


def test_drawn_where_rounding_leaves_a_little_over() -> None:
    """Of probabilities that do not sum to 1 the largest has the rest."""
    clock = seeded(7)
    assert {draws.drawn(np.array([0.0, 1e-12, 0.0]), clock) for _ in range(100)} == {1}


def test_normal() -> None:
    assert stats.kstest(drawn(draws.normal), "norm").pvalue > RARE


def test_normals_are_the_draws_of_normal() -> None:
    clock = seeded(6)
    start_choice(clock, 0)
    assert normals(MANY).tolist() == [draws.normal(clock) for _ in range(MANY)]


def test_normal_in_every_layer() -> None:
    """Twelve million draws in 1,000 cells: an error of 1 in 20 in one cell is seen."""
    edges = stats.norm.ppf(np.linspace(0, 1, 1001)[1:-1])
    count = np.zeros(1000)
    for seed in range(4):
        count += np.bincount(np.searchsorted(edges, normals(3_000_000, seed)), minlength=1000)
    assert stats.chisquare(count).pvalue > RARE


def test_normal_beyond_the_ziggurat() -> None:
    """Either tail has the right mass in ten million draws."""
    number, mass = 10_000_000, float(stats.norm.sf(TAIL))
    sample = normals(number)
    for tail in (sample[sample > TAIL], -sample[sample < -TAIL]):
        assert stats.binomtest(len(tail), number, mass).pvalue > RARE
        assert stats.kstest(tail, lambda x: 1 - stats.norm.sf(x) / mass).pvalue > RARE


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_tail(side: float) -> None:
    """The shape of a tail, from draws of nothing else: an exponential one is seen."""
    sample, mass = side * drawn(draws._tail, side), float(stats.norm.sf(TAIL))
    assert stats.kstest(sample, lambda x: 1 - stats.norm.sf(x) / mass).pvalue > RARE


@pytest.mark.parametrize("shape", [0.01, 0.5, 0.99, 1.0, 1.5, 7.0, 1e6])
def test_gamma(shape: float) -> None:
    assert stats.kstest(drawn(draws.gamma, shape), stats.gamma(shape).cdf).pvalue > RARE


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_beta(a: float, b: float) -> None:
    assert stats.kstest(drawn(draws.beta, a, b), stats.beta(a, b).cdf).pvalue > RARE


def test_beta_where_both_gammas_vanish() -> None:
    """Beta(1e-4, 3e-4) is 1 with probability 1/4 and else 0, up to 1 in 1,000."""
    sample = drawn(draws.beta, 1e-4, 3e-4)
    assert np.isfinite(sample).all()
    ones = int((sample > 0.5).sum())
    assert abs(ones / MANY - 0.25) < 6.2 * math.sqrt(0.25 * 0.75 / MANY) + 1e-3


@pytest.mark.parametrize("pick", [draws.largest, lambda v, clock: draws.among(v, 3.0, clock)])
def test_ties_are_broken_evenly(pick: Callable[..., int]) -> None:
    clock, values = seeded(8), np.array([1.0, 3.0, 3.0, -np.inf, 3.0, 2.0])
    count = np.bincount([pick(values, clock) for _ in range(30_000)], minlength=6)
    assert count[[0, 3, 5]].sum() == 0
    assert stats.chisquare(count[[1, 2, 4]]).pvalue > RARE


def test_one_largest_needs_no_draw() -> None:
    clock = seeded(8)
    before = clock.copy()
    assert draws.largest(np.array([0.0, -np.inf, 5.0, 4.0]), clock) == 2
    assert draws.largest(np.full(1, -np.inf), clock) == 0
    assert (clock == before).all()


def test_infinite_values_tie() -> None:
    clock, values = seeded(8), np.array([np.inf, 1.0, np.inf])
    assert {draws.largest(values, clock) for _ in range(100)} == {0, 2}


def test_streams_are_uncorrelated() -> None:
    """First draws by tells: between seeds, purposes, and from one tell to the next."""
    one, other, update = firsts(1, 0), firsts(2, 0), firsts(1, 1)
    pairs = [(one, other), (one, update), (other, update), (one[1:], one[:-1])]
    neighbour = firsts(1, 0, context=1)
    pairs += [(one, neighbour), (one[1:], neighbour[:-1]), (neighbour, update)]
    pairs += [(one[1:], update[:-1]), (one[:-1], update[1:]), (one[1:], other[:-1])]
    for x, y in pairs:
        assert abs(np.corrcoef(x, y)[0, 1]) < 6.2 / math.sqrt(len(x))
        assert abs(np.corrcoef((x - 0.5) ** 2, (y - 0.5) ** 2)[0, 1]) < 6.2 / math.sqrt(len(x))
    assert len(np.unique([one, other, update, neighbour])) == 4 * MANY
    for sample in (one, other, update):
        assert stats.kstest(sample, "uniform").pvalue > RARE


def test_draws_of_one_stream_are_uncorrelated() -> None:
    sample = drawn(draws.uniform)
    for lag in (1, 2, 3, 100):
        assert abs(np.corrcoef(sample[lag:], sample[:-lag])[0, 1]) < 6.2 / math.sqrt(MANY)


def test_a_stream_is_a_function_of_seed_and_tells() -> None:
    clock = seeded(3)
    clock[1] = 77
    start_choice(clock, 0)
    first = [draws.normal(clock) for _ in range(5)]
    start_update(clock)
    draws.uniform(clock)
    start_choice(clock, 0)
    assert first == [draws.normal(clock) for _ in range(5)]
