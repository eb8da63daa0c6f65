"""The compiled loop of the bulk simulator. Imported only when a simulation runs.

Every draw has the exact law, but for the 53 bits of a double. Plays are dealt to arms by halving:
the plays of 2^m arms are split between two halves until each arm has its own, and a fair split is
a rounded normal, corrected. Other binomials follow Hörmann, "The generation of binomial random
variates", J. Stat. Comput. Simul. 46 (1993), algorithm BTRD; letters are his.

Counts go up to 2^63, and doubles skip whole numbers from 2^53 on. So beyond `PLACED` the mean is
kept as a whole number, exactly, and only the deviation from it is a double: below 2^35, where
doubles are at most 2^-18 apart. Then every bit of a draw is random, and its law is within 2^-18
of the exact one in total variation: of the 2^53 values of a uniform, each count gets its share to
within one, and counts within ten standard deviations, of at most 2^31, are all that matter. (The
logarithms of step 3.4 are lost in rounding there, but decide about fewer than 3 draws in 2^25.)
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lumpable.base.forgiving import compile_cached

ONE_BY_ONE = 2
"""Below this many plays per arm, plays are dealt one by one instead of by halving."""
BITS = 53
"""Random bits in one uniform; up to twice as many coins are counted, more are approximated."""
PLACED = 2.0**51
"""Below this mean, the sum of mean and deviation is placed to within a quarter in a double."""
ROOT_HALF = math.sqrt(0.5)


def compiled(**options):
    """Compile a function, with a cache on disk if there is a place for it."""

    def decorate(function):
        return compile_cached(njit, function, **options)

    return decorate


@compiled()
def collect(rng, visits, repeats, asked, policy, mean, best, sd, bernoulli, pairs, plays, average):
    """Play one request for all contexts at once; see `answers.answer`.

    Pairs are numbered row by row, those `asked` for and those seen, which go into `pairs`, `plays`
    and `average`; their number comes first in what is returned.
    """
    S, K = mean.shape
    unfinished = np.full(S, -1, np.int64)
    regret = 0.0
    at = seen = 0
    choices = np.empty(K, np.int64)
    dealt = np.empty(K, np.int64)
    for i in range(S):
        k = 0
        while at < len(asked) and asked[at] < (i + 1) * K:
            choices[k] = asked[at] - i * K
            k += 1
            at += 1
        if k == 0:
            regret += visits[i] * (best[i] - mean[i, policy[i]])
            continue
        if visits[i] % repeats > 0:
            unfinished[i] = choices[int(rng.random() * k)]
            regret += visits[i] % repeats * (best[i] - mean[i, unfinished[i]])
        _deal(rng, visits[i] // repeats, dealt[:k])
        for c in range(k):
            m = repeats * dealt[c]
            if m > 0:
                j = choices[c]
                regret += m * (best[i] - mean[i, j])
                pairs[seen] = i * K + j
                plays[seen] = dealt[c]
                if bernoulli:
                    average[seen] = binomial(rng, m, mean[i, j]) / m
                else:
                    average[seen] = mean[i, j] + sd * rng.standard_normal() / math.sqrt(m)
                seen += 1
    return seen, unfinished, regret


@compiled()
def _deal(rng, plays, arms):
    """Deal plays uniformly at random: arms ~ multinomial(plays)."""
    k = len(arms)
    if plays < ONE_BY_ONE * k:
        arms[:] = 0
        for _ in range(plays):
            arms[int(rng.random() * k)] += 1
        return
    start = 0
    while start < k:
        width = 1
        while 2 * width <= k - start:
            width *= 2
        arms[start] = plays
        if width < k - start:
            arms[start] = _portion(rng, plays, width, k - start - width)
        plays -= arms[start]
        step = width // 2
        while step > 0:
            for j in range(start, start + width, 2 * step):
                heads = half(rng, arms[j])
                arms[j + step] = arms[j] - heads
                arms[j] = heads
            step //= 2
        start += width


@compiled()
def _portion(rng, plays, one, other):
    """Binomial(plays, one / (one + other)); of many, the smaller portion is drawn.

    A probability near 1 is rounded by 2^-54 whatever is left of it, a small one by less.
    """
    if plays < 2.0 * PLACED:
        return binomial(rng, plays, one / (one + other))
    if one <= other:
        return _binomial(rng, plays, one / (one + other))
    return plays - _binomial(rng, plays, other / (one + other))


@compiled()
def divide(rng, number, frequency):
    """Multinomial(number, frequency / its sum): one binomial after the other."""
    shares = np.empty(len(frequency), np.int64)
    rest = _behind(frequency)
    for i in range(len(frequency) - 1):
        shares[i] = _portion(rng, number, frequency[i], rest[i])
        number -= shares[i]
    shares[-1] = number
    return shares


@compiled()
def _behind(frequency):
    """Sums of the frequencies behind each, right to a bit or two: rounding errors are kept."""
    behind = np.empty(len(frequency))
    total = lost = 0.0
    for i in range(len(frequency) - 1, -1, -1):
        behind[i] = total + lost
        longer = total + frequency[i]
        added = longer - total
        lost += (total - (longer - added)) + (frequency[i] - added)
        total = longer
    return behind


@compiled(inline="always")
def half(rng, n):
    """Binomial(n, 1/2): coins counted if few, else a rounded normal that is corrected.

    With x = round(n/2 + z sqrt(n)/2), P(x) = (1 + e) f(x) where f is the binomial and
    n e = 1/12 - x'^2/3 + x'^4/12 + O(1/n), x' the standardised x. So x is kept with probability
    f(x) / (P(x) (1 + 1/(2n))), which is nearly 1: a lower bound of it decides nearly always.
    Of many, x is always kept: that changes the law by E|n e| / n < 1/n, and n is at least 2^52.
    """
    if n <= BITS:
        return _ones(rng, n)
    if n <= 2 * BITS:
        return _ones(rng, BITS) + _ones(rng, n - BITS)
    z = rng.standard_normal()
    if n >= 2.0 * PLACED:
        return n // 2 + np.int64(math.floor(0.5 * (math.sqrt(n) * z + n % 2) + 0.5))
    u = rng.random() * (n + 0.5)
    z2 = (abs(z) + 0.1) * (abs(z) + 0.1)
    x = math.floor(0.5 * (n + math.sqrt(n) * z) + 0.5)
    if u < n - 0.25 - 0.1 * z2 * z2:
        return np.int64(x)
    return _half_rest(rng, n, x, u)


@compiled()
def _half_rest(rng, n, x, u):
    """Decide exactly whether x is kept; if not, draw again."""
    while True:
        if 0 <= x <= n and u * _rounded(n, x) < n * _fair(n, x):
            return np.int64(x)
        x = math.floor(0.5 * (n + math.sqrt(n) * rng.standard_normal()) + 0.5)
        u = rng.random() * (n + 0.5)


@compiled()
def _rounded(n, x):
    """P(the normal with mean n/2 and variance n/4 is rounded to x)."""
    far = abs(x - 0.5 * n)
    scale = 2.0 * ROOT_HALF / math.sqrt(n)
    return 0.5 * (math.erfc((far - 0.5) * scale) - math.erfc((far + 0.5) * scale))


@compiled()
def _fair(n, x):
    """P(binomial(n, 1/2) = x)."""
    ways = math.lgamma(n + 1.0) - math.lgamma(x + 1.0) - math.lgamma(n - x + 1.0)
    return math.exp(ways - n * math.log(2.0))


@compiled(inline="always")
def _ones(rng, n):
    """Toss up to 53 coins: count ones among random bits, all pairs, fours, eights at once."""
    b = np.uint64(rng.random() * 2.0**BITS) >> np.uint64(BITS - n)
    b -= (b >> np.uint64(1)) & np.uint64(0x5555555555555555)
    b = (b & np.uint64(0x3333333333333333)) + ((b >> np.uint64(2)) & np.uint64(0x3333333333333333))
    b = (b + (b >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((b * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled(inline="always")
def binomial(rng, n, p):
    if p > 0.5:
        return n - _binomial(rng, n, 1.0 - p)
    return _binomial(rng, n, p)


@compiled(inline="always")
def _binomial(rng, n, p):
    """BTRD for p <= 1/2; inversion where the mean is below 10."""
    whole, mean = np.int64(0), n * p
    if mean < 10.0:
        return _inversion(rng, n, p)
    if mean >= PLACED:
        whole, mean = _product(n, p)
    npq = n * p * (1.0 - p)
    b = 1.15 + 2.53 * math.sqrt(npq)
    a = -0.0873 + 0.0248 * b + 0.01 * p
    v = rng.random()
    h = 0.92 * b - 4.2  # b v_r: step 1 with u = w / h, which saves two divisions in a row
    w = v * b - 0.43 * h
    if w <= 0.43 * h:
        at = 2.0 * a * w / (0.5 * h - abs(w)) + b * w / h + mean + 0.5
        return whole + np.int64(math.floor(at))
    return _btrd_rest(rng, n, p, npq, a, b, h / b, v, whole, mean)


@compiled()
def _product(n, p):
    """n p as a whole number and a rest, exactly: n P in halves of 32 bits, with P = 2^64 p.

    P is whole, since p has 53 bits and is at least 2^-12, as n p >= `PLACED` and n < 2^63.
    """
    low, bits = np.uint64(0xFFFFFFFF), np.uint64(32)
    N, P = np.uint64(n), np.uint64(p * 2.0**64)
    last = (N & low) * (P & low)
    middle = (N >> bits) * (P & low) + (last >> bits)
    other = (N & low) * (P >> bits) + (middle & low)
    whole = (N >> bits) * (P >> bits) + (middle >> bits) + (other >> bits)
    return np.int64(whole), ((other << bits) | (last & low)) * 2.0**-64


@compiled()
def _inversion(rng, n, p):
    """Count up from 0. Unlike numba's `Generator.binomial`, right for p below 1e-13."""
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


