"""Pictures of runs: the rows behind each panel are those of the run, for every kind of plan."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_report import inline

from lumpable import (
    PAPER,
    Problem,
    Run,
    World,
    bounds,
    pac,
    reductions,
    regret,
    simulate,
    standard,
    worlds,
)
from lumpable.plans.plan import Belief, Plan
from lumpable.reports import charts as pictures
from lumpable.reports.charts import cluster_counts, cost, drops
from lumpable.reports.kit import axes, canvas, save, theme
from lumpable.runs import questions as history
from lumpable.runs.run import RequestRow, Side, Turn

# --- A run made by hand ---------------------------------------------------------------------

MEANS = [[0.9, 0.1, 0.5], [0.9, 0.1, 0.5], [0.2, 0.8, 0.4], [0.2, 0.8, 0.4]]
ALL = [1, 1, 1]
TURNS: list[tuple[int, int, Sequence[int], Sequence[Sequence[int]]]] = [
    (0, 1, [0, 0, 0, 0], [ALL]),
    (10, 2, [0, 0, 0, 0], [ALL]),
    (25, 2, [0, 0, 1, 1], [ALL, ALL]),
    (40, 3, [0, 0, 1, 1], [[1, 0, 1], [0, 1, 1]]),
    (90, 4, [0, 0, 1, 1], [[1, 0, 0], [0, 1, 1]]),
]


def turn(
    rounds: int,
    h: int,
    cluster: Sequence[int],
    good: Sequence[Sequence[int]],
    notes: tuple[str, ...] = (),
) -> Turn:
    policy = np.zeros(len(cluster), dtype=np.int64)
    groups, arms = np.array(cluster), np.array(good, dtype=bool)
    restarts = len(notes)
    return Turn(
        rounds,
        Belief(f"phase {h}", policy, (), h, groups, arms, notes, "exploring", restarts),
    )


def request(rounds: int, regret: float, phase: str = "") -> RequestRow:
    return RequestRow(0, phase, "exploring", 1, rounds, 1, 0, None, None, regret)


def by_hand(turns: Sequence[Turn], world: World | None = None, **changes: Any) -> Run:
    run = Run(
        about=regret.equal_groups.about,
        ran=regret.equal_groups.about,
        parameters={"problem": Problem(4, 3, 2), "constants": PAPER},
        world=world or worlds.from_matrix(MEANS),
        seed=1,
        rounds=100,
        regret=9.0,
        policy=np.array([0, 0, 1, 1]),
        result=None,
        requests=[request(10, 4.0, "a"), request(100, 9.0, "b")],
        turns=list(turns),
    )
    return dataclasses.replace(run, **changes)


@pytest.fixture
def run() -> Run:
    return by_hand([turn(*row) for row in TURNS])


def test_a_phase_is_drawn_with_its_first_round_and_its_last_belief(run: Run) -> None:
    names = ("place", "start", "phase", "rounds", "clusters", "fewest", "average", "most")
    assert [tuple(row[name] for name in names) for row in cluster_counts.phase_rows(run)] == [
        (1, 1, 1, 0, 1, 3, 3.0, 3),
        (2, 1, 2, 10, 2, 3, 3.0, 3),
        (3, 1, 3, 40, 2, 2, 2.0, 2),
        (4, 1, 4, 90, 2, 1, 1.5, 2),
    ]


def test_groups_are_apart_and_arms_fall_when_the_turns_say_so(run: Run) -> None:
    assert history.apart(run.turns, run.world) == 25
    assert history.first_fall(run) == 40
    assert history.apart(run.turns[:2], run.world) is None
    assert history.first_fall(by_hand(run.turns[:3])) is None


def test_contexts_that_never_come_need_not_be_apart(run: Run) -> None:
    absent = worlds.from_matrix(MEANS, frequency=[0.5, 0.5, 0, 0])
    assert history.apart(run.turns, absent) == 0


def test_an_arm_falls_in_the_last_phase_in_which_it_was_good(run: Run) -> None:
    assert history.last_good(run.turns).tolist() == [[4, 2, 3], [2, 4, 4]]
    rows = [tuple(row.values()) for row in drops.drop_rows(run)]
    assert rows == [
        ("Cluster 1: 2 contexts", 0, 0.0, 4, drops.BEST),
        ("Cluster 1: 2 contexts", 2, 0.4, 3, drops.FELL),
        ("Cluster 1: 2 contexts", 1, 0.8, 2, drops.FELL),
        ("Cluster 2: 2 contexts", 1, 0.0, 4, drops.BEST),
        ("Cluster 2: 2 contexts", 2, 0.4, 4, drops.KEPT),
        ("Cluster 2: 2 contexts", 0, 0.6, 2, drops.FELL),
    ]
    assert "3 were, in phases 2 to 3; best arms that were dropped: 0." in drops.words(run)


def test_an_arm_that_came_back_fell_when_it_fell_last() -> None:
    good = [[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1], [1, 0, 1]]
    turns = [turn(h, h, [0] * 4, [row]) for h, row in enumerate(good, start=1)]
    assert history.last_good(turns).tolist() == [[5, 4, 5]]


def test_a_lost_best_arm_is_shown(run: Run) -> None:
    lost = by_hand([*run.turns, turn(95, 5, [0, 0, 1, 1], [[1, 0, 0], [0, 0, 1]])])
    kinds = {(row["cluster"][8], row["arm"]): row["kind"] for row in drops.drop_rows(lost)}
    assert kinds["2", 1] == drops.LOST
    assert "best arms that were dropped: 1." in drops.words(lost)


def test_in_a_mixed_cluster_gaps_are_averages_and_all_best_arms_are_marked(run: Run) -> None:
    often = worlds.from_matrix(MEANS, frequency=[0.1, 0.2, 0.3, 0.4])
    rows = list(drops.drop_rows(by_hand(run.turns[:2], often)))
    gaps = {row["arm"]: (row["gap"], row["kind"]) for row in rows}
    assert gaps[0] == (pytest.approx(0.7 * 0.6), drops.BEST)
    assert gaps[1] == (pytest.approx(0.3 * 0.8), drops.BEST)
    assert gaps[2] == (pytest.approx(0.4), drops.KEPT)


def test_a_plan_that_starts_again_is_drawn_from_its_last_start() -> None:
    first = [turn(0, 1, [0] * 4, [ALL]), turn(5, 2, [0] * 4, [[1, 0, 1]])]
    again = [turn(9 + t.rounds, t.belief.number, [0] * 4, [ALL], ("r = 1",)) for t in first]
    run = by_hand([*first, *again])
    assert history.starts(run) == [first, again]
    rows = [(row["place"], row["start"], row["phase"]) for row in cluster_counts.phase_rows(run)]
    assert rows == [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2)]
    assert history.first_fall(run) is None  # what fell before it started again is good again
    assert drops.words(run).endswith("none was.")
    assert "It started 2 times." in cluster_counts.words(run)


def test_a_start_that_is_given_up_at_once_counts() -> None:
    run = by_hand([turn(0, 1, [0] * 4, [ALL]), turn(5, 1, [0] * 4, [ALL], ("r = 1",))])
    assert [len(turns) for turns in history.starts(run)] == [1, 1]


def test_only_the_largest_clusters_and_evenly_spaced_arms_are_drawn() -> None:
    world = worlds.lumpable(30, 400, 10, seed=1)
    label = np.repeat(np.arange(10), [1, 2, 3, 3, 3, 3, 3, 4, 4, 4])
    run = by_hand([turn(0, 1, label.tolist(), np.ones((10, 400), dtype=int).tolist())], world)
    run = dataclasses.replace(run, policy=np.zeros(30, dtype=np.int64))
    rows = list(drops.drop_rows(run))
    assert sorted({row["cluster"] for row in rows})[0] == "Cluster 10: 4 contexts"
    assert {row["cluster"][:10] for row in rows}.isdisjoint({"Cluster 1:", "Cluster 2:"})
    assert len(rows) == 8 * 150
    assert "8 of 10 clusters, the largest, and 150 of 400 arms" in drops.captions(run)[-1]


def test_regret_is_drawn_beside_the_rates_of_its_problem(run: Run) -> None:
    points = [(row["line"], row["rounds"], row["regret"]) for row in cost.regret_rows({"a": run})]
    assert points == [("a", 10, 4.0), ("a", 100, 9.0)]
    rates = {(row["line"], row["rounds"]): row["regret"] for row in cost.rate_rows({"a": run})}
    assert rates == {
        (line, T): pytest.approx(rate)
        for T in (10, 100)
        for line, rate in ((cost.THEOREM, (8 * 7 * T) ** 0.5), (cost.STANDARD, (12 * T) ** 0.5))
    }


def test_rates_are_left_out_where_they_say_nothing(run: Run) -> None:
    other = dataclasses.replace(run, parameters={"problem": Problem(4, 3, 3)})
    seeking = dataclasses.replace(run, about=pac.near_uniform.about)
    low = dataclasses.replace(run, about=reductions.low_rank_online.about)
    assert list(cost.rate_rows({"a": run, "b": run}))
    for runs in ({"a": run, "b": other}, {"a": seeking}, {"a": low}):
        assert not list(cost.rate_rows(runs))
        assert "left out" not in cost.caption(runs)
    guess = dataclasses.replace(
        run,
        about=reductions.unknown_groups.about,
        parameters={"problem": Problem(4, 3, 1)},
    )
    assert history.rated_problem(guess) == Problem(4, 3, 2)


def test_long_runs_are_thinned_and_keep_their_end(run: Run) -> None:
    requests = [request(t, float(t)) for t in range(1, 1001)]
    rows = list(cost.regret_rows({"a": dataclasses.replace(run, requests=requests)}))
    assert len(rows) == cost.MOST_POINTS
    assert rows[-1]["rounds"] == 1000
    assert [row["rounds"] for row in rows] == sorted({row["rounds"] for row in rows})


def test_a_run_without_regret_can_be_drawn(run: Run) -> None:
    none = dataclasses.replace(run, requests=[request(9, 0.0)], regret=0.0)
    assert not list(cost.regret_rows({"a": none}))
    assert pictures.run(none).to_dict()


def test_the_matrix_is_sorted_by_clusters_with_lines_between() -> None:
    turns = [turn(0, 1, [1, 0, 1, 0], [ALL, ALL])]
    run = by_hand(turns, policy=np.array([2, 0, 2, 0]))
    _, _, heat, strip, frames, bands, _ = inline(pictures.sorted_matrix(run))
    assert [row["context"] for row in heat[::3]] == ["1", "3", "0", "2"]
    assert [row["group"] for row in strip] == ["1", "2", "1", "2"]
    assert [(row["row"], row["bottom"], row["column"]) for row in frames] == [
        ("0", "2", "0"),
        ("2", "4", "1"),
    ]
    assert [(row["row"], row["number"]) for row in bands] == [("0", "1"), ("2", "2")]


def test_frames_follow_the_policy_where_a_cluster_is_given_two_arms() -> None:
    run = by_hand([turn(0, 1, [0] * 4, [ALL])], policy=np.array([0, 1, 1, 0]))
    frames = inline(pictures.sorted_matrix(run))[4]
    places = [(row["row"], row["bottom"], row["column"]) for row in frames]
    assert places == [("0", "1", "0"), ("1", "3", "1"), ("3", "4", "0")]


# --- Plans side by side ------------------------------------------------------------------------


@pytest.fixture
def split(run: Run) -> Run:
    """Two plans side by side, twice; context 3 is in no bucket the second time."""

    def side(request: int, contexts: list[int], cluster: list[int]) -> Side:
        good = [ALL] * (max(cluster) + 1)
        part = by_hand([turn(0, 1, cluster, good)], run.world.part(np.array(contexts)))
        policy = np.zeros(len(contexts), dtype=np.int64)
        return Side(request, np.array(contexts), dataclasses.replace(part, policy=policy))

    sides = [side(1, [0, 1, 2, 3], [0] * 4), side(3, [1, 2], [1, 0]), side(3, [0], [0])]
    about = reductions.any_contexts_online.about
    return dataclasses.replace(run, about=about, turns=[], sides=sides)


def test_clusters_of_buckets_are_numbered_through(split: Run) -> None:
    label = history.final_clusters(split)
    assert label is not None
    assert label.tolist() == [2, 1, 0, 3]
    rows = [
        (row["bucket"], row["groups"], row["clusters"], row["most"])
        for row in cluster_counts.bucket_rows(split)
    ]
    assert rows == [("1: 2 contexts", 2, 2, 3), ("2: 1 context", 1, 1, 3)]
    assert "in each of 2 buckets: 2 for 2, 1 for 1." in cluster_counts.words(split)


def test_regret_of_buckets_is_drawn_on_their_own_clocks(split: Run) -> None:
    rows = [(row["bucket"], row["rounds"], row["regret"]) for row in cost.bucket_rows({"a": split})]
    assert rows == [
        (f"a, bucket {number}", rounds, regret)
        for number in (1, 2)
        for rounds, regret in ((10, 4.0), (100, 9.0))
    ]


def test_buckets_without_clusters_are_no_clusters(split: Run) -> None:
    bare = dataclasses.replace(split.sides[0], run=dataclasses.replace(split, sides=[]))
    run = dataclasses.replace(split, sides=[bare])
    assert history.final_clusters(run) is None
    assert pictures.run(run).to_dict()


# --- Every kind of plan -----------------------------------------------------------------------

SMALL = dataclasses.replace(PAPER, phase=1, levels=1, split=1, online=0.01)
PLANS: dict[str, Callable[[Problem], Plan]] = {
    "Algorithm 4": lambda p: regret.equal_groups(p, constants=SMALL),
    "Algorithm 6": lambda p: regret.any_groups(p, constants=SMALL, mended=True),
    "unknown": lambda p: reductions.unknown_groups(Problem(12, 8, 1), constants=SMALL),
    "buckets": lambda p: reductions.any_contexts_online(p, constants=SMALL),
    "never worse": lambda p: reductions.never_worse(p, constants=SMALL),
    "standard": standard.online,
    "low rank": lambda p: reductions.low_rank_online(p, horizon=10**7, switch=False),
    "Algorithm 1": lambda p: pac.near_uniform(p, epsilon=0.2, delta=0.1),
    "Algorithm 3": lambda p: pac.any_contexts(p, epsilon=0.2, delta=0.1),
}


def by_day_or_night() -> Iterator[Any]:
    for name in PLANS:
        marks = [] if name in ("Algorithm 3", "Algorithm 6") else [pytest.mark.nightly]
        yield pytest.param(name, marks=marks)


@pytest.fixture(params=[*by_day_or_night()], scope="module")
def real(request: pytest.FixtureRequest) -> Run:
    world = worlds.lumpable(12, 8, 3, frequency="zipf", seed=3)
    return simulate(PLANS[request.param](Problem(12, 8, 3)), world, horizon=10**7, seed=4)


def test_every_run_can_be_drawn_and_is_described(real: Run, tmp_path: Path) -> None:
    chart = real.plot()
    save.chart(chart, tmp_path / "run.svg")
    spec = chart.to_dict()
    assert "regret against rounds" in spec["description"]
    assert "heat maps of the mean rewards" in spec["description"]
    assert len(spec["vconcat"]) == 2 + bool(real.turns)
    assert len(json.dumps(spec)) < 200_000
    assert spec["title"]["text"].endswith(" rounds")


def test_every_panel_stands_alone(real: Run) -> None:
    charts = [pictures.regret(real), pictures.sorted_matrix(real)]
    if cluster_counts.any_clusters(real):
        charts.append(pictures.clusters(real))
    else:
        with pytest.raises(ValueError, match="run: expected one that forms clusters, got"):
            pictures.clusters(real)
    if real.turns:
        charts.append(pictures.dropped_arms(real))
    else:
        with pytest.raises(ValueError, match="run: expected one that forms clusters, got"):
            pictures.dropped_arms(real)
    for chart in charts:
        spec = chart.to_dict()
        assert len(spec["description"]) > 60
        assert spec["title"]["text"]


def test_several_runs_share_a_chart_of_regret() -> None:
    world = worlds.lumpable(12, 8, 3, seed=3)
    problem = Problem(12, 8, 3)
    plans = {"groups": regret.equal_groups(problem), "none": standard.online(problem)}
    runs = {name: simulate(plan, world, horizon=10**7, seed=4) for name, plan in plans.items()}
    rates, lines, _ = inline(pictures.regret(runs))
    assert {row["line"] for row in lines} == {"groups", "none"}
    last = {row["line"]: float(row["regret"]) for row in lines}
    assert last == {name: pytest.approx(run.regret) for name, run in runs.items()}
    assert float(rates[-1]["regret"]) == pytest.approx(bounds.standard_rate(problem, 10**7))


def test_large_worlds_are_drawn_in_a_few_hundred_kilobytes() -> None:
    world = worlds.lumpable(1500, 1500, 5, seed=1)
    good = np.ones((5, 1500), dtype=bool)
    run = by_hand([turn(0, 1, world.group.tolist(), good.tolist())], world, policy=world.policy)
    assert len(json.dumps(run.plot().to_dict())) < 600_000


# --- The kit ----------------------------------------------------------------------------------


def test_both_schemes_have_the_same_colours_to_give() -> None:
    light, dark = (dict(theme.SCHEMES[name].variables()) for name in ("light", "dark"))
    assert list(light) == list(dark)
    assert len(theme.LIGHT.looks) == len(theme.DARK.looks) == len(theme.DASHES)
    assert {light[name] for name in light} & {dark[name] for name in dark} == set()


def test_style_sheets_use_only_colours_of_the_theme() -> None:
    """Whatever variable they read is one of the theme, or made by the page itself."""
    static = Path(theme.__file__).parent.parent / "static"
    known = {name for name, _ in theme.LIGHT.variables()} | {"share"}
    for sheet in static.glob("*.css"):
        used = set(re.findall(r"var\(--([\w-]+)", sheet.read_text()))
        assert used <= known, sheet.name


def test_ticks_of_values_are_inside_and_none_where_nothing_is_positive() -> None:
    assert axes.ticks_of([1.0, 0.0, 1000.0]) == [1.0, 10.0, 100.0, 1000.0]
    assert axes.ticks_of([7.0]) != []
    assert axes.ticks_of([0.0, -1.0]) == []


def test_numbers_along_an_axis_are_those_of_its_ticks() -> None:
    """Small ones too: 0.0025 is not rounded to 0.003."""
    ticks = [0.00005, 0.0025, 0.02, 0.125, 0.5, 1.5, 2000.0]
    x = canvas.altair().X("at:Q", scale=axes.log_scale(), axis=axes.numbers(ticks))
    points = canvas.altair().Chart(canvas.data({"at": at} for at in ticks)).mark_point()
    svg = canvas.svg(points.encode(x=x).properties(width=900).to_dict())
    shown = re.findall(r">([^<>]+)</text>", svg)
    assert shown[: len(ticks)] == ["5e-5", "0.0025", "0.02", "0.125", "0.5", "1.5", "2,000"]
