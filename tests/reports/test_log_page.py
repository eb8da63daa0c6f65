"""The page of a log in a browser: whole, readable in both schemes, narrow, and fetching nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_comparison_browser import Opened

import lumpable as lb
from browser import CONTRAST, Chrome
from lumpable.tables.answered import answer

ITEMS = [
    f"newsletter about {word} for everybody who travels" for word in ("tea", "sea", "ski", "sun")
]
EVIL = "<script>alert(1)</script>&amp;"


@pytest.fixture(scope="module")
def learned() -> lb.Learned:
    """Return what a log taught in which all is that a page can show: dirt, notes, groups, doubt.

    Names are long and differ in the middle, and one means harm.
    """
    rng = np.random.default_rng(8)
    country, category = rng.integers(40, size=4000), rng.integers(4, size=4000)
    likes = np.array([[0.7, 0.4, 0.1, 0.2], [0.1, 0.4, 0.7, 0.2]])[country % 2, category]
    frame = pl.DataFrame({
        "country": [None, *(f"land {k}" if k else EVIL for k in country[1:])],
        "category": [ITEMS[k] for k in category],
        "clicked": (rng.random(4000) < likes).astype(int),
        "p": [0.25] * 4000,
    })  # fmt: skip
    return lb.learn(frame, "country", "category", "clicked", propensity="p", rewards="binary")


@pytest.fixture(scope="module")
def written(learned: lb.Learned, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned.report(tmp_path_factory.mktemp("log") / "page.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_that_a_log_says_is_on_the_page_and_can_be_read(
    chrome: Chrome, written: Path, learned: lb.Learned, scheme: Any
) -> None:
    """In words that are plural where there are several; texts have a contrast of at least 4.5."""
    opened = Opened(chrome, written, viewport={"width": 1000, "height": 900}, color_scheme=scheme)
    at, found = opened.page, answer(learned)
    at.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    text = " ".join(at.locator("body").inner_text().split())
    assert at.title() == "What works for which country"
    for words in (
        "Are there groups of countries? " + found.sentence, found.lift_words,
        "1 of 4,000 rows left out", "Countries in each group", "Categories of group 0",
        *found.next_steps, *(found.value.notes if found.value else ()),
    ):  # fmt: skip
        assert " ".join(words.split()) in text, words
    assert "countrys" not in text.lower()
    assert "pulls" not in at.content().lower()
    table = at.locator("table", has=at.locator("th", has_text=re.compile("^size$"))).first
    sizes = table.locator("tbody tr td:nth-child(2)")
    assert [*sizes.all_inner_texts()] == [f"{row.size:,.0f}" for row in found.groups]
    assert "categorys" not in text.lower()
    for heading in ("log", "worth", "policy"):
        assert at.locator(f"#{heading}").is_visible()
    methods = at.locator("#worth ~ .wide tbody tr").all_inner_texts()
    names = ["IPS", "SNIPS", "direct", "doubly robust", "IPS, by betting", "as logged"]
    assert [row.split("\t")[0] for row in methods] == names
    contrast = at.evaluate(CONTRAST)
    assert len(contrast) > 200
    assert min(contrast) > [4.5], min(contrast)
    opened.closed()


@pytest.mark.parametrize("folded", [True, False])
def test_a_telephone_does_not_scroll_sideways(chrome: Chrome, written: Path, folded: bool) -> None:
    """At 360 pixels, with all that can be opened open or not; wide tables scroll by themselves."""
    opened = Opened(chrome, written, viewport={"width": 360, "height": 740})
    if not folded:
        opened.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 360
    opened.closed()


def test_names_are_text_that_stays_apart(chrome: Chrome, written: Path) -> None:
    """In the picture they are short and different; tables have them whole, and nothing runs."""
    opened = Opened(chrome, written, java_script_enabled=False)
    at = opened.page
    assert at.locator("script").count() == 0
    at.locator("#policy ~ details summary").press("Enter")
    assert EVIL in at.locator("#policy ~ details").inner_text()
    drawn = at.locator("#picture-means svg:visible .role-axis-label text").all_text_contents()
    shown = [text for text in drawn if "newsletter" in text]
    assert len(shown) == len(set(shown)) == 4
    assert all(len(text) < len(ITEMS[0]) for text in shown)
    assert all(item in at.content() for item in ITEMS)
    opened.closed()
