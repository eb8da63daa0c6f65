"""Measure rows of `lumpable reproduce` in quick form, and keep what the tests judge by day.

    python tools/kept_claims.py 3 8

They go into tests/data/claims.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lumpable.base import files
from lumpable.reproduce import runner

KEPT = Path(__file__).resolve().parents[1] / "tests" / "data" / "claims"


def main() -> None:
    """Measure and keep the rows that are named."""
    claims = runner.load()
    for number in map(int, sys.argv[1:]):
        made = runner.measure(runner.Order(claims[number], quick=True, source=""))
        if made.error:
            raise SystemExit(made.error)
        place = KEPT / f"{number}-quick.json"
        files.replace(place, made.content)
        print(f"{place.name}: {len(made.content):,} bytes", flush=True)


if __name__ == "__main__":
    main()
