"""What a learner with names advises: the best arm for each context, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from lumpable.base.arrays import BoolVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.belief import advice, beliefs
from lumpable.lumps.belief.advice import Advice, Lift
from lumpable.lumps.belief.beliefs import Expected
from lumpable.lumps.use.believing import BelievingLearner
from lumpable.lumps.use.limits import no_arm
from lumpable.lumps.use.locking import alone


class AdvisingLearner(BelievingLearner):
    """A learner that says what is best for whom. It reads, and writes nothing."""

    def _open_to(self, names: Sequence[Name], mask: BoolVector) -> list[BoolVector]:
        """Return which of these arms may be shown to each of these contexts: all, or fewer."""
        return [mask] * len(names)

    @alone
    def best(
        self, context: Name, allowed: Iterable[Name] | None = None, *, level: float = beliefs.LEVEL
    ) -> Advice:
        """Return the arm that is believed best for a context, how sure that is, and the next one.

        It reads what is believed, where `ask` explores. An unknown context gets what is best for
        any.
        """
        named, name = self._named, self._named.contexts.plain(context)
        (choices,) = self._open_to([name], named.mask(allowed))
        if not choices.any():
            raise no_arm(f"{name!r} was shown each of them as often as `at_most` allows")
        return advice.advise(
            self.core, np.array([named.place(name)]), [choices], level, context_names=[name],
            arm_names=named.arms.listed,
        )[0]  # fmt: skip

    @alone
    def policy(
        self, allowed: Iterable[Name] | None = None, *, level: float = beliefs.LEVEL
    ) -> list[Advice]:
        """Return the row of `best` for each known context.

        Contexts that were shown every arm as often as `at_most` allows have no row.
        """
        named, names = self._named, self._named.contexts.listed
        masks = self._open_to(names, named.mask(allowed))
        rows = np.array([k for k, own in enumerate(masks) if own.any()], dtype=np.int64)
        return advice.advise(
            self.core, rows, [masks[k] for k in rows], level,
            context_names=[names[k] for k in rows], arm_names=named.arms.listed,
        )  # fmt: skip

    @alone
    def lift(self, *, level: float = beliefs.LEVEL) -> Lift:
        """Return what each context's best arm brings over one arm for all, with an interval.

        Known contexts count by their rewards plus one; `at_most` is left out on both sides. Both
        policies are chosen by what is believed and judged by the same draws of what may be true.
        """
        named, _ = self._named, self._named.mask(None)
        if not named.contexts.listed:
            raise BadArgument("contexts", "at least one known context", "none")
        places = np.arange(len(named.contexts))
        return advice.lift(self.core, places, level, arm_names=named.arms.listed)

    @alone
    def expected(self, context: Name) -> list[Expected]:
        """Return a row for each arm that may be chosen for a context, the largest index first.

        For an unknown context, this is what is expected of any.
        """
        named, name = self._named, self._named.contexts.plain(context)
        (open,), number = self._open_to([name], named.mask(None)), named.arms.number
        rows = beliefs.expected(self.core, named.place(name), arm_names=named.arms.listed)
        return [row for row in rows if open[number[row.arm]]]
