"""Evidence is what the rows say, whatever their form and order; dirt is counted, with rows."""

from __future__ import annotations

import gzip
import math
import random
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from made_logs import in_all_forms, two_tastes, write_csv

import lumpable as lb
from lumpable import BadArgument, read_events
from lumpable.base.units import to_micro
from lumpable.tables import queries
from lumpable.tables.events import Events
from lumpable.tables.sources import parts_of, reading

ODD = [
    "NULL",
    "null",
    "NA",
    "nan",
    "None",
    "ü",
    "名前",
    "a,b",
    'say "hi"',
    "two\nlines",
    " x ",
    "💡",
]
"""Names that a reader may take for something else."""


def rows(events: Events) -> list[tuple[Any, ...]]:
    """Return evidence with names."""
    user, item, reward, times = (column.tolist() for column in events.evidence())
    return [
        (events.users[u], events.items[i], r, n)
        for u, i, r, n in zip(user, item, reward, times, strict=True)
    ]


def faults(events: Events) -> dict[str, tuple[int, str, tuple[str, ...]]]:
    """Return what was wrong, by its words."""
    return {one.fault: (one.rows, one.example, one.places) for one in events.dirt.faults}


def test_a_table_gives_the_same_evidence_in_every_form(tmp_path: Path) -> None:
    log = two_tastes(20, 300, seed=1)
    log["user"] = [ODD[k % len(ODD)] for k in range(300)]
    log["reward"] = [round(0.37 * k % 5, 3) for k in range(300)]
    found = {
        form: read_events(source, item="offer", propensity="p")
        for form, source in in_all_forms(tmp_path, log).items()
    }
    assert len({events.digest() for events in found.values()}) == 1
    assert found["csv"].users == tuple(sorted(ODD))
    assert len(found["csv"]) == 300
    assert not any(events.dirt.faults for events in found.values())
    p = found["csv"].propensity
    assert p is not None
    assert all(np.array_equal(p, events.propensity) for events in found.values())  # type: ignore[arg-type]


def test_the_order_of_rows_changes_nothing_and_repeated_rows_count_again() -> None:
    frame = pl.DataFrame(two_tastes(8, 200, seed=2))
    told = read_events(frame, item="offer", propensity="p")
    shuffled = read_events(frame.sample(fraction=1.0, shuffle=True, seed=3), item="offer")
    twice = read_events(pl.concat([frame, frame]), item="offer")
    assert told.digest() == shuffled.digest() != twice.digest()
    assert [(*row[:3], 2 * row[3]) for row in rows(told)] == rows(twice)
    other = frame.with_columns(pl.col("reward").replace({0: 1}).alias("reward"))
    assert read_events(other, item="offer").digest() != told.digest()


@pytest.mark.parametrize("form", ["text", "float", "decimal"])
def test_rewards_are_rounded_to_millionths_as_everywhere_else(tmp_path: Path, form: str) -> None:
    rng = random.Random(4)
    values = [
        *((rng.randint(-4000, 4000) + 0.5) * 1e-6 for _ in range(300)),  # halves, nearly
        *(rng.randint(-(10**6), 10**6) / 2.0**21 for _ in range(300)),
        *(round(rng.uniform(-9, 9), rng.randint(0, 9)) for _ in range(300)),
        *(rng.uniform(-9e9, 9e9) for _ in range(300)),
        *(0.0, -0.0, 2.5e-6, 3.5e-6, 5e-324, 9007199254.7409),
    ]
    if form == "decimal":
        values = [float(Decimal(f"{value:.8f}")) for value in values if abs(value) < 1e6]
    columns: dict[str, Any] = {"user": list(range(len(values))), "item": ["a"] * len(values)}
    source: Any = pl.DataFrame(columns | {"reward": values})
    if form == "decimal":
        source = source.with_columns(pl.col("reward").cast(pl.Decimal(20, 8)))
    if form == "text":
        source = write_csv(tmp_path / "log.csv", columns | {"reward": list(map(repr, values))})
    events = read_events(source)
    found = {int(name): reward for name, _, reward, _ in rows(events)}
    assert found == {number: to_micro(value) for number, value in enumerate(values)}


