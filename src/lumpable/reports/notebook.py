"""A comparison in a notebook: a short table and a picture, without script or style."""

from __future__ import annotations

import math
from html import escape

from lumpable.comparisons.standing import Overall
from lumpable.reports import comparison_tables
from lumpable.reports.numbers import NOTHING, duration_short, number, span

LEFT = "text-align: left; font-weight: normal; padding: 2px 10px"
RIGHT = "text-align: right; padding: 2px 10px"


def compact(overall: Overall, picture: str) -> str:
    """Return a short table and a picture, for a notebook; needs neither script nor style."""
    one = overall.standings[0] if len(overall.standings) == 1 else None
    lines = []
    for i in overall.order:
        known = f" (knows {overall.knows[i]})" if overall.knows[i] else ""
        cells = [span(float(overall.mean[i]))]
        if one is not None:
            cells.append(number(float(one.regret.mean[i])))
            cells.append(duration_short(one.per_round(i) if one.order else math.nan))
        else:
            rank = overall.rank[i]
            cells.append(NOTHING if math.isnan(rank) else f"{rank:.1f}")
            cells.append(f"{overall.worlds[i]} of {len(overall.standings)}")
        name = (
            f'<th scope="row" style="{LEFT}">{escape(overall.comparison.learners[i] + known)}</th>'
        )
        lines.append(
            f"<tr>{name}{''.join(f'<td style={RIGHT!r}>{cell}</td>' for cell in cells)}</tr>"
        )
    heads = ("Regret", "Time a round") if one is not None else ("Mean rank", "Worlds")
    row = "".join(f'<th scope="col" style="{RIGHT}">{head}</th>' for head in ("Ratio", *heads))
    return (
        f'<div class="lumpable-comparison"><p>{comparison_tables.notable(overall)}</p>'
        f'<table><caption style="{LEFT}">Last regret relative to the best fair peer</caption>'
        f'<thead><tr><th scope="col" style="{LEFT}">Learner</th>{row}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>{picture}</div>"
    )
