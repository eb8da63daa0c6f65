"""Every plan, found by introspection: pure, ends under every answer, names bad input.

And Algorithms 1 and 3 under scripted answers, request by request.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import importlib
import inspect
import logging
import math
import pkgutil
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.checks import BoolMatrix, FloatMatrix
from lumpable.plan import Collect, Plan, Progress, Sample

MakePlan = Callable[..., Plan]


def algorithms() -> Iterator[tuple[str, MakePlan]]:
    """Find every function of the package that makes a plan."""
    for module in pkgutil.iter_modules(lb.__path__, "lumpable."):
        if module.name.endswith("__main__"):
            continue
        for _, value in inspect.getmembers(importlib.import_module(module.name)):
            name = getattr(value, "algorithm", None)
            if isinstance(name, str) and name.startswith(module.name + "."):
                yield name, value


ALGORITHMS = dict(algorithms())
EVERY_PLAN = pytest.mark.parametrize("make", ALGORITHMS.values(), ids=ALGORITHMS.keys())


def test_introspection_finds_the_plans() -> None:
    assert set(ALGORITHMS) >= {
        "lumpable.pac.near_uniform",
        "lumpable.pac.any_contexts",
        "lumpable.standard.naive",
        "lumpable.standard.elimination",
        "lumpable.reductions.cheaper",
    }


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


KINDS = ("nothing", "missing", "constant", "ties", "extreme", "huge", "noise")
problems = st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 6)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0]))
)


def most_requests(problem: lb.Problem, epsilon: float) -> int:
    """The printed bound on requests: N levels in L buckets, S screenings a level, K candidates."""
    levels = lb.bounds.lengths(problem, epsilon, 0.1).levels
    buckets = lb.bounds.last_bucket(problem, epsilon)
    inside = levels + levels * problem.contexts + problem.arms
    return 1 + buckets * inside + lb.bounds.elimination_phases(problem, epsilon, 0.1)


@EVERY_PLAN
@settings(max_examples=60, deadline=None)
@given(
    problem=problems,
    epsilon=st.sampled_from([0.5, 0.3, 0.125, 0.02, 2.0**-10]),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_ends_under_every_answer(
    make: MakePlan, problem: lb.Problem, epsilon: float, kinds: list[str], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    progress = Progress(make(problem, epsilon=epsilon, delta=0.1))
    while progress.request is not None:
        assert progress.answered <= most_requests(problem, epsilon)
        kind = kinds[progress.answered % len(kinds)]
        progress.answer(wild_sample(progress.request, rng, kind))
    assert progress.result is not None
    policy = progress.result.policy
    assert policy.shape == (problem.contexts,)
    assert 0 <= policy.min() <= policy.max() < problem.arms


# --- Purity ---------------------------------------------------------------------------------


def conversation(make: MakePlan, samples_seed: int) -> tuple[list[Collect], list[Sample], Any]:
    """Run a plan on made-up answers and keep everything that was said."""
    rng = np.random.default_rng(samples_seed)
    progress = Progress(make(lb.Problem(5, 4, 2), epsilon=0.25, delta=0.1))
    requests: list[Collect] = []
    samples: list[Sample] = []
    while progress.request is not None:
        requests.append(progress.request)
        samples.append(wild_sample(progress.request, rng, KINDS[len(samples) % 7]))
        progress.answer(samples[-1])
    return requests, samples, progress.result


def said(request: Collect) -> tuple[Any, ...]:
    belief = request.belief
    thought = None if belief is None else (belief.phase, belief.policy.tolist(), belief.candidates)
    return request.rounds, request.repeats, request.arms.tolist(), thought


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
def test_plans_are_pure(make: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers give the same requests, with the outside world taken away."""
    requests, samples, result = conversation(make, 7)
    kept = copy.deepcopy([(sample.plays.tolist(), sample.mean.tolist()) for sample in samples])
    module = importlib.import_module(inspect.unwrap(make).__module__)
    globals_before = {name: id(value) for name, value in vars(module).items()}
    with monkeypatch.context() as patch:
        forbid(patch)
        progress = lb.replay(make(lb.Problem(5, 4, 2), epsilon=0.25, delta=0.1), samples[:-1])
        again = progress.request
        assert again is not None
        progress.answer(samples[-1])
    assert said(again) == said(requests[-1])
    assert progress.result is not None
    assert progress.result.policy.tolist() == result.policy.tolist()
    assert progress.result.candidates == result.candidates
    assert {name: id(value) for name, value in vars(module).items()} == globals_before
    now = [(sample.plays.tolist(), sample.mean.tolist()) for sample in samples]
    assert repr(now) == repr(kept)


