"""Speed of learners: whole simulated rounds, ask and tell, growth, and other libraries.

    python benchmarks/learner_speed.py

A whole round is: a context drawn, an arm chosen (ties at random), a reward drawn, the learner told.
The tape of contexts and rewards is part of it. Each other library runs the same job in an
environment of its own, which is made in .bench the first time. Times are medians of repetitions.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numba import njit

import lumpable as lb
from lumpable.comparisons import roster
from lumpable.runs.playing import play
from lumpable.worlds.scene import CHUNK, Scene, Tape

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".bench"
PEERS = {
    "river": ["river"],
    "SMPyBandits": ["SMPyBandits", "numba", "tqdm", "numpy<2", "scipy<1.14", "pandas<3"],
    "coba": ["coba"],
    "mabwiser": ["mabwiser"],
    "vowpalwabbit": ["vowpalwabbit"],
}
"""What is installed for each: SMPyBandits needs older companions than it says."""
CONTEXTS, ARMS = 1000, 100
Row = tuple[str, str, str]


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peer(name: str) -> float:
    """Rounds a second of another library; the environment is made the first time."""
    python = FOLDER / name / "bin" / "python"
    if not python.exists():
        venv.create(FOLDER / name, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[name]], check=True)
    script = str(ROOT / "benchmarks" / "peer_job.py")
    job = [str(python), "-W", "ignore", script, name.lower(), "4"]
    done = subprocess.run(job, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def rounds_a_second(
    make: Callable[[lb.World], lb.learners.Learner], contexts: int, arms: int, rounds: int
) -> float:
    """Whole rounds a second in the compiled loop."""
    world = lb.worlds.lumpable(contexts, arms, 5, noise="bernoulli", seed=1)
    learner = make(world)
    play(learner, world, horizon=rounds // 4, seed=1, at=[])
    return rounds / seconds(lambda: play(learner, world, horizon=rounds, seed=2, at=[]))


@njit(cache=True)
def one_pass(contexts, mean, root, scale):  # type: ignore[no-untyped-def]
    """For each context the largest of K sums: the least that an index of all arms can cost."""
    total = 0.0
    for i in contexts:
        top = 0.0
        for j in range(mean.shape[1]):
            top = max(top, mean[i, j] + scale * root[i, j])
        total += top
    return total


def floor(rounds: int) -> float:
    """Rounds a second of the tape and one pass over the arms."""
    world = _world(CONTEXTS, ARMS)
    tape, root = Tape(Scene(world), rounds, 1), np.ones((CONTEXTS, ARMS))
    one_pass(np.zeros(1, dtype=np.int64), world.mean, root, 0.5)

    def go() -> None:
        for k in range(-(-rounds // CHUNK)):
            one_pass(tape.chunk(k)[0], world.mean, root, 0.5)

    return rounds / seconds(go)


def _world(contexts: int, arms: int) -> lb.World:
    return lb.worlds.lumpable(contexts, arms, 5, noise="bernoulli", seed=1)


def ucb(world: lb.World) -> lb.learners.Learner:
    return lb.learners.UCB1(world.contexts, world.arms, seed=1)


def thompson(world: lb.World) -> lb.learners.Learner:
    return lb.learners.GaussianThompson(world.contexts, world.arms, seed=1)


def by_hand(rounds: int) -> float:
    """Rounds a second of ask and tell from Python, every input checked."""
    learner = lb.learners.UCB1(CONTEXTS, ARMS, seed=1)
    world = lb.worlds.lumpable(CONTEXTS, ARMS, 5, noise="bernoulli", seed=1)
    play(learner, world, horizon=10**6, seed=1, at=[])
    contexts = [(7919 * t) % CONTEXTS for t in range(rounds)]
    ask, tell = learner.ask, learner.tell

    def loop() -> None:
        for context in contexts:
            tell(context, ask(context), 1.0)

    return rounds / seconds(loop)


def speed_rows() -> list[Row]:
    """Ours and the others' in turn, so that a slow moment of the machine hits all of them."""
    found: dict[str, list[float]] = {}
    for _ in range(3):
        found.setdefault("ucb", []).append(rounds_a_second(ucb, CONTEXTS, ARMS, 4 * 10**6))
        found.setdefault("thompson", []).append(
            rounds_a_second(thompson, CONTEXTS, ARMS, 2 * 10**6)
        )
        found.setdefault("floor", []).append(floor(4 * 10**6))
        found.setdefault("hand", []).append(by_hand(300_000))
        for name in PEERS:
            found.setdefault(name, []).append(peer(name))
    at = {name: statistics.median(values) for name, values in found.items()}
    fastest = max(PEERS, key=lambda name: at[name])
    return [
        ("UCB1 per context, whole rounds", f"{at['ucb']:,.0f} /s", ">= 4,000,000"),
        ("UCB1 against the floor", f"{at['floor'] / at['ucb']:.1f} x", ""),
        ("Gaussian Thompson, whole rounds", f"{at['thompson']:,.0f} /s", ">= 700,000"),
        (
            f"UCB1 against the fastest other library ({fastest})",
            f"{at['ucb'] / at[fastest]:,.0f} x",
            ">= 50 x",
        ),
        *((f"{name}, whole rounds", f"{at[name]:,.0f} /s", "") for name in PEERS),
        ("UCB1, ask and tell from Python", f"{at['hand']:,.0f} /s", ">= 400,000"),
    ]


