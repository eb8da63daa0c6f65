"""Algorithms 4 and 6 with endless data and no noise: the lemmas hold for any lumpable problem.

With printed constants nothing happens before phase 10, so there are scaled-down ones as well; what
the proofs need is only that all three constants are scaled alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lumpable as lb
from twins.watched_regret import Witness, watched

SMALL = replace(lb.PAPER, phase=0.05, levels=0.1, split=0.05)
"""Thresholds below 1 from the first phase on, below 1/16 from the eleventh."""
PHASES = {lb.PAPER: 22, SMALL: 11}


@st.composite
def lumpable_worlds(draw: st.DrawFn) -> lb.World:
    """Invent a lumpable problem: ties, groups that are alike, contexts that never come and all."""
    contexts = draw(st.integers(1, 8))
    arms = draw(st.integers(1, 5))
    groups = draw(st.integers(1, min(4, contexts)))
    row = st.lists(st.integers(0, 16).map(lambda k: k / 16), min_size=arms, max_size=arms)
    means = np.array(draw(st.lists(row, min_size=groups, max_size=groups)))
    group = draw(st.lists(st.integers(0, groups - 1), min_size=contexts, max_size=contexts))
    share = st.sampled_from([0, 1, 1, 1, 1, 4])
    weight = np.array(draw(st.lists(share, min_size=contexts, max_size=contexts)), dtype=float)
    assume(weight.sum() > 0)
    return lb.World(means[group], weight / weight.sum(), np.array(group), sd=0.0)


def check(witness: Witness, run: lb.Run, phases: int) -> None:
    """Every promise, and what follows for the policy."""
    assert witness.broken() == set()
    assert witness.phases >= phases
    h = witness.phases - 1
    loss = run.world.loss_by_context(run.policy)[witness.comes]
    assert (loss <= 3 * witness.threshold(h, h)).all()


@pytest.mark.parametrize("examples", [25, pytest.param(80, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("constants", [lb.PAPER, SMALL], ids=["printed", "small"])
def test_algorithm_4(constants: lb.Constants, examples: int) -> None:
    """Also when it is told of more groups than there are."""

    @settings(max_examples=examples)
    @given(world=lumpable_worlds(), spare=st.integers(0, 2))
    def promises_are_kept(world: lb.World, spare: int) -> None:
        r = min(world.contexts, world.groups + spare)
        witness, run = watched(world, r, constants, PHASES[constants], levelled=False)
        check(witness, run, PHASES[constants])

    promises_are_kept()


@pytest.mark.parametrize("examples", [10, pytest.param(30, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("constants", [lb.PAPER, SMALL], ids=["printed", "small"])
def test_algorithm_6(constants: lb.Constants, examples: int) -> None:
    """Everybody is seen here, so that all levels are protected, not only n <= n_b(h)."""

    @settings(max_examples=examples)
    @given(world=lumpable_worlds(), mended=st.booleans())
    def promises_are_kept(world: lb.World, mended: bool) -> None:
        r = min(world.contexts, world.groups)
        witness, run = watched(world, r, constants, PHASES[constants], levelled=True, mended=mended)
        check(witness, run, PHASES[constants])

    promises_are_kept()


@pytest.mark.parametrize("levelled", [False, True])
@pytest.mark.parametrize("constants", [lb.PAPER, SMALL], ids=["printed", "small"])
def test_groups_are_told_apart_and_arms_fall(constants: lb.Constants, levelled: bool) -> None:
    """The promises are not empty: three groups of four, three clusters, one arm left for each."""
    group = np.repeat(np.arange(3), 4)
    world = lb.World(np.eye(3)[group], np.full(12, 1 / 12), group, sd=0.0)
    witness, run = watched(world, 3, constants, PHASES[constants], levelled=levelled)
    check(witness, run, PHASES[constants])
    assert witness.looks[0].cluster.max() == 0
    assert witness.looks[-1].cluster.max() == 2
    assert witness.calls == 2  # one group at a time: each arm tells one from the others
    assert witness.looks[-1].arms.sum() == 12
    assert world.loss(run.policy) == 0


def test_broken_promises_are_seen() -> None:
    """The witness can fail: a world that is not the one that was played breaks every promise."""
    group = np.repeat(np.arange(2), 3)
    world = lb.World(np.eye(2)[group], np.full(6, 1 / 6), group, sd=0.0)
    for levelled in (False, True):
        witness, _ = watched(world, 2, SMALL, 11, levelled=levelled)
        assert witness.broken() == set()
        witness.world = lb.World(world.mean[:, ::-1], world.frequency, group)
        assert witness.broken() == {"best arm", "bad arm"}
        witness.world = lb.World(world.mean, world.frequency, np.arange(6) % 2)
        assert witness.broken() == {"group"}
        witness.problem = lb.Problem(6, 2, 1)
        assert witness.broken() == {"group", "clusters", "calls"}
    witness.looks = [replace(look, arms=~look.arms) for look in witness.looks]
    assert "nested" in witness.broken()


def test_too_few_groups_lose_no_best_arm() -> None:
    """Reading 20: told of one group where there are many, nobody's best arm falls for good."""
    world = lb.World(
        np.column_stack([np.linspace(0, 1, 12), np.full(12, 0.5)]),
        np.full(12, 1 / 12),
        np.arange(12),
        sd=0.0,
    )
    for levelled in (False, True):
        witness, _ = watched(world, 1, SMALL, 14, levelled=levelled)
        assert "best arm" not in witness.broken()
        assert witness.calls > 0
