"""A fit as bytes, so that a process that did not make it can adopt it; no pickle.

To read one is to check everything against what a fit could be, as in a saved learner.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from lumpable.base import archive
from lumpable.base.errors import BadArgument
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.shelf import MOST_ARMS, Shelf, damage_error, to_write

FORMAT = "lumpable fit"
SCHEMA = 1
Size = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]
Some = Annotated[int, msgspec.Meta(ge=1, lt=2**31)]


class FitHeader(msgspec.Struct, forbid_unknown_fields=True):
    """The sizes of a fit."""

    format: str
    schema: int
    contexts: Size
    arms: Annotated[int, msgspec.Meta(ge=1, le=MOST_ARMS)]
    groups: Some
    rank: Size
    knots: Some
    real: bool

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of the axes of its arrays."""
        return {"C": self.contexts, "A": self.arms, "M": self.groups, "q": self.rank,
                "k": self.knots}  # fmt: skip


def to_bytes(fit: Fit) -> bytes:
    """Return all of a fit."""
    header = FitHeader(
        FORMAT, SCHEMA, len(fit.context), len(fit.pulls), fit.groups, fit.rank,
        1 if fit.scale is None else len(fit.scale.score.knot), fit.real,
    )  # fmt: skip
    arrays = {name: np.ravel(array) for name, array in to_write(fit).items()}
    return archive.pack(msgspec.json.encode(header), arrays)


def from_bytes(held: bytes) -> Fit:
    """Return the fit that `to_bytes` was given, to the bit; anything else is `BadArgument`."""
    with archive.Reader(held) as reader:
        try:
            header = msgspec.json.decode(reader.header, type=FitHeader)
        except (msgspec.MsgspecError, RecursionError) as cause:
            raise damage_error(f"expected a fit, but its header says: {cause}") from None
        if (header.format, header.schema) != (FORMAT, SCHEMA):
            got = f"{header.format!r}, schema {header.schema}"
            raise BadArgument("path", f"{FORMAT!r}, schema {SCHEMA}", got)
        return Shelf(reader, header.sizes, reader.size).fit(real=header.real)
