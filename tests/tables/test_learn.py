"""From a log to an answer: groups, policy, lift, files and a page, and the command that does it."""

from __future__ import annotations

import csv
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from made_logs import MEANS, two_tastes, write_csv

import lumpable as lb
from lumpable import BadArgument, Learned, Lumps
from lumpable.cli.main import main
from lumpable.tables.answered import Answered, answer
from lumpable.tables.judged_policies import WITHOUT
from lumpable.tables.policy_rows import COLUMNS
from lumpable.tables.remembered import events_of

LOG = two_tastes(60, 4000, seed=21)


@pytest.fixture(scope="module")
def learned() -> Learned:
    return lb.learn(pl.DataFrame(LOG), item="offer", propensity="p", rewards="binary")


@pytest.fixture(scope="module")
def found(learned: Learned) -> Answered:
    return answer(learned)


def call(*words: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, words, prog_name="lumpable")


def test_groups_and_policy_are_those_that_were_hidden(learned: Learned) -> None:
    assert learned.summary().startswith("Yes: 2 groups explain")
    assert {row.best_arm for row in learned.groups()} == {"o0", "o2"}
    for row in learned.policy():
        kind = int(row.user[1:]) % 2
        assert row.item == ("o0", "o2")[kind]
        assert row.do in (f"show {row.item}", f"try {row.item} and {row.runner_up}")
        assert row.open == (row.do[:3] == "try")
    lift = learned.lift()
    assert lift.low < float(MEANS.max(axis=1).mean() - MEANS.mean(axis=0).max()) < lift.high


def test_yes_is_not_said_while_one_group_has_a_probability() -> None:
    """The page and the terminal print this sentence, and the learner says the same."""
    rows = [(f"u{k % 4}", f"i{k % 3}", k % 2) for k in range(900)]
    learned = lb.learn(pl.DataFrame(rows, ["user", "item", "reward"], orient="row"))
    said = "2 groups are likelier than one, but the probability of one is 0.2."
    assert learned.lumps.summary() == said
    assert learned.summary() == answer(learned).sentence == f"Not known yet: {said}"


def test_the_learner_is_that_of_one_who_tells_row_by_row(learned: Learned) -> None:
    """The same rewards in every cell; the fit is a function of them."""
    slow = Lumps(learned.events.items, learned.events.users, rewards="binary", new_arms=True)
    rows = zip(LOG["user"], LOG["offer"], LOG["reward"], strict=True)
    slow.tell_many([{"context": u, "arm": a, "reward": r} for u, a, r in rows])
    one, two = learned.lumps.core.counts(), slow.core.counts()
    for name in ("context", "first", "arm", "n", "s"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert learned.lumps.core.tells == slow.core.tells == 4000


def test_what_is_open_is_tried_and_what_is_settled_is_shown() -> None:
    """One reward each settles nothing; offers that are as good as each other need no trial."""
    few = lb.learn(pl.DataFrame({"user": ["a", "a"], "item": ["x", "y"], "reward": [1, 0]}))
    assert [row.do for row in few.policy()] == ["try x and y"]
    assert few.summary().startswith("Not known yet: ")
    alone = lb.learn(pl.DataFrame({"user": ["a", "b"], "item": ["x", "x"], "reward": [1, 0]}))
    assert [row.do for row in alone.policy()] == ["show x", "show x"]


def test_python_gives_the_intervals_of_the_page(learned: Learned, found: Answered) -> None:
    assert learned.groups() == found.groups
    assert learned.policy() == found.policy
    assert learned.lift() == found.lift
    assert learned.value() == found.value


def test_users_who_are_alike_are_said_to_be() -> None:
    rng = np.random.default_rng(5)
    user, item = rng.integers(30, size=6000), rng.integers(3, size=6000)
    reward = (rng.random(6000) < np.array([0.2, 0.5, 0.7])[item]).astype(int)
    learned = lb.learn(pl.DataFrame({"customer_id": user, "item": item, "reward": reward}),
                       "customer_id")  # fmt: skip
    assert learned.summary() == (
        "No: customers look alike: one group, and no sign of a difference between customers."
    )
    assert learned.lift().low <= 0.0


def test_a_saved_learner_goes_on_and_a_saved_policy_can_be_read(
    learned: Learned, tmp_path: Path
) -> None:
    learned.save(tmp_path / "offers.lumps")
    again = Lumps.load(tmp_path / "offers.lumps")
    assert again.best("u001").best_arm == learned.lumps.best("u001").best_arm
    again.tell("new", "o9", 1.0)
    learned.save_policy(tmp_path / "policy.csv")
    learned.save_policy(tmp_path / "policy.parquet")
    with (tmp_path / "policy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["do"] for row in rows] == [row.do for row in learned.policy()]
    assert pl.read_parquet(tmp_path / "policy.parquet")["item"].to_list() == [
        row["item"] for row in rows
    ]
    with pytest.raises(BadArgument, match=r"ends in \.csv or \.parquet"):
        learned.save_policy(tmp_path / "policy.txt")


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 0.37, -2.5, 1e-6), (3.5, 4.25)])
def test_a_learner_remembers_the_log_that_it_was_told(values: tuple[float, ...]) -> None:
    rewards = np.random.default_rng(6).choice(values, size=len(LOG["user"]))
    frame = pl.DataFrame(LOG | {"reward": rewards.tolist()}).reverse()
    learned = lb.learn(frame, item="offer", propensity="p", rewards=(-3, 5))
    again = events_of(learned.lumps)
    assert again.digest() == learned.events.digest()
    assert again.accepted == learned.events.accepted