@compiled()
def _btrd_rest(rng, n, p, npq, a, b, v_r, v, whole, mean):
    """Steps 1 to 3.4 of BTRD, from a uniform v that did not end at once."""
    alpha = (2.83 + 5.1 / b) * math.sqrt(npq)
    m = np.int64((n + 1.0) * p) if whole == 0 else whole + np.int64(mean + p)
    while True:
        if v <= 0.86 * v_r:  # step 1
            u = v / v_r - 0.43
            return whole + np.int64(math.floor((2.0 * a / (0.5 - abs(u)) + b) * u + mean + 0.5))
        if v >= v_r:  # step 2
            u = rng.random() - 0.5
        else:
            u = v / v_r - 0.93
            u = (0.5 if u > 0 else -0.5) - u
            v = rng.random() * v_r
        us = 0.5 - abs(u)  # step 3.0
        at = math.floor((2.0 * a / us + b) * u + mean + 0.5)
        if -whole <= at <= n - whole:
            k = whole + np.int64(at)
            v *= alpha / (a / (us * us) + b)
            if _accepts(n, p, npq, m, k, v):
                return k
        v = rng.random()


@compiled()
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


@compiled()
def _stirling(k):
    """log k! less Stirling's formula at k + 1."""
    if k < 10:
        x = k + 1.0
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - 0.5 * math.log(2.0 * math.pi)
    x = 1.0 / (k + 1.0)
    y = x * x
    return (1.0 / 12.0 - (1.0 / 360.0 - y / 1260.0) * y) * x
