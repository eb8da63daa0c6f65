"""Fresh phases under any answers: laws that hold whatever comes; bad input; saved sessions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.plans.fresh_lengths import Stages, fresh_phase
from lumpable.plans.plan import Belief, Collect, Plan
from lumpable.plans.progress import Progress
from lumpable.plans.regret import fresh_guesses, fresh_phases
from lumpable.plans.seen import Sample

SIX = lb.Problem(6, 2, 3)
SMALL = replace(lb.PAPER, levels=0.05)
"""Levels begin at 1, so that a phase has h of them."""


# --- Any answer at all ----------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One request, read off its words."""

    request: Collect
    belief: Belief
    level: int
    stage: int
    """-1: exploring."""

    @classmethod
    def of(cls, request: Collect) -> Asked:
        belief = request.belief
        assert belief is not None
        level = re.search(r"level (\d+)", belief.phase)
        stage = re.search(r"stage (\d+)", belief.phase)
        assert level is not None
        assert (stage is not None) == (belief.kind == "splitting")
        return cls(request, belief, int(level[1]), int(stage[1]) if stage else -1)

    @property
    def clusters(self) -> int:
        assert self.belief.good is not None
        return len(self.belief.good)


def wild(request: Collect, rng: np.random.Generator, kind: str) -> Sample:
    shape = request.arms.shape
    plays = rng.integers(1, 50, size=shape)
    if kind == "nothing":
        plays[:] = 0
    if kind == "missing":
        plays[rng.random(shape) < 0.6] = 0
    plays[~request.arms] = 0
    values = {
        "loud": 300 * rng.normal(size=shape),
        "ties": rng.integers(0, 2, size=shape).astype(float),
        "extreme": rng.choice([0.0, 1e-300, 1.7e308, -1.7e308], size=shape),
        "line": np.linspace(0, 1, shape[0])[:, np.newaxis] * rng.choice([1, 1e3], size=shape[1]),
    }
    return Sample(plays, np.where(plays > 0, values.get(kind, rng.random(shape)), np.nan))


WAYS: dict[str, Callable[..., Plan]] = {
    "adaptive": fresh_phases,
    "fixed": lambda problem, **more: fresh_phases(problem, adaptive=False, **more),
    "guesses": fresh_guesses,
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 9)),
    constants=st.sampled_from([lb.TIGHT, SMALL]),
    kinds=st.lists(
        st.sampled_from(["nothing", "missing", "loud", "ties", "extreme", "line", "plain"]),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 2**32),
)
def test_laws_under_every_answer(
    way: str, size: tuple[int, int, int], constants: Any, kinds: list[str], seed: int
) -> None:
    problem = lb.Problem(size[0], size[1], min(size[2], size[0]))
    rng = np.random.default_rng(seed)
    progress = Progress(WAYS[way](problem, constants=constants))
    asked: list[Asked] = []
    while len(asked) < 120:
        assert isinstance(progress.request, Collect)
        asked.append(Asked.of(progress.request))
        progress.answer(wild(progress.request, rng, kinds[len(asked) % len(kinds)]))
    attempts = [
        list(one) for _, one in groupby(asked, key=lambda a: (a.belief.number, a.belief.notes))
    ]
    for before, after in pairwise(asked):
        check_refined(before.belief, after.belief)
    for looks in attempts[:-1]:
        check_attempt(problem, constants, way, looks)
    if len(attempts) > 1:
        check_attempt(problem, constants, way, attempts[-1], whole=False)


def check_refined(before: Belief, after: Belief) -> None:
    """Contexts that are apart stay apart."""
    assert before.cluster is not None
    assert after.cluster is not None
    pairs = set(zip(before.cluster.tolist(), after.cluster.tolist(), strict=True))
    assert len({new for _, new in pairs}) == len(pairs)


def check_attempt(
    problem: lb.Problem, constants: Any, way: str, looks: list[Asked], whole: bool = True
) -> None:
    S, K, r = problem.letters
    h = looks[0].belief.number
    explored = [look for look in looks if look.stage < 0]
    guesses = [
        guess
        for guess in (range(1, S + 1) if way == "guesses" else [r])
        for law in [fresh_phase(lb.Problem(S, K, guess), h, constants, way != "guesses")]
        if all(look.request.rounds == law.explore(look.level) for look in explored)
    ]
    assert len(guesses) == 1  # so r^ <= S
    law = fresh_phase(lb.Problem(S, K, guesses[0]), h, constants, way != "guesses")
    levels = [look.level for look in explored]
    assert levels == list(range(law.first, law.first + len(levels)))
    assert levels[-1] == h or not whole or way == "guesses"
    assert explored[0].request.arms.all()
    for low, deep in pairwise(explored):
        assert not (deep.request.arms & ~low.request.arms).any()
    calls = [look for look in looks if look.stage == 0]
    assert len(calls) <= S
    for look in looks:
        check_rows(look)
    check_stages(Stages(law.problem, h, 1.0, way != "fixed"), looks)


