"""Batches: many decisions before any reward, many rewards at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from counts_made import equal

from lumpable.learners.engine.blocks import Block
from lumpable.learners.engine.clock import kernel, seeded
from lumpable.learners.engine.entries import entry
from lumpable.lumps.core import batches
from lumpable.lumps.core.asking import STALE
from lumpable.lumps.core.batches import STEPS, _kinds, ask_many, tell_many
from lumpable.lumps.core.kinds import sort_keys
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import KAPPA, M0, OWN, REAL
from lumpable.lumps.model.worth import Worth

SCRATCH = ("weight", "mean", "spread", "scale", "cover", "factor", "score")
NEVER = 10**15
Rows = tuple[Any, Any, Any, Any]


def rows(S: int, K: int, number: int, *, real: bool = False, seed: int = 3) -> Rows:
    """Rewards of contexts in three groups, with counts from 0 to 4."""
    rng = np.random.default_rng(seed)
    mean = rng.random((3, K))
    contexts, arms = rng.integers(S, size=number), rng.integers(K, size=number)
    mu = mean[contexts % 3, arms]
    reward = mu + 0.25 * rng.integers(-2, 3, size=number) if real else rng.random(number) < mu
    return contexts, arms, reward.astype(float), rng.integers(5, size=number)


def taught(
    S: int = 60, K: int = 12, number: int = 900, *, m0: float = 8.0, real: bool = False,
    rank: int = 0, groups: int = 1,
) -> ThreeLevels:  # fmt: skip
    """Return a learner with this kind of fit, whatever the evidence says."""
    learner = ThreeLevels(S, K, seed=5)
    learner.state.due[0] = NEVER
    learner.next_fit = NEVER
    tell_many(learner, *rows(S, K, number, real=real))
    learner.next_fit = 0
    learner.refit()
    assert learner.last_fit is not None
    seen, rng = len(learner.last_fit.context), np.random.default_rng(8)
    share = np.log(np.arange(1.0, groups + 1) / np.arange(1, groups + 1).sum())
    member = 2.0 ** -rng.permuted(np.tile(np.arange(groups), (seen, 1)), axis=1)
    part = rng.random((2, K, groups)) * [[[20.0]], [[1.0]]] + [[[5.0]], [[0.0]]]
    loading = 0.3 * rng.standard_normal((K, rank))
    scale = learner.last_fit.scale
    if scale is not None:
        noise = rng.uniform(0.05, 0.5, (K, groups))
        worth = Worth(
            part[0], part[0] * part[1], noise, 0.1, rng.random(K), np.full(K, 40.0), 0.5, 0.1, m0,
            0.5 * loading, 0.8,
        )  # fmt: skip
        scale = scale._replace(worth=worth)
    fit = replace(
        learner.last_fit, m0=m0, share=share, member=member / member.sum(axis=1, keepdims=True),
        pulls=part[0], totals=part[0] * part[1], prior_weight=np.full(K, 9.0), kappa=2.0,
        loading=loading, scale=scale,
    )  # fmt: skip
    learner.adopt(fit)
    learner._connect()
    return learner


def believed(learner: ThreeLevels) -> dict[str, Any]:
    state = learner.state._asdict()
    kept = {name: array.copy() for name, array in state.items() if name not in SCRATCH}
    return {**kept, "clock": learner.clock[:2].copy()}


def same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return all(np.array_equal(before[name], after[name]) for name in before)


KINDS: list[dict[str, Any]] = [
    {"m0": np.inf}, {"m0": 8.0}, {"m0": np.inf, "groups": 3}, {"m0": 2.0, "groups": 3},
    {"m0": 4.0, "real": True}, {"m0": np.inf, "real": True, "groups": 2}, {"m0": 4.0, "rank": 2},
    {"m0": 3.0, "real": True, "groups": 3}, {"m0": 4.0, "real": True, "rank": 2},
]  # fmt: skip


# --- Asking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_each_choice_is_the_best_after_those_before_it(kind: dict[str, Any]) -> None:
    """The literal loop: ask one, count its pull as one to come, ask the next.

    Rounds to come are counted when the kind of context changes or N has grown by STALE.
    """
    learner = taught(**kind)
    contexts = np.arange(59, -1, -1)
    arms = ask_many(learner, contexts)
    m0, real = learner.state.value[OWN], learner.state.value[REAL] > 0.0
    assert real == kind.get("real", False)
    visits, counted, last = learner.state.group_visits, learner.state.group_visits.copy(), None
    for k in turns(learner, contexts):
        i = int(contexts[k])
        w = learner.membership(np.array([i]))[0]
        if kind.get("rank") or last is None or np.abs(w - last).max() > 1e-9:
            visits[:] = counted
        if w @ counted > STALE * (w @ visits):
            visits[:] = counted
        last, counted = w, counted + w
        learner.ask(i)
        score = learner.state.score
        assert score[arms[k]] >= score.max() - 1e-9 * (1.0 + abs(score.max()))
        at = slice(learner.state.start[i], learner.state.start[i] + learner.state.length[i])
        n = learner.state.pulls[at][learner.state.arm[at] == arms[k]].sum()
        d = 1.0
        if np.isfinite(m0):
            d = (m0 if real else 1.0 + m0) * ((n + 1.0) / (n + 1.0 + m0) - n / (n + m0))
        learner.state.pending[:, arms[k]] += d * w


def turns(learner: ThreeLevels, contexts: Any) -> Any:
    return _kinds(learner, contexts)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_asking_changes_nothing_that_is_believed(kind: dict[str, Any]) -> None:
    learner = taught(**kind)
    learner.state.pending[0, 3] = 2.5
    before, contexts = believed(learner), np.arange(60) % 40
    arms = ask_many(learner, contexts)
    assert same(before, believed(learner))
    assert np.array_equal(contexts, np.arange(60) % 40)
    assert np.array_equal(arms, ask_many(learner, contexts))


@pytest.mark.parametrize("kind", KINDS)
def test_one_context_gets_the_arm_of_ask(kind: dict[str, Any]) -> None:
    learner = taught(**kind)
    for i in range(60):
        assert ask_many(learner, np.array([i])) == [learner.ask(i)]


def test_no_context_no_arm() -> None:
    assert len(ask_many(ThreeLevels(5, 4), np.array([], dtype=np.int64))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_a_batch_does_not_matter(kind: dict[str, Any]) -> None:
    learner = taught(**kind)
    contexts = np.concatenate([np.arange(60), np.arange(20), np.arange(5)])
    arms = ask_many(learner, contexts)
    mixed = np.random.default_rng(2).permutation(len(contexts))
    other = ask_many(learner, contexts[mixed])
    for i in range(60):
        assert sorted(arms[contexts == i]) == sorted(other[contexts[mixed] == i])


def test_the_order_inside_changes_with_the_number_of_tells() -> None:
    learner = ThreeLevels(50, 4)
    before = turns(learner, np.arange(50))
    learner.clock[1] = 1
    assert sorted(before) == list(range(50))
    assert not np.array_equal(before, turns(learner, np.arange(50)))


def test_a_fresh_batch_tries_all_arms_alike() -> None:
    arms = ask_many(ThreeLevels(1000, 20), np.arange(1000))
    assert np.all(np.bincount(arms, minlength=20) == 50)


def test_one_early_success_is_no_reason_for_all_to_follow() -> None:
    learner = ThreeLevels(1000, 20)
    learner.tell(3, 7, 1.0)
    assert len(set(ask_many(learner, np.arange(1000)).tolist())) >= 10


def test_the_leader_gets_more_as_evidence_grows() -> None:
    share = []
    for pulls in (1, 10, 100, 1000):
        learner = ThreeLevels(1000, 20, seed=1)
        learner.state.due[0] = NEVER
        learner.state.value[[M0, OWN]] = np.inf
        arm = np.arange(20)
        told = np.where(arm == 7, 11, 10) * pulls
        tell_many(learner, arm, arm, np.ones(20), told)
        tell_many(learner, arm, arm, np.zeros(20), 20 * pulls - told)
        share.append(float((ask_many(learner, np.arange(20, 1000)) == 7).mean()))
    assert share == sorted(share)
    assert share[0] < 0.5
    assert share[-1] == 1.0


def test_a_context_that_comes_often_does_not_herd_either() -> None:
    """What it knows of itself narrows too: with m0 = 1/2 the group's belief hardly matters."""
    learner = taught(m0=0.5, number=60)
    arms = ask_many(learner, np.full(300, 17))
    assert len(set(arms.tolist())) >= 6


