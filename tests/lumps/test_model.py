"""The three-level model against brute force: partitions enumerated, integrals by quadrature.

What is exact and is tested to rounding: all laws of cells and of sums; the evidence with one group
of contexts that are alike. What the evidence neglects elsewhere: how sharp each p_j is beside its
effective counts (several groups), and that own deviations are counted as fewer rewards (finite m0).
There the order of partitions is tested, where the true gap is large. Tempered coins come in
fractions; what is not about their law holds for them as well.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from counts_made import dense, made
from scipy import special, stats

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model import arithmetic, likelihoods, strengths
from lumpable.lumps.model.counts import Counts, group_sums
from lumpable.lumps.model.evidence import blur, evidence, numberings
from lumpable.lumps.model.fit import Fit, memberships

NODES, HALVES = np.polynomial.legendre.leggauss(200)
PRIOR, PARTS = stats.beta.ppf((NODES + 1.0) / 2.0, 0.8, 1.2), HALVES / 2.0
"""Quantiles of the prior of p_j, with k0 = 2 and p0 = 0.4, at the nodes of Gauss and Legendre."""
GRID = np.concatenate([np.geomspace(1e-3, 6.1, 60), np.geomspace(6.1, 1e6, 40)])


def small(seed: int, S: int = 5, K: int = 3, tempered: bool = False) -> Counts:
    """Return a small problem with some empty cells; every context has one at least."""
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 6, (S, K))
    n[np.arange(S), rng.integers(0, K, S)] += 2
    s = rng.binomial(n, rng.random((S, K)))
    if not tempered:
        return made(n, s)
    phi = rng.uniform(0.3, 1.0, K)
    return made(n / phi, (s + rng.random((S, K)) * (n - s)) / phi)


# --- Sums over cells --------------------------------------------------------------------------


def test_digamma_trigamma_and_rising_are_scipys() -> None:
    """To 1e-8: each series is broken off after four terms, at 6 or above."""
    for x in GRID.tolist():
        assert arithmetic.digamma(x) == pytest.approx(special.digamma(x), rel=1e-8, abs=1e-8)
        assert arithmetic.trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-8)
        for n in (0.0, 1.0, 2.0, 16.0, 17.0, 3.7, 1e4):
            law = math.lgamma(x + n) - math.lgamma(x)
            size = abs(math.lgamma(x + n)) + abs(math.lgamma(x)) + 1.0  # they may nearly cancel
            assert likelihoods.rising(x, n) == pytest.approx(law, rel=1e-9, abs=1e-13 * size)


@pytest.mark.parametrize("m0", [0.5, 8.0, 1024.0, math.inf])
@pytest.mark.parametrize("mean", [0.01, 0.4, 0.9])
def test_a_cell_of_zeros_and_ones_is_beta_binomial_and_sums_to_one(m0: float, mean: float) -> None:
    for n in (1, 2, 7, 30):
        s = np.arange(n + 1)
        law = (
            stats.binom(n, mean)
            if math.isinf(m0)
            else stats.betabinom(n, m0 * mean, m0 * (1 - mean))
        )
        sequences = special.gammaln(n + 1) - special.gammaln(s + 1) - special.gammaln(n - s + 1)
        got = [likelihoods.cell_likelihood(float(n), float(k), mean, m0) for k in s]
        assert got + sequences == pytest.approx(law.logpmf(s), rel=1e-7, abs=1e-9)
        assert np.exp(got + sequences).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("m0", [0.0625, 0.5, 8.0, 1024.0])
def test_a_cell_of_fractions_is_a_ratio_of_beta_functions(m0: float) -> None:
    """So is one of whole numbers, and with m0 to infinity both are p^s (1 - p)^(n - s)."""
    for n, s, mean in ((0.4, 0.1, 0.3), (7.5, 7.5, 0.9), (20.0, 3.25, 0.2), (5.0, 2.0, 0.6)):
        a, b = m0 * mean, m0 * (1.0 - mean)
        exact = special.betaln(a + s, b + n - s) - special.betaln(a, b)
        assert likelihoods.cell_likelihood(n, s, mean, m0) == pytest.approx(exact, rel=1e-9)
        alike = s * math.log(mean) + (n - s) * math.log1p(-mean)
        assert likelihoods.cell_likelihood(n, s, mean, math.inf) == pytest.approx(alike)
        assert likelihoods.cell_likelihood(n, s, mean, 1e7) == pytest.approx(alike, rel=1e-4)


def test_sums_of_groups_have_the_marginal_likelihood_of_their_law() -> None:
    rng = np.random.default_rng(1)
    pulls = rng.integers(0, 9, (3, 2)).astype(np.float64)
    success, centre = np.floor(pulls * rng.random((3, 2))), rng.random(3)
    a, b = 5 * centre[:, None], 5 * (1 - centre[:, None])
    exact = special.betaln(a + success, b + pulls - success) - special.betaln(a, b)
    got = likelihoods.beta_binomials(5.0, centre, success, pulls)
    assert got == pytest.approx(exact.sum(), rel=1e-12)


def test_expected_logarithms_are_those_of_the_posterior() -> None:
    """E ln theta and E ln (1 - theta) by quadrature."""
    pulls, totals, centre = np.array([[0.0, 7.5]]), np.array([[0.0, 2.25]]), np.array([0.3])
    slope, level = arithmetic.natural(pulls, totals, 4.0, centre)
    for g in range(2):
        law = stats.beta(totals[0, g] + 1.2, pulls[0, g] - totals[0, g] + 2.8)
        failure = law.expect(lambda x: math.log1p(-x))
        assert level[0, g] == pytest.approx(failure, rel=1e-6)
        assert slope[0, g] == pytest.approx(law.expect(math.log) - failure, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_members_are_the_posterior_over_all_partitions(seed: int) -> None:
    """Each context's posterior, and the whole normaliser, from all M^S partitions one by one."""
    counts, M = small(seed, S=4), 3
    rng = np.random.default_rng(seed + 50)
    slope, level = rng.normal(size=(2, counts.arms, M))
    share = np.log(rng.dirichlet(np.ones(M)))
    n, s = dense(counts)
    single = share + s @ slope + n @ level
    member, whole = np.zeros((counts.contexts, M)), 0.0
    for z in itertools.product(range(M), repeat=counts.contexts):
        weight = math.exp(sum(single[i, g] for i, g in enumerate(z)))
        whole += weight
        for i, g in enumerate(z):
            member[i, g] += weight
    out = np.empty_like(member)
    total = arithmetic.members(*counts.rows, slope, level, share, out)
    assert out == pytest.approx(member / whole, rel=1e-9)
    assert total == pytest.approx(math.log(whole), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tempered", [False, True])
@pytest.mark.parametrize("m0", [6.0, math.inf])
def test_the_mixture_is_the_sum_over_all_partitions(seed: int, tempered: bool, m0: float) -> None:
    counts, M = small(seed, S=4, tempered=tempered), 2
    rng = np.random.default_rng(seed + 90)
    mean, share = rng.random((counts.arms, M)), np.log(rng.dirichlet(np.ones(M)))
    n, s = dense(counts)
    single = np.tile(share, (counts.contexts, 1))
    for i, j in zip(*np.nonzero(n), strict=True):
        for g in range(M):
            single[i, g] += likelihoods.cell_likelihood(n[i, j], s[i, j], mean[j, g], m0)
    partitions = itertools.product(range(M), repeat=counts.contexts)
    exact = special.logsumexp([sum(single[i, g] for i, g in enumerate(z)) for z in partitions])
    everywhere = np.full((counts.contexts, M), 0.5)
    got = likelihoods.mixture_likelihood(*counts.rows, mean, share, everywhere, m0)
    assert got == pytest.approx(exact, rel=1e-9)


def test_gathered_sums_are_weighted_sums() -> None:
    counts = small(4)
    member = np.random.default_rng(2).dirichlet(np.ones(3), size=counts.contexts)
    (n, s), m0 = dense(counts), 5.0
    weight = np.where(n > 0, (1 + m0) / (n + m0), 0.0)
    pulls, totals = group_sums(counts, member, m0)
    assert pulls == pytest.approx((n * weight).T @ member, rel=1e-12)
    assert totals == pytest.approx((s * weight).T @ member, rel=1e-12)


# --- What a reward is worth -------------------------------------------------------------------


@pytest.mark.parametrize("m0", [1.0, 8.0, 1e9])
def test_a_cell_tells_as_much_as_so_many_independent_rewards(m0: float) -> None:
    """The variance of its average around the group's mean is that of n weight(m0) rewards."""
    n = np.array([[1.0, 2.0, 50.0]])
    counts = made(n, n / 2)
    worth = counts.n * counts.weight(m0)
    for k, rewards in enumerate(n[0]):
        average = stats.betabinom(int(rewards), 0.3 * m0, 0.7 * m0).var() / rewards**2
        assert average == pytest.approx(0.3 * 0.7 / worth[k], rel=1e-5)
    assert np.array_equal(counts.weight(math.inf), np.ones(3))


# --- Evidence ---------------------------------------------------------------------------------


def hard(
    counts: Counts, z: tuple[int, ...], M: int, kappa: float, m0: float, k0: float = 2.0,
    p0: float = 0.4,
) -> Fit:  # fmt: skip
    """Return the fit of a given partition with given strengths."""
    member = np.eye(M)[list(z)]
    pulls, totals = group_sums(counts, member, m0)
    centre, prior_weight = np.full(counts.arms, p0), np.full(counts.arms, np.inf)
    if M > 1:
        w = kappa * pulls / (pulls + kappa)
        weight = w.sum(axis=1)
        total = (w * np.divide(totals, pulls, out=np.zeros_like(w), where=pulls > 0)).sum(axis=1)
        prior_weight = k0 + weight
        centre = (k0 * p0 + total) / prior_weight
    share = np.log((member.sum(axis=0) + 1) / (len(z) + M))
    return Fit(
        counts.context, member, pulls, totals, share, kappa if M > 1 else k0, centre, prior_weight,
        m0, k0, p0, np.zeros((counts.arms, 0)), counts.rewards, 0.0,
    )  # fmt: skip


def partition_prior(z: tuple[int, ...], M: int) -> float:
    """Return ln of the probability of these labels under Dirichlet(1, .., 1) shares."""
    sizes = np.bincount(z, minlength=M)
    return float(
        special.gammaln(M) - special.gammaln(M + len(z)) + special.gammaln(1 + sizes).sum()
    )


def partitions(S: int, M: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(M), repeat=S))


