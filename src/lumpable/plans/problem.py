"""The size of a problem and two sets of constants: frozen values, valid once made."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest

LARGEST = 1e50
"""With larger constants, request lengths would overflow."""


@dataclass(frozen=True, slots=True)
class Problem:
    """S contexts, K arms, r groups: all that a plan knows beforehand.

    >>> Problem(contexts=1000, arms=200, groups=5)
    Problem(contexts=1000, arms=200, groups=5)
    >>> Problem(contexts=4, arms=3, groups=5)
    Traceback (most recent call last):
    ...
    lumpable.base.errors.BadArgument: groups: expected one of 1 .. 4, got 5
    """

    contexts: int
    arms: int
    groups: int

    def __post_init__(self) -> None:
        contexts = checks.whole("contexts", self.contexts, 1)
        arms = checks.whole("arms", self.arms, 1)
        groups = checks.whole("groups", self.groups, 1, contexts)
        for name, value in (("contexts", contexts), ("arms", arms), ("groups", groups)):
            object.__setattr__(self, name, value)

    @property
    def letters(self) -> tuple[int, int, int]:
        """(S, K, r), for formulas."""
        return self.contexts, self.arms, self.groups


@dataclass(frozen=True, slots=True)
class Constants:
    """Every constant factor of the paper's algorithms; `PAPER` holds them as printed.

    `str()` names the constants that differ from the printed ones, for results to report. Smaller
    constants mean fewer samples and void the proofs.

    >>> str(PAPER)
    'PAPER'
    >>> str(dataclasses.replace(PAPER, policy=64))
    'PAPER with policy = 64 (printed 4)'
    """

    confidence: float = 16.0
    """lg = confidence x log(rSK/delta): Algorithm 1, line 1."""
    explore: float = 1.0
    """L = explore x r (S + K) lg / epsilon^2: Algorithm 1, line 2."""
    test: float = 8.0
    """L' = test x lg 2^n S: Algorithm 1, line 9."""
    policy: float = 4.0
    """Step 3 takes policy x S / epsilon^2 log(SK/delta) rounds for each candidate: line 12."""
    arrivals: float = 4.0
    """J = arrivals x S / epsilon log(S/delta): Algorithm 3, line 1."""
    stretch: float = 4.0
    """A request of a bucket becomes stretch / frequency as many rounds (reading 17)."""
    whole: float = 524.0
    """N = whole x log(rSK/delta) (1 + 2 log2(1/epsilon))^2 r (S + K) / epsilon^2."""
    phase: float = 64.0
    """lg_h = phase x log(rSK/delta_h): Algorithm 4, line 4."""
    levels: float = 128.0
    """lg_h = levels x log(rSKN_h/delta_h): Algorithm 6, line 4."""
    taper: float = 0.5
    """L_{h,n} = r (S + K) lg_h 2^(h - taper (h - n)): Algorithm 6, line 6."""
    split: float = 64.0
    """lg = split x log(S/delta'): Algorithm 5, line 2."""
    finer: float = 4.0
    """epsilon' = epsilon_h / (finer x r): Algorithm 4, line 8; Algorithm 6, line 9."""
    online: float = 8.0
    """J = online x sqrt(ST) log(2ST) rounds estimate frequencies online (reading 31)."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "taper" and value == 0:
                continue  # every level as long as the deepest: costs regret, nothing else
            number = checks.real(field.name, value, "a positive number", 0.0, math.inf)
            if number > LARGEST:
                raise BadArgument(field.name, f"at most {LARGEST:g}", repr(value))
            object.__setattr__(self, field.name, number)

    def __str__(self) -> str:
        changed = [
            f"{field.name} = {getattr(self, field.name):g} (printed {field.default:g})"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return "PAPER with " + ", ".join(changed) if changed else "PAPER"


PAPER = Constants()
"""The constants as printed in the paper; its theorems cover none below them."""


def changed_constants(changes: Mapping[str, float] | None) -> Constants:
    """Return the printed constants with these changes; an unknown name is an error."""
    names = [field.name for field in dataclasses.fields(Constants)]
    if changes is not None and not isinstance(changes, Mapping):
        raise BadArgument("constants", "names and numbers", repr(changes))
    for name in changes or {}:
        if name not in names:
            got = f"{name!r}{nearest(name, names)}"
            raise BadArgument("constants", f"some of {', '.join(names)}", got)
    return dataclasses.replace(PAPER, **(changes or {}))


class Tight(enum.Enum):
    """The type of `TIGHT`, which has nothing to change: its numbers are proved as a whole."""

    TIGHT = "TIGHT"

    def __repr__(self) -> str:
        return self.value

    def __str__(self) -> str:
        return self.value


TIGHT = Tight.TIGHT
"""Small constants with a proof, for `regret.fresh_phases` and `regret.fresh_guesses` only.

Another kind of lengths, intervals and eliminations, not other numbers in the printed formulas;
`fresh_lengths` has the formulas and what their proof asks of them.
"""
