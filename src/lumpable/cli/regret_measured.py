"""What the plans for regret really lost: a small table that ships with the package.

`python -m lumpable.cli.regret_measured` makes it anew: every plan of `methods.REGRET`, at a few
sizes and horizons, in worlds of several kinds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import click
import msgspec

from lumpable.plans import methods
from lumpable.plans.making import Algorithm
from lumpable.plans.problem import Problem
from lumpable.runs.bulk import simulate
from lumpable.worlds import hidden_arms, lumpable
from lumpable.worlds.world import World

FILE = "regret-measured.json"
SIZES = ((30, 20, 3), (200, 200, 2), (1000, 100, 5))
HORIZONS = (10**10, 10**13, 10**16)
UNITS = {"hidden, 40": 40, "hidden, 640": 640}
"""Hidden arms (`worlds.hidden_arms`) with gaps of so many units."""
WORLDS = ("random means", *UNITS)
"""Uniform means on [0, 1], or hidden arms; equal groups, uniform contexts, normal noise of sd 1."""
SEEDS = (1, 2, 3)
"""Worlds; a plan runs in each with the next seed."""


class Measured(msgspec.Struct, frozen=True):
    """What a plan lost at a size, up to a horizon, in worlds of a kind: one number a seed."""

    name: str
    contexts: int
    arms: int
    groups: int
    horizon: int
    world: str
    regret: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The average over the seeds."""
        return sum(self.regret) / len(self.regret)


def measured() -> tuple[Measured, ...]:
    """Read the table."""
    said = resources.files("lumpable.cli").joinpath(FILE).read_bytes()
    return msgspec.json.decode(said, type=tuple[Measured, ...])


def measured_at(problem: Problem, horizon: int) -> tuple[Measured, ...]:
    """Return what was measured at just this size and horizon: often nothing."""
    at = (*problem.letters, horizon)
    return tuple(
        row for row in measured() if (row.contexts, row.arms, row.groups, row.horizon) == at
    )


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
    return hidden_arms(S, K, r, rounds=horizon, units=UNITS[kind], seed=seed)


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
    Path(__file__).with_name(FILE).write_bytes(b"[\n" + lines + b"\n]\n")


if __name__ == "__main__":
    main()
