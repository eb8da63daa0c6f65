"""What an event comes to is a function of the set of its entries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumpable import client
from lumpable.service import asked
from lumpable.service.joining import Event, outcome, standing
from lumpable.service.settings import Settings
from lumpable.stores.log_entries import Entry

DECIDED = Entry(kind="decided", at=100, event="e", user="ann", arm="red", active=True)
PREFETCHED = Entry(kind="decided", at=100, event="e", user="ann", arm="red", active=False)
ACTIVATED = Entry(kind="activated", at=105, event="e")
EXPIRED = Entry(kind="expired", at=111, event="e")


def rewarded(at: int, value: int, key: str = "") -> Entry:
    return Entry(kind="rewarded", at=at, event="e", value=value, detail=key)


@pytest.mark.parametrize(
    ("entries", "first", "last", "total"),
    [
        ([DECIDED], None, None, None),
        ([DECIDED, rewarded(105, 7)], 7, 7, 7),
        ([rewarded(95, 7), DECIDED], 7, 7, 7),  # early
        ([rewarded(95, 7)], None, None, None),  # without a decision
        ([DECIDED, rewarded(105, 7), rewarded(107, 3)], 7, 3, 10),
        ([DECIDED, rewarded(105, 7), rewarded(105, 7)], 7, 7, 7),  # the same one twice
        ([DECIDED, rewarded(105, 7), rewarded(105, 7, "again")], 7, 7, 14),
        ([DECIDED, rewarded(110, 7), rewarded(111, 3)], 7, 7, 7),  # one is late
        ([DECIDED, EXPIRED], 2, 2, 2),
        ([DECIDED, EXPIRED, rewarded(109, 7)], 7, 7, 7),  # in time, and long under way
        ([DECIDED, EXPIRED, rewarded(120, 7)], 2, 2, 2),
        ([PREFETCHED, EXPIRED], None, None, None),  # never shown
        ([PREFETCHED, ACTIVATED, EXPIRED], 2, 2, 2),
        ([PREFETCHED, rewarded(105, 7)], 7, 7, 7),  # a reward says that it was
    ],
)
def test_outcomes(
    entries: list[Entry], first: int | None, last: int | None, total: int | None
) -> None:
    for repeated, expected in (("first", first), ("last", last), ("sum", total)):
        rules = Settings(window=10, default=2, repeated=repeated)  # type: ignore[arg-type]
        assert outcome(Event.of(entries), rules) == expected


@given(
    entries=st.lists(
        st.one_of(
            st.builds(rewarded, st.integers(85, 120), st.integers(0, 3), st.sampled_from("ab")),
            st.sampled_from([DECIDED, ACTIVATED, EXPIRED]),
        ),
        max_size=8,
    ),
    shuffle=st.randoms(use_true_random=False),
    rules=st.builds(
        Settings, window=st.sampled_from([None, 10]), default=st.sampled_from([None, 2]),
        repeated=st.sampled_from(["first", "last", "sum"]),
    ),
)  # fmt: skip
def test_neither_order_nor_repetition_matters(
    entries: list[Entry], shuffle: object, rules: Settings
) -> None:
    others = entries * 2
    shuffle.shuffle(others)  # type: ignore[attr-defined]
    a, b = Event.of(entries), Event.of(others)
    assert outcome(a, rules) == outcome(b, rules)
    for now in (90, 105, 130):
        assert standing(a, rules, now) == standing(b, rules, now)


@pytest.mark.parametrize(
    ("entries", "now", "word"),
    [
        ([DECIDED], 110, "waiting"),
        ([DECIDED], 111, "defaulted"),
        ([PREFETCHED], 111, "missed"),
        ([DECIDED, rewarded(105, 1)], 200, "rewarded"),
        ([DECIDED, rewarded(150, 1)], 200, "late"),
        ([DECIDED, rewarded(150, 1)], 105, "late"),  # of later than the window, which is open
        ([DECIDED, rewarded(89, 1)], 105, "predated"),
        ([DECIDED, rewarded(89, 1)], 200, "predated"),
        ([DECIDED, rewarded(89, 1), rewarded(150, 1)], 200, "late"),
        ([DECIDED, rewarded(89, 1), rewarded(90, 1)], 105, "rewarded"),
        ([rewarded(150, 1)], 160, "early"),
        ([rewarded(150, 1)], 161, "orphan"),
    ],
)
def test_standings(entries: list[Entry], now: int, word: str) -> None:
    assert standing(Event.of(entries), Settings(window=10, default=2), now) == word


def test_ids_of_events_differ_and_later_ones_come_later() -> None:
    """Those of one microsecond, whose first 14 digits are equal, may stand in any order."""
    ids = [asked.new_id() for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    assert [id[:14] for id in ids] == sorted(id[:14] for id in ids)
    assert {len(client.new_id()), *map(len, ids)} == {26}
