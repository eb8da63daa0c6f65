"""How long a new process takes on a machine without compiled code, in processor time.

    python benchmarks/cold_start.py

Each row is a process of its own, without a cache on disk. Beside it stands the least that any such
process takes: to import numpy and numba, and to compile one function that adds 1. With `--parts`,
what each part takes to compile, and where the time goes inside of the compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict

import click

LEAST = "import numpy, numba\nnumba.njit(lambda x: x + 1.0)(1.0)"
BEGIN = "import lumpable as lb\nexperiment = lb.open(FILE, arms=['red', 'green'])\n"
DECIDE = "made = experiment.decide('ann')\n"
END = "import os; os._exit(0)"
REPORT = """
import resource
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(each.ru_utime + each.ru_stime for each in used), flush=True)
"""
WARM = "experiment.warm()\nexperiment.close()\n"
ROWS = {
    "least: import numpy and numba, compile x + 1": LEAST,
    "open, and the first decision": BEGIN + DECIDE,
    "... and its reward": BEGIN + DECIDE + "experiment.reward(made.event, 1.0)\n",
    "fully warm, with the process that fits": BEGIN + DECIDE + WARM,
}


def seconds(script: str, cache: str) -> float:
    """Return the processor time of a script and its children, run with this cache."""
    with tempfile.TemporaryDirectory() as folder:
        whole = f"FILE = {folder + '/cold.db'!r}\n" + script + REPORT + END
        done = subprocess.run(
            [sys.executable, "-c", whole], env=os.environ | {"NUMBA_CACHE_DIR": cache},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    return float(done.stdout)


def table() -> None:
    """Print each row, as seconds and as a multiple of the least."""
    print("| a new process, nothing compiled on disk | processor time | times the least |")
    print("| --- | --- | --- |")
    least = 0.0
    for name, script in ROWS.items():
        with tempfile.TemporaryDirectory() as cache:
            found = seconds(script, cache)
            least = least or found
            print(f"| {name} | {found:.1f} s | {found / least:.1f} |", flush=True)
            if script.endswith(WARM):
                again = seconds(script, cache)
                print(f"| the same, compiled on disk | {again:.1f} s | {again / least:.1f} |")


def parts() -> None:
    """Print what each part takes to compile, and the sum of each pass of the compiler."""
    import time

    from numba.core import event

    from lumpable.lumps.core.parts_compiled import of_fits, of_rounds

    class Passes(event.Listener):
        """Adds up the time of each pass, less that of passes inside it."""

        def __init__(self) -> None:
            self.spent: defaultdict[str, float] = defaultdict(float)
            self._open: list[list[float]] = []

        def on_start(self, event: event.Event) -> None:
            self._open.append([time.process_time(), 0.0])

        def on_end(self, event: event.Event) -> None:
            began, within = self._open.pop()
            took = time.process_time() - began
            self.spent[event.data["name"].partition(" [")[0]] += took - within
            if self._open:
                self._open[-1][1] += took

    passes = Passes()
    event.register("numba:run_pass", passes)  # type: ignore[no-untyped-call]
    print("| part | processor time |\n| --- | --- |")
    for part in [*of_rounds(), *of_fits()]:
        began = time.process_time()
        part.make()
        print(f"| {part.name} | {time.process_time() - began:.2f} s |", flush=True)
    print("\n| pass | processor time |\n| --- | --- |")
    longest = sorted(passes.spent.items(), key=lambda row: -row[1])
    for name, spent in longest[:6]:
        print(f"| {name.replace('_', ' ')} | {spent:.2f} s |")


@click.command()
@click.option("--parts", "by_parts", is_flag=True, help="Part by part, in this process.")
def main(by_parts: bool) -> None:
    """Measure."""
    if not by_parts:
        table()
    elif "NUMBA_CACHE_DIR" in os.environ:
        parts()
    else:  # numba reads it when it is imported
        with tempfile.TemporaryDirectory() as cache:
            subprocess.run([sys.executable, *sys.argv], env=os.environ | {"NUMBA_CACHE_DIR": cache})


if __name__ == "__main__":
    main()
