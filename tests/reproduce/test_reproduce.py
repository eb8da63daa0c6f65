"""`lumpable reproduce` but for the claims: verdicts, workers, resuming, the page and the table."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner, Result
from scipy.stats import binom

from lumpable.base import fingerprint
from lumpable.cli import reproducing
from lumpable.cli.main import Careful
from lumpable.reproduce import Row, as_expected, listed, page, record, run, runner, verdicts
from lumpable.reproduce.claim import (
    POWER,
    SURPRISE,
    Check,
    Claim,
    Effort,
    Measured,
    Verdict,
    Words,
    rate,
)
from lumpable.reproduce.claims import good_event, witness
from lumpable.reproduce.conclude import conclude
from lumpable.reproduce.runner import Order

GOOD, BAD = Check("share", 0.01, "<=", 0.05), Check("share", 0.3, "<=", 0.05)
TOY = '''
"""Claims to try the runner with; each leaves a mark in toy.log when it is measured."""
import math, os, signal, time
from pathlib import Path
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Claim, Measured, Verdict, Words

HERE = Path(__file__).parent
GOOD, BAD = Check("share & more", 0.01, "<=", 0.05), Check("share", 0.3, "<=", 0.05)

def mark(number):
    with (HERE / "toy.log").open("a") as log:
        log.write(f"{number}\\n")

def chart(title):
    alt = canvas.altair()
    rows = [{"x": x, "y": x * x} for x in range(3)]
    drawn = alt.Chart(canvas.data(rows)).mark_line(clip=True).encode(x="x:Q", y="y:Q", color="y:Q")
    return canvas.with_title(drawn, title, [], f"A line, {title}.")

def one(effort):
    mark(1)
    return Measured(seeds=effort.pick(1_000, 20_000), setting={"S": 3})

def two(effort):
    mark(2)
    facts = {"share": 0.0500001, "shares": (math.nan, math.inf)}
    return Measured(seeds=7, setting={"S": 3}, facts=facts)

def three(effort):
    mark(3)
    raise TypeError("no such <thing>\\nand more")

def four(effort):
    mark(4)
    return Measured(seeds=1, setting={"S": 3})

def five(effort):
    mark(5)
    if (HERE / "signal").exists():
        number = int((HERE / "signal").read_text())
        (HERE / "signal").unlink()
        while number > 0 and not (HERE / "reproduce" / "claims" / "04.json").exists():
            time.sleep(0.02)
        if number == signal.SIGINT:
            os.killpg(0, number)  # as a terminal does: the workers get it too
        else:
            os.kill(os.getpid() if number < 0 else os.getppid(), abs(number))
        signal.pause()
    return Measured(seeds=1, setting={"S": 3})

def judge(measured):
    return Verdict((GOOD,), (BAD,))

def judge_two(measured):
    printed = (GOOD, Check("share", measured.facts["share"], "<=", 0.05))
    broken = tuple(Check("share", share, "<=", 0.05) for share in measured.facts["shares"])
    return Verdict(printed, broken, (GOOD,))

def word(measured, verdict):
    return Words(f"S = {measured.setting['S']}", "It holds." if measured.seeds > 999 else "")

def draw_one(measured):
    return chart("<b>one</b>")

def draw_two(measured):
    return chart('"two"')

def claim(number, title, measure, judge=judge, draw=None, stands=True, repaired=""):
    return Claim(
        number, title, printed="a < b & c", broken="broken <i>", repaired=repaired, stands=stands,
        seconds=(10.0 - number, 10.0 - number),  # longest first is by number
        measure=measure, judge=judge, word=word, draw=draw,
    )

CLAIMS = {
    1: claim(1, "One & only", one, draw=draw_one),
    2: claim(2, "<script>alert(2)</script>", two, judge_two, draw_two, False, "`12` for 10"),
    3: claim(3, "Raises", three),
    4: claim(4, "Four", four),
    5: claim(5, "Five may stop the whole run", five),
}
'''
SCRIPT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import toy
from lumpable.cli.main import main
from lumpable.reproduce import runner
runner.load = lambda: toy.CLAIMS
main(prog_name="lumpable")  # with no guard: workers do not run this again
"""


