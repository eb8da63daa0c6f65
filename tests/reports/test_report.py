"""Pictures: the rows that are drawn are the right ones, and the files can be read by everybody."""

from __future__ import annotations

import ast
import csv
import dataclasses
import html
import io
import json
import re
import resource
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from lumpable import Lumps, MissingExtra, Problem, Run, World, simulate, standard, worlds
from lumpable.reports import charts
from lumpable.reports.charts import alike
from lumpable.reports.kit import render, save


def small(contexts: int = 12, arms: int = 6, groups: int = 3) -> Run:
    """Return a run whose policy uses several arms, in no order of contexts."""
    world = worlds.lumpable(contexts, arms, groups, seed=3)
    problem = Problem(contexts, arms, groups)
    return simulate(standard.naive(problem, epsilon=0.1, delta=0.05), world, seed=4)


@pytest.fixture(scope="module")
def run() -> Run:
    return small()


@pytest.fixture(scope="module")
def large() -> Run:
    return small(contexts=400, arms=90, groups=4)


ROWS: list[dict[str, Any]] = [
    {"contexts": S, "arms": K, "groups": 5, "epsilon": 0.1, "method": method, **cost}
    for S, K, method, cost in (
        (100, 100, "Algorithm 3", {"rounds": 10**8, "loss": 0.02}),
        (100, 100, "naive method", {"rounds": 5 * 10**7, "loss": 0.004}),
        (50, 150, "Algorithm 3", {"rounds": 2 * 10**8, "loss": 0.01}),
        (150, 50, "naive method", {"rounds": 4 * 10**7, "loss": None}),
    )
]


def inline(chart: Any) -> list[list[dict[str, str]]]:
    """Return the rows of every table that a chart holds, in the order of its layers."""
    found = []

    def visit(part: Any) -> None:
        if isinstance(part, dict):
            data = part.get("data", {})
            if "values" in data:
                found.append(list(csv.DictReader(io.StringIO(data["values"]))))
            for key, value in part.items():
                if key != "data":
                    visit(value)
        elif isinstance(part, list):
            for value in part:
                visit(value)

    visit(chart.to_dict())
    return found


# --- The matrix -----------------------------------------------------------------------------


def test_contexts_are_sorted_by_the_arm_that_the_policy_gives(run: Run) -> None:
    shown = alike.choose(run)
    given = run.policy[shown.sorted_contexts]
    assert not np.array_equal(run.policy, np.sort(run.policy))  # else there is nothing to sort
    assert np.array_equal(given, np.sort(run.policy))
    assert sorted(shown.sorted_contexts) == list(shown.contexts) == list(range(12))
    for arm in shown.used:
        assert np.all(np.diff(shown.sorted_contexts[given == arm]) > 0)


def test_arms_that_were_found_come_first() -> None:
    base = small()
    policy = np.where(base.policy == base.policy[0], 5, 2)
    assert base.result is not None
    result = dataclasses.replace(base.result, policy=policy, candidates=(1, 2, 5))
    shown = alike.choose(dataclasses.replace(base, policy=policy, result=result))
    assert list(shown.used) == [2, 5]
    assert list(shown.sorted_arms) == [2, 5, 1, 0, 3, 4]
    assert list(shown.arms) == [0, 1, 2, 3, 4, 5]


def test_a_run_that_was_cut_off_is_drawn_too() -> None:
    world = worlds.lumpable(6, 4, 2, seed=1)
    plan = standard.naive(Problem(6, 4, 2), epsilon=0.1, delta=0.05)
    cut = simulate(plan, world, seed=1, horizon=10)
    assert cut.result is None
    assert len(inline(charts.sorted_matrix(cut))) == 5


def test_no_more_is_drawn_than_can_be_seen(large: Run) -> None:
    shown = alike.choose(large)
    assert len(shown.contexts) == 150
    assert len(shown.arms) == 40
    assert set(np.diff(shown.contexts)) <= {2, 3}
    subtitle = charts.sorted_matrix(large).to_dict()["title"]["subtitle"]
    assert "150 of 400 contexts, evenly spaced, and 40 of 90 arms" in subtitle[2]


