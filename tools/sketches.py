"""Draw the sketches of proofs in the documentation: `python tools/sketches.py [name ...]`.

They show formulas of docs/explanation/beyond*.md at one setting, without noise and without any run,
in the look of tools/pictures.py, and are kept beside its pictures in docs/pictures.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable

import altair as alt
import polars as pl

from pictures import BLUE, GREEN, GREY, ORANGE, PICTURES, PINK, Chart, themed

DARK = "#333333"


def early_stopping() -> Chart:
    """Return the regret of one test with up to 2^14 plays by the gap of its arm."""
    most, lg = 14, 10.0
    stops, always = "stops early", "takes all plays"
    rows = []
    for step in range(161):
        gap = 10 ** (-2.5 + 2.5 * step / 160)
        last = next((k for k in range(most) if lg / 2**k < gap**2), most)
        rows.append({"gap": gap, "regret": gap * (2 ** (last + 1) - 1), "test": stops})
        rows.append({"gap": gap, "regret": gap * (2 ** (most + 1) - 1), "test": always})
    bound = 4 * math.sqrt(lg * 2**most)
    tests = [stops, always]
    colour = alt.Scale(domain=tests, range=[BLUE, ORANGE])
    dash = alt.Scale(domain=tests, range=[[1, 0], [6, 4]])
    x = alt.X(
        "gap:Q", title="gap of the arm", axis=alt.Axis(values=[0.01, 0.1, 1]),
        scale=alt.Scale(type="log", domain=[10**-2.5, 1], nice=False),
    )  # fmt: skip
    ticks = alt.Axis(values=[10, 100, 1000, 10_000], format="~s")
    y = alt.Y("regret:Q", title="regret of one test", axis=ticks, scale=alt.Scale(type="log"))
    lines = alt.Chart(pl.DataFrame(rows)).mark_line(strokeWidth=3)
    rule = alt.Chart(pl.DataFrame({"gap": [0.0033], "regret": [bound]}))
    return (
        lines.encode(
            x=x,
            y=y,
            color=alt.Color("test:N", scale=colour, sort=tests, title="a test that"),
            strokeDash=alt.StrokeDash("test:N", scale=dash, sort=tests, title="a test that"),
        )
        + rule.mark_rule(color=GREY, strokeDash=[2, 3]).encode(y=y)
        + rule.mark_text(align="left", dy=-8, color=DARK, fontSize=12).encode(
            x=x, y=y, text=alt.value("of order 2^(n/2)")
        )
    ).properties(
        width=400,
        height=240,
        title=alt.TitleParams(
            "Whatever the arm, a test that may stop early is cheap",
            subtitle="Up to 2^n plays, n = 14, of an arm beside one that is known; no noise.",
        ),
    )


def levels_balance() -> Chart:
    """Return by level what a list's length, the gap it overlooks and the share it misses are."""
    h = 20
    names = ["length of a list", "gap overlooked", "share of contexts missed", "gap x share"]
    rows = [
        {"level": n, "size": size, "what": what}
        for n in range(1, h + 1)
        for what, size in zip(
            names,
            (2 ** ((h - n) / 2), 2 ** (-n / 2), 2 ** (-(h - n) / 2), 2 ** (-h / 2)),
            strict=True,
        )
    ]
    colour = alt.Scale(domain=names, range=[GREY, BLUE, ORANGE, GREEN])
    dash = alt.Scale(domain=names, range=[[5, 4], [1, 0], [1, 0], [1, 0]])
    sizes = alt.Axis(values=[0.001, 0.01, 0.1, 1, 10, 100, 1000], format="~g")
    ticks = alt.Axis(values=[1, 5, 10, 15, 20])
    plays = "level n: up to 2^n plays of each arm"
    title = alt.TitleParams(
        "Low levels overlook large gaps, but on few contexts",
        subtitle=f"Sub-phase h = {h}; constants and logarithms left out.",
    )
    return (
        alt.Chart(pl.DataFrame(rows), title=title)
        .mark_line(strokeWidth=3)
        .encode(
            x=alt.X("level:Q", title=plays, axis=ticks, scale=alt.Scale(domain=[1, h], nice=False)),
            y=alt.Y("size:Q", title=None, axis=sizes, scale=alt.Scale(type="log")),
            color=alt.Color("what:N", scale=colour, sort=names, title=None),
            strokeDash=alt.StrokeDash("what:N", scale=dash, sort=names, title=None),
        )
        .properties(width=400, height=240)
    )


def slots() -> Chart:
    """Return the life of two entries of an exploring track: one stopped, one completed."""
    steps = ["plays the drawn arm", "plays the best known arm", "waits, playing the best known arm"]
    entries = {"stopped early": (5, 16, 22), "completed": (16, 16, 22)}
    rows = [
        {"entry": entry, "from": start, "to": end, "step": step}
        for entry, (stop, over, decided) in entries.items()
        for step, start, end in zip(steps, (0, stop, over), (stop, over, decided), strict=True)
        if end > start
    ]
    y = alt.Y("entry:N", sort=list(entries), title=None, axis=alt.Axis(labelLimit=0, minExtent=120))
    x = alt.X("from:Q", title="visits of the track", axis=alt.Axis(grid=False, values=[0, 16]))
    bars = alt.Chart(pl.DataFrame(rows)).mark_bar(height=26)
    hue = alt.Scale(domain=steps, range=[ORANGE, BLUE, "#b9c7d1"])
    legend = alt.Legend(title=None, orient="bottom", direction="vertical", labelLimit=0)
    marks = pl.DataFrame({"at": [16, 22], "words": ["end of the slot: 2^n visits", "decided"]})
    rules = alt.Chart(marks)
    return (
        bars.encode(x=x, x2="to:Q", y=y, color=alt.Color("step:N", scale=hue, legend=legend))
        + rules.mark_rule(color=DARK, strokeDash=[4, 4]).encode(x="at:Q")
        + rules.mark_text(align="right", dx=-4, dy=-8, color=DARK, fontSize=12).encode(
            x="at:Q", y=alt.value(0), text="words:N"
        )
    ).properties(
        width=430,
        height=110,
        title=alt.TitleParams(
            "Every test has a slot of the same length", offset=16,
            subtitle="So when an entry is decided says nothing about its arm.",
        ),
    )  # fmt: skip


