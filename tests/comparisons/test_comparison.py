"""The report of comparisons: statistics against closed forms, rows read and checked, the page."""

from __future__ import annotations

import html
import importlib
import itertools
import json
import math
import re
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lumpable import BadArgument, MissingExtra
from lumpable.cli import reporting
from lumpable.comparisons import standing, statistics
from lumpable.comparisons.results import gather
from lumpable.comparisons.rows import COLUMNS
from lumpable.reports import compared
from lumpable.reports.charts import curves, figure_kinds, figures
from lumpable.reports.kit import axes, canvas, svg
from lumpable.reports.kit.numbers import interval
from lumpable.reports.kit.table import Cell, Table
from lumpable.reports.pages import comparison_tables as tables
from twins import made_rows

FEW = ["ucb", "ucb-one", "club", "mts", "lattice", "suplinrel"]
MANY = [*list(made_rows.TITLES)[:14], "club", "mts", "lattice", "oracle-groups"]
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def few() -> list[dict[str, Any]]:
    return made_rows.rows(FEW, worlds=2, seeds=4, horizon=1000)


def read(rows: list[dict[str, Any]]) -> standing.Overall:
    return standing.stand(gather(rows))


def row(**changes: Any) -> dict[str, Any]:
    """Return one row of a small comparison."""
    made = made_rows.rows(["ucb"], worlds=1, seeds=1, horizon=10)[0]
    return {**made, **changes}


def duel(**regrets: list[float]) -> list[dict[str, Any]]:
    """Return rows of one round: learners with their regret by seed."""
    return [
        row(learner=name, seed=seed, regret=value)
        for name, values in regrets.items()
        for seed, value in enumerate(values)
    ]


# --- Statistics -----------------------------------------------------------------------------------


def test_the_interval_of_a_ratio_is_what_the_paired_t_test_does_not_reject() -> None:
    """At both ends of Fieller's interval the t-test of a − ρ b against zero has p = 0.05."""
    rng = np.random.default_rng(1)
    for n in (2, 3, 10, 40):
        b = 100 + rng.standard_normal(n)
        a = 2 * b + rng.standard_normal(n)
        found = statistics.ratio(a, b)
        assert found.value == pytest.approx(a.mean() / b.mean())
        assert found.low < found.value < found.high
        for end in (found.low, found.high):
            assert stats.ttest_1samp(a - end * b, 0).pvalue == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("many", [3000, pytest.param(30_000, marks=pytest.mark.nightly)])
def test_the_interval_of_a_ratio_covers_as_often_as_it_says(many: int) -> None:
    """For normal pairs the coverage is 95 % exactly; a binomial bound of p < 1e-9 each side.

    Correlated pairs and a denominator that is close to zero in units of its error: there the
    delta method would not do. The quantiles of the normal law, instead of those of Student's, would
    cover 88 %: 17 standard deviations of 3000 pairs less.
    """
    rng, n = np.random.default_rng(2), 5
    truth = np.array([3.0, 2.0])
    root = np.linalg.cholesky(np.array([[1.0, 0.6], [0.6, 0.8]]))
    pairs = truth + rng.standard_normal((many, n, 2)) @ root.T
    covered = 0
    for one in pairs:
        found = statistics.ratio(one[:, 0], one[:, 1])
        if math.isinf(found.low):  # an unbounded set: whether the test rejects decides
            covered += bool(stats.ttest_1samp(one[:, 0] - 1.5 * one[:, 1], 0).pvalue > 0.05)
        else:
            covered += found.low <= 1.5 <= found.high
    law = stats.binom(many, 0.95)
    assert law.cdf(covered) > 1e-9
    assert law.sf(covered - 1) > 1e-9


def test_pairing_matters() -> None:
    """Luck that both share cancels: exactly proportional regrets have an interval of no width."""
    b = np.array([90.0, 100.0, 130.0])
    assert statistics.ratio(1.5 * b, b)[1:3] == pytest.approx((1.5, 1.5))
    apart = statistics.ratio(1.5 * b[::-1], b)
    assert apart.high - apart.low > 0.5