def test_names_are_told_apart_where_the_source_can_tell(tmp_path: Path) -> None:
    """17 and "17" are two names, 17.0 is 17; fields of a CSV file are text."""
    mixed = pd.DataFrame({"user": [17, "17", 17.0, "x", 0.5, True, None], "item": "a", "reward": 1})
    events = read_events(mixed)
    assert [(row[0], row[3]) for row in rows(events)] == [(17, 2), ("17", 1), ("x", 1)]
    assert faults(events) == {
        "user is missing": (1, "", ("row 6",)),
        "user is no name": (2, "0.5", ("row 4", "row 5")),
    }
    assert any("are two names" in note for note in events.dirt.notes)
    floats = read_events(pl.DataFrame({"user": [17.0, None, 0.5], "item": "a", "reward": 1}))
    assert floats.users == (17,)
    assert floats.dirt.notes == ("user: came as floats such as 17.0, read as integers such as 17",)
    text = write_csv(
        tmp_path / "log.csv", {"user": [17, "17", "17.0"], "item": list("aab"), "reward": [1, 1, 0]}
    )
    assert read_events(text).users == ("17", "17.0")
    assert any("fields of a CSV file are text" in note for note in read_events(text).dirt.notes)


DIRTY = """user,item,reward,p,t,event,note
ann,a,1,0.5,2026-01-01T10:00:00Z,e1,"two
lines"
,a,1,0.5,2026-01-01T10:00:00Z,e2,
ann,"",1,0.5,2026-01-01T10:00:00Z,e3,

ann,a,,0.5,2026-01-01T10:00:00Z,e4,
ann,a,many,0.5,2026-01-01T10:00:00Z,e5,
ann,a,NaN,0.5,2026-01-01T10:00:00Z,e6,
ann,a,-inf,0.5,2026-01-01T10:00:00Z,e7,
ann,a,5.01,0.5,2026-01-01T10:00:00Z,e8,
ann,a,1,,2026-01-01T10:00:00Z,e9,
ann,a,1,0,2026-01-01T10:00:00Z,e10,
ann,a,1,1.01,2026-01-01T10:00:00Z,e11,
ann,a,1,0.5,,e12,
ann,a,1,0.5,noon,e13,
ann,a,1,0.5,2026-01-01 10:00:00,e14,
ann,a,1,0.5,2026-01-01T10:00:00Z,,
ann,a,1
ann,a,1,0.5,2026-01-01T12:00:00+02:00,e1,
ann,b,4,0.5,2026-01-01T10:00:00Z,e15,
ann,b,3,0.5,2026-01-01T09:00:00Z,e15,
bob,b,2,0.5,2026-01-02T00:00:00Z,e16,
"""
WRONG = {
    "row cannot be read": (1, "ann,a,1", ("line 19",)),
    "user is missing": (1, "", ("line 4",)),
    "item is missing": (1, "", ("line 5",)),
    "reward is missing": (1, "", ("line 7",)),
    "reward is no number": (1, "many", ("line 8",)),
    "reward is NaN": (1, "NaN", ("line 9",)),
    "reward is infinite": (1, "-inf", ("line 10",)),
    "reward is out of range": (1, "5.01", ("line 11",)),
    "p is missing": (1, "", ("line 12",)),
    "p is outside (0, 1]": (2, "0", ("line 13", "line 14")),
    "t is missing": (1, "", ("line 15",)),
    "t cannot be read": (1, "noon", ("line 16",)),
    "t has no zone, others have": (1, "2026-01-01 10:00:00", ("line 17",)),
    "event id is missing": (1, "", ("line 18",)),
    "event id repeats the same": (1, "e1", ("line 20",)),
    "event id contradicts another": (1, "e15", ("line 21", "line 22")),
}
COLUMNS: dict[str, Any] = {
    "propensity": "p", "time": "t", "id": "event", "rewards": (0, 5),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_every_kind_of_dirt_is_counted_with_its_lines(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("log.csv.gz" if packed else "log.csv")
    path.write_bytes(gzip.compress(DIRTY.encode()) if packed else DIRTY.encode())
    events = read_events(path, **COLUMNS)
    assert faults(events) == WRONG
    kept = [("ann", "a", 1), ("ann", "b", 3), ("bob", "b", 2)]
    assert rows(events) == [(user, item, reward * 10**6, 1) for user, item, reward in kept]
    assert events.dirt.rows == 20
    assert events.dirt.dropped == 17
    day = 1767225600 * 10**6  # 2026-01-01
    assert events.span == (day + 9 * 3600 * 10**6, day + 24 * 3600 * 10**6)
    with pytest.raises(BadArgument, match="17 of 20 rows left out") as refused:
        read_events(path, **COLUMNS, strict=True)
    assert all(f"{words}: " in str(refused.value) for words in WRONG)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_quote_too_many_is_as_many_rows_as_it_swallows(tmp_path: Path, end: str) -> None:
    path, head = tmp_path / "log.csv", ["user,item,reward", "a,x,1", '"d,x,1']
    for number in (5, 3000, 30_000):  # as much as a reader tells, more, and more than Python reads
        some = ["b,x,1"] * number
        for lines, good in ((some, 1), ([*some, '"q",x,1', *some, "c,,1"], number + 1)):
            path.write_bytes(end.join([*head, *lines, ""]).encode())
            events, gone = read_events(path), len(lines) == 2 * number + 2
            assert len(events) == good
            assert faults(events)["row cannot be read"][::2] == (1 + number + gone, ("line 3",))
            assert events.dirt.rows == len(lines) + 2
            if gone:
                assert faults(events)["item is missing"][2] == (f"line {2 * number + 5:,}",)


def test_rows_of_parquet_files_and_frames_are_numbered_from_0(tmp_path: Path) -> None:
    frame = pl.DataFrame({
        "user": [1, None, 3, 3], "item": ["a"] * 4, "reward": [1.0, 2.0, math.nan, math.inf],
    })  # fmt: skip
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "one.parquet")
    frame.write_parquet(tmp_path / "parts" / "two.parquet")
    whole, parts = read_events(frame), read_events(tmp_path / "parts")
    assert {words: places for words, (_, _, places) in faults(whole).items()} == {
        "user is missing": ("row 1",),
        "reward is NaN": ("row 2",),
        "reward is infinite": ("row 3",),
    }
    assert faults(parts)["user is missing"][2] == ("one.parquet row 1", "two.parquet row 1")
    assert rows(parts) == [(1, "a", 10**6, 2)]


def test_nan_is_seen_in_a_parquet_file_whose_head_does_not_tell_of_it(tmp_path: Path) -> None:
    """Heads have the least and the greatest number, and many writers leave NaN out of that."""
    nan, path = math.nan, tmp_path / "log.parquet"
    frame = pl.DataFrame({
        "user": [1.0, 2.0, 3.0, nan], "item": ["x"] * 4, "reward": [1.0, nan, 0.0, 1.0],
        "p": [0.5, 0.5, nan, 0.5],
    })  # fmt: skip
    frame.write_parquet(path)
    con = duckdb.connect()
    con.execute(f"CREATE VIEW log AS SELECT * REPLACE (user::BIGINT AS user) FROM '{path}' LIMIT 3")
    for events in (
        read_events(path, propensity="p"), read_events(frame, propensity="p"),
        lb.evidence_from(con, "log", propensity="p"),
    ):  # fmt: skip
        assert rows(events) == [(1, "x", 10**6, 1)]
        wrong = {fault: n for fault, (n, _, _) in faults(events).items()}
        assert wrong.pop("user is missing", 1) == 1
        assert wrong == {"reward is NaN": 1, "p is outside (0, 1]": 1}
    assert con.execute("SELECT current_setting('disabled_optimizers')").fetchone() == ("",)


def test_propensities_whose_inverse_is_no_number_are_left_out() -> None:
    smallest = 2.0**-1022
    column = {"p": [1e-320, smallest / 2, smallest, 0.5]}
    frame = pl.DataFrame({"user": list("abcd"), "item": ["x"] * 4, "reward": [1] * 4} | column)
    events = read_events(frame, propensity="p")
    assert faults(events) == {"p is outside (0, 1]": (2, "1e-320", ("row 0", "row 1"))}
    assert events.users == ("c", "d")


def test_events_that_contradict_each_other_count_only_if_it_is_known_which_was_first() -> None:
    frame = pl.DataFrame({
        "user": ["a", "a", "b"], "item": ["x", "x", "y"], "reward": [1, 0, 1],
        "id": [7, 7, 8], "at": ["2026-01-01", "2026-01-02", "2026-01-01"],
    })  # fmt: skip
    assert rows(read_events(frame, id="id")) == [("b", "y", 10**6, 1)]
    assert rows(read_events(frame, id="id", time="at"))[0] == ("a", "x", 10**6, 1)
    same_time = frame.with_columns(pl.lit("2026-01-01").alias("at"))
    assert rows(read_events(same_time, id="id", time="at")) == [("b", "y", 10**6, 1)]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_file_is_read_whatever_it_and_its_folders_are_called(tmp_path: Path, ending: str) -> None:
    """No name is a pattern, no folder is a column."""
    for folder in ("user=zed", "[a]*"):
        (tmp_path / folder).mkdir()
        for name in ("ev[1]", "ev1", "a*", "ab", "q?", "it's"):
            path = tmp_path / folder / f"{name}{ending}"
            frame = pl.DataFrame({"user": [name], "item": ["x"], "reward": [1]})
            if ending == ".parquet":
                frame.write_parquet(path)
            else:
                text = frame.write_csv().encode() + b"torn\n"
                path.write_bytes(gzip.compress(text) if ending == ".csv.gz" else text)
    for path in (one for one in tmp_path.rglob("*") if one.is_file()):
        events = read_events(path)
        assert rows(events) == [(path.name.removesuffix(ending), "x", 10**6, 1)]
        torn = {"row cannot be read": (1, "torn", ("line 3",))}
        assert faults(events) == ({} if ending == ".parquet" else torn)


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
@pytest.mark.parametrize("log_ending", [".csv", ".parquet"])
def test_an_empty_file_among_others_is_a_file_without_rows(
    ending: str, log_ending: str, tmp_path: Path
) -> None:
    """Some write a day without events as a file without even a head."""
    log = two_tastes(20, 300, seed=3) | {"id": [f"e{k}" for k in range(300)]}
    frame = pl.DataFrame(log | {"at": ["2026-11-18T08:00:00Z"] * 300})
    path, nothing = tmp_path / f"m{log_ending}", gzip.compress(b"") if ".gz" in ending else b""
    if log_ending == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    every: tuple[dict[str, Any], ...] = ({}, {"time": "at", "id": "id", "propensity": "p"})
    alone = [read_events(path, item="offer", **options) for options in every]
    for name in ("a", "z"):
        (tmp_path / f"{name}{ending}").write_bytes(nothing)
    said = f"2 files are empty, without a head: 'a{ending}', 'z{ending}'"
    for options, one in zip(every, alone, strict=True):
        events = read_events(tmp_path, item="offer", strict=True, **options)
        assert (events.digest(), events.span, events.dirt.rows) == (one.digest(), one.span, 300)
        assert said in str(events.dirt)
        assert said not in str(one.dirt)
    with pytest.raises(BadArgument, match=f"'.*a{ending}' is empty"):
        read_events(tmp_path / f"a{ending}", item="offer")


def test_bad_sources_are_refused_in_words(tmp_path: Path) -> None:
    log: dict[str, list[Any]] = {"customer": ["a"], "item": ["x"], "reward": [1], "at": [3]}
    path = write_csv(tmp_path / "log.csv", log)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text("user,item,reward\n")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "none").mkdir()
    (tmp_path / "days").mkdir()
    for day in ("1.csv", "2.parquet"):
        (tmp_path / "days" / day).write_bytes(b"")
    frame = pl.DataFrame({"user": [[1]], "item": ["x"], "reward": [1], "at": [3], "n": ["a"]})
    half = pd.DataFrame({"user": pd.Series(["\ud800", 1], dtype=object), "item": "x", "reward": 1})
    for source, options, words in (
        (path, {"user": "custommer"}, "'reward', 'at'; the nearest is 'customer'"),
        (tmp_path / "empty.csv", {}, "is empty"),
        (tmp_path / "head.csv", {}, "head.csv' has no rows"),
        (tmp_path / "torn.parquet", {}, "is not a Parquet file"),
        (tmp_path / "none", {}, "no CSV or Parquet file"),
        (tmp_path / "gone.csv", {}, "no such file"),
        (tmp_path / "days", {}, "is empty: so is each of its files"),
        (tmp_path / "none.txt", {}, "no such file"),
        (frame, {}, "expected strings or whole numbers in column 'user', got type BIGINT"),
        (frame, {"user": "n", "time": "at"}, "expected times, or text"),
        (frame, {"user": "n", "reward": "user"}, "expected numbers in column 'user'"),
        (frame, {"user": 3}, "the name of a column"),
        (7, {}, "or a data frame, got int"),
        (pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"]), {}, "several columns"),
        (half.head(1), {}, "half of a character"),
        (half, {}, "half of a character"),
        (path, {"user": "customer", "memory": "lots"}, "memory: expected a size such as '4GB'"),
        (path, {"user": "customer", "memory": "1KB"}, "memory: '1KB' is too little"),
        (path, {"user": "customer", "rewards": "some"}, "rewards: expected 'any'"),
        (path, {"user": "customer", "rewards": (2, 3)}, "no event counts"),
    ):  # fmt: skip
        with pytest.raises(BadArgument) as refused:
            read_events(source, **options)
        assert words in str(refused.value), str(refused.value)


@pytest.mark.parametrize("many", [20, pytest.param(300, marks=pytest.mark.nightly)])
def test_a_damaged_file_is_named_and_refused(tmp_path: Path, many: int) -> None:
    """Whatever is harmed, it is read or refused; of a folder, the harmed file is named."""
    rng = random.Random(2)
    log = two_tastes(40, 900, seed=6)
    log["offer"] = [f"{name}-{rng.random()}" for name in log["offer"]]
    pl.DataFrame(log).write_parquet(tmp_path / "a.parquet", compression="snappy")
    whole, refused, strange = (tmp_path / "a.parquet").read_bytes(), 0, 0
    path = tmp_path / "b.parquet"
    for number in range(many):
        harmed = bytearray(whole)
        at = rng.randrange(0 if number % 3 else len(whole) - 2000, len(whole))
        harmed[at : at + 8] = rng.choice([b"\xff" * 8, b"\x7f" + b"\xff" * 7, bytes(8)])
        path.write_bytes(harmed[: len(whole)])
        try:
            read_events(path if number % 2 else tmp_path, item="offer")
        except BadArgument as error:
            refused += "b.parquet' is " in str(error)
            strange += "b.parquet" not in str(error)
    assert refused > 5
    assert strange == 0
    packed = gzip.compress("".join(f"a{rng.random()},x,1\n" for _ in range(5000)).encode())
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"user,item,reward\n") + packed[:-9000])
    with pytest.raises(BadArgument, match=r"t\.csv\.gz' is damaged"):
        read_events(tmp_path / "t.csv.gz")


