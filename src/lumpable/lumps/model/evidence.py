"""The log evidence of a fit of the three-level model: how likely it makes what was seen."""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model import likelihoods
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit

EDGE = 1e-4
"""Means of Bernoulli rewards stay this far from 0 and 1 in logarithms."""
MOST_LOST = 0.9
"""Doubt about members takes at most this part of what rewards could tell about a mean."""


def evidence(counts: Counts, fit: Fit) -> float:
    """Return the log evidence: the mixture's likelihood at the fitted means, and what they cost.

    Each fitted mean costs the ratio of its marginal to its fitted likelihood (Occam), and so do the
    population's means and the shares, whose prior is Dirichlet(1, .., 1). Contexts that deviate may
    have means of a Beta law, or one of two values only. That would be all if
    members were known; means of uncertain members are less sharp and cost less (Laplace). The
    numberings of the groups are counted.
    """
    mean = np.clip(fit.means, EDGE, 1.0 - EDGE)
    member = np.ascontiguousarray(fit.member)  # each layout would be compiled for
    likely = likelihoods.mixture_likelihood(*counts.rows, mean, fit.share, member, fit.m0)
    if counts.ends is not None and math.isfinite(fit.m0):
        two = likelihoods.two_valued_likelihood(*counts.rows, mean, fit.share, member, *counts.ends)
        likely = max(likely, two)
    return likely + price(counts, fit) + blur(counts, fit, mean) + numberings(fit.member)


def numberings(member: FloatMatrix) -> float:
    """Return ln of the number of ways to number the groups: ln M! if all members are sure.

    Groups that share their members are hardly different: each counts as much as its members are
    sure of it on average.
    """
    distinct = np.square(member).sum(axis=0) / np.maximum(member.sum(axis=0), 1e-300)
    return math.lgamma(1.0 + float(distinct.sum()))


def blur(counts: Counts, fit: Fit, mean: FloatMatrix) -> float:
    """Return how much less the means of uncertain members cost: -1/2 ln(1 - what is lost)."""
    spread = mean * (1.0 - mean)
    lost = lost_part(counts, fit.member, mean, spread, spread / (fit.pulls + fit.kappa), fit.m0)
    return -0.5 * float(np.log1p(-lost).sum())


def lost_part(
    counts: Counts, member: FloatMatrix, mean: FloatMatrix, spread: FloatMatrix,
    variance: FloatMatrix, m0: float,
) -> FloatMatrix:  # fmt: skip
    """Return which part of the information about each mean uncertain membership takes away.

    `variance` is that of the mean if members were known.
    """
    member = np.ascontiguousarray(member)
    lost = likelihoods.information_lost(*counts.rows, counts.weight(m0), member, mean, spread)
    part: FloatMatrix = np.minimum(lost * variance, MOST_LOST)
    return part


def price(counts: Counts, fit: Fit) -> float:
    """Return what the fitted means and shares cost in the log evidence."""
    mean = np.clip(fit.means, EDGE, 1.0 - EDGE)
    cost = _occam(fit.kappa, fit.centre, fit.totals, fit.pulls, mean)
    if fit.groups > 1:
        weight = (fit.prior_weight - fit.k0)[:, None]
        total = (fit.centre * fit.prior_weight - fit.k0 * fit.p0)[:, None]
        level, top = fit.centre[:, None], np.full(counts.arms, fit.p0)
        cost += _occam(fit.k0, top, total, weight, level)
    M, size = fit.groups, fit.member.sum(axis=0)
    shares = math.lgamma(M) - math.lgamma(M + size.sum()) - float(size @ fit.share)
    shares += sum(math.lgamma(1.0 + x) for x in size)
    return cost + shares


def _occam(
    strength: float, centre: FloatVector, totals: FloatMatrix, pulls: FloatMatrix,
    mean: FloatMatrix,
) -> float:  # fmt: skip
    """Return ln (marginal / fitted likelihood) of means with this prior, summed."""
    marginal = likelihoods.beta_binomials(strength, centre, totals, pulls)
    return marginal - float((totals * np.log(mean) + (pulls - totals) * np.log1p(-mean)).sum())
