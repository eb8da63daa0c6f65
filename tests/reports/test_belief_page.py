"""The page of what a learner believes: offline, for light and dark, and every name is escaped."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_comparison_browser import Opened

import lumpable
from browser import CONTRAST, Chrome
from lumpable.base.extras import MissingExtra
from lumpable.lumps.belief import alternatives, beliefs, posterior, summary
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import search
from lumpable.reports.charts import belief_charts
from lumpable.reports.kit import canvas
from lumpable.reports.kit.theme import DARK, LIGHT, PAGE
from lumpable.reports.pages import belief_page

EVIL = "<script>alert(1)</script>&amp;"
CHARTS = ("sizes", "members", "means", "together")


@pytest.fixture(scope="module")
def learner() -> ThreeLevels:
    """Return a learner of thirty contexts in three groups, some of them doubtful."""
    rng = np.random.default_rng(3)
    mean = rng.random((3, 6))
    made = ThreeLevels(30, 6, seed=1)
    for _ in range(1500):
        i, j = int(rng.integers(30)), int(rng.integers(6))
        made.tell(i, j, float(rng.random() < mean[i % 3, j]))
    made.adopt(search.fit(made.counts()))
    return made


@pytest.fixture(scope="module")
def written(learner: ThreeLevels, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return belief_page.report(
        learner,
        tmp_path_factory.mktemp("beliefs") / "page.html",
        title=f"Beliefs {EVIL}",
        context_names=[f"{EVIL} {i}" for i in range(30)],
        arm_names=[f"{EVIL} {j}" for j in range(6)],
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_drawn_and_can_be_read(chrome: Chrome, written: Path, scheme: Any) -> None:
    """Each picture once, in the colours of the scheme; texts have a contrast of at least 4.5."""
    opened = Opened(chrome, written, viewport={"width": 1000, "height": 900}, color_scheme=scheme)
    at = opened.page
    at.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for key in CHARTS:
        shown = at.locator(f"#picture-{key} svg:visible")
        assert shown.count() == 1
        assert shown.get_attribute("role") == "img"
        assert shown.get_attribute("aria-label")
        assert shown.locator("path").count() > 2
    found = at.evaluate(CONTRAST)
    assert len(found) > 200
    assert min(found) > [4.5], min(found)
    ids = at.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    opened.closed()


def test_names_are_text(chrome: Chrome, written: Path, learner: ThreeLevels) -> None:
    """They stand on the page as they are, and nothing of them runs, nor does anything else."""
    opened = Opened(chrome, written, java_script_enabled=False)
    assert opened.page.locator("script").count() == 0
    assert opened.page.title() == f"Beliefs {EVIL}"
    opened.page.locator("#contexts ~ details summary").press("Enter")
    assert f"{EVIL} 7" in opened.page.locator("#contexts ~ details").inner_text()
    first = opened.page.locator("#evidence ~ .wide tr.believed th").inner_text()
    assert first == alternatives.alternatives(learner)[0].model
    opened.closed()


def test_a_narrow_screen_does_not_scroll_sideways(chrome: Chrome, written: Path) -> None:
    opened = Opened(chrome, written, viewport={"width": 320, "height": 640})
    opened.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 320
    opened.closed()


def test_pictures_shrink_with_the_page(chrome: Chrome, written: Path) -> None:
    """At 700 pixels none is cut off, and none is squeezed: height shrinks as width does."""
    opened = Opened(chrome, written, viewport={"width": 700, "height": 900})
    for key in CHARTS:
        host = opened.page.locator(f"#picture-{key}")
        assert host.evaluate("one => one.scrollWidth <= one.clientWidth"), key
        whole, shown = host.locator("svg:visible").evaluate(
            "o => [o.viewBox.baseVal, o.getBoundingClientRect()].map(b => [b.width, b.height])"
        )
        assert shown[0] <= 700
        assert shown[0] / shown[1] == pytest.approx(whole[0] / whole[1], rel=0.01)
    opened.closed()


def test_texts_of_pictures_are_not_small_on_a_telephone(chrome: Chrome, written: Path) -> None:
    """There pictures keep their size, and scroll by themselves."""
    opened = Opened(chrome, written, viewport={"width": 360, "height": 740})
    for key in CHARTS:
        host = opened.page.locator(f"#picture-{key}")
        shrunk, smallest = host.locator("svg:visible").evaluate(
            "o => [o.getBoundingClientRect().width / o.viewBox.baseVal.width,"
            " Math.min(...[...o.querySelectorAll('text')]"
            ".map(t => t.getBoundingClientRect().height).filter(height => height > 0))]"
        )
        assert shrunk == pytest.approx(1.0)
        assert smallest >= 9.0, key
    opened.closed()


def read(learner: ThreeLevels, folder: Path, **options: Any) -> str:
    """Return the text of a page."""
    return belief_page.report(learner, folder / "page.html", **options).read_text(encoding="utf-8")


def below(spec: dict[str, Any]) -> list[str]:
    """Return the names below the columns of a picture."""
    axis = re.findall(r'role-axis-label".*?</g>', canvas.svg(spec))[0]
    seen = re.findall(r'<text(?![^>]* opacity="0")[^>]*>([^<>]+)</text>', axis)
    return [unescape(text) for text in seen]


def told(rewards: list[tuple[int, int, float]], contexts: int = 3, arms: int = 2) -> ThreeLevels:
    made = ThreeLevels(contexts, arms)
    for context, arm, reward in rewards:
        made.tell(context, arm, reward)
    return made


def test_little_was_seen(tmp_path: Path) -> None:
    """A learner that was told nothing has a page without pictures; one context and arm suffice."""
    text = read(ThreeLevels(3, 2), tmp_path)
    assert "Nothing was seen yet." in text
    assert "<svg" not in text
    assert "<dd>0 seen</dd>" in text
    assert "<dd>0. There are no rewards yet.</dd>" in text
    assert "<dd>1 seen</dd>" in read(told([(0, 0, 1.0)], 1, 1), tmp_path)


def test_groups_that_are_not_identified_are_not_drawn(tmp_path: Path) -> None:
    """Instead of who is together stands the sentence; the table of contexts names no groups."""
    learner = told([(0, 0, 1.0), (0, 1, 0.0), (1, 1, 1.0)])
    assert not beliefs.identified(learner)
    text = read(learner, tmp_path)
    assert re.findall(r'id="picture-(\w+)"', text) == ["sizes", "means"]
    assert text.count(summary.summary(learner)) == 2
    assert "2 of 2 contexts</summary>" in text
    assert "probability of the group" not in text
    assert "None" not in text


def test_the_head_says_what_the_page_is_of(learner: ThreeLevels, tmp_path: Path) -> None:
    """Contexts seen, of those that are known and not of spare room; arms that may be chosen."""
    days = [f"{datetime.now(UTC):%Y-%m-%d}"]
    text = read(learner, tmp_path, contexts_known=41)
    days.append(f"{datetime.now(UTC):%Y-%m-%d}")
    assert "<dd>30 seen of 41</dd>" in text
    assert "<dd>6</dd>" in text
    assert "<dd>1,500. All rewards are 0 or 1.</dd>" in text
    assert any(f"<dd>{day}, with lumpable {lumpable.__version__}</dd>" in text for day in days)
    real = told([(0, 0, 1.5), (1, 1, -0.5)], contexts=64)
    real.state.allowed[0] = False
    text = read(real, tmp_path)
    assert "<dd>2 seen</dd>" in text
    assert "<dd>1, and 1 retired</dd>" in text
    assert "<dd>2. Rewards are numbers from" in text


def test_retired_arms_say_so_and_come_last(learner: ThreeLevels, tmp_path: Path) -> None:
    """Here the one with the largest mean, and the one with most pulls."""
    seen, names = posterior.posterior_now(learner), list("abcdef")
    retired = {int(seen.mean.max(axis=1).argmax()), int(seen.pulls.sum(axis=1).argmax())}
    learner.state.allowed[list(retired)] = False
    try:
        text = read(learner, tmp_path, arm_names=names)
        drawn = below(belief_charts.means(learner, arm_names=names).to_dict())
    finally:
        learner.state.allowed[:] = True
    for name in (f"{names[j]} (retired)" for j in retired):
        assert text.count(f'<th scope="row">{name}</th>') == seen.mean.shape[1]
        assert f"<td>{name}</td>" not in text  # nobody's best arm
        assert name in drawn[-len(retired) :]
    assert len(drawn) == len(set(drawn)) == 6


@pytest.mark.parametrize("before", [4, 5, 9, 10, 11, 12])
def test_any_name_can_be_drawn(before: int) -> None:
    """Wherever a long name is cut: its ends stay, and so do whole characters."""
    learner = told([(0, 0, 1.0), (1, 1, 0.0)])
    name = "x" * before + "\U0001f375" * 7 + "y" * 17 + "0"
    drawn = below(belief_charts.means(learner, arm_names=[name, "b"]).to_dict())
    assert drawn == [f"{name[:11]}…{name[-6:]}", "b"]


def test_all_arms_are_named() -> None:
    """Many of them, and few whose names are wider than they are long."""
    for name in ("WWWWWWW", "茶茶茶茶茶茶茶"):
        wide = told([(0, j, float(j % 2)) for j in range(10)], 1, 10)
        spec = belief_charts.means(wide, arm_names=[f"{name}{j}" for j in range(10)]).to_dict()
        assert len(below(spec)) == 10
        assert spec["encoding"]["x"]["axis"]["labelAngle"] == (0 if name[0] == "W" else -90)
    many = told([(0, j, float(j % 2)) for j in range(50)], 1, 50)
    spec = belief_charts.means(
        many, arm_names=[f"a rather long name, {j}" for j in range(50)]
    ).to_dict()
    assert len(below(spec)) == belief_charts.MOST_ARMS


def test_names_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    """An integer and a string, long names that differ in the middle, and names nobody can see."""
    names = [1, "1", f"{'a' * 14}x{'b' * 14}", f"{'a' * 14}y{'b' * 14}", "", " ", "a\x00"]
    learner = told([(i, i, 1.0) for i in range(7)], 7, 7)
    spec = belief_charts.means(learner, arm_names=names).to_dict()
    assert spec["encoding"]["x"]["field"] == "place"
    assert sorted(cell["place"] for cell in spec["data"]["values"]) == list(range(7))
    labels = belief_charts.arm_labels(learner, names, short=True)
    assert labels[:2] == ["1", "'1'"]
    assert len(set(labels)) == 7
    assert labels[4:] == ["''", "' '", r"'a\x00'"]
    assert sorted(below(spec)) == sorted(labels)
    text = read(learner, tmp_path, arm_names=names, context_names=names)
    for label in ("1", "&#39;1&#39;"):
        assert text.count(f'<th scope="row">{label}</th>') == 2  # as an arm, as a context


def test_bars_have_the_colour_of_the_page(learner: ThreeLevels) -> None:
    chart = belief_charts.sizes(learner)
    for scheme, own in ((LIGHT, "#0072B2"), (DARK, "#58A9E8"), (PAGE, "var(--look-0)")):
        drawn = canvas.svg(belief_charts.in_scheme(chart, scheme).to_dict())
        assert drawn.count(f'"{own}"') == len(beliefs.groups(learner))
    assert "#" not in re.sub(r"url\(#|&#|href=.#", "", drawn)  # a page's pictures only name colours


def test_tables_say_how_many_are_shown(
    learner: ThreeLevels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(belief_page, "MOST_DRAWN", 10)
    monkeypatch.setattr(belief_page, "MOST_MEMBERS", 7)
    text = read(learner, tmp_path)
    assert "10 of 30 contexts: how likely any two are to be in one group." in text
    _, _, table = text.partition("7 of 30 contexts, the least sure first</summary>")
    assert table.partition("</table>")[0].count('<th scope="row">') == 7


def test_tables_have_two_decimals(learner: ThreeLevels, tmp_path: Path) -> None:
    """Or more where all means are small; the check of the model is words, then figures."""
    text = read(learner, tmp_path)
    for head in ("size", "probability that it is the best", "mean of the best arm"):
        assert f'<th scope="col" class="number">{head}</th>' in text
    decimals = re.findall(r"\d\.(\d+)", "".join(re.findall(r'<td class="number">.*?</td>', text)))
    assert len(decimals) > 100
    assert {len(one) for one in decimals} == {2}
    assert re.search(r"Check of the model: [a-z :,]+ \(.*<var>p</var> = [\d.]+; .*\)\.</p>", text)
    small = told([(i % 3, i % 2, 1e-3 * (i % 7)) for i in range(200)])
    mean = beliefs.groups(small)[0].mean
    assert 0.001 < mean < 0.01
    assert f'<td class="number">{mean:.4f}</td>' in read(small, tmp_path)


def test_what_is_wrong_is_named_and_nothing_is_written(
    learner: ThreeLevels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"path: expected a name that ends in \.html, got 'a.txt'"):
        belief_page.report(learner, tmp_path / "a.txt")
    with pytest.raises(ValueError, match="level: expected a probability"):
        belief_page.report(learner, tmp_path / "a.html", level=2.0)
    with pytest.raises(ValueError, match="arm_names: expected at least 6 names, got 1"):
        belief_page.report(learner, tmp_path / "a.html", arm_names=["a"])
    with pytest.raises(ValueError, match="contexts_known: expected a whole number of at least 30"):
        belief_page.report(learner, tmp_path / "a.html", contexts_known=29)
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lumpable\[plot\]'"):
        belief_page.report(learner, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_marks_of_who_is_together_cover_the_matrix() -> None:
    """Neighbours of one shade are one mark; together marks rebuild the matrix, shade by shade."""
    shade = np.random.default_rng(2).integers(0, 3, size=(7, 7)).astype(float)
    rebuilt = np.zeros((7, 7))
    boxes = list(belief_charts._boxes(shade, [str(i) for i in range(7)]))
    for box in boxes:
        part = rebuilt[box["top"] : box["bottom"], box["left"] : box["right"]]
        assert (part == 0).all()
        part += box["together"] * belief_charts.SHADES
    assert rebuilt == pytest.approx(shade)
    assert len(boxes) < 49


def test_pictures_draw_the_rows(learner: ThreeLevels) -> None:
    """The matrix holds the means of `arms`; the surest cell is the strongest; words are numbers."""
    rows = beliefs.means(learner)
    spec = belief_charts.in_scheme(belief_charts.means(learner), LIGHT).to_dict()
    cells = spec["data"]["values"]
    assert sorted(cell["mean"] for cell in cells) == sorted(row.mean for row in rows)
    width = {row.mean: row.high - row.low for row in rows}
    order = sorted(cells, key=lambda cell: width[cell["mean"]])
    assert [cell["sure"] for cell in order] == sorted((c["sure"] for c in cells), reverse=True)
    assert cells == belief_charts.mean_rows(learner, beliefs.LEVEL, list("012345"))
    groups = beliefs.groups(learner)
    assert [row["size"] for row in belief_charts.size_rows(learner)] == [g.size for g in groups]
    said = belief_charts.sizes(learner).to_dict()["description"]
    assert all(f"{row.size_low} to {row.size_high}" in said for row in groups)
    counted = belief_charts.memberships(learner).to_dict()["data"]["values"]
    assert sum(cell["contexts"] for cell in counted) == 30
    assert counted == belief_charts.membership_rows(learner)
    few = belief_charts.together(learner, most=10).to_dict()
    assert "10 contexts are to be in one group, of 30 contexts seen" in few["description"]
    assert max(box["bottom"] for box in few["data"]["values"]) == 10


def test_sure_memberships_have_a_scale() -> None:
    """Where all contexts are sure, the picture still goes down to one half at least."""
    made = ThreeLevels(12, 2)
    for i in range(12):
        for _ in range(30):
            made.tell(i, i % 2, 1.0)
            made.tell(i, 1 - i % 2, 0.0)
    made.adopt(search.fit(made.counts()))
    assert made.membership(np.arange(12)).max(axis=1).min() > 0.99
    drawn = belief_charts.memberships(made).to_dict()
    assert drawn["encoding"]["x"]["scale"]["domain"][0] == "0.5 to 0.6"
    assert {cell["probability"] for cell in drawn["data"]["values"]} == {"0.9 to 1.0"}