def toy(folder: Path) -> Mapping[int, Claim]:
    """Import the toy claims of a folder anew."""
    # bytecode of the same second and the same size would be taken for that of the new text
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    importlib.invalidate_caches()
    sys.modules.pop("toy", None)
    claims: Mapping[int, Claim] = importlib.import_module("toy").CLAIMS
    return claims


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[int, Claim]]:
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    yield toy(tmp_path)
    sys.modules.pop("toy", None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Row]]]:
    """One whole run of four toy claims, and where it left its files."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "toy.py").write_text(TOY)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder / "out", run([1, 2, 3, 4], folder=folder / "out", jobs=2, claims=toy(folder))
        sys.modules.pop("toy", None)


def marks(folder: Path) -> list[int]:
    """Return which claims were measured, in order."""
    log = folder / "toy.log"
    return [int(word) for word in log.read_text().split()] if log.exists() else []


# --- Verdicts -------------------------------------------------------------------------------


def verdict(printed: Check, repaired: Check | None, broken: Check) -> Verdict:
    return Verdict((printed,), (broken,), () if repaired is None else (repaired,))


def nothing(effort: Effort) -> Measured:
    raise NotImplementedError


def stand(stands: bool, judged: Verdict | None = None) -> Claim:
    return Claim(
        1,
        "t",
        printed="p",
        broken="b",
        seconds=(1.0, 1.0),
        stands=stands,
        measure=nothing,
        judge=lambda measured: judged or Verdict((GOOD,), (BAD,)),
        word=lambda measured, verdict: Words("s", "w"),
    )


@pytest.mark.parametrize(
    ("stands", "printed", "repaired", "broken", "expected"),
    [
        (True, GOOD, None, BAD, True),
        (True, BAD, None, BAD, False),
        (True, GOOD, None, GOOD, False),  # the broken variant was not caught
        (True, GOOD, GOOD, BAD, True),
        (True, GOOD, BAD, BAD, False),
        (False, BAD, GOOD, BAD, True),
        (False, GOOD, GOOD, BAD, False),  # it holds though nobody expected that
        (False, BAD, BAD, BAD, False),
        (False, BAD, None, BAD, False),  # and nothing repairs it
    ],
)
def test_as_expected(
    stands: bool, printed: Check, repaired: Check | None, broken: Check, expected: bool
) -> None:
    assert as_expected(stand(stands), verdict(printed, repaired, broken)) is expected


def test_no_check_proves_nothing() -> None:
    empty = Verdict((), (BAD,))
    measured = Measured(seeds=1, setting={})
    kept = record.Kept(number=1, quick=True, version="", source="", seconds=0, measured=measured)
    assert conclude(stand(True, empty), kept).printed_holds is False
    assert not as_expected(stand(True), empty)
    assert not as_expected(stand(True), Verdict((GOOD,), ()))
    assert as_expected(stand(True), Verdict((GOOD,), (GOOD, BAD)))  # one caught is enough


@pytest.mark.parametrize(("runs", "promised"), [(240, 0.05), (60, 0.01), (1000, 0.2)])
def test_a_rate_says_what_it_would_catch(runs: int, promised: float) -> None:
    """Kept promises pass but for a surprise; the rate that is named fails 95 times in 100."""
    check = rate("a miss", 0, runs, promised)
    named = re.search(r"rates from (\S+) on are caught", check.what)
    assert named
    caught = float(binom.sf(check.bar, runs, float(named[1])))
    assert caught == pytest.approx(POWER, abs=0.03)  # the rate is named with two digits
    assert binom.sf(check.bar, runs, promised) <= SURPRISE < binom.sf(check.bar - 1, runs, promised)


def test_a_rate_that_cannot_fail_says_so() -> None:
    assert "no rate would be caught" in rate("a miss", 2, 2, 0.1).what


def test_verdicts_of_a_run(made: tuple[Path, list[Row]]) -> None:
    one, two, three, four = made[1]
    assert [row.as_expected for row in made[1]] == [True, True, False, True]
    assert (one.printed_holds, one.repaired_holds, one.broken_caught) == (True, None, True)
    assert (two.printed_holds, two.repaired_holds, two.broken_caught) == (False, True, True)
    assert (three.printed_holds, three.broken_caught, three.checks) == (None, None, ())
    assert re.fullmatch(r"TypeError: no such <thing> \(toy\.py, line \d+\)", three.error)
    assert (one.seeds, four.seeds) == (20_000, 1)


# --- Which claims ---------------------------------------------------------------------------


def test_only_takes_numbers_and_ranges() -> None:
    assert reproducing.parse("3,15") == [3, 15]
    assert reproducing.parse(" 1-3, 7 ") == [1, 2, 3, 7]
    for wrong in ("", "a", "3,", "-3", "5-1", "1-", "1.5", "1-2-3", "1-99999999", "²"):
        with pytest.raises(ValueError, match="only: expected"):
            reproducing.parse(wrong)


@pytest.mark.parametrize(
    ("only", "words"),
    [([2, 31, 30], "no claim 30, 31; there are 1-5"), ([], "at least one claim")],
)
def test_unknown_claims_are_named(
    claims: Mapping[int, Claim], tmp_path: Path, only: list[int], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        run(only, folder=tmp_path / "out", claims=claims)
    assert not (tmp_path / "out").exists()


def test_no_claim_is_forgotten() -> None:
    """Every module that makes claims is listed with all of them, once, in order."""
    folder = Path(runner.__file__).parent / "claims"
    made = {
        claim.number
        for path in folder.glob("*.py")
        for claim in vars(
            importlib.import_module(f"lumpable.reproduce.claims.{path.stem}")
        ).values()
        if isinstance(claim, Claim)
    }
    assert sorted(made) == [claim.number for claim in listed.CLAIMS]


def test_a_quick_row_does_not_overwrite_a_whole_one(
    claims: Mapping[int, Claim], tmp_path: Path
) -> None:
    for quick in (False, True, False):
        run([1], quick, tmp_path, jobs=1, claims=claims)
    names = sorted(path.name for path in (tmp_path / "claims").iterdir())
    assert names == ["01-quick.json", "01.json"]


def test_jobs_and_extras_come_before_anything(
    claims: Mapping[int, Claim], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="jobs: expected at least 1, got 0"):
        run(folder=tmp_path / "out", jobs=0, claims=claims)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'lumpable[research]'")):
        run(folder=tmp_path / "out", claims=claims)
    assert not (tmp_path / "out").exists()
    assert marks(tmp_path) == []


def test_import_is_light() -> None:
    code = "import sys, lumpable.cli.reproducing; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"altair", "scipy", "pyarrow", "vl_convert", "numba", "rich", "polars"}
    assert not heavy & set(out.stdout.split())


# --- Going on where it stopped --------------------------------------------------------------


def script(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with the toy claims in a process of its own."""
    (folder / "go.py").write_text(SCRIPT)
    typed = [sys.executable, str(folder / "go.py"), str(folder), "reproduce", *words]
    # waits until nobody holds stderr any more: a worker that outlived its parent would time out
    return subprocess.run(
        typed,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        start_new_session=True,
        timeout=100,
    )


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGKILL, -9, marks=pytest.mark.nightly)],
)
def test_a_stopped_run_goes_on(
    claims: Mapping[int, Claim], tmp_path: Path, sent: int, code: int
) -> None:
    """Claim 5 stops the whole run while 4 is kept already; the next run measures only 5."""
    (tmp_path / "signal").write_text(str(int(sent)))
    stopped = script(tmp_path, "--jobs", "2", "--only", "4,5")
    assert stopped.returncode == code
    assert "Traceback" not in stopped.stderr
    assert not (tmp_path / "reproduce" / "index.html").exists()
    if sent == signal.SIGINT:
        # claim 4 is kept before its picture is drawn, and counted after that
        last = "stopped after [01] of 2 claims; to resume: lumpable reproduce --only 4-5"
        assert re.fullmatch(last, stopped.stderr.splitlines()[-1])
    steps: list[runner.Step] = []
    rows = run([4, 5], folder=tmp_path / "reproduce", jobs=1, claims=claims, watch=steps.append)
    assert [row.as_expected for row in rows] == [True, True]
    assert steps[-1].taken == (4,)
    assert sorted(marks(tmp_path)) == [4, 5, 5]
    assert not list((tmp_path / "reproduce").rglob(".*"))


