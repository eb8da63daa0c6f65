"""What all addresses of the service share: its life, who may call, what was seen, how to say no."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.types import Scope

from lumpable.http import messages as m
from lumpable.http.guard import bearer, roles_of
from lumpable.http.health import Seen, Watch
from lumpable.http.json_logs import Log, origin
from lumpable.http.life import Life
from lumpable.http.metrics import Meter
from lumpable.http.refusals import Refusal, cause, later, refusal
from lumpable.http.tokens import Role, Tokens
from lumpable.stores.law import StoreError

MOST_WAITING = 1_000
"""Calls under way; more are told to come again. Who has not sent a body yet keeps nobody out."""


SOON = 1.0
"""Seconds in which an experiment says how it goes; else health goes by what it said before."""


def plain(value: Any) -> Any:
    """Return a number out of an array as one that JSON knows."""
    if hasattr(value, "item"):
        return value.item()
    raise NotImplementedError(type(value).__name__)


def logged(error: StoreError) -> dict[str, Any]:
    """Return what the log says of a store that could not do it, without anybody's name."""
    if error.kind == "other":
        return origin(error.__cause__ or error)
    known = {"error": type(error).__name__, "cause": cause(error)}
    if error.kind == "damaged":  # its words may be what stands in the file
        return known
    return known | {"said": str(error).splitlines()[0]}


class Service:
    """What all addresses share."""

    def __init__(self, life: Life, tokens: Tokens, log: Log, hosts: frozenset[str]) -> None:
        self.life, self.tokens, self.log, self.hosts = life, tokens, log, hosts
        self.watch, self.meter = Watch(), Meter()
        self.at_work = 0
        """Calls under way; for one thread, that of the event loop."""
        self.encoder = msgspec.json.Encoder(enc_hook=plain)
        self._look: asyncio.Future[None] | None = None
        self._looks_since = 0.0

    async def in_thread(self, pool: Any, call: Callable[[], Any]) -> Any:
        """Run a call that may wait."""
        return await asyncio.get_running_loop().run_in_executor(pool, call)

    @contextlib.contextmanager
    def at_most(self, calls: int) -> Iterator[None]:
        """Count a call while it is under way; refuse it if there are too many."""
        if self.at_work >= calls:
            raise later("service", f"at most {calls} requests under way", "more")
        self.at_work += 1
        try:
            yield
        finally:
            self.at_work -= 1

    def look(self) -> None:
        """See how the experiment goes; this may wait for those who decide."""
        if self.life.opened is not None:
            with contextlib.suppress(StoreError):  # what was seen last is all that is known then
                self.watch.seen = Seen.of(self.life.opened)

    async def refresh(self) -> None:
        """See how the experiment goes, if it says so soon: health must be told in any case."""
        if self._look is None or self._look.done():
            loop = asyncio.get_running_loop()
            self._looks_since = loop.time()
            self._look = loop.run_in_executor(self.life.looks, self.look)
        await asyncio.wait([self._look], timeout=SOON)

    def concerns(self) -> list[m.Concern]:
        """Return what looks wrong, without waiting for anybody."""
        opened = self.life.opened
        self.watch.writable = self.life.writable
        waiting = 0.0
        if self._look is not None and not self._look.done():
            waiting = asyncio.get_running_loop().time() - self._looks_since
        return self.watch.concerns(0 if opened is None else opened.failed_fits, waiting)

    def allow(self, scope: Scope, role: Role) -> None:
        """Refuse who may not do this."""
        if not self.tokens:
            return
        roles = roles_of(self.tokens, Headers(scope=scope))
        if not roles:
            headers = ((b"www-authenticate", b"Bearer"),)
            got = "an unknown one" if bearer(Headers(scope=scope)) else "none"
            raise Refusal(401, "Authorization", "a known token: 'Bearer ...'", got, headers)
        if role not in roles:
            raise Refusal(403, "token", f"one with the role {role}", ", ".join(sorted(roles)))

    def log_and_refuse(self, error: Exception, route: str) -> Refusal:
        """Return what to tell the caller; write down what is not their fault."""
        known = refusal(error)
        if isinstance(error, StoreError):
            self.watch.on_failure(error)
            self.log.say("store", "error", route=route, **logged(error))
        if known is None:
            id = secrets.token_hex(8)
            self.log.bug(error, id, route)
            return Refusal(500, "service", "an answer", f"an internal error, logged as {id}")
        return known
