"""Options that may be taken back by the word `none`, as Python's None does it."""

from __future__ import annotations

from typing import Any

import click

WORD = "none"


class Unset:
    """What `none` stands for on the command line, until it is told from an option not given."""


class OrNone(click.ParamType[Any]):
    """A type of option, or the word `none`."""

    def __init__(self, inner: click.ParamType[Any]) -> None:
        self._inner = inner
        self.name = f"{inner.name}|{WORD}"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read an option."""
        if value is Unset or (isinstance(value, str) and value.lower() == WORD):
            return Unset
        return self._inner.convert(value, param, ctx)


FLOAT, INTEGER, TEXT = OrNone(click.FLOAT), OrNone(click.INT), OrNone(click.STRING)


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, as Python is told them.

    >>> given_options({"window": Unset, "seed": None, "floor": 0.1})
    {'window': None, 'floor': 0.1}
    """
    return {
        name: None if value is Unset else value
        for name, value in options.items()
        if value is not None
    }