def test_ratios_at_the_edge() -> None:
    nan = math.nan
    one = statistics.ratio(np.array([3.0, nan]), np.array([2.0, 5.0]))
    assert one.value == 1.5
    assert one.pairs == 1
    assert math.isnan(one.low)
    assert statistics.ratio(np.array([nan]), np.array([2.0])).pairs == 0
    assert statistics.ratio(np.zeros(3), np.zeros(3)).value == 1
    assert statistics.ratio(np.ones(3), np.zeros(3)).value == math.inf
    wild = statistics.ratio(np.array([1.0, 2.0]), np.array([-1.0, 1.5]))
    assert (wild.low, wild.high) == (-math.inf, math.inf)


def test_bands_are_those_of_the_t_law() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((7, 3))
    found = statistics.band(values)
    for k in range(3):
        mean, error = values[:, k].mean(), stats.sem(values[:, k])
        low, high = stats.t.interval(0.95, 6, mean, error)
        assert (found.mean[k], found.low[k], found.high[k]) == pytest.approx((mean, low, high))
    values[2:, 1] = math.nan  # what is missing is left out
    values[1:, 2] = math.nan
    part = statistics.band(values)
    assert part.mean[1] == pytest.approx(values[:2, 1].mean())
    assert part.high[1] == pytest.approx(
        stats.t.interval(0.95, 1, part.mean[1], stats.sem(values[:2, 1]))[1]
    )
    assert part.mean[2] == values[0, 2]
    assert math.isnan(part.low[2])


@given(st.integers(0, 25), st.integers(0, 25))
def test_the_sign_test_is_the_exact_binomial_test(less: int, more: int) -> None:
    expected = stats.binomtest(less, less + more, 0.5).pvalue if less + more else 1.0
    assert statistics.sign_test(less, more) == pytest.approx(expected)


def test_wins_count_ties_half() -> None:
    found = statistics.wins(np.array([1.0, 2, 3, 4, math.nan]), np.array([2.0, 2, 1, 5, 0]))
    assert found == statistics.Wins(2.5 / 4, 1.0, 4)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_ranks_are_shared_by_ties(values: list[int]) -> None:
    assert (
        statistics.ranks(np.array(values, dtype=float)).tolist() == stats.rankdata(values).tolist()
    )


@given(st.lists(st.floats(0, 200), max_size=9).map(sorted))
def test_names_stand_apart_and_near(wanted: list[float]) -> None:
    """Names keep their order and a gap, stay in the picture, and stay put where there is room."""
    found = axes.spread(wanted, gap=20, height=200)
    assert all(b - a >= 20 - 1e-9 for a, b in itertools.pairwise(found))
    assert all(-1e-9 <= x <= 200 + 1e-9 for x in found)
    if all(b - a >= 20 for a, b in itertools.pairwise(wanted)):
        assert found == pytest.approx(wanted)


@given(st.floats(1e-9, 1e9), st.floats(1.02, 1e12))
def test_every_logarithmic_axis_has_numbers(low: float, times: float) -> None:
    """Three to nine of them, inside the axis, ascending, of at most three digits."""
    high = low * times
    found = axes.ticks(low, high)
    assert 3 <= len(found) <= 10
    assert all(a < b for a, b in itertools.pairwise(found))
    assert all(low * (1 - 1e-9) <= x <= high * (1 + 1e-9) for x in found)
    assert all(float(f"{x:.4g}") == pytest.approx(x, rel=1e-12) for x in found)


def test_logarithmic_axes_have_one_two_and_five() -> None:
    assert axes.ticks(30, 700) == [50, 100, 200, 500]
    assert axes.ticks(103e-9, 869e-9) == [150e-9, 200e-9, 300e-9, 500e-9, 700e-9]
    assert axes.ticks(0.9, 2.1) == [1, 1.5, 2]
    assert axes.ticks(0.91, 1.3) == [1, 1.1, 1.2, 1.3]
    assert axes.ticks(1, 1e6) == [10.0**k for k in range(7)]


# --- Standings ------------------------------------------------------------------------------------