def fresh_sets() -> Chart:
    """Return where sets go, and where a small group is covered, in Algorithm 6 and fresh phases."""
    kinds = ["covered", "not covered"]
    panels = []
    grid = [(h, n) for h in range(3, 11) for n in range(1, h + 1)]
    cells = pl.DataFrame({"phase": h, "level": n, "small group": kinds[n > h - 3]} for h, n in grid)
    for name, words, across in (
        ("Algorithm 6: from phase to phase", "Pink: from not covered to covered.", True),
        ("Fresh phases: from level to level", "Below a covered level all is covered.", False),
    ):
        arrows = pl.DataFrame(
            {
                "phase": h,
                "level": n,
                "to phase": h + 0.66 * across,
                "to level": n + 0.6 * (not across),
                "wrong": across and n == h - 2,
            }
            for h, n in grid
            if (h < 10 if across else n < h)
        )
        x = alt.X("phase:Q", title="phase h", scale=alt.Scale(domain=[2.5, 10.6]),
                  axis=alt.Axis(grid=False, tickCount=8))  # fmt: skip
        y = alt.Y("level:Q", title="level n", scale=alt.Scale(domain=[0.4, 10.6]),
                  axis=alt.Axis(grid=False, tickCount=10))  # fmt: skip
        hue = alt.Color("small group:N", title="a small group is", sort=kinds,
                        scale=alt.Scale(domain=kinds, range=[BLUE, ORANGE]))  # fmt: skip
        lines = alt.Chart(arrows)
        shape = "triangle-right" if across else "triangle-up"
        heads = lines.mark_point(shape=shape, size=30, filled=True, opacity=1)
        grey = alt.condition("datum.wrong", alt.value(PINK), alt.value(GREY))
        thin = alt.condition("datum.wrong", alt.value(3), alt.value(1))
        chart = (
            lines.mark_rule().encode(
                x=x, y=y, x2="to phase:Q", y2="to level:Q", color=grey, strokeWidth=thin
            )
            + heads.encode(x=alt.X("to phase:Q"), y=alt.Y("to level:Q"), color=grey)
            + alt.Chart(cells).mark_circle(size=90, opacity=1).encode(x=x, y=y, color=hue)
        )
        title = alt.TitleParams(name, subtitle=words)
        panels.append(chart.properties(width=270, height=250, title=title))
    return alt.hconcat(*panels, spacing=24)


def sorted_gaps() -> Chart:
    """Return nine means' gaps, sorted, beside the curve that some gap must reach."""
    gaps = [0.16, 0.15, 0.14, 0.13, 0.12, 0.11, 0.10, 0.09]
    eta = 1 + math.log(len(gaps) + 1)
    reach = [gap >= sum(gaps) / (k * eta) for k, gap in enumerate(gaps, start=1)]
    rows = [
        {"k": k, "gap": gap, "it": "reaches the curve" if over else "does not"}
        for k, (gap, over) in enumerate(zip(gaps, reach, strict=True), start=1)
    ]
    curve = [{"k": 1 + s / 20, "gap": sum(gaps) / ((1 + s / 20) * eta)} for s in range(141)]
    axis = alt.Axis(tickCount=8, grid=False)
    x = alt.X("k:Q", title="k-th largest gap between means", axis=axis)
    y = alt.Y("gap:Q", title="gap")
    its = ["reaches the curve", "does not"]
    hue = alt.Color("it:N", title="gap", sort=its,
                    scale=alt.Scale(domain=its, range=[BLUE, "#b9c7d1"]))  # fmt: skip
    words = alt.Chart(pl.DataFrame({"k": [1.75], "gap": [0.25]}))
    return (
        alt.Chart(pl.DataFrame(rows)).mark_bar(size=22).encode(x=x, y=y, color=hue)
        + alt.Chart(pl.DataFrame(curve)).mark_line(strokeWidth=3, color=ORANGE).encode(x=x, y=y)
        + words.mark_text(align="left", color=DARK, fontSize=12).encode(
            x=x, y=y, text=alt.value("R / (k (1 + ln r))")
        )
    ).properties(
        width=400,
        height=220,
        title=alt.TitleParams(
            "Some gap reaches the curve, so that k cuts can be made at once",
            subtitle="Nine means, so eight gaps, of sum R = 1.",
        ),
    )


DRAWN: dict[str, Callable[[], Chart]] = {
    "early-stopping.svg": early_stopping,
    "levels-balance.svg": levels_balance,
    "slots.svg": slots,
    "fresh-sets.svg": fresh_sets,
    "sorted-gaps.svg": sorted_gaps,
}
"""Sketches by file name, and what draws each."""


def main(names: Iterable[str]) -> None:
    """Draw the sketches named, or all of them."""
    for name in names or DRAWN:
        themed(DRAWN[name]()).save(PICTURES / name)
        print(f"wrote {PICTURES / name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
