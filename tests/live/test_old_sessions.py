"""Sessions that earlier versions saved still open and go on round by round as they would have.

`tests/data/session-*.lumpable` were written before plans moved into their room. Beside each stands
where it was, 200 rounds (context, arm asked, arm told, reward), and where they led. Whoever changes
the format keeps these files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lumpable as lb

DATA = Path(__file__).parents[1] / "data"
NAMES = sorted(path.stem for path in DATA.glob("session-*.lumpable"))


def standing(session: lb.Session) -> dict[str, Any]:
    """Return where a session stands."""
    return {
        "rounds": session.rounds,
        "late": session.late,
        "policy": session.policy.tolist(),
        "arms": [session.ask(context) for context in range(session.shape[0])],
    }


def test_there_are_old_sessions() -> None:
    assert len(NAMES) == 3


@pytest.mark.parametrize("name", NAMES)
def test_an_old_session_goes_on_as_it_would_have(name: str) -> None:
    expected = json.loads((DATA / f"{name}.json").read_text())
    session = lb.Session.load(DATA / f"{name}.lumpable")
    assert standing(session) == expected["before"]
    for context, asked, told, reward in expected["next"]:
        assert session.ask(context) == asked
        session.tell(context, told, reward)
    assert standing(session) == expected["after"]
