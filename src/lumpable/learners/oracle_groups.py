"""Thompson sampling that knows the grouping: a reference for learners that have to find it.

The models are those of `thompson_gaussian` and `thompson_beta`, with a row for each group.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import IntVector
from lumpable.base.errors import BadArgument
from lumpable.learners import thompson_beta, thompson_gaussian
from lumpable.learners.engine import Kernels
from lumpable.learners.learner import Compiled

MODELS = ("gaussian", "beta")


class KnownGroups(Compiled):
    """Thompson sampling in which all contexts of a group learn together, from a known grouping.

    `group` holds each context's group, 0 .. r - 1. The model is `gaussian` (any rewards, noise of
    one unknown variance) or `beta` (rewards in [0, 1]); `spread` multiplies the posterior's
    standard deviation. Its regret is that of r bandits: what is left when the groups are known.

    >>> learner = KnownGroups(contexts=3, arms=2, group=[0, 1, 0], seed=1)
    >>> learner.tell(0, 1, 1.0)
    >>> learner.policy()[2], learner.labels()
    (np.int64(1), array([0, 1, 0]))
    """

    kernels = Kernels(thompson_gaussian.choose, thompson_gaussian.update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        group: npt.ArrayLike,
        model: str = "gaussian",
        spread: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        row = np.array(group)
        if row.shape != (S,) or row.dtype.kind not in "iu" or row.min() < 0 or row.max() >= S:
            raise BadArgument("group", f"{S} whole numbers in 0 .. {S - 1}", repr(group))
        row = row.astype(np.int64)
        checks.choice("model", model, MODELS)
        if model == "beta":
            self.kernels = Kernels(thompson_beta.choose, thompson_beta.update)  # type: ignore[misc]
            self.unit_rewards = True  # type: ignore[misc]
            super().__init__(S, K, seed, thompson_beta.fresh(row, K, spread))
        else:
            super().__init__(S, K, seed, thompson_gaussian.fresh(row, K, spread))
        self._beta = model == "beta"

    def policy(self) -> IntVector:
        """Return the best arm of each context's group so far."""
        module = thompson_beta if self._beta else thompson_gaussian
        return module.best_arms(self.state)

    def labels(self) -> IntVector:
        """Return the grouping."""
        return self.state.row.copy()
