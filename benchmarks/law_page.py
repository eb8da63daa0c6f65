"""The page of `laws.py`: every bar, then every law. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from law_bars import by_law, false_groups, intervals, lifts, mean, middle, number, share, sure
from law_runs import ITSELF, LOGGED, USERS, Run
from page_tables import table
from protocol.bars import Bar
from protocol.page import bar_table, verdict

TEXT = """\
# Groups under other laws

Made by `{command}` on {date}, {cores} cores, in {minutes:.0f} minutes.
The learner is that of commit {commit}.
Worlds, rewards and luck are drawn from seeds that follow from this commit by SHA-256.

Does `Lumps` see whether there is one taste or four, whatever the law of rewards? The worlds are
those of `lb.worlds.tastes`. Each law turns the same tastes into rewards of another kind: coins,
counts, amounts, stars, or numbers whose noise differs by arm, by context or with the mean.

- **Told**: the learner is told a log of {pulls} rewards for each context, in which the arms
  were drawn uniformly. **Itself**: it chooses the arms, for as many rounds.
- **The oracle** sees the same rewards and knows the groups' means and the law's variances. It puts
  each context into the group with the largest likelihood. That is exact for coins and normal
  rewards; others it takes for normal ones, so that it can be beaten.
- **One arm for all** is the arm with the largest average reward over everybody, of those with at
  least half an equal share of the rewards.
- **Intervals** hold the truth with a probability of 90 %, says the learner. Those of group means
  are judged where believed groups match the true ones, one to one; those of the lift where more
  than one arm is recommended.
- **Said to be best**: of the first {users} contexts of each run, those whose arm is said to be best
  with this probability, and how many of these are.

{verdict}

## Bars

{bars}

Where every law must meet a bar, the worst one is shown. The standard errors in brackets are those
over runs.

{tables}
"""


@dataclass(frozen=True, slots=True)
class About:
    """What the page says of its own making."""

    command: str
    commit: str
    date: str
    cores: int
    minutes: float


Column = Callable[[Sequence[Run]], str]


def columns(groups: int) -> dict[str, Column]:
    """Return what a table shows of runs, by heading."""
    right: dict[str, Column] = {
        "groups right": lambda runs: number(mean(runs, _right).value),
        "said": lambda runs: number(mean(runs, lambda run: run.said).value),
        "ARI": lambda runs: number(mean(runs, lambda run: run.ari).value),
        "oracle's": lambda runs: number(mean(runs, lambda run: run.oracle_ari).value),
        "over one arm": lambda runs: _gain(runs, lambda run: run.value),
        "oracle over it": lambda runs: _gain(runs, lambda run: run.oracle),
    }
    alike: dict[str, Column] = {
        "groups": lambda runs: number(mean(runs, false_groups).value),
        "directions": lambda runs: number(mean(runs, lambda run: run.rank > 0).value),
        "over one arm": lambda runs: _gain(runs, lambda run: run.value),
    }
    return (alike if groups == 1 else right) | {
        "intervals": lambda runs: number(intervals(runs).value),
        "of lift": lambda runs: number(lifts(runs).value),
        "best, 0.5 to 0.8": lambda runs: number(middle(runs).value),
        "0.8 to 1": lambda runs: number(sure(runs).value),
        "fit": lambda runs: f"{1e3 * mean(runs, lambda run: run.seconds).value:.0f} ms",
    }


def _right(run: Run) -> float:
    return run.groups == run.case.groups


def _gain(runs: Sequence[Run], of: Callable[[Run], float]) -> str:
    return f"{share(runs, lambda run: of(run) - run.raw, lambda run: run.raw).value:+.1%}"


def law_table(runs: Sequence[Run]) -> str:
    """Return a row for each law; a cell has a figure for each number of rewards.

    All runs are of one size, one number of tastes, and either told or not.
    """
    shown = columns(runs[0].case.groups)
    rows = []
    for law, part in by_law(runs).items():
        pulls = sorted({run.case.pulls for run in part})
        parts = [[run for run in part if run.case.pulls == n] for n in pulls]
        rows.append([law, *(" / ".join(map(of, parts)) for of in shown.values())])
    return table(["law", *shown], rows)


def tables(runs: Iterable[Run]) -> str:
    """Return a table for each number of tastes, size and way of playing, with its heading."""
    kinds: dict[tuple[int, tuple[int, int], str], list[Run]] = {}
    for run in runs:
        kinds.setdefault((run.case.groups, run.case.size, run.case.how), []).append(run)
    ways = {LOGGED: "told a log", ITSELF: "it plays itself"}
    sections = []
    for (groups, (contexts, arms), how), part in sorted(kinds.items()):
        tastes = "one taste" if groups == 1 else f"{groups} tastes"
        head = f"## {contexts} contexts, {arms} arms, {tastes}: {ways[how]}"
        seeds = len({run.case.seed for run in part if run.case.law == part[0].case.law})
        pulls = " / ".join(map(str, sorted({run.case.pulls for run in part})))
        words = f"{seeds} seeds; {pulls} rewards for each context."
        sections.append(f"{head}\n\n{words}\n\n{law_table(part)}")
    return "\n\n".join(sections)


def page(bars: Sequence[Bar], runs: Sequence[Run], about: About) -> str:
    """Return the page in Markdown."""
    return TEXT.format(
        command=about.command, date=about.date, cores=about.cores, minutes=about.minutes,
        commit=about.commit, users=USERS, verdict=verdict(bars), bars=bar_table(bars),
        pulls=" / ".join(map(str, sorted({run.case.pulls for run in runs}))), tables=tables(runs),
    )  # fmt: skip
