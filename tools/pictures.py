"""Draw every picture of the documentation: `python tools/pictures.py [name ...]`.

Each picture shows a real run of the package through its public names, with fixed seeds. They are
kept in docs/pictures; docs/reference/making.md lists them. Takes about a minute. Those of
worked examples are in worked_pictures.py.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import lumpable as lb
import worked_pictures

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
ARMS = ("news", "sport", "music", "film", "food", "travel", "games", "books", "garden", "science")
BLUE, ORANGE, GREEN, PINK, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a8a8a"
GROUP_COLOURS = alt.Scale(domain=["1", "2", "3"], range=[BLUE, ORANGE, GREEN])
DELTA, USERS = 0.05, 200
PAC = lb.Problem(contexts=60, arms=16, groups=3)
LIVE = lb.Problem(contexts=30, arms=20, groups=3)
POWERS = [10**k for k in range(4, 14, 2)]
"""Ticks of logarithmic axes."""
FONTS = "Arial, Liberation Sans, Helvetica, sans-serif"
ROOM = {"left": 8, "top": 8, "right": 48, "bottom": 8}
"""Around a picture: letters are wider in some fonts than in the one that was measured."""
Chart = Any


# --- Lumps ------------------------------------------------------------------------------------


class Served:
    """What a learner believes after 30 visits of each of 200 users, and what it was told."""

    def __init__(self) -> None:
        world = lb.worlds.lumpable(USERS, len(ARMS), 3, noise="bernoulli", deviation=0.05, seed=4)
        rng = np.random.default_rng(5)
        self.lumps = lb.Lumps(arms=ARMS, seed=6)
        self.told = []
        for _ in range(30):
            for user in rng.permutation(USERS).tolist():
                choice = self.lumps.decide(user)
                arm = str(choice.arm)
                reward = float(world.reward(user, ARMS.index(arm), rng))
                self.lumps.reward(choice.id, reward)
                self.told.append({"user": user, "arm": arm, "reward": reward})

    def averages(self) -> pl.DataFrame:
        """Return each user's average reward from each arm that was tried."""
        return (
            pl.DataFrame(self.told)
            .group_by("user", "arm")
            .agg(pl.col("reward").mean().alias("average"), pl.len().alias("tries"))
            .sort("user", "arm")  # the same order, the same picture
        )

    def believed(self) -> pl.DataFrame:
        """Return what each arm is expected to give each user, and the user's likeliest group."""
        member = pl.DataFrame(self.lumps.members()).select(
            pl.col("context").alias("user"), (pl.col("group") + 1).cast(str), "probability"
        )
        expected = [
            pl.DataFrame(self.lumps.expected(user)).with_columns(pl.lit(user).alias("user"))
            for user in member["user"].to_list()
        ]
        return pl.concat(expected).join(member, on="user")


@cache
def served() -> Served:
    """Return the same learner to every picture that shows it."""
    return Served()


def matrix() -> Chart:
    """Return what came in beside what was made of it: users by offers."""
    here = served()
    believed = here.believed()
    ranked = (
        believed.group_by("user")
        .agg(pl.col("group").first(), pl.col("probability").first())
        .sort("group", -pl.col("probability"), "user")
    )
    users = ranked["user"].to_list()
    colour = alt.Scale(scheme="viridis", domain=[0, 1])
    seen = here.averages().with_columns(pl.col("average").alias("reward"))
    left = panel(seen, sorted(users), list(ARMS), colour, "What came in: average reward so far")
    left = left.encode(color=alt.Color("reward:Q", scale=colour, legend=None))
    best = believed.sort("group", "expected_reward", descending=[False, True])
    order = list(dict.fromkeys(best.group_by("group", maintain_order=True).first()["arm"]))
    order += [arm for arm in ARMS if arm not in order]
    known = believed.with_columns(pl.col("expected_reward").alias("reward"))
    right = panel(known, users, order, colour, "What Lumps makes of it: users sorted by group")
    strip = (
        alt.Chart(ranked)
        .mark_rect()
        .encode(
            y=alt.Y("user:N", sort=users, axis=None),
            color=alt.Color("group:N", scale=GROUP_COLOURS, legend=None),
        )
        .properties(width=12, height=300)
    )
    beside = alt.hconcat(strip, right, spacing=3).resolve_scale(color="independent")
    return alt.hconcat(left, beside, spacing=40).resolve_scale(color="independent")


