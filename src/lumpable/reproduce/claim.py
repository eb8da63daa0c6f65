"""A claim of the paper as a program checks it: measured, judged, worded, drawn.

Four functions, each blind to the later ones. Only the measurement is saved, and the other three
read the saved file: a fresh run and a resumed one are the same, and a new bar, sentence or caption
costs no new measurement. Bars are part of the code. Every claim also measures a broken variant,
which must not hold: a check that cannot fail is no check.

The recipe, in a module of `claims` (`good_event.py` is the model):

1. `measure_x(effort) -> Measured`: run it. Numbers only: no bar, no sentence, no chart.
2. `setting` holds the sizes (`{"S": 100, "K": 100}`), `seeds` how many runs are behind it.
3. `rows` is one flat dict a point, as the picture needs it, with a `series`.
4. `facts` holds what else a check or a sentence needs, by name. In JSON a tuple is a list and a key
   is text: `{"4": 17}`, not `{4: 17}`. Numpy's numbers and arrays, inf and NaN may stand anywhere.
5. `judge_x(measured) -> Verdict`: the checks of each form, with their bars.
6. `word_x(measured, verdict) -> Words`: the setting in a sentence, and what to take away.
7. `draw=Sketch(...)`: axes, series and words; or any function that returns an Altair chart.
8. `X = Claim(number, title, printed=..., ...)` below them, and `module.X` in `listed.py`.
9. Nothing is computed twice: what `measure_x` put into `facts` is read, never run again.
10. `pytest -k claim-N` runs all four on what came back from JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from lumpable.base.extras import need

SURPRISE = 1e-4
"""A promised probability counts as broken when what was seen is this improbable under it."""
POWER = 0.95
"""How surely a rate is caught that a check says it would catch."""
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
class Effort:
    """How much a claim may take: a look (`quick`) or the whole measurement."""

    quick: bool

    def pick(self, quick: Value, full: Value) -> Value:
        """Return one of the two."""
        return quick if self.quick else full


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured for one claim: numbers, and the names of series."""

    seeds: int
    """How many independent runs (or draws, where the claim is about draws) are behind it."""
    setting: dict[str, Any]
    """Sizes, accuracies and constants by name, so that a reader could repeat it."""
    rows: list[dict[str, Any]] = []
    """The points of the figure."""
    facts: dict[str, Any] = {}
    """What else the checks and the sentences need."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The checks of each form of a claim."""

    printed: tuple[Check, ...]
    """The claim as printed."""
    broken: tuple[Check, ...]
    """Checks of the broken variant, of the same kind: at least one must fail."""
    repaired: tuple[Check, ...] = ()
    """The repaired form, where the claim has one."""


@dataclass(frozen=True, slots=True)
class Words:
    """The sentences for a reader."""

    setting: str
    """Sizes, accuracies, worlds and constants, so that a reader could repeat it."""
    takeaway: str
    """What to take away, in a sentence or two."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper and the four functions behind it."""

    number: int
    title: str
    printed: str = field(kw_only=True)
    """The claim, as the paper prints it."""
    broken: str = field(kw_only=True)
    """What the broken variant does wrong."""
    seconds: tuple[float, float] = field(kw_only=True)
    """About how long it takes on one core, quick and whole: only for the time left."""
    measure: Callable[[Effort], Measured] = field(kw_only=True)
    judge: Callable[[Measured], Verdict] = field(kw_only=True)
    word: Callable[[Measured, Verdict], Words] = field(kw_only=True)
    draw: Callable[[Measured], Any] | None = field(kw_only=True, default=None)
    """Returns an Altair chart, titled, with a description for those who cannot see it."""
    repaired: str = field(kw_only=True, default="")
    """The repaired form; empty where the printed one stands."""
    stands: bool = field(kw_only=True, default=True)
    """Whether the printed form is expected to hold; where it is not, the repaired one is."""


def rate(what: str, failures: int, runs: int, promised: float) -> Check:
    """Check a promised failure probability: the count must not be a surprise under it.

    The check says what it can see: a true rate from there on is caught with probability `POWER`.
    """
    binom = need("scipy.stats", "research", "reproducing the paper").binom
    bar = int(binom.isf(SURPRISE, runs, min(1.0, promised)))
    return Check(
        f"{what}: failures in {runs} runs, promised rate {promised:.3g}; {_seen(bar, runs)}",
        failures,
        "<=",
        float(bar),
    )


def _seen(bar: int, runs: int) -> str:
    """Say which true rates would fail with probability `POWER`: those with more than `bar`."""
    if bar >= runs:
        return "no rate would be caught"
    beta = need("scipy.stats", "research", "reproducing the paper").beta
    least = float(beta.ppf(POWER, bar + 1, runs - bar))
    return f"rates from {least:.2g} on are caught"


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the slope of log y against log x by least squares, and its standard error."""
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    u = u - u.mean()
    fitted = float(u @ v / (u @ u))
    rest = v - v.mean() - fitted * u
    error = math.sqrt(float(rest @ rest) / max(1, len(u) - 2) / float(u @ u))
    return fitted, error
