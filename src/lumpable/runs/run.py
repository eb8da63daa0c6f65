"""The record of a run: its policy, its cost, its beliefs over time, and its seed.

Frozen values only; `simulate` and `exact` make them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lumpable.base.arrays import IntVector
from lumpable.plans.about import About, Kind
from lumpable.plans.plan import Belief, Collect, Result
from lumpable.plans.seen import Sample
from lumpable.worlds.laws import Gaussian
from lumpable.worlds.world import World

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One answered request of a run, for `watch`."""

    number: int
    request: Collect
    sample: Sample
    rounds: int
    """Rounds so far, on the clock of its own bucket."""
    regret: float
    """Regret so far, in its own bucket."""
    bucket: tuple[int, ...] = ()
    """The number of its plan among those side by side (the outermost); empty: only one plan."""


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request of a run, as a row of a table."""

    request: int
    phase: str
    """What it was for, in words."""
    kind: Kind
    h: int
    """The number of the phase; 0 if the plan does not count phases."""
    rounds: int
    """Rounds so far, at its end."""
    repeats: int
    candidates: int
    clusters: int | None
    """Clusters at its start; None if the plan forms none."""
    good_arms: float | None
    """Arms that were good at its start: an average over the clusters."""
    regret: float
    """Regret so far, at its end."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A run of a plan in a world: its policy, its cost, and all that reproduces it."""

    about: About
    """What the plan is."""
    ran: About
    """The plan that did the work, where `about` chooses one; else the same."""
    parameters: Mapping[str, Any]
    world: World
    seed: int | None
    rounds: int
    regret: float
    policy: IntVector
    result: Result | None
    """None when a horizon cut the plan off."""
    requests: list[RequestRow] = field(default_factory=list)
    """One row for each request. What plans side by side did is in `sides`."""
    turns: list[Turn] = field(default_factory=list)
    """The plan's belief about clusters and good arms, in every phase and after every split."""
    sides: list[Side] = field(default_factory=list)
    """The runs of plans side by side, in order."""
    said: tuple[str, ...] = ()
    """Notes of the plan's last belief."""

    @property
    def plan(self) -> str:
        """The public name of the plan, `lumpable.pac.near_uniform`."""
        return self.about.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before trusting the policy."""
        own = self.said if self.result is None else self.result.notes
        if self.world.noise == "gaussian" and self.world.sd > 1:
            sd = f"noise sd {self.world.sd:g} is above 1"
            return (*own, f"{sd}: outside the theorems' assumptions")
        if not self.world.plain and not _within_theorems(self.world):
            kind = f"{self.world.law.name} rewards are not known to be 1-sub-Gaussian"
            return (*own, f"{kind}: outside the theorems' assumptions")
        return own

    def rows(self) -> list[RequestRow]:
        """Return one row for each request, ready for pandas or polars: `DataFrame(run.rows())`."""
        return list(self.requests)

    def plot(self) -> altair.VConcatChart:
        """Draw the run: regret, clusters and good arms, dropped arms, and the policy."""
        from lumpable.reports import charts

        return charts.run(self)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!s}" for name, value in self.parameters.items())
        return (
            f"Run of {self.plan}({parameters})\n"
            f"  in {self.world!r}, seed {self.seed}\n"
            f"  {self.rounds:,} rounds in {len(self.requests)} requests, "
            f"loss {self.world.loss(self.policy):.4g}"
            + "".join(f"\n  note: {note}" for note in self.notes)
        )


def _within_theorems(world: World) -> bool:
    """Whether rewards are 1-sub-Gaussian: normal with sds of at most 1, or in a range of 2."""
    law, (low, high) = world.law, world.law.support
    normal = isinstance(law, Gaussian) and law.variance(world.mean).max() <= 1
    return normal or high - low <= 2


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What a plan believed from some round on."""

    rounds: int
    """Rounds played before."""
    belief: Belief


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of several plans side by side: its contexts, and its run on its own clock.

    Its rounds include those in which a plan that had ended served its policy.
    """

    request: int
    """The number of the request that split."""
    contexts: IntVector
    run: Run
