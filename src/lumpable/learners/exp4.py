"""EXP4 with constant experts: Auer, Cesa-Bianchi, Freund and Schapire, SIAM J. Comput. 32 (2002).

Each expert recommends one arm to everybody, so this is EXP3 that ignores the context (reading 35).
"""

from __future__ import annotations

import math

from lumpable import checks
from lumpable.collector import UNIT, request_key


class ConstantExperts:
    """EXP4 with K experts, each for one arm whoever comes: right where one arm is best for all.

    That is so for means of rank one with non-negative weights. Importance-weighted losses
    (1 - reward) / p, no uniform mixing, eta = sqrt(2 log K / (KT)): against the best single arm the
    regret is at most sqrt(2KT log K) on average, for rewards in [0, 1].

    >>> learner = ConstantExperts(arms=2, horizon=100, seed=1)
    >>> learner.tell(0, learner.ask(0), 1.0)
    >>> learner.probabilities()
    [0.5, 0.5]
    """

    def __init__(self, arms: int, *, horizon: int, seed: int) -> None:
        K = checks.whole("arms", arms, 1)
        T = checks.whole("horizon", horizon, 1)
        self.seed = checks.whole("seed", seed, 0)
        self.rounds = 0
        self.late = 0
        """Rewards for an arm that was not the one asked for: they change nothing else."""
        self.rate = math.sqrt(2 * math.log(K) / (K * T))
        """eta."""
        self._loss = [0.0] * K
        self._probability = [1 / K] * K

    def ask(self, context: int) -> int:
        """Return an arm drawn with the experts' probabilities. Asked twice, it answers the same."""
        u = (request_key(self.seed, self.rounds) >> 11) * UNIT
        for arm, probability in enumerate(self._probability):
            u -= probability
            if u < 0:
                return arm
        return self._probability.index(max(self._probability))  # rounding left a little over

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward, in [0, 1], of the arm that was asked for; others are counted late."""
        checks.whole("arm", arm, 0, len(self._loss) - 1)
        gain = checks.real("reward", reward, "a number in [0, 1]", -math.ulp(0.0), 1.0)
        if arm != self.ask(context):
            self.late += 1  # its probability is not known any more
            return
        self.rounds += 1
        self._loss[arm] += (1 - gain) / self._probability[arm]
        least = min(self._loss)
        weight = [math.exp(self.rate * (least - loss)) for loss in self._loss]
        total = sum(weight)
        self._probability = [part / total for part in weight]

    def probabilities(self) -> list[float]:
        """Return the probability of each arm in the next round."""
        return list(self._probability)
