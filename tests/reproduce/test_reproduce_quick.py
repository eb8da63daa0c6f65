"""The quick run of `lumpable reproduce`: every claim of the paper comes out as it is said to."""

from __future__ import annotations

import pytest

from lumpable.reproduce import runner
from lumpable.reproduce.claim import Claim

CLAIMS = runner.load()


def test_all_are_there() -> None:
    assert list(CLAIMS) == list(range(1, 37))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: f"claim-{claim.number}")
def test_quick(claim: Claim) -> None:
    """Printed where it stands, repaired where there is a repair, and the broken variant caught."""
    order = runner.Order(claim, quick=True, source="")
    row = runner.measure(order).row(order)
    assert not row.error, row.error
    seen = [f"{line.form}: {line.what} = {line.measured:g} {line.bar:g}" for line in row.checks]
    assert row.as_expected, "\n".join([row.title, *seen])
    assert row.seeds > 0
    assert row.words
    assert row.setting
    assert row.picture.startswith("<svg")
