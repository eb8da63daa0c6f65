"""Small experiments for the tests of comparisons, and learners that do not behave."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from lumpable.comparisons.rows import Row

BAD = '''
import math
import os
import signal
import time

from lumpable.learners.learner import Unfit


class Plain:
    """Plays arm by round, and takes its time."""

    def __init__(self, contexts, arms, *, pause: float = 0.0, seed=0):
        self.arms, self.pause, self.rounds = arms, pause, seed

    def ask(self, context):
        return (self.rounds + context) % self.arms

    def tell(self, context, arm, reward):
        time.sleep(self.pause)
        self.rounds += 1


class Raises(Plain):
    def tell(self, context, arm, reward):
        raise RuntimeError("too much for me")


class Outside(Plain):
    def ask(self, context):
        return self.arms


class NoNumber(Plain):
    def ask(self, context):
        return math.nan


class NoPolicy(Plain):
    def policy(self):
        return [0] * 2


class NoArms(Plain):
    def policy(self):
        return [0] * 3 + [self.arms] * 5


class HalfArms(Plain):
    def policy(self):
        return [0.5] * 8


class FewLabels(Plain):
    def labels(self):
        return [0] * 7


class Demanding:
    def __init__(self, contexts, arms, colour):
        pass


class Choosy(Plain):
    def __init__(self, contexts, arms, *, seed=0):
        raise Unfit("only at full moon")


class Deadly(Plain):
    def tell(self, context, arm, reward):
        os.kill(os.getpid(), signal.SIGKILL)
'''

WORLD = """
[[world]]
label = "small"
kind = "lumpable"
contexts = 8
arms = 4
groups = 2
noise = "bernoulli"
"""


def experiment(
    folder: Path,
    *learners: str,
    top: str = "horizon = 60\nseeds = 3",
    worlds: str = WORLD,
    module: str = "bad",
) -> Path:
    """Write an experiment and the module of learners beside it; returns the file."""
    (folder / f"{module}.py").write_text(BAD)
    tables = [f"\n[[learner]]\n{lines}\n" for lines in learners]
    file = folder / "mine.toml"
    file.write_text(top + "\n" + "".join(tables) + worlds)
    return file


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of rows, but for the seconds and tracebacks, which are never the same."""
    import pyarrow.parquet

    found: list[dict[str, Any]] = pyarrow.parquet.ParquetFile(path).read().to_pylist()
    return [timeless(row) for row in found]


def timeless(row: Any) -> dict[str, Any]:
    """Return a row without what differs from run to run."""
    row = asdict(row) if isinstance(row, Row) else row
    reason = (row["reason"] or "").partition("\n")[0]
    return {**row, "seconds": None, "reason": reason}
