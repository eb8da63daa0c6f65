"""What plans say of themselves: every one does, and what it says is what it does."""

from __future__ import annotations

import dataclasses
import typing
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import lumpable as lb
from lumpable.plans import bounds, methods
from lumpable.plans.about import Kind
from lumpable.plans.making import Algorithm

ROOMS: dict[str, ModuleType] = {
    "pac": lb.pac,
    "regret": lb.regret,
    "standard": lb.standard,
    "reductions": lb.reductions,
}
ALL = (*methods.POLICY, *methods.REGRET)
WORLD = lb.worlds.lumpable(12, 8, 3, seed=1)
PROBLEM = lb.Problem(12, 8, 3)


def made(make: Algorithm[...], problem: lb.Problem = PROBLEM, **more: Any) -> lb.Plan:
    """Make a plan with whatever it takes."""
    values: dict[str, Any] = {"epsilon": 0.3, "delta": 0.1, "horizon": 10**6}
    taken = {name: values[name] for name in values if name in make.about.takes}
    return make(problem, **taken, **more)


def ids(make: Algorithm[...]) -> str:
    return make.about.method


def test_every_algorithm_of_the_package_is_listed_once() -> None:
    found = {
        f"lumpable.{room}.{name}"
        for room, module in ROOMS.items()
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and hasattr(value, "about")
    }
    names = [make.about.name for make in ALL]
    assert len(names) == len(set(names))
    assert set(names) == found


@pytest.mark.parametrize("make", ALL, ids=ids)
def test_a_plan_says_what_it_is(make: Algorithm[...]) -> None:
    plan = made(make)
    assert plan.about is make.about
    assert plan.name == f"lumpable.{plan.name.split('.')[1]}.{make.about.method}"
    assert make.about.title
    assert make.about.summary
    assert make.about.endless == (make in methods.REGRET)


@pytest.mark.parametrize("makers", [methods.POLICY, methods.REGRET])
def test_words_of_the_command_line_name_one_method(makers: tuple[Algorithm[...], ...]) -> None:
    assert len({make.about.option for make in makers}) == len(makers)


@pytest.mark.parametrize("make", methods.REGRET, ids=ids)
def test_endless_plans_have_a_rate_and_no_promise(make: Algorithm[...]) -> None:
    assert make.about.rate is not None
    assert make.about.promise is None
    run = lb.simulate(made(make), WORLD, seed=1, horizon=10**6)
    assert run.rounds == 10**6


@pytest.mark.parametrize("make", methods.POLICY, ids=ids)
def test_what_runs_in_the_end_promises_a_loss(make: Algorithm[...]) -> None:
    """A plan that chooses promises what its choice does; it ends within the rounds promised."""
    plan = made(make)
    promise = plan.runs.promise
    assert promise is not None
    run = lb.simulate(plan, WORLD, seed=1)
    assert run.result is not None
    assert run.rounds <= promise.rounds(PROBLEM, 0.3, 0.1)
    assert (run.about, run.ran, run.plan) == (make.about, plan.runs, make.about.name)


@pytest.mark.parametrize("make", ALL, ids=ids)
def test_what_is_mendable_can_be_mended(make: Algorithm[...]) -> None:
    if make.about.mendable:
        assert made(make, mended=True).parameters["mended"] is True
    else:
        with pytest.raises(TypeError, match="mended"):
            made(make, mended=True)


@pytest.mark.parametrize(
    ("problem", "method"),
    [(lb.Problem(40, 40, 1), "any_groups"), (lb.Problem(40, 40, 4), "online")],
)
def test_a_plan_that_chooses_says_what_it_chose(problem: lb.Problem, method: str) -> None:
    plan = lb.reductions.never_worse(problem)
    chosen = {"any_groups": lb.regret.any_groups, "online": lb.standard.online}[method]
    assert plan.runs == chosen.about
    assert plan.name == "lumpable.reductions.never_worse"
    again = lb.Plan(plan.about, {}, lb.reductions.never_worse(problem))
    assert again.runs == chosen.about  # however deep


