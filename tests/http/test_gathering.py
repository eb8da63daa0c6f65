"""Calls that are made together: each for itself, and none answered before it is durable."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import Any

import pytest

from kits.served import Breakable
from kits.service import opened
from lumpable.base.errors import BadArgument
from lumpable.http.gathering import AT_ONCE, MOST, Gathering, make_calls
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.law import StoreError


def test_each_call_succeeds_or_fails_for_itself() -> None:
    with opened() as e:
        outcomes = make_calls(e, [
            lambda: e.decide("ann", event="e1"), lambda: e.decide("ann", ["pink"]),
            lambda: e.reward("e1", 1.0), lambda: e.decide("bob", event="e1"),
        ])  # fmt: skip
        assert outcomes[0][0].event == "e1"
        assert outcomes[2] == ("rewarded", None)
        assert all(isinstance(outcomes[k][1], BadArgument) for k in (1, 3))
        assert e.status().decisions == 1


@pytest.mark.parametrize("seed", range(10))
def test_what_is_answered_is_in_the_store(seed: int) -> None:
    rng, store, answered = random.Random(seed), Breakable(), set[str]()
    with opened(store) as e:
        for batch in range(8):
            store.full = rng.random() < 0.5
            ids = [f"{batch}-{k}" for k in range(rng.randrange(1, 9))]
            works: list[Any] = [lambda id=id: e.decide("ann", event=id) for id in ids]
            works.insert(rng.randrange(len(works)), lambda: setattr(store, "full", not store.full))
            for result, error in make_calls(e, works):
                assert error is None or isinstance(error, StoreError)
                if result is not None:
                    answered.add(result.event)
        kept = {entry.event for _, entry in store.entries() if entry.kind == "decided"}
    assert answered <= kept
    assert answered


def test_what_comes_while_batches_are_made_goes_into_the_next_one() -> None:
    batches: list[int] = []

    def experiment() -> LiveExperiment:
        batches.append(1)
        return e

    def user(k: int) -> object:
        return e.decide(k, event=f"e{k}").user

    async def all_at_once(calls: int) -> list[Any]:
        return await asyncio.gather(*(gathering.run(partial(user, k)) for k in range(calls)))

    with opened() as e:
        gathering = Gathering(experiment)
        calls = AT_ONCE + MOST + 50
        assert asyncio.run(all_at_once(calls)) == list(range(calls))
        gathering.close()
    assert len(batches) == AT_ONCE + 2  # the first ones at once, the others together


def test_an_experiment_that_is_not_there_fails_every_call() -> None:
    def nowhere() -> Any:
        raise StoreError("not yet")

    async def two() -> list[Any]:
        calls = (gathering.run(lambda: 1) for _ in range(2))
        return await asyncio.gather(*calls, return_exceptions=True)

    gathering = Gathering(nowhere)
    assert [str(error) for error in asyncio.run(two())] == ["not yet", "not yet"]
    gathering.close()
