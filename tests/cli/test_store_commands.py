"""`lumpable verify | show | export` on the file of an experiment."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.cli import main
from lumpable.stores.log_entries import Entry


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main.main, list(words), prog_name="lumpable")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red", 17], window=3600, default=0.5, fits="inline") as e:
        for k in range(20):
            made = e.decide(f"user {k % 4}", event=f"e{k}")
            if k % 4:
                e.reward(made.event, k / 10)
        e.reward("[bold]lost", 1.0)
    return path


def test_a_whole_file_is_said_to_be_whole(file: Path) -> None:
    with lb.open(file, fits="inline"):  # in use
        result = call("verify", str(file))
    assert result.exit_code == 0, result.output
    assert "all as they were written" in result.output


def test_damage_is_named(file: Path) -> None:
    change(file, "UPDATE log SET value = 7 WHERE kind = 'rewarded' AND event = 'e1'")
    result = call("verify", str(file))
    assert result.exit_code == 1
    assert "is not what was written" in result.stdout
    assert "damaged" in result.stderr


def test_a_damaged_snapshot_is_named(file: Path) -> None:
    snapshot = Path(f"{file}.snapshot")
    snapshot.write_bytes(snapshot.read_bytes()[:-50])
    result = call("verify", str(file))
    assert result.exit_code == 1
    assert "it is ignored; nothing is lost" in result.stdout
    assert "all as they were written" in result.stdout


def test_changed_settings_are_named(file: Path) -> None:
    longer = "replace(CAST(value AS TEXT), '3600000000', '3600000001')"
    change(file, f"UPDATE about SET value = CAST({longer} AS BLOB) WHERE key = 'settings'")
    result = call("verify", str(file))
    assert result.exit_code == 1
    assert "the settings: " in result.stdout


@pytest.mark.parametrize("command", ["verify", "show", "export"])
def test_settings_that_cannot_be_read_are_said_in_a_line(
    command: str, file: Path, tmp_path: Path
) -> None:
    """Also if they were written like that."""
    change(file, "UPDATE about SET value = x'7b7d7d' WHERE key = 'settings'")
    change(file, "DELETE FROM about WHERE key = 'settings digest'")
    change(file, "PRAGMA user_version = 2")
    more = ["--out", str(tmp_path / "x.parquet")] if command == "export" else []
    result = call(command, str(file), *more)
    assert result.exit_code == (1 if command == "verify" else 2)
    assert "the settings of the experiment are damaged" in result.output
    assert "bug" not in result.output


def change(file: Path, query: str) -> None:
    """Change a file behind the experiment's back."""
    db = sqlite3.connect(file)
    db.execute(query)
    db.commit()
    db.close()


def test_what_is_inside_is_shown(file: Path) -> None:
    result = call("show", str(file))
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    for words in ("users 4", "window 3600.0", "default 0.5", "17 added", "decided 20",
                  "rewarded 16", "early 1", "waiting 5"):  # fmt: skip
        assert words in text


def test_times_that_no_calendar_knows_are_shown(file: Path, tmp_path: Path) -> None:
    with lb.open(file, fits="inline") as e:
        e.reward("e0", 1.0, at=4e12)
        e.reward("e4", 1.0, at=0)
    result = call("show", str(file))
    assert result.exit_code == 0, result.output
    assert "1970-01-01 00:00:00 UTC to 128724-12-15 07:06:40 UTC" in result.stdout
    assert call("export", str(file), "--out", str(tmp_path / "events.parquet")).exit_code == 0


def test_defaults_that_are_due_are_exported(tmp_path: Path) -> None:
    """As they count when the file is next opened: else what taught is too good by far."""
    path, out, log = tmp_path / "clicks.db", tmp_path / "x.parquet", tmp_path / "log.parquet"
    with lb.open(path, ["red"], window=100, default=0, fits="inline") as e:
        e.observe("ann", "red", event="old", at=1_000.0)
        e._store.append([  # as if its window had been open when the file was last
            Entry(kind="decided", at=2_000_000_000, event="due", user="bob", arm="red",
                  propensity=1.0, version=0, active=True, detail="observed"),
        ])  # fmt: skip
    before = path.read_bytes()
    assert call("export", str(path), "--out", str(out)).exit_code == 0
    assert call("export", str(path), "--out", str(log), "--log").exit_code == 0
    exported = {
        row["event"]: (row["standing"], row["reward"]) for row in pq.read_table(out).to_pylist()
    }
    taught = {row["id"]: row["reward"] for row in pq.read_table(log).to_pylist()}
    assert path.read_bytes() == before
    with lb.open(path, fits="inline") as e:
        e.decide("somebody")
        assert sum(times for *_, times in e.evidence()) == 2
    assert exported == {"old": ("defaulted", 0.0), "due": ("defaulted", 0.0)}
    assert taught == {"old": 0.0, "due": 0.0}


def test_events_are_exported(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "events.parquet"
    result = call("export", str(file), "--out", str(out))
    assert result.exit_code == 0, result.output
    rows = pq.read_table(out).to_pylist()
    assert len(rows) == 21
    assert {row["arm"] for row in rows[:20]} <= {'"red"', "17"}
    assert rows[1]["reward"] == 0.1
    assert (rows[0]["standing"], rows[0]["reward"]) == ("waiting", None)
    assert (rows[20]["event"], rows[20]["standing"], rows[20]["user"]) == (
        "[bold]lost",
        "early",
        None,
    )


@pytest.mark.parametrize("command", ["verify", "show", "export"])
def test_bad_files_are_bad_input(command: str, tmp_path: Path) -> None:
    more = ["--out", str(tmp_path / "x")] if command == "export" else []
    assert call(command, str(tmp_path / "none.db"), *more).exit_code == 2
    text = tmp_path / "text.db"
    text.write_text("hello " * 2000)
    result = call(command, str(text), *more)
    assert result.exit_code == 2
    assert "not a database" in result.stderr
