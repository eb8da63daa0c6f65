"""Off-policy values: against the truth, as often inside their intervals as they say, and honest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from made_logs import MEANS, two_tastes
from scipy import stats

import lumpable as lb
from lumpable import BadArgument
from lumpable.tables import judged_policies, off_policy
from lumpable.tables.betting import betting_interval
from lumpable.tables.judged_policies import WITHOUT, WRONG
from lumpable.tables.off_policy import BETTING, DIRECT, IPS, ROBUST, SNIPS, Fold, PolicyEstimate

CHANCE = 1e-6
"""How likely a test of coverage fails by chance, at most."""
TIGHT = 0.01
"""How likely one count is outside of its bounds by chance; seeds are fixed, so that it is either
never or always. For 95 % of a thousand logs these bounds are 931 and 967."""
OFF = {("lift", SNIPS): 0.93, ("lift", ROBUST): 0.93, ("lift", "model"): 0.975}
"""What is known not to hold the truth 95 times of 100, and how often it does (see tables.md): what
happened by chance in one half chooses the policy that the other half judges."""


class Bandit:
    """Users of a few kinds, a logging policy and a wrong model, to draw logs from.

    Rewards are 0 or 1; a `scale` below 1 makes them rare.
    """

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.mean = rng.random((12, 4))
        self.odds = 0.1 + 0.6 * rng.dirichlet(np.ones(4), size=12)
        self.model = np.clip(self.mean + 0.2 * rng.standard_normal((12, 4)), 0.0, 1.0)
        self.policy, self.other = rng.integers(4, size=12), np.full(12, 1)
        self.mean, self.model = self.mean * scale, self.model * scale

    def log(self, events: int, rng: np.random.Generator) -> tuple[list[Fold], list[Fold]]:
        """Draw events and return them in two halves, as both policies see them."""
        user = rng.integers(12, size=events)
        below = np.cumsum(self.odds[user], axis=1)
        item = (rng.random(events)[:, None] > below[:, :-1]).sum(axis=1)
        reward = (rng.random(events) < self.mean[user, item]).astype(np.float64)

        def folds(policy: np.ndarray) -> list[Fold]:
            weight = (item == policy[user]) / self.odds[user, item]
            chosen = self.model[user, policy[user]]
            columns = reward, weight, self.model[user, item], chosen, chosen
            cut = np.arange(events) < events // 2
            return [
                Fold(
                    np.ones(int(half.sum()), dtype=np.int64), *(column[half] for column in columns)
                )
                for half in (cut, ~cut)
            ]

        return folds(self.policy), folds(self.other)

    @property
    def truth(self) -> tuple[float, float]:
        """The value of the policy, and how much more that is than the other's."""
        each = self.mean[np.arange(12), self.policy]
        return float(each.mean()), float((each - self.mean[:, 1]).mean())


def hits(bandit: Bandit, logs: int, events: int, seed: int) -> dict[tuple[str, str], int]:
    """Count how often intervals of 95 % hold the truth."""
    rng, count = np.random.default_rng(seed), dict[tuple[str, str], int]()
    largest = 1.0 / float(bandit.odds.min())
    for _ in range(logs):
        own, other = bandit.log(events, rng)
        for kind, truth, against in (
            ("value", bandit.truth[0], None),
            ("lift", bandit.truth[1], other),
        ):
            rows = off_policy.estimates(own, against, 0.95, [IPS, SNIPS, ROBUST])
            rows.append(off_policy.by_betting(own, (0.0, 1.0), largest, against))
            for row in rows:
                key = kind, row.method
                count[key] = count.get(key, 0) + (row.low <= truth <= row.high)
    return count


