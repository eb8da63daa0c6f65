"""The ASGI application: guards, decodes, calls, encodes. Everything it says is JSON, or metrics.

Decisions and rewards of many connections are made together, and wait for one commit together; what
takes longer has a thread of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lumpable.base.version import __version__
from lumpable.http import messages as m
from lumpable.http import metrics, personalizer
from lumpable.http.endpoints import ENDPOINTS, Endpoint
from lumpable.http.guard import JSON, Guard, body_of, respond
from lumpable.http.json_logs import Log
from lumpable.http.life import Life
from lumpable.http.openapi import document
from lumpable.http.page_files import BELOW, PageFiles, wants_page
from lumpable.http.refusals import Refusal, unreadable
from lumpable.http.shared_by_all import MOST_WAITING, Service
from lumpable.http.tokens import Role, Tokens
from lumpable.service.settings import to_user_units


class Serve:
    """An ASGI application for one address."""

    def __init__(self, service: Service, route: str, answer: Callable[[Scope, Receive], Any]):
        self._service, self._route, self.answer = service, route, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["lumpable.route"] = self._route
        try:
            status, kind, body, *more = await self.answer(scope, receive)
            headers: tuple[tuple[bytes, bytes], ...] = more[0] if more else ()
        except Exception as error:
            known = self._service.log_and_refuse(error, self._route)
            status, kind, body, headers = known.status, JSON, known.body, known.headers
        await respond(send, status, kind, body, headers)


class Straight:
    """Leads calls that come often to their address at once: to search it costs a tenth of them."""

    def __init__(self, inner: ASGIApp, posts: dict[str, Serve]) -> None:
        self._inner, self._posts = inner, posts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        often = scope["type"] == "http" and scope["method"] == "POST"
        await (self._posts.get(scope["path"], self._inner) if often else self._inner)(
            scope, receive, send
        )


def serve_endpoint(service: Service, endpoint: Endpoint) -> Serve:
    """Return the application of an endpoint."""
    takes, life = endpoint.takes, service.life
    post, pool = endpoint.method == "POST", life.calls if endpoint.method == "POST" else life.reads
    decoder = msgspec.json.Decoder(takes) if takes is not None and post else None

    async def answer(scope: Scope, receive: Receive) -> tuple[int, bytes, bytes]:
        service.allow(scope, endpoint.role)
        asked: Any = None
        if post:
            body = await body_of(scope, receive, endpoint.limit, json=decoder is not None)
            asked = None if decoder is None else _decode(decoder.decode, body)
        elif takes is not None:
            asked = query_of(scope, takes)
        experiment, path = life.experiment, scope.get("path_params", {})

        def work() -> tuple[Any, bytes]:
            try:
                made = endpoint.call(experiment, asked, path)
            except (msgspec.MsgspecError, RecursionError) as error:
                raise unreadable(error) from error
            return made, service.encoder.encode(made) if endpoint.gives is not None else b""

        with service.at_most(MOST_WAITING):
            made, encoded = await (
                life.quick.run(work) if endpoint.quick else service.in_thread(pool, work)
            )
        if endpoint.note is not None:
            endpoint.note(service.watch, made)
        return endpoint.status, JSON, encoded

    return Serve(service, endpoint.path, answer)


def _decode(decode: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(error) from error


def query_of(scope: Scope, takes: type[m.Message]) -> m.Message:
    """Return the parameters of an address; unknown and repeated ones are refused."""
    pairs = Request(scope).query_params.multi_items()
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Refusal(400, "query", "each parameter once", "one of them twice")
    try:
        return msgspec.convert(given, takes)
    except msgspec.MsgspecError as error:
        raise unreadable(error, "query") from error


def serve_status(
    service: Service, path: str, role: Role | None, answer: Callable[[], Any], *,
    slow: bool = False, first: Callable[[], Awaitable[None]] | None = None,
) -> Serve:  # fmt: skip
    """Return the application of an address that tells about the service: (status, kind, body)."""

    async def answered(scope: Scope, receive: Receive) -> Any:
        if role is not None:
            service.allow(scope, role)
        query_of(scope, m.Nothing)
        if first is not None:
            await first()
        return await service.in_thread(service.life.reads, answer) if slow else answer()

    return Serve(service, path, answered)


def about_itself(service: Service, endpoints: tuple[Endpoint, ...]) -> dict[str, Serve]:
    """Return the addresses that tell about the service."""
    life, encode = service.life, service.encoder.encode
    api = msgspec.json.encode(document(endpoints, tokens=bool(service.tokens)))
    pointer = encode(m.Pointer(lumpable=__version__, openapi="/openapi.json", status="/status"))

    def health() -> tuple[int, bytes, bytes]:
        found = service.concerns()
        return 200, JSON, encode(m.Health(alive=True, fine=not found, concerns=found))

    def ready() -> tuple[int, bytes, bytes]:
        is_ready = life.ready
        stage = "read-only" if life.stage == "ready" and not is_ready else life.stage
        return 200 if is_ready else 503, JSON, encode(m.Ready(ready=is_ready, stage=stage))

    def status() -> tuple[int, bytes, bytes]:
        e = life.experiment
        now = m.StatusNow(experiment=e.status(), settings=to_user_units(e.settings),
                          lumpable=__version__, up_seconds=time.monotonic() - life.begun,
                          trouble=service.watch.trouble)  # fmt: skip
        return 200, JSON, encode(now)

    def measured() -> tuple[int, bytes, bytes]:
        known = None if life.opened is None else life.opened.status()
        service.look()
        seen = service.watch.seen
        arms = () if seen is None else seen.activity.arms
        body = metrics.text(service.meter, life.ready, known, arms, service.watch.standing(),
                            len(service.concerns()))  # fmt: skip
        return 200, metrics.CONTENT_TYPE, body

    return {
        "/": serve_status(service, "/", None, lambda: (200, JSON, pointer)),
        "/openapi.json": serve_status(service, "/openapi.json", None, lambda: (200, JSON, api)),
        "/health": serve_status(service, "/health", None, health, first=service.refresh),
        "/ready": serve_status(service, "/ready", None, ready),
        "/status": serve_status(service, "/status", "read", status, slow=True),
        "/metrics": serve_status(service, "/metrics", "read", measured, slow=True),
    }


def page_addresses(service: Service, page: PageFiles, pointer: Serve) -> dict[str, Serve]:
    """Return the addresses of the page; who wants no page gets what was at `/` before."""

    async def front(scope: Scope, receive: Receive) -> Any:
        return await (page.answer("/") if wants_page(scope) else pointer.answer(scope, receive))

    name = f"{BELOW}{{name}}"
    return {"/": Serve(service, "/", front), name: Serve(service, name, page.file)}


def unknown(request: Request, error: Exception) -> Response:
    """Answer where no address is, or not with this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        known = Refusal(405, "method", allowed, request.method)
    else:
        known = Refusal(404, "path", "a path of /openapi.json")
    return Response(known.body, known.status, dict(error.headers or {}), JSON.decode())


