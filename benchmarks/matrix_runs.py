"""One run of `matrices.py`: a world drawn from a matrix, or made, in which ours and peers play.

The matrices are the user's: a folder of families, each a folder of files. Everybody meets the same
contexts and the same luck.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from protocol import peers
from protocol.peers import Peer

import lumpable as lb
from lumpable.base.arrays import FloatMatrix
from lumpable.base.errors import BadArgument
from lumpable.comparisons.cell import GIVEN, Cell, LearnerSpec, WorldSpec, run_cell
from lumpable.worlds.laws import Bernoulli, Gaussian, Law
from lumpable.worlds.scene import Scene
from lumpable.worlds.tabular import SUFFIXES

COINS, REAL = "0/1", "real"
LAWS: dict[str, Law] = {COINS: Bernoulli(), REAL: Gaussian(0.3)}
"""How rewards are drawn around the means."""
MADE: dict[str, Callable[..., lb.World]] = {
    "levels": lb.worlds.with_levels,
    "levels, 4 groups": functools.partial(lb.worlds.with_levels, groups=4),
    "two-point": lb.worlds.two_point,
    "two-point, levels": functools.partial(lb.worlds.two_point, levels=True),
    "blocs": functools.partial(lb.worlds.blocs, groups=4),
}
"""Worlds of people that need no matrix."""
SETTINGS: dict[str, tuple[str, Sequence[float | None]]] = {
    "shrinkage": ("spread", (1.0, 0.4, 0.25, 0.15)),
    "bmf": ("spread", (1.0, 0.4)),
    "factor-bayes": ("spread", (0.4, 0.25)),
    "thompson-one": ("spread", (0.4,)),
    "squarecb": ("gamma", (None,)),
    "maillard-mannor": ("width", (None,)),
    "club": ("alpha", (None,)),
}
"""Peers, and the settings at which they play."""
SHORT: dict[str, tuple[str, Sequence[float]]] = {"ids-mixture": ("spread", (0.4,))}
SHORT_PULLS = 60
"""Peers of short runs. At (100, 30) it takes twice the time of the slowest of the others there, and
up to seven times in runs of 300 rounds for each context."""
ALONE = {COINS: "beta-thompson", REAL: "thompson"}
"""The peer that shares nothing: Beta laws need rewards in [0, 1]."""
ALONE_SPREAD = 0.15
OURS: str = peers.TESTED["label"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A matrix, or a kind of made world, and how it is played."""

    family: str
    name: str
    noise: str
    size: tuple[int, int]
    """Contexts and arms at most."""
    marks: tuple[int, ...]
    """Rounds for each context at which it is judged; it ends at the last."""
    path: str = ""
    """Empty for a made world."""
    digest: str = ""
    """Of the file."""

    @property
    def label(self) -> str:
        """What it is called, unlike any other."""
        size = " x ".join(map(str, self.size))
        return f"{self.family}/{self.name}, {self.noise}, {size}, {self.marks}"

    def world(self, seed: int) -> lb.World:
        """Draw its world."""
        if not self.path:
            return MADE[self.name](*self.size, noise=LAWS[self.noise], seed=seed)
        mean = read(self.path)
        rng = np.random.default_rng([seed, 8])
        rows, columns = (
            np.sort(rng.choice(many, min(many, most), replace=False))
            for many, most in zip(mean.shape, self.size, strict=True)
        )
        return lb.worlds.from_matrix(mean[np.ix_(rows, columns)], noise=LAWS[self.noise])


@functools.lru_cache(4)
def read(path: str) -> FloatMatrix:
    """Return the means that a file holds."""
    return lb.worlds.read(path).mean


def families(
    folder: Path, size: tuple[int, int], marks: tuple[int, ...], most: int | None = None
) -> list[Problem]:
    """Return a problem for each matrix of each family and both kinds of rewards.

    Matrices that cannot be played are refused now, not after an hour.
    """
    found = []
    for family in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(path for path in family.iterdir() if path.suffix in SUFFIXES)
        for file in files[:most]:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            where = str(file.absolute())
            found += [
                Problem(family.name, file.name, noise, size, marks, where, digest) for noise in LAWS
            ]
            _check(file)
    if not found:
        expected = "sub-folders of matrices, as csv, parquet, npz or npy files"
        raise BadArgument("FOLDER", expected, f"none in {str(folder)!r}")
    return found


def _check(file: Path) -> None:
    try:
        mean = read(str(file.absolute()))
        lb.worlds.from_matrix(mean, noise="bernoulli")
    except ValueError as error:
        raise BadArgument("FOLDER", why=f"{file.parent.name}/{file.name}: {error}") from None
    if (mean == mean[:, :1]).all():
        why = f"{file.parent.name}/{file.name}: expected arms that differ, got equal ones"
        raise BadArgument("FOLDER", why=why)


def made(size: tuple[int, int], marks: tuple[int, ...]) -> list[Problem]:
    """Return a problem for each made world and both kinds of rewards."""
    return [Problem("made", name, noise, size, marks) for name in MADE for noise in LAWS]


def learners(problem: Problem) -> list[Peer]:
    """Return ours and all peers at all settings."""
    listed = [*SETTINGS.items(), (ALONE[problem.noise], ("spread", (ALONE_SPREAD,)))]
    listed += SHORT.items() if max(problem.marks) <= SHORT_PULLS else ()
    return [
        peers.TESTED,
        *(peer for name, given in listed for peer in peers.settings(name, *given)),
    ]


@dataclass(frozen=True, slots=True)
class Play:
    """A problem with a seed."""

    problem: Problem
    seed: int

    @property
    def key(self) -> str:
        """What identifies it: the same key is not played again."""
        return f"{self.problem.label}, {self.problem.digest}, {self.seed}"


def played(play: Play) -> dict[str, Any]:
    """Let everybody play; return regrets at the marks, and who failed, ready for JSON."""
    problem, world = play.problem, play.problem.world(play.seed)
    spec = WorldSpec(problem.label, GIVEN, scene=Scene(world), at=problem.marks)
    horizon = world.contexts * max(problem.marks)
    regret, failed = {}, {}
    for learner in learners(problem):
        given = {key: x for key, x in learner.items() if key not in ("name", "label")}
        who = LearnerSpec(learner["label"], learner["name"], given)
        rows = run_cell(Cell(who, spec, horizon, play.seed))
        at = {row.round // world.contexts: row.regret for row in rows
              if row.round % world.contexts == 0}  # fmt: skip
        if rows[0].status == "done":
            regret[who.label] = [at[mark] for mark in problem.marks]
        elif who.label == OURS:
            raise RuntimeError(rows[0].reason)
        else:
            failed[who.label] = rows[0].reason.splitlines()[0]
    return {"regret": regret, "failed": failed, "size": [world.contexts, world.arms]}
