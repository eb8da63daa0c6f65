"""UCB1 for each context on its own: Auer, Cesa-Bianchi and Fischer, Machine Learning 47 (2002)."""

from __future__ import annotations

import math

import numpy as np

from lumpable import checks


class UCB1:
    """A standard learner that ignores groups: each context has its own UCB1 (their Figure 1).

    Every arm once, then the one with the largest mean + sqrt(2 log n / n_j), where n counts the
    context's own rounds and n_j those of the arm; the first of several. For rewards in [0, 1] its
    regret is of order sqrt(SKT log T).

    >>> learner = UCB1(contexts=1, arms=2)
    >>> for reward in (0.0, 1.0, 1.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> learner.ask(0)
    1
    """

    def __init__(self, contexts: int, arms: int) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.plays = np.zeros((S, K), dtype=np.int64)
        self.sums = np.zeros((S, K))

    def ask(self, context: int) -> int:
        """Return the arm with the largest index. Asked twice, it answers the same."""
        plays = self.plays[checks.whole("context", context, 0, len(self.plays) - 1)]
        if not plays.all():
            return int(np.argmin(plays > 0))
        n = int(plays.sum())
        index = self.sums[context] / plays + np.sqrt(2 * math.log(n) / plays)
        return int(np.argmax(index))

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context."""
        S, K = self.plays.shape
        checks.whole("context", context, 0, S - 1)
        checks.whole("arm", arm, 0, K - 1)
        gain = checks.real("reward", reward, "a number in [0, 1]", -math.ulp(0.0), 1.0)
        self.plays[context, arm] += 1
        self.sums[context, arm] += gain