def panel(rows: pl.DataFrame, users: list[int], arms: list[str], colour: Any, title: str) -> Chart:
    """Return a matrix of rewards with a row for each user; white where nothing was tried."""
    bare = alt.Axis(labels=False, ticks=False)
    return (
        alt.Chart(rows.select("user", "arm", "reward"), title=title)
        .mark_rect()
        .encode(
            x=alt.X("arm:N", sort=arms, title=None, axis=alt.Axis(labelAngle=-40, ticks=False)),
            y=alt.Y("user:N", sort=users, title=f"{USERS} users", axis=bare),
            color=alt.Color("reward:Q", scale=colour, title="reward"),
        )
        .properties(width=270, height=300)
    )  # fmt: skip


def shrinkage() -> Chart:
    """Return what is believed of a group's best arm against each user's own average."""
    here = served()
    both = here.believed().join(here.averages(), on=["user", "arm"])
    favourite = pl.DataFrame(here.lumps.groups()).select(
        (pl.col("group") + 1).cast(str), pl.col("best_arm").alias("arm")
    )
    rows = both.join(favourite, on=["group", "arm"]).filter(pl.col("probability") > 0.8)
    ends = [round(float(rows["average"].min()) - 0.02, 2), 1.0]  # type: ignore[arg-type]
    x = alt.X("average:Q", scale=alt.Scale(domain=ends), title="the user's own average")
    y = alt.Y("expected_reward:Q", scale=alt.Scale(domain=ends), title="what Lumps believes")
    points = (
        alt.Chart(rows)
        .mark_circle(opacity=0.7)
        .encode(
            x=x,
            y=y,
            size=alt.Size("tries:Q", title="own rewards", scale=alt.Scale(range=[15, 160])),
            color=alt.Color("group:N", scale=GROUP_COLOURS, title="group"),
        )
    )
    line = alt.Chart(pl.DataFrame({"average": ends, "expected_reward": ends}))
    return (points + line.mark_line(color=GREY, strokeDash=[4, 4]).encode(x=x, y=y)).properties(
        width=360, height=300, title="The best offer of each group, user by user"
    )


def index() -> Chart:
    """Return for one user the mean that is believed of each arm and the index above it."""
    rows = pl.DataFrame(served().lumps.expected(7)).with_columns(
        (1 / (1 + (-pl.col("index")).exp())).alias("with bonus"),
        pl.col("expected_reward").alias("expected"),
    )
    arms = rows["arm"].to_list()
    y = alt.Y("arm:N", sort=arms, title=None)
    base = alt.Chart(rows)
    bonus = base.mark_bar(height=7, color=ORANGE, opacity=0.55).encode(
        y=y, x=alt.X("expected:Q", title="reward"), x2="with bonus:Q"
    )
    mean = base.mark_circle(size=90, color=BLUE, opacity=1).encode(y=y, x="expected:Q")
    top = base.mark_tick(color=ORANGE, thickness=3, height=16).encode(y=y, x="with bonus:Q")
    number = base.mark_text(align="left", dx=6, color="#444444").encode(
        y=y, x=alt.value(372), text=alt.Text("own:N")
    )
    words = rows.with_columns(
        pl.when(pl.col("rewards") == 0)
        .then(pl.lit("never tried on this user"))
        .when(pl.col("rewards") == 1)
        .then(pl.lit("1 reward"))
        .otherwise(pl.format("{} rewards", "rewards"))
        .alias("own")
    )
    title = alt.TitleParams(
        "One user: what each offer is believed to give, and the bonus",
        subtitle=[
            "Dot: expected reward. Bar: bonus, large where the group knows little.",
            "The offer that reaches furthest is played.",
        ],
    )
    layers = bonus + mean + top + number.properties(data=words)
    return layers.properties(width=360, height=240, title=title)


