"""The page at `/`: files that hold no data, for browsers. Programs still get where to go from here.

Whoever made the files hands them over; what they show, the page asks for like any other caller.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from lumpable.http.guard import respond

Files = Mapping[str, tuple[str, bytes]]
"""Paths, and what is there: content type and content. All but `/` never change under their name."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may do: run our scripts, without `eval`, and ask this service."""
LASTING = (b"cache-control", b"max-age=31536000, immutable")


class PageFile:
    """An ASGI application for one file of the page."""

    def __init__(self, path: str, kind: str, body: bytes) -> None:
        self._path, self._kind, self._body = path, kind.encode(), body
        self._headers = ((b"content-security-policy", POLICY.encode()),
                         (b"vary", b"Accept") if path == "/" else LASTING)  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["lumpable.route"] = self._path
        await respond(send, 200, self._kind, self._body, self._headers)


class Front:
    """The address `/`: the page for browsers, something else for programs."""

    def __init__(self, page: ASGIApp, other: ASGIApp) -> None:
        self._page, self._other = page, other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        wants = Headers(scope=scope).get("accept", "")
        app = self._page if "text/html" in wants else self._other
        await app(scope, receive, send)


def with_page(addresses: Mapping[str, ASGIApp], files: Files) -> dict[str, ASGIApp]:
    """Return addresses with those of the page."""
    pages: dict[str, ASGIApp] = {
        path: PageFile(path, kind, body) for path, (kind, body) in files.items()
    }
    front = {"/": Front(pages["/"], addresses["/"])} if "/" in pages else {}
    return {**addresses, **pages, **front}
