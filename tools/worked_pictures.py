"""Pictures of the worked examples: what the pages say, drawn from the same runs.

The lines of a page that begin with `>>>` are run, and the picture is drawn from what they made. So
a picture cannot show another run than its page. `python tools/pictures.py` draws them.
"""

from __future__ import annotations

import contextlib
import doctest
import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from lumpable.reports.kit.theme import LIGHT

PAGES = Path(__file__).resolve().parents[1] / "docs" / "tutorial"
BLUE, ORANGE, *_ = LIGHT.looks
Chart = Any


@cache
def ran(page: str) -> dict[str, Any]:
    """Return every name that a page's examples leave behind."""
    text = (PAGES / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": page}
    for example in doctest.DocTestParser().get_examples(text):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, page, "single"), names)
    return names


# --- What it was worth ----------------------------------------------------------------------------


def worth(lift: Any, value: Any, truth: float, title: str, unit: str) -> Chart:
    """Return what own choices bring over one for all: an interval per method, the truth a line."""
    rows = pl.DataFrame(
        [
            {"method": "the model", "value": lift.lift, "low": lift.low, "high": lift.high},
            *(
                {"method": row.method, "value": row.value, "low": row.low, "high": row.high}
                for row in value.lift
            ),
        ]
    )
    y = alt.Y("method:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    base = alt.Chart(rows)
    few = alt.Axis(tickCount=6)
    x = alt.X("value:Q", title=f"{unit} more than with one choice for all", axis=few)
    zero = alt.Chart(pl.DataFrame({"at": [0.0]})).mark_rule(color=LIGHT.soft)
    line = alt.Chart(pl.DataFrame({"at": [truth], "words": ["truth"]}))
    return (
        zero.encode(x="at:Q")
        + line.mark_rule(color=ORANGE, strokeWidth=2, strokeDash=[5, 3]).encode(x="at:Q")
        + line.mark_text(align="left", dx=5, dy=2, color=ORANGE, baseline="top").encode(
            x="at:Q", y=alt.value(0), text="words:N"
        )
        + base.mark_rule(color=BLUE, strokeWidth=3).encode(y=y, x=alt.X("low:Q"), x2="high:Q")
        + base.mark_circle(color=BLUE, size=90, opacity=1).encode(y=y, x=x)
    ).properties(width=400, height=190, title=alt.TitleParams(
        title, subtitle="Lines: intervals of 95 %. Dashed: what the policy gains in truth.",
    ))  # fmt: skip


def offers_worth() -> Chart:
    """Return what an offer for each customer is worth."""
    here = ran("offers.md")
    own, one = here["truth"](here["policy"], here["clicks"])
    title = "An offer for each customer: what it is worth"
    return worth(here["learned"].lift(), here["value"], own - one, title, "clicks per visit")


def solvers_worth() -> Chart:
    """Return what a solver for each client is worth."""
    here = ran("solvers.md")
    gain = here["own"] - max(here["one"].values())
    title = "A solver for each client: what it is worth"
    return worth(here["lift"], here["value"], gain, title, "comparisons spared per list")


# --- What it found --------------------------------------------------------------------------------


def offers_groups() -> Chart:
    """Return what each group clicks on, as believed, beside the true average of its members."""
    here = ran("offers.md")
    lumps, offers = here["learned"].lumps, here["offers"]
    rows = pl.DataFrame(lumps.means()).select("group", "arm", "mean", "low", "high")
    group = {row.context: row.group for row in lumps.members()}
    people = {g: [int(user[1:]) for user in group if group[user] == g] for g in group.values()}
    true = [
        {"group": g, "arm": arm, "true": float(here["clicks"][people[g], k].mean())}
        for g in people
        for k, arm in enumerate(offers)
    ]
    rows = rows.join(pl.DataFrame(true), on=["group", "arm"])
    panels = []
    for g in sorted(people):
        part = rows.filter(pl.col("group") == g)
        axis = alt.Axis(ticks=False, domain=False, labels=g == 0)
        y = alt.Y("arm:N", sort=offers, title=None, axis=axis)
        scale = alt.Scale(domain=[0, 0.8])
        x = alt.X("mean:Q", scale=scale, title="clicks per visit", axis=alt.Axis(tickCount=4))
        base = alt.Chart(part, title=f"Group {g}")
        panels.append(
            (
                base.mark_rule(color=BLUE, strokeWidth=3).encode(y=y, x="low:Q", x2="high:Q")
                + base.mark_circle(color=BLUE, size=70, opacity=1).encode(y=y, x=x)
                + base.mark_tick(color=ORANGE, thickness=3, height=17).encode(y=y, x="true:Q")
            ).properties(width=150, height=180)
        )
    title = alt.TitleParams(
        "What each group clicks on",
        subtitle="Dot and line: believed, with an interval. Tick: the true average of its members.",
    )
    return alt.hconcat(*panels, spacing=14, title=title)


def solvers_matrix() -> Chart:
    """Return the log of clients and solvers beside what was made of it."""
    here = ran("solvers.md")
    solvers, lumps = list(here["solvers"]), here["learned"].lumps
    members = sorted(lumps.members(), key=lambda row: (row.group, str(row.context)))
    order = [str(row.context) for row in members]
    seen = here["log"].group_by("client", "solver").agg(pl.col("spared").mean())
    known = pl.DataFrame(
        [
            {"client": client, "solver": row.arm, "spared": row.expected_reward}
            for client in order
            for row in lumps.expected(client)
        ]
    )
    left = _clients(seen, sorted(order, key=_number), solvers, "The log: averages", legend=False)
    right = _clients(known, order, solvers, "What was made of it, sorted by group", legend=True)
    return alt.hconcat(left, right, spacing=36).resolve_scale(color="independent")


def _number(name: str) -> int:
    return int(name.split()[1])


def _clients(
    rows: pl.DataFrame, order: list[str], solvers: list[str], title: str, *, legend: bool
) -> Chart:
    bare, names = alt.Axis(labels=False, ticks=False), alt.Axis(labelAngle=0, ticks=False)
    key = alt.Legend(title="spared", gradientLength=120) if legend else None
    colour = alt.Scale(scheme="viridis", domain=[0, 437])
    return (
        alt.Chart(rows.sort("client", "solver"), title=title)
        .mark_rect()
        .encode(
            x=alt.X("solver:N", sort=solvers, title=None, axis=names),
            y=alt.Y("client:N", sort=order, title=f"{len(order)} clients", axis=bare),
            color=alt.Color("spared:Q", scale=colour, legend=key),
        )
        .properties(width=300, height=270)
    )


def models_teams() -> Chart:
    """Return what every model gets right for each team, and which one the team was given."""
    here = ran("models.md")
    given, asks = here["policy"], ("multiply", "convert", "count days", "ask everything")
    item = {row.user: row.item for row in given}
    rows = pl.DataFrame(
        [
            {"asks": asks[_number(team) % 4], "team": team, "model": model, "right": float(right),
             "chosen": item[team] == model}
            for team, of in here["truth"].items()
            for model, right in of.items()
        ]
    )  # fmt: skip
    return alt.hconcat(
        *(
            _teams(rows.filter(pl.col("asks") == kind), kind, first=kind == asks[0])
            for kind in asks
        ),
        spacing=14,
        title=alt.TitleParams(
            "What each model gets right, team by team",
            subtitle="A row of dots for each team. Filled: the model that the policy gives it.",
        ),
    )


def _teams(rows: pl.DataFrame, kind: str, *, first: bool) -> Chart:
    names = ["calculator", "converter", "calendar", "large"]
    hues = alt.Scale(domain=names, range=list(LIGHT.looks[:4]))
    key = alt.Legend(title="model", orient="bottom", direction="horizontal") if first else None
    axis = alt.Axis(labels=False, ticks=False, domain=False, grid=True)
    x = alt.X("right:Q", title="share right", scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("model:N", scale=hues, sort=names, legend=key)
    y = alt.Y("team:N", axis=axis, title="15 teams" if first else None)
    base = alt.Chart(rows, title=f"Mostly {kind}" if kind != "ask everything" else "Ask everything")
    chosen = alt.Chart(rows.filter(pl.col("chosen")))
    return (
        base.mark_point(size=55, strokeWidth=1.3, opacity=0.55).encode(x=x, y=y, color=colour)
        + chosen.mark_point(size=85, filled=True, opacity=1).encode(x=x, y=y, color=colour)
    ).properties(width=150, height=230)


def models_misled() -> Chart:
    """Return what each model seems to get right in the log of a clever router, and the truth."""
    here = ran("models.md")
    names: Sequence[str] = list(here["models"])
    looks = here["routed"].group_by("model").agg(pl.col("right").mean().alias("share"))
    seems = dict(looks.iter_rows())
    rows = [
        {"model": name, "share": share, "what": what}
        for name in names
        for what, share in (
            ("in its log", seems[name]),
            ("in truth", float(np.mean([of[name] for of in here["truth"].values()]))),
        )
    ]
    hues = alt.Scale(domain=["in its log", "in truth"], range=[BLUE, ORANGE])
    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar()
        .encode(
            y=alt.Y("model:N", sort=names, title=None, axis=alt.Axis(ticks=False)),
            yOffset=alt.YOffset("what:N", sort=["in its log", "in truth"]),
            x=alt.X("share:Q", title="share right", scale=alt.Scale(domain=[0, 0.8])),
            color=alt.Color("what:N", scale=hues, title=None),
        )
        .properties(
            width=400,
            height=170,
            title=alt.TitleParams(
                "A clever router spoils its log",
                subtitle="It sent the hard questions to the large model.",
            ),
        )
    )
