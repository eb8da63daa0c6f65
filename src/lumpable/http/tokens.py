"""Who may do what: bearer tokens with roles, kept as digests and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from lumpable.base.errors import BadArgument

Role = Literal["decide", "reward", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
SHORTEST = 16
"""Characters of a token: fewer can be guessed."""
ENVIRONMENT = "LUMPABLE_TOKENS"
EXPECTED = (
    f"roles ({', '.join(ROLES)}; with commas between them), a space, and a token of {SHORTEST} or "
    "more letters, digits and marks"
)


class Tokens:
    """Tokens and what each of them opens; several may open the same, so that they can be changed.

    The role admin opens everything. Without any token everything is open.
    """

    def __init__(self, known: Iterable[tuple[str, frozenset[Role]]] = ()) -> None:
        self._known = [(_digest(token.encode()), roles) for token, roles in known]

    @classmethod
    def parse(cls, text: str, place: str) -> Tokens:
        """Read lines (or parts between semicolons) of roles and a token; # begins a comment."""
        known = []
        for number, line in enumerate(text.replace(";", "\n").splitlines(), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            roles = {role for role in ROLES if role in words[0].split(",")}
            right = len(words) == 2 and len(roles) == len(words[0].split(","))
            if not right or len(words[1]) < SHORTEST or not words[1].isascii():
                raise BadArgument("tokens", EXPECTED, "something else", place=f"{place}:{number}")
            known.append((words[1], frozenset(roles)))
        if not known:
            raise BadArgument("tokens", "at least one token", "none", place=place)
        return cls(known)

    @classmethod
    def load(cls, file: Path | None, environment: str | None) -> Tokens:
        """Read tokens from a file, from the text of the environment, or take none."""
        if file is not None:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
                got = f"{str(file)!r}: {why}"
                raise BadArgument("tokens", "a file of text that can be read", got) from error
            return cls.parse(text, str(file))
        return cls.parse(environment, ENVIRONMENT) if environment else cls()

    def __bool__(self) -> bool:
        return bool(self._known)

    def roles(self, token: bytes) -> frozenset[Role]:
        """Return what a token opens; nothing if nobody knows it. Compares with all, always."""
        given, opened = _digest(token), frozenset[Role]()
        for digest, roles in self._known:
            if hmac.compare_digest(digest, given):
                opened |= roles
        return frozenset(ROLES) if "admin" in opened else opened


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
