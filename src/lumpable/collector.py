"""Algorithm 2, round by round: the state of one request that is being played for real.

The arm of play m of context i is a pure function of the request's key, i and m (SplitMix64, a
counter-based generator), so no generator state is kept and nothing depends on the order in which
contexts come. Plain lists and arrays: one round must cost well under a microsecond or two.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lumpable.checks import BoolMatrix, IntVector
from lumpable.plan import Collect, Sample

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
UNIT = 2.0**-53


def mix(z: int) -> int:
    """Return SplitMix64's finaliser of z: 64 bits in, 64 well-mixed bits out."""
    z = ((z ^ (z >> 30)) * MIX_1) & MASK
    z = ((z ^ (z >> 27)) * MIX_2) & MASK
    return z ^ (z >> 31)


def request_key(seed: int, number: int) -> int:
    """Return the key of request `number` of a session with this seed."""
    return mix((mix((seed + GOLDEN) & MASK) + (number + 1) * GOLDEN) & MASK)


def context_keys(key: int, contexts: int) -> list[int]:
    """Return a key for each context of a request."""
    return [mix((key + (i + 1) * GOLDEN) & MASK) for i in range(contexts)]


def draw(key: int, play: int, number: int) -> int:
    """Return a uniform number in 0 .. number - 1 for play `play` of the context with this key."""
    return int((mix((key + (play + 1) * GOLDEN) & MASK) >> 11) * UNIT * number)


class Collector:
    """One request under way.

    `arm[i]` is psi(i), the arm that context i plays now (for a context that is asked nothing, the
    arm of `policy`). `tell` counts a round and says whether the request has ended.
    """

    def __init__(self, request: Collect, key: int, policy: IntVector) -> None:
        S, K = request.arms.shape
        self.request = request
        self.rounds = 0
        self.contexts, self.arms = S, K
        self._left = request.rounds
        self._repeats = request.repeats
        self._keys = context_keys(key, S)
        self._choices = _choices(request.arms)
        self._play = [0] * S  # finished plays of each context
        self._count = [0] * S  # rounds in the play under way
        self._sum = [0.0] * S  # rewards in the play under way
        self._plays = array("q", bytes(8 * S * K))
        self._sums = array("d", bytes(8 * S * K))
        self.arm: list[int] = [
            int(choices[draw(self._keys[i], 0, len(choices))]) if choices is not None else int(arm)
            for i, (choices, arm) in enumerate(zip(self._choices, policy, strict=True))
        ]

    def tell(self, context: int, reward: float) -> bool:
        """Count the reward of the arm assigned to this context; True: the request has ended."""
        self.rounds += 1
        self._left -= 1
        choices = self._choices[context]
        if choices is not None:
            self._sum[context] += reward
            self._count[context] += 1
            if self._count[context] == self._repeats:
                self._finish_play(context, choices)
        return self._left == 0

    def _finish_play(self, context: int, choices: Sequence[int]) -> None:
        cell = context * self.arms + self.arm[context]
        self._plays[cell] += 1
        self._sums[cell] += self._sum[context]
        self._sum[context] = 0.0
        self._count[context] = 0
        play = self._play[context] + 1
        self._play[context] = play
        number = len(choices)
        if number > 1:  # `draw`, written out
            z = (self._keys[context] + (play + 1) * GOLDEN) & MASK
            z = ((z ^ (z >> 30)) * MIX_1) & MASK
            z = ((z ^ (z >> 27)) * MIX_2) & MASK
            self.arm[context] = int(choices[int(((z ^ (z >> 31)) >> 11) * UNIT * number)])

    def sample(self) -> Sample:
        """Return the finished plays and their means."""
        plays = np.frombuffer(self._plays, dtype=np.int64).reshape(self.contexts, self.arms)
        sums = np.frombuffer(self._sums).reshape(self.contexts, self.arms)
        seen = plays > 0
        mean = np.full(plays.shape, np.nan)
        mean[seen] = sums[seen] / (plays[seen] * self._repeats)
        return Sample(plays.copy(), mean)

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return what the tells so far have left, as arrays; `restore` takes it back."""
        plays = np.frombuffer(self._plays, dtype=np.int64)
        cells = np.flatnonzero(plays)
        return {
            "play": np.array(self._play, dtype=np.int64),
            "count": np.array(self._count, dtype=np.int64),
            "sum": np.array(self._sum, dtype=np.float64),
            "cells": cells.astype(np.int64),
            "plays": plays[cells],
            "sums": np.frombuffer(self._sums)[cells],
        }

    def restore(self, rounds: int, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Go on where `state` was taken, after `rounds` rounds."""
        self.rounds = rounds
        self._left = self.request.rounds - rounds
        self._play = state["play"].tolist()
        self._count = state["count"].tolist()
        self._sum = state["sum"].tolist()
        plays = np.zeros(self.contexts * self.arms, dtype=np.int64)
        sums = np.zeros(self.contexts * self.arms)
        plays[state["cells"]], sums[state["cells"]] = state["plays"], state["sums"]
        self._plays, self._sums = array("q", plays.tobytes()), array("d", sums.tobytes())
        for i, choices in enumerate(self._choices):
            if choices is not None:
                self.arm[i] = int(choices[draw(self._keys[i], self._play[i], len(choices))])


def _choices(arms: BoolMatrix) -> list[Sequence[int] | None]:
    """Return each K(i) as something to index, equal rows sharing one; None: nothing is asked."""
    known: dict[bytes, Sequence[int] | None] = {}
    for row in arms:
        key = row.tobytes()
        if key not in known:
            known[key] = range(len(row)) if row.all() else np.flatnonzero(row).tolist() or None
    return [known[row.tobytes()] for row in arms]
