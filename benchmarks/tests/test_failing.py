"""What is counted of failures: worlds of one taste under every law, and levels."""

from __future__ import annotations

import failing
import numpy as np
import pytest


@pytest.mark.parametrize("law", failing.LAWS)
def test_all_users_have_one_taste_and_as_many_rewards(law: str) -> None:
    world = failing.one_taste(law, 3)
    assert (world.mean == world.mean[0]).all()
    lumps = failing.told(world, 5, 3)
    assert lumps.core.tells == 5 * failing.USERS
    mean = {row.arm: row.mean for row in lumps.means() if row.group == 0}
    found = [mean[arm] for arm in range(failing.ARMS)]
    assert np.corrcoef(found, world.mean[0])[0, 1] > 0.2


def test_what_is_found_of_levels_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing, "SEEDS", 2)
    monkeypatch.setattr(failing, "LEVELS", ((60, 60),))
    assert list(failing.found_of_levels()) == [(60, 60, "1 direction in 2")]