@pytest.mark.parametrize("seed", range(5))
def test_one_group_of_like_contexts_has_its_exact_evidence(seed: int) -> None:
    """Bernoulli, M = 1, m0 infinite: the beta-binomial law of the arms' sums."""
    counts = small(seed, S=6)
    n, s = (table.sum(axis=0) for table in dense(counts))
    exact = special.betaln(0.8 + s, 1.2 + n - s) - special.betaln(0.8, 1.2)
    got = evidence(counts, hard(counts, (0,) * 6, 1, 2.0, math.inf))
    assert got == pytest.approx(exact.sum(), rel=1e-9)


def population(n: FloatVector, s: FloatVector, kappa: float) -> float:
    """Return ln of the integral over p_j of its prior and its groups' beta-binomials."""
    p = PRIOR[:, None]
    groups = special.betaln(kappa * p + s, kappa * (1 - p) + n - s)
    groups = groups - special.betaln(kappa * p, kappa * (1 - p))
    return float(special.logsumexp(groups.sum(axis=1), b=PARTS))


def exact_evidence(counts: Counts, z: tuple[int, ...], M: int, kappa: float = 3.0) -> float:
    """Return ln of the probability of labels and coins, all integrals by quadrature."""
    n, s = (np.eye(M)[list(z)].T @ table for table in dense(counts))  # (M, K)
    if M == 1:
        exact = special.betaln(0.8 + s, 1.2 + n - s) - special.betaln(0.8, 1.2)
        return float(exact.sum())
    arms = [population(n[:, j], s[:, j], kappa) for j in range(counts.arms)]
    return sum(arms) + partition_prior(z, M)