# --- Growth -------------------------------------------------------------------------------------

SMALL, MANY_ARMS, MANY_CONTEXTS = (60, 16), (60, 128), (480, 16)
GROWTH = 8
PULLS = 40
"""Rounds for each context of the smallest world."""


def growth_rows() -> list[tuple[str, ...]]:
    """Time of a round and memory of every learner, with eight times the arms or the contexts."""
    rows: list[tuple[str, ...]] = []
    for name in lb.learners.names():
        at = {size: measured(name, *size) for size in (SMALL, MANY_ARMS, MANY_CONTEXTS)}
        if not all(at.values()):
            rows.append((f"`{name}`", "not run at some of these sizes", "", "", ""))
            continue
        (time_, size), (by_arms, _), (by_contexts, large) = (at[s] or (0, 0) for s in at)
        rows.append(
            (
                f"`{name}`",
                f"{time_ * 1e6:.1f} us",
                f"{by_arms / time_:.1f} x",
                f"{by_contexts / time_:.1f} x",
                f"{large / size:.1f} x" if size else "",
            )
        )
    return rows


def measured(name: str, contexts: int, arms: int) -> tuple[float, int] | None:
    """Seconds a round, the median of three runs, and bytes; None if it is not run at this size."""
    scene = lb.Scene(lb.worlds.lumpable(contexts, arms, 4, noise="bernoulli", seed=1))
    horizon = PULLS * SMALL[0]
    times, size = [], 0
    for seed in range(3):
        try:
            learner = roster.make(name, scene, horizon=horizon, seed=seed)
        except lb.learners.Unfit:
            return None
        row = play(learner, scene, horizon=horizon, seed=seed, at=[]).rows()[-1]
        times.append(row.seconds / horizon)
        size = row.bytes or 0
    return statistics.median(times), size


# --- The page -----------------------------------------------------------------------------------


def start_rows() -> list[Row]:
    """A warm start: a new process until it plays."""
    code = (
        "import time; a = time.perf_counter(); import lumpable as lb;"
        "w = lb.worlds.lumpable(1000, 100, 5, noise='bernoulli', seed=1);"
        "lb.play(lb.learners.UCB1(1000, 100), w, horizon=10, seed=1);"
        "print(time.perf_counter() - a)"
    )
    times = []
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        times.append(float(done.stdout))
    return [("a new process until it plays, warm", f"{statistics.median(times):.2f} s", "< 2 s")]


PAGE = ROOT / "docs" / "measured" / "learner-speed.md"
HEAD = """\
# Speed of learners

Made by `python benchmarks/learner_speed.py` (part of `make bench`) in one run, with 1,000 contexts
and 100 arms. A whole round draws a context, chooses an arm (breaking ties at random), draws a
reward and tells the learner. The floor draws the same contexts and rewards, and makes one pass over
the K numbers of a context. Other libraries do the same job, each in an environment of its own
(`benchmarks/peer_job.py`).

The machine is shared, and other jobs on it move the figures. In runs on a single day the first one
lay between 2.5 and 4.9 million rounds a second, and the floor between 9 and 12 million.

"""
MIDDLE = """
## Growth

The time of a round and the memory of every learner at ({}, {}), and how both grow with {} times the
arms or the contexts, over {:,} rounds. In the third column, growth like K would be {} x. In the
last, growth like S K would be {} x. Refits are included in the time. Learners that compare all
pairs of contexts grow faster with the number of contexts, and say so.

"""


def table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    return (
        "\n".join(f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *lines)) + "\n"
    )


def main() -> None:
    first = table(("measure", "here", "bar"), [*speed_rows(), *start_rows()])
    print(first)
    head = ("learner", "a round", "time, arms x 8", "time, contexts x 8", "bytes, contexts x 8")
    second = table(head, growth_rows())
    print(second)
    middle = MIDDLE.format(*SMALL, GROWTH, PULLS * SMALL[0], GROWTH, GROWTH)
    PAGE.write_text(HEAD + first + middle + second, encoding="utf-8")


if __name__ == "__main__":
    main()