def test_only_allowed_arms_are_chosen() -> None:
    learner = taught(m0=8.0, groups=3)
    learner.state.allowed[:] = False
    learner.state.allowed[[2, 5]] = True
    assert set(ask_many(learner, np.arange(60).repeat(9)).tolist()) == {2, 5}


@pytest.mark.parametrize("steps", STEPS)
def test_posteriors_that_share_a_table_are_alike(steps: float) -> None:
    """Weights in steps of the largest: off by at most half a step, before they are scaled."""
    learner, rng = taught(groups=3), np.random.default_rng(4)
    learner.state.log_weight[:] = np.log(rng.dirichlet([0.3, 0.3, 0.3], size=60))
    kind, key = np.empty((2, 60), dtype=np.uint64)
    entry(sort_keys, learner.state)(learner._address, np.arange(60), steps, kind, key)
    weight = learner.membership(np.arange(60))
    ratio = weight / weight.max(axis=1, keepdims=True)
    for one in np.unique(kind):
        assert np.ptp(ratio[kind == one], axis=0).max() <= 1.0 / steps
    assert len(np.unique(kind)) > 3


def test_tables_are_as_fine_as_their_number_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, rng = taught(groups=3), np.random.default_rng(4)
    learner.state.log_weight[:] = np.log(rng.dirichlet([1.0, 1.0, 1.0], size=60))
    number = []
    for steps in STEPS:
        monkeypatch.setattr(batches, "STEPS", (steps,))
        number.append(len(np.unique(_kinds(learner, np.arange(60))[0])))
    assert number == sorted(set(number), reverse=True)
    monkeypatch.setattr(batches, "STEPS", STEPS)
    for steps, most in zip(STEPS, number, strict=True):
        monkeypatch.setattr(batches, "MOST_TABLES", most)
        assert _kinds(learner, np.arange(60))[2] == steps


