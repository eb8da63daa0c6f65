"""Every learner of the catalogue keeps the contract; found by introspection."""

from __future__ import annotations

import pytest

import lumpable as lb
from lumpable.comparisons import roster
from lumpable.learners import catalogue
from lumpable.testing import check_learner
from lumpable.worlds.scene import Scene


def made(name: str, noise: str):  # type: ignore[no-untyped-def]
    def make(contexts: int, arms: int, seed: int) -> lb.learners.Learner:
        world = lb.worlds.lumpable(contexts, arms, min(3, contexts), noise=noise, seed=1)
        return roster.make(name, Scene(world), horizon=300, seed=seed)

    return make


def check_both(name: str, rounds: int) -> None:
    """Check a learner with rewards of 0 and 1, and with real ones if it takes them."""
    maker, _ = catalogue.find(name)
    check_learner(made(name, "bernoulli"), rounds=rounds)
    if not getattr(maker, "unit_rewards", False):
        check_learner(made(name, "gaussian"), noise="gaussian", rounds=rounds)


@pytest.mark.parametrize("name", catalogue.names())
def test_contract(name: str) -> None:
    """Every law with both kinds of rewards; by night for six times as long."""
    check_both(name, rounds=50)


@pytest.mark.nightly
@pytest.mark.parametrize("name", catalogue.names())
def test_contract_for_long(name: str) -> None:
    check_both(name, rounds=300)
