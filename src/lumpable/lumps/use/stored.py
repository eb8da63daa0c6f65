"""The practical learner as a file holds it: a header, its beliefs, and only the cells in use.

To load is to check everything against what a learner could have written, then to lay the cells out
anew, row after row. Where they lie changes no choice, so a loaded learner goes on as if it had
never stopped, fits included. Knows no names: what else should be saved comes as `extra`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from lumpable.base import archive
from lumpable.base.archive import Array
from lumpable.base.errors import BadArgument
from lumpable.learners.engine.clock import TELLS
from lumpable.lumps.core.layout import cells_of, lay_out
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import KAPPA, M0, NOISE, REAL, SQUARES
from lumpable.lumps.core.top_two import TopTwo
from lumpable.lumps.model.fit import Fit

FORMATS: dict[type[Levels], str] = {
    ThreeLevels: "lumpable lumps",
    TopTwo: "lumpable policy finder",
}
SCHEMA = 1
Kind = TypeVar("Kind", bound=Levels)
HUGE = float(np.finfo(np.float64).max)
TINY = math.nextafter(0.0, 1.0)
MOST_ARMS = 2**31 - 1
CUT_OFF = 0


class Law(NamedTuple):
    """What an array must be: its axes, and the least and the largest number in it."""

    axes: str
    """S contexts, K arms, M groups, q factors, c cells, v values, C contexts and A arms fitted."""
    low: float = -HUGE
    high: float = HUGE
    kind: str = "f"


CELLS = {
    "length": Law("S", 0, MOST_ARMS, "i"),
    "arm": Law("c", 0, MOST_ARMS, "i"),
    "pulls": Law("c", TINY),
    "total": Law("c"),
}
"""The rows of cells, one after the other."""
BELIEFS = {
    "visits": Law("S", 0.0),
    "log_weight": Law("SM", -math.inf),
    "group_pulls": Law("MK", 0.0),
    "group_total": Law("MK"),
    "group_visits": Law("M", 0.0),
    "pending": Law("MK", 0.0),
    "centre": Law("K"),
    "prior_weight": Law("K", TINY, math.inf),
    "value": Law("v", 0.0, math.inf),
    "loading": Law("Kq"),
    "precision_mean": Law("Sq"),
    "precision": Law("Sqq"),
    "allowed": Law("K", 0, 1, "b"),
}
"""Arrays of the state that are saved; the others are room to calculate."""
FITTED = {
    "context": Law("C", 0, HUGE, "i"),
    "member": Law("CM", 0.0, 1.0),
    "pulls": Law("AM", 0.0),
    "totals": Law("AM"),
    "share": Law("M", -HUGE, 0.0),
    "centre": Law("A"),
    "prior_weight": Law("A", TINY, math.inf),
    "loading": Law("Aq"),
    "kappa": Law("", TINY, math.inf),
    "m0": Law("", TINY, math.inf),
    "k0": Law("", TINY, math.inf),
    "p0": Law(""),
    "real": Law("", 0, 1, "b"),
    "noise": Law("", TINY),
    "rewards": Law("", 0.0, math.inf),
    "evidence": Law("", -math.inf, math.inf),
}
"""The last fit."""

ON_DISK = {"prior_weight": "hold", "precision_mean": "force", "precision": "grip"}
"""Names that files use where they differ from those of the arrays."""

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


# --- Writing ----------------------------------------------------------------------------------


def save(learner: Levels, path: str | Path, extra: dict[str, object]) -> None:
    """Write a learner to a file; the old file stays whole until the new one is.

    `extra` is what else should come back: what JSON can hold, with finite numbers.
    """
    try:
        more = np.frombuffer(msgspec.json.encode(extra), dtype=np.uint8)
    except (TypeError, ValueError) as cause:
        raise BadArgument("extra", why=f"expected what JSON can hold, but {cause}") from None
    cells, fit = cells_of(learner.state), learner.last_fit
    arrays = cells | {_on_disk(name): getattr(learner.state, name) for name in BELIEFS}
    if fit is not None:
        arrays |= {f"fit-{_on_disk(name)}": getattr(fit, name) for name in FITTED}
    header = Header(
        format=FORMATS[type(learner)],
        schema=SCHEMA,
        contexts=learner.contexts,
        arms=learner.arms,
        seed=learner.seed,
        tells=learner.tells,
        next_fit=CUT_OFF if learner.due() else learner.next_fit,
        groups=learner.state.log_weight.shape[1],
        rank=learner.state.loading.shape[1],
        cells=len(cells["arm"]),
        extra=len(more),
        fitted=None if fit is None else (len(fit.context), len(fit.pulls)),
    )
    flat = {name: np.ravel(array) for name, array in arrays.items()}
    archive.write(Path(path), msgspec.json.encode(header), flat | {"extra": more})


def _on_disk(name: str) -> str:
    return ON_DISK.get(name, name)


# --- Reading ----------------------------------------------------------------------------------


def load(path: str | Path, kind: type[Kind]) -> tuple[Kind, dict[str, object]]:
    """Open a saved learner, and its `extra`; it goes on as if it had never stopped."""
    _check_readable(Path(path))
    with archive.Reader(Path(path)) as reader:
        header = _read_header(reader.header, FORMATS[kind])
        shelf = _Shelf(reader, header, Path(path).stat().st_size)
        extra = shelf.extra()
        cells = shelf.arrays(CELLS)
        beliefs = shelf.arrays(BELIEFS)
        fit = shelf.fit()
    real = bool(beliefs["value"][REAL])
    _check_cells(header, cells, real)
    _check_beliefs(header, beliefs)
    _check_fit(header, fit, real)
    next_fit = header.tells if header.next_fit == CUT_OFF else header.next_fit
    turned = real and (fit is None or not fit.real)  # as `Levels.adopt` says
    learner = kind(header.contexts, header.arms, seed=header.seed)
    state = lay_out(learner.state, cells)._replace(
        weight=np.ones(header.groups),
        cover=np.zeros((header.rank, header.rank)),
        factor=np.zeros(header.rank),
        due=np.array([0 if turned else next_fit]),
        **beliefs,
    )
    learner.clock[TELLS] = header.tells
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


def _damaged(why: str) -> BadArgument:
    return BadArgument("path", why=why)


def _read_header(raw: bytes, format: str) -> Header:
    """Return the header; another kind of file, or another version, is an error that says so."""
    try:
        first = msgspec.json.decode(raw, type=First)
        if first.format != format:
            raise BadArgument("path", f"a saved {format!r}", repr(first.format))
        if first.schema != SCHEMA:
            newer = ", of a newer version of this package" if first.schema > SCHEMA else ""
            raise BadArgument("path", f"schema {SCHEMA}", f"{first.schema}{newer}")
        header = msgspec.json.decode(raw, type=Header)
    except (msgspec.MsgspecError, RecursionError) as cause:
        raise _damaged(f"expected a saved learner, but its header says: {cause}") from None
    if CUT_OFF != header.next_fit <= header.tells:
        got = f"{header.next_fit}, after {header.tells} rewards"
        raise BadArgument("path", "the next fit to come later", got)
    return header


class _Shelf:
    """The arrays of an open file, each checked against its law."""

    def __init__(self, reader: archive.Reader, header: Header, size: int) -> None:
        self._reader, self._header, self._size = reader, header, size
        seen, arms = header.fitted or (0, 0)
        whole = (header.contexts, header.arms, header.groups, header.rank, header.cells)
        self._sizes = dict(zip("SKMqcCAv", (*whole, seen, arms, SQUARES + 1), strict=True))

    def arrays(self, laws: dict[str, Law], prefix: str = "") -> dict[str, Array]:
        """Return arrays of the right shape and type, that can be written."""
        return {name: self._array(prefix + _on_disk(name), law) for name, law in laws.items()}

    def _array(self, name: str, law: Law) -> Array:
        shape = tuple(self._sizes[axis] for axis in law.axes)
        flat = self._vector(name, law.kind, math.prod(shape))
        dtype = {"f": np.float64, "i": np.int64, "b": np.bool_}[law.kind]
        array: Array = flat.astype(dtype).reshape(shape)
        wrong = ~((array >= law.low) & (array <= law.high))
        if wrong.any():
            between = f"numbers from {law.low:g} to {law.high:g}"
            raise _damaged(f"{name}: expected {between}, got {array[wrong][0]}")
        return array

    def _vector(self, name: str, kind: str, length: int) -> Array:
        """Return a vector of this length, which no file smaller than itself can hold."""
        if length > self._size:
            words = f"{length} numbers in a file of {self._size} bytes"
            raise _damaged(f"{name}: the header says {words}")
        flat = self._reader.array(name, kind, length)
        if len(flat) != length:
            raise _damaged(f"{name}: expected {length} numbers, got {len(flat)}")
        return flat

    def extra(self) -> dict[str, object]:
        """Return what was saved beside the learner."""
        raw = self._vector("extra", "u", self._header.extra).tobytes()
        try:
            return msgspec.json.decode(raw, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError) as cause:
            raise _damaged(f"extra is damaged: {cause}") from None

    def fit(self) -> Fit | None:
        """Return the last fit."""
        if self._header.fitted is None:
            return None
        arrays = self.arrays(FITTED, "fit-")
        values: dict[str, Any] = {
            name: array if array.ndim else array.item() for name, array in arrays.items()
        }
        return Fit(**values)


def _check_cells(header: Header, cells: dict[str, Array], real: bool) -> None:
    """Refuse rows of the wrong length, an arm twice or out of range, and impossible totals."""
    length, arm, total = cells["length"], cells["arm"], cells["total"]
    if length.sum() != header.cells:
        raise BadArgument("path", f"{header.cells} cells", f"rows of {length.sum()}")
    if len(arm) > 0 and arm.max() >= header.arms:
        raise BadArgument("path", f"arms below {header.arms}", f"{arm.max()}")
    row = np.repeat(np.arange(header.contexts), length)
    order = np.lexsort((arm, row))
    twice = (np.diff(row[order]) == 0) & (np.diff(arm[order]) == 0)
    if twice.any():
        at = order[int(np.argmax(twice))]
        raise _damaged(f"context {row[at]} has two cells of arm {arm[at]}")
    if not real and ((total < 0.0) | (total > cells["pulls"])).any():
        raise BadArgument("path", "totals of rewards 0 and 1", "one outside [0, pulls]")


def _check_beliefs(header: Header, beliefs: dict[str, Array]) -> None:
    """Refuse beliefs that would turn into NaN."""
    if not beliefs["value"][[KAPPA, M0, NOISE]].all():
        raise _damaged("value: expected strengths and a noise above 0, got 0")
    if not np.isfinite(beliefs["log_weight"].max(axis=1)).all():
        raise _damaged("log_weight: expected a likely group for each context, got none")
    if header.rank > 0:
        try:
            np.linalg.cholesky(beliefs["precision"])
        except np.linalg.LinAlgError as cause:
            raise _damaged(f"grip: expected precisions, got others: {cause}") from None


def _check_fit(header: Header, fit: Fit | None, real: bool) -> None:
    """Refuse a fit of another learner; one of rewards 0 and 1 may be cut off by a real reward."""
    turned = real and header.next_fit == CUT_OFF
    if fit is None:
        if (header.groups, header.rank) != (1, 0) or (real and not turned):
            raise BadArgument("path", "a fit for groups, factors or real rewards", "none")
        return
    inside = (np.diff(fit.context) > 0).all() and fit.context.max(initial=0) < header.contexts
    if not inside or len(fit.pulls) > header.arms or len(fit.context) == 0:
        raise BadArgument("path", "the fit of contexts and arms of this learner", "others")
    if np.abs(fit.member.sum(axis=1) - 1.0).max() > 1e-6:
        raise _damaged("fit-member: expected rows that sum to 1, got others")
    if fit.real != real and not turned:
        raise BadArgument("path", "a fit of the learner's rewards", f"one of fit.real={fit.real!r}")
