"""Measure a problem: screen the peers, run the best on fresh seeds until the ratios are sharp.

Every cell is kept in a Parquet file of its problem as it comes; a run that was stopped goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import lumpable as lb
from lumpable.comparisons.rows import Row
from protocol import frozen, peers, ratios
from protocol.peers import Peer
from protocol.problems import LONG, SUITE, Problem
from protocol.ratios import Ratio

SHARP = 0.03
"""A ratio is sharp when its standard error is at most this."""
STEP = 10
"""Seeds that are added while one is not."""
SCREENING_SEEDS = 5
OURS = peers.TESTED["label"]


@dataclass(frozen=True, slots=True)
class Way:
    """How everything is run."""

    commit: str
    folder: Path
    jobs: int | None = None
    least: int | None = None
    """Seeds at first, if not those of the problem."""
    most: int = 100
    """Seeds at most."""
    screening: int = SCREENING_SEEDS

    def rows(
        self, problem: Problem, learners: Sequence[Peer], purpose: str, number: int, pulls: int
    ) -> list[Row]:
        """Return the rows of learners in a problem with so many seeds of this purpose."""
        slug = re.sub(r"[^a-z0-9.]+", "-", problem.label.lower())
        return lb.compare(
            learners,
            [problem.described(pulls)],
            pulls=pulls,
            seeds=frozen.seeds(self.commit, purpose, problem.label, number),
            out=self.folder / f"{slug}-{purpose}.parquet",
            jobs=self.jobs,
        ).rows()


@dataclass(frozen=True)
class Measured:
    """What became of a problem."""

    problem: Problem
    rows: list[Row]
    rivals: list[str]
    """The best of the screening."""
    seeds: int
    sharp: bool
    """Whether every ratio to the best rival is sharp; else the cap on seeds stopped it."""
    failed: dict[str, str] = field(default_factory=dict)
    """Peers that failed in some cell, and so are judged by none: why."""

    def round(self, mark: int) -> int:
        """Return the round at which each context has come so many times on average."""
        return mark * self.problem.contexts

    @cached_property
    def ratios(self) -> dict[int, Ratio]:
        """The ratio to the best rival at each mark."""
        return {
            mark: ratios.against(self.rows, self.round(mark), OURS, self.rivals)
            for mark in self.problem.marks
        }

    def to_kmeans(self, mark: int) -> Ratio:
        """Return the ratio to the best setting of explore-then-k-means, which knows r."""
        known = [each["label"] for each in peers.kmeans()]
        return ratios.against(self.rows, self.round(mark), OURS, known)

    def to_oracles(self, mark: int, *, plain: bool) -> Ratio:
        """Return the ratio to the sum of both oracles: as they come, or each at its best."""
        labels = [
            each["label"]
            for each in peers.oracles()
            if each["label"].endswith(peers.PLAIN) or not plain
        ]
        kinds = [
            [label for label in labels if label.startswith(kind)]
            for kind in (peers.KNOWS_GROUPS, peers.KNOWS_MEANS)
        ]
        return ratios.to_sum(self.rows, self.round(mark), OURS, kinds)


def measure(problem: Problem, way: Way) -> Measured:
    """Screen peers on seeds of their own, then run the best five beside ours on fresh ones."""
    rivals, failed = screened(problem, way)
    known = {SUITE: peers.oracles(), LONG: peers.kmeans()}.get(problem.part, [])
    every = [each for each in peers.peers(problem.size) if each["label"] in rivals]
    most = min(way.most, problem.most)
    number = min(way.least or problem.least, most)
    while True:
        learners = [peers.TESTED, *every, *known]
        rows = way.rows(problem, learners, frozen.FRESH, number, problem.pulls)
        _refuse_failures(rows)
        found = Measured(problem, rows, rivals, number, False, failed | ratios.failures(rows))
        sharp = all(each.error <= SHARP for each in found.ratios.values())
        if sharp or number >= most:
            return replace(found, sharp=sharp)
        number = min(number + STEP, most)


def screened(problem: Problem, way: Way) -> tuple[list[str], dict[str, str]]:
    """Return the five fair peers that did best on the screening seeds, and those that failed."""
    pulls = problem.screened
    candidates = peers.peers(problem.size)
    rows = way.rows(problem, candidates, frozen.SCREENING, way.screening, pulls)
    marks = [mark for mark in problem.marks if mark <= pulls]
    best = ratios.best(rows, [mark * problem.contexts for mark in marks])
    return best, ratios.failures(rows)


def _refuse_failures(rows: ratios.Rows) -> None:
    """A learner under test that failed in some cells must not be judged by the others."""
    for row in rows:
        if row.learner == OURS and row.status != "done":
            raise RuntimeError(f"{row.world}, seed {row.seed}: {row.reason}")