CLAIMS = """
import contextlib, pathlib, random, re, resource, sys
import polars as pl
from lumpable import read_events

folder, rng = pathlib.Path(sys.argv[1]), random.Random(3)
log = {"user": [f"u{k % 40}" for k in range(900)], "item": [f"i{rng.random()}" for _ in range(900)],
       "reward": [k % 2 for k in range(900)]}
pl.DataFrame(log).write_parquet(folder / "a.parquet", compression="snappy")
read_events(folder / "a.parquet")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
whole, before = (folder / "a.parquet").read_bytes(), peak()
end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")

def claimed(at, size):  # a number of Thrift, larger than it was
    after, digits = at, b""
    while whole[after] & 128:
        after += 1
    while size:
        digits, size = digits + bytes([size & 127 | 128 * (size > 127)]), size >> 7
    return (whole[:at] + digits + whole[after + 1 : end])[:end] + whole[end:]

pages = [found.end() for found in re.finditer(rb"\\x15[\\0\\4\\6]\\x15", whole[:end])]
harmed = [claimed(at, 2 * size) for at in pages for size in (2**28, 2**30, 2**31 - 1)]
for _ in range(int(sys.argv[2])):  # and any number of the footer
    at, large = rng.randrange(end, len(whole) - 8), rng.choice([b"\\xff\\xff\\xff\\xff\\x0f",
                                                             b"\\xfe\\xff\\xff\\xff\\x07"])
    harmed.append(whole[:at] + large + whole[at + 5 :])
for each in harmed:
    (folder / "b.parquet").write_bytes(each)
    with contextlib.suppress(Exception):  # what it says is tried above
        read_events(folder / "b.parquet")
print(len(pages), peak() - before)
"""
"""Reads a Parquet file of 16 KB that claims gigabytes, in its pages and in its footer."""


