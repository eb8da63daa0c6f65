"""A claim of the paper as a program checks it: what is said, what was measured, whether it holds.

Bars are part of the code: what counts as "holds" is fixed before anything is measured. Every claim
also measures a broken variant, which must not hold: a check that cannot fail is no check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need

SURPRISE = 1e-6
"""A promised probability counts as broken when what was seen is this improbable under it."""
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Check:
    """One measured number beside its bar."""

    what: str
    """In words, with its unit: `loss, in units of epsilon`."""
    measured: float
    relation: Literal["<=", ">="]
    bar: float

    @property
    def holds(self) -> bool:
        """Whether the number is on the right side of the bar; NaN never is."""
        if self.relation == "<=":
            return self.measured <= self.bar
        return self.measured >= self.bar


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured for one claim."""

    setting: str
    """Sizes, accuracies, worlds and constants, so that a reader could repeat it."""
    seeds: int
    """How many independent runs (or draws, where the claim is about draws) are behind it."""
    printed: tuple[Check, ...]
    """The claim as printed."""
    broken: tuple[Check, ...]
    """Checks of the broken variant, of the same kind: at least one must fail."""
    repaired: tuple[Check, ...] = ()
    """The repaired form, where the claim has one."""
    words: str = ""
    """What a reader should take away, in a sentence or two."""
    figure: Any = None
    """An Altair chart, titled, with a description for those who cannot see it."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a claim may take: a look (`quick`) or the whole measurement."""

    quick: bool

    def pick(self, quick: Value, full: Value) -> Value:
        """Return one of the two."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper and the function that measures it."""

    number: int
    title: str
    printed: str
    """The claim, as the paper prints it."""
    broken: str
    """What the broken variant does wrong."""
    measure: Callable[[Effort], Finding]
    repaired: str
    """The repaired form; empty where the printed one stands."""
    stands: bool
    """Whether the printed form is expected to hold; where it is not, the repaired one is."""
    seconds: tuple[float, float]
    """About how long it takes on one core, quick and whole: only for the time left."""


CLAIMS: dict[int, Claim] = {}
"""Every claim by its number, once the modules of this package are imported."""


def claim(
    number: int,
    title: str,
    *,
    printed: str,
    broken: str,
    seconds: tuple[float, float],
    repaired: str = "",
    stands: bool = True,
) -> Callable[[Callable[[Effort], Finding]], Callable[[Effort], Finding]]:
    """Register the function that measures a claim."""

    def register(measure: Callable[[Effort], Finding]) -> Callable[[Effort], Finding]:
        if number in CLAIMS:
            raise BadArgument("number", why=f"claim {number} is there already")
        CLAIMS[number] = Claim(number, title, printed, broken, measure, repaired, stands, seconds)
        return measure

    return register


def rate(what: str, failures: int, runs: int, promised: float) -> Check:
    """Check a promised failure probability: the count must not be a surprise under it."""
    binom = need("scipy.stats", "research", "reproducing the paper").binom
    return Check(
        f"{what}: failures in {runs} runs, promised rate {promised:.3g}",
        failures,
        "<=",
        float(binom.isf(SURPRISE, runs, min(1.0, promised))),
    )


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the slope of log y against log x by least squares, and its standard error."""
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    u = u - u.mean()
    found = float(u @ v / (u @ u))
    rest = v - v.mean() - found * u
    error = math.sqrt(float(rest @ rest) / max(1, len(u) - 2) / float(u @ u))
    return found, error
