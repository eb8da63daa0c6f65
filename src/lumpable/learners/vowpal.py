"""Vowpal Wabbit's SquareCB: Foster and Rakhlin, "Beyond UCB", ICML 2020.

An adapter: `pip install vowpalwabbit`. The library is by Langford, Li and Strehl (2007) and many
others; its SquareCB works on an online regression by adaptive normalised gradient steps.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.extras import need
from lumpable.learners.engine import draws
from lumpable.learners.engine.clock import TELLS, seeded, start_choice

BITS = 18
"""Vowpal Wabbit's own default: 2^18 weights."""
MOST_BITS = 30
PER_CELL = 4
"""Weights for each cell at least, or too many features would share one."""


class VowpalWabbit:
    """Vowpal Wabbit's SquareCB with features of the context, the arm, and the two together.

    `--cb_explore_adf --squarecb -q UA`, a reward is a cost of its negative. Its weights go up and
    down with every reward, so it follows changes; sharing is by context and by arm, not by group.
    It learns by regression without importance weights, so that a late reward needs no probability.
    It is slow: about 7 microseconds an arm for each ask and each tell, as everything is passed as
    text.

    Parameters
    ----------
    gamma_scale, gamma_exponent
        Greediness gamma_scale t^gamma_exponent; the defaults are its own. Try 10 to 1,000.
    learning_rate
        Of the regression, its own default.

    >>> learner = VowpalWabbit(contexts=3, arms=4, seed=1)
    >>> learner.tell(0, 2, 1.0)
    >>> int(learner.policy()[0])
    2
    """

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        learning_rate: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.contexts = checks.whole("contexts", contexts, 1)
        self.arms = checks.whole("arms", arms, 1)
        self.seed = checks.whole("seed", seed, 0)
        scale = checks.real("gamma_scale", gamma_scale, "a positive number", 0.0, 1e12)
        exponent = checks.real("gamma_exponent", gamma_exponent, "a number in (0, 1]", 0.0, 1.0)
        rate = checks.real("learning_rate", learning_rate, "a positive number", 0.0, 1e6)
        cells = PER_CELL * self.contexts * self.arms
        self.bits = min(max(BITS, math.ceil(math.log2(cells))), MOST_BITS)
        module = need("vowpalwabbit", "vowpal", "the learner vowpal")
        self._clock = seeded(self.seed)
        self._actions = [f"|A a{j}" for j in range(self.arms)]
        self._workspace = module.Workspace(
            f"--cb_explore_adf -q UA --squarecb --gamma_scale {scale} --gamma_exponent {exponent}"
            f" -l {rate} -b {self.bits} --random_seed {self.seed} --quiet"
        )

    def ask(self, context: int) -> int:
        """Return the arm to play for this context now. Asked twice, it answers the same."""
        cumulative = np.cumsum(self.probabilities(context))
        start_choice(self._clock, context)
        u = draws.uniform(self._clock) * cumulative[-1]
        return min(int(np.searchsorted(cumulative, u, side="right")), self.arms - 1)

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        context = checks.whole("context", context, 0, self.contexts - 1)
        arm = checks.whole("arm", arm, 0, self.arms - 1)
        reward = checks.real("reward", reward, "a finite number", -1e300, 1e300)
        lines = self._lines(context)
        lines[1 + arm] = f"0:{-reward}:1 {lines[1 + arm]}"  # the probability, 1, is not used
        self._workspace.learn(lines)
        self._clock[TELLS] += np.uint64(1)

    def probabilities(self, context: int) -> FloatVector:
        """Return the probability of each arm, were this context the next."""
        context = checks.whole("context", context, 0, self.contexts - 1)
        return np.array(self._workspace.predict(self._lines(context)))

    def policy(self) -> IntVector:
        """Return each context's most probable arm, which is the one with the best prediction."""
        best = [int(np.argmax(self.probabilities(i))) for i in range(self.contexts)]
        return np.array(best, dtype=np.int64)

    @property
    def tells(self) -> int:
        """The number of rewards that were reported."""
        return int(self._clock[TELLS])

    @property
    def nbytes(self) -> int:
        """The bytes of its weights: four numbers of 32 bits each."""
        return 16 << self.bits

    def _lines(self, context: int) -> list[str]:
        return [f"shared |U u{context}", *self._actions]
