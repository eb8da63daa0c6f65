"""The PAC half of the paper: Algorithm 1 (`near_uniform`) and Algorithm 3 (`any_contexts`).

Beside it `candidates`, which is not in the paper and does not need r.
Plans: no randomness, clock, I/O, logging or globals. Line numbers are those of the pseudocode;
"reading" refers to paper.md.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.plans import bounds, lengths
from lumpable.plans.about import About
from lumpable.plans.candidates_literal import CERTIFIED, certified
from lumpable.plans.lengths import Lengths
from lumpable.plans.making import algorithm
from lumpable.plans.plan import Belief, Bucket, Collect, Conversation, Plan, Result
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.plans.progress import Progress
from lumpable.plans.seen import Sample
from lumpable.plans.standard import best_of, only


@algorithm(
    About(
        "Algorithm 1",
        "learns groups, when all contexts come about equally often",
        promise=bounds.NEAR_UNIFORM,
        assumes=frozenset({"enough groups", "even contexts"}),
    )
)
def near_uniform(
    problem: Problem, *, epsilon: float, delta: float, constants: Constants = PAPER
) -> Conversation:
    """Algorithm 1: a near-optimal policy when every context comes about equally often.

    The paper assumes frequencies between 1/(8S) and 8/S. Its promise is then
    `bounds.near_uniform_promise`, which is vacuous at usual epsilon: paper.md.
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    S, K, _ = problem.letters
    size = lengths.near_uniform_lengths(problem, epsilon, delta, constants)  # lines 1 and 2
    everything = np.ones((S, K), dtype=bool)
    policy = np.zeros(S, dtype=np.int64)

    # Step 1. Data collection
    levels = range(1, size.levels + 1)
    tops = []
    for n in levels:  # line 3
        words = f"collecting, level {n} of {size.levels}"
        belief = Belief(words, policy, kind="collecting")
        sample = yield Collect(size.explore, 2**n, everything, belief)  # line 4
        tops.append(top_of_each_context(sample))

    # Step 2. Screening optimal action candidates
    candidates: set[int] = set()
    screenings = []
    for n in levels:  # line 5
        count, policy = yield from screen(size, n, tops[n - 1], candidates, policy)
        screenings.append(count)

    # Step 3. Solving the simplified context-lumpable bandit
    chosen = tuple(sorted(candidates))
    policy = yield from best_of(problem, chosen, size.settle)  # line 12
    return Result(policy, chosen, tuple(screenings), notes=tuple(_notes(problem, screenings)))


def top_of_each_context(sample: Sample) -> tuple[FloatVector, IntVector]:
    """Return each context's largest mean (-inf: none) and its arm.

    Screening removes whole contexts (reading 12), so this is all that it ever asks of D_n.
    """
    mean = np.where(sample.plays > 0, sample.mean, -math.inf)
    arm = np.argmax(mean, axis=1)
    return mean[np.arange(len(arm)), arm], arm


def screen(
    size: Lengths,
    n: int,
    top: tuple[FloatVector, IntVector],
    candidates: set[int],
    policy: IntVector,
) -> Generator[Collect, Sample, tuple[int, IntVector]]:
    """Lines 6 to 11 at level n: take the best pair's arm, drop contexts that like it as much.

    Adds to the candidates; returns the number of screenings and the policy so far, in which a
    context has the arm with which it left.
    """
    S, K, _ = size.problem.letters
    mean, arm = top
    left = mean > -math.inf
    screenings = 0
    while left.any():  # line 6
        i = int(np.argmax(np.where(left, mean, -math.inf)))  # line 7
        j = int(arm[i])
        candidates.add(j)  # line 8
        screenings += 1
        words = f"screening, level {n} of {size.levels}"
        belief = Belief(words, policy, tuple(sorted(candidates)), kind="screening")
        fresh = yield Collect(size.test(n), 2**n, only(j, S, K), belief)  # lines 9 and 10
        with np.errstate(over="ignore"):
            distance = np.abs(fresh.mean[:, j] - mean[i])
        leaves = left & (distance < size.threshold(n))  # line 11; no fresh estimate (NaN): stays
        leaves[i] = True
        policy = np.where(leaves, j, policy)
        left &= ~leaves
    return screenings, policy


def _notes(problem: Problem, screenings: list[int]) -> Iterator[str]:
    for n, count in enumerate(screenings, start=1):
        if count > problem.groups:
            yield f"level {n} took {count} screenings, more than r = {problem.groups}"
    if problem.groups > problem.arms:
        yield (
            f"r = {problem.groups} is above K = {problem.arms}: outside the theorem's assumptions"
        )


