"""A small file cannot take much memory: what it asks for is held against its size first."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lumpable as lb
from lumpable.live import saved
from lumpable.plans.plan import Branching


def plan(contexts: int = 6, arms: int = 2) -> lb.Plan:
    return lb.pac.near_uniform(lb.Problem(contexts, arms, 1), epsilon=0.5, delta=0.1)


def altered(path: Path, *, ballast: int = 0, **problem: int) -> Path:
    """Save a session that has just begun, and let its file ask for another problem."""
    lb.Session(plan(), seed=1).save(path)
    with zipfile.ZipFile(path) as file:
        held = {name: file.read(name) for name in file.namelist()}
    header: dict[str, Any] = json.loads(held["header.json"])
    header["parameters"]["problem"] |= problem
    with zipfile.ZipFile(path, "w") as file:
        for name, data in (held | {"ballast": bytes(ballast)}).items():
            file.writestr(name, json.dumps(header) if name == "header.json" else data)
    return path


def refused(path: Path, words: str) -> int:
    """Check that a file is refused with these words; return the most bytes that this took."""
    tracemalloc.start()
    try:
        with pytest.raises(lb.BadArgument, match=words):
            lb.Session.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("contexts", "arms"), [(10**9, 10**9), (5000, 5000), (10**6, 1), (2, 10**8)]
)
def test_a_small_file_cannot_ask_for_much(contexts: int, arms: int, tmp_path: Path) -> None:
    """A file of 2 kB that asked for 20,000 x 20,000 took 7 GB before it was refused."""
    path = altered(tmp_path / "session.lump", contexts=contexts, arms=arms)
    said = rf"^path: {contexts:,} contexts and {arms:,} arms in a file of 2,\d+ bytes; if you trust"
    assert refused(path, said) < 10**6


def test_contexts_are_counted_before_they_are_played(tmp_path: Path) -> None:
    """To play 80,000 contexts takes 40 MB; the file has numbers for six."""
    path = altered(tmp_path / "session.lump", contexts=80_000, ballast=10_000)
    assert refused(path, "^path: expected numbers for 80000 contexts, got 6") < 5 * 10**6


def test_a_member_that_unpacks_to_more_than_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", b" " * 10**7)
    assert refused(path, r"^path: header.json takes 10000000 bytes, .* the \d+ of the file") < 10**6


def noted(characters: int) -> lb.Plan:
    """Return a plan of somebody's own, one of whose parameters is a long note."""
    about, parameters = plan().about, dict(plan().parameters)
    return lb.Plan(replace(about, name="mine.noted"), parameters | {"note": "x" * characters},
                   body(plan()))  # fmt: skip


def body(plan: lb.Plan) -> Branching:
    return (yield from plan)


@pytest.mark.parametrize("megabytes", [1, 2, 63])
def test_what_is_saved_with_a_large_header_opens(tmp_path: Path, megabytes: int) -> None:
    path, long = tmp_path / "session.lump", megabytes * 2**20
    session = lb.Session(noted(long), seed=1)
    session.tell(0, session.ask(0), 0.5)
    session.save(path)
    assert path.stat().st_size > long
    assert lb.Session.load(path, noted(long)).rounds == 1


def test_a_header_that_could_not_be_read_is_not_saved(tmp_path: Path) -> None:
    """The old file stays; the limit is on the whole header, whose note is a little shorter."""
    path = tmp_path / "session.lump"
    lb.Session(plan(), seed=1).save(path)
    before = path.read_bytes()
    with pytest.raises(lb.BadArgument, match=f"^header: expected at most {2**26} bytes, got 67"):
        lb.Session(noted(2**26), seed=1).save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_large_session_opens_with_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "CELLS", 5)
    path = tmp_path / "session.lump"
    lb.Session(plan(200, 1000), seed=1).save(path)
    with pytest.raises(lb.BadArgument, match="200 contexts and 1,000 arms in a file of"):
        lb.Session.load(path)
    assert lb.Session.load(path, plan(200, 1000)).shape == (200, 1000)
