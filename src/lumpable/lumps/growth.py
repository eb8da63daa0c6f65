"""Names get numbers, and a learner gets room for those that come later.

Growing changes nothing for what was there: a learner that grew believes what it would believe had
it had the size from the start. Knows no decisions.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from lumpable.base.checks import BoolVector
from lumpable.base.errors import BadArgument
from lumpable.lumps.forgetting import without
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import Fit

Name = str | int
"""What contexts and arms are called; "1" and 1 are two names."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""Names that are numbers fit into 64 bits, so that every file format can hold them."""


def grown(learner: ThreeLevels, contexts: int, arms: int) -> None:
    """Give a learner room for so many contexts and arms; those it has keep their numbers.

    New contexts start from the groups' shares, new arms from the population.
    """
    more_contexts, more_arms = contexts - learner.contexts, arms - learner.arms
    if more_contexts < 0 or more_arms < 0:
        raise BadArgument(
            "contexts, arms", f"at least {learner.contexts}, {learner.arms}", f"{contexts}, {arms}"
        )
    state, fit = learner.state, learner.fit
    if more_contexts > 0:
        state = state._replace(**_more_contexts(state, fit, more_contexts))
    if more_arms > 0:
        state = state._replace(**_more_arms(state, fit, more_arms))
        learner.fit = None if fit is None else _fit_with(fit, more_arms)
    learner.state, learner.contexts, learner.arms = state, contexts, arms
    learner._make_room()
    learner._connect()


def _more_contexts(state: Any, fit: Fit | None, more: int) -> dict[str, Any]:
    """Return the arrays with a row for each context, lengthened."""
    share = np.zeros(1) if fit is None else fit.share
    rank = state.force.shape[1]
    new: dict[str, Any] = {
        **{name: np.zeros(more, dtype=np.int64) for name in ("start", "length", "room")},
        "visits": np.zeros(more),
        "log_weight": np.tile(share, (more, 1)),
        "force": np.zeros((more, rank)),
        "grip": np.tile(np.eye(rank), (more, 1, 1)),
    }
    return _joined(state, new)


def _more_arms(state: Any, fit: Fit | None, more: int) -> dict[str, Any]:
    """Return the arrays with a number for each arm, lengthened."""
    centre, hold = (0.5, np.inf) if fit is None else _population(fit)
    new = {
        **{name: np.zeros(more) for name in ("mean", "spread", "score")},
        "centre": np.full(more, centre),
        "hold": np.full(more, hold),
        "loading": np.zeros((more, state.loading.shape[1])),
        "allowed": np.ones(more, dtype=np.bool_),
    }
    wider = np.zeros((len(state.pending), more))
    tables = {
        name: np.concatenate([getattr(state, name), wider], axis=1)
        for name in ("group_pulls", "group_total", "pending")
    }
    return tables | _joined(state, new)


def _joined(held: Any, new: dict[str, Any]) -> dict[str, Any]:
    return {name: np.concatenate([getattr(held, name), rows]) for name, rows in new.items()}


def _population(fit: Fit) -> tuple[float, float]:
    """Return what is believed of an arm that nobody has tried: its mean, and how surely."""
    return fit.p0, np.inf if fit.groups == 1 else fit.k0


def _fit_with(fit: Fit, more: int) -> Fit:
    """Return a fit that knows of more arms, which nobody has tried."""
    centre, hold = _population(fit)
    nothing = np.zeros((more, fit.groups))
    new = {
        "pulls": nothing,
        "totals": nothing,
        "loading": np.zeros((more, fit.rank)),
        "centre": np.full(more, centre),
        "hold": np.full(more, hold),
    }
    return replace(fit, **_joined(fit, new))


# --- Names ------------------------------------------------------------------------------------