def evidence() -> Chart:
    """Return how much less likely other numbers of groups make what was seen."""
    rows = (
        pl.DataFrame(served().lumps.evidence())
        .sort("log_evidence", descending=True)
        .group_by("groups", maintain_order=True)
        .first()
        .with_columns(
            (pl.col("difference") - pl.col("difference").max()).alias("behind"),
            pl.format("{} groups", "groups").str.replace("^1 groups", "1 group").alias("model"),
        )
        .sort("groups")
    )
    return alt.Chart(rows).mark_bar(height=22).encode(
        y=alt.Y("model:N", sort=None, title=None),
        x=alt.X("behind:Q", title="log evidence, relative to the best"),
        color=alt.condition("datum.behind == 0", alt.value(BLUE), alt.value("#b9c7d1")),
    ).properties(
        width=360, height=130, title="200 users, 30 rewards each: how many groups are there?"
    ) + alt.Chart(rows.filter(pl.col("behind") == 0)).mark_text(
        align="right", dx=-6, color=BLUE
    ).encode(y=alt.Y("model:N", sort=None), x="behind:Q", text=alt.value("believed"))


def means() -> Chart:
    """Return each group's mean reward of each arm; pale where it is hardly known."""
    rows = (
        pl.DataFrame(served().lumps.means())
        .with_columns(
            pl.format("group {}", pl.col("group") + 1).alias("row"),
            (1 - (pl.col("high") - pl.col("low"))).clip(0.15, 1).alias("known"),
            pl.format("{}%", (100 * pl.col("mean")).round(0).cast(int)).alias("words"),
        )
        .sort("group")
    )
    base = alt.Chart(rows, title="What each offer is worth to each group, and how sure that is")
    x = alt.X("arm:N", sort=list(ARMS), title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y("row:N", title=None)
    cells = base.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color("mean:Q", scale=alt.Scale(scheme="viridis", domain=[0, 1]), title="mean"),
        opacity=alt.Opacity("known:Q", scale=alt.Scale(domain=[0, 1]), legend=None),
    )
    return (cells + base.mark_text(fontSize=12).encode(x=x, y=y, text="words:N")).properties(
        width=560, height=110
    )


def members() -> Chart:
    """Return how sure the learner is of each user's group."""
    rows = pl.DataFrame(served().lumps.members()).with_columns(
        (pl.col("group") + 1).cast(str).alias("likeliest group")
    )
    return (
        alt.Chart(rows, title="How sure it is of each of the 200 users' group")
        .mark_bar()
        .encode(
            x=alt.X(
                "probability:Q",
                bin=alt.Bin(step=0.1, extent=[0.3, 1]),
                title="probability of the likeliest group",
                scale=alt.Scale(domain=[0.3, 1]),
                axis=alt.Axis(format=".1f"),
            ),
            y=alt.Y("count()", title="users"),
            color=alt.Color("likeliest group:N", scale=GROUP_COLOURS),
        )
        .properties(width=360, height=180)
    )


def payoff() -> Chart:
    """Return the regret of Lumps beside what knows less and what knows more."""
    names = {
        "lumps": "Lumps",
        "thompson-one": "one for all (Thompson)",
        "thompson": "each user alone (Thompson)",
        "oracle-groups": "is told the groups (Thompson)",
    }
    learners = {title: name for name, title in names.items()}
    world = {"kind": "lumpable", "contexts": 200, "arms": 20, "groups": 4, "noise": "bernoulli"}
    found = lb.compare(learners, {"world": world}, pulls=100, seeds=10, jobs=2)
    rows = (
        pl.DataFrame(found.rows(), infer_schema_length=None)
        .group_by("learner", "round")
        .agg(pl.col("regret").mean())
        .filter(pl.col("round") >= 200)
        .with_columns((pl.col("round") / 200).alias("visits"), pl.col("regret") / 200)
        .sort("learner", "visits")
    )
    domain = list(names.values())
    style = alt.Scale(domain=domain, range=[BLUE, ORANGE, PINK, GREY])
    dash = alt.Scale(domain=domain, range=[[1, 0], [1, 0], [1, 0], [5, 4]])
    legend = alt.Legend(title=None, orient="right", symbolStrokeWidth=3, labelLimit=0)
    return (
        alt.Chart(rows)
        .mark_line(strokeWidth=3)
        .encode(
            x=alt.X("visits:Q", title="visits of each user"),
            y=alt.Y("regret:Q", title="rewards missed, per user"),
            color=alt.Color("learner:N", scale=style, legend=legend, sort=domain),
            strokeDash=alt.StrokeDash("learner:N", scale=dash, legend=legend, sort=domain),
        )
        .properties(
            width=380,
            height=260,
            title=alt.TitleParams(
                "Rewards missed while learning: the lower, the better",
                subtitle="200 users, 20 offers, 4 hidden groups; average of 10 worlds.",
            ),
        )
    )


