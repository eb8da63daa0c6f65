"""CSV files as systems write them: ends of lines, quotes in the head, words for truth."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import lumpable as lb
from lumpable import BadArgument, read_events
from lumpable.cli.main import main
from lumpable.tables import line_ends

ROWS = [
    "user,item,reward",
    "a,x,1",
    'b,y,"0"',
    '"c\nd",x,1',
    '"c\r\nd",y,0',
    'e"f,"x",1',
    ",,",
    "g,x,",
]
"""Whose fields hold quotes and ends of lines themselves; the last two cannot count."""
LINES = ["line 9", "line 10"]


def faults(events: lb.Events) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {one.fault: (one.rows, one.places) for one in events.dirt.faults}


def joined(ends: list[str]) -> bytes:
    return "".join(row + ends[k % len(ends)] for k, row in enumerate(ROWS)).encode()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize(
    "ends",
    [["\n"], ["\r\n"], ["\n", "\r\n"], ["\r\n", "\n"], ["\r\r\n"], ["\r\n", "\r\r\n"],
     ["\n"] * 7 + ["\r\n"], ["\r\n"] * 2 + ["\n"] * 6],
)  # fmt: skip
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_lines_may_end_in_several_ways(
    ending: str, ends: list[str], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where files of two systems were put together; fields in quotes stay as they are."""
    monkeypatch.setattr(line_ends, "BLOCK", block)
    path, state = tmp_path / f"log{ending}", lb.Nightly(tmp_path / "state")
    path.write_bytes(gzip.compress(joined(ends)) if ending == ".csv.gz" else joined(ends))
    events = read_events(path)
    assert events.users == ("a", "b", "c\nd", "c\r\nd", 'e"f')
    assert (len(events), events.reward.tolist()) == (5, [10**6, 0, 10**6, 0, 10**6])
    assert faults(events) == {
        "user is missing": (1, ("line 9",)), "reward is missing": (1, ("line 10",))
    }  # fmt: skip
    mixed = len({end.lstrip("\r") if end == "\n" else end for end in ends}) > 1 or "\r\r\n" in ends
    said = f"lines of 'log{ending}' end in several ways (CRLF, LF): read as if in one"
    assert events.dirt.notes == ((said,) if mixed else ())
    assert state.evidence(path)[0].dirt == events.dirt
    assert state.events().digest() == events.digest()


def test_a_row_that_cannot_be_read_is_found_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"user,item,reward\r\na,x,1\nb,y\r\nc,x,1\n\r\nd,x\n")
    events = read_events(path)
    assert events.users == ("a", "c")
    assert faults(events) == {"row cannot be read": (2, ("line 3", "line 6"))}


