"""Decisions whose rewards have not come: pulls under way of the core, numbered from 0 on.

A decision comes and goes with its pull, and a reward with both: an interrupted call leaves all of
it done, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.under_way import Pull
from lumpable.lumps.use.decisions import DECISIONS, Decision, uniform
from lumpable.lumps.use.ids import Id, Tags
from lumpable.lumps.use.limits import Shown
from lumpable.lumps.use.notes import Notes
from lumpable.lumps.use.registry import Core, Named


class Outstanding:
    """The numbers of decisions, and how many may be outstanding before the oldest is forgotten."""

    def __init__(
        self, most: int, made: int = 0, forgotten: int = -1, lost: int = 0,
        tags: Sequence[tuple[int, str]] = (),
    ) -> None:  # fmt: skip
        self.most = most
        self.made = made
        """Decisions so far; the number of the next one."""
        self.forgotten = forgotten
        """The last number that was dropped because there were too many, ..."""
        self.lost = lost
        """... and how many were."""
        self.tags = Tags(tags)
        self.shown: Shown | None = None
        """Counted where arms may be shown to a context only so often."""

    def chances(self, seed: int, decisions: int) -> list[float]:
        """Return the luck of the next decisions."""
        return [uniform(seed, DECISIONS, self.made + k) for k in range(decisions)]

    def as_decision(self, named: Named[Core], number: int, pull: Pull) -> Decision:
        """Return a pull under way as it was handed out."""
        arm = named.arms.listed[pull.arm]
        return Decision(self.tags.id_of(number), pull.context, arm, pull.propensity)

    # --- Finding --------------------------------------------------------------------------------

    def find(self, named: Named[Core], decision: Decision | Id) -> tuple[int, Pull]:
        """Return the number and the pull of a decision, or of its id, that takes a reward."""
        id = decision.id if isinstance(decision, Decision) else decision
        number = self.tags.number_of(id)
        pull = named.core.under_way.get(number)
        if pull is None:
            expected = "a decision whose reward is outstanding"
            raise BadArgument("id", expected, self._missing(number))
        if id is not decision and decision != (known := self.as_decision(named, number, pull)):
            raise BadArgument("id", f"{known}", f"{decision}")
        return number, pull

    def find_all(self, named: Named[Core], ids: Iterable[object]) -> list[tuple[int, Pull]]:
        """Return the numbers and pulls of many ids; one error names all that are wrong."""
        found: list[tuple[int, Pull]] = []
        rows: dict[int, int] = {}
        wrong: list[str] = []
        for row, id in enumerate(ids):
            try:
                number, pull = self.find(named, id)  # type: ignore[arg-type]
            except BadArgument as error:
                wrong.append(f"{error.got} (row {row})")
                continue
            if rows.setdefault(number, row) != row:
                wrong.append(f"{id!r} again (row {row}, as in row {rows[number]})")
            found.append((number, pull))
        if wrong:
            expected = "decisions whose rewards are outstanding, each once"
            raise BadArgument("id", expected, "; ".join(wrong))
        return found

    def _missing(self, number: int) -> str:
        """Return the id of a decision that is not outstanding, and why it is not."""
        id = repr(self.tags.id_of(number))
        if number >= self.made:
            return f"{id}, which was not made yet, or is not in the file that was loaded"
        why = "which has had its reward or was cancelled"
        if number <= self.forgotten:
            why += f", or was forgotten as more than {self.most} were outstanding (use `tell`)"
        return f"{id}, {why}"

    # --- Changing -------------------------------------------------------------------------------

    def decide(self, named: Named[Core], rows: Sequence[tuple[Name, int, float]]) -> list[Decision]:
        """Remember decisions: context, arm and propensity of each."""
        if len(named.core.under_way) + len(rows) > self.most:
            self._say(named.notes)
        id_of, listed, first = self.tags.id_of, named.arms.listed, self.made
        self.change(named.core, add=rows)
        return [
            Decision(id_of(number), context, listed[arm], propensity)
            for number, (context, arm, propensity) in enumerate(rows, first)
        ]

    def _say(self, notes: Notes) -> None:
        words = f"more than {self.most:,} decisions are outstanding: the oldest are forgotten"
        notes.once("forgotten", f"{words} (`max_outstanding` says how many are kept)")

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
        counters = self.made, self.forgotten, self.lost
        pulls = {number: core.under_way[number] for number in drop}
        try:
            for number in drop:
                self._drop(core, number)
            for pull in add:
                core.expect(self.made, *pull)
                if self.shown is not None:
                    self.shown.count(core.under_way, *pull[:2], 1)
                self.made += 1
                if len(core.under_way) > self.most:
                    oldest = next(iter(core.under_way))
                    pulls[oldest] = core.under_way[oldest]
                    self._drop(core, oldest)
                    self.forgotten, self.lost = oldest, self.lost + 1
            if tell is not None:
                tell()
        except BaseException:
            if core.tells == tells:
                pulls |= core.under_way
                made, *_ = self.made, self.forgotten, self.lost = counters
                core.recover({k: pulls[k] for k in sorted(pulls) if k < made}, visits)
            raise

    def _drop(self, core: Levels, number: int) -> None:
        pull = core.under_way[number]
        core.expect_no_more(number)
        if self.shown is not None:
            self.shown.count(core.under_way, pull.context, pull.arm, -1)