def test_the_best_fair_peer_is_the_measure() -> None:
    """An oracle with the least regret is no measure; ratios are of means over common seeds."""
    rows = duel(a=[10, 12, 14], b=[20, 20, 26], c=[1, 1, 1])
    for line in rows:
        line["knows"] = "groups" if line["learner"] == "c" else ""
    overall = read(rows)
    one = overall.standings[0]
    names = one.world.learners
    assert [names[i] for i in one.order] == ["c", "a", "b"]
    assert one.best == names.index("a")
    assert [one.ratios[names.index(x)].value for x in "abc"] == pytest.approx([1, 66 / 36, 3 / 36])
    assert overall.rank[names.index("b")] == 2
    assert math.isnan(overall.rank[names.index("c")])
    assert one.duel(names.index("b"), names.index("a")).share == 0


def test_one_lucky_seed_is_no_measure() -> None:
    rows = duel(a=[10, 12, 14, 13], b=[1])
    one = read(rows).standings[0]
    assert one.world.learners[one.best or 0] == "a"
    assert one.done(1) == 1


def test_the_geometric_mean_over_worlds() -> None:
    """Two worlds in which b loses twice and eight times as much as a: four times on the whole."""
    first, second = duel(a=[10.0], b=[20.0]), duel(a=[5.0], b=[40.0])
    rows = first + [{**line, "world": "another"} for line in second]
    overall = read([*rows, row(learner="c", world="another", regret=5.0)])
    names = overall.comparison.learners
    assert overall.mean[names.index("b")] == pytest.approx(4)
    assert [names[i] for i in overall.order] == ["a", "b", "c"]  # c misses a world
    assert overall.worlds == (2, 2, 1)
    assert overall.rank.tolist() == [1.25, 2.5, 1.5]


def test_no_single_world_decides_the_mean() -> None:
    """Where the best has no regret there is no scale; an oracle without any counts as a 1,000th."""
    first, second = duel(a=[10.0], b=[20.0], c=[0.0]), duel(a=[0.0], b=[40.0], c=[0.0])
    rows = first + [{**line, "world": "another"} for line in second]
    for line in rows:
        line["knows"] = "groups" if line["learner"] == "c" else ""
    overall = read(rows)
    assert overall.mean.tolist() == pytest.approx([1.0, 2.0, 0.001])
    assert math.isinf(overall.ratio[1, 1])


def test_marks_are_at_a_tenth_a_third_and_the_end() -> None:
    overall = read(made_rows.rows(["ucb", "ucb-one"], 1, 2, horizon=10_000))
    assert [mark.round for mark in overall.standings[0].marks] == [1000, 2512, 10_000]


def test_ratios_at_a_mark_are_of_that_round() -> None:
    """Curves that cross: each round has its own best fair peer and its own ratio."""
    regrets = {"a": {1: 1.0, 3: 9.0, 10: 10.0}, "b": {1: 5.0, 3: 6.0, 10: 40.0}}
    rows = [
        row(learner=name, round=t, regret=regret)
        for name, curve in regrets.items()
        for t, regret in curve.items()
    ]
    marks = read(rows).standings[0].marks
    assert [(mark.round, mark.best) for mark in marks] == [(1, 0), (3, 1), (10, 0)]
    assert [max(ratio.value for ratio in mark.ratios) for mark in marks] == [5.0, 1.5, 4.0]


def test_looks() -> None:
    """Eight fair peers in eight colours, three oracles by name, and the best overall keeps its."""
    overall = read(made_rows.rows(list(made_rows.TITLES), worlds=3, seeds=1, holes=False))
    top = [i for i in overall.order if not overall.knows[i]][:3]
    for one in overall.standings:
        looks = [one.looks[i] for i in one.order if one.looks[i] < standing.COLOURED]
        assert sorted(looks) == list(range(8))
        fair = [i for i in one.order if not one.world.knows[i]]
        assert {i for i in fair if one.looks[i] < 8} == set(fair[:8])
        assert sum(look == standing.ORACLE for look in one.looks) == 3
        for place, i in enumerate(top):
            if i in fair[:8]:
                assert one.looks[i] == place


