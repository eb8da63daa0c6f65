"""Candidates without clusters, to the letter of their theorem: nothing is kept between attempts.

`attempts` is the plan for regret, `certified` the one that ends with a policy; the ideas are told
in `candidates_pooled`. Here every estimate is fresh, and c(k) = sqrt(Lg / 2^k) is the radius of one
with 2^k plays. No randomness, clock, I/O, logging or globals; ties go to the first index. Every
loop ends under every answer: a pair that was not seen in a stage falls out of its test.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.plans.about import Kind
from lumpable.plans.bounds import Promise
from lumpable.plans.candidates_pooled import list_draws
from lumpable.plans.lengths import doubled
from lumpable.plans.pairs import as_sets, best_pair, most_in_a_row, raised
from lumpable.plans.plan import Belief, Collect, Conversation, Result
from lumpable.plans.problem import Problem
from lumpable.plans.seen import Sample

CONFIDENCE = 16.0
"""Lg = 16 ln x."""
LENGTH = 32
"""A stage takes 32 S a Lg 2^k rounds, a list 32 S m."""


def attempts(problem: Problem) -> Conversation:
    """Runs q = 1, 2, ... of at least B = 2^q (S + K) rounds, attempts R = 1, 2, 4, ... in each."""
    S, K, _ = problem.letters
    q = 0
    while True:
        q += 1
        B = (S + K) << q
        Lg = CONFIDENCE * (math.log(S * K * (S + K)) + q * math.log(2))
        R, ok = 1, False
        while not ok:
            attempt = Attempt(problem, R, Lg, f"run {q}, R = {R}: ", q)
            ok = yield from attempt.climb(q - (R.bit_length() - 1))
            R *= 2
        if attempt.used < B:
            nothing = np.zeros((S, K), dtype=bool)
            yield from attempt.ask(B - attempt.used, 1, nothing, "serving", "serving the best arms")


def certified(problem: Problem, epsilon: float, delta: float) -> Conversation:
    """One sub-phase that is deep enough for epsilon, attempts R = 1, 2, 4, ... until it ends."""
    epsilon, delta = checks.accuracy(epsilon, delta)
    h, Lg = depth(problem, epsilon, delta)
    R = 1
    notes: tuple[str, ...] = ()
    while True:
        attempt = Attempt(problem, R, Lg, f"R = {R}: ", notes=notes)
        if (yield from attempt.subphase(h)):
            return Result(attempt.arm, tuple(sorted(attempt.W)), tuple(attempt.found), notes=notes)
        R, notes = 2 * R, (*notes, f"R = {R} was given up: a level needs more candidates")


class Attempt:
    """One attempt with a guess R: values V(i), the arms that have them, and the rounds used."""

    def __init__(
        self,
        problem: Problem,
        R: int,
        Lg: float,
        words: str = "",
        number: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        S = problem.contexts
        self.problem = problem
        self.R = R
        self.Lg = Lg
        self.V: FloatVector = np.full(S, -math.inf)
        """V(i) <= A(i, arm(i))."""
        self.arm = np.zeros(S, dtype=np.int64)
        self.W: set[int] = set()
        """The candidates of the sub-phase."""
        self.found: list[int] = []
        """How many screenings each level of the sub-phase has had."""
        self.used = 0
        self._words = words
        self._number = number
        self._notes = notes

    def c(self, k: int) -> float:
        """c(k) = sqrt(Lg / 2^k)."""
        return math.sqrt(self.Lg) * math.exp2(-k / 2)

    def m(self, n: int, h: int) -> int:
        """Return the draws of each context for the list of level n in sub-phase h."""
        return list_draws(self.problem, self.R, self.Lg, h - n)

    def ask(
        self, rounds: int, repeats: int, arms: BoolMatrix, kind: Kind, words: str
    ) -> Generator[Collect, Sample, Sample]:
        """Ask; an empty row plays arm(i)."""
        belief = Belief(
            self._words + words,
            self.arm,
            tuple(sorted(self.W)),
            self._number,
            notes=self._notes,
            kind=kind,
        )
        sample = yield Collect(rounds, repeats, arms, belief)
        self.used += rounds
        return sample

    def climb(self, H: int) -> Generator[Collect, Sample, bool]:
        """Sub-phases 1 .. H; False: one of them says "too many"."""
        for h in range(1, H + 1):
            if not (yield from self.subphase(h)):
                return False
        return True

    def subphase(self, h: int) -> Generator[Collect, Sample, bool]:
        """SUBPHASE(h, R): lists and candidates level by level; then everybody tries them."""
        S, K, _ = self.problem.letters
        everything = np.ones((S, K), dtype=bool)
        self.W, self.found = set(), []
        if self.m(h, h) >= K:  # the standard algorithm: nothing to screen
            yield from self.test(everything, h, "testing", f"everything, level {h}")
            return True
        for n in levels(self.problem, self.R, self.Lg, h):
            listed, m = everything, self.m(n, h)
            if m < K:
                words = f"drawing lists, level {n} of {h}"
                sample = yield from self.ask(LENGTH * S * m, 1, everything, "listing", words)
                listed = sample.plays > 0
            est, _, D = yield from self.test(listed, n, "testing", f"the lists, level {n} of {h}")
            if not (yield from self.screen(est, D, n, h)):
                return False
        among = np.zeros((S, K), dtype=bool)
        among[:, sorted(self.W)] = True
        yield from self.test(among, h, "settling", f"{len(self.W)} candidates, level {h}")
        return True

    def screen(
        self, est: FloatMatrix, D: BoolMatrix, n: int, h: int
    ) -> Generator[Collect, Sample, bool]:
        """Candidates of level n: the arm of the best pair, until D is empty; False: "too many".

        A context leaves whether its test was completed or not; without an estimate it stays.
        """
        S, K, _ = self.problem.letters
        self.found.append(0)
        while D.any():
            if self.found[-1] == self.R:
                return False
            i, j, v = best_pair(D, est)
            w = v - 2 * self.c(n)
            self.W.add(j)
            self.found[-1] += 1
            X: BoolVector = np.any(D, axis=1)
            words = f"arm {j} on {X.sum()} contexts, level {n} of {h}"
            P = as_sets(np.flatnonzero(X) * K + j, S, K)
            e, rad, _ = yield from self.test(P, n, "screening", words, w)
            leaves = e[:, j] + rad[:, j] >= w  # NaN: stays
            leaves[i] = True
            D = D & ~leaves[:, np.newaxis]
        return True

    def test(
        self, P: BoolMatrix, n: int, kind: Kind, words: str, w: float = -math.inf
    ) -> Generator[Collect, Sample, tuple[FloatMatrix, FloatMatrix, BoolMatrix]]:
        """TEST(P, n, w): stages of 2^0 .. 2^n plays; a pair leaves once it cannot matter.

        Returns estimate and radius of each pair's last finished stage, and which were completed.
        """
        S, K, _ = self.problem.letters
        est, rad = np.full(P.shape, np.nan), np.full(P.shape, math.inf)
        alive = np.flatnonzero(P)
        for k in range(n + 1):
            if not alive.size:
                break
            rounds = stage_rounds(self.problem, most_in_a_row(alive, K), self.Lg, k)
            told = f"{kind} {words}, 2^{k} plays"
            sample = yield from self.ask(rounds, 2**k, as_sets(alive, S, K), kind, told)
            alive, _, mean = sample.seen
            est.reshape(-1)[alive], rad.reshape(-1)[alive] = mean, self.c(k)
            self.learn(alive, mean - self.c(k))
            bar = np.maximum(self.V - 4 * self.c(n), w)
            alive = alive[mean + self.c(k) >= bar[alive // K]]
        return est, rad, as_sets(alive, S, K)

    def learn(self, pairs: IntVector, lower: FloatVector) -> None:
        """Raise V(i) to the largest lower bound of its pairs; the first arm wins."""
        self.V, self.arm = raised(self.V, self.arm, pairs, lower, self.problem.arms)


# --- Lengths and promise ------------------------------------------------------------------------


def levels(problem: Problem, R: int, Lg: float, h: int) -> range:
    """Return n1 .. h: n1 is the largest n whose list is everything; lower levels add nothing."""
    lists = (n for n in range(h, 0, -1) if list_draws(problem, R, Lg, h - n) >= problem.arms)
    return range(next(lists, 1), h + 1)


def stage_rounds(problem: Problem, a: int, Lg: float, k: int) -> int:
    """Return the rounds of stage k of a test with rows of at most a arms."""
    return doubled(LENGTH * problem.contexts * a * Lg, k)


def depth(problem: Problem, epsilon: float, delta: float) -> tuple[int, float]:
    """Return the least h with 80 (h + 1) sqrt(Lg) 2^(-h/2) <= epsilon, and Lg.

    Lg = 16 ln x, x = S K (S + K) 2^h / delta.

    >>> depth(Problem(1000, 1000, 5), 0.1, 0.05)[0]
    40
    """
    S, K, _ = problem.letters
    h = 0
    while True:
        h += 1
        Lg = CONFIDENCE * (math.log(S * K * (S + K)) + h * math.log(2) - math.log(delta))
        if 80 * (h + 1) * math.sqrt(Lg) * math.exp2(-h / 2) <= epsilon:
            return h, Lg


def certified_rounds(problem: Problem, epsilon: float, delta: float) -> int:
    """Return the most rounds of `certified` with r groups: the sum of its request lengths.

    With probability 1 - delta no level has more than r screenings, no guess of at least r is given
    up, and no context has more than 512 m arms on a list.
    """
    h, Lg = depth(problem, epsilon, delta)
    K, r = problem.arms, problem.groups
    R, total = 1, sum(_attempt(problem, 1, h, Lg))
    while r > R and list_draws(problem, R, Lg, 0) < K:
        R *= 2
        total += sum(_attempt(problem, R, h, Lg))
    return total


def _attempt(problem: Problem, R: int, h: int, Lg: float) -> Iterator[int]:
    """Yield the rounds of the tests and lists of one attempt."""
    S, K, r = problem.letters

    def test(a: int, n: int) -> int:
        return sum(stage_rounds(problem, a, Lg, k) for k in range(n + 1))

    if list_draws(problem, R, Lg, 0) >= K:
        yield test(K, h)
        return
    candidates = 0
    for n in levels(problem, R, Lg, h):
        m = list_draws(problem, R, Lg, h - n)
        yield LENGTH * S * m if m < K else 0
        yield test(min(K, 512 * m), n)
        yield min(R, r) * test(1, n)
        candidates += min(R, r)
    yield test(min(K, candidates), h)


CERTIFIED = Promise(
    certified_rounds,
    lambda problem, epsilon, delta: None,
    lambda problem, epsilon, delta: epsilon,
)
