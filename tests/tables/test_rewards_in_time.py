"""A reward that came before its decision does not count, and is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import lumpable as lb
from lumpable import BadArgument, read_events
from lumpable.cli.main import main

LOG = """user,item,clicked,at,came
ann,a,1,2026-01-01T10:00:00Z,2026-01-01T10:00:00Z
ann,a,1,2026-01-01T10:00:00Z,2026-01-01T09:59:59.999999Z
ann,a,0,2026-01-01T10:00:00Z,
bob,b,1,2026-01-01T10:00:00Z,noon
bob,b,1,2026-01-01T10:00:00Z,2026-01-01T11:00:00+02:00
bob,b,1,2026-01-01T10:00:00Z,2026-01-02T00:00:00Z
bob,b,1,2026-01-01T10:00:00Z,2026-01-02 00:00:00
"""
COLUMNS: dict[str, Any] = {"reward": "clicked", "time": "at", "rewarded": "came"}
WRONG = {
    "came cannot be read": (1, "noon", ("line 5",)),
    "came has no zone, others have": (1, "2026-01-02 00:00:00", ("line 8",)),
    "clicked before its decision": (2, "2026-01-01T09:59:59.999999Z", ("line 3", "line 6")),
}


def faults(events: lb.Events) -> dict[str, tuple[int, str, tuple[str, ...]]]:
    return {one.fault: (one.rows, one.example, one.places) for one in events.dirt.faults}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def test_rewards_before_their_decisions_are_left_out_with_their_lines(path: Path) -> None:
    """What has no such time counts: often only clicks have one."""
    events = read_events(path, **COLUMNS)
    assert faults(events) == WRONG
    assert (len(events), events.dirt.rows) == (3, 7)
    assert lb.learn(path, **COLUMNS).events.digest() == events.digest()
    assert len(read_events(path, reward="clicked", time="at")) == 7
    frame = pl.read_csv(path)
    assert read_events(frame, **COLUMNS).digest() == events.digest()
    assert read_events(frame.lazy(), **COLUMNS).digest() == events.digest()


def test_zones_mix_across_both_columns() -> None:
    """A local time is neither before nor after another one that says its zone."""
    day = pd.Timestamp("2026-01-01")
    frame = pd.DataFrame({"user": "a", "item": "x", "reward": [1, 1], "at": day, "came": day})
    assert len(read_events(frame, time="at", rewarded="came")) == 2
    frame["at"] = frame["at"].dt.tz_localize("Asia/Tokyo")
    with pytest.raises(BadArgument, match="came has no zone, others have: 2 rows"):
        read_events(frame, time="at", rewarded="came")


def test_the_time_of_a_reward_needs_that_of_its_decision(path: Path, tmp_path: Path) -> None:
    for call in (
        lambda: read_events(path, reward="clicked", rewarded="came"),
        lambda: lb.Nightly(tmp_path / "state").evidence(path, reward="clicked", rewarded="came"),
        lambda: lb.evidence_from(duckdb.connect(), "log", rewarded="came"),
    ):
        with pytest.raises(BadArgument, match=r"rewarded: expected a column of times \(time\)"):
            call()
    assert not (tmp_path / "state").exists()


def test_nights_leave_out_what_a_log_leaves_out(path: Path, tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    added = state.evidence(path, **COLUMNS)[0]
    whole = read_events(path, **COLUMNS)
    assert added.dirt == whole.dirt
    assert state.events().digest() == whole.digest()
    assert state.events().columns == whole.columns  # remembered
    path.write_text(LOG.replace("ann", "cy"))
    assert state.evidence(path)[0].events == 3
    with pytest.raises(BadArgument, match="rewarded: expected 'came', as in the first night"):
        state.evidence(path, rewarded="at")


def test_the_commands_take_the_column(path: Path, tmp_path: Path) -> None:
    options = [f"--{role}={column}" for role, column in COLUMNS.items()]
    for words in (["learn", str(path)], ["evidence", str(path), "--state", str(tmp_path / "s")]):
        result = CliRunner().invoke(main, [*words, *options])
        assert result.exit_code == 0, result.output
        assert "09:59:59.9" in result.stdout
    assert CliRunner().invoke(main, ["learn", str(path), *options, "--strict"]).exit_code == 2
    result = CliRunner().invoke(main, ["learn", str(path), *options[:1], *options[2:]])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_an_engine_compares_times_of_one_kind() -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    con.execute(
        "CREATE TABLE log AS SELECT 'a' AS user, 'x' AS item, 1 AS reward, decided, "
        "decided + to_days(k) AS came, decided::TIMESTAMPTZ AS zoned FROM (SELECT k, "
        "TIMESTAMP '2026-01-01 10:00:00' AS decided FROM (VALUES (-1), (0), (1), (NULL)) AS v(k))"
    )
    events = lb.evidence_from(con, "log", time="decided", rewarded="came")
    assert [(one.fault, one.rows) for one in events.dirt.faults] == [
        ("reward before its decision", 1)
    ]
    assert len(events) == 3
    mixed: list[dict[str, Any]] = [
        {"time": "zoned", "rewarded": "came"}, {"time": "decided", "rewarded": "zoned"}
    ]  # fmt: skip
    for columns in mixed:
        with pytest.raises(BadArgument, match="that both say their zone, or both do not"):
            lb.evidence_from(con, "log", **columns)
    con.execute("CREATE VIEW zoned AS SELECT * REPLACE (came::TIMESTAMPTZ AS came) FROM log")
    assert len(lb.evidence_from(con, "zoned", time="zoned", rewarded="came")) == 3
    frame = con.sql("SELECT user, item, reward, decided, came FROM log").pl()
    context = pl.SQLContext({"log": frame.lazy()})
    assert len(lb.evidence_from(context, "log", time="decided", rewarded="came")) == 3
    other = pl.SQLContext({"log": frame.with_columns(pl.col("came").dt.replace_time_zone("UTC"))})
    with pytest.raises(BadArgument, match="both say their zone"):
        lb.evidence_from(other, "log", time="decided", rewarded="came")
