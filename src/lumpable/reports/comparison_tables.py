"""The tables of the report, as HTML. Every name that comes from elsewhere is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from lumpable.comparisons.results import MISSING
from lumpable.comparisons.standing import Mark, Overall, Standing
from lumpable.comparisons.statistics import Ratio
from lumpable.reports.frame import head, scrolled
from lumpable.reports.numbers import (
    NOTHING,
    counted,
    duration_short,
    interval,
    listed,
    memory,
    number,
    span,
)

MOST_DUELS = 16
"""Learners in a table of pairs."""
SIGNIFICANT = 0.05
MANY_WORLDS = 8
"""Columns beyond which the table of all worlds has narrow cells, and may have to be scrolled."""
LEVELS = 9
"""Shades of a heat table."""


def table(caption: str, heads: Sequence[str], lines: Iterable[str], kind: str = "") -> str:
    """Return a table that scrolls by itself, also by keyboard; heads are HTML cells."""
    body = "\n".join(lines)
    return scrolled(
        caption.split(". ")[0].split(":")[0],
        f'<table class="{kind}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>\n{body}\n</tbody></table>",
    )


def named(learner: str, knows: str) -> str:
    """Return the head of a line: a learner, and what it knows."""
    told = f' <span class="knows">knows {escape(knows)}</span>' if knows else ""
    return f'<th scope="row">{escape(learner)}{told}</th>'


def right(text: str, kind: str = "") -> str:
    """Return a cell with a number."""
    return f'<td class="number{" " + kind if kind else ""}">{text}</td>'


def shade(value: float) -> str:
    """Return the class of a ratio in a heat table: 1 has none, 8 and more is the darkest.

    >>> shade(0.9), shade(1.0), shade(2.83), shade(50.0)
    ('under', 'heat-0', 'heat-4', 'heat-8')
    """
    if math.isnan(value):
        return ""
    if value < 0.995:
        return "under"
    level = (LEVELS - 1) * math.log(value) / math.log(8) if value < 8 else LEVELS - 1
    return f"heat-{round(max(0.0, level))}"


# --- All worlds -----------------------------------------------------------------------------------


def overall(all_: Overall) -> str:
    """Return the table of how learners stand over all worlds, and in each."""
    worlds = len(all_.standings)
    heads = [
        head("Learner"),
        head("Ratio", True, "geometric mean over its worlds"),
        head("Rank", True, "mean rank among fair peers"),
        head("Best in", True),
        head("Run in", True),
    ]
    for place, standing in enumerate(all_.standings, start=1):
        name = escape(standing.world.name)
        heads.append(
            f'<th scope="col" class="number"><a href="#world-{place}" title="{name}">{place}'
            f'<span class="unseen">: {name}</span></a></th>'
        )
    lines = [
        f"<tr>{named(all_.comparison.learners[i], all_.knows[i])}"
        + right(f"<strong>{span(float(all_.mean[i]))}</strong>")
        + right(NOTHING if math.isnan(all_.rank[i]) else f"{all_.rank[i]:.1f}")
        + right(NOTHING if all_.knows[i] else str(all_.first[i]))
        + right(f"{all_.worlds[i]} of {worlds}")
        + "".join(_heat_cell(one, i, place) for place, one in enumerate(all_.standings, 1))
        + "</tr>"
        for i in all_.order
    ]
    caption = (
        "All worlds: last regret relative to the best fair peer (1.00) in each world, numbered as "
        "below, and the geometric mean over the worlds in which a learner was run and the best has "
        "any regret. Orange is more, blue is less. Learners that were not run everywhere stand "
        "last; a star says that some seeds are not done. Ranks are among fair peers."
    )
    many = worlds > MANY_WORLDS
    words = '<p class="more">Scroll sideways for more worlds.</p>' if many else ""
    return words + table(caption, heads, lines, "heat many" if many else "heat")


def _heat_cell(standing: Standing, learner: int, place: int) -> str:
    value = standing.ratios[learner].value
    if standing.done(learner) and not math.isnan(value):
        best = " best" if standing.best == learner else ""
        part = "*" if standing.done(learner) < len(standing.world.seeds) else ""
        return right(span(value).rstrip("×") + part, shade(value) + best)
    if standing.done(learner):
        return right("no peer", "undone")
    states = {standing.world.undone[learner, k][0] for k in range(len(standing.world.seeds))}
    words = "failed" if "failed" in states else "not run" if "not run" in states else MISSING
    return right(f'<a href="#undone-{place}">{words}</a>', "undone")


# --- One world ------------------------------------------------------------------------------------


def ratios(standing: Standing) -> str:
    """Return the table of a world: regret, ratios with intervals, time and size."""
    world = standing.world
    heads = [head("", True), head("Learner"), head("Regret", True)]
    heads += [_mark_head(standing, mark) for mark in standing.marks]
    heads += [head("Time a round", True), head("Memory", True), head("Seeds", True)]
    lines = []
    rank = 0
    for i in standing.order:
        fair = not world.knows[i]
        rank += fair
        half = standing.regret.high[i] - standing.regret.mean[i]
        error = "" if math.isnan(half) else f" <small>± {number(float(half))}</small>"
        best = ' class="best"' if i == standing.best else ""
        lines.append(
            f"<tr{best}>{right(str(rank) if fair else '')}"
            + named(world.learners[i], world.knows[i])
            + right(number(float(standing.regret.mean[i])) + error)
            + "".join(_ratio_cell(mark.ratios[i], mark.best == i) for mark in standing.marks)
            + right(duration_short(standing.per_round(i)))
            + right(memory(standing.size(i)))
            + right(str(standing.done(i)))
            + "</tr>"
        )
    many = any(standing.done(i) > 1 for i in standing.order)
    what = "with paired 95 % intervals" if many else "without intervals, for there is one seed"
    caption = (
        f"Regret: after {int(world.rounds[-1]):,} rounds, and relative to the best fair peer at "
        f"three times, {what}."
    )
    return table(caption, heads, lines, "ratios")


def _mark_head(standing: Standing, mark: Mark) -> str:
    name = "no fair peer" if mark.best is None else standing.world.learners[mark.best]
    return head(
        f"At {mark.round:,}<small>1 = {escape(name)}</small>", True, f"relative to {name}"
    )  # fmt: skip


def _ratio_cell(ratio: Ratio, best: bool) -> str:
    if best or math.isnan(ratio.value):
        return right("1" if best else NOTHING)
    words = interval(ratio)
    return right(span(ratio.value).rstrip("×") + (f" <small>{words}</small>" if words else ""))


def duels(standing: Standing) -> str:
    """Return the table of pairs: how often a line's learner had less regret than a column's."""
    shown = standing.order[:MOST_DUELS]
    names = standing.world.learners
    places = {i: k for k, i in enumerate(shown, start=1)}
    heads = [head("", True), head("Less regret than")]
    heads += [
        head(f'{places[i]}<span class="unseen">: {escape(names[i])}</span>', True, names[i])
        for i in shown
    ]
    lines = []
    for i in shown:
        cells = []
        for j in shown:
            duel = standing.duel(i, j)
            if i == j or duel.pairs == 0:
                cells.append(right("" if i == j else NOTHING, "self" if i == j else ""))
                continue
            kind = f"win-{round(10 * duel.share)}" + (" sure" if duel.p < SIGNIFICANT else "")
            cells.append(right(f"{100 * duel.share:.0f}", kind))
        head_ = named(names[i], standing.world.knows[i])
        lines.append(f"<tr>{right(str(places[i]))}{head_}{''.join(cells)}</tr>")
    pairs = len(shown) * (len(shown) - 1) // 2
    left = len(standing.order) - len(shown)
    caption = (
        "Pairs: the percentage of seeds in which the learner of the line had less regret at the "
        "end than that of the column, ties counted half. Bold and underlined: "
        f"p < {SIGNIFICANT} in the two-sided sign test, not corrected for the "
        f"{counted(pairs, 'pair')}"
        + (", and out of reach with fewer than six seeds" if len(standing.world.seeds) < 6 else "")
        + "."
        + (f" The {len(shown)} with least regret; {left} more are left out." if left else "")
    )
    return table(caption, heads, lines, "duels")


def undone(standing: Standing) -> str:
    """Return the table of what was not run or failed, with reasons; nothing if all was done."""
    world = standing.world
    found: dict[tuple[int, str, str], dict[int, str]] = {}
    for (learner, k), (status, reason) in sorted(world.undone.items()):
        seed = world.seeds[k]
        found.setdefault((learner, status, _first(reason, seed)), {})[seed] = reason
    if not found:
        return ""
    lines = [
        f"<tr>{named(world.learners[learner], world.knows[learner])}"
        f'<td><span class="{status.replace(" ", "-")}">{status}</span></td>'
        f"<td>{listed(list(reasons))}</td><td>{_reason(first, reasons)}</td></tr>"
        for (learner, status, first), reasons in found.items()
    ]
    heads = [head("Learner"), head("What"), head("Seeds"), head("Why")]
    cells = counted(len(world.undone), "cell")
    total = len(world.learners) * len(world.seeds)
    caption = f"Not run and failed: {cells} of {total:,} in this world."
    return table(caption, heads, lines, "undone")


def _first(reason: str, seed: int) -> str:
    """Return the first line of a reason, without the cell that it is about."""
    line = reason.strip().partition("\n")[0]
    return line.partition(f", seed {seed}: ")[2] or line


def _reason(first: str, reasons: Mapping[int, str]) -> str:
    """Return the line that all seeds share, and on demand all that the first of them says."""
    seed, whole = next(iter(reasons.items()))
    if "\n" not in whole.strip():
        return escape(first) or "no rows yet"
    of = f"Seed {seed}:\n" if len(reasons) > 1 else ""
    return (
        f"<details><summary>{escape(first)}</summary>"
        f'<pre tabindex="0">{of}{escape(whole.strip())}</pre></details>'
    )


def notable(all_: Overall) -> str:
    """Say in a sentence or two what came out over all worlds."""
    fair = [i for i in all_.order if not all_.knows[i] and not np.isnan(all_.mean[i])]
    if not fair:
        return "No fair peer was run, so that there is nothing to compare with."
    names = [escape(name) for name in all_.comparison.learners]
    best = fair[0]
    worlds = len(all_.standings)
    if worlds == 1:
        lost = number(float(all_.standings[0].regret.mean[best]))
        said = f"Among fair peers <strong>{names[best]}</strong> lost least: {lost}"
        if len(fair) > 1:
            said += f"; next was {names[fair[1]]} with {span(float(all_.mean[fair[1]]))} as much"
        return said + "."
    said = (
        f"Over {worlds} worlds <strong>{names[best]}</strong> did best among fair peers: its "
        f"regret is {span(float(all_.mean[best]))} that of each world's best, in geometric mean"
    )
    if len(fair) > 1:
        said += f"; next is {names[fair[1]]} with {span(float(all_.mean[fair[1]]))}"
    return said + "."