@algorithm(
    About(
        "Algorithm 3",
        "learns groups, however often each context comes",
        promise=bounds.ANY_CONTEXTS,
        assumes=frozenset({"enough groups"}),
    )
)
def any_contexts(
    problem: Problem, *, epsilon: float, delta: float, constants: Constants = PAPER
) -> Conversation:
    """Algorithm 3: a near-optimal policy for any context frequencies.

    Estimates the frequencies, puts contexts that come about equally often into one bucket, and
    runs Algorithm 1 in each bucket; contexts that hardly ever come are given up. The promise is
    then `bounds.any_contexts_promise`: paper.md.
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    S, K, r = problem.letters
    J = lengths.arrivals(problem, epsilon, delta, constants)  # line 1
    L = lengths.last_bucket(problem, epsilon)
    N = bounds.whole(problem, epsilon, delta, constants)

    words = "estimating how often each context comes"
    belief = Belief(words, np.zeros(S, dtype=np.int64), kind="estimating")
    sample = yield Collect(J, 1, np.ones((S, K), dtype=bool), belief)  # line 2
    frequency = sample.plays.sum(axis=1) / max(1, int(sample.plays.sum()))
    bucket = bucket_of(frequency, L)  # line 3

    policy = np.full(S, best_pooled_arm(sample))
    buckets = []
    for level in range(L):  # line 4; reading 15
        contexts = bucket == level
        if not contexts.any():
            continue
        nu = float(frequency[contexts].sum())
        inside = Problem(int(contexts.sum()), K, min(r, int(contexts.sum())))
        epsilon_l = lengths.bucket_epsilon(epsilon, nu)
        rounds, result = 0, None
        if bounds.bucket_rounds(inside, epsilon_l, delta, nu, constants) <= N:  # reading 16
            learner = near_uniform(inside, epsilon=epsilon_l, delta=delta, constants=constants)
            rounds, result = yield from in_bucket(learner, contexts, nu, policy, level, constants)
            policy = policy.copy()
            policy[contexts] = result.policy  # line 5
        buckets.append(Bucket(level, checks.read_only(contexts), nu, epsilon_l, rounds, result))
    return _glue(policy, buckets, N)  # line 6


def bucket_of(frequency: FloatVector, last: int) -> IntVector:
    """Return l with frequency in (2^-l-1, 2^-l], `last` for rarer contexts (line 3)."""
    mantissa, exponent = np.frexp(frequency)  # frequency = mantissa 2^exponent, 1/2 <= mantissa < 1
    level = np.where(mantissa == 0.5, 1 - exponent, -exponent)
    return np.where(frequency > 0, np.minimum(level, last), last).astype(np.int64)


def best_pooled_arm(sample: Sample) -> int:
    """Return the arm with the largest pooled mean; arm 0 if nothing was played."""
    plays = sample.plays.sum(axis=0)
    weight = sample.plays / np.maximum(plays, 1)
    pooled = np.sum(weight * np.where(sample.plays > 0, sample.mean, 0.0), axis=0)
    return int(np.argmax(np.where(plays > 0, pooled, -math.inf)))


def in_bucket(
    learner: Plan,
    contexts: BoolVector,
    frequency: float,
    policy: IntVector,
    level: int,
    constants: Constants,
) -> Generator[Collect, Sample, tuple[int, Result]]:
    """Run a plan on some contexts only: rows outside are empty, rounds are stretched (reading 17).

    Returns the rounds used and the result.
    """
    progress = Progress(learner)
    rounds = 0
    while isinstance(asked := progress.request, Collect):
        arms = np.zeros((len(contexts), asked.arms.shape[1]), dtype=bool)
        arms[contexts] = asked.arms
        longer = lengths.stretched(asked.rounds, frequency, constants)
        belief = _outside(asked.belief, contexts, policy, level)
        sample = yield Collect(longer, asked.repeats, arms, belief)
        rounds += longer
        progress.answer(Sample(sample.plays[contexts], sample.mean[contexts]))
    if progress.result is None:
        raise RuntimeError("a plan without a request has a result")
    return rounds, progress.result


def _outside(
    inside: Belief | None, contexts: BoolVector, policy: IntVector, level: int
) -> Belief | None:
    """Return a bucket's belief as the whole problem's."""
    if inside is None:
        return None
    everybody = policy.copy()
    everybody[contexts] = inside.policy
    return Belief(f"bucket {level}: {inside.phase}", everybody, inside.candidates, kind=inside.kind)


def _glue(policy: IntVector, buckets: list[Bucket], N: int) -> Result:
    """Put together what the buckets found, with a note where one was given up or ran over N."""
    candidates: set[int] = set()
    notes = []
    for bucket in buckets:
        if bucket.result is None:
            notes.append(f"bucket {bucket.level} was given up: it would take more than N = {N}")
            continue
        candidates |= set(bucket.result.candidates)
        notes += [f"bucket {bucket.level}: {note}" for note in bucket.result.notes]
        if bucket.rounds > N:
            notes.append(f"bucket {bucket.level} took {bucket.rounds} rounds, more than N = {N}")
    return Result(policy, tuple(sorted(candidates)), buckets=tuple(buckets), notes=tuple(notes))


@algorithm(
    About(
        "candidates",
        "needs no number of groups, when all contexts come about equally often",
        promise=CERTIFIED,
        assumes=frozenset({"even contexts"}),
    )
)
def candidates(problem: Problem, *, epsilon: float, delta: float) -> Conversation:
    """A near-optimal policy when every context comes about equally often, r unknown.

    With probability at least 1 - delta the mean loss is at most epsilon, and the rounds are of
    order r (S + K) / epsilon^2, without constants and logarithms: `problem.groups` is ignored. A
    result about orders: with its constants, 60 contexts and 40 arms take 1e17 rounds at epsilon
    0.3 (`candidates_literal.certified_rounds` adds up the requests).
    """
    return certified(problem, epsilon, delta)
