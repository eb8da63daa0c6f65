"""The page: every bar with what was measured, then every problem. Runs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from protocol import peers
from protocol.bars import Bar
from protocol.problems import LONG, SIZES
from protocol.running import SHARP, Measured

TEXT = """\
# Lumps against its peers

Made by `{command}` on {date}, {cores} cores, in {minutes:.0f} minutes.
The learner is that of commit `{commit}`{state}. Worlds, contexts and luck are drawn from seeds that
follow from this commit by SHA-256.

How the comparison works:

1. **Screening.** On {screening} other seeds every peer runs at two to five settings. The best
   five for each problem go on. They are picked in turn as the best at each checkpoint, the last one
   first.
2. **Fresh seeds.** `Lumps` and these five run on fresh seeds. At each checkpoint `Lumps` is
   compared with the best of the five *on the fresh seeds themselves*, which favours the peers.
3. **Ratios.** A ratio compares mean regrets over paired seeds. Its standard error, by the delta
   method, stands in brackets. There are {least} seeds at first, then ten more at a time until the
   error is at most {sharp}, up to {most} in all. A quick run caps larger and longer problems
   earlier.

Runs of a million rounds have {few} seeds, and their peers were screened in shorter runs
({screened} pulls).

{verdict}

## Bars

{bars}

A *bar* is the target that a figure is held against. "Within two standard errors" means at most two
paired standard errors worse than the best peer.

## Problems

{sizes}. Each number is the regret of `Lumps` divided by that of the best fair
peer, after this many rounds per context: below 1, `Lumps` loses less.

{short}

### Long runs

{long}

{capped}

## Peers

{peers}

Not run, and why: {left_out}.

{failed}
"""


@dataclass(frozen=True, slots=True)
class About:
    """What the page says of its own making."""

    command: str
    commit: str
    frozen: bool
    """Whether the learner was that of the commit."""
    date: str
    cores: int
    minutes: float
    screening: int
    least: int
    most: int


def page(bars: Sequence[Bar], measured: Sequence[Measured], about: About) -> str:
    """Return the page in Markdown."""
    short = [each for each in measured if each.problem.part != LONG]
    long = [each for each in measured if each.problem.part == LONG]
    longest = max(measured, key=lambda each: each.problem.pulls * each.problem.contexts)
    return TEXT.format(
        command=about.command,
        commit=about.commit[:12],
        state="" if about.frozen else ", **with changes that are not in it**",
        date=about.date,
        cores=about.cores,
        minutes=about.minutes,
        screening=about.screening,
        least=about.least,
        most=about.most,
        sharp=SHARP,
        few=longest.seeds,
        screened=longest.problem.screened,
        verdict=verdict(bars),
        bars=bar_table(bars),
        sizes=", ".join(f"{name} = {size}" for name, size in SIZES.items()),
        short=problem_table(short),
        long=problem_table(long, kmeans=True),
        capped=capped(measured),
        peers=_peer_list(),
        failed=failed(measured),
        left_out="; ".join(f"{names}: {why}" for names, why in peers.LEFT_OUT.items()),
    )


def verdict(bars: Sequence[Bar]) -> str:
    """Say how many bars are met, and which are not.

    >>> verdict([Bar("speed", high=2.0, value=1.0), Bar("size", high=2.0, value=2.5)])
    '**1 of 2 bars met.** Missed: size, by 0.5.'
    """
    met = sum(bar.met is True for bar in bars)
    words = f"**{met} of {len(bars)} bars met.**"
    missed = [f"{bar.what}, by {_number(bar.missed_by)}" for bar in bars if bar.met is False]
    unknown = [bar.what for bar in bars if bar.met is None]
    words += f" Missed: {'; '.join(missed)}." if missed else ""
    return words + (f" Not measured: {'; '.join(unknown)}." if unknown else "")


def bar_table(bars: Iterable[Bar]) -> str:
    """Return a row for each bar."""
    rows = [(bar.what, _limits(bar), _value(bar), bar.peer, _met(bar), bar.note) for bar in bars]
    return _table(("bar", "asked for", "measured", "against", "met", "of what"), rows)


def problem_table(measured: Sequence[Measured], *, kmeans: bool = False) -> str:
    """Return a row for each problem: ratios at its marks, best peer, seeds."""
    marks = sorted({mark for each in measured for mark in each.problem.marks})
    heads = ["problem", *(f"{mark:,} pulls" for mark in marks), "best peer at the end", "seeds"]
    heads += ["peers screened to", "k-means that knows r"] if kmeans else []
    rows = []
    for each in measured:
        found = each.ratios
        row = [each.problem.label, *(str(found[mark]) if mark in found else "" for mark in marks)]
        row += [found[max(found)].peer, str(each.seeds) + ("" if each.sharp else " *")]
        if kmeans:
            known = " / ".join(str(each.to_kmeans(mark)) for mark in found)
            row += [f"{each.problem.screened:,} pulls", known]
        rows.append(row)
    return _table(heads, rows)


def capped(measured: Iterable[Measured]) -> str:
    """Say which problems the cap on seeds stopped before their ratios were sharp."""
    names = [
        f"{each.problem.label} ({max(ratio.error for ratio in each.ratios.values()):.2f})"
        for each in measured
        if not each.sharp
    ]
    if not names:
        return f"Every ratio has a standard error of at most {SHARP}."
    return (
        f"\\* The cap on seeds was reached before every standard error was at most {SHARP}. The "
        f"largest error of each such problem: {', '.join(names)}."
    )


def failed(measured: Iterable[Measured]) -> str:
    """Say which peers failed where."""
    words = [
        f"{label} in {each.problem.label}: {why}"
        for each in measured
        for label, why in each.failed.items()
    ]
    return f"Failed, and judged nowhere: {'; '.join(words)}." if words else "No peer failed."


def _peer_list() -> str:
    lines = [
        f"- `{name}`: {parameter} {', '.join('default' if x is None else f'{x:g}' for x in values)}"
        + "".join(
            f"; not at {size}: {why[name]}" for size, why in peers.SLOW.items() if name in why
        )
        for name, (parameter, values) in peers.SETTINGS.items()
    ]
    return "\n".join(lines)


def _limits(bar: Bar) -> str:
    low, high = math.isfinite(bar.low), math.isfinite(bar.high)
    if low and high:
        return f"{bar.low:g} to {bar.high:g}{bar.unit}"
    return f"at most {bar.high:g}{bar.unit}" if high else f"at least {bar.low:g}{bar.unit}"


def _value(bar: Bar) -> str:
    if bar.value is None:
        return "not measured"
    error = "" if bar.error is None else f" ({_number(bar.error)})"
    return f"{_number(bar.value)}{error}{bar.unit}"


def _met(bar: Bar) -> str:
    words = {True: "yes", None: "?"}
    return words.get(bar.met, f"**no, by {_number(bar.missed_by)}**")


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
