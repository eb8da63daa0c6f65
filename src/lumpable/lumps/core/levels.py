"""The practical learner, with numbers for contexts and arms: three levels of belief and an index.

The index of an arm is in `index`, a round in `steps`, everything else in `learning`.
"""

from __future__ import annotations

from lumpable.learners.engine.entries import Kernels
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.steps import choose, choose_among, update

EARLY_GROWTH, GROWTH = 1.5, 1.25


class ThreeLevels(Levels):
    """Learn what works for all, for groups and for each context, as far as the evidence goes.

    Nothing to set: the number of groups, how alike their contexts are, the noise and whether there
    are groups at all are fitted at geometric times. `lumpable.Lumps` is the same with names, for
    live use.

    >>> learner = ThreeLevels(contexts=3, arms=2, seed=1)
    >>> for context in (0, 1, 2, 0, 1, 2):
    ...     learner.tell(context, learner.ask(context), 1.0)
    >>> learner.policy().shape
    (3,)
    """

    kernels = Kernels(choose, update)
    among = choose_among
    growth = EARLY_GROWTH, GROWTH

    def __init__(self, contexts: int, arms: int, *, seed: int = 0) -> None:
        super().__init__(contexts, arms, seed)
