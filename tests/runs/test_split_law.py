"""Plans side by side: the bulk simulator against the literal loop, in which contexts interleave.

Rounds of each bucket, policies, ends and regret are compared in law (p < 1e-9, fixed seeds), and
the rounds with their closed form. Then what must be exactly so, in the exact world too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumpable as lb
from lumpable.base.arrays import FloatVector, IntMatrix, IntVector
from twins import literal_split
from twins.divided import divider, learner
from twins.laws import has_mean, same_distribution, same_law
from twins.literal_split import Loop

RUNS, NIGHT_RUNS = 100, 200
LONG = "any_contexts_online, doubling"
"""Takes as long as all the others, so that it is played at night."""

# --- Plans that split -------------------------------------------------------------------------

EARLY = dataclasses.replace(lb.PAPER, levels=0.1, split=0.5, finer=1.0, online=0.4)


@dataclass(frozen=True)
class Case:
    make: Callable[[], lb.Plan]
    frequency: list[float]
    horizon: int | None = None
    noise: str = "gaussian"

    @property
    def world(self) -> lb.World:
        mean = np.random.default_rng(len(self.frequency)).uniform(size=(len(self.frequency), 3))
        groups = np.arange(len(mean))
        return lb.World(mean, np.array(self.frequency), groups, self.noise, 0.4)


def divided(*bucket: int, inside: Sequence[int], rounds: int = 60) -> Callable[[], lb.Plan]:
    return lambda: divider(bucket, 3, 10, rounds, inside)


CASES = {
    "two buckets": Case(divided(0, 1, 0, 1, inside=[10, 12]), [0.4, 0.3, 0.2, 0.1]),
    "contexts given up": Case(
        divided(-1, 1, 0, -1, inside=[8, 14]), [0.3, 0.3, 0.2, 0.2], noise="bernoulli"
    ),
    "ends early and serves": Case(divided(0, 1, 0, inside=[4, 60]), [0.5, 0.2, 0.3]),
    "contexts that never come": Case(divided(0, 0, 1, 1, inside=[9, 9]), [0.0, 0.5, 0.5, 0.0]),
    "a bucket that never comes": Case(divided(0, 1, 2, inside=[9, 9, 9]), [0.6, 0.0, 0.4]),
    "given up and never comes": Case(divided(0, -1, 0, inside=[9]), [0.6, 0.0, 0.4]),
    "cut": Case(divided(0, 1, 0, -1, inside=[10, 12]), [0.4, 0.3, 0.2, 0.1], horizon=45),
    "nested": Case(divided(0, 0, 1, -1, inside=[0, 9]), [0.4, 0.3, 0.2, 0.1]),
    "nested, cut": Case(divided(0, 0, 1, -1, inside=[0, 9]), [0.5, 0.3, 0.1, 0.1], horizon=35),
    "any_contexts_online": Case(
        lambda: lb.reductions.any_contexts_online(
            lb.Problem(4, 3, 2), horizon=300, constants=EARLY
        ),
        [0.5, 0.42, 0.05, 0.03],
    ),
    LONG: Case(
        lambda: lb.reductions.any_contexts_online(lb.Problem(3, 3, 2), constants=EARLY),
        [0.6, 0.38, 0.02],
        horizon=330,
    ),
}


# --- The same in law --------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """One plan of a run, whoever ran it."""

    rounds: int
    regret: float
    policy: IntVector
    ended: bool
    requests: int
    sides: list[Seen]

    def flat(self) -> list[Seen]:
        return [self, *(inner for side in self.sides for inner in side.flat())]


def in_bulk(run: lb.Run) -> Seen:
    sides = [in_bulk(side.run) for side in run.sides]
    ended = run.result is not None
    return Seen(run.rounds, run.regret, run.policy, ended, len(run.requests), sides)


def literally(loop: Loop) -> Seen:
    finished = [side for heard in loop.heard if isinstance(heard, list) for side in heard]
    begun = loop.played > 0 and loop.request is not None
    sides = [literally(side) for side in [*finished, *(loop.sides if begun else [])]]
    requests = len(loop.heard) + begun
    return Seen(loop.rounds, loop.regret, loop.policy, loop.result is not None, requests, sides)


@dataclass(frozen=True)
class Pair:
    case: Case
    bulk: list[list[Seen]]
    loop: list[list[Seen]]

    @property
    def bucket(self) -> IntVector | None:
        """Where contexts go in a split of 60 rounds that is played to its end."""
        bucket = self.case.make().parameters.get("bucket")
        return None if bucket is None or self.case.horizon else np.array(bucket)


def by_day_and_by_night() -> Iterator[Any]:
    for name in CASES:
        words = name.replace(" ", "-")
        if name != LONG:
            yield pytest.param((name, RUNS), id=words)
        yield pytest.param((name, NIGHT_RUNS), marks=pytest.mark.nightly, id=f"{words}-all-night")


@pytest.fixture(scope="module", params=list(by_day_and_by_night()))
def pair(request: pytest.FixtureRequest) -> Pair:
    name, runs = request.param
    case = CASES[name]
    world, make, T = case.world, case.make, case.horizon
    rng = np.random.default_rng([31, len(name)])
    bulk = [lb.simulate(make(), world, seed=seed, horizon=T) for seed in range(runs)]
    loop = [literal_split.in_world(make(), world, rng, T) for _ in range(runs)]
    return Pair(
        case, [in_bulk(run).flat() for run in bulk], [literally(run).flat() for run in loop]
    )


def test_rounds_ends_and_policies_of_each_plan(pair: Pair) -> None:
    most = max(len(run) for run in [*pair.bulk, *pair.loop])
    for plan in range(most):
        for what, look in LOOKS.items():
            mine, theirs = (column(runs, plan, look) for runs in (pair.bulk, pair.loop))
            same_law(mine, theirs, f"{what} of plan {plan} of {most}")


def column(runs: list[list[Seen]], plan: int, look: Callable[[Seen], list[int]]) -> IntMatrix:
    """Return a row for each run; -1 where it has no such plan or context."""
    rows = [look(run[plan]) if len(run) > plan else [] for run in runs]
    return np.array([[*row, *[-1] * (4 - len(row))] for row in rows])


LOOKS: dict[str, Callable[[Seen], list[int]]] = {
    "rounds and requests": lambda seen: [seen.rounds, seen.requests, seen.ended],
    "policy": lambda seen: [int(arm) for arm in seen.policy],
}


def test_regret_of_each_plan_and_of_all(pair: Pair) -> None:
    for plan in range(min(len(run) for run in [*pair.bulk, *pair.loop])):
        mine, theirs = (regrets(runs, plan) for runs in (pair.bulk, pair.loop))
        same_distribution(mine, theirs, f"regret of plan {plan}")


def regrets(runs: list[list[Seen]], plan: int) -> FloatVector:
    return np.array([run[plan].regret for run in runs])


def test_all_rounds_are_played(pair: Pair) -> None:
    expected = {run[0].rounds for run in pair.loop}
    assert {run[0].rounds for run in pair.bulk} == expected
    assert len(expected) == 1


def test_nothing_is_lost_between_the_plans(pair: Pair) -> None:
    """With everything that was lost outside the sides, their regret is that of the whole."""
    for runs in (pair.bulk, pair.loop):
        for run in runs:
            for seen in run:
                assert sum(side.regret for side in seen.sides) <= seen.regret + 1e-9
                assert sum(side.rounds for side in seen.sides) <= seen.rounds


def test_rounds_of_a_bucket_are_its_share(pair: Pair) -> None:
    """Binomial(60, nu(X_b)), for both."""
    if pair.bucket is None:
        return
    nu = np.array(pair.case.frequency)
    mass = np.array([nu[pair.bucket == b].sum() for b in range(pair.bucket.max() + 1)])
    for who, runs in (("bulk", pair.bulk), ("loop", pair.loop)):
        rounds = np.array([[side.rounds for side in run[0].sides] for run in runs])
        has_mean(rounds, 60 * mass, f"{who}: rounds")
        has_mean((rounds - 60 * mass) ** 2, 60 * mass * (1 - mass), f"{who}: variance")


# --- What must be exactly so --------------------------------------------------------------------


def test_no_two_answers_are_drawn_alike() -> None:
    """Plans side by side that ask the same in the same world get draws of their own."""
    world = lb.worlds.from_matrix(np.full((6, 2), 0.5))
    steps: list[lb.Step] = []
    plan = divider([0, 0, 1, 1, 2, 2], 2, 40, 900, [60, 60, 60])
    run = lb.simulate(plan, world, seed=1, watch=steps.append)
    drawn = np.concatenate([step.sample.mean[step.sample.plays > 0] for step in steps])
    assert len(np.unique(drawn)) == len(drawn) > 20
    assert len({side.run.rounds for side in run.sides}) > 1
    assert {step.bucket for step in steps} == {(), (0,), (1,), (2,)}


def test_a_run_is_the_same_again_and_its_beginning_does_not_know_the_horizon() -> None:
    case = CASES["nested"]
    whole, again = (lb.simulate(case.make(), case.world, seed=9) for _ in range(2))
    cut = lb.simulate(case.make(), case.world, seed=9, horizon=70)
    assert whole.rows() == again.rows()
    assert [s.run.rows() for s in whole.sides] == [s.run.rows() for s in again.sides]
    assert cut.rows() == whole.rows()[:2]


def test_a_plan_that_ends_early_serves_its_policy() -> None:
    """Arm 1 is free and is found at once: everything after that costs nothing."""
    world = lb.worlds.from_matrix([[0.0, 1.0], [0.0, 1.0]], sd=0.0)
    plan = divider([0, 1], 2, 1, 10_000, [8, 8])
    run = lb.simulate(plan, world, seed=2)
    assert [side.run.rounds for side in run.sides] != [16, 16]
    assert sum(side.run.rounds for side in run.sides) == 10_000
    for side in run.sides:
        assert side.run.result is not None
        assert side.run.rows()[-1].rounds == 16
        assert side.run.regret <= 16
        assert side.run.policy.tolist() == [1]


def test_contexts_given_up_play_the_belief() -> None:
    """The others' average says arm 1, which costs context 1 a half each round."""
    world = lb.worlds.from_matrix([[0.0, 1.0], [0.5, 0.0], [0.0, 1.0]], sd=0.0)
    run = lb.exact(divider([0, -1, 0], 2, 3, 3000, [4]), world)
    (side,) = run.sides
    assert side.contexts.tolist() == [0, 2]
    assert side.run.rounds == 2000
    first = 3 * (0.5 + 0.25 + 0.5) / 3
    assert run.regret == pytest.approx(first + side.run.regret + 1000 * 0.5 + 9 * 0.5 / 3)
    assert run.policy.tolist() == [1, 1, 1]


