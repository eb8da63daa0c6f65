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
from collections.abc import Callable
from pathlib import Path

import lumpable as lb
from lumpable.play import play

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
        found.setdefault("hand", []).append(by_hand(300_000))
        for name in PEERS:
            found.setdefault(name, []).append(peer(name))
    at = {name: statistics.median(values) for name, values in found.items()}
    fastest = max(PEERS, key=lambda name: at[name])
    return [
        ("UCB1 per context, whole rounds", f"{at['ucb']:,.0f} /s", ">= 4,000,000"),
        ("Gaussian Thompson, whole rounds", f"{at['thompson']:,.0f} /s", ">= 700,000"),
        (
            f"UCB1 against the fastest other library ({fastest})",
            f"{at['ucb'] / at[fastest]:,.0f} x",
            ">= 50 x",
        ),
        *((f"{name}, whole rounds", f"{at[name]:,.0f} /s", "") for name in PEERS),
        ("UCB1, ask and tell from Python", f"{at['hand']:,.0f} /s", ">= 400,000"),
    ]


def growth_rows() -> list[Row]:
    """How the time of a round and the memory grow with K and with S."""
    rows: list[Row] = []
    for make, name, sizes in ((ucb, "UCB1", (50, 800)), (thompson, "Thompson", (50, 800))):
        few, many = sizes
        ratio = rounds_a_second(make, 100, few, 10**6) / rounds_a_second(make, 100, many, 10**6)
        rows.append((f"{name}: a round at K = {many} against {few}", f"{ratio:.1f} x", "<= 16 x"))
    small, large = ucb(_world(100, 50)), ucb(_world(1000, 500))
    ratio = large.nbytes / small.nbytes  # type: ignore[attr-defined]
    rows.append(("UCB1: bytes at (1000, 500) against (100, 50)", f"{ratio:.0f} x", "<= 100 x"))
    return rows


def _world(contexts: int, arms: int) -> lb.World:
    return lb.worlds.lumpable(contexts, arms, 5, noise="bernoulli", seed=1)


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


def rows() -> list[Row]:
    return [*speed_rows(), *growth_rows(), *start_rows()]


if __name__ == "__main__":
    for row in rows():
        print(" | ".join(row))
