"""The page of `beyond.py`: bars, ratios, regrets. Runs nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from beyond_runs import CLUSTERS, FORMS, METHODS, STANDARD, WORLDS, Size
from page_tables import table
from protocol.bars import Bar
from protocol.ratios import Ratio, ratio

TEXT = """\
# {title}

Made by `{command}` on {date}.
All runs took {minutes:.0f} minutes, one after another.
The plans are those of commit {commit}.
Worlds and luck come from seeds that follow from this commit by SHA-256.

[Candidates](../explanation/beyond.md) have regret of order √(min(r(S+K), SK)T). This page shows
what they lose in T = {horizon} rounds, and where others lose less. Sizes are (S, K, r): contexts,
arms, groups of equal size. Contexts come equally often, and noise is normal with sd 1. Runs are
simulated exactly in law, request by request.

- **Methods.** `regret.candidates(problem)` is told neither r nor T; "told T" is the same with
  `horizon=T`. Algorithm 6 (`regret.any_groups`) and `regret.fresh_phases` are told r. "Standard" is
  `standard.online`: elimination on each context by itself, which knows of no groups.
- **Worlds.** *Random means* are uniform on [0, 1], so that most arms are far from the best.
  *Hidden arms, u*: one arm is fairly good for everybody, one arm for each group is better by a gap
  of u √(r(S+K)/T), and all others are worse by as much (`worlds.hidden_arms`). So for the same u
  gaps grow with the size.
- **Figures.** Means over {seeds} seeds, the same worlds for all methods, with standard errors in
  brackets. With so few seeds the errors themselves are rough.{fewer}

{clusters}## Against the standard algorithm

