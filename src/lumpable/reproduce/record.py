"""What was measured for a claim, as one row: its verdicts, and how it lies on disk.

Measures nothing and shows nothing. pyarrow is imported only when a table is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from lumpable.base.extras import need
from lumpable.reproduce.claim import Check, Claim, Finding

Form = Literal["printed", "repaired", "broken"]
FORMS: tuple[Form, ...] = ("printed", "repaired", "broken")


class Line(msgspec.Struct, frozen=True):
    """A check of one form of a claim, with its answer."""

    form: Form
    what: str
    measured: float
    relation: str
    bar: float
    holds: bool


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One claim: what is said, what was measured and what came of it.

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


def hold(checks: Sequence[Check]) -> bool:
    """Whether all of the checks hold; no check at all proves nothing."""
    return bool(checks) and all(check.holds for check in checks)


def caught(checks: Sequence[Check]) -> bool:
    """Whether at least one check of the broken variant fails."""
    return any(not check.holds for check in checks)


def as_expected(claim: Claim, finding: Finding) -> bool:
    """Whether a claim came out as its author said it would.

    The printed form holds exactly where it is expected to stand, the repaired form holds where
    there is one, and the broken variant is caught.
    """
    return (
        hold(finding.printed) == claim.stands
        and hold(finding.repaired or finding.printed)
        and caught(finding.broken)
    )


def verdicts(claim: Claim, finding: Finding) -> dict[str, Any]:
    """Return everything of a row that a finding decides, but for its figure."""
    return {
        "setting": finding.setting,
        "seeds": int(finding.seeds),
        "words": finding.words,
        "checks": tuple(_lines(finding)),
        "printed_holds": hold(finding.printed),
        "repaired_holds": hold(finding.repaired) if finding.repaired else None,
        "broken_caught": caught(finding.broken),
        "as_expected": as_expected(claim, finding),
    }


def _lines(finding: Finding) -> Iterator[Line]:
    for form in FORMS:
        for check in getattr(finding, form):
            measured, bar = float(check.measured), float(check.bar)
            yield Line(form, check.what, measured, check.relation, bar, bool(check.holds))


def unmeasured(claim: Claim, error: str, **about: Any) -> Row:
    """Return the row of a claim that could not be measured."""
    return Row(**_said(claim), **about, error=error)


def row(claim: Claim, finding: Finding, **about: Any) -> Row:
    """Return the row of a claim that was measured."""
    return Row(**_said(claim), **about, **verdicts(claim, finding))


def _said(claim: Claim) -> dict[str, Any]:
    names = ("number", "title", "printed", "repaired", "broken", "stands")
    return {name: getattr(claim, name) for name in names}


# --- Files ----------------------------------------------------------------------------------


def encode(row: Row) -> bytes:
    """Return a row as JSON, which has no infinity and no NaN: these become words."""
    plain = msgspec.to_builtins(row)
    for line in plain["checks"]:
        for name in ("measured", "bar"):
            if not math.isfinite(line[name]):
                line[name] = str(line[name])
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"


def decode(text: bytes) -> Row:
    """Read a row back; what is none is a `msgspec.MsgspecError`."""
    return msgspec.json.decode(text, type=Row, strict=False)  # so that "inf" is a number again


def parquet(rows: Sequence[Row]) -> bytes:
    """Return rows as a Parquet file: one row a claim, its checks as a list of structs."""
    arrow = need("pyarrow", "research", "writing Parquet files")
    files = need("pyarrow.parquet", "research", "writing Parquet files")
    text, yes = arrow.string(), arrow.bool_()
    line = {"form": text, "what": text, "measured": arrow.float64(), "relation": text}
    line |= {"bar": arrow.float64(), "holds": yes}
    schema = {"number": arrow.int64(), "title": text, "printed": text, "repaired": text}
    schema |= {"broken": text, "stands": yes, "printed_holds": yes, "repaired_holds": yes}
    schema |= {"broken_caught": yes, "as_expected": yes, "setting": text}
    schema |= {"seeds": arrow.int64(), "words": text, "checks": arrow.list_(arrow.struct(line))}
    schema |= {"figure": text, "seconds": arrow.float64(), "quick": yes, "version": text}
    schema |= {"source": text, "error": text}
    table = [{**_plain(row), "figure": _specification(row)} for row in rows]
    sink = arrow.BufferOutputStream()
    files.write_table(arrow.Table.from_pylist(table, schema=arrow.schema(schema)), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _plain(row: Row) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(row)
    return plain


def _specification(row: Row) -> str | None:
    return None if row.figure is None else msgspec.json.encode(row.figure).decode()
