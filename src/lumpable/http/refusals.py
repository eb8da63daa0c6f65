"""Every way to say no: an HTTP status, and what was wrong, expected and got."""

from __future__ import annotations

import re

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.http.messages import Failed, Fault
from lumpable.service.entering import KNOWN_ARMS
from lumpable.stores.law import StoreError, Trouble

AGAIN = 1
"""Seconds after which to try again what the store could not do."""
STATUSES = {
    400: "The request is wrong; nothing has changed.",
    401: "The token is missing or unknown.",
    403: "The token lacks the required role, or a page of another site sent the request.",
    404: "No such path.",
    405: "This path does not support the method.",
    408: "Headers or body did not arrive in time.",
    409: "The event was decided before, and the action is not among those that are named.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host header names another host.",
    431: "The headers are too large.",
    500: "Internal error; see the log under the given id.",
    503: "Nothing was done; try again after Retry-After seconds.",
}
EXPECTED = re.compile(r"(?:Expected (?P<expected>.*?)(?:, got (?P<got>.*?))?|(?P<why>.*?))"
                      r"(?: - at `(?P<place>.*)`)?", re.DOTALL)  # fmt: skip
WHY = (
    (re.compile(r"JSON is malformed: (.*)", re.DOTALL), "JSON", "{}"),
    (re.compile(r"Input data was truncated"), "JSON", "nothing, or JSON that breaks off"),
    (re.compile(r"Object missing required field (.*)", re.DOTALL), "a field {}", "none"),
    (re.compile(r"Object contains unknown field (.*)", re.DOTALL), "no unknown field", "{}"),
    (
        re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL),
        "one of the values in /openapi.json",
        "{}",
    ),
    (re.compile(r"(?:Integer value|Number) out of range"), "a number of at most 64 bits", "more"),
)
"""What a decoder says that names no expectation, what was expected then, and what came."""


CAUSES: dict[Trouble, str] = {
    "full": "disk full",
    "read-only": "read-only",
    "disk": "the disk reports an error",
    "files": "too many open files",
    "gone": "the file was removed or replaced",
    "busy": "in use by another process",
    "read": "somebody reads the file",
    "damaged": "damaged (see lumpable verify)",
    "away": "the database server is away",
    "closed": "the service is stopping",
    "decided": "the event was decided meanwhile",
    "other": "not written; the log on stderr says why",
}
"""What callers are told of a store, whose own words may name its file, its address, or somebody."""


def cause(error: StoreError) -> str:
    """Return why a store could not do it, without any name in it.

    >>> cause(StoreError("database or disk is full", "full", place="/srv/ann/clicks.db"))
    'disk full'
    """
    return CAUSES[error.kind]


IN_HTTP = {KNOWN_ARMS: "known arms (see POST /arms/add, or serve with --new-arms)"}
"""Expectations that name Python's functions, and how callers would say it."""


class Refusal(Exception):
    """A request that is not served: with a status and words for the caller."""

    def __init__(
        self, status: int, what: str, expected: str, got: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(what)
        self.status, self.headers = status, headers
        self.body = msgspec.json.encode(Failed(error=Fault(what=what, expected=expected, got=got)))


def later(what: str, expected: str, got: str = "", after: int = AGAIN) -> Refusal:
    """Refuse for now."""
    return Refusal(503, what, expected, got, ((b"retry-after", str(after).encode()),))


def refusal(error: Exception) -> Refusal | None:
    """Return how to tell an error to the caller; None: it is a bug."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, BadArgument):
        expected, got = expectation(error)
        return Refusal(400, error.argument, IN_HTTP.get(expected, expected), got)
    if isinstance(error, StoreError):
        return later("store", "a store that takes events; nothing was done", cause(error))
    return None


def expectation(error: BadArgument) -> tuple[str, str]:
    """Return what was expected and what came, also of an error that only says why.

    >>> expectation(BadArgument("learner", why="'ucb' finds no groups; Lumps does"))
    ('something that this experiment can do', "'ucb' finds no groups; Lumps does")
    """
    if error.expected:
        return error.expected, error.got
    return "something that this experiment can do", error.why


def unreadable(error: Exception, whole: str = "body") -> Refusal:
    """Say why a body, or another `whole`, could not be decoded."""
    if isinstance(error, RecursionError):
        return Refusal(400, "body", "JSON that is less deeply nested")
    if isinstance(error, UnicodeDecodeError):
        return Refusal(400, "body", "JSON in UTF-8")
    found = EXPECTED.fullmatch(str(error))
    assert found is not None  # the pattern matches every text
    place = (found["place"] or whole).removeprefix("$.")
    if found["expected"]:
        expected, got = found["expected"], found["got"] or ""
    else:
        expected, got = translate(found["why"])
    return Refusal(400, place, expected.replace("`", ""), got.replace("`", ""))


def translate(why: str) -> tuple[str, str]:
    """Return what was expected where a decoder said why it stopped, and what came.

    >>> translate("JSON is malformed: trailing characters (byte 16)")
    ('JSON', 'trailing characters (byte 16)')
    >>> translate("Object missing required field `user`")
    ('a field `user`', 'none')
    """
    for pattern, expected, got in WHY:
        if found := pattern.fullmatch(why):
            return expected.format(*found.groups()), got.format(*found.groups())
    return "what /openapi.json says", why
