"""The tables of a comparison, as values: how learners stand in all worlds, and in each."""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.words import counted
from lumpable.comparisons.results import MISSING
from lumpable.comparisons.standing import Overall, Standing
from lumpable.comparisons.statistics import Ratio
from lumpable.reports.kit.numbers import (
    NOTHING,
    interval,
    memory,
    number,
    ranges,
    ratio,
    short_time,
)
from lumpable.reports.kit.table import Cell, Line, Table, figure

MOST_DUELS = 16
"""Learners in a table of pairs."""
SIGNIFICANT = 0.05
MANY_WORLDS = 8
"""Columns beyond which the table of all worlds has narrow cells, and may have to be scrolled."""
DARKEST = 8.0
"""The ratio of the strongest colour."""


def shade(value: float) -> tuple[str, int]:
    """Return the colour of a ratio, and how many per cent of it: 1 has none.

    >>> shade(0.9), shade(1.0), shade(2.83), shade(50.0)
    (('cool', 55), ('warm', 0), ('warm', 44), ('warm', 88))
    """
    if value < 0.995:
        return "cool", 55
    return "warm", 11 * round(8 * min(1.0, max(0.0, math.log(value) / math.log(DARKEST))))


# --- All worlds -----------------------------------------------------------------------------------


def overall_table(overall: Overall) -> Table:
    """Return the table of how learners stand over all worlds, and in each."""
    heads = [
        Cell("Learner"),
        figure("Ratio", title="geometric mean over its worlds"),
        figure("Rank", title="mean rank among fair peers"),
        figure("Best in"),
        figure("Run in"),
    ]
    for place, standing in enumerate(overall.standings, start=1):
        name = standing.world.name
        heads.append(figure(f"{place}", title=name, hidden=f": {name}", link=f"world-{place}"))
    many = len(overall.standings) > MANY_WORLDS
    return Table(
        "All worlds",
        heads,
        [_overall_line(overall, i) for i in overall.order],
        "All worlds: last regret relative to the best fair peer (1.00) in each world, numbered as "
        "below, and the geometric mean over the worlds in which a learner was run and the best has "
        "any regret. Orange is more, blue is less. Learners that were not run everywhere stand "
        "last; a star says that some seeds are not done. Ranks are among fair peers.",
        "heat many" if many else "heat",
    )


def _overall_line(overall: Overall, i: int) -> Line:
    rank, knows = overall.rank[i], overall.knows[i]
    cells = [
        Cell(overall.comparison.learners[i], knows=knows),
        figure(ratio(float(overall.mean[i])), "strong"),
        figure(NOTHING if math.isnan(rank) else f"{rank:.1f}"),
        figure(NOTHING if knows else str(overall.first[i])),
        figure(f"{overall.worlds[i]} of {len(overall.standings)}"),
    ]
    standings = enumerate(overall.standings, start=1)
    return Line(cells + [_heat_cell(one, i, place) for place, one in standings])


def _heat_cell(standing: Standing, learner: int, place: int) -> Cell:
    value, seeds = standing.ratios[learner].value, len(standing.world.seeds)
    if standing.done(learner) and not math.isnan(value):
        colour, share = shade(value)
        best = " best" if standing.best == learner else ""
        part = "*" if standing.done(learner) < seeds else ""
        return figure(ratio(value).rstrip("×") + part, colour + best, share=share)
    if standing.done(learner):
        return figure("no peer", "undone")
    states = {standing.world.undone[learner, k][0] for k in range(seeds)}
    words = "failed" if "failed" in states else "not run" if "not run" in states else MISSING
    return figure(words, "undone", link=f"undone-{place}")


# --- One world ------------------------------------------------------------------------------------


def ratio_table(standing: Standing) -> Table:
    """Return the table of a world: regret, ratios with intervals, time and size."""
    world = standing.world
    heads = [figure(""), Cell("Learner"), figure("Regret")]
    for mark in standing.marks:
        name = "no fair peer" if mark.best is None else world.learners[mark.best]
        heads.append(figure(f"At {mark.round:,}", note=f"1 = {name}", title=f"relative to {name}"))
    heads += [figure("Time per round"), figure("Memory"), figure("Seeds")]
    fair = [i for i in standing.order if not world.knows[i]]
    many = any(standing.done(i) > 1 for i in standing.order)
    what = "with paired 95 % intervals" if many else "without intervals (there is only one seed)"
    return Table(
        "Regret",
        heads,
        [
            _ratio_line(standing, i, str(fair.index(i) + 1) if i in fair else "")
            for i in standing.order
        ],
        f"Regret: after {int(world.rounds[-1]):,} rounds, and relative to the best fair peer at "
        f"three times, {what}.",
        "ratios",
        head=1,
    )


