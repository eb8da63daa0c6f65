"""The page of a running service in a real browser: true numbers, live, for everybody, and alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from browser import CONTRAST, PATIENCE, Chrome
from kits.platform import Platform
from kits.served import Served, served
from kits.service import opened as opened_experiment
from lumpable.cli.serving import page_files
from lumpable.http.page_files import POLICY
from lumpable.http.tokens import Tokens
from lumpable.reports.pages import live_page
from lumpable.service.live_experiment import LiveExperiment

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

EVIL = "<img src=x onerror=alert(1)>"
TITLE = "<script>alert(1)</script>.db"
READ, DECIDE = "token-read-0123456789", "token-decide-0123456789"
PICTURES = ("worth", "traffic", "arms", "versions", "matrix")
WIDE = {"viewport": {"width": 1280, "height": 900}}


@cache
def files() -> dict[str, tuple[str, bytes]]:
    return live_page.files(TITLE)


@pytest.fixture(scope="module")
def platform() -> Platform:
    made = Platform(users=40, seed=1)
    made.visit(1_800, 1.5)
    return made


@pytest.fixture(scope="module")
def shop(platform: Platform) -> Iterator[Served]:
    with served(lambda: platform.experiment, page=files) as running:
        yield running


def wait(element: Locator, text: str) -> None:
    """Wait until an element has a text."""
    from playwright.sync_api import expect

    expect(element).to_contain_text(text, timeout=PATIENCE)


class Seen:
    """A page of the service, and what went wrong or out on it."""

    def __init__(self, chrome: Chrome, url: str, **options: Any) -> None:
        self.page: Page = chrome.new_page(**(WIDE | options))
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)

    def one(self, id: str) -> Locator:
        return self.page.locator(f"#{id}")

    def follows(self, experiment: LiveExperiment) -> None:
        """Wait until all of the page is of what the log has now."""
        now = experiment.status().entries
        self.page.locator(f"body[data-entries='{now}']").wait_for()

    def drawn(self) -> None:
        for name in PICTURES:
            self.page.locator(f"#picture-{name} svg").wait_for()

    def rows(self, id: str) -> list[list[str]]:
        """Return the texts of a table, hidden or not."""
        found: list[list[str]] = self.page.evaluate(
            f"[...document.querySelectorAll('#{id} tbody tr')].map(line => "
            "[...line.children].map(cell => cell.textContent))"
        )
        return found


@contextmanager
def seen(chrome: Chrome, url: str, refused: int = 0, **options: Any) -> Iterator[Seen]:
    """Open the page; at the end nothing went wrong, and nothing was asked of anybody else.

    A browser notes every call that is `refused`, and so many turns make at most two each.
    """
    page = Seen(chrome, url, **options)
    yield page
    page.page.close()
    wrong = [words for words in page.wrong if "status of 40" not in words]
    assert wrong == []
    assert refused <= len(page.wrong) <= 2 * refused
    assert all(asked.startswith(f"{url}/") for asked in page.asked)


def test_the_page_is_filled_with_true_numbers(
    chrome: Chrome, shop: Served, platform: Platform
) -> None:
    e = platform.experiment
    with seen(chrome, shop.url) as it:
        it.drawn()
        it.follows(e)
        assert it.one("learned").inner_text() == e.summary()
        status, going = e.status(), e.activity()
        tiles = it.page.locator("#tiles b").all_inner_texts()
        shown = status.decisions, status.rewards, status.waiting, status.users, len(status.arms)
        assert tiles[:5] == [f"{number:,}" for number in shown]
        assert it.one("worth").inner_text() == going.worth.words
        unusual = {row[0].replace(" ", "_"): int(row[1]) for row in it.rows("table-unusual")}
        assert unusual == going.unusual
        assert unusual["late"] > 0 < unusual["early"] + unusual["orphan"]
        assert unusual["sent_again"] > 0 < unusual["defaulted"]
        groups = e.groups()
        assert len(groups) == 4
        first = [row for row in it.rows("table-arms") if row[0]]
        for row, group in zip(first, groups, strict=True):
            assert (row[0], row[2]) == (f"group {group.group}", group.best_arm)
            assert row[3] == f"{group.mean:.3f}"
            assert row[4].split(" to ")[0] == f"{group.low:.3f}"
        assert sum(int(row[1]) for row in it.rows("table-traffic")) == status.decisions
        assert len(it.rows("table-versions")) == min(40, status.version)
        last = it.rows("table-versions")[0]
        assert (last[0], last[2]) == (str(status.version), "4")
        assert sum(int(row[1]) for row in it.rows("table-matrix")) == status.users
        assert it.one("health").inner_text() == "All is well."


def test_it_follows_what_happens(chrome: Chrome, shop: Served, platform: Platform) -> None:
    """New events are shown without a reload, in the same pictures."""
    with seen(chrome, shop.url) as it:
        it.drawn()
        it.page.evaluate("document.querySelector('#picture-traffic svg').dataset.kept = 'yes'")
        before = it.page.locator("#picture-traffic .mark-line path").first.get_attribute("d")
        platform.visit(60, 2.0)
        it.follows(platform.experiment)
        now = platform.experiment.status()
        assert it.page.locator("#tiles b").first.inner_text() == f"{now.decisions:,}"
        assert sum(int(row[1]) for row in it.rows("table-traffic")) == now.decisions
        after = it.page.locator("#picture-traffic .mark-line path").first.get_attribute("d")
        kept = it.page.evaluate("document.querySelector('#picture-traffic svg').dataset.kept")
        assert (before != after, kept) == (True, "yes")
        wait(it.one("basis"), f"By {now.counted:,} outcomes")


@pytest.mark.filterwarnings("ignore:.*are two names")
def test_names_are_text_and_never_html(chrome: Chrome) -> None:
    """An arm, a user and a file that want to be HTML; 1 and "1" are two arms."""
    e = opened_experiment(arms=(EVIL, 1, "1"), rewards="binary")
    for k in range(600):
        user = EVIL if k % 40 == 0 else f"u{k % 40}"
        made = e.decide(user)
        likes = (EVIL, 1)[k % 2]
        e.reward(made.event, float(made.arm == likes if k % 9 else k % 2))
    with served(lambda: e, page=files) as running, seen(chrome, running.url) as it:
        it.drawn()
        assert it.page.title() == TITLE
        assert it.page.locator("h1").inner_text() == TITLE
        assert it.page.locator("img").count() == 0
        assert EVIL in it.one("table-arms").inner_text()
        assert "<img src" in "".join(it.page.locator("#picture-arms text").all_text_contents())
        heads = it.page.evaluate(
            "[...document.querySelectorAll('#table-matrix thead th')].map(x => x.textContent)"
        )
        assert sorted(heads[2:]) == sorted([EVIL, "1", '"1"'])


@pytest.mark.filterwarnings("ignore:.*are two names")
def test_integers_of_more_than_53_bits_are_exact(chrome: Chrome) -> None:
    """As arms and as users; a text of the same digits is another arm."""
    arms = 2**53, 2**53 + 1, str(2**53 + 1), -(2**63)
    e = opened_experiment(arms=arms, rewards="binary", repeated="sum")
    for k in range(600):
        made = e.decide(2**63 - 1 - k % 40)
        e.reward(made.event, float((made.arm == arms[k % 2]) != (k % 9 == 0)))
    shown = [str(arm) if isinstance(arm, int) else f'"{arm}"' for arm in arms]
    with served(lambda: e, page=files) as running, seen(chrome, running.url) as it:
        it.drawn()
        heads = it.page.evaluate(
            "[...document.querySelectorAll('#table-matrix thead th')].map(x => x.textContent)"
        )
        assert sorted(heads[2:]) == sorted(shown)
        glance = e.beliefs().glance
        best = [str(group.best_arm) for group in e.groups()]
        assert [row[2] for row in it.rows("table-arms") if row[0]] == best
        assert {str(row.context) for row in glance.doubtful} == {
            row[0] for row in it.rows("table-users")
        }
        last = it.rows("table-versions")[0][3]
        assert all(arm in last for arm in best)


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.nightly), "dark"])
def test_everything_can_be_read(chrome: Chrome, shop: Served, scheme: str) -> None:
    """Every text has a contrast of at least 4.5 to what is behind it; by night in both schemes."""
    with seen(chrome, shop.url, color_scheme=scheme) as it:
        it.drawn()
        it.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        found = it.page.evaluate(CONTRAST)
        assert len(found) > 200
        assert sum(tag == "text" for _, tag, _ in found) > 40
        assert min(found) > [4.5], min(found)


def test_a_phone_does_not_scroll_sideways(chrome: Chrome, shop: Served) -> None:
    with seen(chrome, shop.url, viewport={"width": 360, "height": 740}) as it:
        it.drawn()
        it.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert it.page.evaluate("document.documentElement.scrollWidth") == 360
        widths = it.page.evaluate(
            "[...document.querySelectorAll('.picture svg')].map(x => x.clientWidth)"
        )
        assert len(widths) == len(PICTURES)
        assert max(widths) <= 360


def test_all_is_reached_by_keyboard(chrome: Chrome, shop: Served, platform: Platform) -> None:
    """Tab goes through everything in order, each with a visible focus; pausing works by a key."""
    with seen(chrome, shop.url) as it:
        it.drawn()
        page, reached = it.page, []
        for _ in range(30):
            page.keyboard.press("Tab")
            what, outline, line = page.evaluate(
                "(() => { const at = document.activeElement, style = getComputedStyle(at);"
                "return [at.id || at.getAttribute('aria-label') || at.textContent,"
                "style.outlineStyle, at.tagName]; })()"
            )
            if line == "BODY":
                break
            assert outline != "none", what
            reached.append(what)
        assert reached[:2] == ["Skip to the summary", "pause"]
        assert len(reached) == len(set(reached)) > 8
        assert reached[-1] == "API"
        it.one("pause").focus()
        page.keyboard.press("Space")
        assert it.one("pause").get_attribute("aria-pressed") == "true"
        platform.visit(5)
        page.keyboard.press("Enter")
        assert it.one("pause").get_attribute("aria-pressed") == "false"
        it.follows(platform.experiment)


def test_tokens_are_asked_for_and_wrong_ones_are_named(chrome: Chrome) -> None:
    tokens = Tokens.parse(f"read {READ}\ndecide {DECIDE}", "here")
    with (
        served(opened_experiment, tokens, page=files) as running,
        seen(chrome, running.url, refused=3) as it,
    ):
        it.one("token").wait_for()
        assert it.page.locator("#all").is_hidden()
        for token, words in (("nobody-0123456789", "Nobody knows"), (DECIDE, "role read")):
            it.one("token").fill(token)
            it.page.keyboard.press("Enter")
            wait(it.one("token-wrong"), words)
        it.one("token").fill(READ)
        it.page.keyboard.press("Enter")
        wait(it.one("learned"), "Nothing was seen yet.")
        it.page.reload()
        it.page.locator("#tiles b").first.wait_for()  # it is kept in the tab
        assert READ not in it.page.content()


def test_health_is_said_with_what_to_do(chrome: Chrome) -> None:
    with (
        served(lambda: opened_experiment(arms=()), page=files) as running,
        seen(chrome, running.url) as it,
    ):
        wait(it.page.locator(".concern strong"), "there is no arm to choose")
        wait(it.page.locator(".concern"), "Add arms with POST /arms/add")
        wait(it.one("said"), "there is no arm to choose")
        wait(it.one("picture-arms"), "Nothing to show yet.")
        running.post("/arms/add", {"arm": "red"})
        wait(it.one("health"), "All is well.")
        wait(it.one("said"), "All is well again.")


def test_a_service_that_is_gone_is_said_to_be(chrome: Chrome) -> None:
    with served(opened_experiment, page=files) as running:
        it = Seen(chrome, running.url)
        it.page.locator("body[data-entries]").wait_for()
        assert it.wrong == []
    wait(it.one("stage"), "the service does not answer")
    wait(it.one("said"), "the service does not answer")
    it.page.close()
    assert all("ERR_CONNECTION" in words for words in it.wrong)


def test_the_page_is_made_beside() -> None:
    """By a child of the command, to the letter."""
    assert page_files(TITLE) == files()


def test_programs_get_the_pointer_and_files_are_kept(shop: Served) -> None:
    assert shop.get("/").json["openapi"] == "/openapi.json"
    assert shop.get("/", Accept="application/json").json["openapi"] == "/openapi.json"
    page = shop.get("/", Accept="text/html,*/*")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers.get_all("content-security-policy") == [POLICY]
    assert "unsafe" not in POLICY
    assert page.headers.get_all("cache-control") == ["no-store"]
    for path, (kind, body) in files().items():
        if path != "/":
            answer = shop.get(path)
            assert (answer.status, answer.headers["content-type"]) == (200, kind)
            assert answer.body == body
            assert "immutable" in answer.headers["cache-control"]
    assert shop.get("/page/other.js").status == 404
    assert shop.get("/page/%2e%2e/%2e%2e/etc/passwd").status == 404
