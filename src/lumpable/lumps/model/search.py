"""Fit the three-level model: how many groups, who is in them, how strong each level is.

A pure function of the counts and the fit before: no clock, no state, fixed seeds. Groups are
started afresh from the leading directions of what the population leaves unexplained, from the fit
before, by splitting a group and by merging two; variational EM goes on from there, and the evidence
decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.lumps.model import directions
from lumpable.lumps.model.counts import Counts, group_sums, weight_of
from lumpable.lumps.model.evidence import evidence
from lumpable.lumps.model.factors import lead, low_rank, residual_sums
from lumpable.lumps.model.fit import Fit, memberships
from lumpable.lumps.model.strengths import (
    USUAL_OWN_STRENGTH,
    middle_level,
    own_strength,
    own_strength_grid,
    top_level,
)

STEPS = 25
"""Iterations of EM at most, between two fits of m0."""
ROUNDS = 3
"""How often m0 is fitted."""
MOST_GROUPS = 64
START_STEPS = 10
"""Iterations of k-means in leading directions: EM goes on from what it finds."""
FIRM = 0.9
"""How sure a start is of its labels."""
MOVES = 4
"""How often a better fit is looked for around the best one."""
STEPS_OF_OWN = 2.0, 0.5, math.sqrt(2.0), math.sqrt(0.5)
"""Steps by which m0 climbs; with the grid's alone, groups would make up for what it is off."""
DECIDED = 700.0
"""Differences of evidence beyond this are as good as infinite."""
PULLS_FOR_GROUPS = 2
"""Groups are not looked for before each context was seen this often on average."""


def fit(counts: Counts, before: Fit | None = None) -> Fit:
    """Return the best fit that is found for these counts."""
    one = best = one_group(counts)
    if counts.rewards < PULLS_FOR_GROUPS * counts.contexts:
        return best
    if before is not None and before.groups > 1:
        member = before.membership(counts.context)
        best = _better(best, settle(counts, member, replace(best, m0=before.m0)))
    if before is None or before.groups == 1 or _has_doubled(counts, before):
        best = _afresh(counts, one, best)
    for _ in range(MOVES if best.groups > 1 else 0):
        moved = best
        for start in (*splits(counts, best), *merges(best)):
            moved = _better(moved, settle(counts, start, best))
        if moved is best:
            break
        best = moved
    best = replace(best, doubt=_doubt(one, best))
    return _in_order(counts, low_rank(counts, one, best), before)


def catch_up(counts: Counts, fit: Fit) -> Fit:
    """Return a fit of an earlier snapshot with all that was seen since: one more step of EM.

    Who is a member follows from all cells and the means of the fit; the groups' sums are those of
    all cells. Strengths and the number of groups stay.
    """
    if fit.rank > 0:
        member, sums = np.ones((counts.contexts, 1)), residual_sums(counts, fit)
    else:
        member, _ = memberships(
            counts, fit.m0, fit.kappa, fit.centre, fit.share, fit.pulls, fit.totals
        )
        sums = group_sums(counts, member, fit.m0)
    return replace(
        fit, context=counts.context, member=member, pulls=sums[0], totals=sums[1],
        rewards=counts.rewards,
    )  # fmt: skip


def _in_order(counts: Counts, fit: Fit, before: Fit | None) -> Fit:
    """Number the groups as before, by who is in them; those that are new by size, after them."""
    order = [int(g) for g in np.argsort(-fit.member.sum(axis=0), kind="stable")]
    if before is not None and before.groups > 1 and fit.groups > 1:
        shared = before.membership(counts.context).T @ fit.member
        found: dict[int, int] = {}
        for place in np.argsort(-shared, axis=None, kind="stable"):
            old, new = divmod(int(place), fit.groups)
            if old not in found and new not in found.values():
                found[old] = new
        kept = [found[old] for old in sorted(found)]
        order = kept + [g for g in order if g not in kept]
    return replace(
        fit, member=np.ascontiguousarray(fit.member[:, order]), share=fit.share[order],
        pulls=np.ascontiguousarray(fit.pulls[:, order]),
        totals=np.ascontiguousarray(fit.totals[:, order]),
    )  # fmt: skip


def _has_doubled(counts: Counts, before: Fit) -> bool:
    """Whether the number of rewards has passed a power of two: then groups are sought afresh."""
    return math.frexp(counts.rewards)[1] > math.frexp(before.rewards)[1]


