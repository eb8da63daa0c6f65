"""The practical learner as a file holds it: a header, its beliefs, and only the cells in use.

To load is to check everything against what a learner could have written, then to lay the cells out
anew, row after row. Where they lie changes no choice, so a loaded learner goes on as if it had
never stopped, fits included. Knows no names: what else should be saved comes as `extra`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import numpy as np

from lumpable.base import archive
from lumpable.base.archive import Array
from lumpable.base.errors import BadArgument
from lumpable.learners.engine.clock import TELLS
from lumpable.lumps.core.layout import cells_of, lay_out
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import (
    AROUND,
    BETWEEN,
    HIGH,
    KAPPA,
    LOW,
    M0,
    OWN,
    REAL,
    RISE,
    TRIALS,
)
from lumpable.lumps.core.top_two import TopTwo
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use import older
from lumpable.lumps.use.shelf import (
    BELIEFS,
    CELLS,
    MOST_ARMS,
    Shelf,
    damage_error,
    on_disk,
    to_write,
)

FORMATS: dict[type[Levels], str] = {
    ThreeLevels: "lumpable lumps",
    TopTwo: "lumpable policy finder",
}
SCHEMA = 2
Kind = TypeVar("Kind", bound=Levels)
CUT_OFF = 0

Size = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class First(msgspec.Struct):
    """What any file of these formats says first."""

    format: str
    schema: int


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """What a file says of itself before its arrays."""

    format: str
    schema: int
    contexts: Annotated[int, msgspec.Meta(ge=1, lt=2**62)]
    arms: Annotated[int, msgspec.Meta(ge=1, le=MOST_ARMS)]
    seed: Annotated[int, msgspec.Meta(ge=0)]
    tells: Size
    next_fit: Size
    """CUT_OFF if a fit was due and was cut off: it comes with the next reward."""
    groups: Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
    rank: Size
    cells: Size
    extra: Size
    """Bytes of what else was saved."""
    fitted: tuple[Size, Size] | None
    """Contexts and arms of the last fit."""
    logged: Size = 0
    """Real rewards that are kept, knots of their score, and whether the last fit is of them."""
    knots: Annotated[int, msgspec.Meta(ge=1, lt=2**31)] = 1
    real: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of the axes of all arrays."""
        seen, arms = self.fitted or (0, 0)
        return {
            "S": self.contexts, "K": self.arms, "M": self.groups, "q": self.rank, "c": self.cells,
            "C": seen, "A": arms, "l": self.logged, "k": self.knots,
            "w": self.groups if self.real else 0, "r": self.rank if self.real else 0,
        }  # fmt: skip


# --- Writing ----------------------------------------------------------------------------------


def save(learner: Levels, path: str | Path, extra: dict[str, object]) -> None:
    """Write a learner to a file; the old file stays whole until the new one is.

    `extra` is what else should come back: what JSON can hold, with finite numbers.
    """
    archive.write(Path(path), *_parts(learner, extra))


def to_bytes(learner: Levels, extra: dict[str, object]) -> bytes:
    """Return what a file would hold."""
    return archive.pack(*_parts(learner, extra))


def _parts(learner: Levels, extra: dict[str, object]) -> tuple[bytes, dict[str, Array]]:
    """Return the header and the arrays of a file."""
    try:
        more = np.frombuffer(msgspec.json.encode(extra), dtype=np.uint8)
    except (TypeError, ValueError) as cause:
        raise BadArgument("extra", why=f"expected what JSON can hold, but {cause}") from None
    cells, fit, state = cells_of(learner.state), learner.last_fit, learner.state
    arrays = cells | {on_disk(name): getattr(state, name) for name in BELIEFS}
    arrays |= {} if fit is None else to_write(fit)
    header = Header(
        format=FORMATS[type(learner)],
        schema=SCHEMA,
        contexts=learner.contexts,
        arms=learner.arms,
        seed=learner.seed,
        tells=learner.tells,
        next_fit=CUT_OFF if learner.due() else learner.next_fit,
        groups=state.log_weight.shape[1],
        rank=state.loading.shape[1],
        cells=len(cells["arm"]),
        extra=len(more),
        fitted=None if fit is None else (len(fit.context), len(fit.pulls)),
        logged=len(cells["log_value"]),
        knots=len(state.knot),
        real=bool(state.value[REAL] > 0.0),
    )
    flat = {name: np.ravel(array) for name, array in arrays.items()}
    return msgspec.json.encode(header), flat | {"extra": more}


# --- Reading ----------------------------------------------------------------------------------


def load(held: str | Path | bytes, kind: type[Kind]) -> tuple[Kind, dict[str, object]]:
    """Open a saved learner, a file or its bytes, and its `extra`.

    It goes on as if it had never stopped.
    """
    if not isinstance(held, bytes):
        held = Path(held)
        _check_readable(held)
    with archive.Reader(held) as reader:
        header = _read_header(reader.header, FORMATS[kind])
        shelf = Shelf(reader, header.sizes, reader.size)
        extra = shelf.extra(header.extra)
        if header.schema < SCHEMA:
            cells, beliefs, fit = older.read(shelf, fitted=header.fitted is not None)
        else:
            cells, beliefs = shelf.arrays(CELLS), shelf.arrays(BELIEFS)
            fit = None if header.fitted is None else shelf.fit(real=header.real)
    _check_cells(header, cells)
    learner = kind(header.contexts, header.arms, seed=header.seed)
    learner.clock[TELLS] = header.tells
    state = lay_out(learner.state, cells)
    if not beliefs:  # what an older version believed of real rewards is fitted anew
        learner.become(state._replace(visits=_visits(cells), due=np.array([0])))
        learner.adopt(learner.fit(learner.counts()))
        return learner, extra
    _check_beliefs(header, beliefs)
    _check_fit(header, fit)
    next_fit = header.tells if header.next_fit == CUT_OFF else header.next_fit
    turned = (len(cells["log_value"]) > 0) != (fit is not None and fit.real)
    state = state._replace(
        weight=np.ones(header.groups),
        cover=np.zeros((header.rank, header.rank)),
        factor=np.zeros(header.rank),
        due=np.array([0 if turned else next_fit]),
        **beliefs,
    )
    learner.become(state, last_fit=fit, next_fit=next_fit)
    return learner, extra


