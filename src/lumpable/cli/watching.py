"""A run that people watch: a live line on stderr, and Ctrl-C that stops between requests.

Rich is imported only where stderr is a terminal.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator

from lumpable.base.words import counted, short
from lumpable.plans.plan import Plan
from lumpable.runs.bulk import simulate
from lumpable.runs.run import Run, Step
from lumpable.worlds.world import World


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a run; the message says how far it got."""


def watch_run(
    plan: Plan, world: World, *, seed: int, horizon: int | None = None, label: str = ""
) -> Run:
    """Simulate with a live line on stderr, where that is a terminal; Ctrl-C raises `Stopped`."""
    last: Step | None = None

    with _line(label) as show, _ctrl_c(lambda: show("stopping after this request")) as pressed:

        def watch(step: Step) -> None:
            nonlocal last
            last = step
            show(progress(step, horizon))
            if pressed:
                raise KeyboardInterrupt

        try:
            run = simulate(plan, world, seed=seed, horizon=horizon, watch=watch)
        except (KeyboardInterrupt, SystemError):
            if not pressed:
                raise
            raise Stopped(how_far(last)) from None
    return run


@contextlib.contextmanager
def _ctrl_c(tell: Callable[[], None]) -> Iterator[list[int]]:
    """Only take note of Ctrl-C: raised inside compiled code it would end in a `SystemError`.

    A second Ctrl-C is raised at once. Where Python does not handle Ctrl-C itself (under nohup, or
    with another handler), nothing changes.
    """
    pressed: list[int] = []

    def note(signum: int, _: object) -> None:
        pressed.append(signum)
        tell()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def progress(step: Step, horizon: int | None = None) -> str:
    """Say where a run is, in one line; buckets count rounds of their own."""
    belief = step.request.belief
    words = f"{_bucket(step)}request {step.number + 1}, {short(step.rounds)}"
    far = "" if horizon is None or step.bucket else f" of {short(horizon)}"
    words += f"{far} rounds"
    if belief is None:
        return words
    found = f", {len(belief.candidates)} candidates" if belief.candidates else ""
    if belief.good is not None:
        found = f", {counted(len(belief.good), 'cluster')}"
    return f"{words}{found}: {belief.phase}"


def _bucket(step: Step) -> str:
    return f"bucket {step.bucket[0] + 1}, " if step.bucket else ""


def how_far(step: Step | None) -> str:
    """Say where a run was stopped."""
    same = "the same command with the same seed gives the same run"
    if step is None:
        return f"stopped before the first request was answered; {same}"
    where = f"{_bucket(step)}request {step.number + 1}, {short(step.rounds)} rounds"
    return f"stopped after {where}; {same}"


@contextlib.contextmanager
def _line(label: str) -> Iterator[Callable[[str], None]]:
    """Show a line that is updated in place; nothing when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import SpinnerColumn
    from rich.table import Column

    from lumpable.cli.bars import display

    console = Console(stderr=True)
    kind = "line" if console.options.ascii_only else "dots"
    spinner = SpinnerColumn(kind, table_column=Column(min_width=1))
    prefix = f"{label}: " if label else ""
    with display(console, spinner) as shown:
        task = shown.add_task(f"{prefix}starting")
        yield lambda words: shown.update(task, description=prefix + words)
