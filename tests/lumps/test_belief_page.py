"""The page of what a learner believes: offline, for light and dark, and every name is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import browser
from lumpable.extras import MissingExtra
from lumpable.lumps import beliefs, odds, page, pictures, search
from lumpable.lumps.levels import ThreeLevels
from test_comparison_browser import CONTRAST, Opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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
    return page.report(
        learner,
        tmp_path_factory.mktemp("beliefs") / "page.html",
        title=f"Beliefs {EVIL}",
        context_names=[f"{EVIL} {i}" for i in range(30)],
        arm_names=[f"{EVIL} {j}" for j in range(6)],
    )


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser.opened() as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_drawn_and_can_be_read(chrome: Browser, written: Path, scheme: Any) -> None:
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


def test_names_are_text(chrome: Browser, written: Path, learner: ThreeLevels) -> None:
    """They stand on the page as they are, and nothing of them runs, nor does anything else."""
    opened = Opened(chrome, written, java_script_enabled=False)
    assert opened.page.locator("script").count() == 0
    assert opened.page.title() == f"Beliefs {EVIL}"
    opened.page.locator("#contexts ~ details summary").click()
    assert f"{EVIL} 7" in opened.page.locator("#contexts ~ details").inner_text()
    first = opened.page.locator("#evidence ~ .wide tr.believed th").inner_text()
    assert first == odds.evidence(learner)[0]["model"]
    opened.closed()


def test_a_narrow_screen_does_not_scroll_sideways(chrome: Browser, written: Path) -> None:
    opened = Opened(chrome, written, viewport={"width": 320, "height": 640})
    opened.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 320
    opened.closed()


def test_little_was_seen(tmp_path: Path) -> None:
    """A learner that was told nothing has a page, and so has one of a single context and arm."""
    text = page.report(ThreeLevels(3, 2), tmp_path / "none.html").read_text(encoding="utf-8")
    assert "Nothing was seen yet." in text
    single = ThreeLevels(1, 1)
    single.tell(0, 0, 1.0)
    assert "1 seen of 1" in page.report(single, tmp_path / "one.html").read_text(encoding="utf-8")


def test_what_is_wrong_is_named_and_nothing_is_written(
    learner: ThreeLevels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"path: expected a name that ends in \.html, got 'a.txt'"):
        page.report(learner, tmp_path / "a.txt")
    with pytest.raises(ValueError, match="level: expected a probability"):
        page.report(learner, tmp_path / "a.html", level=2.0)
    with pytest.raises(ValueError, match="arm_names: expected at least 6 names, got 1"):
        page.report(learner, tmp_path / "a.html", arm_names=["a"])
    with pytest.raises(ValueError, match="scheme: expected one of light, dark, paper, got 'red'"):
        pictures.themed(pictures.sizes(learner), "red")
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lumpable\[plot\]'"):
        page.report(learner, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_marks_of_who_is_together_cover_the_matrix() -> None:
    """Neighbours of one shade are one mark; together marks rebuild the matrix, shade by shade."""
    shade = np.random.default_rng(2).integers(0, 3, size=(7, 7)).astype(float)
    rebuilt = np.zeros((7, 7))
    boxes = list(pictures._boxes(shade, [str(i) for i in range(7)]))
    for box in boxes:
        part = rebuilt[box["top"] : box["bottom"], box["left"] : box["right"]]
        assert (part == 0).all()
        part += box["together"] * pictures.SHADES
    assert rebuilt == pytest.approx(shade)
    assert len(boxes) < 49


def test_pictures_draw_the_rows(learner: ThreeLevels) -> None:
    """The matrix holds the means of `arms`; the surest cell is the strongest; words are numbers."""
    rows = beliefs.arms(learner)
    spec = pictures.themed(pictures.means(learner), "paper").to_dict()
    cells = spec["data"]["values"]
    assert sorted(cell["mean"] for cell in cells) == sorted(row["mean"] for row in rows)
    width = {row["mean"]: row["high"] - row["low"] for row in rows}
    order = sorted(cells, key=lambda cell: width[cell["mean"]])
    assert [cell["sure"] for cell in order] == sorted((c["sure"] for c in cells), reverse=True)
    groups = beliefs.groups(learner)
    said = pictures.sizes(learner).to_dict()["description"]
    assert all(f"{row['size_low']} to {row['size_high']}" in said for row in groups)
    counted = pictures.memberships(learner).to_dict()["data"]["values"]
    assert sum(cell["contexts"] for cell in counted) == 30
    few = pictures.together(learner, most=10).to_dict()
    assert "10 contexts are to be in one group, of 30 contexts seen" in few["description"]
    assert max(box["bottom"] for box in few["data"]["values"]) == 10
