"""`lumpable evidence | plan` as a user types them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.cli import main
from lumpable.cli.by_night import evidence
from lumpable.cli.engine_commands import evidence as sql_evidence
from lumpable.cli.engine_commands import faults as sql_faults
from lumpable.cli.from_log import learn
from lumpable.cli.learned_paths import open_learned
from lumpable.cli.options import parse_rewards
from lumpable.cli.serving import serve
from lumpable.service.learned_entries import evidence_in
from lumpable.tables.cleaning import Columns

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
    assert "already added; nothing counts twice" in again.output
    later = call("evidence", "--state", "state", "2.csv")
    assert "clicked is missing" in later.output
    assert "3 already known (1 of them say something else now" in later.output
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
        (("evidence", "--state", "none", "--user", "a"), "SOURCE: required with these options"),
        (("evidence", "--state", "users.csv", "1.csv"), "which is a file"),
        (("evidence", "--state", "s", "1.csv", *COLUMNS, "--rewards", "a:b"), "0:5"),
        (("plan", "--state", "s", "--users", "users.csv", "--out", "p.txt"), ".csv or .parquet"),
        (("plan", "--state", "s", "--users", "users.csv", "--out", "p.csv"), "a column 'user'"),
        (("plan", "--state", "s/t", "--out", "p.csv"), "inside an existing one"),
        (("plan", "--state", "s", "--out", "p.csv", "--learner-option", "a=1"), "--learner"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(here: Path, words: tuple[str, ...], error: str) -> None:
    result = call(*words)
    assert result.exit_code == 2, result.output
    assert error in result.output
    assert "Traceback" not in result.output
    assert not Path("s").exists()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("learn", "odd.csv"), "no event counts. 3 of 3 rows left out (100.0 %)."),
        (("evidence", "--state", "s", "odd.csv"), "no event counts. 3 of 3 rows"),
        (("evidence", "--state", "s", "odd.csv", "--strict"), "strict refuses them:"),
        (("serve", "new.db", "--learned", "odd.csv"), "no event counts. 3 of 3 rows"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_each_row(
    here: Path, words: tuple[str, ...], first: str
) -> None:
    """Its table is the reason: each fault, an example and where it is."""
    Path("odd.csv").write_text("user,item,reward\nann,tea,lots\nbob,tea,more\n,tea,1\n")
    result = call(*words)
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Error: source: ")
    assert first in lines[0]
    assert lines[1:] == [
        "  user is missing: 1 row; line 4",
        "  reward is no number: 2 rows, such as 'lots'; line 2, line 3",
    ]
    assert not Path("new.db").exists()


def test_a_service_begins_with_a_log_of_other_columns(here: Path) -> None:
    """Under the names that `learn` gives them; what is left out is said, once for all."""
    columns: dict[str, Any] = dict(
        zip(("user", "item", "reward", "id"), COLUMNS[1::2], strict=True)
    )
    told = lb.read_events("2.csv", **columns)
    found = evidence_in(open_learned(Path("2.csv"), **columns))
    assert (found.digest(), len(found.users)) == (told.digest(), 2)
    left_out = call("serve", "new.db", "--learned", "2.csv", *COLUMNS, "--mode", "x")
    assert left_out.exit_code == 2
    assert call("evidence", "--state", "state", "1.csv", *COLUMNS).exit_code == 0
    lb.learn(told).save("offers.lumps")
    for words, error in [
        (("--user", "customer"), "--user is a column of a log: it needs --learned"),
        (
            ("--learned", "state", "--item", "offer"),
            "--item: only for logs, and 'state' is not one",
        ),
        (("--learned", "offers.lumps", "--id", "event"), "--id: only for logs"),
        (("--learned", "1.csv", "--user", "client"), "a column 'client'"),
    ]:
        result = call("serve", "new.db", *words)
        assert result.exit_code == 2, result.output
        assert error in result.stderr
    assert not Path("new.db").exists()


def test_columns_of_a_log_are_options_of_every_command_that_reads_one(here: Path) -> None:
    """Also of a service that begins with a log, which is told when rewards came."""
    roles = {field.name for field in fields(Columns)}
    for command in (learn, evidence, serve, sql_evidence, sql_faults):
        assert roles <= {one.name for one in command.params}, command.name
    noon, later = "2026-01-01T12:00", "2026-01-01T13:00"
    Path("3.csv").write_text(
        f"user,item,reward,at,back\nann,tea,1,{noon},{later}\nbob,tea,1,{later},{noon}\n"
    )
    events = open_learned(Path("3.csv"), time="at", rewarded="back")
    assert (len(events), events.dirt.faults[0].rows) == (1, 1)
    wrong = call("serve", "new.db", "--learned", "3.csv", "--time", "at", "--rewarded", "when")
    assert "a column 'when'" in wrong.stderr


@pytest.mark.parametrize("rewards", ["0:5", "0,5", " 0 : 5 "])
def test_a_range_of_rewards_is_read_alike_everywhere(here: Path, rewards: str) -> None:
    """By the command that learns, by the one that serves, by night and by an engine."""
    for command in (serve, learn, evidence):
        (option,) = (one for one in command.params if one.name == "rewards")
        assert "such as 0:5" in str(option.to_info_dict()["help"])
    assert parse_rewards(rewards) == (0.0, 5.0)
    for number, words in enumerate((
        ("learn", "1.csv", *COLUMNS[:6]), ("evidence", "--state", "state", "1.csv", *COLUMNS),
        ("sql", "evidence", "--dialect", "duckdb"),
    )):  # fmt: skip
        assert call(*words, "--rewards", rewards).exit_code == 0, number
    assert lb.Nightly("state").settings["rewards"] == (0.0, 5.0)


def test_from_a_state_to_live_and_back_to_a_log(here: Path) -> None:
    assert call("evidence", "--state", "state", "1.csv", *COLUMNS).exit_code == 0
    with lb.open("clicks.db", learned=open_learned(Path("state")), fits="inline"):
        pass
    made = call("export", "clicks.db", "--out", "log.parquet", "--log")
    assert made.output == "log.parquet: 3 events\n"
    learned = call("learn", "log.parquet", "--id", "id", "--time", "time")
    assert "3 events of 2 users and 2 items" in learned.output, learned.output
    digest = lb.Nightly("state").events().digest()
    assert lb.read_events("log.parquet", id="id").digest() == digest
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


def test_what_a_state_taught_counts_once_when_its_experiment_comes_back(here: Path) -> None:
    """With --for also where columns have other names, events no ids, and the state grew."""
    more = "customer,offer,clicked,event\ndan,tea,1,e9\n"
    Path("3.csv").write_text(more)
    for columns, name in ((COLUMNS, "state"), (COLUMNS[:6], "plain")):
        assert call("evidence", "--state", name, "1.csv", *columns).exit_code == 0
        live = f"{name}.db"
        with lb.open(live, learned=lb.Nightly(name), fits="inline") as e:
            e.reward(e.decide("ann", event="new").event, 1.0)
        assert call("evidence", "--state", name, "3.csv").exit_code == 0  # it grew meanwhile
        made = call("export", live, "--out", f"{name}.csv", "--log", "--for", name)
        assert made.output == f"{name}.csv: 1 event\n"
        head = "customer,offer,clicked," + ("event" if name == "state" else "id")
        assert Path(f"{name}.csv").read_text().startswith(f"{head},time,propensity\n")
        assert "1 new event" in call("evidence", "--state", name, f"{name}.csv").output
        assert len(lb.Nightly(name).events()) == 5
    # Without --for, ids tell.
    Path("log.csv").write_text("")
    call("export", "state.db", "--out", "log.csv", "--log")
    text = Path("log.csv").read_text().splitlines()
    text[0] = "customer,offer,clicked,event,time,propensity"
    Path("log.csv").write_text("\n".join([*text, "eve,tea,1,learned-0123456789abcdef-0,,"]))
    added = lb.Nightly("state").evidence("log.csv")[0]
    assert (added.events, added.again, added.against) == (1, 4, 0)  # of others' evidence: new
    assert added.notes == ("3 events had been learned from this state: known",)
    for words, error in [
        (("--out", "x.csv", "--for", "state"), "it needs --log"),
        (("--out", "x.csv", "--log", "--for", "none"), "a folder with a state"),
        (("--out", "state/x.csv", "--log", "--for", "state"), "state"),
    ]:
        result = call("export", "state.db", *words)
        assert result.exit_code == 2, result.output
        assert error in result.output


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
        found = evidence_in(open_learned(Path(name)))
        assert (found.digest(), found.users, found.items) == (told.digest(), told.users, told.items)
    with lb.open("new.db", learned=open_learned(Path("offers.lumps")), fits="inline") as experiment:
        assert experiment.status().users == 2


def test_a_refused_beginning_leaves_no_file(here: Path) -> None:
    assert call("evidence", "--state", "state", "1.csv", *COLUMNS).exit_code == 0
    with pytest.raises(lb.BadArgument, match="has no events"):
        lb.open("new.db", learned=lb.Nightly("nothing"))
    with pytest.raises(lb.BadArgument, match="at most 1 users"):
        lb.open("new.db", ["tea"], learned=lb.Nightly("state"), learner={"kind": "ucb", "users": 1})
    assert not [path for path in here.iterdir() if path.name.startswith("new.db")]
