"""What a service compiles, part by part: rounds, fits, and what is asked about them.

Each part has one signature and is kept on disk by itself. So whoever makes them one by one may be
stopped, and go on later; and two processes that make them at the same time, one from either end,
share the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher

from lumpable.base.forgiving import Forgiving
from lumpable.learners.engine.entries import entries, entry
from lumpable.learners.engine.inner import Inner
from lumpable.learners.fitting import lloyd
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import State, blank
from lumpable.lumps.model import arithmetic, directions, likelihoods

FITS: tuple[ModuleType, ...] = (likelihoods, directions, arithmetic, lloyd)
"""Where the functions are that fits, and questions about them, call from Python."""
TYPES: dict[str, types.Type] = {
    "int": types.int64,
    "float": types.float64,
    "bool": types.boolean,
    "IntVector": types.Array(types.int64, 1, "C"),
    "IntMatrix": types.Array(types.int64, 2, "C"),
    "Ranking": types.Array(types.int32, 3, "C"),
    "BoolVector": types.Array(types.boolean, 1, "C"),
    "BoolMatrix": types.Array(types.boolean, 2, "C"),
    "FloatVector": types.Array(types.float64, 1, "C"),
    "FloatMatrix": types.Array(types.float64, 2, "C"),
    "FloatCube": types.Array(types.float64, 3, "C"),
}
"""What is handed to compiled code, by the name of its type."""


@dataclass(frozen=True, slots=True)
class Part:
    """A compiled function, and the types of its arguments."""

    name: str
    function: Any
    signature: tuple[types.Type, ...]

    def make(self) -> None:
        """Compile it, or load it from the disk."""
        self.function.compile(self.signature)

    @property
    def kept(self) -> bool:
        """Whether it is on disk."""
        cache = self.function._cache
        return isinstance(cache, Forgiving) and cache.holds(self.signature, self.function.targetctx)

    @property
    def place(self) -> str | None:
        """The folder where compiled code is kept; None: nowhere."""
        cache = self.function._cache
        return str(cache.cache_path) if isinstance(cache, Forgiving) else None


def of_rounds() -> list[Part]:
    """Return what decisions and rewards call."""
    state: State = blank(1, 1, 1)
    ask, tell = entry(ThreeLevels.among, state), entries(ThreeLevels.kernels, state).tell
    number, mask, real = types.int64, TYPES["BoolVector"], types.float64
    return [
        Part("decisions", ask, (number, number, mask)),
        Part("rewards", tell, (number, number, number, real)),
    ]


def of_fits() -> list[Part]:
    """Return what fits call, and what questions about them call."""
    return [part for module in FITS for part in parts_of(module)]


def parts_of(module: ModuleType) -> list[Part]:
    """Return what a module has compiled for callers from Python."""
    return [
        Part(_plain(function), function, _signature(function))
        for function in _called_from_python(module)
    ]


def _called_from_python(module: ModuleType) -> Iterator[Any]:
    for each in vars(module).values():
        if isinstance(each, Dispatcher) and not isinstance(each, Inner):
            yield each


def _plain(function: Any) -> str:
    return str(function.__name__).strip("_").replace("_", " ")


def _signature(function: Any) -> tuple[types.Type, ...]:
    """Return the types of a function's arguments, as it names them."""
    named = function.py_func.__annotations__
    return tuple(TYPES[words] for name, words in named.items() if name != "return")
