"""The document of the API, made from the types that requests are decoded with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from lumpable.base.version import __version__
from lumpable.http import messages as m
from lumpable.http.endpoints import Endpoint
from lumpable.http.refusals import STATUSES

REF = "#/components/schemas/{name}"
OPEN: tuple[tuple[str, Any, str, tuple[int, ...]], ...] = (
    ("/", m.Pointer, "Where to go from here.", ()),
    ("/health", m.Health, "Alive; what looks wrong, and what to do about it.", ()),
    ("/ready", m.Ready, "Whether it is open and compiled, and its file may be written.", (503,)),
    ("/openapi.json", dict[str, Any], "This document.", ()),
)
"""What needs no token."""
READ: tuple[tuple[str, Any, str], ...] = (
    ("/status", m.StatusNow, "Counts of what happened, and the settings."),
    ("/metrics", None, "Counts for Prometheus, as text."),
)
"""What needs the role read, beside the endpoints."""
ALWAYS = (400, 405, 408, 413, 421, 431, 500, 503)
"""What any address may answer."""


def document(endpoints: Iterable[Endpoint], *, tokens: bool) -> dict[str, Any]:
    """Return the OpenAPI document; `tokens`: whether some are needed."""
    endpoints = tuple(endpoints)
    types = [*(e.takes for e in endpoints if e.takes and e.method == "POST"),
             *(e.gives for e in endpoints if e.gives), *(t for _, t, *_ in OPEN),
             *(t for _, t, _ in READ if t), m.Failed]  # fmt: skip
    types = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(types, ref_template=REF)
    schema = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for e in endpoints:
        paths.setdefault(e.path, {})[e.method.lower()] = _endpoint(e, schema, tokens)
    for path, gives, about, extra in OPEN:
        paths[path] = {"get": _operation(path, about, _json(schema[gives]), 200, schema, extra)}
        paths[path]["get"]["security"] = []
    for path, gives, about in READ:
        content = _json(schema[gives]) if gives else {"text/plain": {"schema": {"type": "string"}}}
        extra = _guard_refusals(tokens)
        paths[path] = {"get": _operation(path, about, content, 200, schema, extra)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lumpable", "version": __version__,
                 "description": "Decide now, learn later, lose nothing."},
        "paths": paths,
        "components": {"schemas": components,
                       "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}] if tokens else [],
    }  # fmt: skip


def _guard_refusals(tokens: bool) -> tuple[int, ...]:
    return (401, 403) if tokens else (403,)


def _endpoint(e: Endpoint, schema: dict[Any, Any], tokens: bool) -> dict[str, Any]:
    """Describe an endpoint."""
    content = _json(schema[e.gives]) if e.gives else None
    extra = (
        *_guard_refusals(tokens),
        *e.refusals,
        *((415,) if e.method == "POST" and e.takes else ()),
    )
    about = f"{e.about} Role: {e.role}." if tokens else e.about
    operation = _operation(e.path, about, content, e.status, schema, extra)
    parameters = [_parameter(name, "path", {"type": "string", "minLength": 1, "maxLength": 200})
                  for name in re.findall(r"\{(\w+)\}", e.path)]  # fmt: skip
    if e.takes is not None and e.method == "POST":
        operation["requestBody"] = {"required": True, "content": _json(schema[e.takes])}
    elif e.takes is not None:
        _, found = msgspec.json.schema_components([e.takes])
        query = found[e.takes.__name__]
        parameters += [
            _parameter(name, "query", each, required=name in query.get("required", ()))
            for name, each in query["properties"].items()
        ]
    if parameters:
        operation["parameters"] = parameters
    return operation


def _parameter(name: str, place: str, schema: Any, required: bool = True) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": schema}


def _operation(
    path: str, about: str, content: Any, status: int, schema: dict[Any, Any],
    extra: tuple[int, ...],
) -> dict[str, Any]:  # fmt: skip
    """Describe what an address answers."""
    missing = (404,) if "{" in path else ()
    responses: dict[str, Any] = {str(status): {"description": "Done."}}
    if content is not None:
        responses[str(status)]["content"] = content
    for other in sorted({*ALWAYS, *extra, *missing}):
        content = _json(schema[m.Failed])
        if path == "/ready" and other == 503:
            content = _json({"anyOf": [schema[m.Ready], schema[m.Failed]]})
        responses[str(other)] = {"description": STATUSES[other], "content": content}
    return {"summary": about.split(". ")[0].rstrip("."), "description": about,
            "responses": responses}  # fmt: skip


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
