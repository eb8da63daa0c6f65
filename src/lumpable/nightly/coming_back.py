"""Events that a live experiment learned from a state come back with its log: they count already.

Such an event has the digest of the evidence in its id. That evidence is what the state held, now or
after an earlier night, or what one night added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lumpable.lumps.use.rewards import Accepted
from lumpable.nightly import night_rows
from lumpable.service.learned_entries import LEARNED_ID
from lumpable.tables.cleaning import Columns
from lumpable.tables.source_parts import literal

DIGEST = f"regexp_extract(id, '{LEARNED_ID}', 1)"
"""The beginning of the digest that is in an id, as SQL; empty text where there is none."""
SOME = "id LIKE 'learned-%'"
"""Most ids have another beginning, which is quick to see."""


def drop_own(con: Any, segments: Sequence[Path], columns: Columns, accepted: Accepted) -> int:
    """Leave out of `came` what was learned from these segments; return how many events."""
    rows = con.execute(f"SELECT DISTINCT {DIGEST} FROM came WHERE {SOME}").fetchall()
    wanted = sorted(row[0] for row in rows if row[0])
    own = [one for one in wanted if is_own(con, one, segments, columns, accepted)]
    if not own:
        return 0
    came = f"{SOME} AND {DIGEST} IN ({', '.join(map(literal, own))})"
    dropped = con.execute(f"SELECT sum(n)::BIGINT FROM came WHERE {came}").fetchone()[0]
    con.execute(f"DELETE FROM came WHERE {came}")
    return int(dropped)


def is_own(
    con: Any, digest: str, segments: Sequence[Path], columns: Columns, accepted: Accepted
) -> bool:
    """Whether a digest begins so that these segments held, at some time."""
    return any(
        night_rows.evidence(con, night_rows.relation(some), columns, accepted).digest()
        .startswith(digest)
        for some in _held(segments)
    )  # fmt: skip


def _held(segments: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Yield what a state held, the latest first, and then each night by itself."""
    for number in range(len(segments), 0, -1):
        yield segments[:number]
    for segment in segments[1:]:
        yield [segment]