def test_a_bucket_that_never_comes_is_still_answered() -> None:
    case = CASES["a bucket that never comes"]
    for run in (lb.simulate(case.make(), case.world, seed=3), lb.exact(case.make(), case.world)):
        rounds = [side.run.rounds for side in run.sides]
        assert rounds[1] == 0
        assert sum(rounds) == 60
        assert run.sides[1].run.rows() == []
        assert run.sides[1].run.regret == 0
        assert run.sides[1].run.policy.tolist() == [0]


@pytest.mark.parametrize("horizon", [1, 9, 10, 11, 40, 69, 70, 71, 79, 80])
def test_a_horizon_anywhere(horizon: int) -> None:
    case = CASES["nested"]
    for run in (
        lb.simulate(case.make(), case.world, seed=4, horizon=horizon),
        lb.exact(case.make(), case.world, horizon=horizon),
    ):
        assert run.rounds == min(horizon, 79) == run.rows()[-1].rounds
        assert (run.result is None) == (horizon < 79)
        inside = sum(side.run.rounds for side in run.sides)
        assert inside <= min(60, max(0, horizon - 10))
        assert (len(run.sides) > 0) == (horizon > 10)


def test_a_split_that_is_cut_answers_with_its_plans() -> None:
    case = CASES["cut"]
    run = lb.simulate(case.make(), case.world, seed=4, horizon=65)
    uncut = lb.simulate(case.make(), case.world, seed=4, horizon=10)
    for side in run.sides:
        assert run.policy[side.contexts].tolist() == side.run.policy.tolist()
    given_up = [3]
    assert run.policy[given_up].tolist() == uncut.policy[given_up].tolist()