def test_ten_thousand_arms() -> None:
    learner = ThreeLevels(30, 10_000, seed=1)
    contexts = np.arange(30)
    arms = ask_many(learner, contexts)
    assert len(set(arms.tolist())) == 30
    tell_many(learner, contexts, arms, np.ones(30), np.full(30, 2))
    assert learner.tells == 60
    again = ask_many(learner, contexts.repeat(50))
    assert again.min() >= 0
    assert again.max() < 10_000


# --- Telling ------------------------------------------------------------------------------------


def one_by_one(learner: ThreeLevels, table: Rows) -> None:
    for i, j, reward, count in zip(*table, strict=True):
        for _ in range(count):
            learner.tell(int(i), int(j), float(reward))


def blank(S: int = 40, K: int = 9) -> ThreeLevels:
    """Return a learner that will fit only when it is told to."""
    learner = ThreeLevels(S, K, seed=2)
    learner.next_fit = NEVER
    learner.state.due[0] = NEVER
    return learner


@pytest.mark.parametrize("order", [None, 1, 2])
def test_cells_and_fits_are_those_of_single_tells_in_any_order(order: int | None) -> None:
    table = rows(40, 9, 700)
    mixed = np.arange(700) if order is None else np.random.default_rng(order).permutation(700)
    slow, fast = blank(), blank()
    one_by_one(slow, table)
    tell_many(fast, *(column[mixed] for column in table))
    alike(slow, fast)
    assert np.array_equal(slow.state.visits, fast.state.visits)
    for learner in (slow, fast):
        learner.next_fit = 0
        learner.refit()
    assert equal(slow.last_fit, fast.last_fit)
    assert np.array_equal(slow.state.value, fast.state.value)
    for name in ("log_weight", "group_pulls", "group_total", "group_visits"):
        assert np.array_equal(getattr(slow.state, name), getattr(fast.state, name)), name


def alike(one: ThreeLevels, other: ThreeLevels) -> None:
    assert equal(one.counts(), other.counts())
    assert one.tells == other.tells


def test_real_rewards_too_and_they_are_fitted_at_once() -> None:
    contexts, arms, _, counts = rows(40, 9, 500)
    quarters = np.random.default_rng(6).integers(-8, 9, size=500) / 4.0
    slow, fast = ThreeLevels(40, 9), ThreeLevels(40, 9)
    one_by_one(slow, (contexts, arms, quarters, counts))
    tell_many(fast, contexts, arms, quarters, counts)
    alike(slow, fast)
    assert fast.last_fit is not None
    assert fast.last_fit.real
    fresh = [learner.fit(learner.counts()) for learner in (slow, fast)]
    assert equal(*fresh)


