"""Measure claims in worker processes, save each as soon as it is done, and write the page.

Knows nothing of what a claim says. A measurement by the same code is used again, so that a stopped
run continues where it was.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lumpable.base import files
from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.fingerprint import digest_behind
from lumpable.base.version import __version__
from lumpable.base.words import runs
from lumpable.comparisons import jobs as engine
from lumpable.comparisons import parquet
from lumpable.comparisons.jobs import cores
from lumpable.reproduce import record
from lumpable.reproduce.claim import Claim, Effort
from lumpable.reproduce.conclude import conclude, describe
from lumpable.reproduce.record import Kept, Row

NEEDED = {"plot": ("altair", "vl_convert"), "research": ("scipy", "pyarrow", "cloudpickle")}
"""Modules by the extra that brings them."""
FOLDER = "reproduce"


@dataclass(frozen=True, slots=True)
class Order:
    """A claim to measure; a saved measurement must agree with it to be used again."""

    claim: Claim
    quick: bool
    source: str
    """A fingerprint of the code that measures."""

    @property
    def number(self) -> int:
        """Return the claim's number."""
        return self.claim.number

    @property
    def expected(self) -> float:
        """About how many seconds it takes."""
        return Effort(self.quick).pick(*self.claim.seconds)

    def about(self, seconds: float) -> dict[str, Any]:
        """Return how it is measured, as files and rows say it."""
        named = {"quick": self.quick, "version": __version__, "source": self.source}
        return {**named, "seconds": seconds}

    def place(self, folder: Path) -> Path:
        """Return the path of its file; a quick look must not overwrite the whole measurement."""
        return folder / "claims" / f"{self.number:02d}{'-quick' if self.quick else ''}.json"

    def read(self, folder: Path) -> Kept | None:
        """Return the saved measurement, if the same code made it with the same effort."""
        try:
            kept = record.decode(self.place(folder).read_bytes())
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
            return None  # none, or damaged: measured again
        same = kept.number == self.number and kept.about() == self.about(kept.seconds)
        return kept if same else None


class Measurement(NamedTuple):
    """What came of an order: a file's content, or an error."""

    seconds: float
    content: bytes = b""
    error: str = ""

    def row(self, order: Order) -> Row:
        """Judge, word and draw it, from what a file holds."""
        if self.error:
            return record.error_row(order.claim, self.error, **order.about(self.seconds))
        return conclude(order.claim, record.decode(self.content))


@dataclass(frozen=True, slots=True)
class Step:
    """The progress of a run: after every claim, and about once a second in between."""

    rows: tuple[Row, ...]
    """Those there are so far, in the order in which they came."""
    taken: tuple[int, ...]
    """The claims that were measured before and are not measured again."""
    running: tuple[int, ...]
    total: int
    latest: Row | None
    """The claim that was measured just now, if any."""
    left: float
    """About how many seconds are left."""


def run(
    only: Iterable[int] | None = None,
    quick: bool = False,
    folder: str | Path = FOLDER,
    jobs: int | None = None,
    *,
    fresh: bool = False,
    watch: Callable[[Step], None] | None = None,
    claims: Mapping[int, Claim] | None = None,
) -> list[Row]:
    """Measure claims of the paper and write `index.html` and `rows.parquet` into a folder.

    Parameters
    ----------
    only
        Numbers of claims; all by default.
    quick
        A look of a minute or two instead of the whole measurement, which takes about ten.
    folder
        Where everything goes. A measurement in it is used again if the same code made it with the
        same effort.
    jobs
        Worker processes; by default one for each core.
    fresh
        Delete earlier measurements first.
    watch
        Called with the progress of the run.
    claims
        Other claims than the paper's.

    Only `measure` of a claim runs in worker processes. Its result is saved, and checks, words and
    figures are made from the file, so that changing those costs no new measurement.
    """
    jobs = cores() if jobs is None else jobs
    if jobs < 1:
        raise BadArgument("jobs", "at least 1", f"{jobs}")
    for extra, modules in NEEDED.items():
        for module in modules:
            need(module, extra, "reproducing the paper")
    numbers = None if only is None else list(only)
    chosen = choose(load() if claims is None else claims, numbers)
    folder = Path(folder)
    (folder / "claims").mkdir(parents=True, exist_ok=True)
    orders = [Order(claim, quick, fingerprint(claim)) for claim in chosen]
    typed = command(numbers, quick, folder)
    began = time.monotonic()
    rows = carry_out(orders, folder, jobs, fresh, watch or (lambda step: None), typed)
    write(rows, folder, typed, jobs, time.monotonic() - began)
    return rows


def load() -> dict[int, Claim]:
    """Return every claim of the paper by its number."""
    from lumpable.reproduce import listed

    return {claim.number: claim for claim in listed.CLAIMS}


