"""Speed as ratios, in one run, in one table: against what one would use instead, and the floor.

    python benchmarks/speed.py

Times are medians of interleaved repetitions. The round-by-round loop is timed on 2e7 rounds and its
cost per round taken to longer requests, since it is the same for every round.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
from numba import njit
from regret_rows import rows as regret_rows
from rich.console import Console
from rich.table import Table

import lumpable as lb
from lumpable.runs.answers import answer

SIZE = 1000
LOOP_ROUNDS = 2 * 10**7
Row = tuple[str, str, str]


# --- What one would use instead, and the floor ------------------------------------------------


@njit(cache=True)
def play_rounds(rng, rounds, repeats, mean, sd, psi, count, sums, plays, totals):  # type: ignore[no-untyped-def]
    """Algorithm 2 round by round, compiled: all contexts alike often, every arm asked for."""
    contexts, arms = mean.shape
    for _ in range(rounds):
        i = int(rng.random() * contexts)
        j = psi[i]
        sums[i] += mean[i, j] + sd * rng.standard_normal()
        count[i] += 1
        if count[i] == repeats:
            plays[i, j] += 1
            totals[i, j] += sums[i]
            sums[i], count[i] = 0.0, 0
            psi[i] = int(rng.random() * arms)


@njit(cache=True)
def touch_cells(rng, plays, mean):  # type: ignore[no-untyped-def]
    """The floor: one uniform, one normal and two stores for each cell."""
    for i in range(plays.shape[0]):
        for j in range(plays.shape[1]):
            plays[i, j] = int(rng.random() * 1000.0)
            mean[i, j] = rng.standard_normal()


# --- Timing -----------------------------------------------------------------------------------


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def medians(actions: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """Time several actions in turn, so that a slow moment of the machine hits all of them."""
    for action in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repetitions):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return {name: statistics.median(values) for name, values in times.items()}


def in_a_new_process(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


# --- The rows ---------------------------------------------------------------------------------


def bulk_rows() -> list[Row]:
    """Bulk simulation of one request at (1000, 1000), repeats 2."""
    rng = np.random.default_rng(1)
    world = lb.worlds.lumpable(SIZE, SIZE, 10, seed=1)
    cells = (np.zeros((SIZE, SIZE), dtype=np.int64), np.zeros((SIZE, SIZE)))
    state = (rng.integers(SIZE, size=SIZE), np.zeros(SIZE, dtype=np.int64), np.zeros(SIZE))
    everything = np.ones((SIZE, SIZE), dtype=bool)

    def bulk(rounds: int) -> Callable[[], object]:
        request = lb.Collect(rounds, 2, everything)
        return lambda: answer(request, world, np.random.default_rng(2))

    at = medians(
        {
            "loop": lambda: play_rounds(rng, LOOP_ROUNDS, 2, world.mean, 1.0, *state, *cells),
            "1e9": bulk(10**9),
            "1e12": bulk(10**12),
            "floor": lambda: touch_cells(rng, *cells),
        },
        repetitions=7,
    )
    a_round = at["loop"] / LOOP_ROUNDS
    return [
        (
            "bulk against compiled loop, 1e9 rounds",
            f"{a_round * 1e9 / at['1e9']:,.0f} x ({at['1e9'] * 1e3:.0f} ms)",
            ">= 400 x",
        ),
        (
            "bulk against compiled loop, 1e12 rounds",
            f"{a_round * 1e12 / at['1e12']:,.0f} x ({at['1e12'] * 1e3:.0f} ms)",
            ">= 100,000 x",
        ),
        ("1e12 rounds against 1e9", f"{at['1e12'] / at['1e9']:.2f} x", "<= 1.5 x"),
        ("bulk against the floor, 1e9 rounds", f"{at['1e9'] / at['floor']:.1f} x", "<= 8 x, aim 3"),
        (
            "bulk against the floor, 1e12 rounds",
            f"{at['1e12'] / at['floor']:.1f} x",
            "<= 8 x, aim 3",
        ),
        ("the floor", f"{at['floor'] * 1e9 / SIZE**2:.1f} ns a cell", ""),
        ("the compiled loop", f"{a_round * 1e9:.0f} ns a round", ""),
    ]


def whole_run_rows() -> list[Row]:
    """Algorithm 3 with the paper's constants at (1000, 1000, 10), epsilon 0.05."""
    rows = []
    for frequency in ("uniform", "zipf"):
        world = lb.worlds.lumpable(SIZE, SIZE, 10, frequency=frequency, seed=1)
        problem = lb.Problem(SIZE, SIZE, 10)
        plan = lb.pac.any_contexts(problem, epsilon=0.05, delta=0.05)
        rounds = 0

        def run(plan: lb.Plan = plan, world: lb.World = world) -> None:
            nonlocal rounds
            rounds = lb.simulate(plan, world, seed=1).rounds

        took = seconds(run)
        rows.append((f"Algorithm 3, {frequency}, {rounds:.1e} rounds", f"{took:.1f} s", "< 5 s"))
    return rows