@pytest.mark.parametrize("m0", [np.inf, 3.0])
def test_equal_rewards_of_a_cell_are_one_step(m0: float) -> None:
    """The evidence of a cell is a sum that telescopes: 1 and 6 more are 7 at once."""
    learners = [blank() for _ in range(3)]
    for learner, counts in zip(learners, ([7], [1, 6], [1] * 7), strict=True):
        learner.state.value[[M0, OWN]] = m0
        rest = [np.full(len(counts), place) for place in (4, 2)]
        tell_many(learner, rest[0], rest[1], np.ones(len(counts)), np.array(counts))
    single = blank()
    single.state.value[[M0, OWN]] = m0
    one_by_one(single, ([4], [2], [1.0], [7]))
    for learner in learners:
        assert learner.state.group_pulls[0, 2] == pytest.approx(single.state.group_pulls[0, 2])
        assert learner.state.group_total[0, 2] == pytest.approx(single.state.group_total[0, 2])
        assert learner.state.group_visits[0] == 7.0
        assert learner.tells == 7


def test_one_fit_comes_at_the_end() -> None:
    learner = ThreeLevels(40, 9)
    tell_many(learner, *rows(40, 9, 700))
    assert learner.last_fit is not None
    assert learner.last_fit.context.max() == 39
    assert learner.tells < learner.next_fit == learner.state.due[0]


def test_a_row_that_counts_nothing_leaves_no_cell() -> None:
    learner = ThreeLevels(5, 4)
    tell_many(learner, np.array([1]), np.array([2]), np.array([1.0]), np.array([0]))
    assert learner.tells == 0
    assert learner.state.length.sum() == 0


def test_room_for_cells_grows_within_a_batch() -> None:
    S, K = 4, 300
    learner = ThreeLevels(S, K, seed=1)
    places = len(learner.state.arm)
    cells = np.random.default_rng(1).permutation(S * K)
    tell_many(learner, cells // K, cells % K, (cells % 3 == 0) * 1.0, 1 + cells % 4)
    assert len(learner.state.arm) > places
    counts = learner.counts()
    at = np.arange(S * K)
    assert np.array_equal(counts.arm, at % K)
    assert np.array_equal(counts.n, 1.0 + at % 4)
    assert np.array_equal(counts.s, (at % 3 == 0) * (1.0 + at % 4))
    learner.tell(0, 0, 1.0)
    assert learner.tells == (1 + cells % 4).sum() + 1


GOOD: Rows = (np.array([0, 1]), np.array([0, 1]), np.array([0.0, 1.0]), np.array([1, 2]))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, [0, 5], r"contexts\[1\]: expected one of 0 \.\. 4, got 5"),
        (0, [-1, 1], r"contexts\[0\]: expected one of 0 \.\. 4, got -1"),
        (0, [0.0, 1.0], "contexts: expected a vector of whole numbers, got float64"),
        (1, [0, 4], r"arms\[1\]: expected one of 0 \.\. 3, got 4"),
        (2, [0.0, np.nan], "rewards: expected a vector of numbers .* got nan at 1"),
        (2, [np.inf, 0.0], "rewards: .* got inf at 0"),
        (3, [1, -1], r"counts\[1\]: expected .* got -1"),
        (3, [1, 1, 1], "expected vectors of one length, got contexts 2, .* counts 3"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_changes(place: int, value: Any, words: str) -> None:
    learner = ThreeLevels(5, 4)
    before, table = believed(learner), list(GOOD)
    table[place] = np.array(value)
    with pytest.raises(ValueError, match=words):
        tell_many(learner, *table)
    assert same(before, believed(learner))


def test_ask_many_names_a_context_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"contexts\[2\]: expected one of 0 \.\. 4, got 7"):
        ask_many(ThreeLevels(5, 4), np.array([0, 1, 7]))


# --- Compiled -----------------------------------------------------------------------------------


class Sums(NamedTuple):
    total: Any
    scale: float


@kernel
def add_up(state: Sums, values: Any, times: int, clock: Any) -> float:
    state.total[0] += times * values.sum() * state.scale
    return float(state.total[0] + clock[1])


def test_any_kernel_over_a_state_gets_an_entry() -> None:
    state, clock = Sums(np.zeros(1), 0.5), seeded(1)
    clock[1] = 100
    block = Block(state, clock)
    assert entry(add_up, state)(block.address, np.arange(4.0), 2) == 106.0
    assert state.total[0] == 6.0
    assert entry(add_up, state) is entry(add_up, state)


def test_batches_are_compiled_once_and_kept() -> None:
    learner: Any = taught()
    ask_many(learner, np.arange(3))
    compiled: Any = entry(sort_keys, learner.state)
    assert compiled.stats.cache_path
    assert len(compiled.signatures) == 1
    assert learner.state.value[KAPPA] == 2.0
