"""Measure claims in worker processes, keep each as soon as it is done, and write the page.

Knows nothing of what a claim says. What was measured before by the same code is taken over, so
that a run which was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from lumpable.base import files
from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.words import runs
from lumpable.reproduce import record
from lumpable.reproduce.claim import Claim
from lumpable.reproduce.record import Row
from lumpable.reproduce.workers import Answer, Running, Task, finish, measured

NEEDED = {
    "altair": "plot",
    "vl_convert": "plot",
    "scipy": "research",
    "pyarrow": "research",
}
FOLDER = "reproduce"


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run is: after every claim, and about once a second in between."""

    rows: tuple[Row, ...]
    """What there is so far, in the order in which it came."""
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
        Where everything goes. What it holds already is taken over, if the same code measured it
        with the same effort.
    jobs
        Worker processes; by default as many as there are cores.
    fresh
        Forget what was measured before.
    watch
        Is told how far the run is.
    claims
        Other claims than the paper's.

    Workers are new processes, so a script calls this under `if __name__ == "__main__":`.
    """
    jobs = cores() if jobs is None else jobs
    if jobs < 1:
        raise BadArgument("jobs", "at least 1", f"{jobs}")
    for module, extra in NEEDED.items():
        need(module, extra, "reproducing the paper")
    numbers = None if only is None else list(only)
    chosen = choose(load() if claims is None else claims, numbers)
    folder = Path(folder)
    (folder / "claims").mkdir(parents=True, exist_ok=True)
    tasks = [Task(claim, quick, source) for claim, source in fingerprinted(chosen)]
    typed = command(numbers, quick, folder)
    began = time.monotonic()
    rows = measure(tasks, folder, jobs, fresh, watch or (lambda step: None), typed)
    write(rows, folder, typed, jobs, time.monotonic() - began)
    return rows


def load() -> dict[int, Claim]:
    """Return every claim of the paper by its number."""
    from lumpable.reproduce import listed

    return {claim.number: claim for claim in listed.CLAIMS}


def choose(claims: Mapping[int, Claim], only: Iterable[int] | None) -> list[Claim]:
    """Return the claims with these numbers, in order; a number that is none is named."""
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


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- Measuring ------------------------------------------------------------------------------


def measure(
    tasks: list[Task],
    folder: Path,
    jobs: int,
    fresh: bool,
    watch: Callable[[Step], None],
    typed: str,
) -> list[Row]:
    """Return one row a task: taken over, or measured now and kept at once."""
    if fresh:
        for task in tasks:
            place(folder, task).unlink(missing_ok=True)
    rows = {
        task.claim.number: finish(task.claim, found)
        for task in tasks
        if (found := kept(folder, task)) is not None
    }
    taken = tuple(rows)
    ahead = [task for task in tasks if task.claim.number not in rows]
    ahead.sort(key=lambda task: -task.expected)

    def tell(latest: Row | None, running: Iterable[Running]) -> None:
        left = time_left(tasks, rows, list(running), jobs)
        now = tuple(sorted(one.task.claim.number for one in running))
        watch(Step(tuple(rows.values()), taken, now, len(tasks), latest, left))

    tell(None, ())
    try:
        with contextlib.closing(measured(ahead, jobs)) as events:
            for answer, running in events:
                latest = None
                if answer is not None:
                    keep(folder, answer)
                    latest = rows[answer.task.claim.number] = answer.row()
                tell(latest, running)
    except KeyboardInterrupt:
        done = f"stopped after {len(rows)} of {len(tasks)} claims"
        raise KeyboardInterrupt(f"{done}; to go on from there: {typed}") from None
    return [rows[task.claim.number] for task in tasks]


def time_left(
    tasks: Iterable[Task], rows: Mapping[int, Row], running: Iterable[Running], jobs: int
) -> float:
    """Estimate the seconds left from what was expected, scaled by what it took so far."""
    since = {one.task.claim.number: one.since for one in running}
    now = time.monotonic()
    took = expected = 0.0
    for task in tasks:
        if task.claim.number in rows:
            took += rows[task.claim.number].seconds
            expected += task.expected
    pace = took / expected if took and expected else 1.0
    ahead = [
        max(0.0, pace * task.expected - (now - since.get(task.claim.number, now)))
        for task in tasks
        if task.claim.number not in rows
    ]
    return max([sum(ahead) / jobs, *ahead])


def fingerprinted(claims: Iterable[Claim]) -> list[tuple[Claim, str]]:
    """Return each claim with the fingerprint of the code behind it."""
    from lumpable.reproduce.source import fingerprint

    claims = list(claims)
    home = {claim.number: getattr(claim.measure, "func", claim.measure) for claim in claims}
    found = {module: fingerprint(module) for module in {each.__module__ for each in home.values()}}
    return [(claim, found[home[claim.number].__module__]) for claim in claims]


# --- Files ----------------------------------------------------------------------------------


def place(folder: Path, task: Task) -> Path:
    """Return where a claim is kept; a quick look must not overwrite the whole measurement."""
    return folder / "claims" / f"{task.claim.number:02d}{'-quick' if task.quick else ''}.json"


def keep(folder: Path, answer: Answer) -> None:
    """Keep what was measured; what could not be is left for the next run."""
    if not answer.error:
        files.replace(place(folder, answer.task), answer.content)


def kept(folder: Path, task: Task) -> record.Kept | None:
    """Return what is kept, if the same code measured it with the same effort."""
    try:
        found = record.decode(place(folder, task).read_bytes())
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        return None  # none, or damaged: measured again
    same = (found.number, found.quick, found.version, found.source) == task.key
    return found if same else None


def write(rows: list[Row], folder: Path, typed: str, jobs: int, seconds: float) -> None:
    """Write the page and the table."""
    from lumpable.reproduce.page import About, page

    about = About(
        command=typed,
        date=datetime.now().astimezone(),
        cores=cores(),
        jobs=jobs,
        seconds=seconds,
    )
    files.replace(folder / "index.html", page(rows, about).encode())
    files.replace(folder / "rows.parquet", record.parquet(rows))
