"""What is believed best for whom: against brute force, and as often right as it says."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable import Lumps
from lumpable.base.arrays import FloatMatrix
from lumpable.lumps.belief import advice, drawn, lifts, shared_draws
from lumpable.lumps.belief.beta_laws import beta_shape
from lumpable.lumps.belief.drawn import DRAWS, FEWEST, Draws
from lumpable.lumps.belief.posterior import Posterior, averaged_posterior
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import M0, OWN

SE = 5.0
"""Draws may be off by this many standard errors: p < 1e-6."""


def two_kinds(real: bool, rewards: int = 12, seed: int = 2) -> Lumps:
    """Return a learner of two groups, fitted to all it was told."""
    lumps, rng = Lumps(["a", "b", "c"], range(24), seed=seed), np.random.default_rng(seed)
    mean = np.array([[0.8, 0.6, 0.2], [0.2, 0.6, 0.8]])[np.arange(24) % 2]
    own = (0.4 if real else 0.1) * rng.standard_normal(mean.shape)
    mean = 3.0 * mean + own if real else np.clip(mean + own, 0.02, 0.98)
    rows = [(i, j) for i in range(24) for j in range(3) for _ in range(1 + rewards * (i + j) // 26)]
    drawn = [
        rng.normal(mean[i, j], 0.4) if real else float(rng.random() < mean[i, j]) for i, j in rows
    ]
    arms = [lumps.arms[j] for _, j in rows]
    lumps.tell_many({"context": [i for i, _ in rows], "arm": arms, "reward": drawn})
    core = lumps.core
    core.adopt(core.fit(core.counts(), core.last_fit))
    return lumps


def brute_force(lumps: Lumps, context: int, draws: int, m0: float, seed: int) -> FloatMatrix:
    """Draw a context's means one by one, as the model says: group, theta, then its own rewards."""
    core, seen, rng = lumps.core, averaged_posterior(lumps.core), np.random.default_rng(seed)
    member, counts, state = core.membership(np.array([context]))[0], core.counts(), core.state
    cells = slice(state.start[context], state.start[context] + state.length[context])
    own = {
        int(j): (float(n), float(s))
        for j, n, s in zip(state.arm[cells], state.pulls[cells], state.total[cells], strict=True)
    }
    drawn = np.empty((draws, core.arms))
    for d in range(draws):
        g = rng.choice(len(member), p=member)
        for j in range(core.arms):
            n, s = own.get(j, (0.0, 0.0))
            center, around = seen.mean[j, g], seen.variance[j, g]
            if counts.real:
                theta = rng.normal(center, math.sqrt(around))
                mean, variance = (m0 * theta + s) / (m0 + n), seen.spread[j, g] / (m0 + n)
                drawn[d, j] = rng.normal(mean, math.sqrt(variance))
            else:
                theta = rng.beta(*beta_shape(np.array([center]), np.array([around])))[0]
                drawn[d, j] = rng.beta(m0 * theta + s, m0 * (1.0 - theta) + n - s)
    return drawn


@pytest.mark.parametrize("real", [False, True])
def test_rows_agree_with_brute_force(real: bool) -> None:
    """With two groups and own deviations; a context in doubt, one with most rewards, and others."""
    lumps, draws = two_kinds(real), 4000
    m0 = float(lumps.core.state.value[OWN])
    assert len(lumps.groups()) == 2
    assert math.isfinite(m0)
    doubt = lumps.core.membership(np.arange(24)).max(axis=1).argmin()
    for context in (int(doubt), 23, 4):
        row, drawn = lumps.best(context), brute_force(lumps, context, draws, m0, context)
        best = lumps.arms.index(str(row.best_arm))
        own, top = drawn[:, best], drawn.max(axis=1)
        both = 1.0 / draws + 1.0 / DRAWS
        p = float((own == top).mean())
        assert abs(row.probability_best - p) < SE * math.sqrt(max(p * (1.0 - p), 0.002) * both)
        loss = top - own
        bar = SE * float(loss.std()) * math.sqrt(both) + 0.002
        assert abs(row.expected_loss - loss.mean()) < bar
        assert abs(row.mean - own.mean()) < SE * float(own.std()) * math.sqrt(both) + 0.003
        tail = SE * math.sqrt(0.05 * 0.95 * both)
        assert abs(float((own < row.low).mean()) - 0.05) < tail
        assert abs(float((own > row.high).mean()) - 0.05) < tail