def inside(found: dict[tuple[str, str], int], logs: int, low: float, high: float) -> None:
    """Check shares by exact binomial bounds; those by betting must cover at least 95 %."""
    for (_, method), count in found.items():
        assert stats.binom.cdf(count, logs, low) > CHANCE / 16
        if method != BETTING:
            assert stats.binom.sf(count - 1, logs, high) > CHANCE / 16


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    inside(hits(Bandit(3), 120, 1500, seed=4), 120, 0.95, 0.95)


def tight(found: Mapping[tuple[str, str], int], logs: int) -> None:
    """Check each count by the exact binomial bounds of what is promised, or known to be off.

    They are printed for docs/how-to/tables.md (`pytest -rP`).
    """
    for (kind, method), count in found.items():
        print(f"{kind}, {method}: {count / logs:.1%}")
    for key, count in found.items():
        rate = OFF.get(key, 0.95)
        low, high = stats.binom.interval(1.0 - TIGHT, logs, rate)
        assert count >= low, (key, count)
        assert key[1] == BETTING or count <= high, (key, count)


def test_tight_bounds_lie_within_93_and_97_per_cent() -> None:
    assert stats.binom.interval(1.0 - TIGHT, 1000, 0.95) == (931.0, 967.0)
    for count in (930, 968):
        with pytest.raises(AssertionError):
            tight({("value", IPS): count}, 1000)
    tight({("value", IPS): 931, ("value", BETTING): 1000, ("lift", "model"): 975}, 1000)


@pytest.mark.nightly
def test_intervals_cover_93_to_97_per_cent_over_1000_logs() -> None:
    found = hits(Bandit(5), 1000, 3000, seed=6)
    assert len(found) == 8
    tight({(f"{kind} of given policies", method): n for (kind, method), n in found.items()}, 1000)


def learned_hits(seed: int) -> dict[tuple[str, str], bool]:
    """Learn from a made log, and say which intervals of 95 % hold the truth.

    Three groups of users, five items. The truth is that of the two policies that were judged, one
    learned on each half; for the model's own lift, that of the policy of all events.
    """
    rng = np.random.default_rng(seed)
    users, every = 60, np.arange(60)
    mean = rng.uniform(0.1, 0.8, size=(3, 5))[rng.integers(3, size=users)]
    user, item = rng.integers(users, size=3000), rng.integers(5, size=3000)
    reward = (rng.random(3000) < mean[user, item]).astype(int)
    frame = pl.DataFrame({"user": user, "item": item, "reward": reward, "p": [0.2] * 3000})
    learned = lb.learn(frame, propensity="p", rewards="binary")
    events, value, lift = learned.events, learned.value(), learned.lift()
    halves = judged_policies._halves(events)
    truth = np.zeros(2)
    for judged, taught in zip(halves, halves[::-1], strict=True):
        core = judged_policies._learner_of(events, taught)
        own = mean[every, judged_policies._best_each(core, users)].mean()
        one = mean[:, judged_policies._best_for_all(core, events)].mean()
        truth += judged.sum() / 3000 * np.array([own, own - one])
    found = {("value", row.method): row.low <= truth[0] <= row.high for row in value.estimates}
    found |= {("lift", row.method): row.low <= truth[1] <= row.high for row in value.lift}
    best = np.array([row.item for row in learned.policy()])
    more = mean[every, best] - mean[:, lift.one_arm]
    held = lift.low <= np.bincount(user, minlength=users) @ more / 3000 <= lift.high
    return found | {("lift", "model"): bool(held)}


@pytest.mark.nightly
def test_intervals_of_what_was_learned_cover_93_to_97_per_cent_but_for_those_that_are_off() -> None:
    logs, count = 1000, Counter[tuple[str, str]]()
    for seed in range(logs):
        count.update({key: int(held) for key, held in learned_hits(seed).items()})
    methods = (IPS, SNIPS, DIRECT, ROBUST, BETTING)
    assert set(count) == {(kind, m) for kind in ("value", "lift") for m in methods} | {*OFF}
    tight(count, logs)


