"""What the proofs for candidates promise, looked for while a block or an attempt is under way.

The watched forms check at every request what holds under any answers; with a world they also note
which of the lemmas is broken: `bounds`, `group`, `covered`, `settled`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

import lumpable as lb
from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.plans.candidates_literal import Attempt
from lumpable.plans.candidates_pooled import Block
from lumpable.plans.pairs import best_pair
from lumpable.plans.plan import Collect
from lumpable.plans.seen import Sample

Got = TypeVar("Got")
Answer = Callable[[Collect], Sample]
ROUNDING = 1e-9


def drive(conversation: Generator[Collect, Sample, Got], answer: Answer, most: int = 50_000) -> Got:
    """Answer until the conversation ends; it must."""
    try:
        request = next(conversation)
        for _ in range(most):
            request = conversation.send(answer(request))
    except StopIteration as end:
        got: Got = end.value
        return got
    raise AssertionError(f"no end after {most} requests")


class Promises:
    """The lemmas, as a set of those that were broken."""

    def __init__(self, world: lb.World | None) -> None:
        self.world = world
        self.broken: set[str] = set()
        self.screenings: list[int] = []
        """Screenings of each level."""
        self.worst = 0.0
        """The largest loss of a hit context after a level, in units of c(n)."""

    def bounds(self, V: Any, arm: Any, U: FloatMatrix | None = None) -> None:
        """V(i) <= A(i, arm(i)) <= mu*(i), and A <= U."""
        if self.world is None:
            return
        A = self.world.mean
        served = A[np.arange(len(arm)), arm]
        if (served + ROUNDING < V).any() or (U is not None and (A - ROUNDING > U).any()):
            self.broken.add("bounds")

    def screened(self, looks: list[tuple[BoolVector, int]]) -> None:
        """Each screening empties the group of its best pair's context."""
        self.screenings.append(len(looks))
        if self.world is None:
            return
        group = self.world.group
        for (_, i), (X, _) in pairwise(looks):
            if X[group == group[i]].any():
                self.broken.add("group")
        if len(looks) > self.world.groups:
            self.broken.add("group")

    def covered(self, listed: BoolMatrix, found: list[int], c: float) -> None:
        """Where the best arm is on the list, a candidate of the level is within 5 c(n) of it."""
        if self.world is None:
            return
        A, best = self.world.mean, self.world.best
        hit = listed[np.arange(len(best)), np.argmax(A, axis=1)]
        top = A[:, found].max(axis=1, initial=-math.inf)
        loss = np.where(hit, best - top, 0.0)
        self.worst = max(self.worst, float(loss.max()) / c)
        if (loss > 5 * c + ROUNDING).any():
            self.broken.add("covered")

    def settled(self, V: Any, W: set[int] | None, c: float) -> None:
        """mu* - V <= 2 c(h) + the least gap in W; W is None: everything was tested."""
        if self.world is None:
            return
        A, best = self.world.mean, self.world.best
        among = list(range(A.shape[1])) if W is None else sorted(W)
        gap = best - A[:, among].max(axis=1, initial=-math.inf)
        if (best - V > 2 * c + gap + ROUNDING).any():
            self.broken.add("settled")


