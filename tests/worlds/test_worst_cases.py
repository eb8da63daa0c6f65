"""Worlds of the lower bound and of hidden arms: their means, groups, gaps, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumpable as lb
from lumpable import worlds
from lumpable.worlds.worst_cases import lower_bound_gap


def sized(case: int, contexts: int, arms: int, groups: int) -> tuple[int, int, int]:
    """Return a size that the case takes: r >= K in case 1, r < K in cases 2 and 3."""
    S = max(contexts, 2)
    r = min(max(groups, 2), S)
    return S, max(2, min(arms, r)) if case == 1 else max(arms, r + 1), r


@given(
    case=st.integers(1, 3),
    contexts=st.integers(2, 60),
    arms=st.integers(2, 30),
    groups=st.integers(2, 30),
    rounds=st.integers(1, 10**12),
    seed=st.integers(0, 50),
)
def test_worlds_of_the_lower_bound(
    case: int, contexts: int, arms: int, groups: int, rounds: int, seed: int
) -> None:
    S, K, r = sized(case, contexts, arms, groups)
    world = worlds.lower_bound(case, S, K, r, rounds=rounds, seed=seed)
    product = {1: S * K, 2: S * r, 3: r * K}[case]
    gap = math.sqrt(3 * product / (8 * rounds)) / 4
    if case == 3 and S % r:
        gap = math.sqrt(r * K / (4 * rounds)) / 4
    gap = min(gap, 0.25)
    assert np.sort(world.mean, axis=1)[:, :-1].tolist() == [[0.5] * (K - 1)] * S
    assert world.best == pytest.approx(np.full(S, 0.5 + gap), rel=1e-12)
    assert len(np.unique(world.mean, axis=0)) <= r
    assert world.frequency == pytest.approx(np.full(S, 1 / S), rel=1e-12)
    assert world.noise == "bernoulli"
    if case == 2:
        assert world.policy.max() < r
    if case == 3:
        assert all(len(set(world.policy[b::r].tolist())) == 1 for b in range(r))


def test_good_arms_are_uniform() -> None:
    """4,000 contexts: each arm is liked as often as chance has it, within 6 standard errors."""
    for case, (S, K, r), kinds in ((1, (4000, 5, 8), 5), (2, (4000, 20, 4), 4)):
        world = worlds.lower_bound(case, S, K, r, rounds=10**6, seed=3)
        count = np.bincount(world.policy, minlength=kinds)
        assert np.abs(count - S / kinds).max() < 6 * math.sqrt(S / kinds)
    third = [
        worlds.lower_bound(3, 8, 5, 2, rounds=10**6, seed=seed).policy[:2] for seed in range(1000)
    ]
    count = np.bincount(np.concatenate(third), minlength=5)
    assert np.abs(count - 400).max() < 6 * 20


def test_the_gap_costs_what_the_bound_says() -> None:
    """D T / 4 is at least the lower bound, at the horizon that it is made for."""
    for case, size in ((1, (30, 4, 6)), (2, (30, 20, 3)), (3, (12, 60, 3)), (3, (13, 60, 3))):
        S, K, r = size
        for T in (10**4, 10**8, 10**12):
            gap = lower_bound_gap(case, S, K, r, T)
            lower = lb.regret_bounds.regret_lower_bound(lb.Problem(*size), T)
            assert lower <= gap * T / 4 * (1 + 1e-9)


def test_a_gap_of_your_own() -> None:
    world = worlds.lower_bound(2, 6, 4, 3, rounds=10, gap=0.4, seed=1)
    assert world.best.tolist() == [0.9] * 6


@given(
    contexts=st.integers(1, 40),
    arms=st.integers(2, 20),
    groups=st.integers(1, 40),
    sizes=st.sampled_from(["equal", "giant", "geometric"]),
    units=st.floats(0.01, 5),
    seed=st.integers(0, 50),
)
def test_hidden_arms(
    contexts: int, arms: int, groups: int, sizes: str, units: float, seed: int
) -> None:
    r, T = min(groups, contexts), 10**6
    world = worlds.hidden_arms(
        contexts, arms, r, rounds=T, units=units, sizes=sizes, noise="bernoulli", seed=seed
    )
    gap = units * math.sqrt(r * (contexts + arms) / T)
    for row in world.mean:
        assert np.sort(row)[-2:] == pytest.approx([0.5, 0.5 + gap])
        assert np.sort(row)[:-2] == pytest.approx(np.full(arms - 2, 0.5 - gap))
    common = np.flatnonzero((world.mean == 0.5).all(axis=0))
    assert len(common) == 1
    kinds = len(np.unique(world.mean, axis=0))
    assert kinds == min(r, arms - 1)
    assert world.groups == r
    assert world.noise == "bernoulli"


def test_the_same_seed_gives_the_same_world() -> None:
    def both(seed: int) -> list[list[float]]:
        hidden = worlds.hidden_arms(20, 9, 3, rounds=10**6, seed=seed)
        lower = worlds.lower_bound(2, 20, 9, 3, rounds=10**6, seed=seed)
        return [*hidden.mean.tolist(), *lower.mean.tolist()]

    assert both(1) == both(1)
    assert both(1) != both(2)


REFUSED: list[tuple[Callable[[], lb.World], str]] = [
    (lambda: worlds.lower_bound(4, 9, 5, 2, rounds=9, seed=1), "case: expected one of 1 .. 3"),
    (lambda: worlds.lower_bound(1, 9, 5, 4, rounds=9, seed=1), "groups: case 1 needs at least"),
    (lambda: worlds.lower_bound(2, 9, 5, 5, rounds=9, seed=1), "groups: case 2 needs fewer"),
    (lambda: worlds.lower_bound(3, 9, 5, 1, rounds=9, seed=1), "groups: expected one of 2 .. 9"),
    (lambda: worlds.lower_bound(3, 9, 1, 2, rounds=9, seed=1), "arms: expected a whole number"),
    (lambda: worlds.lower_bound(2, 9, 5, 2, rounds=0, seed=1), "rounds: expected"),
    (lambda: worlds.lower_bound(2, 9, 5, 2, rounds=9, gap=0.6, seed=1), "gap: expected"),
    (lambda: worlds.lower_bound(2, 9, 5, 2, rounds=9, seed=-1), "seed: expected"),
    (lambda: worlds.hidden_arms(9, 1, 2, rounds=9, seed=1), "arms: expected a whole number"),
    (lambda: worlds.hidden_arms(9, 5, 10, rounds=9, seed=1), "groups: expected one of 1 .. 9"),
    (lambda: worlds.hidden_arms(9, 5, 2, rounds=9.5, seed=1), "rounds: expected"),
    (lambda: worlds.hidden_arms(9, 5, 2, rounds=99, seed=1), "units: expected at most 0.94 for 99"),
    (lambda: worlds.hidden_arms(9, 5, 2, rounds=9, units=0, seed=1), "units: expected a positive"),
    (lambda: worlds.hidden_arms(9, 5, 2, rounds=10**9, seed=-1), "seed: expected"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_is_wrong_is_named(make: Callable[[], lb.World], words: str) -> None:
    with pytest.raises(lb.BadArgument, match=words.replace("(", r"\(")):
        make()
