"""The report of a comparison in a real browser: it draws, it switches, all can read it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser import CONTRAST, Chrome, show, until
from lumpable.reports import compared
from twins import made_rows

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVIL = "<script>alert(1)</script>"
NAMES = [*list(made_rows.TITLES)[:12], "suplinrel", "club", "mts", "lattice", "oracle-groups", EVIL]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "report.html"
    compared.report(made_rows.rows(NAMES, worlds=2, seeds=4, horizon=10_000), path)
    return path


class Opened:
    """A page, and what went wrong or out on it."""

    def __init__(self, chrome: Chrome, path: Path, **options: Any) -> None:
        self.page: Page = chrome.new_page(**options)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def draw(self, *ids: str) -> None:
        """Look at some pictures; the others are drawn whenever there is time."""
        for id in ids:
            host = self.page.locator(f"#{id}")
            show(host)
            host.locator("svg").wait_for()

    def scroll(self) -> None:
        """Go through the whole page, so that all pictures come into view."""
        for host in self.page.locator(".picture[data-figure]:visible").all():
            show(host)
            host.locator("svg").wait_for()

    def closed(self) -> None:
        """Check that nothing went wrong and nothing was fetched."""
        self.page.close()
        assert self.wrong == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in self.asked)


@pytest.fixture
def opened(chrome: Chrome, report: Path) -> Iterator[Opened]:
    found = Opened(chrome, report, viewport={"width": 1280, "height": 900})
    yield found
    found.closed()


def lines(page: Page, host: str) -> list[str]:
    """Return the paths of the curves of a picture."""
    found: list[str] = page.eval_on_selector_all(
        f"#{host} svg .mark-line path", "paths => paths.map(path => path.getAttribute('d'))"
    )
    return found


REGRET = "picture-world-1-regret"


def test_all_pictures_are_drawn(opened: Opened) -> None:
    """Every picture has marks, once unfolded; each learner that was run has its curve."""
    page = opened.page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    opened.scroll()
    drawn = page.eval_on_selector_all(
        ".picture svg",
        "all => all.map(s => [s.getAttribute('role'), s.getAttribute('aria-label'), "
        "s.querySelectorAll('path, circle').length])",
    )
    assert len(drawn) == 1 + 2 * 6
    assert all(role == "img" and words and marks > 5 for role, words, marks in drawn)
    assert len(lines(page, REGRET)) == len(NAMES) - 1  # one failed in every seed
    assert EVIL in page.locator("#world-1 table.ratios").inner_text()


def test_axes_are_switched_by_keyboard(opened: Opened) -> None:
    """The arrow keys move through the radio buttons; all worlds follow."""
    page = opened.page
    opened.draw(REGRET, "picture-world-2-regret")
    first = page.locator('input[name="axes-0"]').first
    first.focus()
    assert first.is_checked()
    near = lines(page, REGRET)
    page.keyboard.press("ArrowRight")
    until(page, f"document.querySelector('#{REGRET} svg').ariaLabel.includes('linear axes,')")
    whole = lines(page, REGRET)
    page.keyboard.press("ArrowRight")
    until(page, f"document.querySelector('#{REGRET} svg').ariaLabel.includes('logarithmic')")
    log = lines(page, REGRET)
    assert near != whole != log
    assert page.locator('input[name="axes-1"][value="logarithmic"]').is_checked()
    until(
        page,
        "document.querySelector('#picture-world-2-regret svg').ariaLabel.includes('logarithmic')",
    )


def test_a_learner_is_made_to_stand_out(opened: Opened) -> None:
    """A button of the legend, pressed by keyboard, fades all other curves; again, and none is."""
    page = opened.page
    opened.draw(REGRET)
    button = page.locator("#world-1 .legend button").first
    faded = f"() => [...document.querySelectorAll('#{REGRET} .mark-line path')]"
    faded += ".filter(path => Number(path.getAttribute('stroke-opacity') ?? 1) < 0.2).length"
    assert page.evaluate(faded) == 0
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.evaluate(faded) == len(NAMES) - 2
    page.keyboard.press("Enter")
    assert page.evaluate(faded) == 0


def test_the_pointer_is_told_numbers(opened: Opened) -> None:
    page = opened.page
    opened.draw(REGRET)
    host = page.locator(f"#{REGRET}")
    show(host)
    box = host.locator(".mark-symbol path").nth(-2).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator("#tip")
    tip.wait_for()
    assert "round: 6,310" in tip.inner_text()
    assert "95 % interval: " in tip.inner_text()


@pytest.mark.parametrize(
    ("scheme", "axes"),
    [
        ("light", "near"),
        ("dark", "log"),
        pytest.param("dark", "near", marks=pytest.mark.nightly),
        pytest.param("light", "log", marks=pytest.mark.nightly),
    ],
)
def test_everything_can_be_read(chrome: Chrome, report: Path, scheme: Any, axes: str) -> None:
    """Every text has a contrast of at least 4.5 to what is behind it (WCAG 2.1, 1.4.3).

    By day each scheme and each kind of axes once, by night all pairs.
    """
    opened = Opened(chrome, report, viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page = opened.page
    if axes == "log":
        page.locator('input[value="logarithmic"]').first.press("Space")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    opened.scroll()
    found = page.evaluate(CONTRAST)
    assert len(found) > 500
    assert sum(tag == "text" for _, tag, _ in found) > 100
    assert min(found) > [4.5], min(found)
    opened.closed()


def test_colours_follow_the_scheme(opened: Opened) -> None:
    page = opened.page
    opened.draw(REGRET)
    text = f"getComputedStyle(document.querySelector('#{REGRET} .mark-text text')).fill"
    before = page.evaluate(text)
    page.emulate_media(color_scheme="dark")
    until(page, f"{text} !== '{before}'")
    assert page.evaluate(text) == "rgb(230, 230, 230)"


def test_a_narrow_screen_does_not_scroll_sideways(chrome: Chrome, report: Path) -> None:
    opened = Opened(chrome, report, viewport={"width": 320, "height": 640})
    opened.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    opened.scroll()
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 320
    opened.page.set_viewport_size({"width": 1100, "height": 800})
    until(
        opened.page, f"document.querySelector('#{REGRET} svg').getBoundingClientRect().width > 900"
    )
    opened.closed()


def test_pictures_nobody_scrolled_to_are_drawn_when_idle(opened: Opened) -> None:
    """All that have a width, without a move; what is folded away is there once it is opened."""
    page = opened.page
    shown = "[...document.querySelectorAll('.picture')].filter(host => host.clientWidth)"
    until(page, f"{shown}.every(host => host.querySelector('svg'))")
    assert page.evaluate("scrollY") == 0
    assert page.locator("#picture-world-2-ari svg").count() == 1
    page.locator("#world-2 summary", has_text="Time per round").press("Enter")
    page.locator("#picture-world-2-time svg").wait_for()


@pytest.mark.nightly
def test_pictures_are_drawn_without_idle_callbacks(chrome: Chrome, report: Path) -> None:
    page = chrome.new_page()
    page.add_init_script("delete window.requestIdleCallback")
    page.goto(report.as_uri())
    page.locator("#picture-world-2-ari svg").wait_for(state="attached")
    page.close()


@pytest.mark.parametrize(
    "width", [320, *(pytest.param(width, marks=pytest.mark.nightly) for width in (400, 1280))]
)
def test_numbers_along_axes_stand_apart(chrome: Chrome, tmp_path: Path, width: int) -> None:
    """Two numbers or more along each axis, of which no two come within three pixels."""
    rows = made_rows.rows(NAMES[:6], worlds=1, seeds=2, horizon=40_000)
    for line in rows:
        if line["seconds"]:
            line["seconds"] = line["round"] * (
                150e-9 + 1e-9 * (sum(map(ord, line["learner"])) % 400)
            )
    others = [{**line, "world": "another"} for line in rows]
    compared.report(rows + others, tmp_path / "axes.html")
    opened = Opened(chrome, tmp_path / "axes.html", viewport={"width": width, "height": 900})
    opened.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    opened.scroll()
    axes = opened.page.evaluate(
        """() => [...document.querySelectorAll(".picture svg")].map(svg => {
          const axis = [...svg.querySelectorAll(".role-axis")].find(
            one => /^(rounds|time|ratio)/.test(one.querySelector(".role-axis-title")?.textContent));
          return [...axis.querySelectorAll(".role-axis-label text")]
            .filter(one => one.textContent && one.getAttribute("opacity") !== "0")
            .map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])
            .sort((a, b) => a[0] - b[0]);
        })"""
    )
    assert len(axes) >= 1 + 2 * 4
    for places in axes:
        assert len(places) >= 2
        assert all(b[0] - a[1] >= 3 for a, b in itertools.pairwise(places)), places
    opened.closed()


def test_a_wide_table_says_that_there_is_more(chrome: Chrome, tmp_path: Path) -> None:
    """Twenty-one worlds fit a wide screen; a narrow one says in words and by a fade to scroll."""
    rows = made_rows.rows(NAMES[:12], worlds=21, seeds=1, horizon=10)
    compared.report(rows, tmp_path / "wide.html")
    opened = Opened(chrome, tmp_path / "wide.html", viewport={"width": 1280, "height": 900})
    page, words = opened.page, opened.page.locator("p.more")
    region = page.locator(".wide", has=page.locator("table.heat"))
    until(page, "document.querySelector('p.more').hidden")
    assert region.get_attribute("data-more") is None
    page.set_viewport_size({"width": 600, "height": 900})
    words.wait_for(state="visible")
    assert region.get_attribute("data-more") is not None
    assert region.evaluate("one => getComputedStyle(one).maskImage") != "none"
    region.evaluate("one => one.scrollTo(9999, 0)")
    until(page, "!document.querySelector('.wide').hasAttribute('data-more')")
    opened.closed()


def test_on_paper_all_pictures_are_there(opened: Opened) -> None:
    """Before printing even those that nobody scrolled to are drawn, in the colours of paper."""
    page = opened.page
    page.emulate_media(color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    open_ = page.locator(".picture[data-figure]").count()
    assert page.locator(".picture svg").count() == open_
    page.emulate_media(color_scheme="dark", media="print")
    fill = f"getComputedStyle(document.querySelector('#{REGRET} .mark-text text')).fill"
    assert page.evaluate(fill) == "rgb(28, 28, 28)"


def test_without_script_the_tables_are_there(chrome: Chrome, report: Path) -> None:
    opened = Opened(chrome, report, java_script_enabled=False)
    assert opened.page.locator("noscript p").is_visible()
    assert opened.page.locator("#world-1 table.ratios tbody tr").count() == len(NAMES) - 1
    opened.closed()
