"""`lumpable evidence | plan` as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.cli import main
from lumpable.cli.serving import learned_at
from lumpable.service.learned_entries import evidence_in

EVENTS = "customer,offer,clicked,event\nann,tea,1,e1\nbob,tea,0,e2\nann,juice,0,e3\n"
COLUMNS = ("--user", "customer", "--item", "offer", "--reward", "clicked", "--id", "event")


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main.main, list(words), prog_name="lumpable")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("1.csv").write_text(EVENTS)
    Path("2.csv").write_text(EVENTS.replace("ann,tea,1", "ann,tea,0") + "cy,juice,,e4\n")
    Path("users.csv").write_text("customer\nann\ndan\n")
    return tmp_path


def test_a_night_as_it_is_typed(here: Path) -> None:
    first = call("evidence", "--state", "state", "1.csv", *COLUMNS, "--rewards", "0:1")
    assert first.exit_code == 0, first.output
    assert "1.csv: 3 new events" in first.output
    again = call("evidence", "--state", "state", "1.csv")
    assert "it is there already; nothing counts twice" in again.output
    later = call("evidence", "--state", "state", "2.csv")
    assert "clicked is missing" in later.output
    assert "3 were there already (1 of them say something else now" in later.output
    made = call("plan", "--state", "state", "--users", "users.csv", "--out", "plan.csv")
    assert "1 of 2 users have no events yet" in made.output
    assert Path("plan.csv").read_text().startswith("user,action,propensity,version\n,")
    shown = call("evidence", "--state", "state")
    for words in ("events          3", "column: user    customer", "(0.0, 1.0)", "1.csv"):
        assert words in shown.output, shown.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("evidence", "--state", "none"), "a folder with a state"),
        (("evidence", "--state", "none", "--user", "a"), "a file, as options are given"),
        (("evidence", "--state", "users.csv", "1.csv"), "which is a file"),
        (("evidence", "--state", "s", "1.csv", *COLUMNS, "--rewards", "a:b"), "0:5"),
        (("plan", "--state", "s", "--users", "users.csv", "--out", "p.txt"), ".csv or .parquet"),
        (("plan", "--state", "s", "--users", "users.csv", "--out", "p.csv"), "a column 'user'"),
        (("plan", "--state", "s/t", "--out", "p.csv"), "around it"),
        (("plan", "--state", "s", "--out", "p.csv", "--learner-option", "a=1"), "--learner"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(here: Path, words: tuple[str, ...], error: str) -> None:
    result = call(*words)
    assert result.exit_code == 2, result.output
    assert error in result.output
    assert "Traceback" not in result.output
    assert not Path("s").exists()


def test_from_a_state_to_live_and_back_to_a_log(here: Path) -> None:
    assert call("evidence", "--state", "state", "1.csv", *COLUMNS).exit_code == 0
    with lb.open("clicks.db", learned=learned_at(Path("state")), fits="at once"):
        pass
    made = call("export", "clicks.db", "--out", "log.parquet", "--log")
    assert made.output == "log.parquet: 3 events\n"
    learned = call("learn", "log.parquet", "--id", "id", "--time", "time")
    assert "3 events of 2 users and 2 items" in learned.output, learned.output
    digest = lb.Nightly("state").events().digest
    assert lb.read_events("log.parquet", id="id").digest == digest
    assert digest in "".join(call("show", "clicks.db").output.split())
    assert call("verify", "clicks.db").exit_code == 0
    for words, error in [
        (("serve", "new.db", "--learned", "none"), "a folder with evidence"),
        (("serve", "new.db", "--learned", "1.csv"), "a column 'user'"),
        (("serve", "new.db", "--learned", "none.lumps"), "none.lumps"),
        (("export", "clicks.db", "--out", "."), "expected a file"),
        (("export", "clicks.db", "--out", ".", "--log"), "a new folder"),
    ]:
        result = call(*words)
        assert result.exit_code == 2, result.output
        assert error in result.output
    assert not Path("new.db").exists()


def test_an_experiment_begins_with_a_log_or_a_saved_learner(here: Path) -> None:
    """Whichever it is, the evidence is that of the log."""
    Path("log.csv").write_text(EVENTS.replace("customer,offer,clicked", "user,item,reward"))
    Path("logs").mkdir()
    Path("logs/1.csv").write_text(Path("log.csv").read_text())
    told = lb.read_events("log.csv")
    lb.learn(told).save("offers.lumps")
    lumps = lb.Lumps.load("offers.lumps")
    lumps.retire_arm("juice")
    lumps.save("offers.lumps")
    for name in ("log.csv", "logs", "offers.lumps"):
        found = evidence_in(learned_at(Path(name)))
        assert (found.digest, found.users, found.items) == (told.digest, told.users, told.items)
    with lb.open("new.db", learned=learned_at(Path("offers.lumps")), fits="at once") as experiment:
        assert experiment.status().users == 2


def test_a_refused_beginning_leaves_no_file(here: Path) -> None:
    assert call("evidence", "--state", "state", "1.csv", *COLUMNS).exit_code == 0
    with pytest.raises(lb.BadArgument, match="which has none"):
        lb.open("new.db", learned=lb.Nightly("nothing"))
    with pytest.raises(lb.BadArgument, match="at most 1 users"):
        lb.open("new.db", ["tea"], learned=lb.Nightly("state"), learner={"kind": "ucb", "users": 1})
    assert not [path for path in here.iterdir() if path.name.startswith("new.db")]