def numbered(counts: Counts, z: tuple[int, ...], M: int) -> float:
    """Return the same of labels with their groups numbered in any way."""
    return exact_evidence(counts, z, M) + math.lgamma(1.0 + len(set(z)))


def separated(seed: int, S: int = 5) -> tuple[Counts, tuple[int, ...]]:
    """Return two groups that differ on every arm, and which context is where."""
    rng = np.random.default_rng(seed)
    z = (0, 1, *rng.integers(0, 2, S - 2).tolist())
    mean = np.array([[0.9, 0.1, 0.7], [0.1, 0.9, 0.2]])
    n = rng.integers(4, 9, (S, 3))
    return made(n, rng.binomial(n, mean[list(z)])), z


@pytest.mark.parametrize("seed", range(4))
def test_evidence_orders_partitions_as_the_enumerated_truth_does(seed: int) -> None:
    """All labellings with two groups, and one group: the best is the same, and so is the order of
    every pair that the truth sets apart by 3 nats or more."""
    counts, _ = separated(seed)
    labellings = [(z, 2) for z in partitions(5, 2) if z[0] == 0] + [((0,) * 5, 1)]
    truth = np.array([numbered(counts, z, M) for z, M in labellings])
    got = np.array([evidence(counts, hard(counts, z, M, 3.0, math.inf)) for z, M in labellings])
    assert np.argmax(got) == np.argmax(truth)
    clear = truth[:, None] - truth[None, :] > 3.0
    assert (got[:, None] - got[None, :])[clear].min() > 0.0