class Names:
    """Names in order of first appearance, each with a number from 0 on."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        """What is named, for errors."""
        self.number: dict[Name, int] = {}
        self.listed: list[Name] = []

    def __len__(self) -> int:
        return len(self.listed)

    def plain(self, name: object) -> Name:
        """Return a name as a plain str or int; anything else is an error."""
        if type(name) is str or type(name) is int:
            if name in self.number or _holdable(name):
                return name
        elif isinstance(name, str):
            return self.plain(str.__str__(name))
        elif not isinstance(name, bool | np.bool_) and hasattr(name, "__index__"):
            try:
                return self.plain(operator.index(name))
            except TypeError:  # an array of several numbers
                pass
        expected = "a string, or an integer of at most 64 bits"
        raise BadArgument(self.kind, expected, repr(name))

    def plains(self, names: Iterable[object]) -> list[Name]:
        """Return many names as plain ones."""
        several = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
        if not several or hasattr(names, "columns"):
            got = f"one string {names!r}" if isinstance(names, str) else f"{names!r:.60}"
            raise BadArgument(f"{self.kind}s", "several names", f"{got}")
        known, plain = self.number, self.plain
        return [
            name if (type(name) is str or type(name) is int) and name in known else plain(name)
            for name in names
        ]

    def add(self, name: Name) -> bool:
        """Give a plain name the next number; False: it has one."""
        if name in self.number:
            return False
        self.number[name] = len(self.listed)
        self.listed.append(name)
        return True

    def remove(self, name: Name) -> None:
        """Take a name away; those after it move up by one number."""
        del self.listed[self.number[name]]
        self.number = {name: place for place, name in enumerate(self.listed)}


def _holdable(name: Name) -> bool:
    """Whether a file can hold this name."""
    if isinstance(name, int):
        return LOWEST <= name <= HIGHEST
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


class Named:
    """A learner of numbers whose contexts and arms have names.

    There is always room for one context more, for whoever nobody has heard of; there is none for
    arms, as an arm to spare could be believed the best.
    """

    def __init__(self, core: ThreeLevels) -> None:
        self.core = core
        self.contexts, self.arms = Names("context"), Names("arm")
        self.open: BoolVector = np.zeros(core.arms, dtype=np.bool_)
        """Arms that may be chosen; the only one of a learner without any is none."""

    def register(self, contexts: Iterable[Name], arms: Iterable[Name], *, open: bool) -> None:
        """Give plain names that are new numbers and room; whether new arms may be chosen."""
        for name in contexts:
            self.contexts.add(name)
        new = sum([self.arms.add(name) for name in arms])
        room = self.core.contexts
        while room <= len(self.contexts):
            room *= 2
        if room > self.core.contexts or len(self.arms) > self.core.arms:
            grown(self.core, room, max(1, len(self.arms)))
        if new:
            old = self.open[: len(self.arms) - new]
            self.open = np.append(old, np.full(new, open))
            self.core.state.allowed[:] = self.open

    def forget(self, context: Name) -> None:
        """Forget a known context; those after it move up by one number."""
        place = self.contexts.number[context]
        self.core = without(self.core, place)
        self.contexts.remove(context)

    def open_or_close(self, arm: Name, open: bool) -> None:
        """Let an arm be chosen, or no more."""
        self.open[self.arms.number[arm]] = open
        self.core.state.allowed[:] = self.open

    def known(self, context: object) -> Name:
        """Return a context's plain name; that it is unknown is an error."""
        name = self.contexts.plain(context)
        if name not in self.contexts.number:
            raise BadArgument("context", "one of those that are known", repr(name))
        return name

    def place(self, context: Name) -> int:
        """Return a context's number; that of an unknown one is the next that is free."""
        return self.contexts.number.get(context, len(self.contexts))

    def mask(self, allowed: Iterable[Name] | None) -> BoolVector:
        """Return which arms may be chosen when these plain names are allowed; at least one."""
        mask = self.open
        if allowed is not None:
            mask = np.zeros_like(self.open)
            for name in allowed:
                if name not in self.arms.number:
                    raise BadArgument("allowed", "known arms (see add_arm)", repr(name))
                mask[self.arms.number[name]] = True
            mask &= self.open
        if not mask.any():
            why = "there are none" if not self.open.any() else "all of them are retired, or none"
            raise BadArgument("allowed", why=f"expected an arm that may be chosen, but {why}")
        return mask

    @contextmanager
    def allowing(self, mask: BoolVector) -> Iterator[ThreeLevels]:
        """Let the core choose among these arms only, for a while."""
        self.core.state.allowed[:] = mask
        try:
            yield self.core
        finally:
            self.core.state.allowed[:] = self.open
