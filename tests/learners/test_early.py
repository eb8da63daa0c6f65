"""Entry points that answer before they are compiled; functions that only compiled code calls."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from lumpable.learners.engine.blocks import Block
from lumpable.learners.engine.clock import kernel, seeded, start_choice
from lumpable.learners.engine.draws import bits, uniform
from lumpable.learners.engine.early import BESIDE, Early
from lumpable.learners.engine.entries import entry
from lumpable.learners.engine.inner import Unfinished
from lumpable.learners.engine.interpreted import interpreted


class State(NamedTuple):
    last: Any
    factor: float


@kernel
def twice(x: Any) -> Any:
    return 2.0 * x


@kernel
def add(state: Any, x: Any, clock: Any) -> Any:
    state.last[0] += twice(x) * state.factor
    return state.last[0]


@kernel
def edges(state: Any, x: Any, clock: Any) -> Any:
    """What C goes on with, and Python would not."""
    state.last[0] = x / state.last[1]
    state.last[2], state.last[3] = math.log(x), math.sqrt(x)
    state.last[4] = math.exp(x * x * 800.0)
    return 0


@kernel
def draw(state: Any, x: Any, clock: Any) -> Any:
    start_choice(clock, int(x))
    state.last[0], state.last[1] = uniform(clock), bits(clock) % np.uint64(1 << 30)
    return 0


@kernel
def never(state: Any, x: Any, clock: Any) -> Any:
    return sorted({x: state}.items(), key=repr)[0][0]  # no compiler of ours can do this


def made(step: Any) -> tuple[Any, State, Any, Block]:
    state, clock = State(np.zeros(5), 3.0), seeded(7)
    return entry(step, state), state, clock, Block(state, clock)


def test_the_first_call_does_not_wait_and_the_next_are_compiled() -> None:
    compiled, state, clock, block = made(add)
    early = Early(compiled, state, clock)
    assert early(block.address, 1.5) == 9.0
    BESIDE.wait()
    assert len(compiled.overloads) == 1
    assert early(block.address, 1.5) == state.last[0] == 18.0


def test_what_cannot_be_compiled_is_said_to_a_caller() -> None:
    compiled, state, clock, block = made(never)
    early = Early(compiled, state, clock)
    assert early(block.address, 1.5) == 1.5
    BESIDE.wait()
    with pytest.raises(TypingError):
        early(block.address, 1.5)


@pytest.mark.parametrize("step", [edges, draw])
@pytest.mark.parametrize("x", [0.0, -1.0, 2.0, 12345.0])
def test_an_interpreted_kernel_writes_what_the_compiled_one_does(step: Any, x: float) -> None:
    compiled, state, clock, block = made(step)
    compiled(block.address, x)
    _, same, other, _ = made(step)
    interpreted(compiled, same, other)(x)
    np.testing.assert_array_equal(same.last, state.last)  # NaN has many forms
    assert other.tolist() == clock.tolist()


def test_a_kernel_is_compiled_within_its_callers_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # nothing is compiled yet

    @kernel
    def half(x: Any) -> Any:
        return 0.5 * x

    @kernel
    def step(state: Any, x: Any, clock: Any) -> Any:
        state.last[0] += half(x) * state.factor
        return state.last[0]

    compiled, _, _, block = made(step)
    assert compiled(block.address, 1.0) == 1.5
    kernels: list[Any] = [step, half]
    for inner in kernels:
        (only,) = inner.overloads.values()
        assert isinstance(only.library, Unfinished)
    assert not isinstance(next(iter(compiled.overloads.values())).library, Unfinished)


def test_a_kernel_can_be_called_from_python_and_pickled() -> None:
    assert twice(4.0) == 8.0
    assert pickle.loads(pickle.dumps(twice))(5.0) == 10.0
