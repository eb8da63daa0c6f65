"""Worlds of low rank whose factors are known: mean = U V, and the grid that covers U."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.checks import FloatMatrix, FloatVector


@dataclass(frozen=True, slots=True, eq=False)
class Factored:
    """A world and its factors."""

    world: lb.World
    U: FloatMatrix
    V: FloatMatrix

    @classmethod
    def of(cls, U: FloatMatrix, V: FloatMatrix) -> Factored:
        """Multiply out."""
        return cls(worlds.from_matrix(U @ V), U, V)

    @property
    def rank(self) -> int:
        """r, the length of a context's vector."""
        return int(self.U.shape[1])

    def cells(self, width: float, bound: float = 1.0) -> list[list[int]]:
        """Return the contexts of each cell that holds one, in a grid on [-B, B]^r."""
        place = np.maximum(np.ceil((self.U + bound) / width), 1).astype(int).tolist()
        members: dict[tuple[int, ...], list[int]] = {}
        for i, cell in enumerate(place):
            members.setdefault(tuple(cell), []).append(i)
        return list(members.values())

    def difference(self, width: float) -> float:
        """Return the largest difference of means inside a cell, over max_j ||v_j||_1."""
        spans = [np.ptp(self.world.mean[cell], axis=0).max() for cell in self.cells(width)]
        return float(max(spans)) / float(np.abs(self.V).sum(axis=0).max())


def spread(contexts: int, arms: int, rank: int, bound: float, seed: int) -> Factored:
    """Vectors of contexts uniform on [-B, B]^r, those of arms on [-1/(2r), 1/(2r)]^r."""
    rng = np.random.default_rng(seed)
    U = rng.uniform(-bound, bound, (contexts, rank))
    return Factored.of(U, rng.uniform(-0.5, 0.5, (rank, arms)) / rank)


def decoys(contexts: int, arms: int, seed: int) -> Factored:
    """Rank one: a tenth of the contexts like most what all others like least.

    Their best arm has the largest mean of all, so screening starts with it; if the others left with
    them, they would lose nearly everything.
    """
    rng = np.random.default_rng(seed)
    few = np.arange(contexts) < contexts // 10
    u = np.where(few, rng.uniform(0.95, 1.0, contexts), rng.uniform(-0.9, -0.5, contexts))
    v: FloatVector = rng.uniform(-0.5, 0.5, arms)
    v[:2] = 0.5, -0.5
    return Factored.of(u[:, np.newaxis], v[np.newaxis, :])
