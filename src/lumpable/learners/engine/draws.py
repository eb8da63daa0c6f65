"""Random draws for compiled learners: a pure function of the seed and the number of tells.

Streams are SplitMix64: the clock's third word moves by an odd constant at each draw and is mixed.
Knows no learner. Normals are Marsaglia and Tsang's ziggurat (J. Stat. Softw. 5, 2000) with 256
layers and 64 bits, gammas their squeeze (ACM TOMS 26, 2000), letters theirs.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.learners.engine.clock import GOLDEN, STREAM, Clock, kernel, kernel_without_nan, mixed

UNIT = 2.0**-53
LAYERS = 256
TAIL = 3.6541528853610088
"""r: where the lowest layer of the ziggurat ends and the tail begins."""
AREA = TAIL * math.exp(-0.5 * TAIL**2) + math.sqrt(math.pi / 2) * math.erfc(TAIL / math.sqrt(2))
"""v: the area of each layer."""


@kernel
def bits(clock: Clock) -> np.uint64:
    """Draw 64 random bits."""
    clock[STREAM] += GOLDEN
    return mixed(clock[STREAM])


@kernel
def uniform(clock: Clock) -> float:
    """Draw from [0, 1), 53 bits."""
    return (bits(clock) >> np.uint64(11)) * UNIT


@kernel
def below(clock: Clock, number: int) -> int:
    """Draw one of 0 .. number - 1."""
    return int(uniform(clock) * number)


@kernel
def drawn(probability: FloatVector, clock: Clock) -> int:
    """Draw one of 0, 1, .. with these probabilities."""
    u = uniform(clock)
    for j in range(len(probability)):
        u -= probability[j]
        if u < 0.0:
            return j
    return int(np.argmax(probability))  # rounding left a little over


@kernel
def by_log_weight(log_weight: FloatVector, sums: FloatVector, clock: Clock) -> int:
    """Draw one of 0, 1, .. with weights of these logarithms; `sums` is scratch."""
    top, total = log_weight[0], 0.0
    for each in log_weight:
        top = max(top, each)
    for j in range(len(sums)):
        total += math.exp(log_weight[j] - top)
        sums[j] = total
    u = uniform(clock) * total
    for j in range(len(sums)):
        if u < sums[j]:
            return j
    return int(np.argmax(log_weight))  # u was rounded up to the total


def _ziggurat() -> tuple[FloatVector, FloatVector]:
    """Return the right edges x of the layers and the density at them, from the lowest layer up."""
    x = np.empty(LAYERS + 1)
    x[0] = AREA / math.exp(-0.5 * TAIL * TAIL)
    x[1] = TAIL
    for layer in range(2, LAYERS):
        x[layer] = math.sqrt(
            -2.0 * math.log(AREA / x[layer - 1] + math.exp(-0.5 * x[layer - 1] ** 2))
        )
    x[LAYERS] = 0.0
    return x, np.exp(-0.5 * x * x)


EDGE, HEIGHT = _ziggurat()
STEP, INNER = EDGE[:-1] * 2.0**-52, EDGE[1:].copy()
"""By layer: its right edge in steps of a signed 53-bit number, and the next layer's edge."""


@kernel
def normal(clock: Clock) -> float:
    """Draw from the standard normal distribution."""
    drawn = bits(clock)
    layer = drawn & np.uint64(LAYERS - 1)
    x = (np.int64(drawn) >> np.int64(11)) * STEP[layer]
    return x if abs(x) < INNER[layer] else _outside(clock, int(layer), x)


@kernel
def normals(clock: Clock, out: FloatVector) -> None:
    """Fill `out` with what as many calls of `normal` would draw, three times as fast."""
    stream = clock[STREAM]  # in a register: a store and a load for each draw cost more than it does
    for j in range(len(out)):
        stream += GOLDEN
        drawn = mixed(stream)
        layer = drawn & np.uint64(LAYERS - 1)
        x = (np.int64(drawn) >> np.int64(11)) * STEP[layer]
        if abs(x) >= INNER[layer]:
            clock[STREAM] = stream
            x = _outside(clock, int(layer), x)
            stream = clock[STREAM]
        out[j] = x
    clock[STREAM] = stream


@kernel
def _outside(clock: Clock, layer: int, x: float) -> float:
    """Go on from a point of a layer that lies beyond the next layer's edge: one draw in 80."""
    while True:
        if layer == 0:
            return _tail(clock, x)
        step = HEIGHT[layer + 1] - HEIGHT[layer]
        if HEIGHT[layer] + uniform(clock) * step < math.exp(-0.5 * x * x):
            return x
        drawn = bits(clock)
        layer = int(drawn & np.uint64(LAYERS - 1))
        x = (np.int64(drawn) >> np.int64(11)) * STEP[layer]
        if abs(x) < INNER[layer]:
            return x


@kernel
def _tail(clock: Clock, side: float) -> float:
    """Draw beyond the lowest layer, on the side of this sign."""
    while True:
        x = -math.log(1.0 - uniform(clock)) / TAIL
        y = -math.log(1.0 - uniform(clock))
        if y + y > x * x:
            return TAIL + x if side > 0 else -TAIL - x


@kernel
def gamma(clock: Clock, shape: float) -> float:
    """Draw from the gamma distribution with this shape and scale 1."""
    if shape < 1.0:
        boost = (1.0 - uniform(clock)) ** (1.0 / shape)
        return gamma_from_one(clock, shape + 1.0) * boost
    return gamma_from_one(clock, shape)


@kernel
def gamma_from_one(clock: Clock, shape: float) -> float:
    """Draw a gamma with a shape of at least 1."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(clock)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u, square = 1.0 - uniform(clock), x * x
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@kernel
def beta(clock: Clock, a: float, b: float) -> float:
    """Draw from the beta distribution; 0 or 1 at random where both gammas vanish.

    One with a 1 is drawn by its inverse, three times as fast.
    """
    if b == 1.0:
        return (1.0 - uniform(clock)) ** (1.0 / a) if a != 1.0 else uniform(clock)
    if a == 1.0:
        return -math.expm1(math.log(1.0 - uniform(clock)) / b)
    x, y = gamma(clock, a), gamma(clock, b)
    if x + y > 0.0:
        return x / (x + y)
    return 1.0 if uniform(clock) * (a + b) < a else 0.0


@kernel_without_nan
def largest(values: FloatVector, clock: Clock) -> int:
    """Return where the largest of these is; one of several at random."""
    top = values[0]
    for value in values:
        top = value if value > top else top
    return among(values, top, clock)


@kernel_without_nan
def among(values: FloatVector, top: float, clock: Clock) -> int:
    """Return where `top` stands among these; one of several places at random."""
    ties, place = 0, 0
    for j in range(len(values)):
        hit = values[j] == top
        ties += hit
        place += j * hit
    if ties == 1:
        return place
    skip = below(clock, ties)
    for j in range(len(values)):
        if values[j] == top:
            if skip == 0:
                return j
            skip -= 1
    return -1