@EVERY_PLAN
def test_a_request_keeps_its_word(make: MakePlan) -> None:
    """What a plan has asked for does not change while it goes on thinking."""
    rng = np.random.default_rng(3)
    progress = Progress(make(lb.Problem(5, 4, 2), epsilon=0.25, delta=0.1))
    asked = []
    while progress.request is not None:
        asked.append((progress.request, said(progress.request)))
        progress.answer(wild_sample(progress.request, rng, "noise"))
    assert all(said(request) == before for request, before in asked)


def test_purity_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    @lb.algorithm
    def impure(problem: lb.Problem) -> Any:
        yield Collect(int(time.time()), 1, np.ones((1, 1), dtype=bool))

    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="outside world"):
        impure(lb.Problem(1, 1, 1))


# --- Bad input ------------------------------------------------------------------------------


@EVERY_PLAN
@pytest.mark.parametrize("epsilon", [0, -0.1, 0.50001, 2, math.nan, math.inf, "0.1", None, True])
def test_bad_epsilon(make: MakePlan, epsilon: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon: expected a number in \(0, 1/2\], got"):
        make(lb.Problem(5, 4, 2), epsilon=epsilon, delta=0.1)


@EVERY_PLAN
@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, "x", None])
def test_bad_delta(make: MakePlan, delta: Any) -> None:
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got"):
        make(lb.Problem(5, 4, 2), epsilon=0.1, delta=delta)


@EVERY_PLAN
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-160, 0.1), (0.1, 1e-310)])
def test_numbers_that_floats_cannot_carry(make: MakePlan, epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match="expected at least 1e-100, got"):
        make(lb.Problem(5, 4, 2), epsilon=epsilon, delta=delta)
    make(lb.Problem(5, 4, 2), epsilon=1e-99, delta=1e-99)


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


def test_a_sample_that_does_not_fit_changes_nothing() -> None:
    progress = Progress(lb.standard.naive(lb.Problem(3, 2, 1), epsilon=0.5, delta=0.1))
    request = progress.request
    assert request is not None
    for shape, named in (((2, 2), "asks for shape"), ((3, 2), "does not ask for the pair")):
        with pytest.raises(ValueError, match=named):
            progress.answer(Sample(np.ones(shape, dtype=int), np.ones(shape)))
        assert progress.request is request
        assert (progress.answered, progress.rounds) == (0, 0)


def test_an_ended_plan_takes_no_sample() -> None:
    _, samples, _ = conversation(lb.standard.naive, 1)
    plan = lb.standard.naive(lb.Problem(5, 4, 2), epsilon=0.25, delta=0.1)
    with pytest.raises(ValueError, match="the plan ended after 4 requests"):
        lb.replay(plan, [*samples, samples[0]])


# --- Scripted: Algorithm 1 ------------------------------------------------------------------


def answer(request: Collect, mean: dict[tuple[int, int], float], plays: int = 1) -> Sample:
    """Write a sample by hand: the pairs named were seen, all others were not."""
    seen = np.zeros(request.arms.shape, dtype=np.int64)
    value = np.full(request.arms.shape, np.nan)
    for pair, number in mean.items():
        seen[pair], value[pair] = plays, number
    return Sample(seen, value)


