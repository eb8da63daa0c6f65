"""Decisions whose rewards have not come: pulls under way of the core, with ids from 0 on.

A decision comes and goes with its pull, and a reward with both: an interrupted call leaves all of
it done, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lumpable.base.arrays import BoolVector
from lumpable.base.errors import BadArgument
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.under_way import Name, Pull
from lumpable.lumps.use import decisions
from lumpable.lumps.use.decisions import DECISIONS, Decision, plain_id
from lumpable.lumps.use.registry import Core, Named


def as_decision(named: Named[Core], id: int, pull: Pull) -> Decision:
    """Return a pull under way as it was handed out."""
    return Decision(id, pull.context, named.arms.listed[pull.arm], pull.propensity)


class Outstanding:
    """The ids of decisions, and how many may be outstanding before the oldest is forgotten."""

    def __init__(self, most: int, made: int = 0, forgotten: int = -1) -> None:
        self.most = most
        self.made = made
        """Decisions so far; the id of the next one."""
        self.forgotten = forgotten
        """The last id that was dropped because there were too many."""

    def find(self, named: Named[Core], decision: Decision | int) -> tuple[int, Pull]:
        """Return the id and the pull of a decision, or of its id, that takes a reward."""
        id = decision.id if isinstance(decision, Decision) else plain_id(decision)
        pull = named.core.under_way.get(id)
        if pull is not None:
            if isinstance(decision, Decision) and decision != (
                known := as_decision(named, id, pull)
            ):
                raise BadArgument("id", f"{known}", f"{decision}")
            return id, pull
        if not 0 <= id < self.made:
            raise BadArgument("id", "the id of a decision", repr(id))
        why = "which has had its reward or was cancelled"
        if id <= self.forgotten:
            why += f", or was forgotten as more than {self.most} were outstanding (use `tell`)"
        raise BadArgument("id", "a decision whose reward is outstanding", f"{id}, {why}")

    def decide(
        self, named: Named[Core], floor: float, contexts: list[Name], best: Iterable[int],
        mask: BoolVector,
    ) -> list[Decision]:  # fmt: skip
        """Draw the arms of decisions, and remember them."""
        made, pulls, core = [], [], named.core
        for id, (context, j) in enumerate(zip(contexts, best, strict=True), self.made):
            u = decisions.uniform(core.seed, DECISIONS, id)
            arm, propensity = decisions.draw_arm(j, mask, floor, u)
            pulls.append((context, arm, propensity))
            made.append(Decision(id, context, named.arms.listed[arm], propensity))
        self.change(core, add=pulls)
        return made

    def change(
        self, core: Levels, *, drop: Sequence[int] = (),
        add: Iterable[tuple[Name, int, float]] = (), tell: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        """Drop decisions, tell their rewards, add others (context, arm, propensity): all, or none.

        Of more decisions than may be outstanding, the oldest is dropped.
        """
        if tell is not None:
            core.finish()
        tells, visits = core.tells, core.state.group_visits.copy()
        counters = self.made, self.forgotten
        pulls = {id: core.under_way[id] for id in drop}
        try:
            for id in drop:
                core.expect_no_more(id)
            for pull in add:
                core.expect(self.made, *pull)
                self.made += 1
                if len(core.under_way) > self.most:
                    oldest = next(iter(core.under_way))
                    pulls[oldest] = core.under_way[oldest]
                    core.expect_no_more(oldest)
                    self.forgotten = oldest
            if tell is not None:
                tell()
        except BaseException:
            if core.tells == tells:
                pulls |= core.under_way
                made, _ = self.made, self.forgotten = counters
                core.recover({id: pulls[id] for id in sorted(pulls) if id < made}, visits)
            raise
