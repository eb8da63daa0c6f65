"""Ctrl-C at every line: a call that is cut off has done all it should, or nothing.

A tracer raises KeyboardInterrupt at the n-th line that is executed in the rooms of the learner, for
n = 0, 1, .. until the call gets through. Compiled code cannot be interrupted. Memory runs out where
something is allocated: a profiler raises MemoryError before the n-th call of a function in C.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lumpable import Lumps, PolicyFinder
from lumpable.base.errors import BadArgument
from lumpable.lumps.core.under_way import count
from twins.cut_off import c_calls_of, cut_off, lines_of, out_of_memory

ROOMS = "lumps/use", "lumps/core", "learners/learner.py"


def prepared(real: bool = False) -> Lumps:
    """Return a learner with no room for another context, a fit about to come, and decisions.

    If rewards are real, there is no room for another one either.
    """
    lumps, rng = (
        Lumps(["red", "green"], seed=3, max_outstanding=8, new_arms=True, at_most=80),
        np.random.default_rng(1),
    )
    for t in range(126):
        i = t % 63
        lumps.tell(f"user {i}", "red", float(rng.random() < 0.8 * (i % 2)))
        lumps.tell(f"user {i}", "green", float(rng.random() < 0.8 * (1 - i % 2)))
    if real:
        lumps.tell("user 0", "red", 0.5)
    while lumps.core.tells < lumps.core.next_fit - 1:
        lumps.tell("user 0", "green", 1.0)
    for value in range(len(lumps.core.state.log_value) - 2 if real else 0):
        lumps.core.next_fit = lumps.core.state.due[0] = 10**9
        lumps.tell(f"user {value}", "red", 2.0 + value)
    if real:
        assert lumps.core.state.logged[0] == len(lumps.core.state.log_value) - 1
        lumps.core.next_fit = lumps.core.state.due[0] = lumps.core.tells + 1
    for name in ("user 0", "user 1", "new", "user 0", "newer", "user 2", "user 3"):
        lumps.decide(name)
    lumps._book.shown = None  # as after loading: what was shown is counted anew
    return lumps


def books(lumps: Lumps) -> tuple[Any, ...]:
    """Return what must be all old or all new: rewards, decisions, names."""
    counts = lumps.core.counts()
    others = [] if counts.others is None else [column.tolist() for column in counts.others]
    names = [lumps.contexts[i] for i in np.repeat(counts.context, np.diff(counts.first))]
    cells = list(zip(names, counts.arm.tolist(), counts.n.tolist(), counts.s.tolist(), strict=True))
    numbers = lumps._book.made, lumps._book.forgotten, lumps._book.lost
    waiting = [(pull.context, pull.arm) for pull in lumps.core.under_way.values()]
    known = lumps.contexts, lumps.arms, lumps.retired, lumps._named.listed
    return cells, others, list(lumps.core.under_way), waiting, numbers, lumps.core.tells, known


def sound(lumps: Lumps) -> None:
    """Check that names, numbers, pulls and addresses belong together."""
    core, named = lumps.core, lumps._named
    assert core.contexts > len(named.contexts)
    assert core.arms == len(named.arms) == len(core.state.mean)
    assert named.contexts.number == {name: i for i, name in enumerate(named.contexts.listed)}
    assert named.arms.number == {name: j for j, name in enumerate(named.arms.listed)}
    assert core.numbers is named.contexts.number
    assert list(core.under_way) == sorted(core.under_way)
    assert all(id < lumps._book.made for id in core.under_way)
    pending = count(core.under_way, *core.state.pending.shape)
    assert np.array_equal(core.state.pending, pending)
    if lumps._book.shown is not None:
        pairs = Counter((pull.context, pull.arm) for pull in core.under_way.values())
        for name in {name for name, _ in pairs}.union(named.contexts.listed):
            shown = lumps._book.shown.times(core.under_way, name)
            assert all(shown.get(arm, 0) == pairs[name, arm] for arm in range(core.arms)), name
    held = core._block._held[1:]  # compiled code reads and writes the arrays of the state
    assert all(mine is array for mine, array in zip(core.state, held, strict=True))
    assert core._address == core._block.address


def id_of(lumps: Lumps, number: int) -> str | int:
    """Return the id of a decision by its number."""
    return lumps._book.tags.id_of(number)


CALLS: dict[str, Callable[[Lumps], object]] = {
    "tell of a new context and a new arm, and a fit": lambda x: x.tell("zoe", "blue", 1.0),
    "tell of real rewards": lambda x: x.tell("user 5", "red", 0.25),
    "tell of a new context": lambda x: x.tell("zoe", "red", 1.0),
    "ask": lambda x: x.ask("user 4"),
    "ask for many": lambda x: x.ask_many(["user 4", "user 4", "zoe"]),
    "decide": lambda x: x.decide("user 4"),
    "decide among a new arm": lambda x: x.decide("user 4", ["red", "blue"]),
    "decide for many among a new arm": lambda x: x.decide_many(["user 4", "zoe"], ["red", "blue"]),
    "decide for a stranger": lambda x: x.decide("zoe"),
    "decide for too many": lambda x: x.decide_many(["user 4", "zoe", "user 1"]),
    "reward": lambda x: x.reward(id_of(x, 0), 1.0),
    "reward of a stranger": lambda x: x.reward(id_of(x, 2), 1.0),
    "rewards": lambda x: x.reward_many([{"id": id_of(x, k), "reward": 1.0} for k in (0, 2, 4)]),
    "table": lambda x: x.tell_many({"context": ["zoe", 1], "arm": [1, 2], "reward": [1.0, 0.0]}),
    "cancel": lambda x: x.cancel(id_of(x, 2)),
    "a new arm": lambda x: x.add_arm("blue"),
    "an old arm": lambda x: x.retire_arm("red"),
    "forget": lambda x: x.forget("user 0"),
    "forget a stranger": lambda x: x.forget("new"),
}


AMOUNTS: dict[str, Callable[[Lumps], object]] = {
    "tell of another amount, and a fit": lambda x: x.tell("zoe", "red", 0.75),
    "tell of a wild amount": lambda x: x.tell("user 5", "red", 1e9),
    "table of amounts": lambda x: x.tell_many(
        {"context": ["zoe", "user 1"], "arm": ["red", "green"], "reward": [0.25, 0.5]}
    ),
    "forget who had amounts": lambda x: x.forget("user 3"),
}
"""Calls where rewards are real already."""


@pytest.mark.filterwarnings("ignore:more than 8 decisions")
@pytest.mark.parametrize("cuts", [12, pytest.param(10_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("cut", "places_of"),
    [(cut_off, lines_of), (out_of_memory, c_calls_of)],
    ids=["Ctrl-C", "no memory"],
)
@pytest.mark.parametrize("name", [*CALLS, *AMOUNTS])
def test_all_is_done_or_nothing(
    name: str, cut: Callable[..., bool], places_of: Callable[..., int], cuts: int, tmp_path: Path
) -> None:
    """By day at a dozen lines from the first to the last, by night at every one."""
    call, first = (CALLS | AMOUNTS)[name], prepared(real=name in AMOUNTS)
    done = copy.deepcopy(first)
    places = places_of(lambda: call(done), *ROOMS)
    step = max(1, places // cuts)
    before, after = books(first), books(done)
    visits = first.core.state.group_visits.copy()
    outcomes = set()
    for at in range(0, 10_000, step):
        lumps = copy.deepcopy(first)
        if not cut(lambda: call(lumps), at, *ROOMS):  # noqa: B023
            break
        now = books(lumps)
        assert now in (before, after), f"line {at}"
        outcomes.add(now == before)
        if now == before and lumps.core.last_fit is first.core.last_fit:
            assert np.array_equal(lumps.core.state.group_visits, visits)
        sound(lumps)
        if at // step % 4 == 0:  # it can be kept, and goes on
            lumps.save(tmp_path / "state.lumps", overwrite=True)
            loaded = Lumps.load(tmp_path / "state.lumps")
            assert books(loaded) == now
            for each in (lumps, loaded):
                each.tell("yan", "red", 1.0)
                each.decide("user 7")
                sound(each)
            assert books(loaded) == books(lumps)
    assert books(lumps) == after
    if places > 10:  # some ask for hardly any memory
        assert at > 10
        assert True in outcomes


def test_a_fit_that_was_cut_off_comes_with_the_next_reward(tmp_path: Path) -> None:
    """Saved in between as well: the file opens, and the fit is the same."""
    lumps, plain = prepared(), prepared()
    fit = lumps.core.last_fit

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    lumps.core.fit = interrupt  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        lumps.tell("user 5", "red", 1.0)
    del lumps.core.fit
    assert lumps.core.last_fit is fit
    assert lumps.core.due()
    lumps.save(tmp_path / "state.lumps")
    plain.tell("user 5", "red", 1.0)
    for each in (lumps, Lumps.load(tmp_path / "state.lumps")):
        each.tell("user 6", "red", 1.0)
        assert not each.core.due()
        assert each.core.last_fit is not None
        assert each.core.last_fit.rewards == each.core.tells == plain.core.tells + 1


def test_room_that_was_cut_off_is_made_before_the_next_cell() -> None:
    """Or compiled code would write outside its arrays."""
    lumps = Lumps(range(50))
    core = lumps.core

    def interrupt() -> None:
        raise KeyboardInterrupt

    core.refit = interrupt  # type: ignore[method-assign]
    j = 0
    while core.state.due[0] > core.tells:
        lumps.core.next_fit = core.state.due[0] = 10**9
        try:
            lumps.tell(f"user {j // 50}", j % 50, 1.0)
        except KeyboardInterrupt:
            break
        j += 1
    assert core.state.due[0] == 0
    with pytest.raises(KeyboardInterrupt):
        lumps.tell("user 0", 0, 1.0)
    del core.refit
    before = core.tells
    lumps.tell("user 0", 0, 1.0)
    assert core.tells == before + 1
    assert core.state.used[0] + 2 * 50 + 4 <= len(core.state.arm)


def test_a_call_that_is_refused_leaves_no_names() -> None:
    """Or everybody would be shown an arm that came with it."""
    lumps = Lumps(at_most=1)
    with pytest.raises(BadArgument, match="as often as `at_most` allows"):
        lumps.decide_many(["ann", "ann"], allowed=["new"])
    assert len(lumps.arms + lumps.retired) == 0
    lumps.decide("ann", allowed=["old"])
    with pytest.raises(BadArgument, match="as often as `at_most` allows"):
        lumps.decide_many(["ann", "ann", "ann"], allowed=["old", "new"])
    assert lumps.arms == ("old",)
    sound(lumps)
    assert lumps.decide("bob").arm == "old"


def test_a_finder_that_is_refused_stays_finished() -> None:
    """And memory that ends while names come leaves neither of them."""
    finder = PolicyFinder(["tea", "coffee"], ["ann"], epsilon=0.5, seed=1, new_arms=True)
    while not finder.finished:
        drink = finder.ask("ann")
        finder.tell("ann", drink, float(drink == "tea"))
    at = 0
    while out_of_memory(lambda: finder.tell("bob", "water", 1.0), at, *ROOMS):
        if "bob" in finder.contexts:
            break
        assert finder.finished
        assert (finder.contexts, finder.arms) == (("ann",), ("tea", "coffee"))
        at += 1
    assert at > 20
    assert finder.arms == ("tea", "coffee", "water")
