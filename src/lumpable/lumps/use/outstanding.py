"""Decisions whose rewards have not come, the oldest first.

A decision and its pull under way in the core come and go together, and a reward with them: whoever
is interrupted finds all of it done, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from lumpable.base.errors import BadArgument
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.use.decisions import Decision, plain_id
from lumpable.lumps.use.naming import Name


class Made(NamedTuple):
    """A decision with the numbers of its context and arm; None: the context has no number yet."""

    decision: Decision
    context: int | None
    arm: int


class Outstanding:
    """The decisions whose rewards have not come; at most `most`, then the oldest is forgotten."""

    def __init__(self, most: int, made: int = 0, forgotten: int = -1) -> None:
        self.most = most
        self.made = made
        """Decisions so far; the id of the next one."""
        self.forgotten = forgotten
        """The last id that was dropped because there were too many."""
        self.waiting: dict[int, Decision] = {}
        self.strangers: dict[Name, set[int]] = {}
        """Decisions for contexts without a number, by name."""

    def find(self, decision: Decision | int) -> Decision:
        """Return the decision, also by its id alone; words for one that takes no reward."""
        id = decision.id if isinstance(decision, Decision) else plain_id(decision)
        if id in self.waiting:
            known = self.waiting[id]
            if isinstance(decision, Decision) and decision != known:
                raise BadArgument("id", f"{known}", f"{decision}")
            return known
        if not 0 <= id < self.made:
            raise BadArgument("id", "the id of a decision", repr(id))
        why = "which has had its reward or was cancelled"
        if id <= self.forgotten:
            why += f", or was forgotten as more than {self.most} were outstanding (use `tell`)"
        raise BadArgument("id", "a decision whose reward is outstanding", f"{id}, {why}")

    def add(self, decision: Decision, *, stranger: bool) -> None:
        """Remember a decision."""
        self.waiting[decision.id] = decision
        if stranger:
            self.strangers.setdefault(decision.context, set()).add(decision.id)

    def remove(self, id: int) -> None:
        """Remember a decision no more."""
        decision = self.waiting.pop(id, None)
        ids = self.strangers.get(decision.context) if decision else None
        if decision and ids:
            ids.discard(id)
            if not ids:
                del self.strangers[decision.context]

    def of(self, context: Name) -> list[int]:
        """Return the ids of a context's decisions."""
        return [id for id, decision in self.waiting.items() if decision.context == context]

    def without(self, ids: Iterable[int]) -> Outstanding:
        """Return the same without some decisions."""
        left, gone = Outstanding(self.most, self.made, self.forgotten), set(ids)
        left.waiting = {id: one for id, one in self.waiting.items() if id not in gone}
        known = {name: ids - gone for name, ids in self.strangers.items()}
        left.strangers = {name: ids for name, ids in known.items() if ids}
        return left


def change(
    core: Levels,
    book: Outstanding,
    *,
    drop: Sequence[int] = (),
    add: Sequence[Made] = (),
    tell: Callable[[], None] | None = None,
) -> None:
    """Drop decisions, tell their rewards, add others: all of it, or nothing.

    Of more decisions than may be outstanding, the oldest is dropped.
    """
    tells, visits, counters = (
        core.tells,
        core.state.group_visits.copy(),
        (book.made, book.forgotten),
    )
    pulls = {id: core.under_way.get(id) for id in drop}
    pulls |= {each.decision.id: None for each in add}
    dropped = {id: book.waiting[id] for id in drop}
    try:
        for id in drop:
            book.remove(id)
            core.expect_no_more(id)
        for decision, context, arm in add:
            core.expect(decision.id, context, arm)
            book.add(decision, stranger=context is None)
            book.made += 1
            if len(book.waiting) > book.most:
                oldest = next(iter(book.waiting))
                if oldest not in pulls:
                    pulls[oldest], dropped[oldest] = core.under_way[oldest], book.waiting[oldest]
                book.remove(oldest)
                core.expect_no_more(oldest)
                book.forgotten = oldest
        if tell is not None:
            tell()
    except BaseException:
        if core.tells == tells:
            core.recover(pulls, visits)
            book.made, book.forgotten = counters
            _put_back(core, book, add, dropped)
        raise


def _put_back(
    core: Levels, book: Outstanding, added: Sequence[Made], dropped: Mapping[int, Decision]
) -> None:
    for each in added:
        book.remove(each.decision.id)
    for id, decision in dropped.items():
        book.add(decision, stranger=core.under_way[id].context is None)
    book.waiting = dict(sorted(book.waiting.items()))  # the oldest first