@pytest.mark.parametrize("many", [60, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_a_small_file_that_claims_to_be_large_takes_no_memory(tmp_path: Path, many: int) -> None:
    """A child reads all of them, and says by how much its memory ever grew."""
    child = subprocess.run(
        [sys.executable, "-c", CLAIMS, str(tmp_path), str(many)], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    pages, grown = map(int, child.stdout.split())
    assert pages >= 3  # one of each column, or more
    assert grown < 64 * 2**20


def test_an_error_that_is_no_damage_stays_an_error(tmp_path: Path) -> None:
    """Or a bug of ours would look like bad input."""
    con, path = duckdb.connect(), write_csv(tmp_path / "log.csv", two_tastes(3, 9, seed=1))
    parts = parts_of(con, path, ["user"])
    with pytest.raises(duckdb.BinderException), reading(con, parts):
        con.execute(f"SELECT nothing FROM {parts[0].relation}")
    with pytest.raises(duckdb.InvalidInputException), reading(con, parts):
        raise duckdb.InvalidInputException("ours")


def test_columns_may_differ_in_case_or_have_no_name(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("User,user,,item,reward,,ITEM\nwrong,right,1,x,1,2,y\n")
    assert rows(read_events(path)) == [("right", "x", 10**6, 1)]
    assert rows(read_events(path, user="User", item="ITEM")) == [("wrong", "y", 10**6, 1)]
    wide = pl.DataFrame({"User": ["wrong"], "user": ["right"], "item": ["x"], "reward": [1]})
    assert rows(read_events(wide)) == [("right", "x", 10**6, 1)]
    for source in (path, wide):
        with pytest.raises(BadArgument, match="differ in more than case, got 'user' and 'User'"):
            read_events(source, item="User")


def test_a_parquet_file_may_have_a_column_that_duckdb_would_add(tmp_path: Path) -> None:
    frame = pl.DataFrame({
        "user": ["a", None, "b"], "item": ["x"] * 3, "reward": [1] * 3, "File_Row_Number": [7] * 3,
    })  # fmt: skip
    frame.write_parquet(tmp_path / "log.parquet")
    events = read_events(tmp_path / "log.parquet", item="File_Row_Number")
    assert rows(events) == [("a", 7, 10**6, 1), ("b", 7, 10**6, 1)]
    assert faults(events) == {"user is missing": (1, "", ("row 1",))}


def test_a_column_of_which_every_field_is_missing_has_no_type() -> None:
    frame = pl.DataFrame({"user": ["a", "b"], "item": ["x", "x"], "reward": [1, 0], "n": None})
    for source in (frame, frame.lazy(), frame.to_arrow(), frame.to_pandas()):
        roles = ("user", "item", "reward", "time", "id", "propensity")
        for role in roles if source is frame else roles[1:4:2]:
            with pytest.raises(BadArgument, match=r"no event counts\. 2 of 2 rows"):
                read_events(source, **{role: "n"})  # type: ignore[arg-type]


def test_what_does_not_fit_into_memory_goes_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same evidence, with files of DuckDB on the disk meanwhile, which are gone afterwards.

    One id comes twice, so that rows are grouped.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "disk"))
    (tmp_path / "disk").mkdir()
    rng = np.random.default_rng(8)
    number = 120_000
    frame = pl.DataFrame({
        "user": [f"user {k}" for k in rng.integers(10**9, size=number)], "item": "x",
        "reward": 1, "id": [f"a long id of an event, {max(k, 1)}" for k in range(number)],
    })  # fmt: skip
    frame.write_parquet(tmp_path / "log.parquet")
    spilled = list[int]()

    def look(*_: Any) -> None:
        spilled.append(len([one for one in (tmp_path / "disk").rglob("*") if one.is_file()]))

    monkeypatch.setattr(queries, "LOOK", 0.01)
    small = read_events(tmp_path / "log.parquet", id="id", memory="24MB", progress=look)
    assert max(spilled) > 0
    assert small.digest() == read_events(tmp_path / "log.parquet", id="id").digest()
    assert list((tmp_path / "disk").iterdir()) == []


def test_progress_goes_from_0_to_1_and_ends_there(tmp_path: Path) -> None:
    frame = pl.DataFrame(two_tastes(8, 100, seed=5))
    for name in ("a", "b"):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    said: list[tuple[float, str]] = []
    read_events(tmp_path, item="offer", progress=lambda *one: said.append(one))
    parts = [part for part, _ in said]
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert {words for _, words in said} == {"reading a.parquet", "reading b.parquet"}


def test_events_are_shown_in_a_line() -> None:
    events = lb.read_events(pl.DataFrame(two_tastes(8, 100, seed=5)), item="offer")
    assert repr(events) == "Events: 100 of 8 users and 4 items. All 100 rows count."