def _check_readable(path: Path) -> None:
    """Say what is in the way of reading: no such file, a folder, a file of others."""
    if path.is_dir():
        raise BadArgument("path", "a saved learner", f"the folder {str(path)!r}")
    try:
        path.open("rb").close()
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {str(path)!r}") from None
    except OSError as cause:
        raise type(cause)(f"cannot read {str(path)!r}: {cause.strerror}") from None


def _read_header(raw: bytes, format: str) -> Header:
    """Return the header; another kind of file, or a newer version, is an error that says so."""
    try:
        first = msgspec.json.decode(raw, type=First)
        if first.format != format:
            raise BadArgument("path", f"a saved {format!r}", repr(first.format))
        if not 1 <= first.schema <= SCHEMA:
            newer = ", of a newer version of this package" if first.schema > SCHEMA else ""
            raise BadArgument("path", f"schema {SCHEMA}", f"{first.schema}{newer}")
        header = msgspec.json.decode(raw, type=Header)
    except (msgspec.MsgspecError, RecursionError) as cause:
        raise damage_error(f"expected a saved learner, but its header says: {cause}") from None
    if CUT_OFF != header.next_fit <= header.tells:
        got = f"{header.next_fit}, after {header.tells} rewards"
        raise BadArgument("path", "the next fit to come later", got)
    return header


def _visits(cells: dict[str, Array]) -> Array:
    row = np.repeat(np.arange(len(cells["length"])), cells["length"])
    return np.bincount(row, cells["pulls"], minlength=len(cells["length"]))


def _check_cells(header: Header, cells: dict[str, Array]) -> None:
    """Refuse rows of the wrong length, an arm twice or out of range, and impossible counts."""
    length, arm, pulls, ones = (cells[name] for name in ("length", "arm", "pulls", "ones"))
    if length.sum() != header.cells:
        raise BadArgument("path", f"{header.cells} cells", f"rows of {length.sum()}")
    if len(arm) > 0 and arm.max() >= header.arms:
        raise BadArgument("path", f"arms below {header.arms}", f"{arm.max()}")
    row = np.repeat(np.arange(header.contexts), length)
    key = row * header.arms + arm
    order = np.argsort(key, kind="stable")
    twice = np.diff(key[order]) == 0
    if twice.any():
        at = order[int(np.argmax(twice))]
        raise damage_error(f"context {row[at]} has two cells of arm {arm[at]}")
    log = cells["log_context"] * header.arms + cells["log_arm"]
    at = np.minimum(np.searchsorted(key[order], log), max(len(key) - 1, 0))
    if len(log) > 0 and (len(key) == 0 or (key[order][at] != log).any()):
        raise damage_error("log: expected real rewards of cells, got others")
    others = np.bincount(at, cells["log_count"], minlength=len(key)) if len(log) else 0.0
    if ((ones[order] + others) > pulls[order]).any():
        raise BadArgument("path", "no more rewards than pulls", "a cell with more")
    if len(log) == 0 and not header.real and (cells["total"] != ones).any():
        raise BadArgument("path", "totals of rewards 0 and 1", "others")


def _check_beliefs(header: Header, beliefs: dict[str, Array]) -> None:
    """Refuse beliefs that would turn into NaN, or that compiled code could not take."""
    value = beliefs["value"]
    if not (value[[KAPPA, M0, BETWEEN, OWN]] > 0.0).all() or np.isinf(value[BETWEEN]):
        raise damage_error("value: expected strengths and variances above 0, got others")
    if bool(value[REAL] > 0.0) != header.real:
        raise damage_error("value: expected what the header says of real rewards, got the contrary")
    if header.real and not (
        value[LOW] <= value[HIGH] and value[RISE] >= 0.0 and (value[[AROUND, TRIALS]] > 0.0).all()
    ):
        raise damage_error("value: expected ends and a fence in order, got others")
    if (np.diff(beliefs["knot"]) <= 0.0).any():
        raise damage_error("knot: expected numbers that grow, got others")
    if not np.isfinite(beliefs["log_weight"].max(axis=1)).all():
        raise damage_error("log_weight: expected a likely group for each context, got none")
    if header.rank > 0:
        try:
            np.linalg.cholesky(beliefs["precision"])
        except np.linalg.LinAlgError as cause:
            raise damage_error(f"grip: expected precisions, got others: {cause}") from None


def _check_fit(header: Header, fit: Fit | None) -> None:
    """Refuse a fit of another learner."""
    if fit is None:
        if (header.groups, header.rank) != (1, 0) or header.real:
            raise BadArgument("path", "a fit for groups, factors or real rewards", "none")
        return
    inside = (np.diff(fit.context) > 0).all() and fit.context.max(initial=0) < header.contexts
    if not inside or len(fit.pulls) > header.arms or len(fit.context) == 0:
        raise BadArgument("path", "the fit of contexts and arms of this learner", "others")
    if np.abs(fit.member.sum(axis=1) - 1.0).max() > 1e-6:
        raise damage_error("fit-member: expected rows that sum to 1, got others")