# --- The exact world ----------------------------------------------------------------------------

weights = st.lists(st.sampled_from([0, 1, 2, 7, 1000]), min_size=2, max_size=7).filter(sum)


@given(weight=weights, rounds=st.sampled_from([1, 2, 3, 10, 997, 10**6, 10**12]), data=st.data())
def test_exact_shares_add_up(weight: list[int], rounds: int, data: st.DataObject) -> None:
    """Everybody gets the share of their frequency, within one round, and none is lost."""
    S = len(weight)
    raw = data.draw(
        st.lists(st.integers(-1, 2), min_size=S, max_size=S).filter(lambda b: max(b) >= 0)
    )
    number = {b: k for k, b in enumerate(sorted({b for b in raw if b >= 0}))}
    bucket = [number.get(b, -1) for b in raw]
    nu = np.array(weight) / sum(weight)
    world = lb.World(np.tile([0.25, 0.75], (S, 1)), nu, np.zeros(S, dtype=np.int64), sd=0.0)
    run = lb.exact(divider(bucket, 2, 1, rounds, [3] * len(number)), world)
    shares = [side.run.rounds for side in run.sides]
    for side, share in zip(run.sides, shares, strict=True):
        assert abs(share - rounds * nu[side.contexts].sum()) <= 1 + 1e-9 * rounds
    given_up = rounds * nu[np.array(bucket) < 0].sum()
    assert abs(rounds - sum(shares) - given_up) <= 1 + 1e-9 * rounds
    assert run.rounds == 1 + rounds + 9


