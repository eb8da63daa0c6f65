"""One job in a peer library: whole simulated rounds of UCB1 per context, so many a second.

Run by learner_speed.py with the Python of an environment in which only that library is installed.
Contexts, arms, rewards and the order of calls are the same for all; each library is used as its
documentation shows. Every arm is played once beforehand, in the few contexts that come (a favour to
the slow: the time of a round does not depend on how many contexts there are). Vowpal Wabbit has no
UCB1 per context, so it runs its own SquareCB on user ids; coba's UCB is UCB1-Tuned.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

CONTEXTS, ARMS = 20, 100
Choose = Callable[[int], int]
Update = Callable[[int, int, float], None]


def river() -> tuple[Choose, Update]:
    """A policy for each context."""
    from river import bandit  # type: ignore[import-not-found]

    policies = [bandit.UCB(delta=1, seed=i) for i in range(CONTEXTS)]
    arms = list(range(ARMS))
    return (lambda i: policies[i].pull(arms)), (lambda i, j, y: policies[i].update(j, y))


def smpybandits() -> tuple[Choose, Update]:
    """A policy for each context."""
    from SMPyBandits.Policies import UCB  # type: ignore[import-not-found]

    policies = [UCB(ARMS) for _ in range(CONTEXTS)]
    for policy in policies:
        policy.startGame()
    return (lambda i: int(policies[i].choice())), (lambda i, j, y: policies[i].getReward(j, y))


def mabwiser() -> tuple[Choose, Update]:
    """A bandit for each context; each must first be fitted on something."""
    from mabwiser.mab import MAB, LearningPolicy  # type: ignore[import-not-found]

    arms = list(range(ARMS))
    bandits = [MAB(arms, LearningPolicy.UCB1(alpha=1.0), seed=i) for i in range(CONTEXTS)]
    for mab in bandits:
        mab.fit(decisions=[0], rewards=[0.5])
    return (lambda i: bandits[i].predict()), (lambda i, j, y: bandits[i].partial_fit([j], [y]))


def coba() -> tuple[Choose, Update]:
    """A learner for each context."""
    from coba.learners import BanditUCBLearner  # type: ignore[import-not-found]

    learners = [BanditUCBLearner(seed=i) for i in range(CONTEXTS)]
    arms = list(range(ARMS))
    return (
        lambda i: learners[i].predict(None, arms)[0],
        lambda i, j, y: learners[i].learn(None, j, y, 1.0),
    )


def vowpalwabbit() -> tuple[Choose, Update]:
    """One workspace for all, the context as a feature."""
    from vowpalwabbit import Workspace

    vw = Workspace(f"--cb_explore {ARMS} --squarecb --quiet -b 18")
    last: dict[int, float] = {}

    def choose(i: int) -> int:
        pmf = vw.predict(f"| u{i}")
        j = random.choices(range(ARMS), weights=pmf)[0]
        last[i] = pmf[j]
        return j

    def update(i: int, j: int, y: float) -> None:
        vw.learn(f"{j + 1}:{1 - y}:{last.get(i, 1 / ARMS)} | u{i}")

    return choose, update


def main(name: str, budget: float) -> None:
    random.seed(1)
    mean = [[random.random() for _ in range(ARMS)] for _ in range(CONTEXTS)]
    choose, update = globals()[name]()
    for i in range(CONTEXTS):
        for j in range(ARMS):
            update(i, j, float(random.random() < mean[i][j]))
    rounds, started = 0, time.perf_counter()
    while time.perf_counter() - started < budget:
        for _ in range(50):
            i = int(random.random() * CONTEXTS)
            j = choose(i)
            update(i, j, float(random.random() < mean[i][j]))
        rounds += 50
    print(rounds / (time.perf_counter() - started))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
