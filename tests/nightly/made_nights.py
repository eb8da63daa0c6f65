"""Events of a few nights, made up, as files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

OFFERS = ("tea", "water", "coffee")
LIKES = np.array([[0.8, 0.4, 0.1], [0.1, 0.4, 0.8]])
HEAD = ("user", "item", "reward", "id")
Row = tuple[str, str, int, str]


def rows(number: int, seed: int = 0, users: int = 12) -> list[Row]:
    """Make events with ids."""
    rng = np.random.default_rng(seed)
    user, item = rng.integers(users, size=number), rng.integers(3, size=number)
    reward = rng.random(number) < LIKES[user % 2, item]
    columns = zip(user, item, reward, range(number), strict=True)
    return [(f"u{u}", OFFERS[i], int(r), f"e{k}") for u, i, r, k in columns]


def write(path: Path, some: list[Row], head: tuple[str, ...] = HEAD) -> Path:
    """Write events to a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(row[: len(head)] for row in some)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Return all that a state holds; the lock is no part of it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}
