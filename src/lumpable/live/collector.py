"""Algorithm 2, round by round: the state of one request that is being played for real.

The arm of play m of context i is a pure function of the request's key, i and m (SplitMix64, a
counter-based generator), so no generator state is kept and nothing depends on the order in which
contexts come. Plain lists and arrays: a round must cost less than a microsecond or two.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolMatrix, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.splitmix import context_keys, draws
from lumpable.plans.plan import Collect
from lumpable.plans.seen import Sample

_Play = tuple[int, int, float, list[int], int, int, int]
"""A play that ends: its cell, plays and sum there, arms ahead, how many stay, arm, arms drawn."""
_Step = tuple[int, int, int, float, _Play | None]
"""What a round leads to: rounds, its context, rounds and rewards of its play, the play's end."""
FEW_AHEAD, MANY_AHEAD = 4, 256
"""Arms are drawn for several plays at once: cheaper, and the same arms."""


class Collector:
    """One request under way.

    `arm[i]` is psi(i), the arm that context i plays now (for a context that is asked nothing, the
    arm of `policy`). `tell` counts a round and says whether the request has ended. A round changes
    several numbers; they are first put into one place, so that a round that is interrupted has not
    happened, or `mend` can finish it.
    """

    def __init__(self, request: Collect, key: int, policy: IntVector) -> None:
        S, K = request.arms.shape
        self.request = request
        self.rounds = 0
        self.contexts, self.arms = S, K
        self._repeats = request.repeats
        self._end = request.rounds
        self._keys = np.array(context_keys(key, S), dtype=np.uint64)
        self._choices = _arms_of_contexts(request.arms)
        self._count = [0] * S  # rounds in the play under way
        self._sum = [0.0] * S  # rewards in the play under way
        self._plays = array("q", bytes(8 * S * K))
        self._sums = array("d", bytes(8 * S * K))
        self.arm: list[int] = policy.tolist()
        self._drawn = [0] * S  # plays whose arm is drawn: finished, under way, ahead
        # arms of plays to come, last first; None: nothing is asked
        self._ahead: list[list[int] | None] = [None] * S
        self._step: _Step | None = None  # a round that is being counted
        self._look_ahead(range(S), FEW_AHEAD)

    def tell(self, context: int, reward: float) -> bool:
        """Count the reward of the arm assigned to this context; True: the request has ended."""
        ahead, rounds = self._ahead[context], self.rounds + 1
        if ahead is None:
            self.rounds = rounds
            return rounds == self._end
        if self._repeats > 1:
            count = self._count[context] + 1
            reward += self._sum[context]
            if count < self._repeats:
                self._step = (rounds, context, count, reward, None)
                self.mend()
                return rounds == self._end
        cell, drawn = context * self.arms + self.arm[context], self._drawn[context]
        if not ahead:
            ahead, drawn = self._draw_more(context), drawn + MANY_AHEAD
        play = (cell, self._plays[cell] + 1, self._sums[cell] + reward, ahead, len(ahead) - 1)
        self._step = (rounds, context, 0, 0.0, (*play, ahead[-1], drawn))
        self.mend()
        return rounds == self._end

    def mend(self) -> None:
        """Finish the round that is being counted, if there is one; to do so twice does no harm."""
        if self._step is None:
            return
        self.rounds, context, self._count[context], self._sum[context], play = self._step
        if play is not None:
            cell, self._plays[cell], self._sums[cell], ahead, left, arm, drawn = play
            del ahead[left:]
            self._ahead[context] = ahead
            self._drawn[context] = drawn
            self.arm[context] = arm
        self._step = None

    def choices(self, context: int) -> IntVector:
        """Return the arms of which the one assigned to a context was drawn, each as likely."""
        asked = self._choices[context]
        return asked if len(asked) else np.array([self.arm[context]])

    @property
    def ended(self) -> bool:
        """Whether all rounds were played."""
        return self.rounds == self._end

    def _draw_more(self, context: int) -> list[int]:
        """Return the arms of the next plays of a context, the last first."""
        choices = self._choices[context]
        first, number = np.array([self._drawn[context]]), np.array([len(choices)])
        drawn = draws(self._keys[[context]], first, number, MANY_AHEAD)
        arms: list[int] = choices[drawn[0, ::-1]].tolist()
        return arms

    def _look_ahead(self, contexts: Sequence[int], plays: int) -> None:
        """Assign these contexts the arm of their next play, and draw more arms ahead."""
        first = np.array([self._drawn[i] for i in contexts])
        number = np.array([len(self._choices[i]) for i in contexts])
        drawn = draws(self._keys[contexts], first, number, plays)
        for i, indices in zip(contexts, drawn[:, ::-1], strict=True):
            if len(self._choices[i]):
                self._drawn[i] += plays
                ahead = self._choices[i][indices].tolist()
                self.arm[i] = ahead.pop()
                self._ahead[i] = ahead

    def _finished_plays(self) -> list[int]:
        """Finished plays of each context."""
        drawn = zip(self._drawn, self._ahead, strict=True)
        return [0 if ahead is None else plays - len(ahead) - 1 for plays, ahead in drawn]

    def sample(self) -> Sample:
        """Return the finished plays and their means."""
        plays = np.frombuffer(self._plays, dtype=np.int64).reshape(self.contexts, self.arms)
        sums = np.frombuffer(self._sums).reshape(self.contexts, self.arms)
        seen = plays > 0
        mean = np.full(plays.shape, np.nan)
        mean[seen] = sums[seen] / (plays[seen] * float(self._repeats))
        return Sample(plays.copy(), mean)

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state after the tells so far, as arrays for `restore`."""
        plays = np.frombuffer(self._plays, dtype=np.int64)
        cells = np.flatnonzero(plays)
        return {
            "finished": np.array(self._finished_plays(), dtype=np.int64),
            "count": np.array(self._count, dtype=np.int64),
            "sum": np.array(self._sum, dtype=np.float64),
            "cells": cells.astype(np.int64),
            "plays": plays[cells],
            "sums": np.frombuffer(self._sums)[cells],
        }

    def restore(self, rounds: int, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a `state` taken after `rounds` rounds; an impossible one is an error."""
        wrong = self._wrong(rounds, state)
        if wrong:
            raise BadArgument("state", why=wrong)
        self.rounds = rounds
        self._drawn = state["finished"].tolist()
        self._count = state["count"].tolist()
        self._sum = state["sum"].tolist()
        plays = np.zeros(self.contexts * self.arms, dtype=np.int64)
        sums = np.zeros(self.contexts * self.arms)
        plays[state["cells"]], sums[state["cells"]] = state["plays"], state["sums"]
        self._plays, self._sums = array("q", plays.tobytes()), array("d", sums.tobytes())
        self._look_ahead(range(self.contexts), FEW_AHEAD)

    def _wrong(self, rounds: int, state: dict[str, npt.NDArray[Any]]) -> str:
        """Say why no tells lead to this state; empty if some do."""
        S, K = self.contexts, self.arms
        finished, count, cells, plays = (state[n] for n in ("finished", "count", "cells", "plays"))
        if not 0 <= rounds < self.request.rounds:
            return f"expected rounds below {self.request.rounds}, got {rounds}"
        if not len(finished) == len(count) == len(state["sum"]) == S:
            return f"expected numbers for {S} contexts"
        if not len(cells) == len(plays) == len(state["sums"]):
            return "expected plays and a sum for every cell"
        if not (np.isfinite(state["sum"]).all() and np.isfinite(state["sums"]).all()):
            return "expected finite sums"
        if finished.min() < 0 or count.min() < 0 or (count >= self._repeats).any():
            return "expected no negative plays, and unfinished plays that are unfinished"
        if len(cells) and not (cells[0] >= 0 and (np.diff(cells) > 0).all() and cells[-1] < S * K):
            return "expected cells in increasing order"
        if (plays <= 0).any() or not self.request.arms.ravel()[cells].all():
            return "expected plays of what was asked for"
        of_context = np.zeros(S, dtype=np.int64)
        np.add.at(of_context, cells // K, plays)
        repeats = min(self._repeats, self.request.rounds + 1)
        told = finished * repeats + count
        idle = ~self.request.arms.any(axis=1)
        if (of_context != finished).any() or (told[idle] > 0).any() or told.sum() > rounds:
            return "expected plays that add up to the rounds"
        if not idle.any() and told.sum() != rounds:
            return "expected rounds that add up to the plays"
        return ""


def _arms_of_contexts(arms: BoolMatrix) -> list[IntVector]:
    """Return the arms of each K(i), equal rows sharing one array."""
    known: dict[bytes, IntVector] = {}
    for row in arms:
        key = row.tobytes()
        if key not in known:
            known[key] = np.flatnonzero(row)
    return [known[row.tobytes()] for row in arms]
