"""Errors, by whose fault they are.

`BadArgument`: something handed in is wrong; nothing has changed. Everything else that is raised by
mistake is a bug of this package.
"""

from __future__ import annotations


class BadArgument(ValueError):
    """Something handed in is wrong: which argument, what was expected, and what came.

    `place` says where it stands, such as the file and line of an experiment. Where "expected, got"
    does not fit, `why` says in its own words what is wrong.

    >>> print(BadArgument("groups", "one of 1 .. 4", "5"))
    groups: expected one of 1 .. 4, got 5
    >>> print(BadArgument("path", why="'x.lump' is damaged", place="line 3"))
    line 3: path: 'x.lump' is damaged
    """

    def __init__(
        self, argument: str, expected: str = "", got: str = "", *, why: str = "", place: str = ""
    ) -> None:
        self.argument, self.expected, self.got = argument, expected, got
        self.why, self.place = why, place
        came = f", got {got}" if got else ""
        said = why or f"expected {expected}{came}"
        super().__init__(": ".join(part for part in (place, argument, said) if part))

    def __reduce__(self) -> tuple[object, ...]:
        """Errors of worker processes come home with all they say."""
        parts = (self.argument, self.expected, self.got, self.why, self.place)
        return _again, (type(self), *parts)

    def at(self, place: str) -> BadArgument:
        """Return the same error with the place where it stands."""
        return type(self)(self.argument, self.expected, self.got, why=self.why, place=place)


def _again(
    kind: type[BadArgument], argument: str, expected: str, got: str, why: str, place: str
) -> BadArgument:
    return kind(argument, expected, got, why=why, place=place)
