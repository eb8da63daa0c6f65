"""Put what the quick suite found into its page: `python tools/suite.py compare/rows.parquet`."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from lumpable.comparisons.results import gather
from lumpable.comparisons.standing import Overall, Standing, stand

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "suite.md"
START, END = "<!-- suite: made by tools/suite.py -->\n", "<!-- end -->\n"
SHOWN = 15
"""Learners in the table."""


def written(overall: Overall, date: datetime) -> str:
    """Return the section: which run it was, who did best, and who did best where."""
    names, seeds = overall.comparison.learners, len(overall.comparison.worlds[0].seeds)
    said = (
        f"`lumpable compare suite --quick`, {date:%Y-%m-%d}, {os.cpu_count()} cores: "
        f"{len(names)} learners, {len(overall.standings)} worlds, {seeds} seeds, 60 rounds for "
        "each context. The ratio is regret relative to the best fair peer of each world (not the "
        "same one everywhere), as a geometric mean over worlds. "
        f"The best {SHOWN} are shown, oracles in italics.\n"
    )
    first = [_learner(overall, i) for i in overall.order[:SHOWN]]
    worlds = [_world(standing) for standing in overall.standings if standing.best is not None]
    return "\n".join(
        [
            said,
            "| learner | ratio | best in |",
            "| --- | --- | --- |",
            *first,
            "",
            "| world | best fair peer | its regret | one for all | each on its own |",
            "| --- | --- | --- | --- | --- |",
            *worlds,
            "",
        ]
    )


def _learner(overall: Overall, i: int) -> str:
    name = overall.comparison.learners[i]
    shown = f"*{name} (knows {overall.knows[i]})*" if overall.knows[i] else name
    first = "" if overall.knows[i] else str(overall.first[i])
    return f"| {shown} | {overall.mean[i]:.2f} | {first} |"


def _world(standing: Standing) -> str:
    world, best = standing.world, standing.best
    assert best is not None
    mean = standing.regret.mean
    others = (
        f"{mean[world.learners.index(name)]:,.0f}" if name in world.learners else ""
        for name in ("Gaussian Thompson, one for all", "Gaussian Thompson per context")
    )
    return f"| {world.name} | {world.learners[best]} | {mean[best]:,.0f} | {' | '.join(others)} |"


def main(path: str) -> None:
    """Write the section between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(START)
    foot = rest.split(END)[1]
    made = written(stand(gather(path)), datetime.now(UTC))
    PAGE.write_text(head + START + made + END + foot, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