def _better(best: Fit, tried: Fit) -> Fit:
    return tried if tried.evidence > best.evidence else best


def _doubt(one: Fit, best: Fit) -> float:
    """Return how likely one group is, where several are believed."""
    if best.groups == 1:
        return 0.0
    return 1.0 / (1.0 + math.exp(min(best.evidence - one.evidence, DECIDED)))


def one_group(counts: Counts) -> Fit:
    """Fit the model with one group: every context around the population."""
    S, K = counts.contexts, counts.arms
    member, m0 = np.ones((S, 1)), USUAL_OWN_STRENGTH / counts.unit
    for _ in range(ROUNDS):
        pulls, totals = group_sums(counts, member, m0)
        k0, p0 = top_level(pulls[:, 0], totals[:, 0])
        centre, last = np.full(K, p0), m0
        m0 = own_strength(counts, member, pulls, totals, centre, k0, last)
        if m0 == last:
            break
    pulls, totals = group_sums(counts, member, m0)
    never = np.full(K, np.inf)
    made = Fit(
        counts.context, member, pulls, totals, np.zeros(1), k0, centre, never, m0, k0, p0,
        np.zeros((K, 0)), counts.rewards, 0.0,
    )  # fmt: skip
    return _judge(counts, made)


def settle(counts: Counts, member: FloatMatrix, like: Fit) -> Fit:
    """Go on from these memberships by EM, with m0 fitted in between; groups may die out."""
    m0, kappa = like.m0, like.kappa
    for _ in range(ROUNDS):
        member, kappa = _iterate_em(counts, member, m0, kappa)
        member = _drop_empty_groups(member)
        if member.shape[1] == 1:
            return one_group(counts)
        pulls, totals = group_sums(counts, member, m0)
        kappa, centre, _, _, _ = middle_level(pulls, totals, kappa)
        last = m0
        m0 = own_strength(counts, member, pulls, totals, centre, kappa, last)
        if m0 == last:
            break
    pulls, totals = group_sums(counts, member, m0)
    kappa, centre, prior_weight, k0, p0 = middle_level(pulls, totals, kappa)
    none = np.zeros((counts.arms, 0))
    share = _share(member)
    made = Fit(
        counts.context, member, pulls, totals, share, kappa, centre, prior_weight, m0, k0, p0,
        none, counts.rewards, 0.0,
    )  # fmt: skip
    return _judge(counts, made)


def _judge(counts: Counts, fit: Fit) -> Fit:
    """Return a fit with its evidence, and with the m0 that it favours if a short cut found m0."""
    if counts.like_coins or math.isinf(fit.m0):
        return replace(fit, evidence=evidence(counts, fit))
    plain, grid = replace(counts, ends=None), own_strength_grid(counts)
    found = replace(fit, evidence=evidence(plain, fit))
    for factor in STEPS_OF_OWN:
        while grid[0] <= factor * found.m0 <= grid[-2]:
            m0 = factor * found.m0
            pulls, totals = group_sums(counts, fit.member, m0)
            tried = replace(found, m0=m0, pulls=pulls, totals=totals)
            tried = replace(tried, evidence=evidence(plain, tried))
            if tried.evidence <= found.evidence:
                break
            found = tried
    return replace(found, evidence=evidence(counts, found))


def _share(member: FloatMatrix) -> FloatVector:
    """Return ln pi: posterior means under Dirichlet(1, .., 1)."""
    share: FloatVector = np.log((member.sum(axis=0) + 1.0) / (len(member) + member.shape[1]))
    return share


def _iterate_em(
    counts: Counts, member: FloatMatrix, m0: float, kappa: float
) -> tuple[FloatMatrix, float]:
    """Iterate variational EM for members and group means; kappa every third time."""
    last = -math.inf
    for step in range(STEPS):
        pulls, totals = group_sums(counts, member, m0)
        if step % 3 == 0:
            kappa, centre, _, _, _ = middle_level(pulls, totals, kappa)
        share = _share(member)
        member, bound = memberships(counts, m0, kappa, centre, share, pulls, totals)
        if abs(bound - last) < 1e-4 * counts.contexts:
            break
        last = bound
    return member, kappa


