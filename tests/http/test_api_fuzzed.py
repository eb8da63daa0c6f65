"""The document of the API against the API: whatever is sent, what comes back is documented."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Err
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from kits.service import opened
from lumpable.http.application import application
from lumpable.http.guard import LOCAL, host_of
from lumpable.http.json_logs import Log
from lumpable.http.life import Life
from lumpable.http.tokens import Tokens

CHECKS = (
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance, negative_data_rejection,
)  # fmt: skip


pytestmark = pytest.mark.filterwarnings("ignore:.*are two names")  # 17 and "17" both come
REFUSED = ["400", "403", "404", "405", "413", "415", "421"]
CONFIG = {"checks": {"negative_data_rejection": {"expected-statuses": REFUSED}}}


def without_lifespan(app: ASGIApp) -> ASGIApp:
    """Return an application whose life does not begin and end with each request."""

    async def only_requests(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await app(scope, receive, send)

    return only_requests


@pytest.fixture(scope="module")
def app() -> Iterator[ASGIApp]:
    lines: list[str] = []
    log = Log(lines.append)
    life = Life(opened, log, lambda experiment: None)
    hosts = LOCAL | {host_of(asgi.HOST)}
    made = application(life, tokens=Tokens(), hosts=hosts, log=log)
    life.start()
    life._thread.join()
    yield without_lifespan(made)
    life.close()
    assert not [line for line in lines if '"bug"' in line]


def explore(app: ASGIApp, path: str, examples: int) -> None:
    """Send what the document allows, and what it does not."""
    document = schemathesis.openapi.from_asgi(
        "/openapi.json", app, config=schemathesis.Config.from_dict(CONFIG)
    )
    for found in document.include(path=path).get_all_operations():
        assert not isinstance(found, Err), found.err()
        operation = found.ok()
        cases = operation.as_strategy()
        wrong = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
        @given(case=st.one_of(cases, wrong))
        def send(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(checks=list(CHECKS))

        send()


PATHS = ["/decide", "/decide/many", "/reward", "/reward/many", "/activate", "/observe", "/arms/add",
         "/arms/pause", "/arms/resume", "/arms/remove", "/forget", "/groups", "/explain",
         "/activity", "/beliefs", "/expected", "/policy", "/recommended", "/", "/health", "/ready",
         "/status", "/metrics",
         "/personalizer/v1.0/rank", "/personalizer/v1.0/events/{eventId}/reward",
         "/personalizer/v1.0/events/{eventId}/activate"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_whatever_is_sent_is_answered_as_documented(app: ASGIApp, path: str) -> None:
    explore(app, path, 4)


@pytest.mark.nightly
@pytest.mark.parametrize("path", PATHS)
def test_much_that_is_sent_is_answered_as_documented(app: ASGIApp, path: str) -> None:
    explore(app, path, 300)
