"""Plans: the same bytes from the same state, true probabilities, the paper's to their end."""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest
from made_nights import LIKES, OFFERS, contents, rows, write

import lumpable as lb
from kits import postgres
from lumpable.live.session import Session
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.nightly import night_fits, night_plans
from lumpable.nightly.night_folder import Planned
from lumpable.nightly.night_plans import NightPlan
from lumpable.tables.telling import tell

USERS = [f"u{k}" for k in range(16)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with some evidence, from which none was planned."""
    folder = tmp_path_factory.mktemp("model")
    lb.Nightly(folder / "state").evidence(write(folder / "1.csv", rows(400)), id="id")
    return folder / "state"


@pytest.fixture
def learned(model: Path, tmp_path: Path) -> Path:
    """A copy of it: a first plan changes a state."""
    shutil.copytree(model, tmp_path / "learned")
    return tmp_path / "learned"


@pytest.mark.parametrize("name", ["plan.csv", "plan.parquet"])
def test_the_same_state_gives_the_same_file(learned: Path, tmp_path: Path, name: str) -> None:
    files = [tmp_path / f"{k}-{name}" for k in range(2)]
    plans = [lb.Nightly(learned).plan(USERS, out=file) for file in files]
    before = contents(learned)
    assert files[0].read_bytes() == files[1].read_bytes()
    lb.Nightly(learned).plan(reversed_list(USERS), out=files[0])  # a list is a set of names
    assert files[0].read_bytes() == files[1].read_bytes()
    assert contents(learned) == before
    plan = plans[0]
    found = (
        duckdb.connect()
        .execute(f"SELECT user, action, propensity, version FROM '{files[0]}'")
        .fetchall()
    )
    told = [*zip(plan.users, plan.actions, plan.propensity, strict=True)]
    assert [row[:3] for row in found] == [(None, plan.default, plan.default_propensity), *told]
    assert {row[3] for row in found} == {plan.version}


def reversed_list(names: list[str]) -> list[str]:
    return names[::-1]


def test_other_evidence_or_settings_make_another_version(learned: Path, tmp_path: Path) -> None:
    versions = [lb.Nightly(learned).plan(USERS).version]
    versions.append(lb.Nightly(learned).plan(USERS[:-1]).version)
    versions.append(lb.Nightly(learned).plan(USERS, ["tea", "water"]).version)
    source = write(tmp_path / "1.csv", rows(400))
    for options in ({"seed": 1}, {"floor": 0.2}):
        state = lb.Nightly(tmp_path / f"state-{options}")
        state.evidence(source, id="id")
        versions.append(state.plan(USERS, **options).version)
    same = lb.Nightly(tmp_path / "same")
    for half in (rows(400)[200:], rows(400)[:200]):
        same.evidence(write(tmp_path / "half.csv", half), id="id")
    assert same.plan(USERS).version == versions[0]
    assert len(set(versions)) == 5


def test_probabilities_are_true_and_have_a_floor(learned: Path) -> None:
    """Each action, weighted by one over its probability, comes to one per user."""
    users, floor = [f"v{k}" for k in range(3000)], 0.1
    events = lb.Nightly(learned).events()
    plan = night_plans.from_lumps(events, Planned(floor=floor), users, OFFERS).plan
    assert {*plan.propensity} == {floor, 1.0 - 2 * floor}
    for offer in OFFERS:
        weight = (np.array(plan.actions) == offer) / plan.propensity
        error = np.sqrt((1.0 / floor - 1.0) / len(users))  # at most
        assert abs(weight.mean() - 1.0) < 4 * error


def test_a_client_in_ten_lines(learned: Path, tmp_path: Path) -> None:
    plan = lb.Nightly(learned).plan(USERS, out=tmp_path / "plan.csv")
    with (tmp_path / "plan.csv").open(newline="") as file:
        actions = {row["user"]: row["action"] for row in csv.DictReader(file)}
    assert [actions.get(user, actions[""]) for user in plan.users] == plan.actions
    assert actions.get("nobody", actions[""]) == plan.default


def test_a_file_of_users_is_that_file(learned: Path, tmp_path: Path) -> None:
    for name in ("us[1].csv", "us1.csv", "us*.csv"):
        (tmp_path / name).write_text(f"user\n{name}\n")
        assert lb.Nightly(learned).plan(tmp_path / name).users == (name,)


def test_before_any_evidence(tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    with pytest.raises(lb.BadArgument, match="items: expected names"):
        state.plan(USERS)
    assert not (tmp_path / "state").exists()
    plan = state.plan(USERS, list(OFFERS))
    assert {*plan.actions} == {*OFFERS}  # a batch tries all of them
    assert (plan.propensity >= 0.01).all()


def test_a_bad_plan_is_refused_and_changes_nothing(learned: Path, tmp_path: Path) -> None:
    state, before = lb.Nightly(learned), contents(learned)
    (tmp_path / "users.csv").write_text('user\nu1\n""\n')
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "ragged.csv").write_text("user,x\nu1,1\nu2\nu3,1,1\n")
    (tmp_path / "latin.csv").write_bytes("user\nu1\né\n".encode("latin-1"))
    (tmp_path / "quote.csv").write_text('user\nu1\n"u2\nu3\nu4\n')
    refused: list[tuple[dict[str, Any], str]] = [
        ({"users": []}, "at least one name"),
        ({"users": [1.5]}, "strings or whole numbers"),
        ({"users": ["\ud800"]}, "strings of whole characters"),
        ({"memory": "lots"}, "a size such as"),
        ({"users": tmp_path / "users.csv"}, "1 rows without one"),
        ({"users": tmp_path / "users.csv", "user": "who"}, "a column 'who'"),
        ({"users": tmp_path / "ragged.csv"}, "2 that cannot, from line 3 on"),
        ({"users": tmp_path / "latin.csv"}, "1 that cannot, from line 3 on"),
        ({"users": tmp_path / "quote.csv"}, "3 that cannot, from line 3 on"),
        ({"users": [17, "17"], "out": tmp_path / "plan.csv"}, "differ as strings"),
        ({"out": tmp_path / "plan.txt"}, "ends in .csv or .parquet"),
        ({"out": tmp_path / "none" / "plan.csv"}, "a file in an existing folder"),
        ({"out": tmp_path / "folder.csv"}, "expected a file"),
        ({"out": learned / "plan.csv"}, "a file outside of the state"),
        ({"seed": -1}, "seed"),
    ]  # fmt: skip
    for options, words in refused:
        with pytest.raises(lb.BadArgument, match=words):
            state.plan(**options)
        assert contents(learned) == before
    fresh = lb.Nightly(tmp_path / "fresh")
    for learner, words in (("nope", "a learner or plan of"), ("ucb", "'lumps' or a plan of")):
        with pytest.raises(lb.BadArgument, match=f"learner: expected {words}"):
            fresh.plan(USERS, learner=learner)  # that there are no items is the lesser trouble
    refused = [
        ({"learner": "ucb"}, "a plan of the paper"),
        ({"learner": "pac.near_uniform"}, "groups"),
        ({"learner": {"kind": "pac.near_uniform", "groups": 2}}, "epsilon"),
        ({"floor": 0.5}, "less than 1 / 3"),
    ]
    for options, words in refused:
        with pytest.raises(lb.BadArgument, match=words):
            fresh.plan(USERS, list(OFFERS), **options)
        assert not (tmp_path / "fresh").exists()


# --- Plans of the paper ---------------------------------------------------------------------------

PAPER: dict[str, Any] = {
    "kind": "pac.near_uniform", "groups": 2, "epsilon": 0.5, "delta": 0.5,
    "constants": {"confidence": 0.02, "test": 0.02, "policy": 0.02},
}  # fmt: skip


def rewards(seed: int) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield rng.random()


def test_a_plan_of_the_paper_over_nights_is_the_plan(tmp_path: Path) -> None:
    """Every night each user comes once; the plan ends where the same session ends directly."""
    state, luck = lb.Nightly(tmp_path / "state"), rewards(1)
    plan: NightPlan = state.plan(USERS, list(OFFERS), learner=PAPER, seed=5)
    fixed = sorted(USERS)
    problem = lb.Problem(len(USERS), len(OFFERS), 2)
    constants = lb.Constants(**PAPER["constants"])
    direct = Session(
        lb.pac.near_uniform(problem, epsilon=0.5, delta=0.5, constants=constants), seed=5
    )
    items, night = sorted(OFFERS), 0
    while direct.result is None:
        assert night < 60
        told = []
        for user, action in zip(plan.users, plan.actions, strict=True):
            assert items[direct.ask(fixed.index(str(user)))] == action
            means = LIKES[fixed.index(str(user)) % 2, OFFERS.index(str(action))]
            told.append((str(user), str(action), int(next(luck) < means), f"{night}-{user}"))
        for user, action, reward, _ in sorted(told):
            direct.tell(fixed.index(user), items.index(action), float(reward))
        state.evidence(write(tmp_path / f"{night}.csv", told), id="id")
        state.evidence(tmp_path / f"{night}.csv")  # twice is once
        plan, night = state.plan(), night + 1
    session = state.session()
    assert (session.rounds, session.late) == (direct.rounds, direct.late)
    assert [items.index(str(action)) for action in plan.actions] == direct.policy.tolist()
    assert direct.result is not None
    assert "ended" in plan.notes[1]
    assert night > 1


def test_a_plan_of_the_paper_says_how_likely(tmp_path: Path) -> None:
    """Each arm of the exploration set is as likely; with a floor, others are possible."""
    runs = 300
    for floor in (0.0, 0.1):
        counts, likely = Counter[int](), dict[int, float]()
        planned = Planned(PAPER, floor, 0, tuple(USERS), OFFERS)
        for seed in range(runs):
            kind = night_plans.plan_kind(Planned(PAPER, floor, seed, tuple(USERS), OFFERS))
            assert kind is not None
            planned = Planned(PAPER, floor, seed, tuple(USERS), OFFERS)
            plan = night_plans.from_session(night_plans.begin(kind, planned), planned, ["u3"], [])
            arm = OFFERS.index(str(plan.actions[0]))
            counts[arm] += 1
            likely[arm] = float(plan.propensity[0])
        assert sum(likely.values()) == pytest.approx(1.0)
        for arm, probability in likely.items():
            error = np.sqrt(runs * probability * (1 - probability))
            assert abs(counts[arm] - runs * probability) < 4 * error


def test_a_plan_of_the_paper_keeps_its_users_and_settings(tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    with pytest.raises(lb.BadArgument, match="items: expected all of them"):
        state.plan(USERS, learner=PAPER)
    state.evidence(write(tmp_path / "0.csv", rows(50)), id="id")  # before the plan: not its rounds
    state.plan(USERS, list(OFFERS), learner=PAPER)
    assert state.session().rounds == 0
    refused: list[tuple[dict[str, Any], str]] = [
        ({"users": ["stranger"]}, "'stranger' as well"),
        ({"items": ["tea"]}, "those with which the plan began"),
        ({"learner": "lumps"}, "as with the first plan"),
        ({"floor": 0.1}, "expected none, as with the first plan"),
        ({"seed": 3}, "expected 0, as with the first plan"),
    ]
    for options, words in refused:
        with pytest.raises(lb.BadArgument, match=words):
            state.plan(**options)
    assert len(state.plan(USERS[:3], list(OFFERS), learner=PAPER, seed=0)) == 3


# --- Fits that are kept -----------------------------------------------------------------------


def test_a_second_plan_does_not_fit_again(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the fit that is kept the plan is the same, and new evidence has another fit."""
    state = lb.Nightly(shutil.copytree(learned, tmp_path / "state"))
    first = state.plan(USERS, seed=0)
    with monkeypatch.context() as patch:
        patch.setattr(ThreeLevels, "fit", staticmethod(no_fit))
        second, fewer = state.plan(USERS), state.plan(USERS[:5])
    assert same(first, second)
    assert fewer.version != first.version
    night_fits.KeptFit(tmp_path / "state").remove()
    assert same(first, state.plan(USERS))
    assert same(fewer, state.plan(USERS[:5]))
    state.evidence(write(tmp_path / "2.csv", [(*row[:3], f"f{row[3]}") for row in rows(30, 1)]))
    assert night_fits.KEPT not in contents(tmp_path / "state")
    monkeypatch.setattr(ThreeLevels, "fit", staticmethod(no_fit))
    with pytest.raises(AssertionError, match="a fit"):
        state.plan(USERS)


def test_a_fit_that_is_damaged_or_of_other_evidence_is_made_anew(
    learned: Path, tmp_path: Path
) -> None:
    state = lb.Nightly(shutil.copytree(learned, tmp_path / "state"))
    first = state.plan(USERS)
    path = tmp_path / "state" / night_fits.KEPT
    whole = path.read_bytes()
    other = lb.Nightly(tmp_path / "other")
    other.evidence(write(tmp_path / "1.csv", rows(200)), id="id")
    other.plan(USERS)
    foreign = (tmp_path / "other" / night_fits.KEPT).read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", b"\xff" * 300, whole[:-1], whole[:64], flipped, foreign):
        path.write_bytes(damaged)
        assert same(first, state.plan(USERS))
        assert path.read_bytes() == whole
    kept = night_fits.KeptFit(tmp_path / "other")
    key, fit = whole[:64].decode(), night_fits.KeptFit(tmp_path / "state").read(whole[:64].decode())
    assert fit is not None
    assert kept.read(key) is None
    learner = tell(other.events(), fit=fit)  # of more events than there are
    assert learner.core.last_fit is not None
    assert learner.core.last_fit.rewards == 200


def no_fit(*_: object) -> None:
    raise AssertionError("a fit")


def same(one: NightPlan, two: NightPlan) -> bool:
    propensities = np.array_equal(one.propensity, two.propensity)
    return propensities and (one.version, one.actions) == (two.version, two.actions)


def test_the_query_of_the_docs_gives_everybody_an_action(learned: Path) -> None:
    """On engines for which `user` alone is who is logged in, too."""
    page = (Path(__file__).parents[2] / "docs/how-to/nightly.md").read_text(encoding="utf-8")
    [query] = re.findall(r"```sql\n(.+?)```", page, re.DOTALL)
    plan = lb.Nightly(learned).plan(USERS)
    table: list[tuple[Any, ...]] = [(None, plan.default, plan.default_propensity, plan.version)]
    table += [(*row, plan.version)
              for row in zip(plan.users, plan.actions, plan.propensity, strict=True)]  # fmt: skip
    make = (
        'CREATE TEMP TABLE plan ("user" text, action text, propensity double precision, '
        "version text)",
        "CREATE TEMP TABLE users (id text)",
        "INSERT INTO users VALUES ('u3'), ('zoe')",
    )
    expected = {("u3", *table[1 + plan.users.index("u3")][1:3]), ("zoe", *table[0][1:3])}
    with psycopg.connect(postgres.server().address("public"), autocommit=True) as server:
        for connection, mark in ((server.cursor(), "%s"), (duckdb.connect(), "?")):
            for sql in make:
                connection.execute(sql)
            insert = f"INSERT INTO plan VALUES ({', '.join([mark] * 4)})"
            connection.executemany(insert, table)
            connection.execute(query)
            assert set(connection.fetchall()) == expected
