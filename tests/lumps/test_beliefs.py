"""What the learner believes: its laws, its words, and that its intervals hold what they promise."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from lumpable import worlds
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.lumps.belief import alternatives, beliefs, beta_laws, posterior, residuals, summary
from lumpable.lumps.belief.strengths_doubted import second_moments
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import fitted, search
from lumpable.lumps.model.counts import sample
from lumpable.lumps.model.evidence import MOST_LOST, lost_part
from lumpable.lumps.model.factors import low_rank
from lumpable.lumps.model.scores import scored
from lumpable.lumps.model.worth import worth
from lumpable.runs.playing import play
from lumpable.worlds.world import World

UNLIKELY = 1e-9
"""A test fails by chance with less than this probability."""


def told(mean: FloatMatrix, rounds: int, seed: int, sd: float = 0.0) -> ThreeLevels:
    """Teach a learner arms that are drawn uniformly; Bernoulli rewards unless there is an sd.

    It fits once, at the end.
    """
    S, K = mean.shape
    rng = np.random.default_rng([seed, 5])
    learner = ThreeLevels(S, K, seed=seed)
    contexts, arms = rng.integers(S, size=rounds), rng.integers(K, size=rounds)
    mu = mean[contexts, arms]
    rewards = rng.normal(mu, sd) if sd else (rng.random(rounds) < mu).astype(float)
    for i, j, y in zip(contexts.tolist(), arms.tolist(), rewards.tolist(), strict=True):
        learner.tell(i, j, y)
        learner.next_fit = learner.state.due[0] = rounds + 1
    learner.adopt(fitted.fit(learner.counts()))
    return learner


def grouped(seed: int, deviation: float = 0.0) -> World:
    return worlds.lumpable(
        40, 8, 3, noise="bernoulli", means="uniform", deviation=deviation, seed=seed
    )


@pytest.fixture(scope="module")
def learner() -> ThreeLevels:
    found = told(grouped(1).mean, 8000, 1)
    assert found.last_fit is not None
    assert found.last_fit.groups == 3
    return found


@pytest.fixture(scope="module")
def directed() -> ThreeLevels:
    """Return a learner that was made to believe in directions."""
    found = told(grouped(1).mean, 2000, 1)
    counts = found.counts()
    one = search.one_group(counts)
    found.adopt(low_rank(counts, one, replace(one, evidence=-math.inf)))
    return found


# --- Laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_quantiles_of_beta_laws(level: float) -> None:
    shapes = np.array(list(itertools.product([0.02, 0.3, 1.0, 2.5, 40.0, 3e3, 1e6], repeat=2)))
    a, b = shapes.T
    tails = [(1 - level) / 2, (1 + level) / 2]
    for q, found in zip(tails, beta_laws.beta_quantiles(a, b, tails), strict=True):
        assert np.abs(found - stats.beta.ppf(q, a, b)).max() < 1e-3
        usual = (a >= 0.3) & (b >= 0.3)
        away = np.abs(found - stats.beta.ppf(q, a, b)) / stats.beta.std(a, b)
        assert away[usual].max() < 0.03


def test_a_mean_that_can_hardly_be_above_0_has_an_interval_at_0() -> None:
    shape = beta_laws.beta_shape(np.array([1e-9]), np.array([1e-3]))
    low, high = beta_laws.beta_quantiles(*shape, [0.05, 0.95])
    assert low[0] == high[0] == 0.0


def test_sizes_are_quantiles_of_the_exact_law() -> None:
    """Against the sum over all sets of members, sure ones among them."""
    p = np.array([0.0, 1.0, 0.9, 0.3, 0.5, 0.07, 1.0])
    mass = np.zeros(len(p) + 1)
    for members in itertools.product([0, 1], repeat=len(p)):
        mass[sum(members)] += np.prod(np.where(members, p, 1 - p))
    below = np.cumsum(mass)
    for level in (0.3, 0.8, 0.95):
        low = int(np.argmax(below >= (1 - level) / 2))
        high = int(np.argmax(below >= (1 + level) / 2))
        assert posterior.sizes(p, level) == (low, high)


def test_sizes_of_many_are_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    p = np.random.default_rng(3).random(3000)
    exact = posterior.sizes(p, 0.9)
    monkeypatch.setattr(posterior, "EXACT_SIZES", 0)
    low, high = posterior.sizes(p, 0.9)
    assert low <= exact[0] <= low + 2
    assert high - 2 <= exact[1] <= high


def test_doubtful_members_widen_intervals(learner: ThreeLevels) -> None:
    """Without doubt nothing is lost; with doubt something is, and never all."""
    found = posterior.posterior_now(learner)
    firm = np.eye(3)[np.argmax(found.member, axis=1)]
    law = found.mean, found.spread, found.variance, found.m0
    assert (lost_part(found.counts, firm, *law) == 0).all()
    doubtful = lost_part(found.counts, 0.8 * firm + 0.2 / 3, *law)
    assert (doubtful >= 0).all()
    assert 0.1 < doubtful.max() <= MOST_LOST


# --- Rows -----------------------------------------------------------------------------------------


def test_groups_are_those_of_the_world(learner: ThreeLevels) -> None:
    world = grouped(1)
    rows = beliefs.groups(learner, arm_names=list("abcdefgh"))
    assert sum(row.size for row in rows) == pytest.approx(40)
    assert sum(row.share for row in rows) == pytest.approx(1)
    for row in rows:
        inside = learner.labels() == row.group
        mean = world.mean[inside][0]
        assert mean["abcdefgh".index(row.best_arm)] > mean.max() - 0.05
        assert row.size_low - 1 < row.size < row.size_high + 1
        assert row.low < row.mean < row.high
        assert row.probability_best > 0.5


def test_the_probability_of_the_best_arm_is_that_of_the_beta_laws() -> None:
    """Two arms: P(theta_0 > theta_1), by quadrature, within five standard errors."""
    learner = ThreeLevels(1, 2)
    for reward in (1.0, 1.0, 0.0, 1.0):
        learner.tell(0, 0, reward)
        learner.tell(0, 1, 1.0 - reward)
    found = posterior.posterior_now(learner)
    a, b = beta_laws.beta_shape(found.mean[:, 0], found.variance[:, 0])
    x = np.linspace(0, 1, 20_001)[1:-1]
    exact = (stats.beta.pdf(x, a[0], b[0]) * stats.beta.cdf(x, a[1], b[1])).mean()
    row = beliefs.groups(learner)[0]
    assert row.best_arm == 0
    error = math.sqrt(exact * (1 - exact) / posterior.DRAWS)
    assert abs(row.probability_best - exact) < 5 * error + 1e-3


def test_rows_of_arms_and_members(learner: ThreeLevels) -> None:
    arms = beliefs.means(learner)
    assert len(arms) == 3 * 8
    assert sum(row.pulls for row in arms) == pytest.approx(learner.tells)
    wide = {(row.group, row.arm): row for row in beliefs.means(learner, 0.99)}
    for row in arms:
        other = wide[row.group, row.arm]
        assert other.low < row.low < row.mean < row.high < other.high
    members = beliefs.members(learner, context_names=[f"c{i}" for i in range(40)])
    assert [row.context for row in members] == [f"c{i}" for i in range(40)]
    assert sum(row.rewards for row in members) == learner.tells
    policy = learner.policy()
    for i, member in enumerate(members):
        assert sum(member.posterior) == pytest.approx(1)
        assert member.group is not None
        assert member.posterior[member.group] == member.probability == max(member.posterior)
        assert member.best_arm == policy[i]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | np.ndarray) else value


def test_rows_are_frozen_and_turn_into_frames(learner: ThreeLevels) -> None:
    tables: list[list[Any]] = [
        beliefs.groups(learner), beliefs.means(learner), beliefs.members(learner),
        beliefs.expected(learner, 3), alternatives.alternatives(learner),
        [residuals.residuals(learner)],
    ]  # fmt: skip
    for rows in tables:
        names = [field.name for field in fields(rows[0])]
        for frame in (pd.DataFrame(rows), pl.DataFrame(rows).to_pandas()):
            assert list(frame.columns) == names
            assert len(frame) == len(rows)
            for name in names:
                assert _plain(frame[name].tolist()[-1]) == getattr(rows[-1], name)
        with pytest.raises(FrozenInstanceError):
            setattr(rows[0], names[0], None)


def test_contexts_that_deviate_have_deviations() -> None:
    deviating = told(grouped(2, deviation=0.15).mean, 20_000, 2)
    assert deviating.last_fit is not None
    assert math.isfinite(deviating.last_fit.m0)
    found = [row.deviation for row in beliefs.members(deviating)]
    assert 0.01 < np.std(found) < 0.2
    alike = told(grouped(1).mean, 8000, 1)
    assert all(abs(row.deviation) < 1e-12 for row in beliefs.members(alike))


def test_together(learner: ThreeLevels) -> None:
    """Symmetric, one for the same context, right where sure; pairs of arrays broadcast."""
    every = np.arange(40)
    table = beliefs.together(learner, every[:, None], every)
    assert table.shape == (40, 40)
    assert (table == table.T).all()
    assert (np.diag(table) == 1).all()
    other = ~np.eye(40, dtype=bool)
    assert beliefs.together(learner, 3, 17) == table[3, 17]
    assert isinstance(beliefs.together(learner, 3, 17), float)
    same = grouped(1).group[:, None] == grouped(1).group
    assert same[other & (table > 0.9)].mean() >= 0.9


@pytest.mark.parametrize("wrong", [40, -1, 0.5, "ann", [0, 40]])
def test_together_names_what_is_wrong(learner: ThreeLevels, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"b: expected contexts, whole numbers in 0 \.\. 39, got"):
        beliefs.together(learner, 0, wrong)


def test_levels_and_names_are_checked(learner: ThreeLevels) -> None:
    for level in (0.0, 1.0, 90, math.nan, "0.9"):
        with pytest.raises(ValueError, match="level: expected a probability in"):
            beliefs.groups(learner, level)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="level: expected a probability in"):
            beliefs.means(learner, level)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="arm_names: expected at least 8 names, got 2"):
        beliefs.means(learner, arm_names=["a", "b"])
    with pytest.raises(ValueError, match="context_names: expected at least 40 names, got 1"):
        beliefs.members(learner, context_names=["a"])


def test_reading_changes_nothing(learner: ThreeLevels, directed: ThreeLevels) -> None:
    """Asked twice, all answers are the same, and the learner is the one it was."""
    reads: tuple[Callable[[ThreeLevels], object], ...] = (
        beliefs.groups, beliefs.means, beliefs.members, alternatives.alternatives, summary.summary,
    )  # fmt: skip
    for one in (learner, directed):
        before = pickle.dumps(one.state)
        for read in (*reads, residuals.residuals):
            assert read(one) == read(one)
        assert pickle.dumps(one.state) == before


def test_one_context_has_none_beside_it() -> None:
    learner = ThreeLevels(3, 2)
    for _ in range(20):
        learner.tell(1, 0, 1.0)
    assert summary.summary(learner).startswith("Only one context was seen")
    learner.tell(2, 0, 1.0)
    assert "Only one" not in summary.summary(learner)


def test_nothing_told() -> None:
    learner = ThreeLevels(3, 2)
    assert summary.summary(learner) == "Nothing was seen yet."
    assert beliefs.members(learner) == []
    assert alternatives.alternatives(learner) == []
    assert [row.size for row in beliefs.groups(learner)] == [0.0]
    assert [(row.pulls, row.mean) for row in beliefs.means(learner)] == [(0.0, 0.5)] * 2
    assert residuals.residuals(learner).p_value == 1.0


def test_real_rewards() -> None:
    """Intervals are normal, and scale with the rewards."""
    world = grouped(1)
    rows = [beliefs.means(told(c * world.mean, 4000, 1, sd=0.3 * c)) for c in (1.0, 1000.0)]
    for one, large in zip(*rows, strict=True):
        assert one.mean - one.low == pytest.approx(one.high - one.mean)
        assert large.mean == pytest.approx(1000 * one.mean, rel=1e-6)
        assert large.high - large.low == pytest.approx(1000 * (one.high - one.low))


def test_intervals_of_real_rewards_are_those_of_worth_and_doubt_widens_them() -> None:
    """Without doubt nothing is lost; with doubt, what Louis (1982) says, one mean at a time."""
    learner = told(grouped(1).mean, 4000, 1, sd=0.3)
    assert learner.last_fit is not None
    assert learner.last_fit.scale is not None
    label, fitted_worth = learner.labels(), learner.last_fit.scale.worth
    assert learner.last_fit.groups == 3
    learner.state.log_weight[:] = np.log(np.maximum(np.eye(3)[label], 1e-300))
    sure = posterior.posterior_now(learner)
    # 160 rewards of each mean: strengths, which are worth a few of them, matter by a few percent.
    assert sure.variance == pytest.approx(posterior.ESTIMATED * fitted_worth.variances, rel=0.05)
    assert sure.mean == pytest.approx(fitted_worth.means, rel=1e-3)
    learner.state.log_weight[:] = np.log(0.8 * np.eye(3)[label] + 0.2 / 3)
    found, counts = posterior.posterior_now(learner), learner.counts()
    cells, member = scored(counts, learner.last_fit.scale.score), found.member
    law = worth(counts, cells, member, math.inf, np.zeros((counts.contexts, 0)))
    lost = np.zeros((8, 3))
    for c, j in enumerate(counts.arm):
        doubt = member[counts.row[c]] * (1.0 - member[counts.row[c]])
        lost[j] += doubt * ((cells.s[c] - cells.n[c] * law.means[j]) / law.noise[j]) ** 2
    part = np.minimum(lost * law.variances, MOST_LOST)
    assert found.mean == pytest.approx(law.means)
    moments = second_moments(counts, cells, member, law)
    assert found.variance == pytest.approx(posterior.ESTIMATED * moments / (1.0 - part))
    assert (found.variance > 1.5 * sure.variance).mean() > 0.5


# --- How likely other models are ------------------------------------------------------------------


def test_the_right_number_of_groups_is_the_likeliest(learner: ThreeLevels) -> None:
    rows = alternatives.alternatives(learner)
    models = {row.model: row for row in rows}
    assert len(models) == len(rows)
    assert {row.groups for row in rows} == {1, 2, 3, 4}
    assert any(row.rank > 0 for row in rows)
    own = [row for row in rows if row.believed]
    assert len(own) == 1
    assert (own[0].groups, own[0].difference) == (3, 0.0)
    assert all(row.difference < 0 for row in rows if row.groups in (1, 2, 4))
    kinds = {math.isinf(row.m0) for row in rows if row.groups == 3}
    assert kinds == {True, False}
    for row in rows:
        assert row.difference == row.log_evidence - own[0].log_evidence


def test_evidence_of_directions(directed: ThreeLevels) -> None:
    rows = alternatives.alternatives(directed)
    assert rows[0].believed
    assert rows[0].rank > 0
    assert "along which contexts differ" in rows[0].model


# --- In words -------------------------------------------------------------------------------------


def test_the_summary_says_what_was_found(learner: ThreeLevels, directed: ThreeLevels) -> None:
    said = summary.summary(learner)
    assert said.startswith("3 groups explain ")
    assert "of the difference between contexts" in said
    assert summary.summary(directed).startswith("Contexts differ along ")
    alike = told(np.tile([0.2, 0.5, 0.8], (30, 1)), 3000, 1)
    assert summary.summary(alike).startswith("Contexts look alike")
    few = told(np.tile([0.2, 0.5, 0.8], (30, 1)), 20, 1)
    assert summary.summary(few).endswith("too little was seen of each context.")
    apart = told(np.random.default_rng(4).random((30, 4)), 6000, 1)
    assert apart.last_fit is not None
    if apart.last_fit.groups == 1 and apart.last_fit.rank == 0:
        assert summary.summary(apart).startswith("Groups not yet identified: contexts differ")


def test_open_memberships_are_said_to_be_open() -> None:
    learner = told(grouped(1).mean, 8000, 1)
    learner.state.log_weight[:] *= 1e-9
    said = summary.summary(learner)
    assert said.startswith("3 groups are likely, but who is in which is open")
    assert "33 %" in said
    assert "the likeliest group of each account has" in summary.summary(learner, "account")


def test_the_explained_share_is_that_of_the_world() -> None:
    """Groups at 0.3 and 0.7, deviations with sd 0.1: 4/5 of the variance is between groups."""
    rng = np.random.default_rng(6)
    group = np.arange(100) % 2
    centre = np.where(rng.permuted(np.tile([0, 1], (10, 1)), axis=1)[:, group].T, 0.7, 0.3)
    mean = np.clip(centre + 0.1 * rng.standard_normal((100, 10)), 0, 1)
    between, within = summary.explained_variance(told(mean, 60_000, 6))
    assert between == pytest.approx(0.04, rel=0.15)
    assert within == pytest.approx(0.01, rel=0.4)


# --- What is left over ----------------------------------------------------------------------------


def test_missing_groups_leave_a_direction_over() -> None:
    """A learner that was made to believe in two groups of four."""
    world = worlds.lumpable(80, 10, 4, noise="bernoulli", seed=2)
    learner = told(world.mean, 8000, 2)
    counts = learner.counts()
    half = np.eye(2)[world.group // 2] * 0.9 + 0.05
    learner.adopt(search.settle(counts, half, search.one_group(counts)))
    found = residuals.residuals(learner)
    assert found.p_value == 1 / 40
    assert "the residuals have a leading direction" in found.words
    learner.adopt(search.fit(counts))
    assert residuals.residuals(learner).statistic < 0.75 * found.statistic


@pytest.mark.parametrize("sd", [0.0, 0.5])
def test_the_right_model_leaves_noise_over(sd: float) -> None:
    """P-values of 1/40 come with a probability of 1/40, up to what an exact bound allows."""
    many = 20
    low = sum(
        residuals.residuals(told(grouped(seed, 0.1 * (seed % 2)).mean, 2500, seed, sd)).p_value
        <= 1 / 40
        for seed in range(many)
    )
    assert stats.binom.sf(low - 1, many, 1 / 40) > UNLIKELY


# --- Calibration ----------------------------------------------------------------------------------


def covered(learner: ThreeLevels, mean: FloatMatrix, group: IntVector) -> list[bool]:
    """Return whether intervals of arms with at least five pulls hold their group's mean.

    The group of a found one is that of most of its members.
    """
    label, held = learner.labels(), []
    for row in beliefs.means(learner):
        inside = group[label == row.group]
        if len(inside) and row.pulls >= 5:
            truth = mean[group == np.bincount(inside).argmax()][0, row.arm]
            held.append(bool(row.low <= truth <= row.high))
    return held


def test_intervals_hold_what_they_promise() -> None:
    """Nine of ten intervals hold the truth, up to an exact bound on either side."""
    held = []
    for seed in range(30):
        world = grouped(seed)
        held += covered(told(world.mean, 4000, seed), world.mean, world.group)
    assert len(held) > 500
    assert stats.binom.cdf(sum(held), len(held), 0.9) > UNLIKELY
    assert stats.binom.sf(sum(held) - 1, len(held), 0.9) > UNLIKELY


@pytest.mark.nightly
def test_intervals_hold_on_data_of_its_own() -> None:
    """At least 87 % of 90 % intervals hold although its choices follow rewards, up to a bound.

    Pairs said to be together are so in the median world: two groups with the same best arm may be
    found as one, and then a third of its pairs or more are not.
    """
    held, pairs = [], []
    for seed in range(20):
        world = worlds.lumpable(200, 20, 4, noise="bernoulli", seed=seed)
        learner = ThreeLevels(200, 20, seed=seed)
        play(learner, world, horizon=20_000, seed=100 + seed)
        if learner.state.loading.shape[1] > 0:
            continue
        held += covered(learner, world.mean, world.group)
        a, b = np.triu_indices(200, 1)
        sure = beliefs.together(learner, a, b) >= 0.9
        pairs.append(float((world.group[a] == world.group[b])[sure].mean()))
    assert stats.binom.cdf(sum(held), len(held), 0.87) > UNLIKELY
    assert np.median(pairs) >= 0.9


# --- Large tables -----------------------------------------------------------------------------


def test_a_sample_has_whole_contexts(learner: ThreeLevels) -> None:
    counts = learner.counts()
    some, rows = sample(counts, len(counts.arm) // 2)
    assert some.contexts == len(rows) == 20
    assert (some.context == counts.context[rows]).all()
    for place, row in enumerate(rows.tolist()):
        ours, all_cells = (slice(*c.first[k : k + 2]) for c, k in ((some, place), (counts, row)))
        for name in ("arm", "n", "s"):
            assert (getattr(some, name)[ours] == getattr(counts, name)[all_cells]).all()
    assert some.rewards == some.n.sum()
    everybody, rows = sample(counts, len(counts.arm))
    assert everybody is counts
    assert len(rows) == 40


def test_large_tables_are_checked_in_a_sample(
    learner: ThreeLevels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which says so, still finds groups that are missing, and keeps the best model."""
    monkeypatch.setattr(residuals, "CELLS", 200)
    found = residuals.residuals(learner)
    assert found.words == "the residuals look like noise (in a sample of 25 of 40)"
    whole, some = (alternatives.alternatives(learner, cells=cells) for cells in (None, 200))
    assert alternatives.sample_size(learner, 200) == 25
    assert [row.model for row in some if row.believed] == [
        row.model for row in whole if row.believed
    ]
    assert max(some, key=lambda row: row.log_evidence).groups == 3
    one = told(grouped(1).mean, 8000, 1)
    one.adopt(search.one_group(one.counts()))
    assert "the residuals have a leading direction" in residuals.residuals(one).words


def test_a_posterior_is_held_until_more_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, made = told(grouped(1).mean, 500, 1), list[int]()
    real = posterior.posterior_now

    def counted(learner: ThreeLevels) -> posterior.Posterior:
        made.append(learner.tells)
        return real(learner)

    monkeypatch.setattr(posterior, "posterior_now", counted)
    apart = beliefs.groups(learner)
    with posterior.cache_answers(learner), posterior.cache_answers(learner):
        assert beliefs.groups(learner) == beliefs.groups(learner) == apart
        learner.tell(0, 0, 1.0)
        beliefs.groups(learner)
    beliefs.groups(learner)
    assert made == [500, 500, 501, 501]
