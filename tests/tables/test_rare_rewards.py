"""Normal intervals of rare rewards: which are not to be trusted is said, and the others hold."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats
from test_off_policy import CHANCE, Bandit

import lumpable as lb
from lumpable.cli.main import main
from lumpable.tables import off_policy
from lumpable.tables.normal_law import LOST, terms, terms_needed
from lumpable.tables.off_policy import BETTING, IPS, ROBUST, SNIPS, PolicyEstimate

METHODS = (IPS, SNIPS, ROBUST)
Judged = dict[tuple[str, str], list[tuple[PolicyEstimate, bool]]]


def judged(scale: float, logs: int, seed: int, events: int = 3000, *, bets: bool = True) -> Judged:
    """Return all intervals of made logs, and whether they hold the truth."""
    bandit, rng, found = Bandit(5, scale), np.random.default_rng(seed), Judged()
    largest = 1.0 / float(bandit.odds.min())
    for _ in range(logs):
        own, other = bandit.log(events, rng)
        for kind, truth, against in zip(
            ("value", "lift"), bandit.truth, (None, other), strict=True
        ):
            rows = off_policy.estimates(own, against, 0.95, METHODS)
            if bets:
                rows.append(off_policy.by_betting(own, (0.0, 1.0), largest, against))
            for row in rows:
                held = row.low <= truth <= row.high
                found.setdefault((kind, row.method), []).append((row, held))
    return found


def trusted(row: PolicyEstimate) -> bool:
    return row.terms >= terms_needed(0.95)


@pytest.mark.parametrize(
    ("scale", "logs"),
    [
        (1.0, 120), (0.3, 120),
        pytest.param(1.0, 3000, marks=pytest.mark.nightly),
        pytest.param(0.3, 3000, marks=pytest.mark.nightly),
    ],
)  # fmt: skip
def test_where_nothing_is_said_intervals_hold(scale: float, logs: int) -> None:
    """To a point of 95 %, which is what may be lost where normal intervals are trusted."""
    lost = LOST * 0.05
    for (kind, method), rows in judged(scale, logs, seed=17).items():
        assert all(trusted(row) for row, _ in rows), (kind, method)
        held = sum(held for _, held in rows)
        assert stats.binom.cdf(held, logs, 0.95 - lost) > CHANCE / 16
        if method != BETTING:
            assert stats.binom.sf(held - 1, logs, 0.95 + lost) > CHANCE / 16


@pytest.mark.parametrize("scale", [0.02, 0.005])
def test_where_rewards_are_rare_it_is_said(scale: float) -> None:
    """Every time, of every method; and by betting the truth is held all the same."""
    logs, missed = 60, 0
    for (kind, method), rows in judged(scale, logs, seed=18).items():
        if method == BETTING:
            assert stats.binom.cdf(sum(held for _, held in rows), logs, 0.95) > CHANCE
            continue
        assert not any(trusted(row) for row, _ in rows), (kind, method)
        assert not any(row.low == row.high for row, _ in rows)
        missed += sum(not held for _, held in rows) if kind == "value" else 0
    assert missed > 0.08 * 3 * logs  # that is why


@pytest.mark.nightly
def test_the_rarer_rewards_are_the_less_is_held_and_the_more_is_said() -> None:
    """Prints the table of docs/how-to/tables.md (`pytest -rP`)."""
    logs, shares = 1500, list[float]()
    for scale in (1.0, 0.3, 0.1, 0.02):
        rows = [judged(scale, logs, 17, bets=False)["value", method] for method in METHODS]
        held = [sum(held for _, held in row) / logs for row in rows]
        said = [sum(not trusted(one) for one, _ in row) / logs for row in rows]
        typical = statistics.median(one.terms for one, _ in rows[0])
        print(f"| {Bandit(5, scale).truth[0]:.3g} | {typical:.0f} | ", end="")
        print(*(f"{share:.1%}" for share in held), sep=" | ", end=" | ")
        print(*(f"{share:.0%}" for share in said), sep=", ", end=" |\n")
        shares.append(sum(held) / 3.0)
        assert all(share in (0.0, 1.0) for share in said) or scale == 0.1
    assert shares[0] > shares[-1] + 0.02


def test_between_the_two_an_interval_without_a_word_seldom_misses() -> None:
    """Whether it is said depends on chance; what is not said and misses is at most 5 of 100."""
    logs = 150
    for scale in (0.15, 0.1, 0.06):
        for key, rows in judged(scale, logs, seed=19).items():
            wrong = sum(trusted(row) and not held for row, held in rows)
            assert stats.binom.sf(wrong - 1, logs, 0.05) > CHANCE, (scale, key, wrong)


def test_the_loss_of_coverage_is_that_of_edgeworth() -> None:
    """Of counts with a Poisson law, whose skewness is known: the sum over all counts, exactly."""
    needed, z = terms_needed(0.95), 1.959964

    def missed(mean: float) -> float:
        k = np.arange(int(mean + 20 * math.sqrt(mean)) + 50)
        held = np.abs(k - mean) <= z * np.sqrt(k)
        return 1.0 - float(stats.poisson.pmf(k, mean)[held].sum())

    means = np.linspace(needed, 2 * needed, 400)  # it goes up and down with the mean
    assert np.mean([missed(mean) for mean in means]) == pytest.approx(0.05, abs=LOST * 0.05)
    assert np.mean([missed(mean) for mean in np.linspace(2, 6, 400)]) > 0.08
    assert [terms_needed(level) for level in (0.5, 0.9, 0.999)] == [0, 10, 442]


def test_terms_are_how_many_rewards_vary_alike() -> None:
    rng = np.random.default_rng(1)
    normal = rng.standard_normal(30_000)
    assert terms(normal, np.ones(30_000)) == pytest.approx(10_000, rel=0.1)  # a kurtosis of 3
    assert terms(7.0 + 5.0 * normal, np.ones(30_000)) == pytest.approx(
        terms(normal, np.ones(30_000))
    )
    rare = np.repeat([0.0, 1.0], [9990, 10])
    assert terms(rare, np.ones(10_000)) == pytest.approx(10, rel=0.01)
    assert terms(np.full(9, 0.1) * 3.0, np.ones(9)) == 0.0
    assert terms(np.full(5, math.nan), np.ones(5)) == 0.0


def log(clicks: int, events: int = 1200, seed: int = 3) -> dict[str, list[Any]]:
    """Return a log in which so many events had a reward, all of them of offer o1."""
    rng = np.random.default_rng(seed)
    offer = rng.integers(4, size=events)
    reward = np.zeros(events, int)
    reward[rng.choice(np.flatnonzero(offer == 1), clicks, replace=False)] = 1
    return {
        "user": [f"u{k}" for k in rng.integers(30, size=events)],
        "offer": [f"o{k}" for k in offer],
        "reward": reward.tolist(),
        "p": [0.25] * events,
    }


def test_the_terminal_and_the_page_say_it_and_print_no_interval_of_no_width(tmp_path: Path) -> None:
    """Of a policy under which no reward was seen nothing is known but what betting says."""
    frame = pl.DataFrame(log(7))
    learned = lb.learn(frame, item="offer", propensity="p", rewards="binary")
    value = learned.value(dict.fromkeys(learned.events.users, "o0"))
    told = {row.method: row for row in value.estimates}
    for method in METHODS[:2]:
        assert math.isnan(told[method].low)
        assert math.isnan(told[method].high)
    assert told[BETTING].low <= 0.0 < told[BETTING].high < 1.0
    (note,) = (note for note in value.notes if note.startswith("Not to be trusted to 95 %"))
    assert "of the value by IPS, SNIPS, doubly robust" in note
    assert "of what was earned as logged" in note
    assert "as few as 0 equal ones would, where it takes 25" in note
    frame.write_csv(tmp_path / "log.csv")
    page = tmp_path / "page.html"
    words = ("--item", "offer", "--propensity", "p", "--rewards", "binary", "--html", str(page))
    result = CliRunner(env={"COLUMNS": "80"}).invoke(
        main, ["learn", str(tmp_path / "log.csv"), *words]
    )
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines()[:-1])) <= 80
    for text in (" ".join(result.output.split()), page.read_text(encoding="utf-8")):
        assert "Not to be trusted to 95 %: the intervals of the value by" in text
        assert "An interval by betting needs no such law." in text
        assert "nan" not in text.replace("nanob", "")


def test_no_interval_has_no_width_where_no_reward_or_only_one_kind_was_seen(tmp_path: Path) -> None:
    for clicks, reward in ((0, 0), (0, 1)):
        columns = log(clicks) | {"reward": [reward] * 1200}
        value = lb.learn(pl.DataFrame(columns), item="offer", propensity="p").value()
        for row in (*value.estimates, value.logged):
            assert row.low != row.high, row
        assert math.isnan(value.logged.low)
        pl.DataFrame(columns).write_csv(tmp_path / "log.csv")
        words = ("learn", str(tmp_path / "log.csv"), "--item", "offer", "--propensity", "p")
        result = CliRunner(env={"COLUMNS": "100"}).invoke(main, words)
        assert "not known" in result.output
        assert "Not to be trusted to 95 %" in " ".join(result.output.split())


def test_a_log_of_frequent_rewards_has_no_such_note() -> None:
    columns = log(0)
    columns["reward"] = np.random.default_rng(4).integers(2, size=1200).tolist()
    value = lb.learn(pl.DataFrame(columns), item="offer", propensity="p").value()
    assert not [note for note in value.notes if note.startswith("Not to be trusted")]
