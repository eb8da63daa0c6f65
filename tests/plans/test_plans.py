"""Every plan, found by introspection: pure, never stalls, names bad input."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import importlib
import inspect
import itertools
import logging
import math
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable import plans
from lumpable.base.arrays import BoolMatrix, FloatMatrix
from lumpable.plans.candidates_literal import depth
from lumpable.plans.plan import Collect, Plan, Reply, Request, Result, Split
from lumpable.plans.progress import Progress
from lumpable.plans.seen import Sample

MakePlan = Callable[..., Plan]


def algorithms() -> Iterator[tuple[str, MakePlan]]:
    """Find every function of the package that makes a plan."""
    for module in pkgutil.iter_modules(plans.__path__, "lumpable.plans."):
        if module.name.endswith("__main__"):
            continue
        for _, value in inspect.getmembers(importlib.import_module(module.name)):
            about = getattr(value, "about", None)
            if isinstance(about, lb.About) and value.__module__ == module.name:
                yield about.name, value


ALGORITHMS = dict(algorithms())
NEEDED: dict[str, Any] = {"epsilon": 0.25, "delta": 0.1, "horizon": 2**16}
"""Something for every argument that has no default, or None for one."""


def takes(make: MakePlan, name: str) -> bool:
    return name in inspect.signature(make).parameters


def ways(make: MakePlan) -> Iterator[dict[str, Any]]:
    """Yield arguments that reach every branch: each switch both ways, each number or none."""
    optional = inspect.signature(make).parameters.values()
    needed = {p.name: NEEDED[p.name] for p in optional if p.default is p.empty and p.name in NEEDED}
    yield needed
    for parameter in optional:
        if isinstance(parameter.default, bool):
            yield {**needed, parameter.name: not parameter.default}
        elif parameter.default is None:
            yield {**needed, parameter.name: NEEDED[parameter.name]}


WAYS = {
    name + "".join(f", {k}={v}" for k, v in way.items() if k not in ("epsilon", "delta")): (
        make,
        way,
    )
    for name, make in ALGORITHMS.items()
    for way in ways(make)
}
EVERY_PLAN = pytest.mark.parametrize(("make", "way"), WAYS.values(), ids=WAYS.keys())
PLANS_THAT_END = pytest.mark.parametrize(
    ("make", "way"),
    [(make, way) for make, way in WAYS.values() if "epsilon" in way],
    ids=[name for name, (_, way) in WAYS.items() if "epsilon" in way],
)


def taking(argument: str) -> pytest.MarkDecorator:
    """Mark a test for every algorithm that takes this argument."""
    makes = {name: make for name, make in ALGORITHMS.items() if takes(make, argument)}
    return pytest.mark.parametrize("make", makes.values(), ids=makes.keys())


def test_introspection_finds_the_plans() -> None:
    assert set(ALGORITHMS) >= {
        "lumpable.pac.near_uniform",
        "lumpable.pac.any_contexts",
        "lumpable.standard.naive",
        "lumpable.standard.elimination",
        "lumpable.standard.online",
        "lumpable.reductions.cheaper",
        "lumpable.reductions.never_worse",
        "lumpable.reductions.unknown_groups",
        "lumpable.reductions.any_contexts_online",
        "lumpable.reductions.low_rank",
        "lumpable.reductions.low_rank_online",
        "lumpable.regret.equal_groups",
        "lumpable.regret.any_groups",
        "lumpable.regret.fresh_phases",
        "lumpable.regret.fresh_guesses",
        "lumpable.regret.candidates",
        "lumpable.pac.candidates",
    }
    assert "lumpable.regret.any_groups, mended=True" in WAYS
    assert "lumpable.regret.candidates, literal=True" in WAYS
    assert "lumpable.reductions.low_rank_online, horizon=65536, switch=False" in WAYS
    assert "lumpable.reductions.any_contexts_online, horizon=65536" in WAYS


# --- Any answer at all ----------------------------------------------------------------------

EXTREMES = [0.0, 1.0, -1.0, 0.5, 1e-300, -1e-300, 1.7e308, -1.7e308]


def wild_sample(request: Collect, rng: np.random.Generator, kind: str) -> Sample:
    """Make up an answer that no world would give: missing pairs, ties, constants, extremes."""
    shape = request.arms.shape
    plays = rng.integers(1, 5, size=shape)
    if kind == "nothing":
        plays[:] = 0
    if kind in ("missing", "extreme"):
        plays[rng.random(shape) < 0.5] = 0
    if kind == "huge":
        plays[:] = 2**40
    plays[~request.arms] = 0
    values: dict[str, FloatMatrix] = {
        "constant": np.full(shape, 0.5),
        "ties": rng.integers(0, 2, size=shape).astype(float),
        "extreme": rng.choice(EXTREMES, size=shape),
    }
    mean = values.get(kind, rng.normal(size=shape) * 10)
    return Sample(plays, np.where(plays > 0, mean, np.nan))


def wild_reply(request: Request, rng: np.random.Generator, kind: str) -> Reply:
    """Make up an answer to any request; plans side by side end with any arms at all."""
    if isinstance(request, Collect):
        return wild_sample(request, rng, kind)
    return tuple(
        Result(rng.integers(0, plan.shape[1], size=plan.shape[0])) for plan in request.plans
    )


KINDS = ("nothing", "missing", "constant", "ties", "extreme", "huge", "noise")
WILD = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)
problems = st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 6)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0]))
)


def most_requests(make: MakePlan, problem: lb.Problem, epsilon: float) -> int:
    """The printed bound on requests: N levels in L buckets, S screenings a level, K candidates.

    Candidates at these sizes have nothing to screen: one test, a stage for each of its levels.
    """
    if make is lb.pac.candidates:
        return depth(problem, epsilon, 0.1)[0] + 1
    levels = lb.lengths.near_uniform_lengths(problem, epsilon, 0.1).levels
    buckets = lb.lengths.last_bucket(problem, epsilon)
    inside = levels + levels * problem.contexts + problem.arms
    return 1 + buckets * inside + lb.bounds.elimination_phases(problem, epsilon, 0.1)


@PLANS_THAT_END
@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.nightly)])
def test_ends_under_every_answer(make: MakePlan, way: dict[str, Any], examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        problem=problems,
        epsilon=st.sampled_from([0.5, 0.3, 0.125, 0.02, 2.0**-10]),
        kinds=WILD,
        seed=st.integers(0, 2**32),
    )
    def ends(problem: lb.Problem, epsilon: float, kinds: list[str], seed: int) -> None:
        rng = np.random.default_rng(seed)
        progress = Progress(make(problem, **{**way, "epsilon": epsilon}))
        while progress.request is not None:
            assert progress.answered <= most_requests(make, problem, epsilon)
            kind = kinds[progress.answered % len(kinds)]
            progress.answer(wild_reply(progress.request, rng, kind))
        assert progress.result is not None
        check_policy(progress.result, problem)

    ends()


def check_policy(result: Result, problem: lb.Problem) -> None:
    assert result.policy.shape == (problem.contexts,)
    assert 0 <= result.policy.min() <= result.policy.max() < problem.arms


LATER_STAGE = re.compile(r"stage [1-9]")
ENDLESS = {name: (make, way) for name, (make, way) in WAYS.items() if "epsilon" not in way}


@pytest.mark.parametrize(("make", "way"), ENDLESS.values(), ids=ENDLESS.keys())
@pytest.mark.parametrize("examples", [8, pytest.param(25, marks=pytest.mark.nightly)])
def test_every_phase_ends_under_every_answer(
    make: MakePlan, way: dict[str, Any], examples: int
) -> None:
    """Phase h explores h times at most; each call of Algorithm 5 divides a cluster or is the last.

    The last of its arm and its cluster: so there are at most S - 1 + S K calls in a phase.
    """

    @settings(max_examples=examples, deadline=None)
    @given(problem=problems, kinds=WILD, seed=st.integers(0, 2**32))
    def every_phase_ends(problem: lb.Problem, kinds: list[str], seed: int) -> None:
        rng = np.random.default_rng(seed)
        progress = Progress(make(problem, **way))
        beliefs = []
        while progress.request is not None and progress.answered < 60:
            beliefs.append(progress.request.belief)
            check_policy(progress.so_far, problem)
            progress.answer(wild_reply(progress.request, rng, kinds[len(beliefs) % len(kinds)]))
        known = [belief for belief in beliefs if belief is not None]
        assert len(known) == len(beliefs)
        check_phases(known, problem)

    every_phase_ends()


def check_phases(beliefs: list[lb.Belief], problem: lb.Problem) -> None:
    thoughts = [belief for belief in beliefs if belief.cluster is not None]
    for (h, _), phase in itertools.groupby(thoughts, key=lambda b: (b.number, b.notes)):
        # a call of fresh phases has stages, of which the first one counts
        words = [thought.phase for thought in phase if not LATER_STAGE.search(thought.phase)]
        assert sum("splitting" in word for word in words) <= (
            problem.contexts - 1 + problem.contexts * problem.arms
        )
        assert sum("exploring" in word for word in words) <= h


# --- Purity ---------------------------------------------------------------------------------

FIVE = lb.Problem(5, 4, 2)


def conversation(
    make: MakePlan, way: dict[str, Any], seed: int, most: int = 40
) -> tuple[list[Request], list[Reply], Progress]:
    """Run a plan on made-up answers and keep everything that was said."""
    rng = np.random.default_rng(seed)
    progress = Progress(make(FIVE, **way))
    requests: list[Request] = []
    replies: list[Reply] = []
    while progress.request is not None and len(requests) < most:
        requests.append(progress.request)
        replies.append(wild_reply(progress.request, rng, KINDS[len(replies) % 7]))
        progress.answer(replies[-1])
    return requests, replies, progress


def said(request: Request | None) -> tuple[Any, ...]:
    """Everything that a request says, as plain values."""
    if request is None:
        return ()
    belief = request.belief
    thought = None if belief is None else [plain(value) for value in dataclasses.astuple(belief)]
    if isinstance(request, Split):
        return request.rounds, plain(request.bucket), [repr(p) for p in request.plans], thought
    return request.rounds, request.repeats, plain(request.arms), thought


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def told(reply: Reply) -> str:
    """Everything that an answer says; repr, since NaN is not equal to itself."""
    if isinstance(reply, Sample):
        return repr((reply.plays.tolist(), reply.mean.tolist()))
    return repr([result.policy.tolist() for result in reply])


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away clock, randomness, files, output and logging."""

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a plan touched the outside world")

    for owner, name in (
        (time, "time"),
        (time, "monotonic"),
        (time, "perf_counter"),
        (np.random, "default_rng"),
        (np.random, "random"),
        (np.random, "rand"),
        (np.random, "normal"),
        (builtins, "open"),
        (builtins, "print"),
        (builtins, "input"),
        (logging.Logger, "_log"),
    ):
        monkeypatch.setattr(owner, name, forbidden)


