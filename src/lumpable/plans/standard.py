"""Methods that ignore the groups: the naive method and elimination, each context on its own.

Plans: no randomness, clock, I/O, logging or globals.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.plans import bounds, lengths
from lumpable.plans.about import About
from lumpable.plans.making import algorithm
from lumpable.plans.plan import Belief, Collect, Conversation, Result
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.plans.seen import Sample

PIECE = 2**15
"""Numbers that are worked on at a time."""


@algorithm(
    About(
        "naive method",
        "plays every arm on every context, equally often",
        promise=bounds.NAIVE,
    )
)
def naive(
    problem: Problem, *, epsilon: float, delta: float, constants: Constants = PAPER
) -> Conversation:
    """Every arm on every context: Step 3 of Algorithm 1 with all arms as candidates.

    The mean loss is at most 2 sqrt(2) epsilon + 4 epsilon^2 with probability at least
    1 - 2 delta, whatever the context frequencies (`bounds.naive_promise`).
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    rounds = lengths.settle(problem, epsilon, delta, constants)
    candidates = tuple(range(problem.arms))
    policy = yield from best_of(problem, candidates, rounds)
    return Result(policy, candidates)


def best_of(
    problem: Problem, candidates: Sequence[int], rounds: int
) -> Generator[Collect, Sample, IntVector]:
    """Step 3 of Algorithm 1: every candidate in turn on every context; the best mean wins.

    A context without any mean takes the candidate with the largest average over the contexts that
    have one; if none has, the first candidate; without candidates, arm 0 (reading 13).
    """
    S, K, _ = problem.letters
    best = np.full(S, -math.inf)
    policy = np.full(S, candidates[0] if candidates else 0)
    favourite, favourite_average = int(policy[0]), -math.inf
    for arm in candidates:
        phase = f"trying candidate {arm} on every context"
        belief = Belief(phase, policy.copy(), tuple(candidates), kind="settling")
        sample = yield Collect(rounds, 1, only(arm, S, K), belief)
        mean = sample.mean[:, arm]
        better = mean > best  # NaN is not better
        best[better], policy[better] = mean[better], arm
        average = average_over_seen(mean)
        if average > favourite_average:
            favourite, favourite_average = arm, average
        policy[np.isneginf(best)] = favourite
    return policy


def only(arm: int, contexts: int, arms: int) -> BoolMatrix:
    """Return the exploration sets in which every context plays this one arm."""
    sets = np.zeros((contexts, arms), dtype=bool)
    sets[:, arm] = True
    return sets


def average_over_seen(mean: FloatVector) -> float:
    """Return the average of the entries that are not NaN, -inf when there are none."""
    seen = mean[~np.isnan(mean)]
    return float(np.sum(seen / len(seen))) if len(seen) else -math.inf


