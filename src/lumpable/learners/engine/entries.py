"""One implementation, two speeds: a learner's steps, compiled for a loop and for ask and tell.

A learner is a state (a NamedTuple of arrays and numbers) and two kernels over it:

    choose(state, context, clock) -> arm                   changes nothing that another choice sees
    update(state, context, arm, reward, clock) -> None     the only write

`clock` says how many tells there were and is what `draws` draws from: a pure function of the seed,
that number and, in a choice, the context. Here they become three entry points: `loop` for whole
simulations, `ask` and `tell` for one round from Python; `entry` makes one of any other kernel over
a state. Numba caches no function that is handed other functions, so the entry points are generated
for each learner, as functions that name its kernels as globals. Only they are cached on disk, under
a name that holds a digest of all that they are compiled from.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from lumpable.learners.engine.caching import cached_njit
from lumpable.learners.engine.clock import Clock, start_choice, start_update

DTYPES = ("int64", "uint64", "float64", "int32", "int8", "bool")
"""What a state may hold."""


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """Turn the address of an array into a pointer."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), code


LOOP = """\
def loop(state, clock, contexts, noise, rewards, first, last, mean, best, sd, late, slot, totals):
    '''Play rounds first .. last - 1 of the tape; return the round before which it stopped.

    sd < 0: Bernoulli. `rewards`, if it is not empty, has the reward of every arm instead. `late`
    holds (context, arm, reward) of rewards under way, `slot` the next one to come. An arm out of
    range stops the loop and is left in totals[2], which is NaN before.
    '''
    K = mean.shape[1]
    delay = len(late)
    drawn = len(rewards) > 0
    for t in range(first, last):
        context = contexts[t]
        start_choice(clock, context)
        arm = choose(state, context, clock)
        if arm < 0 or arm >= K:
            totals[2] = arm
            return t
        value = mean[context, arm]
        if drawn:
            reward = rewards[t, arm]
        elif sd < 0:
            reward = 1.0 if noise[t] < value else 0.0
        else:
            reward = value + sd * noise[t]
        totals[0] += best[context] - value
        totals[1] += reward
        if delay > 0:
            at = slot[0]
            slot[0] = at + 1 if at + 1 < delay else 0
            before, arm_before, reward_before = late[at, 0], late[at, 1], late[at, 2]
            late[at, 0], late[at, 1], late[at, 2] = context, arm, reward
            if before < 0:
                continue
            context, arm, reward = int(before), int(arm_before), reward_before
        start_update(clock)
        update(state, context, arm, reward, clock)
        clock[1] += np.uint64(1)
{pause}
    return last
"""
PAUSE = """\
        if clock[1] >= state.due[0]:
            return t + 1
"""
ASK = """\
def ask(block, context):
    words = carray(pointer(block), {words}, int64)
    clock = carray(pointer(words[0]), 3, uint64)
    start_choice(clock, context)
    return choose({state}, context, clock)
"""
TELL = """\
def tell(block, context, arm, reward):
    words = carray(pointer(block), {words}, int64)
    clock = carray(pointer(words[0]), 3, uint64)
    start_update(clock)
    update({state}, context, arm, reward, clock)
    clock[1] += np.uint64(1)
"""
ENTRY = """\
def {name}(block, {arguments}):
    words = carray(pointer(block), {words}, int64)
    clock = carray(pointer(words[0]), 3, uint64)
    return step({state}, {arguments}, clock)
"""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The two compiled steps of a learner."""

    choose: Callable[..., int]
    update: Callable[..., None]


@dataclass(frozen=True, slots=True)
class Entries:
    """What is generated from a learner's kernels; each is compiled when it is first called."""

    loop: Callable[..., int]
    ask: Callable[[int, int], int]
    tell: Callable[[int, int, int, float], None]


class Block:
    """The addresses and shapes of a state's arrays, so that one number hands over all of them.

    Handing arrays to compiled code one by one costs several times what a round does.
    """

    def __init__(self, state: NamedTuple, clock: Clock) -> None:
        kinds = [kind for kind, _ in _kinds(state)]
        held = [np.asarray(value, dtype=kind) for value, kind in zip(state, kinds, strict=True)]
        self._held = [clock, *held]  # they must live as long as their addresses
        words = [clock.ctypes.data]
        for array in held:
            words += [array.ctypes.data, *array.shape]
        self._words = np.array(words, dtype=np.int64)
        self.address = int(self._words.ctypes.data)


def entries(kernels: Kernels, state: NamedTuple) -> Entries:
    """Return the loop, the ask and the tell of these kernels for states of this kind."""
    return _entries(kernels, type(state), _kinds(state))


def entry(step: Callable[..., Any], state: NamedTuple) -> Callable[..., Any]:
    """Return step(state, .., clock) as a function of a block's address and of what is between.

    All arguments are positional.
    """
    return _entry(step, type(state), _kinds(state))


