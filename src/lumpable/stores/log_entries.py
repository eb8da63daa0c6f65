"""Entries of a log: one flat record for everything that can happen, as a row of any table.

Times are microseconds since 1970 (UTC) and rewards millionths: integers, so that every engine adds
them up to the same number.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from lumpable.base.units import Name

Kind = Literal[
    "decided", "rewarded", "activated", "expired", "arm", "forgot", "taken", "adopted"
]  # fmt: skip


class Entry(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """Something that happened; each kind uses some of the fields.

    - decided: an arm for a user; `detail` says by whom (and what the learner wanted, if it was in
      the shadow), `active` whether its reward may default
    - rewarded: the reward of an event, which may come before its decision; `detail` tells apart
      several rewards of one event with the same time and value
    - activated: what was decided on was shown
    - expired: the time for a reward is over, and the default counts
    - arm: `detail` says what became of it (added, removed, paused, resumed)
    - forgot: a user, who is not named
    - taken, adopted: evidence was handed to a fit; its result, a version, decides from here on
    """

    kind: Kind
    at: int
    event: str = ""
    user: Name | None = None
    arm: Name | None = None
    value: int | None = None
    propensity: float | None = None
    version: int | None = None
    active: bool | None = None
    detail: str = ""


def digest_of(entry: Entry, salt: bytes = b"") -> bytes:
    """Return the digest of an entry; with the user's salt, which is gone when they are forgotten.

    Without it nobody can find out by trial what an erased entry said.
    """
    return hashlib.sha256(salt + msgspec.msgpack.encode(entry)).digest()


def next_link(last: bytes, digests: list[bytes]) -> bytes:
    """Return the next link of a chain: any change before or in these entries changes it."""
    return hashlib.sha256(last + b"".join(digests)).digest()


def digest_of_settings(settings: bytes) -> bytes:
    """Return what is kept beside settings, so that a change of them is found."""
    return hashlib.sha256(settings).digest()