def column(arm: int, values: list[float]) -> dict[tuple[int, int], float]:
    """Means of one arm by context; NaN: not seen."""
    return {(i, arm): value for i, value in enumerate(values) if not math.isnan(value)}


def test_algorithm_1_line_by_line() -> None:
    """Three contexts, three arms, epsilon = 1/2: two levels; every request as printed."""
    S, K, r, epsilon, delta = 3, 3, 2, 0.5, 0.1
    lg = 16 * math.log(r * S * K / delta)
    plan = lb.pac.near_uniform(lb.Problem(S, K, r), epsilon=epsilon, delta=delta)

    request = next(plan)  # lines 2 to 4: L rounds at each of N = 2 levels
    for n in (1, 2):
        assert request.rounds == math.ceil(r * (S + K) * lg / epsilon**2)
        assert request.repeats == 2**n
        assert request.arms.all()
        if n == 1:
            request = plan.send(answer(request, {(0, 2): 9.0, (1, 1): 9.0, (2, 0): 100.0}))
        else:
            request = plan.send(answer(request, {(1, 0): 1.0}))

    # lines 7 to 10: the largest mean of level 1 is (2, 0)
    assert request.rounds == math.ceil(8 * lg * 2 * S)
    assert request.repeats == 2
    assert request.arms.tolist() == [[True, False, False]] * 3
    # line 11: context 0 is near (leaves), 1 has no estimate (stays), 2 is i* (leaves, though far)
    assert math.sqrt(lg / 2) < 100
    request = plan.send(answer(request, column(0, [100.0, math.nan, -100.0])))
    assert request.arms.tolist() == [[False, True, False]] * 3  # context 1 is left, with arm 1
    assert request.belief is not None
    assert request.belief.candidates == (0, 1)
    request = plan.send(answer(request, column(1, [9.0, 9.0, 9.0])))

    assert request.repeats == 4  # level 2 has one pair: (1, 0)
    assert request.rounds == math.ceil(8 * lg * 4 * S)
    request = plan.send(answer(request, {}))  # nobody has an estimate: i* leaves all the same

    # line 12: candidates 0 and 1 in increasing order
    for arm, values in ((0, [0.3, 0.7, math.nan]), (1, [0.3, 0.8, math.nan])):
        assert request.rounds == math.ceil(4 * S / epsilon**2 * math.log(S * K / delta))
        assert request.repeats == 1
        assert request.arms.tolist() == [[j == arm for j in range(K)]] * 3
        sample = answer(request, column(arm, values))
        if arm == 0:
            request = plan.send(sample)
    with pytest.raises(StopIteration) as end:
        plan.send(sample)
    # a tie goes to the first arm; context 2 takes the arm with the best average, 1
    assert end.value.value.policy.tolist() == [0, 1, 1]
    assert end.value.value.candidates == (0, 1)
    assert end.value.value.screenings == (2, 1)
    assert end.value.value.notes == ()


def test_the_threshold_is_strict() -> None:
    """A context exactly sqrt(lg/2^n) away stays: line 11 keeps >=."""
    problem = lb.Problem(2, 2, 2)
    size = lb.bounds.lengths(problem, 0.5, 0.1)
    for distance, arms_asked in ((size.threshold(1), 2), (size.threshold(1) * 0.999, 1)):
        progress = Progress(lb.pac.near_uniform(problem, epsilon=0.5, delta=0.1))
        script = [{(0, 0): 0.0, (1, 1): -1.0}, {}, column(0, [0.0, -distance])]
        for mean in script:
            assert progress.request is not None
            progress.answer(answer(progress.request, mean))
        screenings = progress.request is not None and progress.request.repeats == 2
        assert screenings == (arms_asked == 2)


