"""A simulated shop that plays against a service of its own, with a live line on stderr."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lumpable.base.words import counted
from lumpable.cli.bars import Advance, progress
from lumpable.client import Client, Refused, Unreachable
from lumpable.http import installed
from lumpable.playground.child_service import WINDOW, ChildService, ServiceGone, settings_for
from lumpable.playground.shop import Shop
from lumpable.playground.simulated_platform import Platform
from lumpable.playground.takings import Takings
from lumpable.playground.visits import visits_from

SEED = 0
"""Of the truth, of who comes, and of the service."""
PACE = 1_500.0
"""Visits a second, at most: fits beside keep up with that."""
BAR = 10
LINE, LOOK = 5.0, 2.0
"""Seconds between lines without a terminal, and between looks at what is believed."""


@dataclass(frozen=True)
class Scale:
    """How much is played."""

    shop: Shop
    visits: int = 24_000
    pace: float = PACE

    @property
    def new_at(self) -> int:
        """The visit at which the new offer comes."""
        return self.visits // 2


@contextlib.contextmanager
def service_for(shop: Shop, file: Path, port: int = 0) -> Iterator[ChildService]:
    """Run a service on a file; wait until it is ready, and show that something is going on."""
    installed.check()
    file.parent.mkdir(parents=True, exist_ok=True)
    with _ends_as_ctrl_c(), ChildService(file, settings_for(shop, SEED), port=port) as service:
        with progress(LINE, width=BAR) as (_, advance):
            for _ in service.until_ready():
                advance(0, None, "the service gets ready; on a new machine it compiles first")
        yield service


@contextlib.contextmanager
def _ends_as_ctrl_c() -> Iterator[None]:
    """Stop in the same order when somebody ends this process otherwise: the service must not stay.

    By SIGTERM, or by closing the terminal; what is ignored, as under nohup, stays so.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in filter(None, (signal.SIGTERM, getattr(signal, "SIGHUP", None))):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Watched:
    """A platform that somebody watches; leaving the block closes its connection."""

    def __init__(self, service: ChildService, scale: Scale) -> None:
        self._service, self._client = service, Client(service.url, timeout=60.0)
        with self._report_lost_service():
            self.first = int(self._client.status()["experiment"]["decisions"])
        """Visits that the file had already."""
        self.platform = Platform(
            self._client, scale.shop, visits_from(scale.shop, SEED, self.first), window=WINDOW,
            new_at=scale.new_at, first=self.first,
        )  # fmt: skip
        self._groups, self._looked = 1, -LOOK

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    @property
    def visits(self) -> int:
        """All visits of the file."""
        return self.platform.visits

    def play(self, until: int | None, pace: float, every: float = LINE) -> None:
        """Let visitors come until there were so many (None: for ever), and show how it goes."""
        more = float("inf") if until is None else until - self.first
        with self._report_lost_service(), progress(every, width=BAR) as (_, advance):
            for takings in self.platform.play(more, pace):
                self._show(advance, takings, until)
            advance(self.visits, until, "waiting for the last clicks")
            self.platform.finish()

    def _show(self, advance: Advance, takings: Takings, until: int | None) -> None:
        if time.monotonic() - self._looked > LOOK:
            self._groups = len(self._client.groups()["groups"])
            self._looked = time.monotonic()
        advance(self.visits, until, line(self.visits, takings, self._groups))

    @contextlib.contextmanager
    def _report_lost_service(self) -> Iterator[None]:
        """Say it in a line when the service is there no more."""
        try:
            yield
        except (Unreachable, Refused) as error:
            self._service.check()
            raise ServiceGone(f"the service does not answer as it should: {error}") from error


def line(visits: int, takings: Takings, groups: int) -> str:
    """Say how it goes: how often the best offer is shown lately is what counts."""
    return (
        f"{visits:,} visits, {takings.clicks:,} clicks, {counted(groups, 'group')}, "
        f"favourites {takings.favourites:.0%}"
    )
