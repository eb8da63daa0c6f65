"""Files that commands write: never those that they read, and refused before any work."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.cli import main

EVENTS = "user,item,reward\nann,tea,1\nbob,tea,0\nann,juice,0\nbob,juice,1\n"


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main.main, list(words), prog_name="lumpable")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a log, a state, users, an experiment, and links to some of them."""
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(EVENTS)
    Path("users.csv").write_text("user\nann\nbob\n")
    Path("logs").mkdir()
    Path("logs/1.csv").write_text(EVENTS)
    Path("link.csv").symlink_to("log.csv")
    Path("link.html").symlink_to("log.csv")
    os.link("log.csv", "hard.csv")
    assert call("evidence", "--state", "st", "log.csv").exit_code == 0
    Path("segment").symlink_to(next(Path("st").glob("*.parquet")))
    Path("rows.html").symlink_to("means.csv")
    Path("means.csv").write_text("context,arm,mean\nann,tea,0.5\nbob,tea,0.2\n")
    with lb.open("clicks.db", ["tea", "juice"], fits="inline") as e:
        e.reward(e.decide("ann").event, 1.0)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files but those that SQLite keeps beside one that it reads."""
    files = [p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(("-wal", "-shm"))]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("learn log.csv --policy log.csv", "which is read"),
        ("learn log.csv --policy ./logs/../log.csv", "which is read"),
        ("learn log.csv --policy link.csv", "which is read"),
        ("learn link.csv --policy log.csv", "which is read"),
        ("learn log.csv --policy hard.csv", "which is read"),
        ("learn log.csv --save log.csv --overwrite", "which is read"),
        ("learn log.csv --html link.html", "which is read"),
        ("learn log.csv --html log.csv", "ends in .html"),
        ("learn logs --policy logs/1.csv", "it would be read, too"),
        ("learn logs --policy logs/new.csv", "it would be read, too"),
        ("learn log.csv --policy p.csv --save p.csv", "another file than --policy"),
        ("learn log.csv --save st/manifest.json --overwrite", "outside of the state"),
        ("plan --state st --users users.csv --out users.csv", "which is read"),
        ("plan --state st --items users.csv --item user --out ./users.csv", "which is read"),
        ("plan --state st --out st/SEGMENT", "outside of the state"),
        ("plan --state st --out st/plan.csv", "outside of the state"),
        ("plan --state new --users users.csv --out new/plan.csv", "outside of the state"),
        ("export clicks.db --out clicks.db", "which is read"),
        ("export clicks.db --log --out st/SEGMENT", "outside of the state"),
        ("simulate pac --matrix means.csv --html rows.html", "which is read"),
        ("simulate regret --matrix means.csv --html rows.html", "which is read"),
        ("report rows.html --out rows.html", "which is read"),
        ("compare log.csv --out hard.csv", "which is read"),
        ("serve st/clicks.db --learned st", "outside of the state"),
        ("serve offers.lumps --learned offers.lumps", "which is read"),
    ],
)
def test_what_is_read_is_never_written(here: Path, words: str, said: str) -> None:
    segment = next(Path("st").glob("*.parquet")).name
    before = contents(here)
    result = call(*words.replace("SEGMENT", segment).split())
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert contents(here) == before


@pytest.mark.parametrize(
    "words",
    [
        "learn logs --html logs/page.html --policy policy.csv --save offers.lumps",
        "plan --state st --users users.csv --out st2.csv",
        "export clicks.db --out events.csv",
    ],
)
def test_what_is_not_read_is_written(here: Path, words: str) -> None:
    result = call(*words.split())
    assert result.exit_code == 0, result.output
    assert all(Path(word).exists() for word in words.split() if "." in word)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("pyarrow.parquet", "learn log.csv --policy p.parquet --save offers.lumps"),
        ("altair", "learn log.csv --html page.html --save offers.lumps"),
        ("vl_convert", "learn log.csv --html page.html --policy p.csv"),
        ("jinja2", "learn log.csv --html page.html"),
        ("pyarrow.parquet", "export clicks.db --out events.parquet"),
        ("pyarrow.parquet", "export clicks.db --log --out log"),
    ],
)
def test_a_missing_extra_is_said_before_any_work(
    here: Path, missing: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is printed and nothing is written: not even what could have been."""
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    before = contents(here)
    result = call(*words.split())
    assert result.exit_code == 2, result.output
    assert "pip install 'lumpable[" in result.stderr
    assert result.stdout == ""
    assert contents(here) == before