@EVERY_PLAN
def test_plans_are_pure(
    make: MakePlan, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers give the same requests, with the outside world taken away."""
    requests, replies, first = conversation(make, way, 7)
    asked = [said(request) for request in (*requests, first.request)]
    kept = copy.deepcopy([told(reply) for reply in replies])
    module = importlib.import_module(inspect.unwrap(make).__module__)
    globals_before = {name: id(value) for name, value in vars(module).items()}
    with monkeypatch.context() as patch:
        forbid(patch)
        for number in range(len(replies) + 1):
            again = lb.replay(make(FIVE, **way), replies[:number])
            assert said(again.request) == asked[number]
    assert again.so_far.policy.tolist() == first.so_far.policy.tolist()
    assert again.so_far.candidates == first.so_far.candidates
    assert again.rounds == first.rounds == sum(request.rounds for request in requests)
    assert {name: id(value) for name, value in vars(module).items()} == globals_before
    assert [told(reply) for reply in replies] == kept


@EVERY_PLAN
def test_a_request_keeps_its_word(make: MakePlan, way: dict[str, Any]) -> None:
    """What a plan has asked for does not change while it goes on thinking."""
    rng = np.random.default_rng(3)
    progress = Progress(make(FIVE, **way))
    asked = []
    while progress.request is not None and progress.answered < 60:
        asked.append((progress.request, said(progress.request)))
        progress.answer(wild_reply(progress.request, rng, "noise"))
    assert all(said(request) == before for request, before in asked)


def test_purity_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    @lb.algorithm
    def impure(problem: lb.Problem) -> Any:
        yield Collect(int(time.time()), 1, np.ones((1, 1), dtype=bool))

    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="outside world"):
        impure(lb.Problem(1, 1, 1))


# --- Bad input ------------------------------------------------------------------------------


@taking("epsilon")
@pytest.mark.parametrize("epsilon", [0, -0.1, 0.50001, 2, math.nan, math.inf, "0.1", None, True])
def test_bad_epsilon(make: MakePlan, epsilon: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon: expected a number in \(0, 1/2\], got"):
        make(FIVE, epsilon=epsilon, delta=0.1)


@taking("delta")
@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, "x", None])
def test_bad_delta(make: MakePlan, delta: Any) -> None:
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got"):
        make(FIVE, epsilon=0.1, delta=delta)


@taking("epsilon")
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-160, 0.1), (0.1, 1e-310)])
def test_numbers_that_floats_cannot_carry(make: MakePlan, epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match="expected at least 1e-100, got"):
        make(FIVE, epsilon=epsilon, delta=delta)
    make(FIVE, epsilon=1e-99, delta=1e-99)


@taking("horizon")
@pytest.mark.parametrize("horizon", [0, -1, 10.5, True, "10", math.nan, 2**63])
def test_bad_horizon(make: MakePlan, horizon: Any) -> None:
    with pytest.raises(ValueError, match=r"horizon: expected one of \d+ .. \d+, got"):
        make(FIVE, horizon=horizon)


def test_low_rank_needs_a_horizon_above_s_plus_k() -> None:
    with pytest.raises(ValueError, match=r"horizon: expected one of 10 .. \d+, got 9"):
        lb.reductions.low_rank_online(FIVE, horizon=9)
    lb.reductions.low_rank_online(FIVE, horizon=10)


@taking("bound")
@pytest.mark.parametrize("bound", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_bad_bound(make: MakePlan, bound: Any) -> None:
    with pytest.raises(ValueError, match="bound: expected a positive number, got"):
        make(FIVE, **next(ways(make)), bound=bound)


@pytest.mark.parametrize(
    ("size", "named"),
    [
        ((4, 3, 5), "groups: expected one of 1 .. 4, got 5"),
        ((0, 3, 1), "contexts: expected a whole number of at least 1, got 0"),
        ((4, 0, 1), "arms: expected a whole number of at least 1, got 0"),
        ((4, 3, 0), "groups: expected one of 1 .. 4, got 0"),
        ((4.0, 3, 1), "contexts: expected a whole number of at least 1, got 4.0"),
        ((True, 3, 1), "contexts: expected a whole number of at least 1, got True"),
        (("4", 3, 1), "contexts: expected a whole number of at least 1, got '4'"),
    ],
)
def test_bad_problem(size: tuple[Any, Any, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named.replace("(", r"\(")):
        lb.Problem(*size)


def test_bad_constants() -> None:
    with pytest.raises(ValueError, match="policy: expected a positive number, got 0"):
        dataclasses.replace(lb.PAPER, policy=0)


ONES: BoolMatrix = np.ones((2, 2), dtype=bool)
HALF: Any = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Collect(0, 1, ONES), "rounds: expected"),
        (lambda: Collect(1, 0, ONES), "repeats: expected"),
        (lambda: Collect(1, 1, ONES.astype(int)), "arms: expected a bool"),
        (lambda: Collect(1, 1, np.ones((0, 3), dtype=bool)), "arms: expected a bool"),
        (lambda: Sample(np.ones((2, 2), dtype=int), np.ones((2, 3))), "plays and mean: expected"),
        (lambda: Sample(HALF, HALF), "plays: expected whole"),
        (lambda: Sample(-np.ones((1, 1), dtype=int), np.ones((1, 1))), "plays: expected no neg"),
        (
            lambda: Sample(np.ones((1, 1), dtype=int), np.full((1, 1), np.nan)),
            "mean: expected numbers",
        ),
        (lambda: Sample(np.zeros((1, 1), dtype=int), np.ones((1, 1))), "mean: expected"),
        (
            lambda: Sample(np.ones((1, 1), dtype=int), np.full((1, 1), np.inf)),
            "mean: expected numbers",
        ),
    ],
)
def test_bad_request_or_sample(build: Callable[[], object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        build()


SPLIT = Split(9, np.array([0, 1, -1]), tuple(lb.standard.online(lb.Problem(1, 2, 1)) for _ in "ab"))


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: dataclasses.replace(SPLIT, rounds=0), "rounds: expected"),
        (lambda: dataclasses.replace(SPLIT, plans=()), "bucket and plans: expected"),
        (lambda: Split(9, HALF[0], SPLIT.plans), "bucket and plans: expected"),
        (lambda: dataclasses.replace(SPLIT, bucket=np.array([0, 1, 2])), r"-1 .. 1, got 2"),
        (lambda: dataclasses.replace(SPLIT, bucket=np.array([0, 1, -2])), r"-1 .. 1, got -2"),
        (lambda: dataclasses.replace(SPLIT, bucket=np.array([0, 1, 1])), "bucket 1 has 2 contexts"),
        (lambda: dataclasses.replace(SPLIT, bucket=np.array([0, -1, -1])), "bucket 1 has 0 cont"),
    ],
)
def test_bad_split(build: Callable[[], object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        build()


def misfits(request: Request) -> Iterator[tuple[Any, str]]:
    """Yield answers that do not fit, and what is said of them."""
    S, K = request.shape
    result = Result(np.zeros(S, dtype=np.int64))
    ones = Sample(np.ones((S, K), dtype=int), np.ones((S, K)))
    if isinstance(request, Split):
        number = len(request.plans)
        yield ones, f"splits into {number} plans, got a sample"
        yield (), f"splits into {number} plans, got 0 results"
        yield (result,) * (number + 1), f"got {number + 1} results"
        right = [Result(np.zeros(plan.shape[0], dtype=np.int64)) for plan in request.plans]
        contexts = request.plans[-1].shape[0]
        wrong = (np.zeros(contexts + 1), np.full(contexts, K), np.full(contexts, -1))
        for policy in wrong:
            last = Result(policy.astype(np.int64))
            yield (*right[:-1], last), f"expects an arm below {K} for {contexts} contexts"
        return
    yield (result,), "asks for a sample, got results"
    yield Sample(np.ones((S + 1, K), dtype=int), np.ones((S + 1, K))), "asks for shape"
    if not request.arms.all():
        yield ones, "does not ask for the pair"


@EVERY_PLAN
def test_an_answer_that_does_not_fit_changes_nothing(make: MakePlan, way: dict[str, Any]) -> None:
    rng = np.random.default_rng(11)
    progress = Progress(make(FIVE, **way))
    tried = 0
    while (request := progress.request) is not None and progress.answered < 12:
        before = (
            said(request),
            progress.answered,
            progress.rounds,
            progress.so_far.policy.tolist(),
        )
        for reply, named in misfits(request):
            with pytest.raises(ValueError, match=f"sample: request {progress.answered} .*{named}"):
                progress.answer(reply)
            assert progress.request is request
            after = (said(request), progress.answered, progress.rounds)
            assert (*after, progress.so_far.policy.tolist()) == before
            tried += 1
        progress.answer(wild_reply(request, rng, "noise"))
    assert tried >= 2


def test_an_ended_plan_takes_no_sample() -> None:
    _, replies, _ = conversation(lb.standard.naive, {"epsilon": 0.25, "delta": 0.1}, 1)
    plan = lb.standard.naive(FIVE, epsilon=0.25, delta=0.1)
    with pytest.raises(ValueError, match="the plan ended after 4 requests"):
        lb.replay(plan, [*replies, replies[0]])


# --- Small things ---------------------------------------------------------------------------


def test_pooled_means_are_plain_averages() -> None:
    """Samples put together one by one give the mean of all their rewards."""
    rng = np.random.default_rng(5)
    plays, mean = np.zeros((3, 2), dtype=np.int64), np.zeros((3, 2))
    request = Collect(9, 1, np.ones((3, 2), dtype=bool))
    samples = [wild_sample(request, rng, kind) for kind in ("noise", "missing", "noise")]
    for sample in samples:
        lb.standard.pool(plays, mean, sample)
    total = sum(np.nan_to_num(sample.plays * sample.mean) for sample in samples)
    assert np.array_equal(plays, sum(sample.plays for sample in samples))
    assert np.allclose(mean * plays, total)


def test_requests_and_samples_cannot_be_written_to() -> None:
    arms = np.ones((2, 2), dtype=bool)
    request = Collect(1, 1, arms)
    sample = wild_sample(request, np.random.default_rng(1), "noise")
    for array in (request.arms, sample.plays, sample.mean):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    arms[0, 0] = False  # the caller's own array stays the caller's


def test_a_plan_is_for_one_run() -> None:
    world = lb.worlds.lumpable(5, 4, 2, seed=1)
    for plan in (lb.regret.equal_groups(FIVE), lb.standard.naive(FIVE, epsilon=0.5, delta=0.1)):
        lb.simulate(plan, world, seed=1, horizon=100)
        for again in (lambda p: lb.simulate(p, world, seed=1), lambda p: lb.Session(p, seed=1)):
            with pytest.raises(
                ValueError, match="plan: expected a fresh one, got one that was run"
            ):
                again(plan)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"problem": (6, 3, 1)}, "problem: expected a lumpable.Problem, got"),
        ({"constants": "x"}, "constants: expected a lumpable.Constants, got 'x'"),
        ({"mended": "no"}, "mended: expected True or False, got 'no'"),
        ({"mended": 1}, "mended: expected True or False, got 1"),
        ({"arm": 4}, r"arm: expected one of 0 .. 3, got 4"),
    ],
)
def test_arguments_of_another_kind_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        lb.regret.any_groups(**{"problem": FIVE, **arguments})