def test_a_lone_return_within_a_field_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for end in ("\n", "\r\n"):
        path.write_bytes(
            end.join(["user,item,reward", "a,x,1", '"b\rc",y,0', "b\rc,y,0", ""]).encode()
        )
        with pytest.raises(
            BadArgument, match=r"line 4 of '.*log\.csv' has a carriage return"
        ) as one:
            read_events(path)
        assert "put the field into quotes" in str(one.value)
        path.write_bytes(end.join(["user,item,reward", "a,x,1", '"b\rc",y,0', ""]).encode())
        assert read_events(path).users == ("a", "b\rc")
    path.write_bytes(b"user,item,reward\ra,x,1\rb,x,0\r")  # of an old Macintosh: one way
    assert read_events(path).users == ("a", "b")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("inner", "end"), [("\n", "\n"), ("\n", "\r\n"), ("\r\n", "\n"), ("\r\n", "\r\n")]
)
@pytest.mark.parametrize(
    ("head", "user"),
    [('user,item,"a;b;c;d;e",reward', "user"), ('"u;,s""er",item,"two{}lines",reward', 'u;,s"er'),
     ('"two{}lines",item,note,reward', "two{}lines"), ('us"er,item,note,reward', 'us"er')],
)  # fmt: skip
def test_names_of_columns_in_quotes_hold_anything(
    mark: str, inner: str, end: str, head: str, user: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    text = end.join([mark + head.format(inner), 'a,"x;y;z;,;",1;2;3,1', "b,x,,", ""])
    path.write_bytes(text.encode())
    if mark and head.startswith('"two'):
        with pytest.raises(BadArgument, match=r"the first column of .* has a line break"):
            read_events(path, user=user.format(inner))
        return
    events = read_events(path, user=user.format(inner))
    assert (events.users, events.items) == (("a",), ("x;y;z;,;",))
    assert faults(events)["reward is missing"][1] == (f"line {3 + head.count('{}')}",)


def test_words_for_truth_are_rewards_if_there_are_no_others(tmp_path: Path) -> None:
    """So frames write columns of truth values, whose file would lose every row."""
    path, state = tmp_path / "log.csv", lb.Nightly(tmp_path / "state")
    head, said = "user,item,reward\n", "reward: the words true and false are read as 1 and 0"
    for yes, no in (("True", "False"), ("true", "false"), ("TRUE", "FALSE")):
        path.write_text(f"{head}a,x,\na,x,{yes}\na,y,{no}\n")
        events = read_events(path, rewards="binary")
        assert (events.reward.tolist(), events.dirt.notes) == ([10**6, 0], (said,))
        assert faults(events) == {"reward is missing": (1, ("line 2",))}
    assert state.evidence(path)[0].dirt == events.dirt
    assert state.events().digest() == events.digest()
    path.write_text(f"{head}a,x,True\na,y,False\na,y,1\na,y,yes\n")
    assert faults(read_events(path)) == {
        "reward is no number": (3, ("line 2", "line 3", "line 5"))
    }  # fmt: skip


def test_an_empty_path_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.csv").write_text("user,item,reward\na,x,1\n")
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = [
        lambda: read_events(""), lambda: lb.learn(""), lambda: lb.Nightly(""),
        lambda: lb.Nightly("state").evidence(""), lambda: lb.Nightly("state").plan(users=""),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(BadArgument, match="got an empty string"):
            call()
    for words in (["learn", ""], ["evidence", "", "--state", "s"], ["evidence", "--state", ""]):
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, "empty string" in result.stderr) == (2, True), result.output
    assert len(read_events(".")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


def test_numbers_as_people_write_them_are_none_and_it_is_said_what_to_write(
    tmp_path: Path,
) -> None:
    path, head = tmp_path / "log.csv", "user;item;gain;p\n"
    comma = "gain: numbers with a decimal comma are not read: write 0.5 for 0,5"
    words = "gain: words such as 'Yes' are no numbers: write 1 and 0"
    rare = "p: numbers with a decimal comma are not read: write 0.25 for 0,25"
    columns = {"reward": "gain", "propensity": "p"}
    for field, p, notes in (
        ("0,5", "0.5", (comma,)), ("Yes", "0.5", (words,)), ("1_000", "1", ()),
        ("1", "0,25", (rare,)), ("1,000,000", "1", ()), ("lots", "1", ()),
    ):  # fmt: skip
        path.write_text(f"{head}a;x;{field};{p}\na;x;1;0.5\n")
        events = read_events(path, **columns)  # type: ignore[arg-type]
        assert (len(events), events.dirt.notes) == (1, notes)
        path.write_text(f"{head}a;x;{field};{p}\n")
        with pytest.raises(BadArgument, match="no event counts") as one:
            read_events(path, **columns)  # type: ignore[arg-type]
        assert all(note in str(one.value) for note in notes)
    frame = pl.DataFrame({"user": ["a", "a"], "item": ["x", "x"], "reward": ["1_000", "1000"]})
    assert read_events(frame).reward.tolist() == [10**9]


def test_names_that_differ_in_outer_blanks_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,item,reward\nu1,x,1\n u1,x,1\nu2,x ,1\n" u3",x,1\n')
    events = read_events(path)
    assert events.users == (" u1", " u3", "u1", "u2")
    assert events.dirt.notes == tuple(
        f"{column}: {odd!r} and {name!r} are two names, which differ in outer blanks only: write "
        "it one way"
        for column, odd, name in (("user", " u1", "u1"), ("item", "x ", "x"))
    )


def test_a_column_holds_one_thing(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,reward\nu1,x,1\n")
    for given, words in (
        ({"item": "user"}, "item: expected another column than user, got 'user'"),
        ({"propensity": "reward"}, "propensity: expected another column than reward"),
        ({"id": "item", "time": "item"}, "time: expected another column than item"),
    ):
        with pytest.raises(BadArgument, match=words):
            read_events(path, **given)  # type: ignore[arg-type]
        with pytest.raises(BadArgument, match=words):
            lb.Nightly(tmp_path / "state").evidence(path, **given)  # type: ignore[arg-type]
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "zone", ["America/Port-au-Prince", "Etc/GMT+5", "EST5EDT", "America/Argentina/Buenos_Aires"]
)
def test_names_of_zones_have_signs_and_digits(zone: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        f"user,item,reward,at\na,x,1,2026-01-01 10:00:00 {zone}\n"
        "a,x,1,2026-01-01T10:00:00Z\na,x,1,2026-01-01 10:00:00\n"
    )
    events = read_events(path, time="at")
    assert faults(events) == {"at has no zone, others have": (1, ("line 4",))}
    assert events.span is not None
    assert events.span[1] - events.span[0] in (3 * 3600 * 10**6, 5 * 3600 * 10**6)
