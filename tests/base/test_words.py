"""Words for names that come from anybody: several of a thing, and short ones that stay apart."""

from __future__ import annotations

import numpy as np
import pytest

from lumpable.base.words import between, counted, distinct, plural


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("country", "countries"), ("category", "categories"), ("day", "days"), ("key", "keys"),
        ("user", "users"), ("users", "users"), ("customers", "customers"), ("box", "boxes"),
        ("class", "classes"), ("status", "statuses"), ("branch", "branches"), ("dish", "dishes"),
        ("buzz", "buzzes"), ("Country", "Countries"), ("SKU", "SKUS"), ("CITY", "CITIES"),
        ("y", "ys"), ("x2y", "x2ys"),
    ],
)  # fmt: skip
def test_several_of_a_thing(one: str, several: str) -> None:
    assert plural(one) == several
    assert counted(2, one) == f"2 {several}"
    assert counted(1, one) == f"1 {one}"


def test_names_are_shortened_only_as_far_as_they_stay_apart() -> None:
    begins, ends = "a_very_long_beginning_of_a_name", "and_a_very_long_end_of_it"
    short = "nothing to shorten here"
    assert distinct([short, begins], 24, 40) == [short, "a_very_long_begin…a_name"]
    near = [f"{begins[:20]}_{k}_{ends}" for k in "ab"]
    shown = distinct([*near, begins], 24, 40)
    assert len(set(shown)) == 3
    assert "_a_" in shown[0]
    assert "_b_" in shown[1]
    assert len(shown[2]) == 24  # others stay short


def test_what_cannot_be_told_apart_is_numbered() -> None:
    names = [f"{'a' * 60}{k}{'b' * 60}" for k in range(4)]
    shown = distinct(names, 24, 40)
    assert shown == [f"{'a' * 17}…{'b' * 6} ({k + 1})" for k in range(4)]
    taken = distinct([*names, shown[1], "x", "x"], 24, 40)
    assert len(set(taken)) == 7


def test_any_names_stay_apart_also_many_of_them() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        sizes = rng.integers(1, 30, size=12)
        names = ["".join(rng.choice(list("ab…(1) "), size=int(size))) for size in sizes]
        shown = distinct(names, 10, 14)
        assert len(set(shown)) == 12
    many = [f"{'a' * 60}{k}{'b' * 60}" for k in range(50_000)]
    assert len(set(distinct(many, 24, 40))) == 50_000  # pairs would take for ever


def test_ends_that_are_not_known_are_no_numbers() -> None:
    assert between(float("nan"), 1.0) == between(0.0, float("nan")) == "not known"
    assert between(-0.5, 0.25) == "-0.500 to 0.250"
