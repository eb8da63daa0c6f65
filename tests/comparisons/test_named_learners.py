"""Lumps and PolicyFinder themselves in comparisons: the learners of numbers that they play by."""

from __future__ import annotations

from typing import Any

import pytest

import lumpable as lb

WORLD = lb.worlds.lumpable(6, 4, 2, noise="bernoulli", seed=1)


def compared(learner: Any) -> Any:
    return lb.compare([learner], [WORLD], seeds=1, horizon=300, jobs=1)


def results(found: Any) -> list[Any]:
    return [(row.seed, row.round, row.regret, row.simple_regret) for row in found.rows()]


@pytest.mark.parametrize(
    ("given", "name", "label"),
    [
        (lb.Lumps, "lumps", "Lumps"),
        (lambda seed: lb.Lumps(rewards="binary", seed=seed), "lumps", "<lambda>"),
        (lb.PolicyFinder, "lumps-policy", "PolicyFinder"),
        (
            {"name": lb.PolicyFinder, "epsilon": 0.2},
            {"name": "lumps-policy", "epsilon": 0.2},
            "PolicyFinder, epsilon=0.2",
        ),
    ],
)
def test_they_are_taken_for_their_cores(given: Any, name: Any, label: str) -> None:
    found = compared(given)
    assert found.cells == {"done": 1}
    assert results(found) == results(compared(name))
    assert {row.learner for row in found.rows()} == {label}


def test_what_a_comparison_cannot_play_is_refused() -> None:
    for given in ({"floor": 0.1}, {"at_most": 2}):
        with pytest.raises(ValueError, match="plays by `ask` in comparisons: without floor and at"):
            compared({"name": lb.Lumps, **given})

    def old(seed: int) -> lb.Lumps:
        lumps = lb.Lumps(seed=seed)
        lumps.tell(1, 1, 1.0)
        return lumps

    reason = compared(old).rows()[0].reason
    assert "expected a learner that has seen nothing, got Lumps: 1 context" in reason


def test_settings_that_a_comparison_would_ignore_are_refused() -> None:
    """They are those of a world where arms, contexts and rewards are numbers."""
    for make, words in (
        (
            lambda seed: lb.Lumps(["x", "y"], seed=seed),
            "no arms, or all 4 of the world, got ('x', ",
        ),
        (lambda seed: lb.PolicyFinder(contexts=[1, 2], seed=seed), "no contexts, or all 6 of the"),
    ):
        assert words in compared(make).rows()[0].reason
    normal = lb.worlds.lumpable(6, 4, 2, seed=1)
    for rewards, words in (("binary", "expects 0 or 1, as rewards are binary"),
                           ((0, 1), "expects a number from 0 to 1")):  # fmt: skip
        given = {"name": lb.Lumps, "rewards": rewards}
        found = lb.compare([given], [normal], seeds=1, horizon=300, jobs=1)
        assert found.cells == {"not run": 1}
        assert found.rows()[0].reason == f"Lumps: {words}, got gaussian noise"
        assert compared(given).cells == {"done": 1}
    listed = compared(lambda seed: lb.Lumps(list("wxyz"), range(6), seed=seed))
    assert results(listed) == results(compared("lumps"))
