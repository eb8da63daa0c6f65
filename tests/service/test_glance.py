"""What is believed at a glance is what the tables say, bounded, and seldom worked out anew."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from kits.platform import ARMS, Platform
from kits.service import opened
from lumpable.lumps.belief import glance as glances
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.overview import LONGEST, PATIENCE, SHORTEST, BeliefsNow, Overview


@pytest.fixture(scope="module")
def played() -> LiveExperiment:
    platform = Platform(users=40, seed=1)
    platform.visit(1_800, 1.5)
    return platform.experiment


def test_intervals_are_as_wide_as_asked_for(played: LiveExperiment) -> None:
    user = played.members()[0].context
    for narrow, usual in (
        (played.groups(level=0.5)[0], played.groups()[0]),
        (played.policy(level=0.5)[0], played.policy()[0]),
        (played.best(user, level=0.5), played.best(user)),
        (played.lift(level=0.5), played.lift()),
    ):
        assert usual.low < narrow.low < narrow.high < usual.high


def test_groups_are_those_of_the_table(played: LiveExperiment) -> None:
    groups, glance = played.groups(), played.beliefs().glance
    means = {(row.group, row.arm): row for row in played._believer("").means()}
    assert len(groups) == len(glance.groups) == 4
    for row, now in zip(groups, glance.groups, strict=True):
        best = now.arms[0]
        assert (row.best_arm, row.mean, row.low, row.high) == (
            best.arm, best.mean, best.low, best.high
        )  # fmt: skip
        assert row.probability_best == best.probability_best
        assert (row.size, row.size_low, row.size_high) == (now.size, now.size_low, now.size_high)
        order = [one.mean for one in now.arms]
        assert order == sorted(order, reverse=True)
        for one in now.arms:
            told = means[now.group, one.arm]
            assert (one.mean, one.low, one.high) == (told.mean, told.low, told.high)
        assert sum(one.probability_best for one in now.arms) <= 1.0


def test_a_service_speaks_of_users(played: LiveExperiment) -> None:
    said = played.summary()
    assert said == played.beliefs().summary
    assert "between users" in said
    assert "context" not in said


def test_shares_are_those_of_the_last_decisions(played: LiveExperiment) -> None:
    group = {row.context: row.group for row in played.members()}
    lately = played._ledger.history.lately
    for now in played.beliefs().glance.groups:
        own = [arm for user, arm in lately if group[user] == now.group]
        assert now.decisions == len(own)
        for one in now.arms:
            assert one.share == pytest.approx(own.count(one.arm) / len(own))


def test_the_matrix_is_that_of_the_rewards(played: LiveExperiment) -> None:
    """One user a row, as there are few: each mean is that of the evidence."""
    matrix = played.beliefs().glance.matrix
    sums: dict[tuple[int | str, int | str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for user, arm, value, times in played.evidence():
        sums[user, arm][0] += value / 1e6 * times
        sums[user, arm][1] += times
    assert set(matrix.arms) == set(ARMS)
    assert [row.contexts for row in matrix.rows] == [1] * 40
    assert [row.group for row in matrix.rows] == sorted(row.group for row in matrix.rows)
    column = {arm: sorted(total / n for (_, a), (total, n) in sums.items() if a == arm)
              for arm in ARMS}  # fmt: skip
    for k, arm in enumerate(matrix.arms):
        own = sorted(row.means[k] for row in matrix.rows if row.means[k] is not None)  # type: ignore[type-var]
        assert own == pytest.approx(column[arm])


@pytest.mark.parametrize("real", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_many_users_share_rows(monkeypatch: pytest.MonkeyPatch, real: bool) -> None:
    """However many there are, rows and columns are few, and no user and no reward is lost."""
    monkeypatch.setattr(glances, "MOST_ROWS", 12)
    monkeypatch.setattr(glances, "MOST_COLUMNS", 6)
    e, rng = opened(arms=tuple(range(9))), np.random.default_rng(2)
    for k in range(1_500):
        user, arm = k % 100, int(rng.integers(9))
        value = float(rng.random() < (0.9 if arm == user % 2 else 0.1)) * (2.5 if real else 1.0)
        e.reward(e.observe(user, arm).event, value)
    glance = e.beliefs().glance
    rows = glance.matrix.rows
    assert len(rows) <= 12
    assert sum(row.contexts for row in rows) == 100
    assert (len(glance.matrix.arms), glance.matrix.arms_in_all) == (6, 9)
    assert set(glance.matrix.arms) >= {group.arms[0].arm for group in glance.groups}
    sizes = [0] * len(glance.groups)
    for row in rows:
        sizes[row.group] += row.contexts
    assert all(
        abs(size - group.size) < 20 for size, group in zip(sizes, glance.groups, strict=True)
    )


def test_who_is_doubtful_is_said(played: LiveExperiment) -> None:
    """A newcomer with one reward belongs to no group for sure."""
    played.reward(played.observe("newcomer", "punk").event, 1.0)
    played._overview.forget()
    glance = played.beliefs().glance
    members = {row.context: row for row in played.members()}
    doubtful = [row for row in members.values() if (row.probability or 0.0) < glances.SURE]
    assert glance.doubtful_in_all == len(doubtful) > 0
    assert glance.doubtful[0].probability == min(row.probability or 0.0 for row in doubtful)
    for row in glance.doubtful:
        own = members[row.context]
        assert (row.group, row.probability) == (own.group, own.probability)
        assert (row.best_arm, row.rewards) == (own.best_arm, own.rewards)
        assert row.other != row.group
    assert "newcomer" in {row.context for row in glance.doubtful}


def test_without_arms_or_rewards_there_is_little_to_see() -> None:
    bare = opened(arms=()).beliefs()
    assert (bare.summary, bare.glance.groups) == ("Nothing was seen yet.", [])
    glance = opened().beliefs().glance
    assert (glance.matrix.rows, glance.doubtful_in_all, glance.doubtful) == ([], None, [])


def test_beliefs_are_worked_out_seldom() -> None:
    """As long as nothing came, never; else after many times what it took, within bounds."""
    now, took, made = [100.0], [0.1], []
    e = opened()

    def work() -> BeliefsNow:
        now[0] += took[0]
        made.append(e._work_out())
        return made[-1]

    kept = Overview(lambda: now[0])
    first = kept.beliefs(3, work)
    assert kept.beliefs(first.entries, work) is first
    now[0] += PATIENCE * 0.1 - 0.01
    assert kept.beliefs(-1, work) is first
    now[0] += 0.02
    took[0] = 0.0
    assert kept.beliefs(-1, work) is made[1]
    for seconds, cost in ((SHORTEST, 1e6), (LONGEST, 0.0)):
        now[0] += seconds - 0.01
        assert kept.beliefs(-1, work) is made[-1]
        now[0] += 0.02
        took[0], before = cost, len(made)
        kept.beliefs(-1, work)
        assert len(made) == before + 1
    kept.forget()
    assert kept.beliefs(-1, work) is made[-1]
    assert len(made) == 5


def test_what_was_believed_with_somebody_forgotten_is_not_kept() -> None:
    """Neither what is there, nor what is worked out meanwhile."""
    e, kept, made = opened(), Overview(), []

    def work() -> BeliefsNow:
        made.append(e._work_out())
        if len(made) == 1:
            kept.forget()
        return made[-1]

    for times in (1, 2, 2):
        kept.beliefs(e.status().entries, work)
        assert len(made) == times