@algorithm(
    About(
        "elimination",
        "plays on each context what may still be best, and often ends much earlier",
        promise=bounds.ELIMINATION,
    )
)
def elimination(problem: Problem, *, epsilon: float, delta: float) -> Conversation:
    """Phased elimination per context: play what may be best until the loss is certified.

    Each phase doubles the rounds. An arm leaves a context when its upper confidence bound is below
    the lower bound of another. The plan ends when the certified mean loss is at most epsilon: then,
    with probability at least 1 - delta, it is, for any context frequencies and any means that span
    at most 1 in a context. It needs no groups. After `bounds.elimination_phases` phases it ends in
    any case, and says so in a note if it could not certify the policy.
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    S, K, _ = problem.letters
    good = np.ones((S, K), dtype=bool)
    plays = np.zeros((S, K), dtype=np.int64)
    mean = np.zeros((S, K))
    policy = np.zeros(S, dtype=np.int64)
    certified = 1.0
    for phase in range(1, bounds.elimination_phases(problem, epsilon, delta) + 1):
        words = f"phase {phase}, {good.sum() / S:.1f} arms a context, loss <= {certified:.3g}"
        belief = Belief(words, policy.copy(), kind="eliminating")
        sample = yield Collect(S * K * 2 ** (phase - 1), 1, good.copy(), belief)
        pool(plays, mean, sample)
        lower, upper = confidence(plays, mean, delta)
        upper[~good] = -math.inf
        lower[~good] = -math.inf
        policy = np.argmax(lower, axis=1)
        best_lower = lower.max(axis=1)
        good &= upper >= best_lower[:, np.newaxis]
        gap = np.clip(upper.max(axis=1) - best_lower, 0.0, 1.0)
        gap[good.sum(axis=1) == 1] = 0.0
        certified = certified_loss(gap, plays, phase, delta)
        if certified <= epsilon:
            return Result(policy)
    return Result(policy, notes=(f"not certified: loss <= {certified:.3g}, asked for {epsilon:g}",))


@algorithm(
    About(
        "standard algorithm",
        "plays on each context what may still be best, without groups",
        option="standard",
        endless=True,
        rate=bounds.STANDARD,
    )
)
def online(problem: Problem) -> Conversation:
    """Phased elimination per context without end: the standard algorithm for regret.

    Each phase doubles the rounds and plays what may still be best. All bounds hold for all time
    but for a chance of one in 2^63, and no run is longer than that, so a failure costs less than
    one round on average. It needs no groups; regret of order sqrt(SKT), without constants and
    logarithms (`bounds.standard_rate`).
    """
    S, K, _ = problem.letters
    good = np.ones((S, K), dtype=bool)
    plays = np.zeros((S, K), dtype=np.int64)
    mean = np.zeros((S, K))
    policy = np.zeros(S, dtype=np.int64)
    phase = 0
    while True:
        phase += 1
        words = f"phase {phase}, {good.sum() / S:.1f} arms a context"
        belief = Belief(words, policy, number=phase, kind="eliminating")
        sample = yield Collect(S * K * 2 ** (phase - 1), 1, good, belief)
        pool(plays, mean, sample)
        lower, upper = confidence(plays, mean, 1 / checks.MOST_ROUNDS)
        lower[~good] = -math.inf
        policy = np.argmax(lower, axis=1)
        good = good & (upper >= lower.max(axis=1, keepdims=True))


def pool(plays: IntMatrix, mean: FloatMatrix, sample: Sample) -> None:
    """Add a sample to the running plays and means, in place."""
    seen = sample.seen
    for some in _pieces(len(seen.pairs)):
        pairs, new = seen.pairs[some], seen.plays[some]
        number = plays.reshape(-1)[pairs] + new
        weight = new / number
        old = mean.reshape(-1)[pairs]
        plays.reshape(-1)[pairs] = number
        mean.reshape(-1)[pairs] = (1 - weight) * old + weight * seen.mean[some]


def confidence(
    plays: IntMatrix, mean: FloatMatrix, delta: float
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return bounds that hold for all pairs at all times with probability 1 - delta / 2.

    Normal mixture: |sum of n noises| < sqrt((n + 1) (2 log(1/a) + log(n + 1))) for all n with
    probability 1 - a, a = delta / (2SK). Without plays the bounds are infinite.
    """
    lower, upper = np.empty(mean.shape), np.empty(mean.shape)
    for rows in _pieces(len(plays), row=plays.shape[1]):
        n = np.maximum(plays[rows], 1)
        log_term = 2 * math.log(2 * plays.size / delta) + np.log(n + 1.0)
        width = np.where(plays[rows] > 0, np.sqrt((n + 1.0) * log_term) / n, math.inf)
        with np.errstate(over="ignore"):
            lower[rows], upper[rows] = mean[rows] - width, mean[rows] + width
    return lower, upper


def _pieces(length: int, row: int = 1) -> Iterator[slice]:
    """Yield slices that stay in the cache: large matrices are worked on piece by piece."""
    step = max(1, PIECE // row)
    yield from (slice(start, start + step) for start in range(0, length, step))


def certified_loss(gap: FloatVector, plays: IntMatrix, phase: int, delta: float) -> float:
    """Return a bound on the mean loss from bounds on each context's own (span at most 1)."""
    visits = plays.sum(axis=1)
    rounds = int(visits.sum())
    if rounds == 0:
        return 1.0
    error = bounds.frequency_error(len(gap), rounds, phase, delta)
    return min(1.0, float(gap @ (visits / rounds)) + error)