def test_a_lost_worker_does_not_lose_the_rest(claims: Mapping[int, Claim], tmp_path: Path) -> None:
    (tmp_path / "signal").write_text(str(-signal.SIGKILL))
    first = dataclasses.replace(claims[5], seconds=(99.0, 99.0))
    rows = run(folder=tmp_path / "out", jobs=1, claims={4: claims[4], 5: first})
    assert [row.as_expected for row in rows] == [True, False]
    assert "ended abruptly" in rows[1].error
    assert marks(tmp_path) == [5, 4]
    assert [path.name for path in (tmp_path / "out" / "claims").iterdir()] == ["04.json"]


def test_what_is_taken_over(made: tuple[Path, list[Row]], tmp_path: Path) -> None:
    """The same code and effort: yes. Other code, effort or version, or a damaged file: no."""
    folder = tmp_path / "out"
    shutil.copytree(made[0], folder)
    (tmp_path / "toy.py").write_text(TOY)
    row = made[1][0]

    def kept(quick: bool = False, source: str = row.source) -> bool:
        return Order(stand(True), quick, source).read(folder) is not None

    assert kept()
    assert not kept(quick=True)
    assert not kept(source="other")
    place = folder / "claims" / "01.json"
    content = place.read_bytes()
    other = msgspec.structs.replace(record.decode(content), version="0.0.1")
    place.write_bytes(record.encode(other))
    assert not kept()
    for damaged in (b"", content[:-9], b"\xff", b"{}", b"[1]"):
        place.write_bytes(damaged)
        assert not kept()
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)):
            record.decode(bytes(flipped))
    place.write_bytes(content)
    assert kept()


