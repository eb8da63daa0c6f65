"""What is explained of one user is what is believed of all, and worked out for this one."""

from __future__ import annotations

from typing import Any

import pytest

from kits.service import opened
from lumpable.lumps.belief import beliefs


def test_one_user_is_explained_as_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as e:
        for k in range(240):
            made = e.decide(f"u{k % 12}")
            e.reward(made.event, float((k % 12 < 6) == (made.arm == "red")))
        e.decide("nobody yet")
        rows, means = {row.context: row for row in e.members()}, e._believer("").means()
        asked, once = list[int | None](), beliefs.members

        def members(*given: Any, only: int | None = None, **more: Any) -> Any:
            asked.append(only)
            return once(*given, only=only, **more)

        monkeypatch.setattr(beliefs, "members", members)
        for user, row in rows.items():
            found = e.explain(user)
            assert (found.group, found.probability, found.rewards) == (
                row.group, row.probability, row.rewards,
            )  # fmt: skip
            there = [m for m in means if (m.group, m.arm) == (row.group, found.advice.best_arm)]
            assert found.in_group == (there[0] if there else None)
            assert "with a probability of" in str(found)
            assert "1.00" not in str(found)
        assert e.explain("nobody yet").rewards == e.explain("unheard of").rewards == 0
        assert len(asked) == len(rows)
        assert None not in asked