def test_more_than_r_screenings_are_noted() -> None:
    """Four contexts that never agree: r = 1 is wrong, and the result says so."""
    progress = Progress(lb.pac.near_uniform(lb.Problem(4, 4, 1), epsilon=0.5, delta=0.1))
    while (request := progress.request) is not None:
        if request.arms.all():
            progress.answer(answer(request, {(i, i): 1e3 * i for i in range(4)}))
        else:
            arm = int(np.argmax(request.arms[0]))
            progress.answer(answer(request, column(arm, [-1e6] * 4)))
    assert progress.result is not None
    assert progress.result.screenings == (4, 4)
    assert "level 1 took 4 screenings, more than r = 1" in progress.result.notes


def test_nothing_seen_gives_arm_0() -> None:
    progress = Progress(lb.pac.near_uniform(lb.Problem(3, 3, 1), epsilon=0.5, delta=0.1))
    while progress.request is not None:
        progress.answer(answer(progress.request, {}))
    assert progress.result is not None
    assert progress.result.policy.tolist() == [0, 0, 0]
    assert progress.result.candidates == ()


def test_more_groups_than_arms_is_noted() -> None:
    world = lb.worlds.lumpable(4, 2, 3, seed=1)
    run = lb.exact(lb.pac.near_uniform(lb.Problem(4, 2, 3), epsilon=0.5, delta=0.1), world)
    assert any("the theorem does not speak of it" in note for note in run.notes)


# --- Scripted: Algorithm 3 ------------------------------------------------------------------


def arrivals(request: Collect, plays: list[int], mean: list[list[float]]) -> Sample:
    """Answer the first request: `plays[i]` plays of each arm of context i."""
    counts = np.repeat(np.array(plays)[:, np.newaxis], request.arms.shape[1], axis=1)
    return Sample(counts, np.where(counts > 0, np.array(mean), np.nan))


def test_algorithm_3_line_by_line() -> None:
    """One context with half of all arrivals, two with a quarter, one never seen."""
    S, K, r, epsilon, delta = 4, 2, 2, 0.125, 0.1
    problem = lb.Problem(S, K, r)
    progress = Progress(lb.pac.any_contexts(problem, epsilon=epsilon, delta=delta))
    first = progress.request
    assert first is not None
    assert first.rounds == math.ceil(4 * S / epsilon * math.log(S / delta))  # J
    assert first.repeats == 1
    assert first.arms.all()
    progress.answer(arrivals(first, [2, 1, 1, 0], [[0.1, 0.9]] * 4))

    # (1/4, 1/2] is bucket 1: context 0 alone, epsilon_1 = 2/8 / sqrt(1/2), three levels exactly
    inside = lb.Problem(1, K, 1)
    size = lb.bounds.lengths(inside, 2 * epsilon / math.sqrt(0.5), delta)
    assert size.levels == 3
    request = progress.request
    assert request is not None
    assert request.arms.tolist() == [[True, True]] + [[False, False]] * 3
    assert request.rounds == math.ceil(4 * size.explore / 0.5)
    assert request.belief is not None
    assert request.belief.policy.tolist()[1:] == [1, 1, 1]  # the best pooled arm, for now

    asked = set()
    while (request := progress.request) is not None:
        rows = tuple(np.flatnonzero(request.arms.any(axis=1)).tolist())
        asked.add(rows)
        mean = np.where(request.arms, [[0.8, 0.2]] * 4, np.nan)
        progress.answer(Sample(request.arms.astype(int), mean))
    assert asked == {(0,), (1, 2)}  # (1/8, 1/4] is bucket 2; context 3 is given up
    result = progress.result
    assert result is not None
    assert result.policy.tolist() == [0, 0, 0, 1]
    assert [bucket.level for bucket in result.buckets] == [1, 2]
    assert [bucket.frequency for bucket in result.buckets] == [0.5, 0.5]
    J = first.rounds
    assert J + sum(bucket.rounds for bucket in result.buckets) == progress.rounds