The regret of candidates divided by that of the standard algorithm, by the number of contexts and
arms: below 1, candidates lose less. {crossings}A ratio just below 1 says little where the standard
algorithm loses as much as arms drawn at random (the [table of regret](#regret)): neither has learnt
much by then. Sizes of all pages stand side by side in
[one table](../explanation/beyond.md#all-sizes-in-one-table).

{squares}

## Where candidates lose more than the standard algorithm

By more than two standard errors, at all sizes of this page:

{losses}

## Regret

{regrets}

{left_out}
{single}"""


CROSSINGS = """\
The crossing is where that begins, by more than two
standard errors, and lasts up to the largest size of this page. It may end at larger ones, which
have pages of their own: [2,500](beyond-large.md) and [5,000](beyond-largest.md). Ratios may also
rise with the size, as gaps do. """
CLUSTERS_PART = """\
{verdict}

## Against Algorithm 6

How many times less candidates lose than Algorithm 6, which is told r. The bars were fixed before
these runs, and are asked of every world.

{bars}

Where Algorithm 6 loses as much as arms drawn at random (the last column of the
[table of regret](#regret)), it has learnt nothing by then. With small gaps even that is little, and
there is less to save: the last column here says how many times less the best method of this page
loses.

"""


@dataclass(frozen=True, slots=True)
class About:
    """What the page says of its own making."""

    title: str

    command: str
    commit: str
    date: str
    horizon: int
    seeds: int


@dataclass(frozen=True, slots=True)
class Cell:
    """What every method lost at a size in worlds of a kind, a number for each seed."""

    size: Size
    world: str
    regret: Mapping[str, Sequence[float]]
    at_random: Sequence[float]
    """What random arms lose in expectation."""
    seconds: float
    """What all runs took, one after another."""

    @property
    def seeds(self) -> int:
        """How many worlds were run."""
        return len(self.at_random)

    def against_standard(self, form: str) -> Ratio:
        """The regret of a form of candidates divided by that of the standard algorithm."""
        return ratio(self.regret[form], self.regret[STANDARD], STANDARD)

    def below_clusters(self, method: str) -> Ratio:
        """How many times less than Algorithm 6 a method loses."""
        return ratio(self.regret[CLUSTERS], self.regret[method], CLUSTERS)


Asked = Mapping[Size, float | None]
"""How many times below Algorithm 6 candidates must be, by size; None if nothing is asked."""


def enough(cells: Sequence[Cell]) -> list[Cell]:
    """Return those with two seeds or more: an error can be given."""
    return [cell for cell in cells if cell.seeds > 1]


def bars(cell: Cell, asked: Asked) -> list[Bar]:
    """Return a bar for each form of candidates, if one is asked for at this size."""
    times = asked.get(cell.size)
    if times is None:
        return []
    found = {form: cell.below_clusters(form) for form in FORMS}
    return [
        Bar(f"{form} in {cell.size}, {cell.world}", low=times, value=below.value, error=below.error)
        for form, below in found.items()
    ]


def _against_clusters(cells: Sequence[Cell], asked: Asked) -> str:
    """Return the part about bars; empty if none is asked for at these sizes."""
    words = CLUSTERS_PART.format(verdict=verdict(cells, asked), bars=bar_table(cells, asked))
    return words * any(asked.get(cell.size) for cell in cells)


def bar_table(cells: Sequence[Cell], asked: Asked) -> str:
    """Return how many times less both forms lose, and the best method, at sizes with a bar."""
    rows = []
    for cell in cells:
        if here := bars(cell, asked):
            best = min(cell.regret, key=lambda name: sum(cell.regret[name]))
            row = [str(cell.size), cell.world, f"at least {here[0].low:,.0f}"]
            row += [*map(_measured, here), f"{best}: {_times(cell.below_clusters(best))}"]
            rows.append(row)
    return table(["size", "world", "asked for", *FORMS, "best method"], rows)


def verdict(cells: Sequence[Cell], asked: Asked) -> str:
    """Say how many bars are met, and in which worlds the others were missed."""
    judged = [(cell.world, bar.met) for cell in cells for bar in bars(cell, asked)]
    missed = Counter(world for world, met in judged if not met)
    words = f"**{len(judged) - missed.total()} of {len(judged)} bars met.**"
    named = "; ".join(f"{number} with {world}" for world, number in missed.items())
    return words + (f" Missed: {named}." if missed else "")


def _measured(bar: Bar) -> str:
    words = _times(Ratio(bar.value or 0.0, bar.error or 0.0))
    return words if bar.met else f"**missed:** {words}"


def _times(found: Ratio) -> str:
    if found.value < 100:
        return str(found)
    return f"{found.value:,.0f} ({found.error:,.0f})"


def page(cells: Sequence[Cell], asked: Asked, about: About) -> str:
    """Return the page in Markdown; cells with fewer than two seeds are named at the end."""
    few = [cell for cell in cells if cell.seeds < 2]
    cells = enough(cells)
    minutes = sum(cell.seconds for cell in [*cells, *few]) / 60
    some = "\n  Some sizes have fewer seeds so far: see the table of regret."
    fewer = some * any(cell.seeds < about.seeds for cell in cells)
    return TEXT.format(
        command=about.command, date=about.date, minutes=minutes, commit=about.commit,
        horizon=f"{about.horizon:.0e}".replace("e+", "e").replace("e0", "e"), seeds=about.seeds,
        title=about.title, clusters=_against_clusters(cells, asked), squares=square_table(cells),
        crossings=CROSSINGS * (len(_numbers(cells)) > 1),
        losses=loss_table(cells), regrets=regret_table(cells), left_out=_left_out(cells),
        fewer=fewer, single=_single(few),
    )  # fmt: skip


def square_table(cells: Sequence[Cell]) -> str:
    """Return ratios to the standard algorithm by S = K, a row for each r, world and form.

    With one size there is no crossing to speak of.
    """
    series, numbers = _series(cells), _numbers(cells)
    several = len(numbers) > 1
    rows = []
    for (groups, world), each in series.items():
        for form in FORMS:
            ratios = {cell.size.contexts: cell.against_standard(form) for cell in each}
            shown = [str(ratios[n]) if n in ratios else "" for n in numbers]
            rows.append([str(groups), world, form, *shown, *[crossing(ratios)][:several]])
    heads = ["r", "world", "form", *(f"S = K = {n:,}" for n in numbers), *["crossing"][:several]]
    return table(heads, rows) if rows else "No size with S = K was run."


def _numbers(cells: Sequence[Cell]) -> list[int]:
    """Return every n with S = K = n, smallest first."""
    return sorted({cell.size.contexts for each in _series(cells).values() for cell in each})


def _series(cells: Sequence[Cell]) -> dict[tuple[int, str], list[Cell]]:
    """Return cells with S = K by groups and world, smallest first."""
    found: dict[tuple[int, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.size.groups, WORLDS.index(cell.world))):
        if cell.size.contexts == cell.size.arms:
            found.setdefault((cell.size.groups, cell.world), []).append(cell)
    return {key: sorted(each, key=lambda cell: cell.size) for key, each in found.items()}


def crossing(ratios: Mapping[int, Ratio]) -> str:
    """Say between which sizes ratios fall below 1 for good, by more than two standard errors.

    >>> crossing({300: Ratio(1.2, 0.01), 600: Ratio(0.9, 0.01), 1000: Ratio(0.8, 0.01)})
    'between 300 and 600'
    >>> crossing({300: Ratio(0.9, 0.01)}), crossing({300: Ratio(0.99, 0.01)})
    ('at most 300', 'not by 300')
    """
    numbers = sorted(ratios)
    not_below = [n for n in numbers if ratios[n].value + 2 * ratios[n].error >= 1]
    if not not_below:
        return f"at most {numbers[0]:,}"
    last = not_below[-1]
    later = [n for n in numbers if n > last]
    return f"between {last:,} and {later[0]:,}" if later else f"not by {last:,}"


def loss_table(cells: Sequence[Cell]) -> str:
    """Return for each form and world at how many sizes it loses more, and how much at worst."""
    rows = []
    for form in FORMS:
        for world in WORLDS:
            found = [(cell.against_standard(form), cell.size) for cell in cells
                     if cell.world == world]  # fmt: skip
            lost = [each for each, _ in found if each.value - 2 * each.error > 1]
            if not found:
                continue
            worst, at_worst = max(found, key=lambda each: each[0].value)
            best, at_best = min(found, key=lambda each: each[0].value)
            rows.append([form, world, f"{len(lost)} of {len(found)}", f"{worst} at {at_worst}",
                         f"{best} at {at_best}"])  # fmt: skip
    return table(["form", "world", "loses more", "worst ratio", "best ratio"], rows)


def regret_table(cells: Sequence[Cell]) -> str:
    """Return the mean regret of every method, a row for each size and world."""
    rows = [
        [str(cell.size), cell.world, str(cell.seeds),
         *(amount(cell.regret[name]) if name in cell.regret else "" for name in METHODS),
         amount(cell.at_random)]
        for cell in cells
    ]  # fmt: skip
    return table(["size", "world", "seeds", *METHODS, "arms at random"], rows)


def amount(values: Sequence[float]) -> str:
    """Return a mean with its standard error, in powers of ten.

    >>> amount([1.1e9, 1.3e9])
    '1.20 (0.10) e9'
    """
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    if mean <= 0:
        return f"{mean:.2f} ({error:.2f})"
    power = math.floor(math.log10(mean))
    return f"{mean / 10**power:.2f} ({error / 10**power:.2f}) e{power}"


def _left_out(cells: Sequence[Cell]) -> str:
    sizes = sorted({cell.size for cell in cells if CLUSTERS not in cell.regret})
    if not sizes:
        return "Every method ran at every size."
    named = ", ".join(map(str, sizes))
    return f"Algorithm 6 and fresh phases were not run at {named}, to save time."


def _single(few: Sequence[Cell]) -> str:
    """Return what was run with one seed, and name what was not run."""
    rows = [
        [str(cell.size), cell.world, *(f"{cell.regret[form][0] / cell.regret[STANDARD][0]:.2f}"
                                       for form in FORMS)]
        for cell in few if cell.seeds
    ]  # fmt: skip
    parts = []
    if rows:
        parts.append(
            "One seed, so that no error can be given: regret divided by the standard one's."
        )
        parts.append(table(["size", "world", *FORMS], rows))
    if missing := [cell for cell in few if not cell.seeds]:
        parts.append("Not run yet:\n")
    for size in dict.fromkeys(cell.size for cell in missing):
        named = "; ".join(cell.world for cell in missing if cell.size == size)
        parts[-1] += f"\n- {size}: {named}"
    return "".join(f"\n{part}\n" for part in parts)
