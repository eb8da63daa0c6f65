"""Samples grow with S + K and not with S K: whole runs against the printed lengths.

At epsilon = 0.1 a screening lets everybody go (its threshold is above 1), so each of the N levels
takes one, and a run has between 1 and N candidates. With these numbers the printed lengths are
log(rSK/delta) times N r (S + K) 16 / epsilon^2 (Step 1) plus something that grows with S alone
(Steps 2 and 3): at the same S + K a straight line in S, bent only by the logarithm.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import lumpable as lb
from lumpable import pac, worlds

Size = tuple[int, int]
EPSILON, DELTA, GROUPS, LEVELS = 0.1, 0.05, 5, 7
SEEDS = 2
MIDDLE: Size = (550, 550)
ENDS: tuple[Size, Size] = ((100, 1000), (1000, 100))
SQUARES: tuple[Size, ...] = ((100, 100), (200, 200), (400, 400))
ONCE = [1] * LEVELS


def requests(
    S: int, K: int, r: int, epsilon: float, screenings: Sequence[int], candidates: int
) -> list[int]:
    """The rounds of each request of Algorithm 1, as printed."""
    lg = 16 * math.log(r * S * K / DELTA)
    step_1 = [math.ceil(r * (S + K) * lg / epsilon**2)] * len(screenings)
    step_2 = [
        math.ceil(8 * lg * 2**n * S)
        for n, times in enumerate(screenings, start=1)
        for _ in range(times)
    ]
    step_3 = [math.ceil(4 * S / epsilon**2 * math.log(S * K / DELTA))] * candidates
    return step_1 + step_2 + step_3


def naive(size: Size) -> int:
    S, K = size
    return K * math.ceil(4 * S / EPSILON**2 * math.log(S * K / DELTA))


@functools.cache
def runs(algorithm: str, size: Size) -> list[lb.Run]:
    S, K = size
    plan = {"near_uniform": pac.near_uniform, "any_contexts": pac.any_contexts}[algorithm]
    problem = lb.Problem(S, K, GROUPS)
    return [
        lb.simulate(
            plan(problem, epsilon=EPSILON, delta=DELTA),
            worlds.lumpable(S, K, GROUPS, seed=seed),
            seed=seed,
        )
        for seed in range(SEEDS)
    ]


def mean_rounds(algorithm: str, *sizes: Size) -> float:
    rounds = [run.rounds for size in sizes for run in runs(algorithm, size)]
    return sum(rounds) / len(rounds)


def bent(far: Size, *near: Size) -> float:
    """How much more a run at one size may take than the average of others by the lengths alone:
    one screening a level, N candidates there and one candidate here.
    """

    def total(size: Size, candidates: int) -> int:
        return sum(requests(*size, GROUPS, EPSILON, ONCE, candidates))

    return total(far, LEVELS) / (sum(total(size, 1) for size in near) / len(near))


def test_algorithm_1_takes_the_printed_rounds() -> None:
    for size in (*ENDS, MIDDLE, *SQUARES):
        for run in runs("near_uniform", size):
            assert run.result is not None
            assert run.result.screenings == tuple(ONCE)
            assert 1 <= len(run.result.candidates) <= LEVELS
            assert run.rounds == sum(
                requests(*size, GROUPS, EPSILON, ONCE, len(run.result.candidates))
            )


def test_algorithm_3_takes_the_printed_rounds() -> None:
    """J rounds, and in each bucket Algorithm 1 at epsilon_l, stretched by 4 / nu-hat."""
    for size in (*ENDS, MIDDLE):
        S, K = size
        for run in runs("any_contexts", size):
            assert run.result is not None
            expected = math.ceil(4 * S / EPSILON * math.log(S / DELTA))
            for bucket in run.result.buckets:
                if bucket.result is not None:
                    inside = int(bucket.contexts.sum())
                    epsilon = min(0.5, 2 * EPSILON / math.sqrt(bucket.frequency))
                    found = bucket.result
                    asked = requests(
                        inside,
                        K,
                        min(GROUPS, inside),
                        epsilon,
                        found.screenings,
                        len(found.candidates),
                    )
                    assert max(found.screenings) <= GROUPS
                    expected += sum(math.ceil(4 * each / bucket.frequency) for each in asked)
            assert run.rounds == expected


def test_at_the_same_sum_the_product_does_not_count() -> None:
    """In the middle S K is three times as large; the line is bent by less than a tenth.

    Algorithm 3 finds one bucket or two here, and each pays for all K arms: at most twice that.
    """
    allowed = bent(MIDDLE, *ENDS)
    assert allowed < 1.1
    assert mean_rounds("near_uniform", MIDDLE) <= allowed * mean_rounds("near_uniform", *ENDS)
    assert mean_rounds("any_contexts", MIDDLE) <= 2 * allowed * mean_rounds("any_contexts", *ENDS)
    assert naive(MIDDLE) > 3 * sum(map(naive, ENDS)) / 2


def test_rounds_by_the_sum_are_flat_up_to_the_logarithm() -> None:
    """With S = K four times as large everything is four times as large, but for log(rSK/delta)."""
    small, large = SQUARES[0], SQUARES[-1]
    times = sum(large) / sum(small)
    log_x = [math.log(GROUPS * S * K / DELTA) for S, K in (small, large)]
    allowed = bent(large, small) / times
    assert allowed < 1.05 * log_x[1] / log_x[0]
    growth = mean_rounds("near_uniform", large) / mean_rounds("near_uniform", small)
    assert 1 <= growth / times <= allowed
    assert naive(large) / naive(small) > times**2
