"""What the plans for regret really lost: makes the table that `lumpable budget --horizon` shows.

    python benchmarks/budget_table.py

Every plan of `methods.REGRET`, at a few sizes and horizons, in worlds of several kinds. Writes
src/lumpable/cli/regret-measured.json.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from lumpable.cli import regret_measured
from lumpable.cli.regret_measured import HORIZONS, SIZES, WORLDS, Measured
from lumpable.plans import methods
from lumpable.plans.making import Algorithm
from lumpable.plans.problem import Problem
from lumpable.runs.bulk import simulate
from lumpable.worlds import hidden_arms, lumpable
from lumpable.worlds.world import World

SEEDS = (1, 2, 3)
"""Worlds; a plan runs in each with the next seed."""


def measure(make: Algorithm[...], problem: Problem, horizon: int, world: str) -> Measured:
    """Let a plan play in a world of each seed."""
    given = {"horizon": horizon} if "horizon" in make.about.takes else {}
    lost = tuple(
        simulate(
            make(problem, **given),
            _world(world, problem, horizon, seed),
            horizon=horizon,
            seed=seed + 1,
        )
        for seed in SEEDS
    )
    regret = tuple(float(f"{run.regret:.4g}") for run in lost)
    return Measured(make.about.name, *problem.letters, horizon, world, regret)


def _world(kind: str, problem: Problem, horizon: int, seed: int) -> World:
    S, K, r = problem.letters
    if kind == "random means":
        return lumpable(S, K, r, seed=seed)
    units = int(kind.removeprefix("hidden, "))
    return hidden_arms(S, K, r, rounds=horizon, units=units, seed=seed)


def everything() -> Iterator[Measured]:
    """Measure every cell of the table."""
    for size in SIZES:
        for horizon in HORIZONS:
            for world in WORLDS:
                for make in methods.REGRET:
                    yield measure(make, Problem(*size), horizon, world)


def main() -> None:
    """Make the table anew."""
    rows, start = [], time.monotonic()
    for row in everything():
        rows.append(row)
        click.echo(f"{time.monotonic() - start:5.0f} s {row}", err=True)
    lines = b",\n".join(msgspec.json.encode(row) for row in rows)
    table = Path(regret_measured.__file__).with_name(regret_measured.FILE)
    table.write_bytes(b"[\n" + lines + b"\n]\n")


if __name__ == "__main__":
    main()
