"""Two services on one PostgreSQL database: whoever is asked knows what the other was told."""

from __future__ import annotations

from functools import partial

import lumpable as lb
from kits import postgres
from kits.served import served


def test_decided_at_one_rewarded_at_the_other() -> None:
    address = postgres.server().address()
    opener = partial(lb.open, address, ["red", "green"], rewards="binary", fits="inline")
    with served(opener) as one, served(opener) as two:
        made = one.post("/decide", {"user": "ann", "event": "visit-1"}).json
        assert two.post("/decide", {"user": "ann", "event": "visit-1"}).json == made
        for service in (two, one):  # the same reward, by both
            sent = service.post("/reward", {"event": "visit-1", "value": 1, "at": 1e9})
            assert sent.json == {"standing": "rewarded"}
        for service in (one, two):
            assert service.get("/status").json["experiment"]["counted"] == 1
        assert one.post("/forget", {"user": "ann"}).status == 200
        assert two.post("/decide", {"user": "bob", "event": "visit-2"}).status == 200
        assert two.get("/status").json["experiment"]["counted"] == 0