@pytest.mark.parametrize("tempered", [False, True])
def test_evidence_of_a_partition_is_exact_given_the_population(tempered: bool) -> None:
    """m0 infinite: labels and groups exactly; then what p_j costs, as it is defined."""
    counts = small(9, tempered=True) if tempered else separated(9)[0]
    n, s = dense(counts)
    for z in partitions(5, 2):
        fit = hard(counts, z, 2, 3.0, math.inf)
        pulls, totals = np.eye(2)[list(z)].T @ n, np.eye(2)[list(z)].T @ s
        p = fit.centre
        groups = special.betaln(3 * p + totals, 3 * (1 - p) + pulls - totals)
        groups = groups - special.betaln(3 * p, 3 * (1 - p))
        w, t = fit.prior_weight - 2.0, p * fit.prior_weight - 0.8
        cost = special.betaln(0.8 + t, 1.2 + w - t) - special.betaln(0.8, 1.2)
        cost = cost - t * np.log(p) - (w - t) * np.log1p(-p)
        exact = partition_prior(z, 2) + groups.sum() + cost.sum() + math.lgamma(1.0 + len(set(z)))
        assert evidence(counts, fit) == pytest.approx(exact, rel=1e-9)


def mixture(counts: Counts, fit: Fit, mean: FloatMatrix) -> float:
    """Return the log likelihood of all coins with these means, contexts of a group alike."""
    n, s = dense(counts)
    each = s @ np.log(mean) + (n - s) @ np.log1p(-mean)
    return float(special.logsumexp(each + fit.share, axis=1).sum())


