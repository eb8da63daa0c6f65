"""How the learners of a comparison stand: in each world, and over all of them.

A fair peer is a learner that knows nothing that only an oracle can know. All others are measured
by the best fair peer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.comparisons.results import Comparison, World
from lumpable.comparisons.statistics import (
    Band,
    Ratio,
    Wins,
    band,
    geometric_mean,
    ranks,
    ratio,
    wins,
)

SHARES = (0.1, 0.3, 1.0)
"""Shares of the horizon at which regrets are compared."""
COLOURED = 8
"""Fair peers of a world that get a colour of their own; the others are grey."""
NAMED_ORACLES = 3
LEAST = 0.001
"""A ratio counts at least this much in a mean over worlds: no single world decides it."""
REST, ORACLE, OTHER_ORACLE = COLOURED, COLOURED + 1, COLOURED + 2
"""Looks after the colours: grey, an oracle with a name, an oracle in grey."""


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A round at which regrets are compared with those of the best fair peer at that round."""

    round: int
    best: int | None
    ratios: tuple[Ratio, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How learners stand in one world; learners are numbers into `world.learners`."""

    world: World
    order: tuple[int, ...]
    """Those that were run, by their last mean regret, the least first."""
    regret: Band
    """The last regret of each learner."""
    marks: tuple[Mark, ...]
    looks: tuple[int, ...]

    @property
    def best(self) -> int | None:
        """The best fair peer at the last round."""
        return self.marks[-1].best if self.marks else None

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """Ratios to the best fair peer at the last round."""
        nothing = Ratio(math.nan, math.nan, math.nan, 0)
        return self.marks[-1].ratios if self.marks else (nothing,) * len(self.world.learners)

    @property
    def shown(self) -> tuple[int, ...]:
        """Those that are drawn with a name: in colour, or as an oracle."""
        return tuple(i for i in self.order if self.looks[i] < COLOURED or self.looks[i] == ORACLE)

    def done(self, learner: int) -> int:
        """Return how many seeds of a learner are done."""
        missing = sum((learner, k) in self.world.undone for k in range(len(self.world.seeds)))
        return len(self.world.seeds) - missing

    def per_round(self, learner: int) -> float:
        """Return the mean time that a learner took a round, in seconds."""
        return mean(self.world.measures["seconds"][learner, :, -1]) / int(self.world.rounds[-1])

    def size(self, learner: int) -> float:
        """Return the most bytes that a learner held at the last round."""
        held = self.world.measures["bytes"][learner, :, -1]
        return math.nan if np.isnan(held).all() else float(np.nanmax(held))

    def duel(self, one: int, other: int) -> Wins:
        """Return how often one learner had less regret than another at the last round."""
        last = self.world.measures["regret"][:, :, -1]
        return wins(last[one], last[other])


@dataclass(frozen=True, slots=True, eq=False)
class Overall:
    """How learners stand over all worlds."""

    comparison: Comparison
    standings: tuple[Standing, ...]
    order: tuple[int, ...]
    """All learners: those run in every world first, then by their geometric mean."""
    knows: tuple[str, ...]
    ratio: FloatVector
    """(learners, worlds): last regret relative to the best fair peer."""
    mean: FloatVector
    """Geometric mean of the ratios over the worlds of each learner in which the best has regret."""
    rank: FloatVector
    """Mean rank among fair peers."""
    worlds: tuple[int, ...]
    """In how many worlds each learner was run."""
    first: tuple[int, ...]
    """In how many worlds each was the best fair peer."""


def mean(values: FloatVector) -> float:
    """Return the mean of the known values; NaN if there are none."""
    return math.nan if np.isnan(values).all() else float(np.nanmean(values))


def stand(comparison: Comparison) -> Overall:
    """Compute how learners stand, in each world and over all."""
    plain = [_standing(world, ()) for world in comparison.worlds]
    table = np.array([[r.value for r in one.ratios] for one in plain]).T
    knows = comparison.worlds[0].knows
    fair = np.array([not known for known in knows])
    ranked = np.array(
        [ranks(np.where(fair, one.regret.mean, math.nan)) for one in plain if one.order]
    ).reshape(-1, len(knows))
    lost = np.array([one.best is not None and one.regret.mean[one.best] > 0 for one in plain])
    scaled = np.where(lost, np.maximum(table, LEAST), math.nan)
    means = np.array([geometric_mean(row) for row in scaled])
    worlds = tuple(int(k) for k in (~np.isnan(table)).sum(axis=1))
    most = max(worlds)
    order = sorted(
        range(len(knows)),
        key=lambda i: (worlds[i] < most, _last(float(means[i])), comparison.learners[i]),
    )
    wishes = colour_wishes(order, fair.tolist())
    return Overall(
        comparison,
        tuple(_standing(world, wishes) for world in comparison.worlds),
        tuple(order),
        knows,
        table,
        means,
        np.array([mean(column) for column in ranked.T]) if len(ranked) else means * math.nan,
        worlds,
        tuple(sum(one.best == i for one in plain) for i in range(len(knows))),
    )


def _last(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _standing(world: World, wishes: Sequence[int]) -> Standing:
    nothing = np.full(len(world.learners), math.nan)
    if not len(world.rounds):
        return Standing(world, (), Band(nothing, nothing, nothing), (), (REST,) * len(nothing))
    regret = band(world.measures["regret"][:, :, -1].T)
    run = [i for i in range(len(nothing)) if not math.isnan(regret.mean[i])]
    order = tuple(sorted(run, key=lambda i: (regret.mean[i], world.learners[i])))
    at = sorted({_nearest(world, share) for share in SHARES})
    marks = tuple(_mark(world, k) for k in at)
    looks = _looks(world, order, wishes) if wishes else (REST,) * len(nothing)
    return Standing(world, order, regret, marks, looks)


def _nearest(world: World, share: float) -> int:
    """Return the number of the round that is nearest to a share of the horizon, in ratio."""
    return int(np.argmin(np.abs(np.log(world.rounds / (share * world.rounds[-1])))))


def _mark(world: World, k: int) -> Mark:
    regret = world.measures["regret"][:, :, k]
    best = best_peer(regret, world.knows)
    nothing = Ratio(math.nan, math.nan, math.nan, 0)
    ratios = tuple(nothing if best is None else ratio(mine, regret[best]) for mine in regret)
    return Mark(int(world.rounds[k]), best, ratios)


def best_peer(regret: FloatVector, knows: Sequence[str]) -> int | None:
    """Return the fair peer of least mean regret, among those with at least half of the most seeds.

    Otherwise a learner with a single lucky seed could be the measure of all others.
    """
    seeds = (~np.isnan(regret)).sum(axis=1)
    fair = [i for i, known in enumerate(knows) if not known and seeds[i] > 0]
    enough = [i for i in fair if 2 * seeds[i] >= max(seeds[j] for j in fair)]
    return min(enough, key=lambda i: mean(regret[i])) if enough else None


# --- Looks ----------------------------------------------------------------------------------------


def colour_wishes(order: Sequence[int], fair: Sequence[bool]) -> tuple[int, ...]:
    """Return each learner's place among fair peers overall: those ahead choose colours first.

    In every world a learner wishes for the colour of its place, so that it looks the same in most.
    """
    place = {i: k for k, i in enumerate(i for i in order if fair[i])}
    return tuple(place.get(i, 0) for i in range(len(fair)))


def _looks(world: World, order: Sequence[int], wishes: Sequence[int]) -> tuple[int, ...]:
    """Give the best of a world their colours: the one they wish for, or a free one."""
    fair = [i for i in order if not world.knows[i]][:COLOURED]
    oracles = [i for i in order if world.knows[i]]
    given: dict[int, int] = {}
    for i in sorted(fair, key=wishes.__getitem__):
        if wishes[i] % COLOURED not in given.values():
            given[i] = wishes[i] % COLOURED
    free = [colour for colour in range(COLOURED) if colour not in given.values()]
    given |= dict(zip((i for i in fair if i not in given), free, strict=False))
    given |= dict.fromkeys(oracles[:NAMED_ORACLES], ORACLE)
    rest = (OTHER_ORACLE if known else REST for known in world.knows)
    return tuple(given.get(i, other) for i, other in enumerate(rest))
