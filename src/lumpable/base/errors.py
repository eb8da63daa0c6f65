"""Errors, by whose fault they are.

`BadArgument`: the caller handed in something wrong, and nothing has changed. Any other error that
nobody asked for is a bug of this package.
"""

from __future__ import annotations

from functools import partial


class BadArgument(ValueError):
    """An argument is wrong: which one, what was expected, and what it was.

    `place` says where it stands, such as the file and line of an experiment. Where "expected, got"
    does not fit, `why` explains what is wrong.

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
        reason = why or f"expected {expected}" + (f", got {got}" if got else "")
        super().__init__(": ".join(part for part in (place, argument, reason) if part))

    def __reduce__(self) -> tuple[object, ...]:
        """Keep every part when a worker process sends the error home."""
        again = partial(type(self), why=self.why, place=self.place)
        return again, (self.argument, self.expected, self.got)

    def named(self, argument: str) -> BadArgument:
        """Return the same error of an argument that is called otherwise."""
        return type(self)(argument, self.expected, self.got, why=self.why, place=self.place)

    def at(self, place: str) -> BadArgument:
        """Return the same error with the place where it stands."""
        return type(self)(self.argument, self.expected, self.got, why=self.why, place=place)