# --- Rows -----------------------------------------------------------------------------------------


def write(rows: list[dict[str, Any]], path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_rows_come_as_people_have_them(few: list[dict[str, Any]], tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl

    done = [line for line in few if line["status"] == "done" and line["learner"] != "LATTICE"]
    expected = gather(done).worlds[0].measures["regret"]
    path = write(done, tmp_path / "rows.parquet")
    frames = (pd.DataFrame(done), pl.DataFrame(done, infer_schema_length=None))
    for rows in (path, str(path), pa.Table.from_pylist(done), iter(done), *frames):
        found = gather(rows).worlds[0].measures["regret"]
        np.testing.assert_array_equal(found, expected)


def test_an_unfinished_run_is_read_from_its_parts(
    few: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Parts alone, parts beside a file, and a part that is being written."""
    path = tmp_path / "rows.parquet"
    parts = tmp_path / "rows.parquet.parts"
    parts.mkdir()
    with pytest.raises(ValueError, match="is empty"):
        compared.read(path)
    first = [line for line in few if line["seed"] < 2]
    rest = [line for line in few if line["seed"] == 2]
    write(first, parts / "a.parquet")
    write(rest, parts / "b.parquet")
    (parts / "c.parquet").write_bytes(b"PAR1 not yet")
    alone = compared.read(path)
    assert alone.unfinished
    assert alone.worlds[0].seeds == (0, 1, 2)
    write(first, path)
    both = compared.read(path)
    assert both.rows == alone.rows  # what is in both counts once
    for one, other in zip(both.worlds, alone.worlds, strict=True):
        np.testing.assert_array_equal(one.measures["regret"], other.measures["regret"])


def test_cells_without_rows_are_said_to_be_missing() -> None:
    overall = read(duel(a=[1, 2, 3], b=[2]))
    table = tables.undone_table(overall.standings[0])
    assert table is not None
    assert texts(table) == [["b", "not yet run", "1, 2", "no rows yet"]]


def test_what_failed_and_was_then_done_is_done() -> None:
    failed = made_rows.undone(row(), "failed", "a trace")
    assert not read([failed, row()]).standings[0].world.undone


def test_the_same_label_twice_is_told_apart() -> None:
    rows = [row(regret=1.0), row(regret=2.0, parameters='{"width": 2}')]
    overall = read([*rows, row(regret=1.0, horizon=99)])
    assert overall.comparison.learners == ("UCB1 per context {}", 'UCB1 per context {"width": 2}')
    assert len({world.name for world in overall.comparison.worlds}) == 2


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([{"horizon": 400}, {"horizon": 4000}], ["w, 400 rounds", "w, 4,000 rounds"]),
        (
            [{"setting": '{"arms": 5, "noise": "normal"}'}, {"setting": '{"arms": 5}'}],
            ["w, noise normal", "w"],
        ),
        (
            [{"setting": '{"r": 2, "a": [1]}'}, {"setting": '{"r": 3, "a": [1]}', "horizon": 99}],
            ["w, 10 rounds, r 2", "w, 99 rounds, r 3"],
        ),
        ([{"setting": "odd"}, {"setting": "even"}], ["w, odd", "w, even"]),
        ([{"setting": '{"a":1}'}, {"setting": '{"a": 1}'}], ["w", 'w, {"a": 1}']),
    ],
)
def test_worlds_of_one_label_are_named_by_what_differs(
    changes: list[dict[str, Any]], names: list[str]
) -> None:
    found = gather([row(world="w", **change) for change in changes])
    assert [world.name for world in found.worlds] == names


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "at least one row, got none"),
        ([{"learner": "a", "world": "b"}], "the first row lacks parameters, knows, setting"),
        ([row(status="gone")], "a status of done, not run, failed, got 'gone'"),
        ([row(regret="much")], "numbers in 'regret', got 'much'"),
        ([row(regret=math.inf)], "numbers up to 1e+100 in 'regret', got inf"),
        ([row(seconds=-1e300)], "numbers up to 1e+100 in 'seconds', got -1e+300"),
        ([row(round=0)], "numbers of at least 1 in 'round', got 0"),
        ([row(horizon=-1)], "numbers of at least 1 in 'horizon', got -1"),
        ([row(groups=-1)], "numbers of at least 0 in 'groups', got -1"),
        ([row(contexts="six")], "numbers of at least 0 in 'contexts', got 'six'"),
        ("/", "a Parquet file, got '/'"),
        (Path(), "a Parquet file, got '.'"),
        ([1], "expected rows, mappings"),
        (3, "got int"),
        ("nowhere.parquet", "no such file: 'nowhere.parquet'"),
        (pa.table({"learner": ["a"]}), "the frame lacks parameters"),
    ],
)
def test_bad_rows_are_named(rows: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        gather(rows)


def test_a_column_that_comes_twice_is_named(few: list[dict[str, Any]], tmp_path: Path) -> None:
    table = pa.Table.from_pylist(few)
    pq.write_table(table.append_column("ari", table["ari"]), tmp_path / "w.parquet")
    with pytest.raises(BadArgument, match="it has ari more than once"):
        gather(tmp_path / "w.parquet")


@pytest.mark.parametrize(
    "rows",
    [
        [row(learner="stopped", round=5, ari=0.5), row(ari=None)],
        [row(regret=5e-324)],
        [row(contexts=None, arms=None, groups=None), row(learner="other")],
        [row(setting="[" * 100_000)],
    ],
    ids=["measured before the end only", "next to nothing", "of no size", "nested"],
)
def test_odd_rows_make_a_page(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """Rows of another program may hold anything that is a number."""
    for form in (rows, pandas.DataFrame(rows)):
        page = compared.report(form, tmp_path / "page.html").read_text()
        assert all(one["learner"] in page for one in rows)


# --- The page -------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """What a page holds: tags, ids, links, what has no words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = made_rows.rows([*MANY, "suplinrel", EVIL, "quote \" and ' &"], 2, 6, horizon=1000)
    path = tmp_path_factory.mktemp("page") / "report.html"
    compared.report(rows, path, title=f"Title {EVIL}")
    return path.read_text(encoding="utf-8")


def test_the_page_is_whole(page: str) -> None:
    """Ids are unique, links lead somewhere, tables have captions and scopes, nothing is fetched."""
    seen = Seen(page)
    ids = [found["id"] for _, found in seen.tags if "id" in found]
    assert len(ids) == len(set(ids))
    links = [found["href"] or "" for tag, found in seen.tags if tag == "a"]
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert sum(tag == "table" for tag, _ in seen.tags) == sum(
        tag == "caption" for tag, _ in seen.tags
    )
    assert all("scope" in found for tag, found in seen.tags if tag == "th")
    assert not [found for _, found in seen.tags if "src" in found]
    assert not [tag for tag, _ in seen.tags if tag in ("link", "img", "iframe")]
    pictures = [found for _, found in seen.tags if "data-figure" in found and "id" in found]
    assert len(pictures) == 1 + 2 * 6
    for found in pictures:
        assert found["role"] == "img"
        assert re.search(r"\d", found["aria-label"] or "")


def test_names_are_escaped(page: str) -> None:
    scripts = [found for tag, found in Seen(page).tags if tag == "script"]
    assert len(scripts) == 3
    assert EVIL not in page
    assert html.escape(EVIL) in page
    held = re.search(r'id="report">(.*?)</script>', page, re.S)
    assert held is not None
    assert EVIL in json.loads(held.group(1))["series"][0]["learners"]


def test_what_is_not_there_is_said(page: str) -> None:
    assert "<summary>LinAlgError: Eigenvalues did not converge</summary>" in page
    assert "Traceback (most recent call last)" in page
    assert "suplinrel: at most 20,000 cells, got 20,000" in page
    assert re.search(r'<a href="#undone-1">failed</a>', page)
    assert re.search(r'<a href="#undone-2">not run</a>', page)
    assert "knows the groups&#39; means" in page


def test_the_table_of_a_world_has_its_numbers() -> None:
    a, b = [10.0, 12.0, 14.0], [20.0, 21.0, 26.0]
    table = tables.ratio_table(read(duel(a=a, b=b)).standings[0])
    found = statistics.ratio(np.array(b), np.array(a))
    cell = table.lines[1].cells[3]
    assert (cell.text, cell.note) == (f"{found.value:.2f}", f"{found.low:.2f}–{found.high:.2f}")
    half = stats.t.ppf(0.975, 2) * stats.sem(a)
    cell = table.lines[0].cells[2]
    assert (cell.text, cell.note) == ("12", f"± {half:.3g}")


def test_one_seed_has_no_intervals_and_the_page_says_so(tmp_path: Path) -> None:
    rows = made_rows.rows(["ucb", "ucb-one"], worlds=1, seeds=1, horizon=1000)
    compared.report(rows, tmp_path / "one.html")
    words = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "There is only one seed: no intervals" in words
    assert "without intervals (there is only one seed)" in words
    assert "±" not in words.split('<h3 id="title-1">')[1].split("<script")[0]
    assert "No learner here has groups" in words


def test_a_world_where_nothing_was_done(tmp_path: Path) -> None:
    rows = [made_rows.undone(row(), "failed", "ValueError: no\nTrace"), row(world="good")]
    compared.report(rows, tmp_path / "none.html")
    words = (tmp_path / "none.html").read_text(encoding="utf-8")
    assert "Nothing was done in this world." in words
    assert "<summary>ValueError: no</summary>" in words
    compared.report(rows[:1], tmp_path / "none.html")
    assert "No fair peer was run" in (tmp_path / "none.html").read_text(encoding="utf-8")
    assert "No fair peer was run" in compared.summary_html(rows[:1])


def test_failures_that_share_their_first_line_are_one() -> None:
    """Seeds differ in who they say they are and in their traces, and yet are one line."""
    rows = [row(learner="a", seed=seed) for seed in range(5)]
    for seed, (words, trace) in {
        1: ("no\nmore", "x"),
        2: ("no\nmore", "y"),
        4: ("off", "z"),
    }.items():
        about = f"a in small, seed {seed}: ValueError: {words.splitlines()[0]}"
        reason = f"{about}\nTraceback:\n  {trace}\nValueError: {words}\n"
        rows[seed] = made_rows.undone(rows[seed], "failed", reason)
    table = tables.undone_table(read(rows).standings[0])
    assert table is not None
    assert [line[2:] for line in texts(table)] == [
        ["1, 2", "ValueError: no"],
        ["4", "ValueError: off"],
    ]
    folds = [line.cells[3].fold for line in table.lines]
    assert folds[0].startswith("Seed 1:\na in small, seed 1: ValueError: no\nTraceback:\n  x")
    assert folds[1].startswith("a in small, seed 4: ValueError: off\nTraceback:\n  z")


def test_intervals_below_zero_have_one_dash() -> None:
    def said(low: float, high: float) -> str:
        return interval(low, high)

    assert said(-0.403, 3.58) == "−0.40 to 3.58"
    assert said(-23.04, -1.5) == "−23.0 to −1.50"
    assert said(0.403, 3.58) == "0.40–3.58"


def test_no_regret_at_all_has_a_sign() -> None:
    """Where the best has lost nothing all others lost infinitely many times as much."""
    first, second = duel(a=[0.0], b=[20.0]), duel(a=[1.0], b=[2.0])
    overall = read(first + [{**line, "world": "another"} for line in second])
    cell = tables.overall_table(overall).lines[1].cells[5]
    assert (cell.text, cell.kind, cell.share) == ("∞", "warm", 88)
    assert texts(tables.ratio_table(overall.standings[0]))[1][3] == "∞"


@pytest.mark.parametrize(("worlds", "many"), [(8, False), (9, True)])
def test_many_worlds_have_narrow_cells(worlds: int, many: bool, tmp_path: Path) -> None:
    rows = [row(world=f"w{k}") for k in range(worlds)]
    compared.report(rows, tmp_path / "worlds.html")
    text = (tmp_path / "worlds.html").read_text(encoding="utf-8")
    assert ('class="heat many"' in text) == many
    assert ('<p class="more">Scroll sideways for more worlds.</p>' in text) == many


def test_pairs_are_marked_where_luck_does_not_explain_them() -> None:
    seeds = 8
    table = tables.duel_table(read(duel(a=[1.0] * seeds, b=[2.0] * seeds)).standings[0])
    assert marked(table) == [("100", "cool sure", 70), ("0", "warm sure", 70)]
    table = tables.duel_table(read(duel(a=[1.0] * 4, b=[2.0] * 4)).standings[0])
    assert marked(table) == [("100", "cool", 70), ("0", "warm", 70)]
    assert "out of reach with fewer than six seeds" in table.caption


def texts(table: Table) -> list[list[str]]:
    """Return what stands in the cells."""
    return [[cell.text for cell in line.cells] for line in table.lines]


def marked(table: Table) -> list[tuple[str, str, int]]:
    """Return text, marks and strength of the colour of all cells that have one."""
    cells: list[Cell] = [cell for line in table.lines for cell in line.cells if cell.share]
    return [(cell.text, cell.kind, cell.share) for cell in cells]


def test_descriptions_say_what_is_seen() -> None:
    one = read(duel(a=[10.0, 12], b=[20.0, 21])).standings[0]
    first = curves.curves(one, 0, curves.series(one))[0]
    assert first.description == (
        "Regret against rounds on linear axes, of 2 learners. After 10 rounds: a 11; b 20.5."
    )


def test_curves_are_means_with_bands() -> None:
    one = read(duel(a=[10.0, 12], b=[20.0, 21])).standings[0]
    rows = figures.long_rows(curves.series(one), "regret")
    band = statistics.band(np.array([[10.0], [12.0]]))
    found = next(line for line in rows if line["learner"] == "a")
    assert (found["mean"], found["low"], found["high"]) == pytest.approx(
        (11, band.low[0], band.high[0]), rel=1e-3
    )


@pytest.mark.parametrize("name", [*figure_kinds.CURVES, "time", "strip"])
def test_templates_are_valid(name: str) -> None:
    """Altair finds no error in them, and every name that is filled in is there."""
    alt = importlib.import_module("altair")
    spec = figure_kinds.template(name)
    alt.Chart.from_dict(spec)
    named = {param["name"] for param in spec["params"]}
    assert {"first", "last"} <= named
    made = figure_kinds.to_vega(name)
    assert named <= {signal["name"] for signal in made["signals"]}
    assert {"curves", "dots"} & {table["name"] for table in made["data"]}


# --- Files and the command ------------------------------------------------------------------------


def run(*arguments: object) -> Any:
    return CliRunner().invoke(reporting.report, [str(part) for part in arguments])


def test_the_command_writes_page_and_pictures(few: list[dict[str, Any]], tmp_path: Path) -> None:
    path = write([line for line in few if "200 " in line["world"]], tmp_path / "rows.parquet")
    done = run(path, "--png", tmp_path / "png", "--title", "Mine & yours")
    assert done.exit_code == 0, done.output
    assert f"page: {tmp_path / 'rows.html'}" in done.output
    assert "<title>Mine &amp; yours</title>" in (tmp_path / "rows.html").read_text("utf-8")
    files = sorted(file.name for file in (tmp_path / "png").iterdir())
    assert "01-200-contexts-50-arms-3-groups-regret-log.png" in files
    assert len(files) == len(set(files)) == 7
    for file in (tmp_path / "png").iterdir():
        head = file.read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">I", head[16:20])[0] > 1200


def test_pictures_are_clipped_once_and_hold_no_hidden_marks() -> None:
    """A clip or an opacity for each curve is a layer of pixels each: seconds for many learners."""
    overall = read(made_rows.rows(MANY, worlds=1, seeds=3, horizon=1000))
    drawn, found = compared.draw_all(overall)
    for figure in found:
        if figure.kind not in figure_kinds.CURVES:
            continue
        picture = canvas.svg(figures.paper(figure, drawn))
        once = svg.clip_once(picture)
        lines = [path for path in re.findall(r"<path[^>]*>", once) if "stroke-width" in path]
        assert once.count(" clip-path=") <= 2  # bands and lines
        assert lines
        clips = re.findall(r"<clipPath[^>]*>(.*?)</clipPath>", picture, re.S)
        assert len(set(clips)) == 1
        assert not re.findall(r'\bopacity="0[.\d]*"', re.sub(r"(fill|stroke)-opacity", "", once))


def test_curves_are_still_cut_off() -> None:
    """The view that ends where the best do has curves that go on; each group of them is clipped."""
    import vl_convert as vlc

    overall = read(made_rows.rows(MANY, worlds=1, seeds=3, horizon=1000))
    drawn, found = compared.draw_all(overall)
    assert found[0].choice == curves.NEAR
    once = svg.clip_once(canvas.svg(figures.paper(found[0], drawn)))
    groups = re.findall(r'<g class="[^"]*pathgroup"[^>]*>', once)
    clips = [re.search(r'clip-path="url\(#(.*?)\)"', group) for group in groups]
    assert len(groups) == 2
    assert all(clip and f'<clipPath id="{clip[1]}">' in once for clip in clips)
    assert vlc.svg_to_png(re.sub(' clip-path="[^"]*"', "", once)) != vlc.svg_to_png(once)


def test_pictures_are_written_as_they_come(few: list[dict[str, Any]], tmp_path: Path) -> None:
    told: list[tuple[int, int, str, int]] = []

    def progress(done: int, total: int, words: str) -> None:
        told.append((done, total, words, len(list(tmp_path.iterdir()))))

    rows = [line for line in few if "200 " in line["world"]]
    files = compared.pictures(rows, tmp_path, progress=progress)
    assert told == [(k, len(files), file.name, k) for k, file in enumerate(files)]


def test_the_command_shows_pictures_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pictures(rows: Any, folder: Path, progress: Any) -> list[Path]:
        progress(1, 7, "a.png")
        return []

    for name, done in (("read", None), ("report", None), ("pictures", pictures)):
        monkeypatch.setattr(compared, name, done or (lambda *rows, title="": None))
    command = reporting.report.callback
    assert command is not None
    command(Path("rows.parquet"), None, Path("pictures"), "")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    command(Path("rows.parquet"), None, Path("pictures"), "")
    assert "1 of 7, a.png" in capsys.readouterr().err


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    from lumpable.cli.main import Careful

    group = Careful("lumpable", commands={"report": reporting.report})
    (tmp_path / "no.parquet").write_text("hello")
    write([{"learner": "a"}], tmp_path / "few.parquet")
    empty = pa.Table.from_pylist([], pa.schema([(name, pa.string()) for name in COLUMNS]))
    pq.write_table(empty, tmp_path / "empty.parquet")
    for name, words in (
        ("gone.parquet", "no such file"),
        ("no.parquet", "not a Parquet file"),
        ("few.parquet", "lacks parameters, knows, world"),
        ("empty.parquet", "at least one row, got none"),
    ):
        done = CliRunner().invoke(group, ["report", str(tmp_path / name)])
        assert done.exit_code == 2
        assert words in done.output
        assert len(done.output.splitlines()) == 1


def test_a_notebook_gets_a_table_and_a_picture(few: list[dict[str, Any]]) -> None:
    for rows in (few, [{**line, "learner": EVIL} for line in few[:30]]):
        words = compared.summary_html(rows)
        assert words.count("<table") == 1
        assert words.count('<svg role="img" aria-label=') == 1
        assert "<script" not in words


def test_without_the_extra_the_message_is_the_command(
    monkeypatch: pytest.MonkeyPatch, few: list[dict[str, Any]], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"lumpable\[plot\]"):
        compared.report(few, tmp_path / "page.html")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "rows.parquet").touch()
    with pytest.raises(MissingExtra, match=r"lumpable\[research\]"):
        compared.read(tmp_path / "rows.parquet")