def memory_rows() -> list[Row]:
    """Peak memory of a whole run at (10000, 1000), in a process of its own."""
    code = """
import resource, lumpable as lb
world = lb.worlds.lumpable(10_000, 1_000, 10, seed=1)
plan = lb.pac.any_contexts(lb.Problem(10_000, 1_000, 10), epsilon=0.05, delta=0.05)
run = lb.simulate(plan, world, seed=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, run.rounds)
"""
    peak, rounds = in_a_new_process(code).split()
    name = f"Algorithm 3 at (10000, 1000), {int(rounds):.1e} rounds"
    return [(name, f"{float(peak):.2f} GiB at most", "< 2 GB")]


def live_rows() -> list[Row]:
    """Ask and tell at (1000, 100) in plain Python, against two empty calls."""
    rounds = 400_000
    rng = np.random.default_rng(3)
    contexts: list[int] = rng.integers(SIZE, size=rounds).tolist()
    rewards: list[float] = rng.normal(size=rounds).tolist()
    problem = lb.Problem(SIZE, 100, 5)

    def live() -> None:
        session = lb.Session(lb.pac.any_contexts(problem, epsilon=0.1, delta=0.05), seed=1)
        ask, tell = session.ask, session.tell
        for context, reward in zip(contexts, rewards, strict=True):
            tell(context, ask(context), reward)

    class Empty:
        def ask(self, context: int) -> int:
            return 0

        def tell(self, context: int, arm: int, reward: float) -> None:
            return None

    def empty() -> None:
        nothing = Empty()
        ask, tell = nothing.ask, nothing.tell
        for context, reward in zip(contexts, rewards, strict=True):
            tell(context, ask(context), reward)

    at = medians({"live": live, "empty": empty}, repetitions=5)
    return [
        ("live session, ask and tell", f"{rounds / at['live']:,.0f} rounds/s", ">= 500,000"),
        ("two empty calls, as a share of that", f"{at['empty'] / at['live']:.0%}", ""),
    ]


def import_rows() -> list[Row]:
    """Import time against numpy's, each in a new process."""
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    times: dict[str, list[float]] = {"numpy": [], "lumpable": []}
    for _ in range(11):
        for module, values in times.items():
            values.append(float(in_a_new_process(code.format(module))))
    numpy, own = (statistics.median(values) for values in times.values())
    heavy = "numba narwhals click rich altair pyarrow scipy"
    check = f"import sys, lumpable; print([m for m in '{heavy}'.split() if m in sys.modules])"
    loaded = in_a_new_process(check)
    return [
        ("import lumpable against import numpy", f"{own / numpy:.1f} x", "<= 2.5 x"),
        ("heavy modules imported with it", loaded, "none"),
    ]


PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "speed.md"
HEAD = """\
# Speed

Made by `python benchmarks/speed.py` (`make bench`) in one run. Each time is compared with the
obvious alternative, and with a floor that no implementation can beat by much:

- Simulation in bulk, with a compiled loop over rounds. Its floor is one uniform, one normal and two
  stores per cell.
- A live session, with two empty Python calls.
- The import, with numpy's own.

The rows on bulk simulation are one request at (1000, 1000) with 2 repeats. The loop is too slow to
run for 10^9 or 10^12 rounds, so its time per round is multiplied up.

Bulk simulation needs a little more than the floor: dealing plays to arms takes another normal and
another uniform, and every cell takes two square roots and a division.

"""


def main() -> None:
    parts: list[Callable[[], list[Row]]] = [
        bulk_rows,
        whole_run_rows,
        memory_rows,
        live_rows,
        regret_rows,
        import_rows,
    ]
    rows = [row for part in parts for row in part()]
    table = Table("measure", "here", "bar", title="lumpable, speed")
    for row in rows:
        table.add_row(*row)
    Console(width=100).print(table)
    lines = [f"| {measure} | {here} | {bar} |" for measure, here, bar in rows]
    versions = (
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    )
    PAGE.write_text(
        HEAD
        + "\n".join(["| measure | here | bar |", "| --- | --- | --- |", *lines])
        + f"\n\n{os.cpu_count()} cores, {versions}.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