def test_the_direct_method_says_what_the_model_of_all_events_says() -> None:
    frame = pl.DataFrame(two_tastes(20, 600, seed=14))
    learned = lb.learn(frame, item="offer", propensity="p")
    events, items = learned.events, np.arange(20) % 4
    policy = {user: f"o{items[k]}" for k, user in enumerate(events.users)}
    mean = learned.lumps.core.posterior_means(np.arange(20))[np.arange(20), items]
    weight = np.bincount(events.user, events.times)
    found = {row.method: row.value for row in learned.value(policy).estimates}
    assert found[DIRECT] == pytest.approx(weight @ mean / 600)


def test_values_are_right_on_a_log_that_can_be_summed_by_hand() -> None:
    fold = Fold(
        np.array([3, 1]), np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.array([0.5, 0.5]),
        np.array([0.5, 0.25]), np.array([0.75, 0.25]),
    )  # fmt: skip
    value = {row.method: row.value for row in off_policy.estimates([fold])}
    assert value[IPS] == pytest.approx(3 * 2.0 / 4)
    assert value[SNIPS] == pytest.approx(1.0)
    assert value[DIRECT] == pytest.approx((3 * 0.75 + 0.25) / 4)
    assert value[ROBUST] == pytest.approx((3 * 0.5 + 0.25) / 4 + 3 * 2.0 * 0.5 / 4)
    seen = off_policy.weights([fold])
    assert (seen.events, seen.matched) == (4, 3)
    assert seen.effective == pytest.approx(3.0)
    assert seen.largest == pytest.approx(1 / 3)


def test_rows_with_counts_say_what_single_events_say() -> None:
    own, other = Bandit(7).log(400, np.random.default_rng(8))
    times = np.random.default_rng(9).integers(1, 4, size=200)

    def counted(fold: Fold) -> Fold:
        return Fold(times, fold.reward, fold.weight, fold.logged, fold.chosen, fold.believed)

    def single(fold: Fold) -> Fold:
        columns = fold.reward, fold.weight, fold.logged, fold.chosen, fold.believed
        return Fold(np.ones(times.sum(), int), *(np.repeat(column, times) for column in columns))

    for one, two in zip(
        off_policy.estimates(list(map(counted, own)), list(map(counted, other))),
        off_policy.estimates(list(map(single, own)), list(map(single, other))),
        strict=True,
    ):
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


def test_a_policy_compared_with_itself_earns_nothing_more() -> None:
    own, _ = Bandit(7).log(300, np.random.default_rng(8))
    for row in off_policy.estimates(own, own):
        assert (row.value, row.low, row.high) == (0.0, 0.0, 0.0)


def test_the_capital_against_the_truth_seldom_grows_at_any_time() -> None:
    """Betting holds for every law: here one that a normal interval misses half of the time."""
    rng, logs, held = np.random.default_rng(10), 300, 0
    for _ in range(logs):
        x = (rng.random(200) < 0.004).astype(np.float64)
        low, high = betting_interval(x, 0.9)
        held += low <= 0.004 <= high
    assert stats.binom.cdf(held, logs, 0.9) > CHANCE


def test_the_learned_policy_is_worth_what_it_is_worth() -> None:
    """On a made log, every method is near the truth, and betting states its bounds."""
    frame = pl.DataFrame(two_tastes(60, 6000, seed=11))
    learned = lb.learn(frame, item="offer", propensity="p", rewards="binary")
    value = learned.value(level=0.999)
    for row in value.estimates:
        assert row.low < 0.8 < row.high, row
    for row in value.lift:
        assert row.low < 0.3 < row.high, row  # one for all earns 0.5
    assert value.logged.low < float((MEANS @ [0.4, 0.3, 0.2, 0.1]).mean()) < value.logged.high
    assert any("propensities to be at least 0.1" in note for note in value.notes)
    assert not any("few events" in note for note in value.notes)
    one = learned.value(dict.fromkeys(learned.events.users, "o3"), level=0.999)
    assert all(row.low < 0.3 < row.high for row in one.estimates)
    assert [row.method for row in one.estimates] == [IPS, SNIPS, DIRECT, ROBUST, BETTING]