def test_panels_show_the_true_means_in_both_orders(run: Run) -> None:
    hidden, _, found, _, _ = inline(charts.sorted_matrix(run))
    shown = alike.choose(run)
    for table, contexts, arms in (
        (hidden, shown.contexts, shown.arms),
        (found, shown.sorted_contexts, shown.sorted_arms),
    ):
        assert len(table) == 12 * 6
        for cell in table:
            context, arm = contexts[int(cell["row"])], arms[int(cell["column"])]
            assert (int(cell["context"]), int(cell["arm"])) == (context, arm)
            assert float(cell["mean"]) == pytest.approx(run.world.mean[context, arm], rel=1e-3)


def test_frames_hold_exactly_the_contexts_with_that_arm(run: Run) -> None:
    shown = alike.choose(run)
    framed = np.full(12, -1)
    for frame in inline(charts.sorted_matrix(run))[4]:
        rows = slice(int(frame["row"]), int(frame["bottom"]))
        framed[shown.sorted_contexts[rows]] = shown.sorted_arms[int(frame["column"])]
    assert np.array_equal(framed, run.policy)


def test_the_strip_shows_the_hidden_groups(run: Run) -> None:
    strip = inline(charts.sorted_matrix(run))[3]
    shown = alike.choose(run)
    groups = [int(row["group"]) - 1 for row in strip]
    assert groups == list(run.world.group[shown.sorted_contexts])


def test_many_groups_have_no_strip() -> None:
    world = worlds.low_rank(10, 6, 2, seed=1)
    plan = standard.naive(Problem(10, 6, 2), epsilon=0.1, delta=0.05)
    assert len(inline(charts.sorted_matrix(simulate(plan, world, seed=1)))) == 3


def test_names_are_shown_where_there_are_names(run: Run) -> None:
    names = tuple(f"user {i}" for i in range(12))
    world = dataclasses.replace(run.world, context_names=names)
    hidden = inline(charts.sorted_matrix(dataclasses.replace(run, world=world)))[0]
    assert [row["context"] for row in hidden[::6]] == list(names)


# --- Growth ---------------------------------------------------------------------------------


def test_growth_is_drawn_against_sum_and_product() -> None:
    chart = charts.growth(ROWS)
    fields = {
        layer["encoding"]["x"]["field"]: layer["encoding"]["x"]["scale"]["type"]
        for panel in chart.to_dict()["hconcat"]
        for layer in panel["layer"]
    }
    assert fields == {"sum": "log", "product": "log"}
    table = inline(chart)[0]
    assert [int(row["sum"]) for row in table] == [200, 200, 200, 200]
    assert [int(row["product"]) for row in table] == [10_000, 10_000, 7_500, 7_500]
    assert [row["shape"] for row in table] == ["S = K", "S = K", "S < K", "S > K"]
    assert [row["known"] for row in table] == ["run", "run", "run", "not run: known"]
    assert [int(row["rounds"]) for row in table] == [row["rounds"] for row in ROWS]


def test_growth_says_which_losses_were_measured() -> None:
    first, second = charts.growth(ROWS).to_dict()["title"]["subtitle"]
    assert "Algorithm 3: 0.01 to 0.02; naive method: 0.004 to 0.004" in first
    assert "Hollow" in second
    assert "Hollow" not in charts.growth(ROWS[:3]).to_dict()["title"]["subtitle"][1]


# --- Files ----------------------------------------------------------------------------------


@pytest.fixture(params=["matrix", "growth"])
def chart(request: pytest.FixtureRequest, run: Run) -> Any:
    return charts.sorted_matrix(run) if request.param == "matrix" else charts.growth(ROWS)


def test_every_chart_is_described(chart: Any) -> None:
    spec = chart.to_dict()
    assert len(spec["description"]) > 100
    assert spec["title"]["text"]


def test_png_is_twice_as_large_as_the_page(chart: Any, tmp_path: Path) -> None:
    save.chart(chart, tmp_path / "a.png")
    save.chart(chart, tmp_path / "a.svg")
    width, height = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
    size = re.search(r'width="(\d+)" height="(\d+)"', (tmp_path / "a.svg").read_text())
    assert size is not None
    assert (width, height) == (2 * int(size[1]), 2 * int(size[2]))


