"""`lumpable verify | show | export`: look at an experiment, also while it is in use.

FILE is its file, or the address of its PostgreSQL database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.cli import outputs
from lumpable.cli.show import console, grid, say, table
from lumpable.service.changing import now
from lumpable.service.exporting import export as export_to
from lumpable.service.exporting import rows, settings_of
from lumpable.service.log_files import LogFor, export_log
from lumpable.service.opening import store_at
from lumpable.service.settings import to_user_units
from lumpable.service.snapshots import problem
from lumpable.stores.law import Damage, Store, StoreError
from lumpable.stores.postgres_database import is_address, place_of

DAMAGED = 1
LEARNED = ("learned_digest", "learned_left")
"""Settings that are shown apart."""
FILE = click.argument("file", type=click.Path(dir_okay=False))


@contextmanager
def open_store(file: str) -> Iterator[Store]:
    """Open a file or database to read it; what is wrong with it is bad input."""
    try:
        with store_at(file, read_only=True) as store:
            yield store
    except StoreError as error:
        raise click.UsageError(str(error)) from error


@click.command()
@FILE
@click.pass_context
def verify(ctx: click.Context, file: str) -> None:
    """Find damage in the file or database of an experiment, down to a flipped bit.

    Compares every entry, the settings and the snapshot with what was written. Changes nothing, and
    may run while the experiment does.

    Exit codes: 0 whole, 1 damaged (also if only the snapshot is), 2 bad input.
    """
    with open_store(file) as store:
        if not is_whole(store, file):
            ctx.exit(DAMAGED)


def is_whole(store: Store, file: str) -> bool:
    """Say what is damaged, or that nothing is; return whether nothing is."""
    damages, wrong = store.verify(), problem(Path(f"{file}.snapshot"), store)
    if not damages:
        try:
            settings_of(store)
        except StoreError as error:  # they are as they were written, and cannot be read
            damages = [Damage("the settings", str(error))]
    for damage in damages:
        say(f"{damage.where}: {damage.what}")
    if wrong:
        say(f"snapshot: {wrong}; it is ignored; nothing is lost")
    if damages:
        say(f"{place_of(file)}: damaged", err=True)
    else:
        say(f"{place_of(file)}: {store.last:,} entries, all as they were written")
    return not damages and not wrong


@click.command()
@FILE
def show(file: str) -> None:
    """Print what is in the file or database of an experiment."""
    with open_store(file) as store:
        settings, last = settings_of(store), store.last
        entries = [entry for _, entry in store.entries()]
        standings = Counter(row["standing"] for row in rows(store, now()))
    users = {entry.user for entry in entries if entry.user is not None}
    arms = {entry.arm: entry.detail for entry in entries if entry.kind == "arm"}
    times = [entry.at for entry in entries]
    ends = f"{moment(min(times))} to {moment(max(times))}" if times else "-"
    out = console()
    facts = [("entries", f"{last:,}"), ("time", ends), ("users", f"{len(users):,}")]
    if settings.learned_digest is not None:
        cut = " (not entered completely)" if settings.learned_left else ""
        facts.append(("learned", f"{settings.learned_digest}{cut}"))
    out.print(grid(facts))
    values = [
        (name, str(value)) for name, value in to_user_units(settings).items() if name not in LEARNED
    ]
    out.print(table("Settings (window in seconds)", ("setting", "value"), values))
    out.print(table("Arms", ("arm", "last change"), [(repr(a), w) for a, w in arms.items()]))
    for title, head, counts in (
        ("Entries", "kind", Counter(entry.kind for entry in entries)),
        ("Events", "standing", standings),
    ):
        lines = [(word, f"{number:,}") for word, number in sorted(counts.items())]
        out.print(table(title, (head, "number"), lines))


def moment(at: int) -> str:
    """Write a time; callers say when rewards happened, so that it may be any.

    >>> moment(1_700_000_000_999_999), moment(4 * 10**18)
    ('2023-11-14 22:13:20 UTC', '128724-12-15 07:06:40 UTC')
    """
    seconds = np.datetime64(at, "us").astype("datetime64[s]")  # knows years after 9999, too
    return f"{str(seconds).replace('T', ' ')} UTC"


@click.command()
@FILE
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="A file, .csv or .parquet; with --log also a folder.",
)
@click.option("--log", is_flag=True, help="Only what taught the learner, for `lumpable learn`.")
@click.option(
    "--for",
    "state",
    metavar="STATE",
    type=click.Path(path_type=Path),
    help="A state that learns by night, which this log is for: with its columns, and without what "
    "was learned from it.",
)
def export(file: str, out: Path, log: bool, state: Path | None) -> None:
    """Write one row for each event of an experiment to a CSV or Parquet file.

    With --log it is a log that `lumpable learn` and `lumpable evidence` read as it is: user, item,
    reward, id, time and propensity of each event that taught the learner something, defaults
    included. If names are both numbers and strings, --out must be a folder (a name without an
    ending), which gets a Parquet file for each kind. In a CSV file numbers become strings.

    \b
    Examples:
      lumpable export clicks.db --out events.parquet
      lumpable export clicks.db --out log.parquet --log
      lumpable learn log.parquet --id id --time time --propensity propensity
      lumpable export clicks.db --out log.parquet --log --for state/
      lumpable evidence --state state/ log.parquet
    """
    if state is not None and not log:
        raise click.UsageError("--for is for a log: it needs --log")
    outputs.check({"--out": out}, read=parts_of(file), states=[state])
    if out.is_dir() and not log:
        raise click.UsageError(f"--out: expected a file, got the folder {str(out)!r}")
    with open_store(file) as store:
        if log:
            written = export_log(store, out, now(), "--out", _log_for(store, state))
        else:
            written = export_to(store, out, now(), "--out")
    say(f"{out}: {counted(written, 'event')}")


def _log_for(store: Store, state: Path | None) -> LogFor:
    if state is None:
        return LogFor()
    from lumpable.nightly.night_state import Nightly

    nightly = Nightly(state)
    if not nightly.begun:
        raise BadArgument("--for", "a folder with a state", repr(str(state)))
    return nightly.log_for(settings_of(store).learned_digest)


def parts_of(file: str) -> Iterator[Path]:
    """Yield the files of which an experiment consists."""
    if not is_address(file):
        yield from (Path(f"{file}{more}") for more in ("", ".snapshot", ".lock", "-wal", "-shm"))
