"""The page of `matrices.py`: bars, families, made worlds. Runs nothing.

Families and matrices are the user's own, so the page gives them numbers and no names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from matrix_bars import Judged, by_family, of
from matrix_runs import ALONE, ALONE_SPREAD, LAWS, SETTINGS, SHORT, SHORT_PULLS
from page_tables import table
from protocol.bars import Bar
from protocol.page import bar_table, verdict

TEXT = """\
# Lumps on matrices of at most {contexts} x {arms} means

Made by `{command}` on {date}, {cores} cores, in {minutes:.0f} minutes.
The learner is that of commit {commit}.
Draws, contexts and luck come from seeds that follow from this commit by SHA-256.

Made worlds are as smooth as their makers imagine; matrices that somebody measured are not. Each
seed draws at most {contexts} contexts and {arms} arms, and rewards around their means: 0 or 1, or
normal with sd 0.3. There are {seeds} seeds.

Each number is the regret of `Lumps` divided by that of a peer, after so many rounds for each
context: below 1, `Lumps` loses less. The peer is **chosen apart**: for each matrix, kind of rewards
and number of rounds it is the best one on one half of the seeds, judged on the other half, both
ways. **In hindsight** is the peer that was best on the very seeds it is judged by, which favours
it. Means are geometric, over the matrices of a family, then over families. The standard errors in
brackets are those over seeds.

{verdict}

## Bars

{bars}

{sections}

## Peers

{peers}

{failed}
"""


@dataclass(frozen=True, slots=True)
class About:
    """What the page says of its own making."""

    command: str
    commit: str
    date: str
    cores: int
    minutes: float
    size: tuple[int, int]
    seeds: int


def called(judged: Sequence[Judged]) -> dict[str, str]:
    """Return what the page calls each family: a number."""
    names = list(dict.fromkeys(each.problem.family for each in judged))
    return {name: f"family {k}" for k, name in enumerate(names, 1)}


def family_table(judged: Sequence[Judged], names: dict[str, str]) -> str:
    """Return a row for each family and kind of rewards: its ratios at each mark."""
    marks = sorted({each.mark for each in judged})
    heads = ["family", "matrices", "rewards"]
    heads += [f"{mark} pulls{late}" for mark in marks for late in ("", ", in hindsight")]
    heads += ["peer, mostly"]
    rows = []
    for noise in LAWS:
        every = [by_family(of(judged, noise, mark)) for mark in marks]
        for at_marks in zip(*every, strict=True):
            ratios = [str(x) for each in at_marks for x in (each.fair, each.hindsight)]
            part = at_marks[-1].matrices
            peer = Counter(each.hindsight.peer for each in part).most_common(1)[0][0]
            rows.append([names[at_marks[0].name], str(len(part)), noise, *ratios, peer])
    return table(heads, rows)


def made_table(judged: Sequence[Judged]) -> str:
    """Return a row for each made world and kind of rewards."""
    rows = [
        [each.problem.name, each.problem.noise, str(each.fair), str(each.hindsight),
         each.hindsight.peer]
        for each in judged
    ]  # fmt: skip
    return table(["world", "rewards", "chosen apart", "in hindsight", "best peer"], rows)


def page(bars: Sequence[Bar], matrices: Sequence[Judged], made: Sequence[Judged],
         about: About) -> str:  # fmt: skip
    """Return the page in Markdown; either part may be empty."""
    sections = []
    if matrices:
        sections.append(f"## Families\n\n{family_table(matrices, called(matrices))}")
    if made:
        pulls = made[0].mark
        sections.append(f"## Made worlds\n\nAt {pulls} pulls.\n\n{made_table(made)}")
    return TEXT.format(
        command=about.command, commit=about.commit, date=about.date, cores=about.cores,
        minutes=about.minutes, contexts=about.size[0], arms=about.size[1], seeds=about.seeds,
        verdict=verdict(bars), bars=bar_table(bars), sections="\n\n".join(sections),
        peers=_peers(), failed=_failed([*matrices, *made]),
    )  # fmt: skip


def _peers() -> str:
    lines = [
        f"- `{name}`: {key} {', '.join('default' if x is None else f'{x:g}' for x in values)}"
        for name, (key, values) in SETTINGS.items()
    ]
    alone = [
        f"- `{name}`: spread {ALONE_SPREAD:g}; {noise} rewards" for noise, name in ALONE.items()
    ]
    short = [
        f"- `{name}`: {key} {values[0]:g}; in runs of at most {SHORT_PULLS} pulls"
        for name, (key, values) in SHORT.items()
    ]
    return "\n".join([*lines, *alone, *short])


def _failed(judged: Sequence[Judged]) -> str:
    found = Counter(label for each in judged for label in each.failed)
    words = ", ".join(f"{label} ({many} times)" for label, many in found.items())
    return f"Failed, and judged nowhere: {words}." if found else "No peer failed."