@pytest.mark.parametrize("make", methods.REGRET, ids=ids)
def test_phases_are_as_long_as_the_metadata_says(make: Algorithm[...]) -> None:
    """Step 1 of the first phases: the rounds of each level, in order."""
    law = make.about.phase
    if law is None:
        return
    plan = made(make, lb.Problem(12, 8, 1))
    world = lb.worlds.lumpable(12, 8, 1, seed=1)  # nothing is ever split
    run = lb.exact(plan, world, horizon=10**7)
    ends = [0, *(row.rounds for row in run.rows() if row.kind == "exploring")]
    expected = [
        size.explore(level)
        for h in range(1, 9)
        for size in [law(lb.Problem(12, 8, 1), h, lb.PAPER)]
        for level in size.levels
    ]
    asked = np.diff(ends).tolist()[:-1]  # the last one was cut
    assert len(asked) >= 2
    assert asked == expected[: len(asked)]


@pytest.mark.parametrize("make", ALL, ids=ids)
def test_every_request_has_a_kind(make: Algorithm[...]) -> None:
    kinds: set[str] = set()
    lb.simulate(
        made(make),
        WORLD,
        seed=1,
        horizon=10**8 if make.about.endless else None,
        watch=lambda step: kinds.add(step.request.belief.kind if step.request.belief else ""),
    )
    assert kinds
    assert kinds <= set(typing.get_args(Kind)) - {""}


def test_kinds_of_the_paper() -> None:
    """Algorithms 1 and 3 estimate, collect, screen and settle; 4 and 6 explore and split."""

    def kinds(run: lb.Run) -> list[str]:
        return list(dict.fromkeys(row.kind for row in run.rows()))

    three = lb.simulate(made(lb.pac.any_contexts), WORLD, seed=1)
    assert kinds(three) == ["estimating", "collecting", "screening", "settling"]
    four = lb.simulate(lb.regret.equal_groups(PROBLEM), WORLD, seed=1, horizon=10**12)
    assert kinds(four) == ["exploring", "splitting"]


def test_restarts_are_counted() -> None:
    plan = lb.reductions.unknown_groups(lb.Problem(12, 8, 1))
    run = lb.simulate(plan, WORLD, seed=1, horizon=10**12)
    counts = [turn.belief.restarts for turn in run.turns]
    assert counts == sorted(counts)
    assert counts[-1] == len(run.notes) == 2


def test_a_plan_of_your_own_needs_no_metadata() -> None:
    @lb.algorithm
    def play_twice(arms: int) -> Any:
        yield lb.Collect(2, 1, np.ones((1, arms), dtype=bool))
        return lb.Result(np.zeros(1, dtype=np.int64))

    about = play_twice(3).about
    assert (about.title, about.method, about.takes) == ("play twice", "play_twice", ("arms",))
    assert (about.rate, about.promise, about.endless, about.mendable) == (None, None, False, False)

    @lb.algorithm(lb.About("twice, in words", endless=True))
    def titled() -> Any:
        yield lb.Collect(2, 1, np.ones((1, 3), dtype=bool))

    assert (titled().about.title, titled.about.endless) == ("twice, in words", True)


def test_about_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        lb.pac.near_uniform.about.title = "mine"  # type: ignore[misc]


def test_rates_are_those_of_their_formulas() -> None:
    S, K, r, T = 12, 8, 3, 10**6
    values = {"S": S, "K": K, "r": r, "T": T, "p": 1 / (3 * r + 2)}
    written = {
        bounds.LUMPABLE: "(r**3 * (S + K) * T) ** 0.5",
        bounds.LOW_RANK: "(S + K) ** p * T ** (1 - p)",
        bounds.STANDARD: "(S * K * T) ** 0.5",
    }
    for rate, formula in written.items():
        assert rate.of(PROBLEM, T) == pytest.approx(eval(formula, {}, values))
