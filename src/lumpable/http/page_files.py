"""The page at `/`: files that hold no data, for browsers. Programs still get where to go from here.

Whoever knows how makes the files, beside, as soon as the service is ready: the first who looks
should not wait. What they show, the page asks for like any other caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from lumpable.http.refusals import Refusal

Files = Mapping[str, tuple[str, bytes]]
"""Paths, and what is there: content type and content. All but `/` never change under their name."""
BELOW = "/page/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may do: run our scripts, without `eval`, and ask this service."""
LASTING = (b"cache-control", b"max-age=31536000, immutable")
Header = tuple[bytes, bytes]


class PageFiles:
    """Makes the files, once."""

    def __init__(self, make: Callable[[], Files]) -> None:
        self._make, self._turn = make, threading.Lock()

    @functools.cached_property
    def _files(self) -> Files:
        return self._make()

    def begin(self) -> None:
        """Make the files in a thread, which nobody waits for when the process ends."""
        threading.Thread(target=self._prepare, name="lumpable page", daemon=True).start()

    def _prepare(self) -> None:
        with contextlib.suppress(Exception):  # who looks tries again, and is told
            self.files()

    def files(self) -> Files:
        """Return the files; who comes while they are made waits."""
        with self._turn:
            return self._files

    async def answer(self, path: str) -> tuple[int, bytes, bytes, tuple[Header, ...]]:
        """Return what is at a path: status, content type, content and headers."""
        found = (await asyncio.to_thread(self.files)).get(path)
        if found is None:
            raise Refusal(404, "path", "a file that the page at / names")
        kind, body = found
        rest = (b"vary", b"Accept") if path == "/" else LASTING
        return 200, kind.encode(), body, ((b"content-security-policy", POLICY.encode()), rest)

    async def file(self, scope: Scope, receive: Receive) -> tuple[int, bytes, bytes, object]:
        """Answer a request for one of the files."""
        return await self.answer(BELOW + scope["path_params"]["name"])


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks, which can show a page."""
    return "text/html" in Headers(scope=scope).get("accept", "")
