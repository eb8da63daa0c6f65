"""How a log ends and which names and erasures belong to it: kept apart, and changed with it.

Digests chain each entry to all before. They do not tell that the last ones are gone, that a row
was blanked as if its user was erased, or that a name was added which no entry has. So each commit
writes this, too: where the log ends, and sums of digests over rows whose number may shrink, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

Row = tuple[Any, ...]
KEY = "end"
"""Where it is kept, in the table `about`."""
USERS, ARMS = "SELECT number, name, salt FROM users", "SELECT number, name FROM arms"
BLANKED = "SELECT number, digest FROM log WHERE kind = 'erased'"
FOUND = f"""SELECT newest.last, newest.link, (SELECT value FROM about WHERE key = '{KEY}')
            FROM (SELECT 1 AS one) AS here LEFT JOIN
            (SELECT last, link FROM chain ORDER BY last DESC LIMIT 1) AS newest ON 1 = 1"""
"""The end of the chain, and what is kept of it, at one moment."""
MODULUS = 2**256


def total(rows: Iterable[Row]) -> int:
    """Return a sum over rows, in whatever order they come."""
    digests = (hashlib.sha256(msgspec.msgpack.encode(row)).digest() for row in rows)
    return sum(int.from_bytes(digest, "big") for digest in digests) % MODULUS


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept; sums are texts, as they are larger than numbers in JSON may be."""

    last: int = 0
    link: str = ""
    ever: int = 0
    """The highest number that a user had."""
    users: str = "0"
    arms: str = "0"
    erased: str = "0"

    def after(self, last: int, link: bytes, users: list[Row], arms: list[Row]) -> End:
        """Return the end after entries were added, and names with them."""
        return End(
            last, link.hex(), users[-1][0] if users else self.ever, _plus(self.users, users),
            _plus(self.arms, arms), self.erased,
        )  # fmt: skip

    def without(self, user: Row, blanked: list[Row]) -> End:
        """Return the end after a user was erased."""
        users = f"{(int(self.users, 16) - total([user])) % MODULUS:x}"
        return End(self.last, self.link, self.ever, users, self.arms, _plus(self.erased, blanked))

    def to_bytes(self) -> bytes:
        """Return what is kept."""
        return msgspec.json.encode(self)


def _plus(sum: str, rows: list[Row]) -> str:
    return f"{(int(sum, 16) + total(rows)) % MODULUS:x}" if rows else sum


def read(held: object) -> End | None:
    """Return what was kept; None: it is damaged, or none was."""
    try:
        end = msgspec.json.decode(bytes(held), type=End)  # type: ignore[call-overload]
        bytes.fromhex(end.link)
        for sum in (end.users, end.arms, end.erased):
            int(sum, 16)
    except (TypeError, ValueError, msgspec.MsgspecError):
        return None
    return end


def sum_tables(rows: Callable[[str], list[Row]], ever: int) -> End:
    """Work out the end of a log whose tables are of an earlier version, and keep none."""
    last, link, _ = rows(FOUND)[0]
    return End(
        last or 0, bytes(link or b"").hex(), ever, *(
            f"{total(rows(query)):x}" for query in (USERS, ARMS, BLANKED)
        )
    )  # fmt: skip