@pytest.mark.parametrize("tempered", [False, True])
def test_doubtful_members_take_what_the_likelihood_lacks_in_curvature(tempered: bool) -> None:
    """Louis: the curvature of the mixture is that with known members, less what is lost."""
    counts = small(3, S=9, tempered=tempered)
    fit = hard(counts, (0, 1, 0, 1, 1, 0, 0, 1, 0), 2, kappa=3.0, m0=math.inf)
    mean, step = fit.means, 1e-4
    n, s = dense(counts)
    each = s @ np.log(mean) + (n - s) @ np.log1p(-mean)
    member = special.softmax(each + fit.share, axis=1)
    assert ((member > 0.01) & (member < 0.99)).any()
    spread = mean * (1.0 - mean)
    lost = likelihoods.information_lost(*counts.rows, counts.weight(math.inf), member, mean, spread)
    tops = member[:, :, None] * s[:, None, :], member[:, :, None] * n[:, None, :]
    totals, pulls = (table.sum(axis=0).T for table in tops)
    known = totals / mean**2 + (pulls - totals) / (1 - mean) ** 2
    for at in np.ndindex(*mean.shape):
        beside = []
        for sign in (-1, 0, 1):
            moved = mean.copy()
            moved[at] += sign * step
            beside.append(mixture(counts, fit, moved))
        curvature = -(beside[0] - 2 * beside[1] + beside[2]) / step**2
        assert curvature == pytest.approx(known[at] - lost[at], rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("seeds", [6, pytest.param(20, marks=pytest.mark.nightly)])
def test_the_evidence_of_doubtful_members_is_nearer_to_the_enumerated_truth(seeds: int) -> None:
    """Two groups that hardly differ: all 2^8 labellings summed up.

    What doubt takes from the price of means and the two ways to number the groups bring it nearer,
    each of them. What is neglected is that what is lost of one mean may be lost of another, too.
    """
    gained = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        n = np.full((8, 3), 6)
        mean = np.where(np.arange(8)[:, None] < 4, 0.35, rng.uniform(0.45, 0.75, 3))
        counts = made(n, rng.binomial(n, mean))
        fit = hard(counts, (0, 0, 0, 0, 1, 1, 1, 1), 2, kappa=8.0, m0=math.inf)
        for _ in range(200):
            member, _ = memberships(
                counts, fit.m0, fit.kappa, fit.centre, fit.share, fit.pulls, fit.totals
            )
            fit = soft(counts, fit, member)
        half = [exact_evidence(counts, z, 2, kappa=8.0) for z in partitions(8, 2) if z[0] == 0]
        exact = float(special.logsumexp(half)) + math.log(2.0)
        gain = blur(counts, fit, fit.means)
        assert gain >= 0.0
        if gain > 0.2:
            got = evidence(counts, fit)
            for part in (gain, numberings(fit.member)):
                gained.append(abs(got - part - exact) - abs(got - exact))
    assert len(gained) >= seeds
    assert min(gained) > 0.0


def test_groups_are_numbered_in_as_many_ways_as_there_are_different_ones() -> None:
    for M in (1, 2, 5):
        sure = np.eye(M)[np.arange(20) % M]
        assert numberings(sure) == pytest.approx(math.log(math.factorial(M)))
        assert numberings(np.full((20, M), 1.0 / M)) == pytest.approx(0.0, abs=1e-12)
    twins = np.column_stack([np.eye(2)[np.arange(20) % 2], np.zeros(20)])
    twins[:, 1:] = twins[:, 1:2] / 2.0  # the second group is there twice
    assert numberings(twins) == pytest.approx(math.log(2.0))


def soft(counts: Counts, fit: Fit, member: FloatMatrix) -> Fit:
    """Return a fit with other members, its population and its strengths as they were."""
    pulls, totals = group_sums(counts, member, fit.m0)
    share = np.log((member.sum(axis=0) + 1.0) / (len(member) + member.shape[1]))
    return replace(fit, member=member, pulls=pulls, totals=totals, share=share)


def test_grids_hold_what_the_docstrings_promise() -> None:
    assert math.isinf(strengths.OWN_STRENGTHS[-1])
    assert np.isfinite(strengths.OWN_STRENGTHS[:-1]).all()
    assert (np.diff(strengths.STRENGTHS) > 0).all()
    assert (np.diff(strengths.OWN_STRENGTHS) > 0).all()
