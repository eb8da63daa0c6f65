"""The learner behind a log, which decides by itself neither when to fit nor what is remembered.

Every change is a function of what was before and of what is told, so that a log that is replayed
makes the same learner, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from lumpable.base.units import Name
from lumpable.lumps.belief import beliefs
from lumpable.lumps.belief.beliefs import Member
from lumpable.lumps.belief.glance import NOTHING, Glance, glance, outline
from lumpable.lumps.core.forgetting import without
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.retraction import retract
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use import contents, stored
from lumpable.lumps.use.advising import AdvisingLearner
from lumpable.lumps.use.locking import alone
from lumpable.lumps.use.registry import FIRST_ROOM, Coming, Named

FitInput = tuple[Counts, Fit | None]
"""What a fit is made of: everything that was seen, and the fit before."""


class Believer(AdvisingLearner):
    """A learner with names whose fits are made elsewhere, and whose rewards may be taken back."""

    def __init__(self, *, rewards: str | tuple[float, float] = "any", seed: int = 0) -> None:
        core = _behind_a_log(ThreeLevels(FIRST_ROOM, 1, seed=seed))
        super().__init__(Named.start(core, rewards, (), (), new_arms=True))

    def summary(self, who: str = "user") -> str:
        """Say in a sentence or two what is believed, of users: so a service calls contexts."""
        return super().summary(who)

    @alone
    def expect(self, number: int, context: Name, arm: Name, propensity: float) -> None:
        """Count a decision whose reward is to come: until then, others try its arm less."""
        named = self._named
        if arm in named.arms.number:
            self.core.expect(number, context, named.arms.number[arm], propensity)
            return
        with Coming(named):
            named.register([], [arm])
            self.core.expect(number, context, named.arms.number[arm], propensity)

    @alone
    def expect_no_more(self, number: int) -> None:
        """Count a decision no more: its reward is here, or will not come."""
        self.core.expect_no_more(number)

    @alone
    def user_of(self, number: int) -> Name:
        """Return whose decision under way that is."""
        return self.core.under_way[number].context

    @property
    def counted(self) -> int:
        """The rewards that count."""
        return self.core.tells

    @property
    def waiting(self) -> int:
        """The decisions that are under way."""
        return len(self.core.under_way)

    @alone
    def take_back(self, context: Name, arm: Name, reward: float) -> None:
        """Count a reward no more that was told."""
        named = self._named
        retract(self.core, named.known(context), named.arms.number[arm], reward)

    @alone
    def forget(self, context: Name) -> None:
        """Count nothing of a context any more; its decisions under way must be gone."""
        if context in self._named.contexts.number:
            self._named = self._named.without(context)

    @alone
    def start_anew(self) -> None:
        """Fit what was seen from scratch: nothing of earlier fits stays."""
        known = self._named.contexts.listed
        core = without(self.core, len(known))  # a context that nobody has: nobody is forgotten
        self._named = self._named.around(core, known)

    @alone
    def counted_rewards(self) -> list[tuple[Name, Name, float, int]]:
        """Return context, arm, reward and how often it was told, of all that counts."""
        counts, rows = self.core.counts(), list[tuple[Name, Name, float, int]]()
        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        cells = [
            (contexts[i], arms[j])
            for i, j in zip(counts.context[counts.row], counts.arm, strict=True)
        ]
        zeros = (counts.n - counts.s).astype(int)
        if counts.others is not None:
            for cell, value, times in zip(*counts.others, strict=True):
                rows.append((*cells[cell], float(value), int(times)))
                zeros[cell] -= int(times)
        for value, number in ((1.0, counts.s.astype(int)), (0.0, zeros)):
            rows += [(*cells[c], value, int(number[c])) for c in number.nonzero()[0]]
        return rows

    # --- What it cannot do: nothing ---------------------------------------------------------------

    def get_ready(self) -> None:
        """It always is."""

    def check_users(self, contexts: Iterable[Name]) -> None:
        """There is room for all."""

    def check_choices(self, choices: Sequence[Name]) -> None:
        """It chooses among any arms."""

    def check_arm(self, arm: Name) -> None:
        """Any may come and go."""

    # --- At a glance ----------------------------------------------------------------------------

    @alone
    def member(self, context: Name) -> Member | None:
        """Return the row of `members` of one context; None: it had no reward."""
        named = self._named
        number = named.contexts.number.get(named.contexts.plain(context))
        rows = [] if number is None or not named.arms else beliefs.members(
            self.core, context_names=named.contexts.listed, arm_names=named.arms.listed,
            only=number,
        )  # fmt: skip
        return rows[0] if rows else None

    @alone
    def outline(self) -> list[tuple[int, Name | None]]:
        """Return the number of contexts and the best arm of each group."""
        arms = self._named.arms.listed
        return [(size, None if best is None else arms[best]) for size, best in outline(self.core)]

    @alone
    def glance(self, lately: Iterable[tuple[Name, Name]] = ()) -> Glance:
        """Return what fits on a screen; `lately` are contexts and arms of the last decisions."""
        named = self._named
        if not named.arms:
            return NOTHING
        context, arm = named.contexts.number, named.arms.number
        rows = [(context[c], arm[a]) for c, a in lately if c in context and a in arm]
        return glance(
            self.core, rows, context_names=named.contexts.listed, arm_names=named.arms.listed
        )

    # --- Fits -----------------------------------------------------------------------------------

    @alone
    def due(self) -> bool:
        """Whether it is time for a fit."""
        return self.core.tells > 0 and self.core.due()

    @alone
    def fit_input(self) -> FitInput:
        """Return what a fit is made of: a copy, which may be sent elsewhere."""
        return self.core.counts(), self.core.last_fit

    @staticmethod
    def fit(taken: FitInput) -> Fit:
        """Fit what was taken: a pure function."""
        counts, before = taken
        return ThreeLevels.fit(counts, before)

    @alone
    def adopt(self, fit: Fit) -> None:
        """Go on from a fit of what was seen, now or a while ago."""
        self.core.adopt(fit)

    # --- To bytes, and back ---------------------------------------------------------------------

    def _to_save(self) -> dict[str, object]:
        return {"waiting": [(number, *pull) for number, pull in self.core.under_way.items()]}

    @alone
    def to_bytes(self, ledger: bytes) -> bytes:
        """Return everything, and what else the log came to (JSON)."""
        more = self._named.to_save() | self._to_save() | {"ledger": msgspec.Raw(ledger)}
        return stored.to_bytes(self.core, more)

    @classmethod
    def from_bytes(cls, held: bytes) -> tuple[Self, bytes]:
        """Return what `to_bytes` was called with."""
        core, extra = stored.load(held, ThreeLevels)
        core = _behind_a_log(core)
        ledger = msgspec.json.encode(extra.get("ledger"))
        saved = contents.read(
            contents.SavedBeliever, extra | {"ledger": msgspec.Raw(b"null")}, core, "snapshot"
        )
        learner = cls(rewards=saved.rewards, seed=core.seed)
        learner._named = saved.believing(core)
        return learner, ledger


def _behind_a_log(core: ThreeLevels) -> ThreeLevels:
    """Return a core that leaves its fits to others, and answers before it is compiled."""
    core.leave_fits()
    core.answer_at_once()
    return core
