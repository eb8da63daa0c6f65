"""A claim's measurement as a file, and the row that comes of it.

Measures nothing and shows nothing. A row is always made from a decoded file, so that a fresh run
and a resumed one are the same. pyarrow is imported only when a table is written.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from lumpable.comparisons import parquet
from lumpable.reproduce.claim import Check, Claim, Measured, Verdict, Words

Form = Literal["printed", "repaired", "broken"]
FORMS: tuple[Form, ...] = ("printed", "repaired", "broken")


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The measurement of one claim, and what must agree for it to be used again."""

    number: int
    quick: bool
    version: str
    source: str
    """A fingerprint of the code that measures: other code measures again."""
    seconds: float
    measured: Measured

    def about(self) -> dict[str, Any]:
        """Return what a row says of how it was measured."""
        return {name: getattr(self, name) for name in ("quick", "version", "source", "seconds")}


class Line(msgspec.Struct, frozen=True):
    """A check of one form of a claim, with its answer."""

    form: Form
    what: str
    measured: float
    relation: str
    bar: float
    holds: bool


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One claim: its words, its measurement and the verdicts.

    A claim that could not be measured has an `error`, no checks and no verdicts.
    """

    number: int
    title: str
    printed: str
    repaired: str
    broken: str
    stands: bool
    quick: bool
    version: str
    source: str
    """A fingerprint of the code behind the claim: other code is measured again."""
    seconds: float
    setting: str = ""
    seeds: int = 0
    words: str = ""
    checks: tuple[Line, ...] = ()
    printed_holds: bool | None = None
    repaired_holds: bool | None = None
    """None where there is no repaired form."""
    broken_caught: bool | None = None
    as_expected: bool = False
    figure: dict[str, Any] | None = None
    """The Vega-Lite specification."""
    picture: str = ""
    """The figure, drawn: SVG."""
    error: str = ""

    def of(self, form: Form) -> tuple[Line, ...]:
        """Return the checks of one form."""
        return tuple(line for line in self.checks if line.form == form)


# --- Verdicts -------------------------------------------------------------------------------


def all_hold(checks: Sequence[Check]) -> bool:
    """Whether all of the checks hold; no check at all proves nothing."""
    return bool(checks) and all(check.holds for check in checks)


def any_fails(checks: Sequence[Check]) -> bool:
    """Whether at least one check of the broken variant fails."""
    return any(not check.holds for check in checks)


def as_expected(claim: Claim, verdict: Verdict) -> bool:
    """Whether a claim came out as its author expected.

    The printed form holds exactly where it is expected to stand, the repaired form holds where
    there is one, and the broken variant is caught.
    """
    return (
        all_hold(verdict.printed) == claim.stands
        and all_hold(verdict.repaired or verdict.printed)
        and any_fails(verdict.broken)
    )


def row(claim: Claim, kept: Kept, verdict: Verdict, words: Words, **drawn: Any) -> Row:
    """Return the row of a claim that was measured."""
    return Row(
        **_words_of(claim),
        **kept.about(),
        setting=words.setting,
        seeds=kept.measured.seeds,
        words=words.takeaway,
        checks=tuple(_lines(verdict)),
        printed_holds=all_hold(verdict.printed),
        repaired_holds=all_hold(verdict.repaired) if verdict.repaired else None,
        broken_caught=any_fails(verdict.broken),
        as_expected=as_expected(claim, verdict),
        **drawn,
    )


def error_row(claim: Claim, error: str, **about: Any) -> Row:
    """Return the row of a claim that could not be measured."""
    return Row(**_words_of(claim), **about, error=error)


def _lines(verdict: Verdict) -> Iterator[Line]:
    for form in FORMS:
        for check in getattr(verdict, form):
            measured, bar = float(check.measured), float(check.bar)
            yield Line(form, check.what, measured, check.relation, bar, bool(check.holds))


def _words_of(claim: Claim) -> dict[str, Any]:
    names = ("number", "title", "printed", "repaired", "broken", "stands")
    return {name: getattr(claim, name) for name in names}


# --- Files ----------------------------------------------------------------------------------


NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""JSON has no infinity and no NaN: these become words, and numbers again when they are read."""
HEAD, LENGTH = b'{"sha256": "', 64


def encode(kept: Kept) -> bytes:
    """Return a measurement as JSON, with a checksum of all that follows it."""
    plain = msgspec.to_builtins(kept, enc_hook=lambda array: array.tolist(), str_keys=True)
    content = msgspec.json.encode(_replace_leaves(plain, _spell_out))
    rest = b'", "kept": ' + msgspec.json.format(content, indent=1) + b"}\n"
    return HEAD + hashlib.sha256(rest).hexdigest().encode() + rest


def decode(text: bytes) -> Kept:
    """Read a measurement back; anything else is a `msgspec.MsgspecError`."""
    start = len(HEAD) + LENGTH
    digest = hashlib.sha256(text[start:]).hexdigest().encode()
    if not text.startswith(HEAD) or digest != text[len(HEAD) : start]:
        raise msgspec.ValidationError("the checksum does not match")
    return msgspec.convert(_replace_leaves(msgspec.json.decode(text)["kept"], _read), Kept)


def _replace_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same lists and dictionaries with every other value changed."""
    if isinstance(value, dict):
        return {key: _replace_leaves(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_leaves(each, change) for each in value]
    return change(value)


def _spell_out(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _read(value: Any) -> Any:
    return NUMBERS.get(value, value) if isinstance(value, str) else value


def table(rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table: one row a claim, its checks as a list of structs."""
    pa = parquet.arrow()
    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}

    def typed(struct: type[msgspec.Struct]) -> list[tuple[str, Any]]:
        kinds = struct.__annotations__.items()
        return [(name, types.get(str(kind).partition(" ")[0], pa.string())) for name, kind in kinds]

    columns = {**dict(typed(Row)), "checks": pa.list_(pa.struct(typed(Line)))}
    del columns["picture"]  # the figure says it all
    plain = [{**msgspec.to_builtins(row), "figure": _specification(row)} for row in rows]
    return pa.Table.from_pylist(plain, schema=pa.schema(list(columns.items())))


def _specification(row: Row) -> str | None:
    return None if row.figure is None else msgspec.json.encode(row.figure).decode()
