"""Claims that are still one function, in the frame of four. Goes when the last is converted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words


@dataclass(frozen=True, slots=True)
class Finding:
    """What one function measured, judged, worded and drew."""

    setting: str
    seeds: int
    printed: tuple[Check, ...]
    broken: tuple[Check, ...]
    repaired: tuple[Check, ...] = ()
    words: str = ""
    figure: Any = None


CLAIMS: dict[int, Claim] = {}


@dataclass(frozen=True, slots=True)
class Whole:
    """Measures by the one function, and keeps all that it said."""

    func: Callable[[Effort], Finding]

    def __call__(self, effort: Effort) -> Measured:
        """Measure."""
        found = self.func(effort)
        figure = None if found.figure is None else found.figure.to_dict()
        checks = {
            form: [asdict(check) for check in getattr(found, form)]
            for form in ("printed", "broken", "repaired")
        }
        said = {"setting": found.setting, "words": found.words, "figure": figure}
        return Measured(seeds=found.seeds, setting={}, facts={"checks": checks, **said})


def judge(measured: Measured) -> Verdict:
    """Return the checks."""
    checks = measured.facts["checks"]
    return Verdict(**{form: tuple(Check(**one) for one in checks[form]) for form in checks})


def word(measured: Measured, verdict: Verdict) -> Words:
    """Return the words."""
    return Words(measured.facts["setting"], measured.facts["words"])


def draw(measured: Measured) -> Any:
    """Return the figure."""
    return measured.facts["figure"]


def claim(
    number: int, title: str, **said: Any
) -> Callable[[Callable[[Effort], Finding]], Callable[[Effort], Finding]]:
    """Put one function into the frame."""

    def register(measure: Callable[[Effort], Finding]) -> Callable[[Effort], Finding]:
        CLAIMS[number] = Claim(
            number, title, **said, measure=Whole(measure), judge=judge, word=word, draw=draw
        )
        return measure

    return register