@pytest.mark.parametrize(("wrong", "mean"), [(0.025, 10.0), (0.5, 0.5)])
def test_propensities_that_cannot_be_are_said_to_be_wrong(wrong: float, mean: float) -> None:
    """Weights of a policy are 1 on average, whichever it is."""
    log = two_tastes(40, 1500, seed=12, even=True)
    found = []
    for p in (0.25, wrong):
        log["p"] = [p] * 1500
        learned = lb.learn(pl.DataFrame(log), item="offer", propensity="p", rewards="binary")
        value = learned.value()
        assert value.weights is not None
        found.append([note for note in value.notes if note.startswith(("Propens", "Out of"))])
    assert found[0] == []
    assert found[1][0].startswith("Propensities look wrong: weights are 1 on average")
    assert value.weights is not None
    assert value.weights.mean == pytest.approx(mean, rel=0.2)
    assert [note[:6] for note in found[1][1:]] == (["Out of"] if mean > 1.0 else [])
    said = found[1][-1]
    if mean > 1.0:
        assert "rewards lie between 0 and 1: the value by IPS (" in said


def test_weights_whose_mean_is_1_are_seldom_called_wrong() -> None:
    """Also where most of the weight is in events that are rare: not once in 400 logs."""
    for seed in range(400):
        own, _ = Bandit(seed).log(60, np.random.default_rng(seed))
        most = max(float(fold.weight.max()) for fold in own)
        seen = off_policy.weights(own, most)
        assert abs(seen.mean - 1.0) < WRONG * seen.error


def test_without_propensities_only_the_model_speaks_and_it_is_said_why() -> None:
    log = two_tastes(40, 1500, seed=12)
    value = lb.learn(pl.DataFrame(log), item="offer").value()
    assert [row.method for row in value.estimates] == [DIRECT]
    assert value.notes == (WITHOUT,)
    assert value.weights is None


def test_a_few_events_that_carry_it_are_warned_of() -> None:
    log = two_tastes(40, 1500, seed=12)
    log["p"] = [1e-4 if k == 3 else p for k, p in enumerate(log["p"])]
    log["reward"] = [7.5 if k == 3 else r for k, r in enumerate(log["reward"])]
    learned = lb.learn(pl.DataFrame(log, strict=False), item="offer", propensity="p")
    item = log["offer"][3]
    value = learned.value(dict.fromkeys(learned.events.users, item))
    assert any(note.startswith("A few events carry it") for note in value.notes)
    assert any("needs rewards with known bounds" in note for note in value.notes)
    assert BETTING not in [row.method for row in value.estimates]


def test_policies_that_are_none_are_refused() -> None:
    learned = lb.learn(pl.DataFrame(two_tastes(8, 200, seed=13)), item="offer", propensity="p")
    users = learned.events.users
    for policy, words in (
        ({}, "none for 8 of 8, such as 'u000'"),
        (dict.fromkeys(users, "o9"), "items of the log, got 'o9'"),
        (["o1"], "a mapping from users to items"),
    ):
        with pytest.raises(BadArgument, match=words):
            learned.value(policy)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="level"):
        learned.value(level=1.0)


def test_no_weight_is_no_number() -> None:
    """Where the policy never chose what was logged, SNIPS has nothing to say."""
    fold = Fold(np.array([2]), np.ones(1), np.zeros(1), np.ones(1), np.ones(1), np.ones(1))
    found: dict[str, PolicyEstimate] = {row.method: row for row in off_policy.estimates([fold])}
    assert math.isnan(found[SNIPS].value)
    assert found[IPS].value == 0.0
    assert off_policy.weights([fold]).effective == 0.0