def application(
    life: Life, *, tokens: Tokens, hosts: frozenset[str], log: Log,
    user_feature: str = personalizer.USER, page: PageFiles | None = None,
) -> ASGIApp:  # fmt: skip
    """Return the whole application; it opens the experiment when it starts."""
    service = Service(life, tokens, log, hosts)
    endpoints = (*ENDPOINTS, *personalizer.endpoints(user_feature))
    calls = [serve_endpoint(service, e) for e in endpoints]
    routes = [Route(e.path, call, methods=[e.method])
              for e, call in zip(endpoints, calls, strict=True)]  # fmt: skip
    often = {e.path: call for e, call in zip(endpoints, calls, strict=True)
             if e.quick and e.method == "POST" and "{" not in e.path}  # fmt: skip
    others = about_itself(service, endpoints)
    if page is not None:
        others |= page_addresses(service, page, others["/"])
        life.on_ready = page.begin
    routes += [Route(path, serve, methods=["GET"]) for path, serve in others.items()]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        life.start()
        yield
        await asyncio.to_thread(life.close)

    inner = Starlette(routes=routes, lifespan=lifespan,
                      exception_handlers={HTTPException: unknown})  # fmt: skip
    inner.router.redirect_slashes = False
    return Guard(Straight(inner, often), hosts, log, service.meter)