# --- The paper's algorithms --------------------------------------------------------------------


@cache
def pac_run() -> tuple[lb.Run, tuple[lb.Step, ...]]:
    """Return a whole run of Algorithm 1, and each of its requests with its answer."""
    world = lb.worlds.lumpable(PAC.contexts, PAC.arms, PAC.groups, seed=0)
    steps: list[lb.Step] = []
    plan = lb.pac.near_uniform(PAC, epsilon=0.005, delta=DELTA)
    return lb.simulate(plan, world, seed=1, watch=steps.append), tuple(steps)


@cache
def regret_run() -> tuple[lb.Run, tuple[lb.Step, ...]]:
    """Return a run of Algorithm 4, and each of its requests with its answer."""
    world = lb.worlds.lumpable(LIVE.contexts, LIVE.arms, LIVE.groups, seed=0)
    steps: list[lb.Step] = []
    run = lb.simulate(
        lb.regret.equal_groups(LIVE), world, horizon=10**13, seed=1, watch=steps.append
    )
    return run, tuple(steps)


def screening() -> Chart:
    """Return the three screenings of one accuracy level of Algorithm 1."""
    run, steps = pac_run()
    level = 2**14
    collected, *tests = [step for step in steps if step.request.repeats == level]
    top = np.nanmax(collected.sample.mean, axis=1)
    lg = lb.PAPER.confidence * math.log(PAC.groups * PAC.contexts * PAC.arms / DELTA)
    threshold = math.sqrt(lg / level)
    order = np.argsort(run.world.group, kind="stable")
    left, panels = np.ones(PAC.contexts, dtype=bool), []
    for number, step in enumerate(tests, start=1):
        (arm,) = np.flatnonzero(step.request.arms[0])
        aim = float(top[left].max())
        fresh = step.sample.mean[:, arm]
        leaves = left & (np.abs(fresh - aim) < threshold)
        fate = np.where(leaves, "served by it", np.where(left, "not yet served", "served before"))
        rows = pl.DataFrame(
            {"place": np.arange(PAC.contexts), "mean": fresh[order], "fate": fate[order]}
        )
        panels.append(screen(rows, aim, threshold, f"Screening {number}: arm {arm}"))
        left &= ~leaves
    return alt.hconcat(*panels, spacing=12)


def screen(rows: pl.DataFrame, aim: float, threshold: float, title: str) -> Chart:
    """Return one screening: who is within the threshold of the best estimate leaves."""
    band = pl.DataFrame({"low": [aim - threshold], "high": [aim + threshold]})
    fates = ["served by it", "not yet served", "served before"]
    colour = alt.Scale(domain=fates, range=[BLUE, ORANGE, "#c4c4c4"])
    y = alt.Y("mean:Q", title="mean reward of this arm", scale=alt.Scale(domain=[0, 1.1]))
    return (
        alt.Chart(band)
        .mark_rect(color=BLUE, opacity=0.15)
        .encode(y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1.1])), y2="high:Q")
        + alt.Chart(rows)
        .mark_circle(size=45, opacity=1)
        .encode(
            x=alt.X("place:Q", title="60 contexts, by hidden group", axis=alt.Axis(labels=False)),
            y=y,
            color=alt.Color("fate:N", scale=colour, title="context"),
        )
    ).properties(width=190, height=200, title=title)