def test_rows_agree_with_exact_integrals() -> None:
    """Contexts alike and one group: two Beta laws, integrated on a fine grid."""
    lumps = Lumps(["a", "b"], range(5))
    rows = [(t % 5, "ab"[t // 30], float(t % (3 + t // 30) == 0)) for t in range(60)]
    lumps.tell_many({"context": [r[0] for r in rows], "arm": [r[1] for r in rows],
                     "reward": [r[2] for r in rows]})  # fmt: skip
    lumps.core.state.value[[M0, OWN]] = math.inf
    seen, row = averaged_posterior(lumps.core), lumps.best("new")
    laws: list[Any] = [
        stats.beta(*beta_shape(seen.mean[j, 0], seen.variance[j, 0])) for j in range(2)
    ]
    x = np.linspace(0.0, 1.0, 20_001)
    a, b = (law.cdf(x) for law in laws)
    p = float((laws[0].pdf(x) * b).mean())
    top = float((1.0 - a * b).mean())  # E max, as the integral of 1 - F
    assert row.best_arm == "a"
    assert abs(row.probability_best - p) < SE * math.sqrt(p * (1.0 - p) / DRAWS)
    sd = float(np.sqrt(laws[0].var() + laws[1].var()))
    assert abs(row.expected_loss - (top - row.mean)) < SE * sd / math.sqrt(DRAWS)
    for end, q in ((row.low, 0.05), (row.high, 0.95)):
        assert abs(laws[0].cdf(end) - q) < SE * math.sqrt(q * (1 - q) / DRAWS)
    assert lumps.best(0).probability_best == pytest.approx(row.probability_best, abs=1e-12)


@pytest.mark.parametrize("real", [False, True])
def test_draws_have_the_moments_that_are_believed(real: bool) -> None:
    """Factors included: contexts that differ along a direction."""
    rng, S, K = np.random.default_rng(4), 60, 10
    lumps = Lumps(range(K), range(S)) if real else two_kinds(False)
    if real:
        f, loading = rng.normal(size=S), rng.normal(size=K)
        cells = [(i, j) for i in range(S) for j in rng.permutation(K)[:7]]
        values = [float(rng.normal(f[i] * loading[j], 0.1)) for i, j in cells]
        lumps.tell_many({"context": [i for i, _ in cells], "arm": [int(j) for _, j in cells],
                         "reward": values})  # fmt: skip
        assert lumps.core.state.loading.shape[1] > 0
    draws = Draws(lumps.core, 3, lumps.core.arms)
    for context in (0, 7, 23):
        mean = draws.believed(context)
        drawn = draws.means(context, np.arange(len(mean)), mean)
        sd = np.sqrt(draws.variance(context, mean))
        assert (np.abs(drawn.mean(axis=0) - mean) < SE * sd / math.sqrt(DRAWS) + 1e-3).all()
        assert np.allclose(drawn.std(axis=0), sd, rtol=0.15)


def test_one_row_is_that_of_the_table_and_reading_changes_nothing() -> None:
    lumps = two_kinds(False)
    before = {name: value.tobytes() for name, value in lumps.core.state._asdict().items()}
    table = lumps.policy()
    assert [row.context for row in table] == list(range(24))
    assert all(lumps.best(row.context) == row for row in table)
    for row, member in zip(table, lumps.members(), strict=True):
        assert row.best_arm == member.best_arm
        assert row.mean == pytest.approx(member.expected_reward)
        assert row.low < row.mean < row.high
        assert row.runner_up != row.best_arm
        assert row.runner_up_mean is not None
        assert row.runner_up_mean <= row.mean
        assert row.expected_loss >= 0.0
    wide, narrow = lumps.best(3, level=0.99), lumps.best(3, level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert lumps.best("new").context == "new"
    assert lumps.best("new").mean == lumps.best("newer").mean
    lumps.lift()
    for name, value in lumps.core.state._asdict().items():
        if name not in ("weight", "mean", "spread", "cover", "factor", "score"):
            assert value.tobytes() == before[name], name


def test_large_tables_take_fewer_draws() -> None:
    """Small ones all the same number, so that a row alone is that of the table."""
    core = Lumps(["a"]).core
    assert Draws(core, 1, 200).number == Draws(core, 1000, 200).number == DRAWS
    assert Draws(core, 10_000, 100).number == 400
    assert Draws(core, 20_000, 200).number == FEWEST


def test_only_arms_that_may_be_chosen_are_advised() -> None:
    lumps = two_kinds(False)
    first = lumps.best(0)
    second = lumps.best(0, allowed=[str(arm) for arm in lumps.arms if arm != first.best_arm])
    assert second.best_arm == first.runner_up
    assert second.mean == first.runner_up_mean
    alone = lumps.best(0, ["b"])
    assert (alone.best_arm, alone.runner_up, alone.runner_up_mean) == ("b", None, None)
    assert (alone.probability_best, alone.expected_loss) == (1.0, 0.0)
    assert {row.best_arm for row in lumps.policy(["a", "b"])} <= {"a", "b"}
    lumps.retire_arm(first.best_arm)
    assert lumps.best(0).best_arm == first.runner_up
    assert lumps.lift().one_arm in lumps.arms
    with pytest.raises(ValueError, match="expected known arms"):
        lumps.best(0, ["d"])
    for level in (0.0, 1.0, math.nan, "0.9"):
        with pytest.raises(ValueError, match=r"level: expected a probability in \(0, 1\)"):
            lumps.best(0, level=level)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"level: expected a probability in \(0, 1\)"):
            lumps.lift(level=level)  # type: ignore[arg-type]


def test_without_arms_or_contexts() -> None:
    for call in (Lumps().policy, Lumps(contexts=["ann"]).lift, lambda: Lumps().best("ann")):
        with pytest.raises(ValueError, match="expected an arm that may be chosen, but there are n"):
            call()
    lumps = Lumps(["red", "green"])
    assert lumps.policy() == []
    with pytest.raises(ValueError, match="contexts: expected at least one known context, got none"):
        lumps.lift()
    row = lumps.best("ann")
    assert row.mean == row.runner_up_mean == 0.5
    assert abs(row.probability_best - 0.5) < SE * math.sqrt(0.25 / DRAWS)


# --- Lift -------------------------------------------------------------------------------------


def test_where_one_arm_is_best_for_all_there_is_no_lift() -> None:
    lumps = Lumps(["red", "green"], range(6))
    for t in range(240):
        lumps.tell(t % 6, ("red", "green")[t % 2], float(t % 2 == 0))
    found = lumps.lift()
    assert (found.one_arm, found.lift, found.low, found.high) == ("red", 0.0, 0.0, 0.0)
    assert found.probability_positive == 0.0
    assert (found.relative, found.relative_low, found.relative_high) == (0.0, 0.0, 0.0)


def test_the_lift_is_what_was_believed_weighted_by_visits() -> None:
    lumps = two_kinds(False)
    found, table = lumps.lift(), lumps.policy()
    visits = np.array([row.rewards for row in lumps.members()]) + 1.0
    mean = lumps.core.posterior_means(np.arange(24))
    one = visits @ mean / visits.sum()
    assert found.one_arm == lumps.arms[int(one.argmax())]
    assert found.one_mean == pytest.approx(one.max())
    assert found.policy_mean == pytest.approx(visits @ [row.mean for row in table] / visits.sum())
    assert found.lift == pytest.approx(found.policy_mean - found.one_mean)
    assert found.low < found.lift < found.high
    assert found.relative == pytest.approx(found.lift / found.one_mean)
    assert found.probability_positive > 0.9


def test_a_lift_over_nothing_has_no_ratio() -> None:
    lumps = Lumps(["red", "green"], range(6))
    for t in range(80):
        lumps.tell(t % 6, ("red", "green")[t % 2], -1.0 - float((t % 6 < 3) == t % 2) + 0.01 * t)
    found = lumps.lift()
    assert (found.relative, found.relative_low, found.relative_high) == (None, None, None)


# --- Calibration ------------------------------------------------------------------------------


def drawn_world(rng: np.random.Generator, real: bool) -> FloatMatrix:
    """Draw the means of 40 contexts of three groups from the model."""
    group = rng.integers(3, size=40)
    if real:
        return rng.normal(rng.normal(0.0, 1.0, (3, 4))[group], 0.3)
    p = rng.beta(4.0, 4.0, 4)
    theta = np.clip(rng.beta(3.0 * p, 3.0 * (1.0 - p), (3, 4)), 1e-3, 1.0 - 1e-3)[group]
    return rng.beta(20.0 * theta, 20.0 * (1.0 - theta))


@pytest.mark.parametrize("worlds", [12, pytest.param(240, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("real", [False, True])
def test_advice_is_right_as_often_as_it_says(real: bool, worlds: int) -> None:
    """One context of each world, some of its arms never tried: binomial laws, p < 1e-6."""
    right, said, loss, inside, lifted = [], [], [], [], []
    for seed in range(worlds):
        rng = np.random.default_rng([seed, 7])
        mu = drawn_world(rng, real)
        context, arm = np.repeat(np.arange(40), 8), rng.integers(4, size=320)
        chance = rng.standard_normal(320) if real else rng.random(320)
        reward = mu[context, arm] + chance if real else (chance < mu[context, arm]).astype(float)
        lumps = Lumps(range(4), range(40), seed=seed)
        lumps.tell_many({"context": context, "arm": arm, "reward": reward})
        row, found = lumps.best(seed % 40), lumps.lift()
        truth = mu[seed % 40]
        best: Any = row.best_arm
        right.append(best == truth.argmax())
        said.append(row.probability_best)
        loss.append(truth.max() - truth[best] - row.expected_loss)
        inside.append(row.low <= truth[best] <= row.high)
        policy = lumps.core.posterior_means(np.arange(40)).argmax(axis=1)
        more = mu[np.arange(40), policy] - mu[:, int(found.one_arm)]
        lifted.append(found.low <= more.mean() <= found.high)
    p = np.array(said)
    assert p.std() > 0.1  # some are sure and some are not
    assert abs(np.sum(right) - p.sum()) < SE * math.sqrt(float((p * (1.0 - p)).sum()))
    assert abs(np.mean(loss)) < SE * float(np.std(loss)) / math.sqrt(worlds)
    for held in (inside, lifted):
        assert stats.binomtest(int(np.sum(held)), worlds, 0.9).pvalue > 1e-6


# --- In comparisons ---------------------------------------------------------------------------


def test_a_learner_with_names_can_still_be_played() -> None:
    """Its policy is for people; what it is measured by is what it plays."""
    world = lb.worlds.lumpable(6, 4, 2, noise="bernoulli", seed=1)
    for kind in (lb.Lumps, lb.PolicyFinder):
        learner: Any = kind(range(4), range(6), seed=1)
        played = lb.play(learner, world, horizon=200, seed=1)
        assert played.rounds == 200


def test_contexts_settled_in_one_group_are_drawn_once_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows and lift are those of drawing each context, up to chance; `best` has the same rows."""
    lumps, rng = Lumps(["a", "b"], rewards="binary"), np.random.default_rng(7)
    context, arm = np.repeat(np.arange(30), 60), np.tile([0, 1], 900)
    context[-59:] = 99  # somebody who is in doubt
    mean = np.where(context % 2 == arm, 0.8, 0.2)
    reward = (rng.random(1800) < mean).astype(float)
    table = {"context": context, "arm": np.array(["a", "b"])[arm], "reward": reward}
    lumps.tell_many({name: column[:1742] for name, column in table.items()})
    core, everybody = lumps.core, np.arange(len(lumps.contexts))
    core.adopt(core.fit(core.counts(), None))
    assert math.isinf(core.state.value[M0])
    settled = Draws(core, 1, 1).settled(everybody)
    assert set(settled.tolist()) == {-1, 0, 1}
    rows, found = lumps.policy(), lumps.lift()
    assert all(lumps.best(row.context) == row for row in rows)
    monkeypatch.setattr(drawn, "SURE", 2.0)  # nobody is settled
    each, apart = lumps.policy(), lumps.lift()
    assert rows != each
    for one, two in zip(rows, each, strict=True):
        assert (one.context, one.best_arm, one.runner_up) == (
            two.context,
            two.best_arm,
            two.runner_up,
        )
        assert one.mean == pytest.approx(two.mean, rel=1e-5)
        for name in ("low", "high", "expected_loss"):
            wide = two.high - two.low
            assert abs(getattr(one, name) - getattr(two, name)) < SE * wide / math.sqrt(DRAWS)
    for name in ("lift", "low", "high"):
        wide = apart.high - apart.low
        assert abs(getattr(found, name) - getattr(apart, name)) < SE * wide / math.sqrt(DRAWS)


def test_settled_contexts_that_may_have_other_arms_have_rows_of_their_own() -> None:
    lumps, rng = Lumps(["a", "b", "c"], rewards="binary"), np.random.default_rng(7)
    context, arm = np.repeat(np.arange(30), 60), np.tile([0, 1, 2], 600)
    mean = np.where(context % 2 == arm, 0.8, 0.2)
    reward = (rng.random(1800) < mean).astype(float)
    lumps.tell_many({"context": context, "arm": np.array(list("abc"))[arm], "reward": reward})
    core, everybody = lumps.core, np.arange(len(lumps.contexts))
    settled = Draws(core, 1, 1).settled(everybody)
    assert {0, 1} <= set(settled.tolist())
    masks = [np.array(mask) for mask in ([True] * 3, [True, False, True], [False, True, True])]
    allowed = [masks[k % 3] for k in everybody.tolist()]
    many = advice.advise(core, everybody, allowed, context_names=range(30), arm_names="abc")
    for k, row in enumerate(many):
        alone = advice.advise(
            core, everybody[[k]], [allowed[k]], context_names=[k], arm_names="abc"
        )
        assert alone == [row]
    assert len({(row.best_arm, row.runner_up) for row in many}) > 2


# --- In bulk ----------------------------------------------------------------------------------


def many_kinds(real: bool, contexts: int = 120) -> Lumps:
    """Return a learner of contexts that deviate from three groups, with arms never tried."""
    rng = np.random.default_rng([contexts, real])
    theta, context = rng.beta(3.0, 3.0, (3, 8)), np.repeat(np.arange(contexts), 12)
    arm, group = rng.integers(8, size=len(context)), rng.integers(3, size=contexts)
    if real:
        reward = rng.normal(rng.normal(2.0 * theta[group], 0.3)[context, arm], 0.4)
    else:
        mu = rng.beta(8.0 * theta[group], 8.0 * (1.0 - theta[group]))
        reward = (rng.random(len(context)) < mu[context, arm]).astype(float)
    lumps = Lumps(range(8), range(contexts), seed=1)
    lumps.tell_many({"context": context, "arm": arm, "reward": reward})
    assert math.isfinite(lumps.core.state.value[OWN])
    return lumps


@pytest.mark.parametrize("real", [False, True])
def test_shared_draws_have_the_law_of_each_contexts_own(real: bool) -> None:
    """Rows of 40 contexts against draws of their own: p < 1e-6 for each, by normal laws."""
    lumps = many_kinds(real)
    draws = Draws(lumps.core, len(lumps.contexts), lumps.core.arms)
    both = math.sqrt(2.0 / DRAWS)
    for context in range(40):
        row, mean = lumps.best(context), draws.believed(context)
        best, own_mean, low, high, p, runner_up, next_mean, loss = advice._compare(
            draws, context, mean, 0.9, lumps.arms
        )
        assert (row.best_arm, row.runner_up) == (best, runner_up)
        assert (row.mean, row.runner_up_mean) == pytest.approx((own_mean, next_mean))
        assert abs(row.probability_best - p) < SE * both * math.sqrt(max(p * (1.0 - p), 0.002))
        for end, other in ((row.low, low), (row.high, high), (row.expected_loss, loss)):
            assert abs(end - other) < SE * both * (high - low)


@pytest.mark.parametrize("real", [False, True])
def test_rows_do_not_depend_on_how_they_are_cut(
    real: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A context alone, in a table, in small blocks, and with draws that are forgotten."""
    lumps = many_kinds(real, 60)
    rows = lumps.policy()
    assert [lumps.best(context) for context in range(20)] == rows[:20]
    monkeypatch.setattr(shared_draws, "BLOCK", 80)
    assert lumps.policy() == rows
    monkeypatch.setattr(shared_draws, "KEPT", 300_000)
    assert lumps.policy() == rows


@pytest.mark.parametrize("kind", ["coins", "real", "factors"])
def test_a_lift_at_once_is_that_of_each_context(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same means, and the same ends up to the chance of 2,000 draws."""
    if kind == "factors":
        rng, context = np.random.default_rng(3), np.repeat(np.arange(300), 8)
        arm, f = rng.integers(10, size=2400), rng.normal(size=(300, 1))
        lumps, mu = Lumps(range(10), range(300)), f @ rng.normal(size=(1, 10))
        reward = rng.normal(mu[context, arm], 0.3)
        lumps.tell_many({"context": context, "arm": arm, "reward": reward})
        assert lumps.core.effects.shape[1] > 0
    else:
        lumps = many_kinds(kind == "real", 300)
    for part in (1.0, 1e-9):  # with groups' means as doubtful as they are, and known: own chance
        monkeypatch.setattr(drawn, "averaged_posterior", partial(surer, part))
        monkeypatch.setattr(lifts, "ONE_BY_ONE", 300)
        each = lumps.lift()
        monkeypatch.setattr(lifts, "ONE_BY_ONE", 0)
        found = lumps.lift()
        assert (found.one_arm, found.lift) == (each.one_arm, each.lift)
        wide, both = each.high - each.low, math.sqrt(2.0 / DRAWS)
        for name in ("low", "high"):
            assert abs(getattr(found, name) - getattr(each, name)) < SE * wide * both
        assert found.high - found.low == pytest.approx(wide, rel=SE / math.sqrt(DRAWS))


def surer(part: float, learner: Levels) -> Posterior:
    """Return what is believed with a part of the variance."""
    seen = averaged_posterior(learner)
    return seen._replace(variance=part * seen.variance)


@pytest.mark.parametrize("successes", [0, 1])
def test_intervals_hold_their_means(successes: int) -> None:
    """Also where nothing ever worked: most draws are next to 0, and few make up the mean."""
    lumps = Lumps(list("abcd"), rewards="binary")
    for user in range(20):
        for k in range(20):
            lumps.tell(user, "abcd"[k % 4], float(user * 20 + k < successes))
    for row in lumps.policy():
        assert 0.0 <= row.low <= row.mean <= row.high
    lift = lumps.lift()
    assert lift.low <= lift.lift <= lift.high