def test_names_that_are_easily_mistaken_are_noted_and_no_warning_is_given() -> None:
    frame = pl.DataFrame({"user": [1.0, 2.0], "item": ["1", "x"], "reward": [1, 0]})
    assert lb.learn(frame).lumps.contexts == (1, 2)


def test_what_sets_a_group_apart_is_what_was_made_so(found: Answered) -> None:
    best = {profile.top[0].arm: profile for profile in found.profiles}
    assert set(best) == {"o0", "o2"}
    for item, profile in best.items():
        assert len(profile.top) == 3
        assert {one.item for one in profile.apart} == {"o0", "o2"}
        own = {one.item: one for one in profile.apart}
        assert own[item].mean > 0.7 > 0.2 > own[item].others


def test_the_page_speaks_the_words_of_the_log(learned: Learned, tmp_path: Path) -> None:
    path = learned.report(tmp_path / "page.html")
    page = unescape(re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8")))
    for words in (
        "Are there groups of users? Yes: 2 groups",
        "Offers of group 0",
        "best offer",
        "doubly robust",
        "What sets it apart: o",
        "What to do",
        "All 4,000 rows count.",
    ):
        assert words in page, words
    assert "context" not in page


# --- The command line -----------------------------------------------------------------------------


GOLDEN = """\
All 4,000 rows count.
4,000 events of 60 users and 4 offers.

Are there groups of users? Yes: 2 groups explain all of the difference between
users; the probability that there is only one group is under one in a million.

Groups
"""


def test_the_command_prints_the_answer_and_writes_the_files(
    found: Answered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    log = str(write_csv(tmp_path / "log.csv", LOG))
    policy, save = str(tmp_path / "policy.csv"), str(tmp_path / "offers.lumps")
    options = ("--item", "offer", "--propensity", "p", "--rewards", "binary")
    result = call("learn", log, *options, "--policy", policy, "--save", save)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert max(map(len, lines[:-2])) <= 80
    text = "\n".join(lines)
    assert text.startswith(GOLDEN)
    for words in (" ".join(found.lift_words.split()), *found.next_steps):
        assert words in " ".join(text.split())
    for method in ("IPS ", "SNIPS ", "direct ", "doubly robust ", "IPS, by betting ", "as logged "):
        assert f"\n  {method}" in text
    assert text.endswith(f"policy: {policy}\nlearner: {save}")
    assert Lumps.load(save).core.tells == 4000
    again = call("learn", log, *options, "--save", save)
    assert again.exit_code == 2  # what others learned would be lost
    assert "a new file, or --overwrite" in again.stderr
    assert again.stdout == ""  # nothing was read
    assert call("learn", log, *options, "--save", save, "--overwrite").exit_code == 0


def test_the_example_of_the_page_runs_as_it_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tables.md").read_text(encoding="utf-8")
    log = re.search(r"```text\n(customer,.*?)```", page, re.DOTALL)
    command = re.search(r"^    lumpable (learn events\.csv .*)$", page, re.MULTILINE)
    assert log is not None
    assert command is not None
    Path("events.csv").write_text(log[1])
    result = call(*command[1].split())
    assert result.exit_code == 0, result.output
    assert "3 events cannot judge a policy" in " ".join(result.output.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "events.csv", "page.html", "policy.csv",
    ]  # fmt: skip
    assert "3 events cannot judge a policy" in Path("page.html").read_text(encoding="utf-8")


def test_long_names_are_told_apart_in_the_terminal(tmp_path: Path) -> None:
    """And what several of them are called is plural, in the terminal and in what it says."""
    names = [f"the very long name of offer {k} that is the best of all" for k in range(4)]
    equal = [f"{'x' * 40}{k}{'y' * 40}" for k in range(60)]
    columns = {
        "country": [equal[int(user[1:])] for user in LOG["user"]],
        "category": [names[int(offer[1:])] for offer in LOG["offer"]],
        "reward": LOG["reward"],
    }
    log = str(write_csv(tmp_path / "log.csv", columns))
    words = ("learn", log, "--user", "country", "--item", "category")
    result = CliRunner(env={"COLUMNS": "150"}).invoke(main, words, prog_name="lumpable")
    assert "4,000 events of 60 countries and 4 categories." in result.output
    assert "Are there groups of countries? Yes" in result.output
    assert not re.search("countrys|categorys", result.output.lower())
    _, _, policy = result.output.partition("Policy, 5 of 60")
    users = [line.split("  ")[1].strip() for line in policy.splitlines() if "xxxx" in line]
    assert users == [f"{'x' * 17}…{'y' * 6} ({k})" for k in range(1, 6)]
    for k in (0, 2):  # the best for one kind of users or the other
        assert re.search(f"the very long name of offer {k}.*…of all", result.output)


def test_what_cannot_be_said_without_propensities_is_printed(tmp_path: Path) -> None:
    result = call("learn", str(write_csv(tmp_path / "log.csv", LOG)), "--item", "offer")
    assert f"note: {WITHOUT}" in " ".join(result.output.split())


DIRT = """\
  fault                  rows   example   first at
 ──────────────────────────────────────────────────
  user is missing           1             line 2
  reward is no number       2   'lots'    line 3, line 4

3 of 6 rows left out (50.0 %).
"""


def test_dirt_is_one_table_and_strict_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    columns: dict[str, list[Any]] = {
        "user": [None, "a", "a", "NULL", "NULL", "b"],
        "item": ["x"] * 6,
        "reward": [1, "lots", "x1", 1, 0, 1],
    }
    log = str(write_csv(tmp_path / "log.csv", columns))
    result = call("learn", log)
    text = "\n".join(line.rstrip() for line in result.stdout.splitlines())
    assert "".join(DIRT.split()).replace("─", "") in "".join(text.split()).replace("─", "")
    assert "2 users and 1 item." in text
    strict = call("learn", log, "--strict")
    assert strict.exit_code == 2
    assert strict.stdout == ""
    said = "\n".join(line.rstrip() for line in strict.stderr.splitlines())
    assert re.search(r"user is missing +1 +line 2\n +reward is no number +2 +'lots' +line 3", said)
    assert said.endswith("3 of 6 rows cannot count (50.0 %). --strict refuses them")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone.csv",), "no such file or folder: 'gone.csv'"),
        (("log.csv", "--item", "offers"), "expected a column 'offers' in log.csv"),
        (("log.csv", "--item", "offer", "--rewards", "1:x"), "any, binary or a range such as 0:5"),
        (("log.csv", "--item", "offer", "--policy", "p.txt"), "ends in .csv or .parquet"),
        (
            ("log.csv", "--item", "offer", "--html", "no/page.html"),
            "--html: expected a file in an existing folder",
        ),
        (("log.csv", "--item", "offer", "--html", "page.pdf"), "ends in .html"),
        (
            ("log.csv", "--item", "offer", "--save", "no/a.lumps"),
            "--save: expected a file in an existing folder",
        ),
        (("log.csv", "--item", "offer", "--save", "."), "expected a file"),
        (("log.csv", "--item", "offer", "--memory", "lots"), "a size such as '4GB'"),
    ],
)
def test_bad_input_is_one_clear_message(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv", {name: column[:9] for name, column in LOG.items()})
    result = call("learn", *words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv"]
