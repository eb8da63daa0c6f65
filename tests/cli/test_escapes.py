"""Names come from files, and files from anybody: no terminal obeys what they say."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lumpable.base.words import plain
from lumpable.cli import bars, main

EVIL = "\x1b]0;evil\x07\x9b2J"
"""Would set the title of a terminal, and clear its screen."""
SEEN = r"\x1b]0;evil\x07\x9b2J"
SPELT = r"\u001b]0;evil\u0007\u009b2J"
FILE = f"""\
horizon = 30
seeds = 2

[[learner]]
name = "ucb"
label = "done {SPELT}"

[[learner]]
name = "kl-ucb"
label = "not run {SPELT}"

[[learner]]
name = "own:Fails"
label = "failed {SPELT}"

[[world]]
label = "world {SPELT}"
kind = "lumpable"
contexts = 4
arms = 2
groups = 2
"""
OWN = f"""
class Fails:
    def __init__(self, contexts, arms):
        pass
    def ask(self, context):
        raise ValueError({EVIL!r})
    def tell(self, context, arm, reward):
        pass
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    Path("mine.toml").write_text(FILE)
    return Path("mine.toml")


def said(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main.main, words, prog_name="lumpable")
    return result.exit_code, result.output


def harmless(text: str) -> bool:
    return not any(one in text for one in "\x07\x1b\x9b")


def test_a_comparison_shows_labels_as_they_are(file: Path) -> None:
    code, text = said("compare", str(file), "--jobs", "1", "--out", f"{EVIL}.parquet")
    assert code == 1
    assert harmless(text)
    for words in ("not run ", "failed ", "world ", "ValueError: ", "rows: "):
        assert words + SEEN in text.replace("\n", "")


def test_refusals_show_labels_as_they_are(file: Path) -> None:
    file.write_text(FILE.replace('name = "ucb"', 'name = "ucb"\nwidth = -1'))
    code, text = said("compare", str(file))
    assert (code, harmless(text)) == (2, True)
    assert f"done {SEEN} in world {SEEN}: width: expected" in text


def test_names_of_files_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / f"{EVIL}\udce9.html"  # a byte that is no character
    words = ("--contexts", "6", "--arms", "4", "--groups", "2", "--epsilon", "0.5", "--html")
    code, text = said("simulate", "pac", *words, str(path))
    assert (code, harmless(text)) == (0, True)
    assert f"{SEEN}\\udce9.html" in text
    assert path.exists()


def test_bugs_are_told_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(EVIL)

    monkeypatch.setattr(main, "budget", broken)
    code, text = said("budget")
    assert (code, harmless(text)) == (1, True)
    assert f"RuntimeError: {SEEN}" in text


class Terminal(io.StringIO):
    """A terminal that keeps what it is sent."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_obeys_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars have sequences of their own; the title of the window is not among them."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with bars.progress() as (say, advance):
        say(f"said {EVIL}")
        advance(1, 2, f"shown {EVIL}")
    text = terminal.getvalue()
    assert f"said {SEEN}" in text
    assert f"shown {SEEN}" in text
    assert not any(each in text for each in ("\x1b]", "\x07", "\x9b"))


def test_all_else_is_left_alone() -> None:
    for text in ("", "plain", "two\nlines\tand a tab", "naïve 名前 שלום 🍵", "zero\u200dwidth"):
        assert plain(text) == text
    for code in (*range(32), 127, *range(128, 160), 0x202E, 0x2066, 0xD800, 0xDFFF):
        assert (chr(code) in plain(f"a{chr(code)}b")) == (chr(code) in "\n\t")