@pytest.mark.parametrize("contexts", [10, 11])
def test_exact_shares_of_very_many_rounds(contexts: int) -> None:
    nu = np.random.default_rng(contexts).dirichlet(np.ones(contexts))
    world = lb.World(np.tile([0.25, 0.75], (contexts, 1)), nu, np.zeros(contexts, dtype=np.int64))
    run = lb.exact(divider(range(contexts), 2, 1, 9 * 10**18, [3] * contexts), world)
    assert sum(side.run.rounds for side in run.sides) == 9 * 10**18


# --- Split itself --------------------------------------------------------------------------------


@given(data=st.data())
def test_a_context_is_in_exactly_one_bucket(data: st.DataObject) -> None:
    bucket = data.draw(st.lists(st.integers(-1, 3), min_size=1, max_size=9))
    number = {b: k for k, b in enumerate(sorted({b for b in bucket if b >= 0}))}
    if not number:
        return
    where = np.array([number.get(b, -1) for b in bucket])
    plans = tuple(learner(int(np.sum(where == b)), 2, 3) for b in range(len(number)))
    split = lb.Split(5, where, plans)
    homes = [[b for b in range(len(plans)) if i in split.contexts(b)] for i in range(len(bucket))]
    assert homes == [[b] if b >= 0 else [] for b in where]
    assert split.shape == (len(bucket), 2)
    with pytest.raises(ValueError, match="read-only"):
        split.bucket[0] = 0


def plans(*sizes: int, arms: int = 2) -> tuple[lb.Plan, ...]:
    return tuple(learner(size, arms, 3) for size in sizes)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: lb.Split(0, np.array([0]), plans(1)), r"rounds: expected .* at least 1, got 0"),
        (lambda: lb.Split(-3, np.array([0]), plans(1)), r"rounds: expected .* got -3"),
        (lambda: lb.Split(1.5, np.array([0]), plans(1)), r"rounds: expected .* got 1.5"),  # type: ignore[arg-type]
        (lambda: lb.Split(3, np.array([[0]]), plans(1)), r"bucket and plans: expected"),
        (lambda: lb.Split(3, np.array([0.0]), plans(1)), r"bucket and plans: expected"),
        (lambda: lb.Split(3, np.array([-1]), ()), r"bucket and plans: expected"),
        (lambda: lb.Split(3, np.array([0, 1]), plans(1)), r"bucket: expected -1 \.\. 0, got 1"),
        (lambda: lb.Split(3, np.array([0, -2]), plans(1)), r"bucket: expected -1 \.\. 0, got -2"),
        (lambda: lb.Split(3, np.array([0, 0]), plans(1)), r"bucket 0 has 2 contexts, .* \(1, 2\)"),
        (lambda: lb.Split(3, np.array([0, -1]), plans(2)), r"bucket 0 has 1 contexts"),
        (lambda: lb.Split(3, np.array([0, 0]), plans(2, 1)), r"bucket 1 has 0 contexts"),
        (
            lambda: lb.Split(3, np.array([0, 1]), (*plans(1), *plans(1, arms=3))),
            r"bucket 1 has 1 contexts, its plan is for \(1, 3\)",
        ),
    ],
)
def test_bad_splits(build: Callable[[], lb.Split], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build()


def test_a_split_is_answered_with_results_of_its_plans() -> None:
    progress = lb.Progress(divider([0, 1], 2, 4, 8, [2, 2]))
    sample = lb.Sample(np.ones((2, 2), dtype=np.int64), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="request 0 asks for a sample, got results"):
        progress.answer((lb.Result(np.zeros(1, dtype=np.int64)),))
    progress.answer(sample)
    with pytest.raises(ValueError, match="request 1 splits into 2 plans, got a sample"):
        progress.answer(sample)
    one = lb.Result(np.ones(1, dtype=np.int64))
    for wrong in ((), (one,), (one,) * 3):
        with pytest.raises(ValueError, match=f"splits into 2 plans, got {len(wrong)} results"):
            progress.answer(wrong)
    progress.answer((one, one))
    assert progress.rounds == 12
    assert progress.so_far.policy.tolist() == [1, 1]


@pytest.mark.parametrize("contexts", [4, 6])
def test_a_world_of_another_size_is_named_before_a_split(contexts: int) -> None:
    plan = lb.reductions.any_contexts_online(lb.Problem(5, 3, 2))
    world = lb.worlds.lumpable(contexts, 3, 2, seed=1)
    with pytest.raises(ValueError, match=f"5 contexts and 3 arms, the world has {contexts} and 3"):
        lb.simulate(plan, world, seed=1, horizon=1000)


def test_a_horizon_without_noise_has_an_end_too() -> None:
    plan = lb.regret.equal_groups(lb.Problem(5, 3, 2))
    with pytest.raises(ValueError, match=r"horizon: expected at most 1e\+300"):
        lb.exact(plan, lb.worlds.lumpable(5, 3, 2, seed=1), horizon=10**700)
