"""Rewards turn real, or all of them to 0 and 1, while the last fit read them as the other: every
question has an answer until the next fit, and a log that is replayed makes the same learner."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import lumpable as lb
from kits.service import Later, bits, opened
from lumpable.http.health import OFTEN
from lumpable.lumps.use.believer import Believer
from lumpable.service.fits_beside import BackgroundFitter
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.in_memory import MemoryStore

NAMES = "ann", "bob", "cem", "dan"
USERS = st.sampled_from(NAMES)
EVENTS = st.integers(0, 15).map("v{}".format)
COINS, REAL = st.sampled_from([0.0, 1.0]), st.sampled_from([0.5, 12.5, -1.0, 0.1, 1e-6, 97.3])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), EVENTS),
        st.tuples(st.just("reward"), EVENTS, COINS),
        st.tuples(st.just("reward"), EVENTS, COINS | REAL),
        st.tuples(st.just("tell"), USERS, st.sampled_from(["red", "green"]), COINS | REAL),
        st.tuples(st.just("fit")),
        st.tuples(st.just("ask")),
        st.tuples(st.just("forget"), USERS),
    ),
    min_size=4,
    max_size=50,
)
ONCE = (Phase.explicit, Phase.generate)
"""A failing example is not made smaller: each takes a second."""
REPEATED = st.sampled_from(["last", "sum", "first"])


def believer(e: LiveExperiment) -> Believer:
    learner = e._learner()
    assert isinstance(learner, Believer)
    return learner


def ask(e: LiveExperiment) -> None:
    """Ask everything that can be asked."""
    e.groups(), e.members(), e.summary(), e.policy(), e.beliefs(), e.recommended()
    e.status(), e.evidence()
    for user in ("ann", "nobody"):
        e.explain(user), e.expected(user), e.best(user)
    learner = e._learner()
    assert isinstance(learner, Believer)
    if learner.contexts:
        e.lift()
    kept, _ = Believer.from_bytes(learner.to_bytes(b"null"))
    assert np.array_equal(kept.core.group_means(), learner.core.group_means())
    (
        learner.means(),
        learner.evidence(),
        learner.looks(),
        learner.residuals(),
        learner.counted_rewards(),
    )


def played(
    steps: list[Any], later: Later | None, repeated: str
) -> tuple[LiveExperiment, MemoryStore]:
    store = MemoryStore()
    e = opened(store, fitter=later, repeated=repeated, default=-1.0 if repeated == "sum" else None,
               window=500.0)  # fmt: skip
    for number, (what, *args) in enumerate(steps):
        if what == "decide":
            e.decide(NAMES[int(args[0][1:]) % len(NAMES)], event=args[0])
        elif what == "reward":
            e.reward(*args, at=1_000.0 + number)
        elif what == "tell":
            e.reward(e.observe(args[0], args[1], event=f"t{number}").event, args[2])
        elif what == "forget":
            e.forget(args[0])
        elif what == "fit" and later is not None:
            later.finish()
        else:
            ask(e)
    return e, store


@given(steps=STEPS, repeated=REPEATED)
@settings(max_examples=15, phases=ONCE)
def test_every_question_has_an_answer_at_any_time(steps: list[Any], repeated: str) -> None:
    turning(steps, repeated)


@pytest.mark.nightly
@given(steps=STEPS, repeated=REPEATED)
@settings(max_examples=200, phases=ONCE)
def test_many_questions_have_answers(steps: list[Any], repeated: str) -> None:
    turning(steps, repeated)


def turning(steps: list[Any], repeated: str) -> None:
    for later in (None, Later()):
        e, store = played(steps, later, repeated)
        ask(e)
        e._writer.so_far().result()
        again = opened(store, fitter=Later(), arms=(), repeated=repeated, window=500.0,
                       default=-1.0 if repeated == "sum" else None)  # fmt: skip
        assert bits(again) == bits(e)
        ask(again)
        if later is not None:
            later.finish()
            ask(e)
            cells = learner_totals(e)
            assert cells is None or np.array_equal(*cells)


def learner_totals(e: LiveExperiment) -> tuple[Any, Any] | None:
    """Return totals and ones of all cells, which are the same where all rewards are coins."""
    core = believer(e).core
    if core.state.logged[0] > 0 or (core.last_fit is not None and core.last_fit.real):
        return None
    used = slice(0, int(core.state.used[0]))
    live = core.state.pulls[used] > 0.0
    return core.state.total[used][live], core.state.ones[used][live]


@given(steps=STEPS)
@settings(max_examples=10, phases=ONCE)
def test_lumps_answers_at_any_time(steps: list[Any]) -> None:
    lumps = lb.Lumps(["red", "green"], seed=3)
    for what, *args in steps:
        if what == "tell":
            lumps.tell(*args)
        elif what == "forget" and args[0] in lumps.contexts:
            lumps.forget(args[0])
        elif lumps.contexts:
            lumps.groups(), lumps.means(), lumps.members(), lumps.summary(), lumps.policy()
            lumps.lift(), lumps.evidence(), lumps.looks(), lumps.residuals(), lumps.expected("ann")


def some(e: LiveExperiment, number: int, value: float = 1.0) -> None:
    for k in range(number):
        e.reward(e.decide(f"u{k % 5}").event, value * (k % 2))


def test_the_last_real_reward_is_replaced_while_it_is_fitted() -> None:
    """The fit is adopted, and the next one, which is due at once, reads all as coins."""
    later = Later()
    e = opened(fitter=later, repeated="last")
    some(e, 9)
    event = e.decide("u1").event
    e.reward(event, 97.3)
    e.reward(event, 1.0, at=2_000.0)
    later.finish()
    assert e.status().version == 1
    ask(e)
    e.decide("u1")
    later.finish()
    assert e.status().version == 2
    core = believer(e).core
    assert core.last_fit is not None
    assert not core.last_fit.real
    assert (core.state.phi == 1.0).all()  # nothing of the scores is left
    totals, ones = learner_totals(e) or ((), (1.0,))
    assert np.array_equal(totals, ones)
    ask(e)


@pytest.mark.parametrize("repeated", ["last", "sum"])
def test_the_last_real_reward_is_replaced_after_its_fit(repeated: Any) -> None:
    with lb.open(arms=["red", "green"], fits="inline", repeated=repeated) as e:
        some(e, 9)
        event = e.decide("u1").event
        e.reward(event, 0.5)
        e.reward(event, 1.0 if repeated == "last" else 0.5, at=time.time() + 1.0, key="2")
        ask(e)


def test_the_first_real_reward_counts_from_0_to_1_until_the_next_fit() -> None:
    later = Later()
    e = opened(fitter=later)
    some(e, 10)
    later.finish()
    e.reward(e.decide("u1").event, 12.5)
    ask(e)
    learner = believer(e)
    looks = learner.looks()
    assert (looks.scored, looks.largest) == ("from 0 to 1", 12.5)
    assert "12.5. Until the next fit, those below 0 count as 0" in looks.words
    assert all(0.0 <= row.low <= row.mean <= row.high <= 1.0 for row in learner.policy())
    assert max(max(x or 0.0 for x in row.means) for row in e.beliefs().glance.matrix.rows) > 1.0
    later.finish()
    assert believer(e).looks().scored != "from 0 to 1"


def test_a_fit_that_cannot_be_adopted_is_said_and_made_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug in it stops no decision, throws nothing away and is counted until it is over."""
    fitter, works = BackgroundFitter(), threading.Event()
    adopt = Believer.adopt

    def broken(self: Believer, fit: Any) -> None:
        assert works.is_set(), "a bug"
        adopt(self, fit)

    monkeypatch.setattr(Believer, "adopt", broken)
    with caplog.at_level(logging.CRITICAL), opened(fitter=fitter) as e:
        some(e, 10)
        end = time.monotonic() + 120.0
        while fitter.failed < OFTEN:
            assert time.monotonic() < end
            e.decide("u1")
            assert not e._doubtful
            time.sleep(0.01)
        assert e.failed_fits >= OFTEN
        works.set()
        while e.status().version == 0:
            assert time.monotonic() < end
            e.decide("u1")
            time.sleep(0.01)
        while e.failed_fits:
            assert time.monotonic() < end
            time.sleep(0.01)
