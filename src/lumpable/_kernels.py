"""The compiled loop of the bulk simulator. Imported only when a simulation runs.

Everything here is exact in law. Binomials follow Hörmann, "The generation of binomial random
variates", J. Stat. Comput. Simul. 46 (1993), algorithm BTRD, whose first step mostly needs one
uniform; letters are his.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

ONE_BY_ONE = 16
"""Below this many plays per arm, plays are dealt one by one instead of by binomials."""


@njit(cache=True)
def collect(rng, visits, repeats, arms, policy, mean, best, sd, bernoulli):
    """Play one request for all contexts at once; see `simulate.answer` for the meaning."""
    S, K = arms.shape
    plays = np.zeros((S, K), np.int64)
    average = np.full((S, K), np.nan)
    unfinished = np.full(S, -1, np.int64)
    regret = 0.0
    choices = np.empty(K, np.int64)
    for i in range(S):
        k = 0
        for j in range(K):
            if arms[i, j]:
                choices[k] = j
                k += 1
        if k == 0:
            regret += visits[i] * (best[i] - mean[i, policy[i]])
            continue
        if visits[i] % repeats > 0:
            unfinished[i] = choices[int(rng.random() * k)]
            regret += visits[i] % repeats * (best[i] - mean[i, unfinished[i]])
        left = visits[i] // repeats
        few = left < ONE_BY_ONE * k
        if few:
            for _ in range(left):
                plays[i, choices[int(rng.random() * k)]] += 1
        for c in range(k):
            j = choices[c]
            if not few:
                plays[i, j] = binomial(rng, left, 1.0 / (k - c)) if c < k - 1 else left
                left -= plays[i, j]
            m = repeats * plays[i, j]
            if m > 0:
                regret += m * (best[i] - mean[i, j])
                if bernoulli:
                    average[i, j] = binomial(rng, m, mean[i, j]) / m
                else:
                    average[i, j] = mean[i, j] + sd * rng.standard_normal() / math.sqrt(m)
    return plays, average, unfinished, regret


@njit(cache=True, inline="always")
def binomial(rng, n, p):
    if p > 0.5:
        return n - _binomial(rng, n, 1.0 - p)
    return _binomial(rng, n, p)


@njit(cache=True, inline="always")
def _binomial(rng, n, p):
    """BTRD for p <= 1/2; inversion where the mean is below 10."""
    if n * p < 10.0:
        return _inversion(rng, n, p)
    npq = n * p * (1.0 - p)
    b = 1.15 + 2.53 * math.sqrt(npq)
    a = -0.0873 + 0.0248 * b + 0.01 * p
    v = rng.random()
    h = 0.92 * b - 4.2  # b v_r: step 1 with u = w / h, which saves two divisions in a row
    w = v * b - 0.43 * h
    if w <= 0.43 * h:
        return np.int64(2.0 * a * w / (0.5 * h - abs(w)) + b * w / h + n * p + 0.5)
    return _btrd_rest(rng, n, p, npq, a, b, h / b, v)


@njit(cache=True)
def _inversion(rng, n, p):
    """Count up from 0. Unlike numpy's, right for p far below the spacing of numbers near 1."""
    odds = p / (1.0 - p)
    none = math.exp(n * math.log1p(-p))
    k, at, u = 0, none, rng.random()
    while u > at:
        u -= at
        k += 1
        at *= (n - k + 1.0) * odds / k
        if k > 200:  # only rounding errors lead here
            k, at, u = 0, none, rng.random()
    return np.int64(k)


@njit(cache=True)
def _btrd_rest(rng, n, p, npq, a, b, v_r, v):
    """Steps 1 to 3.4 of BTRD, from a uniform v that did not end at once."""
    alpha = (2.83 + 5.1 / b) * math.sqrt(npq)
    m = np.int64((n + 1) * p)
    while True:
        if v <= 0.86 * v_r:  # step 1
            u = v / v_r - 0.43
            return np.int64((2.0 * a / (0.5 - abs(u)) + b) * u + n * p + 0.5)
        if v >= v_r:  # step 2
            u = rng.random() - 0.5
        else:
            u = v / v_r - 0.93
            u = (0.5 if u > 0 else -0.5) - u
            v = rng.random() * v_r
        us = 0.5 - abs(u)  # step 3.0
        at = math.floor((2.0 * a / us + b) * u + n * p + 0.5)
        if 0 <= at <= n:
            k = np.int64(at)
            v *= alpha / (a / (us * us) + b)
            if _accepts(n, p, npq, m, k, v):
                return k
        v = rng.random()


@njit(cache=True)
def _accepts(n, p, npq, m, k, v):
    """Whether v <= f(k) / f(m): by products near the mode, else by squeezes, else by logarithms."""
    r = p / (1.0 - p)
    far = abs(k - m)
    if far <= 15:  # step 3.1
        above = below = 1.0
        for i in range(min(k, m) + 1, max(k, m) + 1):
            above *= (n + 1.0 - i) * r
            below *= i
        return v * below <= above if k > m else v * above <= below
    v = math.log(v)  # step 3.2
    x = far / npq
    rho = x * (((far / 3.0 + 0.625) * far + 1.0 / 6.0) / npq + 0.5)
    t = -0.5 * far * x
    if v < t - rho:
        return True
    if v > t + rho:
        return False
    nm, nk = n - m + 1.0, n - k + 1.0  # steps 3.3 and 3.4
    h = (m + 0.5) * math.log((m + 1.0) / (r * nm)) + _stirling(m) + _stirling(n - m)
    f = (n + 1.0) * math.log1p((k - m) / nk) + (k + 0.5) * math.log(nk * r / (k + 1.0))
    return v <= h + f - _stirling(k) - _stirling(n - k)


@njit(cache=True)
def _stirling(k):
    """log k! less Stirling's formula at k + 1."""
    if k < 10:
        x = k + 1.0
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - 0.5 * math.log(2.0 * math.pi)
    x = 1.0 / (k + 1.0)
    y = x * x
    return (1.0 / 12.0 - (1.0 / 360.0 - y / 1260.0) * y) * x