def check_rows(look: Asked) -> None:
    """Everybody plays the good arms of its cluster; a call plays one of them on all of C."""
    good, cluster = look.belief.good, look.belief.cluster
    assert good is not None
    assert cluster is not None
    assert good.any(axis=1).all()
    rows = look.request.arms
    assert not (rows & ~good[cluster]).any()
    other = np.any(rows != good[cluster], axis=1)
    if look.stage < 0:
        assert not other.any()
        return
    found = re.search(r"cluster of (\d+) on arm (\d+)", look.belief.phase)
    assert found is not None
    alone = (rows.sum(axis=1) == 1) & rows[:, int(found[2])]
    mixed = [c for c in range(len(good)) if alone[cluster == c].all()]
    assert any(np.sum(cluster == c) == int(found[1]) for c in mixed)
    assert len(set(cluster[other].tolist())) <= 1


def check_stages(stages: Stages, looks: list[Asked]) -> None:
    """Stages come one by one up to Q - 1; cuts pay for the last one, or nothing is split again."""
    for before, after in pairwise(looks):
        if before.stage < 0:
            assert after.stage in (-1, 0)
            continue
        assert before.stage < stages.number
        if after.stage == before.stage + 1:
            assert after.clusters == before.clusters
        elif not stages.enough(before.stage, after.clusters - before.clusters):
            assert before.stage == stages.number - 1
            later = looks[looks.index(after) :]
            assert all(look.stage < 0 for look in later)


@pytest.mark.parametrize("horizon", [10**11, pytest.param(10**13, marks=pytest.mark.nightly)])
def test_noise_300_times_too_large(horizon: int) -> None:
    """Every attempt ends, and the run goes on."""
    world = lb.worlds.lumpable(12, 8, 3, sd=300.0, seed=1)
    for make in WAYS.values():
        run = lb.simulate(make(lb.Problem(12, 8, 3)), world, horizon=horizon, seed=1)
        assert run.rounds == horizon
        assert len(run.requests) < 5000


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 4, 1), (5, 1, 2), (5, 3, 1), (7, 3, 7)])
def test_smallest_sizes(size: tuple[int, int, int]) -> None:
    world = lb.worlds.lumpable(*size, seed=1)
    for make in WAYS.values():
        for constants in (lb.TIGHT, lb.PAPER):
            run = lb.simulate(
                make(lb.Problem(*size), constants=constants), world, horizon=10**11, seed=1
            )
            assert run.rounds == 10**11
            assert run.regret == 0 or size[1] > 1


# --- Bad input, other plans, saved sessions ---------------------------------------------------


@pytest.mark.parametrize(
    ("make", "arguments", "named"),
    [
        (fresh_phases, {"problem": (6, 3, 1)}, "problem: expected a lumpable.Problem, got"),
        (fresh_phases, {"adaptive": 1}, "adaptive: expected True or False, got 1"),
        (fresh_phases, {"constants": "x"}, "constants: expected a lumpable.Constants or .*got 'x'"),
        (fresh_guesses, {"constants": None}, "constants: expected a lumpable.Constants or .*None"),
    ],
)
def test_bad_arguments_are_named(make: Any, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make(**{"problem": SIX, **arguments})


@pytest.mark.parametrize("make", [lb.regret.any_groups, lb.regret.equal_groups])
def test_other_plans_refuse_tight_by_name(make: Any) -> None:
    with pytest.raises(ValueError, match=r"constants: expected a lumpable\.Constants, got TIGHT"):
        make(SIX, constants=lb.TIGHT)


def test_results_report_the_constants() -> None:
    assert f"{lb.TIGHT} {lb.TIGHT!r}" == "TIGHT TIGHT"
    assert "constants=TIGHT" in repr(fresh_phases(SIX))


@pytest.mark.parametrize(
    "make",
    [
        lambda: fresh_phases(lb.Problem(2, 2, 2)),
        lambda: fresh_phases(lb.Problem(2, 2, 2), constants=SMALL, adaptive=False),
        lambda: fresh_guesses(lb.Problem(2, 2, 1)),
    ],
    ids=["adaptive", "fixed, printed", "guesses"],
)
def test_a_saved_session_goes_on_as_if_nothing_had_happened(
    make: Callable[[], Plan], tmp_path: Path
) -> None:
    """Saved and opened again every 999 rounds, it decides the same as one that was not."""
    mean = np.array([[0.0, 3.0], [3.0, 0.0]])  # so far apart that the first phase shows it
    rng = np.random.default_rng(1)
    session, twin = lb.Session(make(), seed=3), lb.Session(make(), seed=3)
    kinds = set()
    for t in range(14_000):
        context = int(rng.integers(2))
        arm = session.ask(context)
        assert arm == twin.ask(context)
        reward = mean[context, arm] + 0.1 * rng.normal()
        for one in (session, twin):
            one.tell(context, arm, reward)
        assert session.belief is not None
        kinds.add((session.belief.kind, session.belief.number))
        if t % 999 == 0:
            session.save(tmp_path / "s")
            session = lb.Session.load(tmp_path / "s")
    assert {kind for kind, _ in kinds} == {"exploring", "splitting"}
    assert len({number for _, number in kinds}) >= 2
    assert session.policy.tolist() == twin.policy.tolist() == [1, 0]