def _drop_empty_groups(member: FloatMatrix) -> FloatMatrix:
    """Leave out groups that have not even one member."""
    size = member.sum(axis=0)
    kept = member[:, size > min(0.5, size.max() / 2)]
    whole = kept.sum(axis=1, keepdims=True)
    alone = whole == 0.0  # all of its groups are left out: it may be anywhere now
    return np.where(alone, 1.0 / kept.shape[1], kept / np.where(alone, 1.0, whole))


def _firm(label: IntVector, M: int) -> FloatMatrix:
    member = np.full((len(label), M), (1.0 - FIRM) / M)
    member[np.arange(len(label)), label] += FIRM
    return member


def _afresh(counts: Counts, one: Fit, best: Fit) -> Fit:
    """Try more and more groups from leading directions, until it gets worse twice in a row."""
    failures, last = 0, -math.inf
    most = min(MOST_GROUPS, counts.contexts)
    x = _surprise(counts, one, np.zeros(counts.contexts, dtype=np.int64))
    for M in range(max(2, best.groups), most + 1):
        start = _firm(_spectral(counts, x, M), M)
        tried = settle(counts, start, replace(best, m0=math.inf))
        if math.isfinite(best.m0):
            tried = _better(tried, settle(counts, start, best))
        failures = 0 if tried.evidence > min(last, best.evidence) else failures + 1
        last = tried.evidence
        best = _better(best, tried)
        if failures == 2:
            break
    return best


def with_groups(counts: Counts, M: int, m0: float) -> Fit:
    """Return a fit with at most M groups, started from leading directions."""
    one = one_group(counts)
    x = _surprise(counts, one, np.zeros(counts.contexts, dtype=np.int64))
    return settle(counts, _firm(_spectral(counts, x, M), M), replace(one, m0=m0))


def _surprise(counts: Counts, fit: Fit, label: IntVector) -> FloatVector:
    """Return how far each cell is from its group's mean, in standard deviations."""
    means, surprise = fit.means, np.empty(len(counts.n))
    for rows, part in counts.blocks():
        n, own = counts.n[part], np.diff(counts.first[rows.start : rows.stop + 1])
        mean = means[counts.arm[part], np.repeat(label[rows], own)]
        variance = np.maximum(mean * (1.0 - mean), 0.01)
        weight = weight_of(n, fit.m0)
        surprise[part] = (counts.s[part] - n * mean) * np.sqrt(weight / (n * variance))
    return surprise


def _spectral(counts: Counts, x: FloatVector, M: int) -> IntVector:
    """Group contexts by k-means in the M - 1 leading directions, and one more, of x."""
    rng = np.random.default_rng([7, M])
    y = lead(counts, x, min(M, counts.arms), rng)[1]
    return lloyd(np.ones_like(y), y, M, rng, starts=2, iterations=START_STEPS)[0]


def splits(counts: Counts, fit: Fit, most: int = 2) -> Iterator[FloatMatrix]:
    """Split at most this many groups, those whose members differ most along one direction."""
    if fit.groups >= MOST_GROUPS:
        return
    label = np.argmax(fit.member, axis=1)
    x = _surprise(counts, fit, label)
    y, strength = directions.leading(counts.first, counts.arm, x, label, fit.groups, counts.arms)
    for g in np.argsort(-strength, kind="stable")[:most]:
        inside = label == g
        if inside.sum() < 2 or strength[g] <= 0.0:
            continue
        side = inside & (y > np.median(y[inside]))
        moved = np.where(side, FIRM, 1.0 - FIRM) * fit.member[:, g]
        member = np.column_stack([fit.member, moved])
        member[:, g] -= moved
        yield member


def merges(fit: Fit) -> Iterator[FloatMatrix]:
    """Merge the two groups whose arms' means are the most alike, as far as they are known."""
    if fit.groups < 3:
        return
    mean, x = fit.means, fit.pulls
    best, pair = math.inf, (0, 1)
    for g in range(fit.groups):
        for h in range(g):
            sure = x[:, g] * x[:, h] / (x[:, g] + x[:, h] + 1e-300)
            apart = float((sure * (mean[:, g] - mean[:, h]) ** 2).sum())
            if apart < best:
                best, pair = apart, (h, g)
    member = np.delete(fit.member, pair[1], axis=1)
    member[:, pair[0]] += fit.member[:, pair[1]]
    yield member
