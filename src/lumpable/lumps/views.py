"""What a learner with names believes, as tables, words and a page. Reads; nothing changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.lumps import beliefs, left_over, odds
from lumpable.lumps.beliefs import Row
from lumpable.lumps.growth import Name, Named
from lumpable.lumps.levels import ThreeLevels

Given = ParamSpec("Given")
Result = TypeVar("Result")
Owner = TypeVar("Owner", bound="Views")


def alone(
    method: Callable[Concatenate[Owner, Given], Result],
) -> Callable[Concatenate[Owner, Given], Result]:
    """Let one thread at a time into these methods of a learner."""

    @wraps(method)
    def inside(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return inside


class Views:
    """A learner with names that can be looked at."""

    def __init__(self, core: ThreeLevels) -> None:
        self._named = Named(core)
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._lock = threading.RLock()

    @property
    def core(self) -> ThreeLevels:
        """The learner of numbers that learns for this one; read it, do not tell it."""
        return self._named.core

    @alone
    def expected(self, context: Name) -> list[Row]:
        """Return a row for each arm that may be chosen for a context, the largest index first.

        The reward that is expected, how many rewards the context had from the arm itself, and the
        index, which is on the scale of logits while all rewards are 0 or 1. Of a context that
        nobody has heard of it says what is expected of anybody.
        """
        named, state = self._named, self.core.state
        place = named.place(named.contexts.plain(context))
        with named.allowing(named.mask(None)) as core:
            core.ask(place)
            index, mean = state.score.copy(), core.posterior_means(np.array([place]))[0]
        own, cells = (
            np.zeros(core.arms),
            slice(state.start[place], state.start[place] + state.length[place]),
        )
        own[state.arm[cells]] = state.pulls[cells]
        return [
            {
                "arm": named.arms.listed[j], "expected_reward": float(mean[j]),
                "rewards": int(own[j]), "index": float(index[j]),
            }
            for j in np.argsort(-index, kind="stable") if named.open[j]
        ]  # fmt: skip

    @alone
    def groups(self, level: float = beliefs.LEVEL) -> list[Row]:
        """Return a row for each group: how large it is, its best arm, and how sure both are."""
        arms = self._named.arms.listed
        return beliefs.groups(self.core, level, arm_names=arms) if arms else []

    @alone
    def means(self, level: float = beliefs.LEVEL) -> list[Row]:
        """Return a row for each group and arm: its mean reward, with an interval."""
        arms = self._named.arms.listed
        return beliefs.arms(self.core, level, arm_names=arms) if arms else []

    @alone
    def members(self) -> list[Row]:
        """Return a row for each context that had a reward: its group, how surely, its best arm."""
        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        return beliefs.members(self.core, context_names=contexts, arm_names=arms) if arms else []

    @alone
    def together(self, a: Name, b: Name) -> float:
        """Return the probability that two contexts are in one group."""
        places = [self._named.contexts.number[self._named.known(name)] for name in (a, b)]
        return float(beliefs.together(self.core, *places))

    @alone
    def evidence(self) -> list[Row]:
        """Return how likely other models make what was seen: more or fewer groups, alike or not."""
        return odds.evidence(self.core)

    @alone
    def summary(self) -> str:
        """Say in a sentence or two what is believed of contexts."""
        return odds.summary(self.core)

    @alone
    def residuals(self) -> Row:
        """Say whether something is left over that groups cannot explain."""
        return left_over.residuals(self.core)

    @alone
    def report(self, path: str | Path) -> Path:
        """Write all of this as one page with pictures that needs nothing else (extra `plot`)."""
        from lumpable.reports.pages import belief_page  # brings pictures along

        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        if not arms:
            raise BadArgument("arms", "at least one arm to report of", "none")
        known = len(contexts)
        return belief_page.report(
            self.core, path, context_names=contexts, arm_names=arms, contexts_known=known
        )
