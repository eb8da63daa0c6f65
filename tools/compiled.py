"""Compile what tests call, by all processors at once: the last step of setting up.

Every kind of compiled function is called once and kept on disk, so that the tests that come first
need not wait for it. What was compiled before is only read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import lumpable as lb
from lumpable.comparisons import roster
from lumpable.learners import catalogue
from lumpable.testing import check_learner
from lumpable.worlds.scene import Scene

ROUNDS = 100
"""Enough for every learner to have fitted what it fits."""
SERVICE = "what a service needs"


def learner(name: str) -> None:
    """Compile a learner of the catalogue, by holding it to the contract."""

    def make(contexts: int, arms: int, seed: int) -> lb.learners.Learner:
        world = lb.worlds.lumpable(contexts, arms, min(3, contexts), noise="bernoulli", seed=1)
        return roster.make(name, Scene(world), horizon=300, seed=seed)

    check_learner(make, rounds=ROUNDS)


def plans() -> None:
    """Compile the simulator, and the plans that search."""
    problem, world = lb.Problem(12, 5, 2), lb.worlds.lumpable(12, 5, 2, seed=1)
    lb.simulate(lb.pac.candidates(problem, epsilon=0.2, delta=0.1), world, seed=1)
    lb.simulate(lb.regret.candidates(problem), world, horizon=10_000, seed=1)


def part(name: str) -> str:
    """Compile one part, and return its name."""
    if name == SERVICE:
        subprocess.run([sys.executable, "-m", "lumpable", "warm"], check=True, capture_output=True)
    elif name == "plans":
        plans()
    else:
        learner(name)
    return name


def main() -> None:
    """Compile all parts, and say how far it is."""
    names = [SERVICE, "plans", *catalogue.names()]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        waiting = [pool.submit(part, name) for name in names]
        for done, future in enumerate(as_completed(waiting), 1):
            if done % 10 == 0 or done == len(names):
                print(f"compiled {done} of {len(names)}: {future.result()}", flush=True)
            else:
                future.result()


if __name__ == "__main__":
    main()