@cache
def _entries(kernels: Kernels, state: type, kinds: tuple[tuple[str, int], ...]) -> Entries:
    calls = {
        "choose": kernels.choose,
        "update": kernels.update,
        "start_choice": start_choice,
        "start_update": start_update,
    }
    fields, names = _fields(kinds), {**_names(state), **calls}
    pause = PAUSE if "due" in getattr(state, "_fields", ()) else ""
    roots = list(calls.values())
    made = (
        _compile("loop", LOOP.format(pause=pause), names, roots),
        _compile("ask", ASK.format(**fields), names, roots),
        _compile("tell", TELL.format(**fields), names, roots),
    )
    return Entries(*made)


@cache
def _entry(
    step: Callable[..., Any], state: type, kinds: tuple[tuple[str, int], ...]
) -> Callable[..., Any]:
    _, *arguments, _ = inspect.signature(step).parameters
    name, between = f"entry_{step.__name__}", ", ".join(arguments)
    source = ENTRY.format(name=name, arguments=between, **_fields(kinds))
    return _compile(name, source, {**_names(state), "step": step}, [step])


def _fields(kinds: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    """Return the source that makes a state from the words of its block, and their number."""
    parts, at = [], 1
    for dtype, dimensions in kinds:
        sizes = ", ".join(f"words[{at + 1 + axis}]" for axis in range(dimensions))
        array = f"carray(pointer(words[{at}]), ({sizes or 1},), {dtype})"
        parts.append(array if dimensions else f"{array}[0]")
        at += 1 + dimensions
    return {"state": f"State({', '.join(parts)})", "words": at}


def _names(state: type) -> dict[str, Any]:
    """Return what every generated source names, besides the kernels that it calls."""
    return {
        "State": state,
        "carray": numba.carray,  # type: ignore[attr-defined]
        "pointer": _pointer,
        "np": np,
        **{name: types.boolean if name == "bool" else getattr(types, name) for name in DTYPES},
    }


def _kinds(state: NamedTuple) -> tuple[tuple[str, int], ...]:
    """Return the type and the number of dimensions of each array or number of a state."""
    kinds = []
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, np.ndarray):
            if value.dtype.name not in DTYPES or not value.flags.c_contiguous:
                raise TypeError(
                    f"state.{name}: expected a C-contiguous array of {', '.join(DTYPES)}, "
                    f"got {value.dtype.name} with strides {value.strides}"
                )
            kinds.append((value.dtype.name, value.ndim))
        elif isinstance(value, bool):
            kinds.append(("bool", 0))
        elif isinstance(value, int | float) and not isinstance(value, np.generic):
            kinds.append((type(value).__name__ + "64", 0))
        else:
            raise TypeError(f"state.{name}: expected an array, bool, int or float, got {value!r}")
    return tuple(kinds)


def _compile(name: str, source: str, names: dict[str, Any], roots: list[Any]) -> Callable[..., Any]:
    """Compile source that calls `roots`, cached beside the first of them under a name of its own.

    What was typed into a notebook has no file to be cached beside, and is compiled each time.
    """
    State = names["State"]
    digest = hashlib.sha256(f"{roots[0].__module__}\n{source}".encode())
    digest.update(f"{State.__module__}.{State.__qualname__}{State._fields}".encode())
    reached = _callees(list(roots))
    for file in sorted({inspect.getfile(python) for python in reached}):
        digest.update(Path(file).read_bytes() if Path(file).is_file() else b"")
    for python in sorted(reached, key=lambda each: (each.__module__, each.__qualname__)):
        digest.update(_fingerprint(python))
    unique = f"{name}_{digest.hexdigest()[:16]}"
    space = {**names, "__name__": roots[0].__module__}
    text = source.replace(f"def {name}(", f"def {unique}(", 1)
    home = inspect.getfile(roots[0].py_func)
    exec(compile(text, home, "exec"), space)
    compiler = cached_njit if Path(home).is_file() else numba.njit
    return compiler(error_model="numpy")(space[unique])


def _fingerprint(python: Any) -> bytes:
    """Return what a function is made of: its file may have changed since it was imported.

    Constants of other files that it names are in it, too.
    """
    plain = (bool, int, float, str, tuple, np.generic)
    used = inspect.getclosurevars(python).globals
    held = [*python.__code__.co_consts, *(used[name] for name in sorted(used))]
    words = repr([each for each in held if isinstance(each, plain)])
    return bytes(python.__code__.co_code) + words.encode()


def _callees(waiting: list[Any]) -> list[Any]:
    """Return these compiled functions and all that they call, as they were before compilation."""
    seen: dict[Any, None] = {}
    while waiting:
        python = waiting.pop().py_func
        if python in seen:
            continue
        seen[python] = None
        used = inspect.getclosurevars(python)
        called = [*used.globals.values(), *used.nonlocals.values()]
        modules = [value for value in called if isinstance(value, ModuleType)]
        called += [getattr(module, name, None) for module in modules for name in used.unbound]
        waiting += [value for value in called if isinstance(value, Dispatcher)]
    return list(seen)
