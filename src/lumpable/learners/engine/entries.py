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
from numba.core.dispatcher import Dispatcher

from lumpable.learners.engine import blocks
from lumpable.learners.engine.blocks import Kinds, kinds
from lumpable.learners.engine.caching import cached_njit
from lumpable.learners.engine.clock import start_choice, start_update

LOOP = """\
def loop(block, contexts, noise, rewards, first, last, mean, best, sd, late, slot, totals):
    '''Play rounds first .. last - 1 of the tape; return the round before which it stopped.

    sd < 0: Bernoulli. `rewards`, if it is not empty, has the reward of every arm instead. `late`
    holds (context, arm, reward) of rewards under way, `slot` the next one to come. An arm out of
    range stops the loop and is left in totals[2], which is NaN before.
    '''
    state = state_at(block)
    clock = state._clock
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
    state = state_at(block)
    start_choice(state._clock, context)
    return choose(state, context, state._clock)
"""
TELL = """\
def tell(block, context, arm, reward):
    state = state_at(block)
    clock = state._clock
    start_update(clock)
    update(state, context, arm, reward, clock)
    clock[1] += np.uint64(1)
"""
ENTRY = """\
def {name}(block, {arguments}):
    state = state_at(block)
    return step(state, {arguments}, state._clock)
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


def entries(kernels: Kernels, state: NamedTuple) -> Entries:
    """Return the loop, the ask and the tell of these kernels for states of this kind."""
    return _entries(kernels, kinds(state))


def entry(step: Callable[..., Any], state: NamedTuple) -> Callable[..., Any]:
    """Return step(state, .., clock) as a function of a block's address and of what is between.

    All arguments are positional.
    """
    return _entry(step, kinds(state))


@cache
def _entries(kernels: Kernels, fields: Kinds) -> Entries:
    calls = {
        "choose": kernels.choose,
        "update": kernels.update,
        "start_choice": start_choice,
        "start_update": start_update,
    }
    pause = PAUSE if "due" in (name for name, *_ in fields) else ""
    sources = {"loop": LOOP.format(pause=pause), "ask": ASK, "tell": TELL}
    return Entries(**{name: _compile(name, text, fields, calls) for name, text in sources.items()})


@cache
def _entry(step: Callable[..., Any], fields: Kinds) -> Callable[..., Any]:
    _, *arguments, _ = inspect.signature(step).parameters
    name = f"entry_{step.__name__}"
    source = ENTRY.format(name=name, arguments=", ".join(arguments))
    return _compile(name, source, fields, {"step": step})


def _compile(name: str, source: str, fields: Kinds, calls: dict[str, Any]) -> Callable[..., Any]:
    """Compile source that calls kernels, cached beside the first of them under a name of its own.

    What was typed into a notebook has no file to be cached beside, and is compiled each time.
    """
    first, *_ = calls.values()
    digest = hashlib.sha256(f"{first.__module__}\n{source}{fields}".encode())
    reached = _callees(list(calls.values()))
    for file in sorted({blocks.__file__, *map(inspect.getfile, reached)}):
        digest.update(Path(file).read_bytes() if Path(file).is_file() else b"")
    for python in sorted(reached, key=lambda each: (each.__module__, each.__qualname__)):
        digest.update(_fingerprint(python))
    unique = f"{name}_{digest.hexdigest()[:16]}"
    space = {**calls, "state_at": blocks.state_of(fields), "np": np, "__name__": first.__module__}
    text = source.replace(f"def {name}(", f"def {unique}(", 1)
    home = inspect.getfile(first.py_func)
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