def choose(claims: Mapping[int, Claim], only: Iterable[int] | None) -> list[Claim]:
    """Return the claims with these numbers, in order; unknown numbers are an error."""
    wanted = set(claims if only is None else only)
    unknown = sorted(wanted - set(claims))
    if unknown:
        named = ", ".join(map(str, unknown))
        raise BadArgument("only", why=f"there is no claim {named}; there are {ranges(claims)}")
    if not wanted:
        raise BadArgument("only", why="expected at least one claim")
    return [claims[number] for number in sorted(wanted)]


def ranges(numbers: Iterable[int]) -> str:
    """Write numbers briefly, as `--only` takes them.

    >>> ranges([3, 1, 2, 15])
    '1-3,15'
    """
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs(numbers))


def command(only: Iterable[int] | None, quick: bool, folder: Path) -> str:
    """Return what to type for the same rows."""
    words = ["lumpable", "reproduce", *(["--quick"] if quick else [])]
    words += [] if only is None else ["--only", ranges(only)]
    words += [] if folder == Path(FOLDER) else ["--folder", str(folder)]
    return shlex.join(words)


# --- Measuring ------------------------------------------------------------------------------


def carry_out(
    orders: list[Order],
    folder: Path,
    jobs: int,
    fresh: bool,
    watch: Callable[[Step], None],
    typed: str,
) -> list[Row]:
    """Return one row an order: from a saved measurement, or measured now and saved at once."""
    if fresh:
        for order in orders:
            order.place(folder).unlink(missing_ok=True)
    rows = {
        order.number: conclude(order.claim, kept)
        for order in orders
        if (kept := order.read(folder)) is not None
    }
    taken = tuple(rows)
    ahead = {order.number: order for order in orders if order.number not in rows}
    longest_first = sorted(ahead.values(), key=lambda order: -order.expected)

    def tell(latest: Row | None, running: Mapping[int, float]) -> None:
        left = time_left(orders, rows, running, jobs)
        watch(Step(tuple(rows.values()), taken, tuple(sorted(running)), len(orders), latest, left))

    tell(None, {})
    tasks = [engine.Task(order.number, measure, order) for order in longest_first]
    began: dict[int, float] = {}
    try:
        with contextlib.closing(engine.in_processes(tasks, jobs)) as events:
            for answer, running in events:
                began |= running
                latest = None
                if answer is not None:
                    order, done = ahead[answer.key], answer.result
                    if answer.error is not None:
                        passed = time.monotonic() - began[answer.key]
                        done = Measurement(passed, error=str(answer.error))
                    if not done.error:
                        files.replace(order.place(folder), done.content)
                    latest = rows[answer.key] = done.row(order)
                tell(latest, running)
    except KeyboardInterrupt:
        words = f"stopped after {len(rows)} of {len(orders)} claims; to resume: {typed}"
        raise KeyboardInterrupt(words) from None
    return [rows[order.number] for order in orders]


def measure(order: Order) -> Measurement:
    """Measure one claim, in a worker; return the content of its file."""
    began = time.perf_counter()
    try:
        measured = order.claim.measure(Effort(order.quick))
        seconds = time.perf_counter() - began
        kept = Kept(number=order.number, measured=measured, **order.about(seconds))
        return Measurement(seconds, record.encode(kept))
    except Exception as error:
        return Measurement(time.perf_counter() - began, error=describe(error))


def time_left(
    orders: Sequence[Order], rows: Mapping[int, Row], running: Mapping[int, float], jobs: int
) -> float:
    """Estimate the seconds left from the expected ones, scaled by those taken so far."""
    now = time.monotonic()
    took = sum(rows[order.number].seconds for order in orders if order.number in rows)
    expected = sum(order.expected for order in orders if order.number in rows)
    pace = took / expected if took and expected else 1.0
    ahead = [
        max(0.0, pace * order.expected - (now - running.get(order.number, now)))
        for order in orders
        if order.number not in rows
    ]
    return max([sum(ahead) / jobs, *ahead])


def fingerprint(claim: Claim) -> str:
    """Return a fingerprint of the code that measures a claim; words and pictures do not count."""
    return digest_behind(claim.measure, "lumpable.reproduce", without=("reports", "cli"))


# --- Files ----------------------------------------------------------------------------------


def write(rows: list[Row], folder: Path, typed: str, jobs: int, seconds: float) -> None:
    """Write the page and the table."""
    from lumpable.reproduce.page import page

    date = datetime.now().astimezone()
    text = page(rows, command=typed, date=date, cores=cores(), jobs=jobs, seconds=seconds)
    files.replace(folder / "index.html", text.encode())
    parquet.write(record.table(rows), folder / "rows.parquet")
