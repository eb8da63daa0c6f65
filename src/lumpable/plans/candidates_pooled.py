"""Candidates without clusters, with memory: low regret when neither r nor T is known.

Regret of order sqrt(min(r (S + K), S K) T), without constants and logarithms, when every context
comes about equally often (frequencies between 1/(8S) and 8/S) and groups are of any size. Three
ideas. A context that knows a value V(i) drops an arm of gap D after about 1/D^2 plays, so that a
test of any arm is cheap and only the number of tests counts. The best pair of a list names a
candidate, which is tested on everybody: at most r candidates a level, and no partition. That few
contexts are left without a good candidate is a union bound over sets of candidates, not over
groups, so that r is never used: the guess R doubles when a level needs more than R candidates.

Memory keeps all data of a block of runs. The same without memory is in `candidates_literal`.
No randomness, clock, I/O, logging or globals; ties go to the first index. Every loop ends under
every answer: a pair that was not seen falls out of its test.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from fractions import Fraction

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.plans.about import Kind
from lumpable.plans.lengths import doubled
from lumpable.plans.pairs import as_sets, best_pair, most_in_a_row, raised
from lumpable.plans.plan import Belief, Collect, Conversation
from lumpable.plans.problem import Problem
from lumpable.plans.seen import Sample

FIRST = 8
"""The first run; its rounds are 2^8 (S + K)."""
UNCOUNTED = 900
"""2^900 plays are enough for any level: more would leave the range of floats."""


def memory(problem: Problem, horizon: int | float | None = None) -> Conversation:
    """Runs q = 8, 9, ... in blocks 8 .. 15, 16 .. 31, 32 .. 63, ...; a new block forgets all.

    With a horizon there is one block, and its bounds hold for that many rounds.
    """
    S, K, _ = problem.letters
    T = None if horizon is None else checks.count("horizon", horizon, 1, checks.MOST_ROUNDS)
    q, blocks = FIRST, 0
    while True:
        Q = 2 * q  # the first run of the next block
        known = math.log(S * K * (S + K)) + Q * math.log(2) if T is None else math.log(S * K * T)
        block = Block(problem, max(1.0, known), blocks)
        while T is not None or q < Q:
            yield from block.run(q)
            q += 1
        blocks += 1


class Block:
    """What a block of runs knows: pooled data, and bounds that only get narrower."""

    def __init__(self, problem: Problem, ell: float, blocks: int = 0) -> None:
        S, K, _ = problem.letters
        self.problem = problem
        self.ell = ell
        self.n0 = next(n for n in range(UNCOUNTED) if 5 * self.c(n) < 1)
        """The first level that can tell anything: 5 c(n) < 1."""
        self.count: FloatMatrix = np.zeros((S, K))
        """Rewards of finished plays."""
        self.mean: FloatMatrix = np.zeros((S, K))
        self.U: FloatMatrix = np.full((S, K), math.inf)
        """A(i,j) <= U(i,j)."""
        self.V: FloatVector = np.full(S, -math.inf)
        """V(i) <= A(i, arm(i))."""
        self.arm = np.zeros(S, dtype=np.int64)
        self.R = 1
        """The guess: candidates that a level may have."""
        self.done = self.n0
        """The last sub-phase that was finished; before the first one n0."""
        self.W: set[int] = set()
        """The candidates of the sub-phase."""
        self.used = 0
        """Rounds of the run."""
        self._q = 0
        self._blocks = blocks
        self._given_up: tuple[str, ...] = ()

    # --- Bounds ---------------------------------------------------------------------------

    def rad(self, m: FloatVector) -> FloatVector:
        """rad(m): all means of m rewards are this close to A, at all times, but for SK e^-ell."""
        return np.sqrt((1 + 1 / m) * (np.log1p(m) + 2 * self.ell) / m)

    def c(self, n: int) -> float:
        """c(n) = rad(2^n)."""
        return float(self.rad(np.array([enough(n)]))[0])

    def open(self) -> BoolMatrix:
        """Return the arms that may still be best: U(i,j) >= V(i)."""
        return self.V[:, np.newaxis] <= self.U

    def m(self, n: int, h: int) -> int:
        """Return the draws of each context for the list of level n in sub-phase h."""
        return list_draws(self.problem, self.R, self.ell, h - n)

    def full(self, n: int, h: int) -> bool:
        """Whether the list of level n is to hold everything that is open."""
        return self.m(n, h) >= int(self.open().sum(axis=1).max())

    # --- Data -----------------------------------------------------------------------------

    def ask(
        self, rounds: int, repeats: int, arms: BoolMatrix, kind: Kind, words: str
    ) -> Generator[Collect, Sample, Sample]:
        """Ask and remember; an empty row plays arm(i)."""
        belief = Belief(
            f"run {self._q}, R = {self.R}: {words}",
            self.arm,
            tuple(sorted(self.W)),
            self._q,
            notes=self._given_up,
            kind=kind,
            restarts=self._blocks,
        )
        sample = yield Collect(rounds, repeats, arms, belief)
        self.used += rounds
        self.remember(sample, repeats)
        return sample

    def remember(self, sample: Sample, repeats: int) -> None:
        """Add finished plays; U never rises and V never falls."""
        pairs, plays, fresh = sample.seen
        new = plays * float(min(repeats, 1 << UNCOUNTED))
        count, old = self.count.reshape(-1)[pairs] + new, self.mean.reshape(-1)[pairs]
        mean = (1 - new / count) * old + new / count * fresh
        self.count.reshape(-1)[pairs], self.mean.reshape(-1)[pairs] = count, mean
        U, radius = self.U.reshape(-1), self.rad(count)
        U[pairs] = np.minimum(U[pairs], mean + radius)
        self.V, self.arm = raised(self.V, self.arm, pairs, mean - radius, self.problem.arms)

    # --- RUN, SUBPHASE, TEST --------------------------------------------------------------

    def run(self, q: int) -> Generator[Collect, Sample, None]:
        """RUN(q): sub-phases up to H, again with R doubled after "too many"; the rest is served."""
        S, K, _ = self.problem.letters
        B = (S + K) << q
        self._q, self.used = q, 0
        while not (yield from self.climb(q)):
            self.R *= 2
        if self.used < B:
            nothing = np.zeros((S, K), dtype=bool)
            yield from self.ask(B - self.used, 1, nothing, "serving", "serving the best arms")

    def climb(self, q: int) -> Generator[Collect, Sample, bool]:
        """Sub-phases h = done, done + 3, .. below H, then H; False: "too many"."""
        H = q - (self.R.bit_length() - 1) - math.floor(math.log2(self.ell))
        for h in [*range(self.done, H, 3), H] if self.n0 <= H else []:
            if not (yield from self.subphase(h)):
                return False
            self.done = max(self.done, h)
        return True

    def subphase(self, h: int) -> Generator[Collect, Sample, bool]:
        """SUBPHASE(h, R): lists and candidates from level h down; then everybody tries them."""
        S, K, _ = self.problem.letters
        self.W = set()
        if self.full(h, h):  # nothing to screen
            yield from self.test(
                np.ones((S, K), dtype=bool), h, "testing", f"everything, level {h}"
            )
            return True
        L: BoolMatrix = np.zeros((S, K), dtype=bool)
        draws: FloatVector = np.zeros(S)
        for n in range(h, self.n0 - 1, -2):  # downwards: L only grows, finer data serve the coarser
            full = self.full(n, h)
            if full:
                L = self.open()
            else:
                yield from self.extend(L, draws, self.m(n, h), f"level {n} of {h}")
            D = yield from self.test(L, n, "testing", f"the lists, level {n} of {h}")
            if not (yield from self.screen(D, n, h)):
                return False
            if full:
                break
        among = np.zeros((S, K), dtype=bool)
        among[:, sorted(self.W)] = True
        yield from self.test(among, h, "settling", f"{len(self.W)} candidates, level {h}")
        return True

    def extend(
        self, L: BoolMatrix, draws: FloatVector, m: int, words: str
    ) -> Generator[Collect, Sample, None]:
        """Draw open arms until every context has m draws; what was drawn joins the lists, in place.

        A list is the set of finished pairs and is never cut: that would not be uniform.
        """
        f = Fraction(3, 2)
        while f <= 48:
            arms = self.open() & (draws < m)[:, np.newaxis]
            if not arms.any():
                return
            g = max(m - int(draws[arms.any(axis=1)].min()), math.ceil(self.ell))
            rounds = math.ceil(f * self.problem.contexts * g)
            sample = yield from self.ask(rounds, 1, arms, "listing", f"drawing lists, {words}")
            pairs, plays, _ = sample.seen
            L.reshape(-1)[pairs] = True
            draws += np.bincount(pairs // self.problem.arms, plays, self.problem.contexts)
            f *= 2

    def screen(self, D: BoolMatrix, n: int, h: int) -> Generator[Collect, Sample, bool]:
        """Candidates of level n: the arm of the best pair, until all of D is accounted for.

        False: "too many". Whether the test of a context was completed does not matter; the margin
        4 c(n) does: it keeps a context from leaving by a bad arm whose test stopped early.
        """
        S, K, _ = self.problem.letters
        found = 0
        while D.any():
            if found == self.R:
                why = f"R = {found} was given up in run {self._q}: level {n} needs more candidates"
                self._given_up = (*self._given_up, why)
                return False
            i, j, v = best_pair(D, self.mean)
            w = v - 2 * self.c(n)
            self.W.add(j)
            found += 1
            X: BoolVector = np.any(D, axis=1)
            words = f"arm {j} on {X.sum()} contexts, level {n} of {h}"
            P = as_sets(np.flatnonzero(X) * K + j, S, K)
            yield from self.test(P, n, "screening", words, 4 * self.c(n), w)
            leaves = (self.count[:, j] > 0) & (self.U[:, j] >= w)
            leaves[i] = True
            D = D & ~leaves[:, np.newaxis]
        return True

    def test(
        self,
        P: BoolMatrix,
        n: int,
        kind: Kind,
        words: str,
        margin: float = 0.0,
        w: float = -math.inf,
    ) -> Generator[Collect, Sample, BoolMatrix]:
        """TEST(P, n, margin, w): pairs of P that reach 2^n plays with U >= bar throughout.

        bar(i) = max(V(i) - margin, w), always with today's V. Lengths grow until a pair is seen:
        with fixed ones the plays of a rare context would never end.
        """
        S, K, _ = self.problem.letters
        count, U = self.count.reshape(-1), self.U.reshape(-1)  # views

        def above(pairs: IntVector) -> BoolVector:
            bar = np.maximum(self.V - margin, w)
            return U[pairs] >= bar[pairs // K]

        listed = np.flatnonzero(P)
        pairs = listed[count[listed] < enough(n)]
        for k in range(min(self.n0, n), n + 1):
            f = Fraction(3, 2)
            while f <= 512 * self.ell:
                pairs = pairs[above(pairs)]
                short = pairs[count[pairs] < enough(k)]
                if not short.size:
                    break
                a = most_in_a_row(short, K)
                M = 2**k - int(count[short].min())
                rounds, told = math.ceil(f * S * (a + 1) * M), f"{kind} {words}, to 2^{k} plays"
                yield from self.ask(rounds, M, as_sets(short, S, K), kind, told)
                f *= 2
            pairs = pairs[count[pairs] >= enough(k)]  # the others fall out
        return as_sets(listed[above(listed) & (count[listed] >= enough(n))], S, K)


def enough(n: int) -> float:
    """2^n as a count of plays."""
    return 2.0 ** min(n, UNCOUNTED)


def list_draws(problem: Problem, R: int, confidence: float, levels: int) -> int:
    """m(n) = ((S + K)/S) (R ln(K + 1) + confidence) 2^((h - n)/2), rounded up; levels = h - n."""
    S, K, _ = problem.letters
    return doubled((S + K) / S * (R * math.log(K + 1) + confidence), levels / 2)
