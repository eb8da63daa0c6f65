"""An event id is what it says, whatever type its column has: 17.0 is 17 where numbers are meant."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import lumpable as lb
from lumpable import BadArgument, read_events
from lumpable.nightly import night_rows

EVENTS: dict[str, list[Any]] = {
    "user": ["a", "b", "c"],
    "item": ["x", "y", "x"],
    "reward": [1, 0, 1],
}
FLOATS = "id: came as floats such as 17.0, read as integers such as 17"


def log(ids: Any, rows: int = 3) -> pd.DataFrame:
    return pd.DataFrame({name: column[:rows] for name, column in EVENTS.items()} | {"id": ids})


DAYS = {
    "integers": (log([1, 2], 2), False),
    "floats": (log([1.0, 2.0, None]), True),
    "floats of four bytes": (log(np.array([1, 2, np.nan], np.float32)), True),
    "objects": (log(pd.Series([1.0, 2, None], dtype=object)), False),
    "decimals": (log([Decimal("1.00"), Decimal("2.00"), None]), False),
    "text": (log(["1", "2", None]), False),
    "polars": (pl.DataFrame(EVENTS | {"id": [1.0, 2.0, float("nan")]}), True),
}
"""The same two events; where there is a third row, it has no id."""


def test_whole_floats_are_the_ids_that_they_were(tmp_path: Path) -> None:
    """Pandas makes floats of integers if one is missing: a day that came again counted twice."""
    state = lb.Nightly(tmp_path / "state")
    for number, (day, floats) in enumerate(DAYS.values()):
        events = read_events(day, id="id")
        assert (len(events), FLOATS in events.dirt.notes) == (2, floats)
        added = state.evidence(day, id="id")[0]
        assert (added.events, added.again, added.against) == (
            (2, 0, 0) if number == 0 else (0, 2, 0)
        )
    assert len(state.events()) == 2


def test_a_folder_of_days_counts_each_event_once(tmp_path: Path) -> None:
    for name, (day, _) in DAYS.items():
        frame = day if isinstance(day, pl.DataFrame) else pl.from_pandas(day)
        frame.write_parquet(tmp_path / f"{name}.parquet")
    events = read_events(tmp_path, id="id")
    assert len(events) == 2
    repeated = 2 * len(DAYS) - 2
    found = {fault.fault: fault.rows for fault in events.dirt.faults}
    assert found == {"event id is missing": len(DAYS) - 1, "event id repeats the same": repeated}


def test_ids_that_are_no_whole_floats_stay_as_they_are() -> None:
    frame = log([0.5, 2.0**53 + 2, -0.0])
    frame = pd.concat([frame, log([0.5, 2.0**53 + 2, 0.0])])
    assert len(read_events(frame, id="id")) == 3
    digits = pl.DataFrame(EVENTS | {"id": [Decimal(2**60), Decimal(2**60 + 1), Decimal(2**60 + 2)]})
    assert len(read_events(digits, id="id")) == 3


def test_fields_of_a_csv_file_are_text_which_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,reward,id\na,x,1,17\na,x,1,17.0\nb,y,0,v1.0\n")
    events = read_events(path, id="id")
    said = "id: '17' and '17.0' are two ids, as fields of a CSV file are text: write it one way"
    assert (len(events), events.dirt.notes) == (3, (said,))
    path.write_text("user,item,reward,id\na,x,1,17\nb,y,0,v1.0\nb,y,0,1.00\n")
    assert read_events(path, id="id").dirt.notes == ()


def test_states_of_earlier_releases_know_their_floats(tmp_path: Path) -> None:
    """They kept such ids as 17.0."""
    con, path = duckdb.connect(), tmp_path / "old.parquet"
    select = ", ".join(f"NULL::{kind} AS {name}" for name, kind in night_rows.TYPES.items())
    con.execute(f"COPY (SELECT * REPLACE ('17.0' AS id, 'v1.0' AS u_text) FROM (SELECT {select})) "
                f"TO '{path}'")  # fmt: skip
    for floats, left in ((True, 1), (False, 2)):
        came = f"SELECT * REPLACE (unnest(['17', '18']) AS id) FROM (SELECT {select})"
        con.execute(f"CREATE OR REPLACE TABLE came AS {came}")
        assert night_rows.drop_known(con, [path], floats=floats)[0] == 2 - left
        assert con.execute("SELECT count(*) FROM came").fetchone() == (left,)


def test_floats_as_ids_are_refused_on_engines() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE log AS SELECT 'a' AS user, 'x' AS item, 1 AS reward, 17.0::DOUBLE AS id"
    )
    with pytest.raises(
        BadArgument, match=r"whole numbers in column 'id': cast .* got 17.0 \(a float"
    ):
        lb.evidence_from(con, "log", id="id")
    con.execute("CREATE VIEW cast_ids AS SELECT * REPLACE (id::BIGINT AS id) FROM log")
    assert len(lb.evidence_from(con, "cast_ids", id="id")) == 1
