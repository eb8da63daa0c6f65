"""The table that `lumpable budget --horizon` shows is what its command makes."""

from __future__ import annotations

import budget_table
import pytest

from lumpable import Problem
from lumpable.cli.regret_measured import Measured, read_table
from lumpable.plans import methods


def again(row: Measured) -> Measured:
    problem = Problem(row.contexts, row.arms, row.groups)
    return budget_table.measure(methods.BY_NAME[row.name], problem, row.horizon, row.world)


def test_what_was_measured_is_measured_again() -> None:
    """Two quick cells of the shipped table."""
    quick = [row for row in read_table() if row.contexts * row.horizon < 10**12]
    for row in (quick[0], quick[-2]):
        assert again(row) == row


@pytest.mark.nightly
@pytest.mark.parametrize("row", read_table()[::7], ids=lambda row: row.name)
def test_more_of_what_was_measured_is_measured_again(row: Measured) -> None:
    assert again(row) == row