def test_a_run_measures_only_what_is_new(claims: Mapping[int, Claim], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    steps: list[runner.Step] = []
    run([4], folder=folder, claims=claims)
    run([4], folder=folder, claims=claims, watch=steps.append)
    assert marks(tmp_path) == [4]
    assert [(step.taken, step.total, step.latest) for step in steps] == [((4,), 1, None)]
    edits = {
        "no code": ("mark(4)", "mark(4)  # why"),
        "another claim's code": ("seeds=7", "seeds=8"),
        "its own code": ("mark(4)\n", "mark(4) or mark(4)\n"),
    }
    for name, edit in edits.items():
        (tmp_path / "toy.py").write_text(TOY.replace(*edit))
        run([4], folder=folder, claims=toy(tmp_path))
        assert marks(tmp_path) == ([4, 4, 4] if name == "its own code" else [4]), name


def test_new_words_and_bars_need_no_measurement(
    claims: Mapping[int, Claim], tmp_path: Path
) -> None:
    """The page is made anew from what is kept, and says the new words."""
    run([2], folder=tmp_path / "out", jobs=1, claims=claims)
    bar = '["share"], "<=", 0.0'
    for old, new in (("""'"two"'""", """'"too"'"""), (f"{bar}5", f"{bar}6")):
        assert TOY.count(old) == 1
        (tmp_path / "toy.py").write_text(TOY.replace(old, new))
        (row,) = run([2], folder=tmp_path / "out", jobs=1, claims=toy(tmp_path))
        page = (tmp_path / "out" / "index.html").read_text()
        assert ("A line, &#34;too&#34;" in page) == ("too" in new)
        assert row.printed_holds == ("0.06" in new)
    assert marks(tmp_path) == [2]


def test_a_fresh_run_and_a_resumed_one_are_the_same(
    made: tuple[Path, list[Row]], claims: Mapping[int, Claim], tmp_path: Path
) -> None:
    shutil.copytree(made[0], tmp_path / "out")
    again = run([1, 2, 4], folder=tmp_path / "out", jobs=1, claims=claims)
    assert marks(tmp_path) == []
    assert repr(again) == repr([made[1][0], made[1][1], made[1][3]])  # by repr, for NaN is not NaN


def test_the_fingerprint_sees_what_a_claim_reaches() -> None:
    home = fingerprint.PACKAGE
    reached = fingerprint.imported_by([home / "runs" / "bulk.py"], without=("reports", "cli"))
    rooms = {path.relative_to(home).parts[0] for path in reached}
    assert rooms == {"base", "plans", "runs", "worlds"}
    assert home / "runs" / "kernels.py" in reached
    assert fingerprint.file_of("lumpable.runs.bulk") in reached
    assert fingerprint.file_of("numpy.random") is None


def test_the_fingerprint_follows_names_in_the_room_and_files_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Claim 8 goes by `standard.naive`, `witness.most_uneven` and constants of its own module."""
    claim = runner.load()[8]
    before = runner.fingerprint(claim)
    assert runner.fingerprint(claim) == before
    for name, value in (("SETTLES", (4.0, 64.0)), ("word_settling", nothing), ("DELTA", 0.2)):
        with monkeypatch.context() as patch:
            patch.setattr(good_event, name, value)
            assert (runner.fingerprint(claim) == before) == (name == "word_settling"), name
    with monkeypatch.context() as patch:
        patch.setattr(witness, "most_uneven", nothing)
        assert runner.fingerprint(claim) != before
    walk = fingerprint._Walk("lumpable.reproduce")
    list(walk.words(claim.measure))
    assert {"lumpable.plans.standard", "lumpable.runs.bulk"} <= walk.outside


def test_the_longest_come_first_and_time_is_told(
    claims: Mapping[int, Claim], tmp_path: Path
) -> None:
    steps: list[runner.Step] = []
    (tmp_path / "out" / "claims").mkdir(parents=True)
    stale = tmp_path / "out" / "claims" / "03.json"
    stale.touch()
    some = {number: claims[number] for number in (3, 4, 5)}
    run(folder=tmp_path / "out", jobs=1, fresh=True, claims=some, watch=steps.append)
    assert not stale.exists()  # forgotten at once, though 3 could not be measured
    assert [step.latest.number for step in steps if step.latest] == [3, 4, 5]
    assert steps[0].left == 7 + 6 + 5
    assert steps[-1].left == 0
    assert (4,) in {step.running for step in steps}


def test_time_left_goes_by_the_pace_so_far() -> None:
    """Of 9 + 8 + 7 expected seconds the first took twice as long; the second has run for 3."""
    orders = [
        Order(dataclasses.replace(stand(True), number=n, seconds=(10.0 - n, 1)), True, "")
        for n in (1, 2, 3)
    ]
    rows = {1: record.error_row(orders[0].claim, "", **orders[0].about(18.0))}
    running = {2: time.monotonic() - 3}
    assert runner.time_left(orders, rows, running, 1) == pytest.approx(13 + 14, abs=0.1)
    assert runner.time_left(orders, rows, running, 2) == pytest.approx(14, abs=0.1)


# --- Files ----------------------------------------------------------------------------------


def strict(text: bytes) -> Any:
    """Parse JSON that must not say NaN or Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_rows_survive_json(made: tuple[Path, list[Row]]) -> None:
    folder, _ = made
    names = sorted(path.name for path in (folder / "claims").iterdir())
    assert names == ["01.json", "02.json", "04.json"]  # what raised is measured again
    text = (folder / "claims" / "02.json").read_bytes()
    assert strict(text)["kept"]["measured"]["facts"]["shares"] == ["nan", "inf"]
    kept = record.decode(text)
    assert repr(kept.measured.facts["shares"]) == "[nan, inf]"
    assert record.encode(kept) == text


def test_what_was_measured_survives_json() -> None:
    """Numbers of numpy, arrays, tuples, keys that are numbers, what JSON cannot say."""
    import numpy as np

    odd: dict[Any, Any] = {
        4.0: np.float64(0.1),
        3: np.int64(7),
        "a": np.array([1.5, np.inf]),
        "b": (True, None),
    }
    measured = Measured(seeds=1, setting={"x": -math.inf}, rows=[{"y": np.True_}], facts=odd)
    kept = record.Kept(number=1, quick=True, version="", source="", seconds=0, measured=measured)
    back = record.decode(record.encode(kept)).measured
    assert back.facts == {"4.0": 0.1, "3": 7, "a": [1.5, math.inf], "b": [True, None]}
    assert (back.setting, back.rows) == ({"x": -math.inf}, [{"y": True}])


def test_the_table_has_the_same_rows(made: tuple[Path, list[Row]]) -> None:
    import polars
    import pyarrow.parquet

    folder, rows = made
    by_arrow = pyarrow.parquet.read_table(folder / "rows.parquet").to_pylist()
    by_polars = polars.read_parquet(folder / "rows.parquet").to_dicts()
    assert repr(by_arrow) == repr(by_polars)
    assert [line["number"] for line in by_arrow] == [1, 2, 3, 4]
    for line, row in zip(by_arrow, rows, strict=True):
        plain = msgspec.to_builtins(row)
        del plain["picture"]
        plain["figure"] = None if row.figure is None else msgspec.json.encode(row.figure).decode()
        plain["checks"] = list(plain["checks"])
        assert repr({name: line[name] for name in plain}) == repr(plain)
        assert set(line) == set(plain)


# --- The page -------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Takes a page apart: tags, ids, links, headings and the texts of table lines."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.lines: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th") and self.lines:
            self.lines[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.lines[-1][-1] += data

    def every(self, attribute: str) -> list[str]:
        return [found for _, attrs in self.tags if (found := attrs.get(attribute)) is not None]


@pytest.fixture(scope="module")
def text(made: tuple[Path, list[Row]]) -> str:
    return (made[0] / "index.html").read_text(encoding="utf-8")


def test_the_page_is_whole_and_alone(text: str) -> None:
    read = Reader(text)
    assert read.open == []
    names = [tag for tag, _ in read.tags]
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(names)
    assert not [link for link in (*read.every("href"), *read.every("src")) if link[:1] != "#"]
    assert not re.search(r"url\((?!#)|@import", text)
    assert names.count("svg") == 2  # one for each claim that has a figure
    ids = read.every("id")
    assert len(ids) == len(set(ids))
    targets = {link[1:] for link in read.every("href")} | set(re.findall(r"url\(#([^)]+)\)", text))
    assert {"figure-1-1", "figure-2-1"} <= targets
    assert targets <= set(ids)


def test_the_page_is_for_everybody(text: str) -> None:
    read = Reader(text)
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert levels == [1, 2, 2, 2, 3, 3, 3, 3]
    assert [attrs["aria-label"] for tag, attrs in read.tags if tag == "svg"] == [
        "A line, <b>one</b>.",
        'A line, "two".',
    ]
    assert ("html", {"lang": "en"}) in read.tags
    for words in ("prefers-color-scheme: dark", "@media print", "@media (max-width"):
        assert words in text
    figures = re.findall(r"<svg.*?</svg>", text, re.S)
    assert all('fill="var(--ink)"' in svg and "#fff" not in svg for svg in figures)


def test_everything_is_escaped(text: str) -> None:
    assert "<script>" not in text
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in text
    assert "a &lt; b &amp; c" in text
    assert "broken &lt;i&gt;" in text
    assert "Could not be measured: TypeError: no such &lt;thing&gt;" in text
    assert "<b>" not in text
    assert "<code>12</code> for 10" in text


def test_the_page_has_the_same_rows(text: str, made: tuple[Path, list[Row]]) -> None:
    lines = Reader(text).lines
    assert lines[1:5] == [
        ["1", "One & only", "holds", "-", "caught", "20,000", "yes"],
        ["2", "<script>alert(2)</script>", "does not hold", "holds", "caught", "7", "yes"],
        ["3", "Raises", "not measured", "-", "-", "-", "no"],
        ["4", "Four", "holds", "-", "caught", "1", "yes"],
    ]
    checks = [line for row in made[1] for line in row.checks]
    shown = [line for line in lines[5:] if line[-1] in ("yes", "no")]
    assert len(shown) == len(checks) == 9
    for line, check in zip(shown, checks, strict=True):
        relation = {"<=": "at most", ">=": "at least"}[check.relation]
        measured, bar = verdicts.pair(check.measured, check.bar)
        assert line == [check.what, measured, relation, bar, "yes" if check.holds else "no"]
    assert "20,000 seeds" in text
    assert "lumpable reproduce --only 1-4 --folder" in text
    assert "3 of 4 claims came out as expected" in text


def test_numbers_that_differ_look_different() -> None:
    assert verdicts.pair(0.0500001, 0.05) == ("0.0500001", "0.05")
    assert verdicts.pair(0.3, 0.1 + 0.2) == ("0.29999999999999999", "0.30000000000000004")
    assert verdicts.pair(0.05, 0.05) == ("0.05", "0.05")
    assert verdicts.pair(math.nan, -math.inf) == ("not a number", "−∞")
    assert verdicts.pair(1906.4, 1.0) == ("1,906", "1")
    assert verdicts.pair(1906.4, 1906.0) == ("1,906.4", "1,906")
    assert verdicts.pair(-0.4, 1e-7) == ("-0.4", "1e-7")
    assert verdicts.pair(99_999, 123_456_789) == ("99,999", "1.23e8")


def test_a_page_of_a_quick_run_says_so(made: tuple[Path, list[Row]]) -> None:
    quick = page.page(
        [msgspec.structs.replace(made[1][0], quick=True)],
        command="lumpable reproduce",
        date=datetime(2030, 1, 2, 3, 4, tzinfo=UTC),
        cores=1,
        jobs=1,
        seconds=3700.0,
    )
    assert "a quick look" in quick
    assert "1 h 1 min, 1 worker on a machine with 1 core" in quick
    assert "2030-01-02 03:04 UTC" in quick


# --- The command ----------------------------------------------------------------------------


def call(claims: Mapping[int, Claim], monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    monkeypatch.setattr(runner, "load", lambda: claims)
    group = Careful(commands={"reproduce": reproducing.reproduce})
    return CliRunner().invoke(group, ("reproduce", *words), prog_name="lumpable")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "2,31"), "Error: only: there is no claim 31; there are 1-5"),
        (("--only", "one"), "Error: only: expected numbers such as 3,15 or 1-5, got 'one'"),
        (("--jobs", "0"), "Error: Invalid value for '--jobs': 0 is not in the range x>=1."),
    ],
)
def test_bad_input_is_named(
    claims: Mapping[int, Claim],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    message: str,
) -> None:
    result = call(claims, monkeypatch, "--folder", str(tmp_path / "out"), *words)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == message
    assert not (tmp_path / "out").exists()


