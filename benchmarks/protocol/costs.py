"""What a round costs, in the time of one core and in memory, once everything is compiled."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import lumpable as lb
from lumpable.comparisons.cell import one_thread
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.runs.playing import play
from protocol import frozen
from protocol.bars import Bar
from protocol.problems import Size
from protocol.running import Way

PULLS = 100
"""Rounds for each context that are timed."""
REPEATED = 3
WARM = (30, 10, 3)
"""The size of a problem that compiles everything first."""
FEW_ARMS, MANY_ARMS = 100, 1000
MOST_GROWTH = 2.0
"""How much more memory ten times as many arms may take when about as many pairs were seen."""


def time_bars(way: Way, limits: Sequence[tuple[Size, float]]) -> list[Bar]:
    """Return a bar on the microseconds of a round for each of these sizes, fits included."""
    _played(WARM, 1, way)
    bars = []
    for size, most in limits:
        times = []
        for _ in range(REPEATED):
            began = time.process_time()
            _played(size, PULLS, way)
            times.append(time.process_time() - began)
        spent = 1e6 * statistics.median(times) / (PULLS * size[0])
        note = f"processor time, median of {REPEATED} runs of {PULLS} pulls, fits and tape included"
        bars.append(Bar(f"a round at {size}", high=most, value=spent, unit=" us", note=note))
    return bars


def memory_bar(way: Way, contexts: int) -> Bar:
    """Return the bar on memory: it grows with the pairs that were seen, not with all pairs.

    With ten times as many arms and as many rounds, about as many pairs are seen.
    """
    few, many = (_played((contexts, arms, 5), 10, way) for arms in (FEW_ARMS, MANY_ARMS))
    pairs = [int(learner.counts().n.size) for learner in (few, many)]
    growth = (many.nbytes / pairs[1]) / (few.nbytes / pairs[0])
    note = (
        f"{contexts:,} contexts, 10 pulls: {few.nbytes:,} bytes for {pairs[0]:,} pairs seen with "
        f"{FEW_ARMS} arms, {many.nbytes:,} for {pairs[1]:,} with {MANY_ARMS:,}"
    )
    return Bar("memory for each pair seen, growth with ten times the arms", high=MOST_GROWTH,
               value=growth, note=note)  # fmt: skip


def _played(size: Size, pulls: int, way: Way) -> ThreeLevels:
    seed = frozen.seeds(way.commit, frozen.FRESH, f"costs {size}", 1)[0]
    world = lb.worlds.lumpable(*size, noise="bernoulli", seed=seed)
    learner = ThreeLevels(size[0], size[1], seed=seed)
    with one_thread():
        play(learner, world, horizon=pulls * size[0], seed=seed, at=[])
    return learner
