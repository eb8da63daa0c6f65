"""A live platform, in under a minute: a shop with hidden tastes plays against a running service.

`lumpable demo` and `make demo` call `run`. The service is the real one, in a process of its own,
and is called over HTTP. What it found and what that is worth is told beside the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra
from lumpable.base.words import counted
from lumpable.cli import show
from lumpable.cli.experiment_files import is_whole, open_store
from lumpable.cli.visiting import Scale, Watched, service_for
from lumpable.cli.watching import Stopped
from lumpable.http import installed
from lumpable.playground import judging, takings
from lumpable.playground import shop as shops
from lumpable.playground.child_service import HOLD_BACK, WINDOW
from lumpable.playground.judging import Believed, Found
from lumpable.playground.simulated_platform import BURST
from lumpable.playground.takings import Measured, Takings
from lumpable.service.changing import now
from lumpable.service.deciding import HELD_BACK
from lumpable.service.exporting import rows
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.opening import open as open_experiment
from lumpable.stores.writer_lock import WriterLock

if TYPE_CHECKING:
    from rich.table import Table

FILE, REPORT = "lumpable-demo.db", "report.html"
BESIDE = ("", "-wal", "-shm", ".snapshot")
"""Endings of what belongs to the file of an experiment."""


def run(folder: Path, scale: Scale | None = None) -> None:
    """Explain, play, and tell what was found and what it was worth."""
    installed.check()
    scale = scale or Scale(shops.build())
    file = folder / FILE
    explain(scale)
    begin_anew(file)
    played = play(scale, file)
    learned = after(file, folder / REPORT)
    tell(scale, played, learned)


def say(words: str) -> None:
    """Print a paragraph."""
    show.console().print(words)


def explain(scale: Scale) -> None:
    """Say what is going to happen."""
    world = scale.shop.world
    say(
        f"Imagine a shop with {world.contexts:,} visitors and {world.arms - 1} offers. At each "
        "visit one offer is shown, and clicked or not. The visitors have "
        f"{world.groups} tastes, and some click more than others, whatever they see. The service "
        "is told none of this: it gets names and clicks. Some clicks come late, some never, some "
        "twice, and half-way there is a new offer.\n\n"
        f"{scale.visits:,} visits are played over HTTP, those of one moment ({BURST}) in one call. "
        f"Time is quick here: a click counts if it comes within {WINDOW:g} second."
    )


def begin_anew(file: Path) -> None:
    """Remove what an earlier demo left; one that still runs is left alone."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(file.resolve())
    try:
        for ending in BESIDE:
            file.with_name(file.name + ending).unlink(missing_ok=True)
    finally:
        lock.release()


def play(scale: Scale, file: Path) -> Takings:
    """Play it all; the service is stopped at the end, however it ends."""
    watched = None
    try:
        with service_for(scale.shop, file) as service:
            say(f"\nThe service: {service.url}, with every decision and click in {file}")
            with Watched(service, scale) as watched:
                watched.play(scale.visits, scale.pace)
            return watched.platform.takings
    except KeyboardInterrupt:
        visits = 0 if watched is None else watched.visits
        words = f"stopped after {counted(visits, 'visit')}; {file} has all that was answered"
        raise Stopped(words) from None


@dataclass(frozen=True, slots=True)
class Learned:
    """What is in the file at the end."""

    summary: str
    beliefs: list[Believed]
    measured: Measured | None
    """What it was worth by the hold-back, without knowing the truth."""
    report: Path | None


def after(file: Path, report: Path) -> Learned:
    """Check the file, open it again as any program may, and write the report."""
    with open_store(str(file)) as store:
        if not is_whole(store, str(file)):
            raise BadArgument("", why=f"{file} is damaged, see above: is the disk sound?")
        counted_rewards = (
            (row["decided_by"] == HELD_BACK, row["reward"])
            for row in rows(store, now())
            if row["reward"] is not None
        )
        measured = takings.compare_takings(counted_rewards)
    with open_experiment(file, fits="inline") as experiment:
        beliefs = [
            Believed(str(row.context), row.group, str(row.best_arm)) for row in experiment.members()
        ]
        return Learned(experiment.summary(), beliefs, measured, write_report(experiment, report))


def write_report(experiment: LiveExperiment, report: Path) -> Path | None:
    """Write all that is believed as one page; without the extra, say how to get it."""
    try:
        return experiment.report(report)
    except MissingExtra as missing:
        say(f"No report: {missing}")
        return None


def tell(scale: Scale, played: Takings, learned: Learned) -> None:
    """Print what was found and what it was worth."""
    out = show.console()
    found = judging.beside_truth(scale.shop, learned.beliefs)
    out.print(found_table(found))
    say(
        f"{learned.summary} {found.agreeing / found.visitors:.1%} of the visitors are in a group "
        "where their taste has the majority.\n"
    )
    out.print(worth_table(scale, played))
    say(
        "These are the clicks to be expected of the same visits, by the truth; what it cost to "
        f"learn is in them. In the last {len(played.lately):,} visits the service earned "
        f"{played.gain_lately:.0%} more than the most popular offer, and {played.favourites:.0%} "
        "of the visitors were shown their favourite.\n"
    )
    say(without_truth(scale, learned.measured) + "\n")
    say(
        f"Of {played.clicks:,} clicks, {played.late:,} came too late to count, {played.lost:,} "
        f"never came, and {played.twice:,} came twice and counted once.\n"
    )
    if learned.report is not None:
        say(f"The report: open {learned.report}")
    say("The page: lumpable play keeps the shop playing; then open http://127.0.0.1:8000/")


def found_table(found: Found) -> Table:
    """Return the tastes beside what was found of them."""
    return show.table(
        "What was found, beside the truth",
        ("taste", "visitors", "found", "groups", "favourite", "believed", "right"),
        [
            (
                row.taste, f"{row.visitors:,}", f"{row.in_groups:,}", f"{row.groups}",
                row.favourites[0][0], row.believed[0][0] if row.believed else "-",
                f"{row.right / row.visitors:.0%}",
            )
            for row in found.tastes
        ],
    )  # fmt: skip


def worth_table(scale: Scale, played: Takings) -> Table:
    """Return the clicks of the service between those of a simpler and of a wiser shop."""
    popular = dict.fromkeys(scale.shop.offers[season.popular] for season in scale.shop.seasons)

    def row(name: str, clicks: float) -> tuple[str, ...]:
        more = clicks / played.popular - 1
        return (
            name,
            f"{clicks:,.0f}",
            f"{clicks / played.visits:.1%}",
            f"{more:+.0%}" if more else "",
        )

    return show.table(
        f"What it was worth, in {played.visits:,} visits",
        ("what is shown", "clicks", "of visits", "more"),
        [
            row(f"the most popular ({', then '.join(popular)})", played.popular),
            row("what the service chose", played.shown),
            row("to each their favourite, from the start", played.best),
        ],
    )  # fmt: skip


def without_truth(scale: Scale, measured: Measured | None) -> str:
    """Say what the hold-back measured."""
    if measured is None:
        return "Too few visits were held back to measure what it is worth without the truth."
    return (
        f"The service can tell without the truth, too: {HOLD_BACK:.0%} of the visits are held "
        f"back and shown the {scale.shop.control}. Of these {measured.held:,} visits, "
        f"{measured.held_rate:.1%} had a click in time; of the others {measured.rate:.1%}. That is "
        f"{100 * measured.difference:.1f} more in 100 visits (95 %: {100 * measured.low:.1f} to "
        f"{100 * measured.high:.1f})."
    )
