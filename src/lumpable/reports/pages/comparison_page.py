"""The page of a comparison and its summary for a notebook: what the templates show.

Takes standings, computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lumpable.base.words import counted
from lumpable.comparisons.standing import COLOURED, ORACLE, Overall, Standing
from lumpable.reports.charts.figure_kinds import to_vega
from lumpable.reports.charts.figures import Figure, Series
from lumpable.reports.kit import canvas, theme
from lumpable.reports.kit.numbers import NOTHING, number, ranges, ratio, short_time
from lumpable.reports.kit.render import render
from lumpable.reports.pages import comparison_tables as tables


def page(
    overall: Overall,
    drawn: Sequence[Series],
    figures: Sequence[Figure],
    title: str,
    date: datetime,
) -> str:
    """Return the whole page."""
    several = len(overall.standings) > 1
    return render(
        "comparison.html",
        title=title,
        facts=facts(overall, date),
        best=tables.two_best(overall),
        notes=notes(overall),
        table=tables.overall_table(overall) if several else None,
        strip=first(figures, "strip"),
        worlds=[
            section(standing, [one for one in figures if one.world == place])
            for place, standing in enumerate(overall.standings)
        ],
        data=page_data(drawn, figures),
        script=canvas.script(),
    )


def page_data(drawn: Sequence[Series], figures: Sequence[Figure]) -> dict[str, Any]:
    """Return what the page's script draws: curves, figures, and each kind of figure once."""
    return {
        "series": drawn,
        "figures": {figure.key: figure.page() for figure in figures},
        "templates": {kind: to_vega(kind) for kind in sorted({one.kind for one in figures})},
    }


def facts(overall: Overall, date: datetime) -> list[tuple[str, str]]:
    """Return what was compared, in names and words."""
    comparison = overall.comparison
    worlds = comparison.worlds
    knowing = sum(map(bool, overall.knows))
    oracles = f", {knowing} of them with an oracle's knowledge" if knowing else ""
    seeds = sorted({seed for world in worlds for seed in world.seeds})
    horizons = sorted({world.horizon for world in worlds})
    rounds = f"{horizons[0]:,}" + (f" to {horizons[-1]:,}" if len(horizons) > 1 else "")
    cells = len(comparison.learners) * sum(len(world.seeds) for world in worlds)
    states = [status for world in worlds for status, _ in world.undone.values()]
    undone = "".join(
        f", {states.count(status):,} {status}"
        for status in ("failed", "not run", "not yet run")
        if status in states
    )
    return [
        ("Learners", f"{len(comparison.learners)}{oracles}"),
        ("Worlds", f"{len(worlds)}"),
        ("Seeds", f"{len(seeds)} ({ranges(seeds)})"),
        ("Rounds", rounds),
        ("Cells", f"{cells - len(states):,} of {cells:,} done{undone}"),
        ("Rows", f"{comparison.rows:,}"),
        ("Package", f"lumpable {', '.join(comparison.versions)}"),
        ("Page made", f"{date:%Y-%m-%d %H:%M %Z}"),
    ]


def notes(overall: Overall) -> list[str]:
    """Return what a reader must know before the numbers."""
    lines = []
    if overall.comparison.unfinished:
        lines.append("This run is not finished: what is below may change.")
    if all(len(world.seeds) == 1 for world in overall.comparison.worlds):
        lines.append("There is only one seed: no intervals, and luck and skill look the same.")
    return lines


# --- A world --------------------------------------------------------------------------------------


def section(standing: Standing, figures: Sequence[Figure]) -> dict[str, Any]:
    """Return what stands on the page of one world."""
    world = standing.world
    size = (
        f"{counted(world.contexts, 'context')}, {counted(world.arms, 'arm')}, "
        f"{counted(world.groups, 'hidden group')}, {counted(world.horizon, 'round')}, "
        f"{counted(len(world.seeds), 'seed')}."
    )
    return {
        "name": world.name,
        "size": size,
        "setting": world.setting,
        "buttons": [button(standing, i) for i in standing.shown],
        "grey": [button(standing, i) for i in standing.order if i not in standing.shown],
        "views": [one for one in figures if one.choice],
        "one_seed": len(world.seeds) == 1,
        "small": [one for one in figures if one.measure and not one.choice],
        "grouped": first(figures, "clusters") is not None,
        "ratios": tables.ratio_table(standing) if standing.order else None,
        "duels": tables.duel_table(standing) if len(standing.order) > 1 else None,
        "time": first(figures, "time"),
        "undone": tables.undone_table(standing),
    }


def first(figures: Sequence[Figure], kind: str) -> Figure | None:
    """Return the first figure of a kind, if there is one."""
    return next((one for one in figures if one.kind == kind), None)


def button(standing: Standing, i: int) -> dict[str, Any]:
    """Return a learner in the legend: its name, what it knows, how it is drawn."""
    look = standing.looks[i]
    dash = {theme.SOLID: "solid", theme.DASHED: "dashed", theme.DOTTED: "dotted"}
    return {
        "name": standing.world.learners[i],
        "knows": standing.world.knows[i],
        "look": look,
        "dash": dash[theme.DASHES[look]],
        "coloured": look < COLOURED or look == ORACLE,
    }


# --- A notebook -----------------------------------------------------------------------------------


def summary(overall: Overall, svg: str) -> str:
    """Return a short table and a picture, for a notebook; needs neither script nor style."""
    one = overall.standings[0] if len(overall.standings) == 1 else None
    lines = []
    for i in overall.order:
        cells = [ratio(float(overall.mean[i]))]
        if one is not None:
            cells.append(number(float(one.regret.mean[i])))
            cells.append(short_time(one.per_round(i) if one.order else math.nan))
        else:
            rank = overall.rank[i]
            cells.append(NOTHING if math.isnan(rank) else f"{rank:.1f}")
            cells.append(f"{overall.worlds[i]} of {len(overall.standings)}")
        lines.append((overall.comparison.learners[i], overall.knows[i], cells))
    heads = ("Regret", "Time per round") if one is not None else ("Mean rank", "Worlds")
    best, worlds = tables.two_best(overall), len(overall.standings)
    return render(
        "notebook.html", best=best, worlds=worlds, heads=("Ratio", *heads), lines=lines, svg=svg
    )