# --- Exports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_exported_log_is_what_its_name_says_and_can_be_read(here: Path, ending: str) -> None:
    """Text in quotes, with commas and lines of its own; and the state and a fit can be made of it.

    Times and propensities are the same in both.
    """
    odd = ['a "quoted", name', "two\nlines", "ünï ☕", " spaces ", "NULL"]
    with lb.open("odd.db", ["x", "y"], window=60, default=0.25, fits="inline") as e:
        for k in range(30):
            made = e.decide(odd[k % 5])
            if k % 3:
                e.reward(made.event, 1 / 3 if k % 2 else 1e-6)
    out = f"back.{ending}"
    result = call("export", "odd.db", "--log", "--out", out)
    assert result.output == f"{out}: 20 events\n"
    assert Path(out).is_file()
    columns: dict[str, Any] = {"id": "id", "time": "time", "propensity": "propensity"}
    found = lb.read_events(out, **columns)
    assert call("export", "odd.db", "--log", "--out", "other.parquet").exit_code == 0
    other = lb.read_events("other.parquet", **columns)
    assert (found.digest(), found.span) == (other.digest(), other.span)
    assert sorted(found.users) == sorted(odd)
    assert found.propensity is not None
    assert other.propensity is not None
    assert found.propensity.tolist() == other.propensity.tolist()
    words = ("--id", "id", "--time", "time", "--propensity", "propensity")
    assert call("learn", out, *words).exit_code == 0
    assert "20 new events" in call("evidence", "--state", "other", out, *words).output


def test_exported_events_are_the_same_in_both_endings(here: Path) -> None:
    import pyarrow.parquet as pq

    for ending in ("csv", "parquet"):
        assert call("export", "clicks.db", "--out", f"e.{ending}").exit_code == 0
    with Path("e.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    (other,) = pq.read_table("e.parquet").to_pylist()
    assert list(row) == list(other)
    assert (row["user"], row["shown"], row["reward"]) == ('"ann"', "true", "1.0")
    assert (other["user"], other["shown"], other["reward"]) == ('"ann"', True, 1.0)
    stamp = other["decided_at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert row["decided_at"] == stamp


@pytest.mark.parametrize("log", [(), ("--log",)])
@pytest.mark.parametrize("name", ["back.txt", "back.csv.gz", "back.PDF"])
def test_other_endings_are_refused_before_anything_is_read(
    here: Path, log: tuple[str, ...], name: str
) -> None:
    before = contents(here)
    result = call("export", "clicks.db", "--out", name, *log)
    assert result.exit_code == 2
    assert "--out: expected a name that ends in .csv or .parquet" in result.stderr
    assert contents(here) == before


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_of_both_kinds_need_a_folder(here: Path, ending: str) -> None:
    with lb.open("both.db", ["tea", 17], fits="inline") as e:
        for arm in ("tea", 17):
            e.reward(e.observe("ann", arm).event, 1.0)
    result = call("export", "both.db", "--log", "--out", f"back.{ending}")
    assert result.exit_code == 2
    assert "a folder (a name without an ending), as names are numbers and strings" in result.stderr
    assert not Path(f"back.{ending}").exists()
    assert call("export", "both.db", "--log", "--out", "back").exit_code == 0
    assert lb.read_events("back").items == (17, "tea")
    for words in (("learn", "back"), ("evidence", "--state", "new", "back")):
        assert call(*words).exit_code == 0