def test_a_context_with_more_than_half_of_the_arrivals_is_learned() -> None:
    """Bucket 0 exists (reading 15): the printed loop would skip it."""
    world = lb.worlds.from_matrix(
        [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], frequency=[0.8, 0.1, 0.1], sd=0.0
    )
    run = lb.exact(lb.pac.any_contexts(lb.Problem(3, 2, 2), epsilon=0.1, delta=0.1), world)
    assert run.result is not None
    assert run.result.buckets[0].level == 0
    assert world.loss(run.policy) == 0.0


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=8).filter(lambda n: sum(n) > 0))
def test_bucket_of_is_the_printed_interval(counts: list[int]) -> None:
    """nu-hat in (2^-l-1, 2^-l], compared in whole numbers."""
    total, last = sum(counts), 12
    levels = lb.pac.bucket_of(np.array(counts) / total, last)
    for count, level in zip(counts, levels.tolist(), strict=True):
        if level < last:
            assert total < count * 2 ** (level + 1)
            assert count * 2**level <= total
        else:
            assert count * 2**last <= total


def test_a_bucket_that_would_take_too_long_is_given_up() -> None:
    """With a tiny N every bucket is given up; the policy is the pooled arm, and a note says so."""
    constants = dataclasses.replace(lb.PAPER, whole=1e-6)
    plan = lb.pac.any_contexts(lb.Problem(3, 2, 1), epsilon=0.5, delta=0.1, constants=constants)
    progress = Progress(plan)
    assert progress.request is not None
    progress.answer(arrivals(progress.request, [1, 1, 1], [[0.2, 0.4]] * 3))
    assert progress.result is not None
    assert progress.result.policy.tolist() == [1, 1, 1]
    assert all(bucket.result is None for bucket in progress.result.buckets)
    assert "was given up" in progress.result.notes[0]


# --- The other methods ----------------------------------------------------------------------


def test_naive_asks_for_every_arm_in_turn() -> None:
    problem = lb.Problem(3, 4, 1)
    progress = Progress(lb.standard.naive(problem, epsilon=0.2, delta=0.1))
    for arm in range(4):
        request = progress.request
        assert request is not None
        assert request.arms.tolist() == [[j == arm for j in range(4)]] * 3
        progress.answer(answer(request, column(arm, [float(arm == 2), float(-arm), math.nan])))
    assert progress.result is not None
    assert progress.result.policy.tolist() == [2, 0, 0]
    assert progress.rounds == lb.bounds.naive_rounds(problem, 0.2, 0.1)


def test_elimination_drops_what_cannot_be_best() -> None:
    world = lb.worlds.from_matrix([[0.9, 0.1, 0.88], [0.1, 0.9, 0.2]], sd=0.0)
    dropped: list[BoolMatrix] = []
    run = lb.exact(
        lb.standard.elimination(lb.Problem(2, 3, 2), epsilon=0.01, delta=0.1),
        world,
        watch=lambda step: dropped.append(~step.request.arms),
    )
    assert world.loss(run.policy) == 0.0
    assert all((late | early == late).all() for early, late in pairwise(dropped))


def test_elimination_says_when_it_could_not_certify() -> None:
    progress = Progress(lb.standard.elimination(lb.Problem(2, 2, 1), epsilon=0.5, delta=0.1))
    while progress.request is not None:
        progress.answer(answer(progress.request, {}))
    assert progress.result is not None
    assert progress.result.notes == ("not certified: loss <= 1, asked for 0.5",)


@pytest.mark.parametrize(("size", "method"), [(100, "trying"), (1500, "estimating")])
def test_cheaper_takes_the_cheaper_one(size: int, method: str) -> None:
    plan = lb.reductions.cheaper(lb.Problem(size, size, 3), epsilon=0.2, delta=0.05)
    belief = next(plan).belief
    assert belief is not None
    assert belief.phase.startswith(method)


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
    sample = answer(request, {(0, 0): 1.0})
    for array in (request.arms, sample.plays, sample.mean):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    arms[0, 0] = False  # the caller's own array stays the caller's
