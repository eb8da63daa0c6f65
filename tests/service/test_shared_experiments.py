"""An experiment that several processes share: what each of them sees of the others."""

from __future__ import annotations

from typing import Any

from kits.service import bits, opened
from kits.simulated_disk import Disk, Shared


def test_who_is_being_forgotten_is_gone_everywhere() -> None:
    """Another process looks after the log says "forgot", and before the user is erased."""
    disk = Disk()
    stores: list[Any] = [Shared(disk), Shared(disk)]
    with opened(stores[0]) as one, opened(stores[1]) as two:
        for k, user in enumerate(("ann", "bob", "ann", "bob")):
            one.reward(one.observe(user, "red", event=f"{k}").event, 1.0)
        assert two.digest() == one.digest()
        erase = stores[0].erase

        def looked(user: str) -> int:
            assert two.status().counted == 4  # not known yet, and nothing else either
            return int(erase(user))

        stores[0].erase = looked
        one.forget("ann")
        two.add_arm("red")  # in its turn it knows
        assert [row[0] for row in two.evidence()] == ["bob"]
        assert bits(two) == bits(one)


def test_a_follower_sees_who_was_forgotten() -> None:
    disk = Disk()
    with opened(Shared(disk)) as one, opened(Shared(disk)) as two:
        one.reward(one.observe("ann", "red", event="a").event, 1.0)
        two.follow()
        assert "ann" in two._ledger.learner.contexts
        one.forget("ann")
        two.follow()
        assert two._ledger.number == one._ledger.number
        assert two.evidence() == []
