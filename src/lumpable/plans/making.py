"""How a generator function becomes an algorithm: a function that returns plans."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, Protocol, overload

from lumpable.base.errors import BadArgument
from lumpable.plans.about import About
from lumpable.plans.plan import Branching, Plan
from lumpable.plans.problem import Constants, Problem

P = ParamSpec("P")
ROOM = "lumpable.plans."
"""Left out of a plan's public name, `lumpable.pac.near_uniform`, which files keep."""
CHECKED = (Problem, Constants, bool)
"""Types that are checked when a plan is made; plans check their numbers themselves."""


class Algorithm(Protocol[P]):
    """A function that makes plans, with a description of them."""

    about: About

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Plan:
        """Make a fresh plan."""
        ...


@overload
def algorithm(about: Callable[P, Branching], /) -> Algorithm[P]: ...
@overload
def algorithm(about: About, /) -> Callable[[Callable[P, Branching]], Algorithm[P]]: ...
def algorithm(about: Any, /) -> Any:
    """Make the generator function of an algorithm return a `Plan`.

    Use it as `@algorithm`, or as `@algorithm(About(...))` to describe the plan. A function that
    chooses between plans returns the chosen one instead.
    """
    if isinstance(about, About):
        return functools.partial(_algorithm, about)
    return _algorithm(About(), about)


def _algorithm(about: About, body: Callable[P, Branching]) -> Algorithm[P]:
    signature = inspect.signature(body)
    hints: dict[str, Any] = {}
    method = body.__name__
    complete = replace(
        about,
        title=about.title or method.replace("_", " "),
        option=about.option or method.replace("_", "-"),
        name=f"{body.__module__}.{body.__qualname__}".replace(ROOM, "lumpable.", 1),
        method=method,
        takes=tuple(signature.parameters),
    )

    @functools.wraps(body)
    def make(*args: P.args, **kwargs: P.kwargs) -> Plan:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if not hints:
            hints.update(typing.get_type_hints(body))
        for argument, value in bound.arguments.items():
            kind = hints.get(argument)
            if kind in CHECKED and not isinstance(value, kind):
                expected = "True or False" if kind is bool else f"a lumpable.{kind.__name__}"
                raise BadArgument(argument, expected, repr(value))
        again = functools.partial(make, *args, **kwargs)
        return Plan(complete, dict(bound.arguments), body(*args, **kwargs), again)

    make.__annotations__ = {**body.__annotations__, "return": "Plan"}
    made: Any = make
    made.about = complete
    return typing.cast(Algorithm[P], made)