def splitting() -> Chart:
    """Return the call of Algorithm 5 that tells the groups apart."""
    run, steps = regret_run()
    split = next(step for step in steps if (step.request.arms.sum(axis=1) == 1).all())
    (arm,) = np.flatnonzero(split.request.arms[0])
    after = next(turn.belief.cluster for turn in run.turns if turn.rounds >= split.rounds)
    assert after is not None
    mean = split.sample.mean[:, arm]
    order = np.argsort(-mean)
    part = {label: str(n) for n, label in enumerate(dict.fromkeys(after[order].tolist()), start=1)}
    rows = pl.DataFrame(
        {
            "rank": np.arange(1, LIVE.contexts + 1),
            "mean": mean[order],
            "part": [part[label] for label in after[order].tolist()],
        }
    )
    cuts = [k + 0.5 for k in range(1, LIVE.contexts) if rows["part"][k - 1] != rows["part"][k]]
    title = alt.TitleParams(
        "Algorithm 5: a cluster is cut where there is a gap",
        subtitle=f"All 30 contexts play arm {arm} and are sorted by their means. Dashed: the cuts.",
    )
    return (
        alt.Chart(rows)
        .mark_circle(size=70, opacity=1)
        .encode(
            x=alt.X("rank:Q", title="contexts, sorted", axis=alt.Axis(labels=False)),
            y=alt.Y("mean:Q", title="mean reward of this arm"),
            color=alt.Color("part:N", scale=GROUP_COLOURS, title="new cluster"),
        )
        + alt.Chart(pl.DataFrame({"cut": cuts}))
        .mark_rule(color=GREY, strokeDash=[4, 4])
        .encode(x="cut:Q")
    ).properties(width=420, height=220, title=title)


def elimination() -> Chart:
    """Return how clusters appear and arms fall as Algorithm 4 goes on."""
    run, _ = regret_run()
    rows = pl.DataFrame(run.rows(), infer_schema_length=None).select(
        "rounds", "clusters", "good_arms"
    )
    x = alt.X(
        "rounds:Q",
        scale=alt.Scale(type="log"),
        title="rounds",
        axis=alt.Axis(format=".0e", values=POWERS),
    )
    base = alt.Chart(rows)
    clusters = base.mark_line(interpolate="step-before", strokeWidth=3, color=ORANGE)
    arms = base.mark_line(interpolate="step-before", strokeWidth=3, color=BLUE)
    first = clusters.encode(
        x=x, y=alt.Y("clusters:Q", title="clusters", axis=alt.Axis(values=[0, 1, 2, 3]))
    ).properties(width=230, height=180, title="Clusters: 3 hidden groups")
    second = arms.encode(x=x, y=alt.Y("good_arms:Q", title="arms still good, per cluster"))
    return alt.hconcat(
        first, second.properties(width=230, height=180, title="Good arms: 20 at first")
    )


def two_goals() -> Chart:
    """Return the regret of a PAC run, which ends, beside that of a regret run, which does not."""
    world = lb.worlds.lumpable(LIVE.contexts, LIVE.arms, LIVE.groups, seed=0)
    plan = lb.pac.near_uniform(LIVE, epsilon=0.005, delta=DELTA)
    pac, (regret, _) = lb.simulate(plan, world, seed=1), regret_run()
    kinds = ("PAC: Algorithm 1, epsilon = 0.005", "regret: Algorithm 4")
    frames = [
        pl.DataFrame(run.rows(), infer_schema_length=None)
        .select("rounds", "regret")
        .with_columns(pl.lit(kind).alias("goal"))
        for kind, run in zip(kinds, (pac, regret), strict=True)
    ]
    loss = world.loss(pac.policy)
    later = [t for t in (10**11, 10**12, 10**13) if t > pac.rounds]
    served_later = pl.DataFrame(
        {
            "rounds": [pac.rounds, *later],
            "regret": [pac.regret + loss * (t - pac.rounds) for t in (pac.rounds, *later)],
            "goal": [kinds[0]] * (1 + len(later)),
        }
    )
    colour = alt.Color(
        "goal:N",
        scale=alt.Scale(domain=list(kinds), range=[GREEN, BLUE]),
        legend=alt.Legend(title=None, orient="right", symbolStrokeWidth=3, labelLimit=0),
    )
    x = alt.X(
        "rounds:Q",
        scale=alt.Scale(type="log"),
        title="rounds",
        axis=alt.Axis(format=".0e", values=POWERS),
    )
    y = alt.Y(
        "regret:Q",
        scale=alt.Scale(type="log"),
        title="regret",
        axis=alt.Axis(format=".0e", values=POWERS),
    )
    end = alt.Chart(pl.DataFrame({"rounds": [pac.rounds], "regret": [pac.regret]}))
    return (
        alt.Chart(pl.concat(frames)).mark_line(strokeWidth=3).encode(x=x, y=y, color=colour)
        + alt.Chart(served_later)
        .mark_line(strokeWidth=3, strokeDash=[5, 4])
        .encode(x=x, y=y, color=colour)
        + end.mark_circle(size=110, color=GREEN, opacity=1).encode(x=x, y=y)
        + end.mark_text(align="left", dx=8, dy=14, color="#333333").encode(
            x=x, y=y, text=alt.value("ends here, with a policy")
        )
    ).properties(width=380, height=260, title="Two goals in one world: 30 contexts, 20 arms")


