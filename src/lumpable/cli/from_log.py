"""The command `lumpable learn`: a log in, an answer out. Computes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lumpable.base.errors import BadArgument
from lumpable.base.words import between, counted, distinct, figure, plural
from lumpable.cli import bars, outputs
from lumpable.cli.options import column_options, memory_option, rewards_option, strict_option
from lumpable.cli.show import console, say

if TYPE_CHECKING:
    from lumpable.tables.answered import Answered
    from lumpable.tables.dirt import Dirt
    from lumpable.tables.judged_policies import Value
    from lumpable.tables.off_policy import PolicyEstimate

EVERY = 5.0
"""Seconds between two lines of progress, without a terminal."""
ROWS = 5
"""Rows of the policy that are shown."""
LONGEST = 24, 40
"""Characters of a name that are shown, and at most of one that would look like another."""


class Named(click.Path):
    """A path that has a name: the system takes an empty one for the current folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Refuse an empty string."""
        if value == "":
            self.fail("expected the name of a file or folder, got an empty string", param, ctx)
        return super().convert(value, param, ctx)


@click.command("learn")
@click.argument("source", type=Named(path_type=Path))
@column_options()
@rewards_option()
@strict_option
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write the answer as a page."
)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what to give to whom: .csv or .parquet.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Save the learner.")
@click.option("--overwrite", is_flag=True, help="Let --save replace an existing file.")
@memory_option
@click.option(
    "--seed", default=0, show_default=True, help="Random seed of the learner that is saved."
)
def learn(
    source: Path,
    html: Path | None,
    policy_file: Path | None,
    save: Path | None,
    overwrite: bool,
    rewards: str | tuple[float, float],
    strict: bool,
    seed: int,
    **columns: Any,
) -> None:
    """Learn from a log who is alike and what works for whom.

    SOURCE is a CSV or Parquet file, or a folder of them: a row for each event, with the user, the
    item that they got and the reward that came of it. Rows that cannot count are left out and
    reported. Needs the extra `warehouse`; the page needs `plot`.

    \b
    Examples:
      lumpable learn events.csv --user customer --item offer --reward clicked
      lumpable learn events/ --item offer --propensity p \\
        --html page.html --policy policy.csv

    Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.lumps.belief.posterior import cache_answers
    from lumpable.tables import policy_rows
    from lumpable.tables.answered import answer
    from lumpable.tables.ingest import read_events
    from lumpable.tables.learned import learn as learn_from

    _check_files(source, html, policy_file, save, overwrite)
    with contextlib.ExitStack() as until_the_end:
        with progress_shown() as progress:
            events = read_events(source, rewards=rewards, progress=progress, **columns)
            if strict:
                _refuse(events.dirt)
            learned = learn_from(events, seed=seed, progress=progress)
            progress(1.0, "asking what it says")
            until_the_end.enter_context(cache_answers(learned.lumps.core))  # the page asks again
            found = answer(learned)
        print_answer(found)
        if policy_file is not None:
            policy_rows.write(found.policy, policy_file)
            say(f"policy: {policy_file}")
        if save is not None:
            learned.save(save, overwrite=overwrite)
            say(f"learner: {save}")
        if html is not None:
            from lumpable.reports.pages import log_page

            log_page.write(found, html)
            say(f"page: {html}")


def _check_files(
    source: Path, html: Path | None, policy: Path | None, save: Path | None, overwrite: bool
) -> None:
    """Refuse files that cannot or must not be written, before anything is read."""
    from lumpable.base import row_files

    if policy is not None:
        row_files.check(policy, "--policy")
    if html is not None and html.suffix != ".html":
        raise BadArgument("--html", "a name that ends in .html", repr(html.name))
    written = {"--html": html, "--policy": policy, "--save": save}
    outputs.check(written, read=[source])
    for option, path in written.items():
        if path is not None and not path.resolve().parent.is_dir():
            raise BadArgument(option, "a file in an existing folder", repr(str(path)))
        if path is not None and path.is_dir():
            raise BadArgument(option, "a file", f"{str(path)!r}, which is a folder")
    if save is not None and save.exists() and not overwrite:
        raise BadArgument("--save", "a new file, or --overwrite", f"{str(save)!r}, which exists")
    if html is not None:
        from lumpable.reports.kit import save as saving

        saving.check(html, (".html",))


def _refuse(dirt: Dirt) -> None:
    """Refuse a log with rows that cannot count, and show the table of them."""
    if dirt.faults:
        console(err=True).print(dirt_table(dirt))
        words = dirt.words.replace("left out", "cannot count")
        raise BadArgument("source", why=f"{words} --strict refuses them")


