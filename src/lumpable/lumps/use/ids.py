"""Ids of decisions: the tag of the learner that made them, and their number, as in "k3f9x2-17".

Chance goes by the number, so the tag changes no choice. A file keeps the tag. A copy takes a new
one for the decisions that it makes itself, and still knows those from before by their old ids.
"""

from __future__ import annotations

import operator
import re
import secrets
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from lumpable.base.errors import BadArgument

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Those that nobody takes for others."""
LENGTH = 6
Id = str | int
"""Integers are ids of decisions that were made before ids had tags."""
WHOLE = re.compile(r"[a-z0-9]+-(0|[1-9][0-9]*)", re.ASCII)


def new_tag() -> str:
    """Return a tag that no other learner has, as far as chance goes."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


class Tags:
    """The tags of a learner's decisions: each holds from a number on; "" is none."""

    def __init__(self, since: Sequence[tuple[int, str]] = ()) -> None:
        self.since = list(since) or [(0, new_tag())]

    def part(self, made: int) -> None:
        """Take a new tag for decisions from this number on."""
        kept = [pair for pair in self.since if pair[0] < made]
        self.since = [*kept, (made, new_tag())]

    def id_of(self, number: int) -> Id:
        """Return the id of a decision by its number."""
        first, tag = self.since[-1]
        if number < first:
            tag = self.since[bisect_right(self.since, number, key=operator.itemgetter(0)) - 1][1]
        return f"{tag}-{number}" if tag else number

    def number_of(self, id: object) -> int:
        """Return the number of a decision by its id; that of another learner is an error."""
        if isinstance(id, str):
            _, _, digits = id.rpartition("-")
            number = int(digits) if digits.isdecimal() and len(digits) < 20 else -1
        else:
            number = _whole(id)
        own = self.id_of(number) if number >= 0 else None
        if own == (id if isinstance(id, str) else number):
            return number
        raise self._foreign(id)

    def _foreign(self, id: object) -> BadArgument:
        """Return the error for what is no id of this learner."""
        if isinstance(id, str) and WHOLE.fullmatch(id):
            return BadArgument("id", "a decision of this learner", f"{str(id)!r} of another one")
        example = f"{self.since[-1][1]}-17"
        return BadArgument("id", f"the id of a decision, such as {example!r}", repr(id))


def _whole(id: object) -> int:
    """Return the id of an old decision as an int, integers of numpy too; -1 if it is none."""
    if not isinstance(id, bool | np.bool_) and hasattr(id, "__index__"):
        try:
            return operator.index(id)
        except TypeError:  # an array, a length of time
            pass
    return -1