def test_the_end_of_a_run(
    claims: Mapping[int, Claim], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    good = call(claims, monkeypatch, "--quick", "--only", "1-2", "--jobs", "1")
    assert good.exit_code == 0, good.output
    assert "2 of 2 claims came out as expected." in good.stdout
    assert f"page: {Path('reproduce', 'index.html')}" in good.stdout
    assert re.search(r" 2 .* fails +holds +caught +7 +yes", good.stdout)
    first, second = good.stderr.splitlines()
    assert re.fullmatch(r"\[1/2\] 1 One & only: as expected, \S+ s", first)
    assert second.startswith("[2/2] 2 <script>")
    bad = call(claims, monkeypatch, "--quick", "--only", "1-3", "--jobs", "1")
    assert bad.exit_code == 1
    assert "taken over: 1-2 (" in bad.stderr
    assert "2 of 3 claims came out as expected." in bad.stdout
    assert "Claim 3, Raises: could not be measured: TypeError" in bad.stdout
    assert marks(tmp_path) == [1, 2, 3]


def test_the_live_line(made: tuple[Path, list[Row]]) -> None:
    step = runner.Step(tuple(made[1]), (1, 2, 3), (5, 9), 30, None, 61.4)
    assert reproducing.state(step) == "4 of 30 done, about 1 min 1 s left, now 5, 9"
    assert reproducing.state(dataclasses.replace(step, left=0.2)).startswith("4 of 30 done, nearly")
    assert "taken over: 1-3 (" in reproducing.taken_over_line(step)
    odd = msgspec.structs.replace(made[1][1], as_expected=False, broken_caught=False)
    words = "printed does not hold, repaired holds, broken variant not caught"
    assert reproducing.outcome(odd) == f"not as expected: {words}"


def test_help_tells_the_exit_codes() -> None:
    text = CliRunner().invoke(reproducing.reproduce, ["--help"]).stdout
    assert "130 stopped" in text
    assert isinstance(reproducing.reproduce, click.Command)