def _ratio_line(standing: Standing, i: int, rank: str) -> Line:
    half = float(standing.regret.high[i] - standing.regret.mean[i])
    error = "" if math.isnan(half) else f"± {number(half)}"
    cells = [
        figure(rank),
        Cell(standing.world.learners[i], knows=standing.world.knows[i]),
        figure(number(float(standing.regret.mean[i])), note=error),
        *(_ratio_cell(mark.ratios[i], mark.best == i) for mark in standing.marks),
        figure(short_time(standing.per_round(i))),
        figure(memory(standing.size(i))),
        figure(str(standing.done(i))),
    ]
    return Line(cells, "best" if i == standing.best else "")


def _ratio_cell(of: Ratio, best: bool) -> Cell:
    if best or math.isnan(of.value):
        return figure("1" if best else NOTHING)
    return figure(ratio(of.value).rstrip("×"), note=interval(of.low, of.high))


def duel_table(standing: Standing) -> Table:
    """Return the table of pairs: how often a line's learner had less regret than a column's."""
    shown, names = standing.order[:MOST_DUELS], standing.world.learners
    places = dict(zip(shown, range(1, len(shown) + 1), strict=True))
    heads = [figure(""), Cell("Less regret than")]
    heads += [figure(str(places[i]), title=names[i], hidden=f": {names[i]}") for i in shown]
    lines = [
        Line([
            figure(str(places[i])),
            Cell(names[i], knows=standing.world.knows[i]),
            *(_duel_cell(standing, i, j) for j in shown),
        ])
        for i in shown
    ]  # fmt: skip
    left = len(standing.order) - len(shown)
    caption = (
        "Pairs: the percentage of seeds in which the learner of the line had less regret at the "
        "end than that of the column, ties counted half. Bold and underlined: "
        f"p < {SIGNIFICANT} in the two-sided sign test, not corrected for the "
        f"{counted(len(shown) * (len(shown) - 1) // 2, 'pair')}"
        + (", and out of reach with fewer than six seeds" if len(standing.world.seeds) < 6 else "")
        + "."
        + (f" The {len(shown)} with least regret; {left} more are left out." if left else "")
    )
    return Table("Pairs", heads, lines, caption, "duels", head=1)


def _duel_cell(standing: Standing, i: int, j: int) -> Cell:
    duel = standing.duel(i, j)
    if i == j or duel.pairs == 0:
        return figure("" if i == j else NOTHING, "self" if i == j else "")
    tenths = round(10 * duel.share) - 5
    colour = ("cool" if tenths > 0 else "warm") + (" sure" if duel.p < SIGNIFICANT else "")
    return figure(f"{100 * duel.share:.0f}", colour, share=14 * abs(tenths))


def undone_table(standing: Standing) -> Table | None:
    """Return the table of what was not run or failed, with reasons; None if all was done."""
    world = standing.world
    alike: dict[tuple[int, str, str], dict[int, str]] = {}
    for (learner, k), (status, reason) in sorted(world.undone.items()):
        seed = world.seeds[k]
        alike.setdefault((learner, status, _first_line(reason, seed)), {})[seed] = reason
    if not alike:
        return None
    lines = [
        Line([
            Cell(world.learners[learner], knows=world.knows[learner]),
            Cell(status, kind=status.replace(" ", "-")),
            Cell(ranges(list(reasons))),
            _reason_cell(first, reasons),
        ])
        for (learner, status, first), reasons in alike.items()
    ]  # fmt: skip
    cells, total = counted(len(world.undone), "cell"), len(world.learners) * len(world.seeds)
    caption = f"Not run and failed: {cells} of {total:,} in this world."
    heads = [Cell("Learner"), Cell("What"), Cell("Seeds"), Cell("Why")]
    return Table("Not run and failed", heads, lines, caption, "undone")


def _first_line(reason: str, seed: int) -> str:
    """Return the first line of a reason, without the cell that it is about."""
    line = reason.strip().partition("\n")[0]
    return line.partition(f", seed {seed}: ")[2] or line


def _reason_cell(first: str, reasons: dict[int, str]) -> Cell:
    """Return the line that all seeds share, and on demand all that the first of them says."""
    seed, whole = next(iter(reasons.items()))
    if "\n" not in whole.strip():
        return Cell(first or "no rows yet")
    of = f"Seed {seed}:\n" if len(reasons) > 1 else ""
    return Cell(first, fold=of + whole.strip())


# --- In a sentence --------------------------------------------------------------------------------


def two_best(overall: Overall) -> list[tuple[str, float, float]]:
    """Return name, ratio and last regret in the first world of the two best fair peers, if any."""
    fair = [i for i in overall.order if not overall.knows[i] and not np.isnan(overall.mean[i])]
    regret = overall.standings[0].regret.mean
    names = overall.comparison.learners
    return [(names[i], float(overall.mean[i]), float(regret[i])) for i in fair[:2]]
