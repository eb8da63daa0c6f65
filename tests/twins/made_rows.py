"""Rows of a comparison, made up: every learner loses about c √(t) with luck shared by seed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lumpable.learners.catalogue import CATALOGUE
from lumpable.runs.playing import checkpoints

KNOWS = {
    "mucb": "group_means", "mts": "group_means", "oracle-groups": "group", "mixture": "groups",
    "dynucb": "groups", "kmeans": "groups", "maillard-mannor-known": "group_means",
}  # fmt: skip
WITH_GROUPS = {"club", "sclub", "cofiba", "dynucb", "kmeans", "mixture", "maillard-mannor", "nucb"}
TITLES = {name: entry.title for name, entry in CATALOGUE.items()}
WRONG = "LinAlgError: Eigenvalues did not converge"
TRACE = (
    'Traceback (most recent call last):\n  File "lattice.py", line 81, in refit\n'
    f"    values = np.linalg.eigh(gram)\nnumpy.linalg.{WRONG}\nafter 30 sweeps"
)


def rows(
    names: Sequence[str], worlds: int, seeds: int, horizon: int = 40_000, holes: bool = True
) -> list[dict[str, Any]]:
    """Return rows; with holes, some cells were not run and some failed."""
    found: list[dict[str, Any]] = []
    for w in range(worlds):
        S, K, r = 200 * (w + 1), 50, 3 + w % 4
        for name in names:
            label = TITLES.get(name, name)
            base = {
                "learner": label,
                "parameters": "{}",
                "knows": KNOWS.get(name, ""),
                "world": f"{S} contexts, {K} arms, {r} groups",
                "setting": f'{{"groups": {r}, "kind": "lumpable", "seed": {w}}}',
                "contexts": S,
                "arms": K,
                "groups": r,
                "horizon": horizon,
                "version": "0.2.0",
            }
            for seed in range(seeds):
                cell = {**base, "seed": seed}
                if holes and name == "suplinrel" and w % 2:
                    why = f"suplinrel: at most 20,000 cells, got {S * K:,}"
                    found.append(undone(cell, "not run", why))
                elif holes and name == "lattice" and (w == 0 or seed == 1):
                    who = f"{label} in {cell['world']}, seed {seed}"
                    found.append(undone(cell, "failed", f"{who}: {WRONG}\n{TRACE}"))
                else:
                    found += curve(cell, name, w, seed, horizon)
    return found


def undone(cell: dict[str, Any], status: str, reason: str) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("regret", "reward", "simple_regret", "worse_off", "clusters", "ari", "seconds", "bytes")
    )
    return {**cell, "round": 0, **nothing, "status": status, "reason": reason}


def curve(
    cell: dict[str, Any], name: str, world: int, seed: int, horizon: int
) -> list[dict[str, Any]]:
    own = np.random.default_rng(zlib.crc32(f"{name} {world}".encode()))
    shared = np.random.default_rng([world, seed])
    luck = 1 + 0.05 * shared.standard_normal() + 0.02 * np.random.default_rng(
        zlib.crc32(f"{name} {world} {seed}".encode())
    ).standard_normal()  # fmt: skip
    skill = np.random.default_rng(zlib.crc32(name.encode())).uniform(0.02, 0.3)
    skill *= own.uniform(0.8, 1.3) * (0.5 if name in KNOWS else 1.0)
    cost = 10 ** own.uniform(-6.5, -3.5)
    made = []
    for t in checkpoints(horizon):
        regret = luck * min(0.35 * t, skill * 30 * np.sqrt(t) * np.log1p(t) / 10)
        progress = np.log10(t) / np.log10(horizon)
        groups = cell["groups"] + round((1 - progress) * 40 * skill / 0.1)
        clustered = name in WITH_GROUPS
        made.append(
            {
                **cell,
                "round": t,
                "regret": regret,
                "reward": 0.8 * t - regret,
                "simple_regret": 0.35 * (1 - progress * (1 - skill)) * luck,
                "worse_off": max(0.0, 0.4 * (1 - progress)) * luck,
                "clusters": groups if clustered else None,
                "ari": min(1.0, progress**3 * luck) if clustered else None,
                "seconds": cost * t,
                "bytes": 16 * cell["contexts"] * cell["arms"],
                "status": "done",
                "reason": "",
            }
        )
    return made
