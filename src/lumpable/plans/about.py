"""What a plan is, as a value, so that no code has to guess it from a name or a sentence.

Words and formulas only; runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lumpable.plans.bounds import Promise, Rate
from lumpable.plans.lengths import Phase
from lumpable.plans.problem import Constants, Problem

Kind = Literal[
    "",
    "estimating",
    "collecting",
    "listing",
    "testing",
    "screening",
    "settling",
    "exploring",
    "splitting",
    "eliminating",
    "frozen",
    "side by side",
    "serving",
]
"""What a request is for; empty where a plan does not say."""

Assumption = Literal["enough groups", "even contexts", "equal groups"]
"""What a theorem assumes of the world: it has at most `problem.groups` groups, contexts come about
equally often, groups are of equal size."""


@dataclass(frozen=True, slots=True)
class About:
    """What a plan is called, what it promises and what it needs."""

    title: str = ""
    """Its name in words: "Algorithm 3"."""
    summary: str = ""
    """What it does, in half a sentence."""
    option: str = ""
    """Its name on the command line; a method with another goal may have the same."""
    endless: bool = False
    """Whether it plays for low regret until it is cut off; else it ends with a policy."""
    promise: Promise | None = None
    """What it promises about its final policy."""
    rate: Rate | None = None
    """How its regret grows."""
    phase: Callable[[Problem, int, Constants], Phase] | None = None
    """The lengths of its phases, if it has phases with clusters."""
    assumes: frozenset[Assumption] = frozenset()
    low_rank: bool = False
    """Whether `problem.groups` is a rank."""
    guesses: bool = False
    """Whether `problem.groups` is at most its first guess: a method may ignore it."""
    name: str = ""
    """Its public path, `lumpable.pac.near_uniform`: files keep it. Set by `algorithm`."""
    method: str = ""
    """The last part of its name. Set by `algorithm`."""
    takes: tuple[str, ...] = ()
    """The names of its arguments. Set by `algorithm`."""

    @property
    def mendable(self) -> bool:
        """Whether it has a repaired form: `mended=True`."""
        return "mended" in self.takes
