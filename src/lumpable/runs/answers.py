"""How requests are answered in a world: drawn in bulk with the exact law, or without noise.

Within one request the arms depend on visit counts only, never on rewards, so the rounds need not
be played: visits are one multinomial, arms another, and the mean of m rewards is one draw.
Only the order of rounds inside a request is lost. Knows no algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.errors import BadArgument
from lumpable.plans.plan import Collect, Request
from lumpable.plans.seen import Sample, Seen
from lumpable.worlds import laws
from lumpable.worlds.world import World

MANY = 2**52
"""Below this many rounds, numpy's multinomial loses no share to rounding."""
AT_ONCE = 2**59
"""The most rewards that are added up in one draw."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The answer to one request: the sample, and what only the world sees."""

    sample: Sample
    visits: IntVector
    """Rounds of each context."""
    unfinished: IntVector
    """Arm of each context's unfinished play when the request ended; -1: none."""
    regret: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """At random: each request has its own generator, so no answer depends on others.

    `path` is the place of a request in a run. Contexts that are asked nothing play the policy.
    """

    seed: int

    def answer(
        self, request: Collect, world: World, path: tuple[int, ...], policy: IntVector
    ) -> Answer:
        """Draw the answer in bulk."""
        return answer(request, world, self._generator(path), policy)

    def share(self, rounds: int, frequency: FloatVector, path: tuple[int, ...]) -> list[int]:
        """Divide rounds by frequency, at random."""
        return [int(share) for share in _multinomial(self._generator(path), rounds, frequency)]

    def _generator(self, path: tuple[int, ...]) -> np.random.Generator:
        # numbers from 1: default_rng([seed, 0]) is default_rng(seed), which a world may have used
        return np.random.default_rng([self.seed, *(number + 1 for number in path)])


@dataclass(frozen=True, slots=True)
class Exact:
    """Without noise; nothing is drawn."""

    seed: None = None

    def answer(
        self, request: Collect, world: World, path: tuple[int, ...], policy: IntVector
    ) -> Answer:
        """Give the means themselves; the regret is the expected one of the rounds asked for."""
        number = request.arms.sum(axis=1)
        each = np.rint(2.0**40 * world.frequency).astype(np.int64)  # row sums, proportional to nu
        each = np.where(world.frequency > 0, np.maximum(each, number), 0)
        plays = request.arms * (each // np.maximum(number, 1))[:, np.newaxis]
        first = np.argmax(request.arms, axis=1)
        rows = np.arange(world.contexts)
        plays[rows, first] += np.where(number > 0, each - plays.sum(axis=1), 0)
        played = (request.arms * world.mean).sum(axis=1) / np.maximum(number, 1)
        gap = world.best - np.where(number > 0, played, world.mean[rows, policy])
        return Answer(
            Sample(plays, np.where(plays > 0, world.mean, np.nan)),
            visits=each,
            unfinished=np.full(world.contexts, -1),
            regret=request.rounds * float(world.frequency @ gap),
        )

    def share(self, rounds: int, frequency: FloatVector, path: tuple[int, ...]) -> list[int]:
        """Divide rounds by frequency, rounded so that the shares add up."""
        so_far = list(accumulate(map(Fraction, frequency.tolist())))
        ends = [round(rounds * part / so_far[-1]) for part in so_far]
        return [b - a for a, b in pairwise([0, *ends])]


Law = Drawn | Exact
"""How requests are answered."""


def answer(
    request: Collect, world: World, rng: np.random.Generator, policy: IntVector | None = None
) -> Answer:
    """Draw the answer to one request: Algorithm 2 in bulk.

    Contexts that are asked nothing play `policy` (default: arm 0), which affects regret only.
    """
    from lumpable.runs import kernels

    check_size(request.shape, world)
    check_rounds(request)
    visits = _multinomial(rng, request.rounds, world.frequency)
    repeats = min(request.repeats, MOST_ROUNDS)  # more would not fit, and is never finished
    asked = np.flatnonzero(request.arms)
    most = min(len(asked), int((visits // repeats).sum()))
    room = Seen(np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most))
    seen, unfinished, regret = kernels.collect(
        rng,
        visits,
        repeats,
        asked,
        np.zeros(world.contexts, dtype=np.int64) if policy is None else policy,
        world.mean,
        world.best,
        world.sd if world.plain else 0.0,
        world.plain and world.noise == "bernoulli",
        *room,  # numpy takes large pages, numba does not
    )
    sample = Sample.of(request.shape, room.first(seen))
    if not world.plain:
        sample = _drawn_again(sample, repeats, world, rng)
    return Answer(sample, visits, unfinished, regret)


def _drawn_again(sample: Sample, repeats: int, world: World, rng: np.random.Generator) -> Sample:
    """Return the same plays with means under the world's own law."""
    number = repeats * sample.plays
    total = _totals(world.law, world.mean, number, rng)
    mean = np.full(number.shape, np.nan)
    np.divide(total, number, out=mean, where=number > 0)
    return Sample(sample.plays, mean)


def _multinomial(rng: np.random.Generator, number: int, frequency: FloatVector) -> IntVector:
    """Draw a multinomial; numpy would give rounding errors to a last cell of frequency 0.

    It also skips numbers from 2^53 on, and from 2^60 on overflows in the tails: at 2^62 the
    variance is 8 % too large. So many rounds are divided by `kernels.divide`, to the last one.
    """
    shares = np.zeros(len(frequency), dtype=np.int64)
    comes = frequency > 0
    if number < MANY:
        shares[comes] = rng.multinomial(number, frequency[comes])
    else:
        from lumpable.runs import kernels

        shares[comes] = kernels.divide(rng, number, frequency[comes])
    return shares


def _totals(
    law: laws.Law, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator
) -> FloatMatrix:
    """Draw sums of so many rewards, in pieces that numpy can draw without overflow."""
    piece = np.minimum(number, AT_ONCE)
    total = law.total(mean, piece, rng)
    while (number := number - piece).any():
        piece = np.minimum(number, AT_ONCE)
        total = total + law.total(mean, piece, rng)
    return total


def check_rounds(request: Request) -> None:
    """Refuse a request with more rounds than 64 bits can count."""
    if request.rounds > MOST_ROUNDS:
        raise BadArgument(
            "rounds",
            why=f"a request of {request.rounds:.3g} rounds is more than can be counted "
            f"({MOST_ROUNDS:.3g}); give the run a horizon, or a larger epsilon",
        )


def check_size(shape: tuple[int, int], world: World) -> None:
    """Refuse a plan whose size is not the world's."""
    if shape != world.mean.shape:
        raise BadArgument(
            "plan",
            why=f"it asks about {shape[0]} contexts and {shape[1]} arms, "
            f"the world has {world.contexts} and {world.arms}",
        )


def check_scale(world: World) -> None:
    """Refuse a world whose means span more than the paper's plans allow (reading 3)."""
    if not isinstance(world.noise, str) and world.span > 1 + 1e-12:
        raise BadArgument(
            "world",
            why=f"plans of the paper need means of one context that span at most 1 (reading 3), "
            f"got {world.span:g}",
        )
