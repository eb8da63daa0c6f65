"""Ids of decisions name their learner; copies and old files go on with ids of their own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lumpable import Lumps
from lumpable.lumps.use.ids import Tags

DATA = Path(__file__).parents[1] / "data"


def pickled(lumps: Lumps) -> Lumps:
    made: Lumps = pickle.loads(pickle.dumps(lumps))
    return made


COPIES: dict[str, Callable[[Lumps], Lumps]] = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": pickled,
}


def test_an_id_of_another_learner_is_refused() -> None:
    """Both have made decision 0, of the same seed."""
    mine, others = Lumps(["red"], seed=1), Lumps(["red"], seed=1)
    first, foreign = mine.decide("ann"), others.decide("ann")
    assert first.arm == foreign.arm
    assert first.id != foreign.id
    for given in (foreign, foreign.id):
        with pytest.raises(ValueError, match=r"a decision of this learner, got .* of another"):
            mine.reward(given, 1.0)
        with pytest.raises(ValueError, match=r"a decision of this learner, got .* of another"):
            mine.cancel(given)
    mine.reward(first.id, 1.0)
    assert (mine.core.tells, mine.outstanding, others.outstanding) == (1, 0, 1)


@pytest.mark.parametrize(
    "id",
    [0, -1, np.int64(0), "0", "", "-0", None, 0.0, True, np.array([1, 2]), np.array(["a", "b"]),
     np.array(0), np.timedelta64(0, "s"), ("a", 1), b"a-0", "a-b", "tag-", "-", "\u0663"],
)  # fmt: skip
def test_what_is_no_id_is_refused(id: Any) -> None:
    lumps = Lumps(["red"])
    made = lumps.decide("ann")
    with pytest.raises(ValueError, match=r"id: expected the id of a decision, such as '.*-17'"):
        lumps.reward(id, 1.0)
    with pytest.raises(ValueError, match=r"id: expected the id of a decision, such as '.*-17'"):
        lumps.cancel(id)
    with pytest.raises(ValueError, match="id: expected decisions whose rewards are outstanding"):
        lumps.reward_many({"id": [made.id, id], "reward": [1.0, 1.0]})
    assert (lumps.outstanding, lumps.core.tells) == (1, 0)


@pytest.mark.parametrize("tail", ["00", "+0", " 0", "0 ", "\u0660", "1e3", "9" * 30, "9" * 5000])
def test_a_number_is_written_in_one_way(tail: str) -> None:
    lumps = Lumps(["red"])
    tag = str(lumps.decide("ann").id).partition("-")[0]
    with pytest.raises(ValueError, match="id: expected"):
        lumps.reward(f"{tag}-{tail}", 1.0)
    with pytest.raises(ValueError, match="-7', which was not made yet"):
        lumps.reward(f"{tag}-7", 1.0)


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_knows_the_decisions_from_before_and_gives_its_own_ids(way: str) -> None:
    lumps = Lumps(range(4), floor=0.1, seed=2)
    before = lumps.decide("ann")
    twin = COPIES[way](lumps)
    again = COPIES[way](twin)
    made = [each.decide("bob") for each in (lumps, twin, again)]
    assert len({each.id for each in made}) == 3
    assert len({each.arm for each in made}) == 1  # chance goes by the number
    for each in (lumps, twin, again):
        assert each.waiting()[0] == before
        each.reward(before.id, 1.0)
    for each, own in zip((lumps, twin, again), made, strict=True):
        for other in made:
            if other is not own:
                with pytest.raises(ValueError, match="of another one"):
                    each.reward(other, 1.0)
        each.reward(own, 1.0)
    assert [each.core.tells for each in (lumps, twin, again)] == [2, 2, 2]


def test_a_file_keeps_the_tags(tmp_path: Path) -> None:
    lumps = Lumps(["red"])
    made = [lumps.decide("ann")]
    lumps = copy.deepcopy(lumps)
    made.append(lumps.decide("ann"))
    lumps.save(tmp_path / "state.lumps")
    loaded = Lumps.load(tmp_path / "state.lumps")
    assert loaded.waiting() == made
    assert loaded.decide("bob") == lumps.decide("bob")
    loaded.reward_many([{"id": each.id, "reward": 1.0} for each in made])


def test_integers_are_ids_of_decisions_from_before_there_were_tags(tmp_path: Path) -> None:
    lumps = Lumps.load(DATA / "groups.lumps")
    old = [made.id for made in lumps.waiting()]
    assert {type(id) for id in old} == {int}
    new = lumps.decide("ann")
    assert isinstance(new.id, str)
    number = int(new.id.rpartition("-")[2])
    with pytest.raises(ValueError, match=f"such as '.*-17', got {number}$"):
        lumps.reward(number, 1.0)
    lumps.reward(np.int64(old[0]), 1.0)  # type: ignore[arg-type]  # as frames hold them
    lumps.save(tmp_path / "state.lumps")
    loaded = Lumps.load(tmp_path / "state.lumps")
    loaded.reward(old[1], 1.0)
    loaded.reward(new, 1.0)
    with pytest.raises(ValueError, match=f"got {old[0]}, which has had its reward"):
        loaded.reward(old[0], 1.0)


def test_every_number_has_one_id() -> None:
    """Through any chain of copies, against a plain list."""
    rng, tags, plain = np.random.default_rng(1), Tags(), list[str]()
    for _ in range(300):
        if rng.random() < 0.3:
            tags.part(len(plain))
        plain.append(f"{tags.since[-1][1]}-{len(plain)}")
        number = int(rng.integers(len(plain)))
        assert tags.id_of(number) == plain[number]
        assert tags.number_of(plain[number]) == number
    assert len(set(plain)) == 300
    assert len(tags.since) > 50