@contextlib.contextmanager
def progress_shown() -> Iterator[Any]:
    """Show how far reading is, in percent and words."""
    with bars.progress(EVERY) as (_, advance):

        def show(part: float, words: str) -> None:
            advance(round(100 * part), 100, f"{words}, {100 * part:.0f} %" if part < 1 else words)

        yield show


# --- What is printed ------------------------------------------------------------------------------


def print_answer(found: Answered) -> None:
    """Print what a log says: dirt, the sentence, groups, what it is worth, and what to do."""
    out, events = console(), found.learned.events
    who, what = found.words
    if events.dirt.faults:
        out.print(dirt_table(events.dirt))
    out.print(events.dirt.words)
    for note in events.dirt.notes:
        out.print(f"note: {note}")
    users, items = counted(len(events.users), who), counted(len(events.items), what)
    out.print(f"{counted(len(events), 'event')} of {users} and {items}.")
    out.print(f"\nAre there groups of {plural(who)}? {found.sentence}\n")
    out.print(group_table(found))
    out.print(found.lift_words + "\n")
    if found.value is not None:
        out.print(value_table(found.value))
    for note in (found.unsaid,) if found.value is None else found.value.notes:
        out.print(f"note: {note}")
    out.print()
    out.print(policy_table(found))
    for step in found.next_steps:
        out.print(f"next: {step}")


def dirt_table(dirt: Dirt) -> Any:
    """Return what was wrong, as a table."""
    from lumpable.tables.dirt import short

    rows = [
        (fault.fault, f"{fault.rows:,}", short(fault.example) if fault.example else "",
         ", ".join(fault.places))
        for fault in dirt.faults
    ]  # fmt: skip
    return _table("Rows that cannot count", ("fault", "rows", "example", "first at"), rows, 1)


def group_table(found: Answered) -> Any:
    """Return the groups, as a table."""
    who, what = found.words
    items = _labels(found.learned.events.items)
    rows = [
        (str(row.group), f"{row.size:,.0f}", f"{row.size_low:,} to {row.size_high:,}",
         items[row.best_arm], _percent(row.probability_best), figure(row.mean),
         between(row.low, row.high))
        for row in found.groups
    ]  # fmt: skip
    head = ("group", plural(who), "95 %", f"best {what}", "sure", "mean", "95 %")
    return _table("Groups", head, rows, 1, 2, 4, 5, 6)


def value_table(value: Value) -> Any:
    """Return off-policy values, as a table."""
    rows = [
        (one.method, *_estimate(one), *_estimate(more))
        for one, more in zip(value.estimates, value.lift, strict=True)
    ]
    rows.append((value.logged.method, *_estimate(value.logged), "", ""))
    level = f"{100 * value.level:g} %"
    title = f"What {value.policy} would have earned per event, and over one for all"
    head = ("method", "value", level, "lift", level)
    return _table(title, head, rows, 1, 2, 3, 4)


def policy_table(found: Answered) -> Any:
    """Return the first rows of the policy, as a table."""
    who, what = found.words
    shown, items = found.policy[:ROWS], _labels(found.learned.events.items)
    users = _labels(row.user for row in shown)
    rows = [
        (users[row.user], items[row.item], figure(row.mean),
         between(row.low, row.high), _percent(row.probability_best),
         items[row.runner_up], "try both" if row.open else "show it")
        for row in shown
    ]  # fmt: skip
    more = f", {ROWS} of {len(found.policy):,}" if len(found.policy) > ROWS else ""
    head = (who, f"best {what}", "mean", "95 %", "sure", "runner-up", "what to do")
    return _table(f"Policy{more}", head, rows, 2, 3, 4)


def _estimate(one: PolicyEstimate) -> tuple[str, str]:
    return figure(one.value), between(one.low, one.high)


def _table(
    title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], *numbers: int
) -> Any:
    """Return a table some of whose columns are numbers; words are folded where there is no room."""
    from rich import box
    from rich.table import Table

    whole = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for place, name in enumerate(head):
        right = place in numbers
        whole.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in rows:
        whole.add_row(*row)
    return whole


def _labels(names: Iterable[object]) -> dict[object, str]:
    """Return what names are called in a table: short, and different from each other."""
    known = [*dict.fromkeys(names)]
    labels = dict[object, str](zip(known, distinct([*map(str, known)], *LONGEST), strict=True))
    return labels | {None: ""}


def _percent(probability: float) -> str:
    return ">99 %" if probability > 0.99 else f"{100 * probability:.0f} %"
