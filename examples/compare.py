"""Learners against each other, one of your own among them: the same worlds and luck for all."""

import numpy as np

import lumpable as lb


class Greedy:
    """Plays what was best so far, and one time in ten anything."""

    def __init__(self, contexts: int, arms: int, *, seed: int = 0) -> None:
        self.plays, self.sums = np.zeros((2, contexts, arms))
        self.seed, self.tells = seed, 0

    def ask(self, context: int) -> int:
        """Return the arm to play; the same until something is told."""
        rng = np.random.default_rng([self.seed, self.tells])
        if rng.random() < 0.1:
            return int(rng.integers(len(self.plays[context])))
        return int(np.argmax(self.sums[context] / np.maximum(self.plays[context], 1)))

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Learn from a reward."""
        self.plays[context, arm] += 1
        self.sums[context, arm] += reward
        self.tells += 1


world = {"kind": "lumpable", "contexts": 20, "arms": 5, "groups": 3, "noise": "bernoulli"}
found = lb.compare(
    {"greedy": Greedy, "UCB1": "ucb", "UCB1, narrow": {"name": "ucb", "width": 0.1}},
    {"calm": world, "late": {**world, "delay": 50}},
    pulls=50,
    seeds=5,
    jobs=1,  # by default as many processes as there are cores
)
print(found)
last = [row for row in found.rows() if row.round == row.horizon]
for place in ("calm", "late"):
    for name in ("greedy", "UCB1", "UCB1, narrow"):
        own = [row.regret for row in last if (row.world, row.learner) == (place, name)]
        regret = np.array(own, dtype=float).mean()
        print(f"  {place:5} {name:13} regret {regret:6.1f}")
