"""Law: a learner that forgot a context is one that never heard of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from counts_made import equal

from lumpable import Lumps
from lumpable.lumps.core.state import LOW
from lumpable.lumps.model import fitted

USERS = ["ann", "bob", "eve-of-nowhere", "cem", "dan", "fay"]
EVE = USERS[2]
ARMS = ["red", "green", "blue"]
MEANS = np.array([[0.9, 0.2, 0.1], [0.1, 0.2, 0.9]])


def log(rounds: int, real: bool) -> list[tuple[str, str, float]]:
    """Return rewards of users of two kinds, in the order in which they come."""
    rng, rows = np.random.default_rng(rounds), []
    for _ in range(rounds):
        user, arm = int(rng.integers(len(USERS))), int(rng.integers(len(ARMS)))
        mean = MEANS[user % 2, arm]
        reward = mean + 0.1 * rng.standard_normal() if real else float(rng.random() < mean)
        rows.append((USERS[user], ARMS[arm], float(reward)))
    return rows


def told(rows: list[tuple[str, str, float]]) -> Lumps:
    lumps = Lumps(ARMS, seed=4)
    for row in rows:
        lumps.tell(*row)
    return lumps


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("rounds", [3, 9, 40, 600])
def test_who_is_forgotten_was_never_there(rounds: int, real: bool) -> None:
    rows = log(rounds, real)
    forgetful, other = told(rows), told([row for row in rows if row[0] != EVE])
    if EVE not in forgetful.contexts:
        forgetful.tell(EVE, "red", 0.0)
    forgetful.forget(EVE)
    assert forgetful.contexts == other.contexts
    assert repr(forgetful) == repr(other)
    mine, theirs = forgetful.core.counts(), other.core.counts()
    assert equal(mine, theirs)
    other.core.adopt(fitted.fit(theirs))
    assert forgetful.core.last_fit is not None
    places = np.arange(len(other.contexts) + 1)
    assert np.array_equal(
        forgetful.core.posterior_means(places), other.core.posterior_means(places)
    )
    for user in USERS:
        assert forgetful.expected(user) == other.expected(user)


def test_the_last_real_reward_leaves_coins(tmp_path: Path) -> None:
    """A learner without it is one of coins again, fence and all."""
    rows = log(200, False)
    forgetful, other = told(rows), told([row for row in rows if row[0] != EVE])
    amounts = {"context": [EVE] * 900, "arm": ["red"] * 900, "count": [100] * 900}
    forgetful.tell_many({**amounts, "reward": [100.0 + t / 1000 for t in range(900)]})
    state = forgetful.core.state
    assert state.value[LOW] > 1.0  # coins count as the fence
    assert (state.total != state.ones).any()
    forgetful.forget(EVE)
    state = forgetful.core.state
    assert np.array_equal(state.total, state.ones)
    forgetful.save(tmp_path / "state.lumps")
    assert not Lumps.load(tmp_path / "state.lumps").core.counts().real
    assert not forgetful.core.counts().real
    assert forgetful.core.last_fit is not None
    assert not forgetful.core.last_fit.real
    other.core.adopt(fitted.fit(other.core.counts()))
    for user in USERS:
        assert forgetful.expected(user) == other.expected(user)


@pytest.mark.parametrize("real", [False, True])
def test_it_goes_on_as_if_nothing_had_been(tmp_path: Path, real: bool) -> None:
    forgetful = told(log(300, real))
    forgetful.forget(EVE)
    forgetful.save(tmp_path / "state.lumps")
    loaded = Lumps.load(tmp_path / "state.lumps")
    for user, arm, reward in log(500, real):
        assert loaded.ask(user) == forgetful.ask(user)
        loaded.tell(user, arm, reward)
        forgetful.tell(user, arm, reward)
    assert EVE in forgetful.contexts  # who comes back is new
    assert forgetful.groups() == loaded.groups()


def test_no_byte_of_the_name_stays(tmp_path: Path) -> None:
    lumps, file = told(log(100, False)), tmp_path / "state.lumps"
    lumps.decide(EVE)
    lumps.save(file)
    assert EVE.encode() in file.read_bytes()
    lumps.forget(EVE)
    lumps.save(file)
    assert EVE.encode() not in file.read_bytes()


@pytest.mark.parametrize("many", [False, True])
def test_nothing_stays_of_somebody_who_had_decisions_and_no_reward(
    tmp_path: Path, many: bool
) -> None:
    lumps, file = told([row for row in log(100, False) if row[0] != EVE]), tmp_path / "state.lumps"
    kept = lumps.decide("fay")
    made = lumps.decide_many([EVE, EVE]) if many else [lumps.decide(EVE)]
    assert EVE not in lumps.contexts
    lumps.save(file)
    assert EVE.encode() in file.read_bytes()
    lumps.forget(EVE)
    lumps.save(file)
    assert EVE.encode() not in file.read_bytes()
    assert lumps.waiting() == Lumps.load(file).waiting() == [kept]
    for decision in made:
        with pytest.raises(ValueError, match="was cancelled"):
            lumps.reward(decision, 1.0)
    assert EVE not in lumps.contexts


def test_decisions_under_way_are_forgotten_too_and_those_of_others_are_not() -> None:
    lumps = told(log(200, False))
    made = [lumps.decide(user) for user in (EVE, "fay", EVE, "nobody")]
    lumps.forget(EVE)
    assert lumps.waiting() == [made[1], made[3]]
    with pytest.raises(ValueError, match="was cancelled"):
        lumps.reward(made[0], 1.0)
    state, group = lumps.core.state, lumps.core.labels()[lumps.contexts.index("fay")]
    assert state.pending.sum() == 2.0
    assert state.pending[group, ARMS.index(str(made[1].arm))] >= 1.0
    lumps.reward(made[1], 1.0)
    lumps.reward(made[3], 0.0)
    assert lumps.core.state.pending.sum() == 0.0


def test_retired_arms_stay_retired() -> None:
    lumps = told(log(300, False))
    assert "red" in {row.best_arm for row in lumps.groups()}
    lumps.retire_arm("red")
    lumps.forget(EVE)
    assert "red" not in {row.best_arm for row in lumps.groups()}
    assert lumps.arms == ("green", "blue")


def test_the_last_one_leaves_a_learner_that_knows_nothing() -> None:
    lumps = Lumps(ARMS)
    for _ in range(30):
        lumps.tell(EVE, "red", 0.7)
    lumps.retire_arm("blue")
    lumps.forget(EVE)
    assert repr(lumps) == "Lumps: 0 contexts, 2 arms, 0 rewards, 0 outstanding"
    assert lumps.summary() == "Nothing was seen yet."
    assert lumps.core.last_fit is None
    lumps.tell(EVE, "green", 1.0)
    assert lumps.expected(EVE)[0].arm == "green"


@pytest.mark.parametrize("name", ["nobody", 3, None])
def test_nobody_is_not_forgotten(name: object) -> None:
    lumps = told(log(50, False))
    with pytest.raises(ValueError, match="context: expected"):
        lumps.forget(name)  # type: ignore[arg-type]
    assert len(lumps.contexts) == len(USERS)
