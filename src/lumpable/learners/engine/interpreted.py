"""Compiled code as Python itself runs it: slowly, at once, and to the same bits.

A kernel is Python. Its numbers are 64 bits here and there, every operation is rounded as the IEEE
says, and logarithms come from the same library of C, so its interpreted twin writes what compiled
code would. Where Python raises an error and C goes on with an infinity or NaN, so does the twin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from lumpable.learners.engine.clock import Clock


def interpreted(entry: Any, state: NamedTuple, clock: Clock) -> Callable[..., Any]:
    """Return what an entry point does with this state, as a function of all but its block."""
    held, python = SimpleNamespace(**state._asdict(), _clock=clock), _twin(entry)

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # integers wrap around, divisions by 0 are infinite
            return python(held, *arguments)

    return run


@cache
def _twin(compiled: Any) -> Callable[..., Any]:
    """Return the function of Python behind a compiled one; it calls no compiled one either."""
    python = compiled.py_func
    space = dict(python.__globals__)
    for name in python.__code__.co_names:
        used = space.get(name)
        if isinstance(used, Dispatcher):
            space[name] = _twin(used)
        elif used is math:
            space[name] = C
        elif name == "state_at":  # in an entry point: the state itself comes instead of its block
            space[name] = _itself
    return FunctionType(python.__code__, space, python.__name__, python.__defaults__)


def _itself(state: Any) -> Any:
    return state


def _log(x: float) -> float:
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else math.nan


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


C = SimpleNamespace(log=_log, sqrt=_sqrt, exp=_exp, isinf=math.isinf, inf=math.inf, pi=math.pi)
"""What kernels that are interpreted may use of `math`, as C has it."""