class WatchedBlock(Block):
    """A block that checks itself."""

    def __init__(self, problem: lb.Problem, ell: float, world: lb.World | None = None) -> None:
        super().__init__(problem, ell)
        self.promises = Promises(world)
        self.subphases: list[tuple[int, int, bool]] = []
        """h, candidates, and whether there was nothing to screen."""
        self.draws: list[tuple[BoolMatrix, Any, int]] = []
        self._listed: BoolMatrix | None = None
        self._looks: list[tuple[BoolVector, int]] = []
        """Of each screening: the contexts with a pair in D, and that of the best pair."""
        self._found: list[int] = []

    def ask(self, *asked: Any) -> Generator[Collect, Sample, Sample]:
        U, V = self.U.copy(), self.V.copy()
        assert asked[2].any() == (asked[3] != "serving")
        sample = yield from super().ask(*asked)
        assert (U >= self.U).all()
        assert (self.V >= V).all()
        self.promises.bounds(self.V, self.arm, self.U)
        return sample

    def run(self, q: int) -> Generator[Collect, Sample, None]:
        yield from super().run(q)
        S, K, _ = self.problem.letters
        assert self.used >= 2**q * (S + K)
        assert self.R == 1 or (self.R < 2 * S and self.R & (self.R - 1) == 0)

    def subphase(self, h: int) -> Generator[Collect, Sample, bool]:
        everything = self.full(h, h)
        before = len(self.promises.screenings)
        ok = yield from super().subphase(h)
        levels = len(self.promises.screenings) - before
        assert len(self.W) <= self.R * levels
        self.subphases.append((h, len(self.W), everything))
        if ok:
            self.promises.settled(self.V, None if everything else self.W, self.c(h))
        return ok

    def extend(
        self, L: BoolMatrix, draws: Any, m: int, words: str
    ) -> Generator[Collect, Sample, None]:
        yield from super().extend(L, draws, m, words)
        self.draws.append((L.copy(), draws.copy(), m))

    def screen(self, D: BoolMatrix, n: int, h: int) -> Generator[Collect, Sample, bool]:
        assert self._listed is not None
        listed, self._found, self._looks = self._listed, [], []
        self._D = D
        ok = yield from super().screen(D, n, h)
        assert len(self._found) <= min(self.R, self.problem.contexts)
        self.promises.screened(self._looks)
        if ok:
            self.promises.covered(listed, self._found, self.c(n))
        return ok

    def test(
        self,
        P: BoolMatrix,
        n: int,
        kind: Any,
        words: str,
        margin: float = 0.0,
        w: float = -math.inf,
    ) -> Generator[Collect, Sample, BoolMatrix]:
        """Every asked pair lies in P and has U >= bar at that moment."""
        if kind == "testing":
            self._listed = P.copy()
        if kind == "screening":
            X: BoolVector = np.any(P, axis=1)
            i, j, _ = best_pair(self._D & X[:, np.newaxis], self.mean)
            assert P[:, j].sum() == P.sum()
            self._found.append(j)
            self._looks.append((X, i))
        inner = super().test(P, n, kind, words, margin, w)
        sample: Any = None
        while True:
            try:
                request = inner.send(sample)
            except StopIteration as end:
                completed: BoolMatrix = end.value
                return completed
            bar = np.maximum(self.V - margin, w)[:, np.newaxis]
            assert not (request.arms & ~(P & (bar <= self.U))).any()
            sample = yield request


class WatchedAttempt(Attempt):
    """An attempt that checks itself."""

    def __init__(
        self, problem: lb.Problem, R: int, Lg: float, world: lb.World | None = None
    ) -> None:
        super().__init__(problem, R, Lg)
        self.promises = Promises(world)
        self.unseen = False
        """Whether a pair went without a finished play: then the lemmas promise nothing."""
        self._listed: BoolMatrix | None = None
        self._looks: list[tuple[BoolVector, int]] = []
        """Of each screening: the contexts with a pair in D, and that of the best pair."""
        self._found: list[int] = []

    def ask(self, *asked: Any) -> Generator[Collect, Sample, Sample]:
        V = self.V.copy()
        assert asked[2].any() == (asked[3] != "serving")
        sample = yield from super().ask(*asked)
        if asked[3] not in ("listing", "serving"):
            self.unseen |= bool((asked[2] & (sample.plays == 0)).any())
        assert (self.V >= V).all()
        return sample

    def learn(self, pairs: IntVector, lower: FloatVector) -> None:
        V = self.V.copy()
        super().learn(pairs, lower)
        assert (self.V >= V).all()
        self.promises.bounds(self.V, self.arm)

    def subphase(self, h: int) -> Generator[Collect, Sample, bool]:
        everything = self.m(h, h) >= self.problem.arms
        ok = yield from super().subphase(h)
        assert len(self.W) <= self.R * max(1, len(self.found))
        if ok:
            self.promises.settled(self.V, None if everything else self.W, self.c(h))
        return ok

    def screen(
        self, est: FloatMatrix, D: BoolMatrix, n: int, h: int
    ) -> Generator[Collect, Sample, bool]:
        assert self._listed is not None
        listed, self._found, self._looks = self._listed, [], []
        self._D, self._est = D, est
        ok = yield from super().screen(est, D, n, h)
        assert len(self._found) == self.found[-1] <= min(self.R, self.problem.contexts)
        self.promises.screened(self._looks)
        if ok:
            self.promises.covered(listed, self._found, self.c(n))
        return ok

    def test(
        self, P: BoolMatrix, n: int, kind: Any, words: str, w: float = -math.inf
    ) -> Generator[Collect, Sample, tuple[FloatMatrix, FloatMatrix, BoolMatrix]]:
        """Every asked pair lies in P."""
        if kind == "testing":
            self._listed = P.copy()
        if kind == "screening":
            X: BoolVector = np.any(P, axis=1)
            i, j, _ = best_pair(self._D & X[:, np.newaxis], self._est)
            assert P[:, j].sum() == P.sum()
            self._found.append(j)
            self._looks.append((X, i))
        inner = super().test(P, n, kind, words, w)
        sample: Any = None
        while True:
            try:
                request = inner.send(sample)
            except StopIteration as end:
                got: tuple[FloatMatrix, FloatMatrix, BoolMatrix] = end.value
                return got
            assert not (request.arms & ~P).any()
            sample = yield request