def test_svg_speaks_to_screen_readers(chart: Any, tmp_path: Path) -> None:
    save.chart(chart, tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == chart.to_dict()["description"]


def test_page_needs_nothing_else(chart: Any, tmp_path: Path) -> None:
    save.chart(chart, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "vegaEmbed" in page
    assert len(page) > 500_000  # the whole script is inside
    assert attributes(page).isdisjoint({"src", "href", "srcset", "data", "action"})
    assert f"<title>{html.escape(chart.to_dict()['title']['text'])}</title>" in page
    assert '<html lang="en">' in page
    held = re.search(r'id="chart">(.*?)</script>', page, re.S)
    assert held is not None
    assert json.loads(held[1])["description"] == chart.to_dict()["description"]


def attributes(page: str) -> set[str]:
    """Return the names of all attributes of all elements."""
    found: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update(name for name, _ in attrs)

    Reader().feed(page)
    assert {"lang", "charset", "id", "type"} <= found
    return found


def test_names_cannot_leave_the_page(run: Run, tmp_path: Path) -> None:
    names = ("</script><script>alert(1)</script>", *map(str, range(11)))
    world = dataclasses.replace(run.world, context_names=names)
    save.chart(charts.sorted_matrix(dataclasses.replace(run, world=world)), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<script>alert" not in page
    assert page.count("</script>") == page.count("<script") == 3
    assert r"\u003c/script\u003e\u003cscript\u003ealert(1)" in page


@pytest.mark.parametrize("name", ["a.pdf", "a", "png"])
def test_unknown_kinds_of_file_are_refused(run: Run, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"path: expected a name that ends in .*, got '{name}'"):
        save.chart(charts.sorted_matrix(run), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("module", ["altair", "vl_convert", "jinja2"])
def test_a_missing_extra_says_what_to_type(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    chart = charts.sorted_matrix(run)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"pip install 'lumpable\[plot\]'"):
        save.chart(chart, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [".png", ".svg", ".html"])
def test_a_file_is_written_whole_or_not_at_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A disk that is full leaves the old file as it was, and nothing beside it."""
    file = tmp_path / f"a{kind}"
    file.write_text("old")

    def full(handle: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        save.chart(charts.sorted_matrix(run), file)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_text() == "old"


def test_a_page_that_breaks_off_leaves_the_old_one(tmp_path: Path) -> None:
    """The file system takes the first 5,000 bytes of a file, and no more: the page is longer."""
    lumps, file = Lumps(["a", "b"]), tmp_path / "page.html"
    lumps.tell("ann", "a", 1.0)
    lumps.report(file)
    old = file.read_bytes()
    assert len(old) > 5000
    lumps.tell("ann", "a", 0.0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            lumps.report(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_bytes() == old
    lumps.report(file)
    assert file.read_bytes() != old


def test_one_context_and_one_arm_can_be_drawn(tmp_path: Path) -> None:
    world: World = worlds.from_matrix([[0.5]])
    plan = standard.naive(Problem(1, 1, 1), epsilon=0.5, delta=0.5)
    save.chart(charts.sorted_matrix(simulate(plan, world, seed=1)), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


# --- Templates ------------------------------------------------------------------------------

REPORTS = Path(save.__file__).parent.parent


def test_no_page_is_written_in_python() -> None:
    """No tag stands in a string of a module, and nobody escapes by hand."""
    wrong = []
    for path in (*REPORTS.rglob("*.py"), REPORTS.parent / "reproduce" / "page.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                tags = re.findall(r"</?([a-z][a-z0-9]*)[ >]", node.value)
                wrong += [f"{path.name}:{node.lineno} <{tag}>" for tag in tags if tag not in SVG]
            if isinstance(node, ast.ImportFrom | ast.Import) and "html" in ast.dump(node):
                wrong.append(f"{path.name}:{node.lineno} imports html")
    assert wrong == []


SVG = {"svg", "g"}
"""Tags that are looked for in a picture, not written."""


def test_templates_trust_nothing_but_what_the_package_draws() -> None:
    """Whatever is not escaped is a picture, a style sheet or a script of the package."""
    trusted = {"static(", "script", "svg", "pictures[key]", "row.picture"}
    for path in (REPORTS / "templates").glob("*.html"):
        for what in re.findall(r"\{\{-? ([^{}]*?) \| safe", path.read_text()):
            assert any(what.startswith(name) for name in trusted), f"{path.name}: {what}"


def test_a_template_without_a_value_is_an_error() -> None:
    """A page with a hole is never written."""
    with pytest.raises(Exception, match="'best' is undefined"):
        render.render("notebook.html")