def growth() -> Chart:
    """Return the rounds of whole runs as problems grow: with S + K, or with S K."""
    sizes = [(n, n) for n in (100, 200, 400, 800, 1500)] + [(100, 700), (700, 100)]
    rows = []
    for S, K in sizes:
        problem, world = lb.Problem(S, K, 5), lb.worlds.lumpable(S, K, 5, seed=1)
        plan = lb.pac.any_contexts(problem, epsilon=0.02, delta=DELTA)
        naive = lb.bounds.naive_rounds(problem, 0.02, DELTA)
        shape = "S = K" if S == K else "S < K" if S < K else "S > K"
        rounds = {"Algorithm 3": lb.simulate(plan, world, seed=2).rounds, "naive method": naive}
        rows += [
            {"S + K": S + K, "S K": S * K, "method": method, "rounds": float(n), "problem": shape}
            for method, n in rounds.items()
        ]
    colour = alt.Scale(domain=["Algorithm 3", "naive method"], range=[BLUE, ORANGE])
    frame, panels = pl.DataFrame(rows), []
    for field, title in (("S + K", "S + K: contexts plus arms"), ("S K", "S K: contexts x arms")):
        ticks = frame.filter(pl.col("problem") == "S = K")[field].unique().to_list()
        axis = alt.Axis(values=ticks, format="~s")
        x = alt.X(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(type="log", nice=False))
        powers = alt.Axis(values=[10**k for k in range(9, 13)], format=".0e")
        y = alt.Y("rounds:Q", scale=alt.Scale(type="log"), axis=powers)
        hue = alt.Color("method:N", scale=colour, title="method")
        mark = alt.Shape("problem:N", sort=["S = K", "S < K", "S > K"], title="problem")
        square = alt.Chart(frame.filter(pl.col("problem") == "S = K"))
        points = alt.Chart(frame).mark_point(size=70, filled=True, opacity=1)
        chart = square.mark_line().encode(x=x, y=y, color=hue) + points.encode(
            x=x, y=y, color=hue, shape=mark
        )
        panels.append(chart.properties(width=240, height=220))
    return alt.hconcat(*panels)


# --- All --------------------------------------------------------------------------------------


DRAWN: dict[str, Callable[[], Chart]] = {
    "matrix.png": matrix,
    "payoff.svg": payoff,
    "shrinkage.svg": shrinkage,
    "index.svg": index,
    "evidence.svg": evidence,
    "means.svg": means,
    "members.svg": members,
    "screening.svg": screening,
    "splitting.svg": splitting,
    "elimination.svg": elimination,
    "two-goals.svg": two_goals,
    "growth.svg": growth,
    "offers-groups.svg": worked_pictures.offers_groups,
    "offers-worth.svg": worked_pictures.offers_worth,
    "solvers-matrix.png": worked_pictures.solvers_matrix,
    "solvers-worth.svg": worked_pictures.solvers_worth,
    "models-teams.svg": worked_pictures.models_teams,
    "models-misled.svg": worked_pictures.models_misled,
}
"""Pictures by file name, and what draws each."""


def themed(chart: Chart) -> Chart:
    """Return a chart in the look of all pictures."""
    return (
        chart.configure(background="white", font=FONTS, padding=ROOM)
        .configure_view(stroke=None)
        .configure_axis(gridColor="#e6e6e6", domainColor="#888888", labelColor="#333333",
                        titleFontWeight="normal", labelFontSize=12, titleFontSize=13)
        .configure_title(anchor="start", fontSize=14, subtitleColor="#555555", subtitleFontSize=12)
        .configure_legend(labelFontSize=12, titleFontSize=12)
    )  # fmt: skip


def main(names: Iterable[str]) -> None:
    """Draw the pictures named, or all of them."""
    PICTURES.mkdir(exist_ok=True)
    for name in names or DRAWN:
        path = PICTURES / name
        more = {"scale_factor": 2} if path.suffix == ".png" else {}
        themed(DRAWN[name]()).save(path, **more)
        print(f"wrote {path} ({path.stat().st_size / 1024:.0f} KiB)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
