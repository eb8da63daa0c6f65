"""Rows of the speed table for the regret half: whole runs, cost in T, a session's file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import lumpable as lb
from lumpable.plans.plan import Collect
from lumpable.runs.answers import answer

Row = tuple[str, str, str]
PROBLEM = lb.Problem(1000, 100, 5)
REQUESTS = 50


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def run_rows() -> list[Row]:
    """Algorithm 6 with printed constants to T = 1e16, where all is decided."""
    world = lb.worlds.lumpable(1000, 100, 5, seed=1)
    runs: list[lb.Run] = []
    took = seconds(
        lambda: runs.append(
            lb.simulate(lb.regret.any_groups(PROBLEM), world, horizon=10**16, seed=2)
        )
    )
    good = runs[0].turns[-1].belief.good
    assert good is not None
    found = f"{len(good)} clusters, {good.sum(axis=1).mean():.1f} of 100 arms left"
    name = f"Algorithm 6 at (1000, 100, 5), 1e16 rounds, {len(runs[0].requests)} requests: {found}"
    return [(name, f"{took:.1f} s", "< 15 s")]


def flat_rows() -> list[Row]:
    """The same number of requests with a thousand times as many rounds in each."""
    world = lb.worlds.lumpable(1000, 100, 5, seed=1)
    few, many = (replace(lb.PAPER, levels=factor * lb.PAPER.levels) for factor in (1.0, 1000.0))

    def run(constants: lb.Constants) -> Callable[[], object]:
        phases = range(1, 14)
        sizes = [lb.lengths.any_groups_phase(PROBLEM, h, constants) for h in phases]
        horizon = sum(size.explore(n) for size in sizes for n in range(1, size.h + 1))
        plan = lb.regret.any_groups
        return lambda: lb.simulate(
            plan(PROBLEM, constants=constants), world, horizon=horizon, seed=2
        )

    times: dict[str, list[float]] = {"few": [], "many": []}
    for _ in range(5):
        times["few"].append(seconds(run(few)))
        times["many"].append(seconds(run(many)))
    ratio = float(np.median(times["many"]) / np.median(times["few"]))
    name = "the same 91 requests with 1000 times as many rounds, as a ratio"
    return [(name, f"{ratio:.2f} x", "flat")]


def session_rows() -> list[Row]:
    """A session's file at (1000, 1000) after 50 requests of Algorithm 6, and opening it."""
    world = lb.worlds.lumpable(1000, 1000, 5, seed=1)
    session = lb.Session(lb.regret.any_groups(lb.Problem(1000, 1000, 5)), seed=1)
    player = session._player
    for k in range(REQUESTS):  # answered in bulk: 50 requests are 1e11 rounds
        request = player.progress.request
        assert isinstance(request, Collect)
        player.answer(answer(request, world, np.random.default_rng(k)).sample)
    player.open()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.lump"
        session.save(path)
        size = path.stat().st_size
        opened = seconds(lambda: lb.Session.load(path))
    name = f"a session's file at (1000, 1000) after {REQUESTS} requests"
    each = f"{size / 2**20:.0f} MiB, {size / REQUESTS / 1e6:.1f} MB a request"
    return [(name, each, "stated"), ("opening it", f"{opened:.1f} s", "< 10 s")]


def rows() -> list[Row]:
    """Return all rows of the regret half."""
    return [*run_rows(), *flat_rows(), *session_rows()]
