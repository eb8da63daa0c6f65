"""The problems: what the practical learner is for, and what it must not lose by.

Sizes are (contexts, arms, groups). A problem says to how many rounds for each context it is played,
at which of them it is judged, and with how many seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Size = tuple[int, int, int]
SIZES: dict[str, Size] = {"s": (100, 20, 4), "b": (1000, 100, 5), "w": (200, 1000, 5)}
TINY: dict[str, Size] = {"s": (12, 4, 2), "b": (14, 5, 2), "w": (10, 12, 2)}
SUITE, LONG, OTHER = "suite", "long", "other"
SHORT_MARKS, LONG_MARKS = (10, 30, 60), (100, 300, 1000)
LEAST_SEEDS, QUICK_SEEDS = 20, 40
"""Seeds of a problem at first; and at most, of larger and longer ones, when it must be quick."""

BERNOULLI = {"noise": "bernoulli"}
GROUPED: dict[str, dict[str, Any]] = {
    "Bernoulli": BERNOULLI,
    "Gaussian, sd 1": {"noise": "gaussian", "sd": 1.0},
    "Zipf, geometric": {**BERNOULLI, "frequency": "zipf", "sizes": "geometric"},
    "geometric": {**BERNOULLI, "sizes": "geometric"},
    "Zipf": {**BERNOULLI, "frequency": "zipf"},
    "deviation 0.05": {**BERNOULLI, "deviation": 0.05},
    "deviation 0.1": {**BERNOULLI, "deviation": 0.1},
}
"""Lumpable worlds, and those with groups that are only roughly true."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A world to be drawn, how long it is played, and where it is judged."""

    size: str
    name: str
    part: str
    """`suite`, `long` or `other`: which bars hold."""
    world: Mapping[str, Any]
    pulls: int
    marks: tuple[int, ...]
    """Rounds for each context at which it is judged."""
    screened: int
    """Rounds for each context in which peers are screened."""
    least: int = LEAST_SEEDS
    most: int = 10**9
    """Seeds: at first, and at most whatever the command says."""
    contexts: int = field(default=0)

    @property
    def label(self) -> str:
        """What it is called, unlike any other."""
        return f"{self.size}, {self.name}" + (f", {self.pulls} pulls" * (self.part == LONG))

    def described(self, pulls: int | None = None) -> dict[str, Any]:
        """Return the world as `lumpable.compare` takes it, measured at the marks."""
        within = [mark for mark in self.marks if mark <= (pulls or self.pulls)]
        return {**self.world, "label": self.label, "at": within}


def problems(
    sizes: Mapping[str, Size] = SIZES, *, quick: bool = False, longest: int = LEAST_SEEDS
) -> list[Problem]:
    """Return all problems, that of a million rounds last and with so many seeds.

    The quick ones leave out long runs of b beside it, screen in shorter runs and cap the seeds.
    """
    short = [
        *(
            _short(SUITE, size, sizes, name, given)
            for size in "sb"
            for name, given in GROUPED.items()
        ),
        _short(SUITE, "w", sizes, "Bernoulli", BERNOULLI),
        *(problem for size in "sb" for problem in _others(size, sizes)),
        *_surveys(sizes["s"][0]),
    ]
    long = [_long("s", sizes, name, given, 1000) for name, given in GROUPED.items()]
    if quick:
        short = [each if each.size == "s" else replace(each, most=QUICK_SEEDS) for each in short]
        long = [replace(each, screened=300, most=QUICK_SEEDS) for each in long]
    else:
        rest = ((name, given) for name, given in GROUPED.items() if name != "Bernoulli")
        long += [_long("b", sizes, name, given, 100) for name, given in rest]
    largest = _long("b", sizes, "Bernoulli", BERNOULLI, 1000)
    screened = 100 if quick else 300
    return [*short, *long, replace(largest, least=longest, most=longest, screened=screened)]


def lumpable(size: Size, given: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a lumpable world of this size."""
    return {
        "kind": "lumpable",
        **dict(zip(("contexts", "arms", "groups"), size, strict=True)),
        **given,
    }


def _short(
    part: str, size: str, sizes: Mapping[str, Size], name: str, given: Mapping[str, Any]
) -> Problem:
    world = lumpable(sizes[size], given)
    return Problem(size, name, part, world, 60, SHORT_MARKS, 60, contexts=sizes[size][0])


def _long(
    size: str, sizes: Mapping[str, Size], name: str, given: Mapping[str, Any], pulls: int
) -> Problem:
    marks = tuple(mark for mark in LONG_MARKS if mark <= pulls)
    world = lumpable(sizes[size], given)
    return Problem(size, name, LONG, world, pulls, marks, pulls, contexts=sizes[size][0])


def _others(size: str, sizes: Mapping[str, Size]) -> Iterable[Problem]:
    S, K, _ = sizes[size]
    plain = _short(OTHER, size, sizes, "bursts", {**BERNOULLI, "arrivals": "bursts"})
    low_rank = {"kind": "low_rank", "contexts": S, "arms": K, "rank": 3, **BERNOULLI}
    yield _short(OTHER, size, sizes, "one group", {**BERNOULLI, "groups": 1})
    yield _short(OTHER, size, sizes, "no structure", {**BERNOULLI, "groups": S})
    yield replace(plain, name="rank 3", world=low_rank)
    yield _short(OTHER, size, sizes, "hard means", {**BERNOULLI, "means": "hard", "gap": 0.3})
    yield plain


def _surveys(people: int) -> Iterable[Problem]:
    for name in ("bfi", "gss"):
        world = {"kind": "survey", "name": name, "contexts": people}
        yield Problem("s", f"{name} survey", OTHER, world, 60, SHORT_MARKS, 60, contexts=people)
