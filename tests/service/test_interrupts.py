"""Ctrl-C may cut off a call between any two steps: what comes after it is not held up for ever."""

from __future__ import annotations

import dis
import itertools
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from kits.service import opened
from lumpable.service import writer
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.log_entries import Entry


def steps(frame: FrameType) -> bool:
    """Whether a frame is of the writer, or of what it calls of Python's own locks and futures."""
    name = frame.f_code.co_filename
    return name == writer.__file__ or name.endswith(("threading.py", "concurrent/futures/_base.py"))


class CutOff:
    """Raises KeyboardInterrupt before the n-th step of a call, as a signal would."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not steps(frame):
            return self if frame.f_code.co_filename.startswith(SOURCES) else None
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti >= 0 and after_a_call(frame):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


SOURCES = writer.__file__.rpartition("/service/")[0]
_calls: dict[Any, set[int]] = {}


def after_a_call(frame: FrameType) -> bool:
    """Whether a signal could be handled here: Python looks for one after each call."""
    code = frame.f_code
    if code not in _calls:
        listed = list(dis.get_instructions(code))
        _calls[code] = {
            after.offset
            for before, after in itertools.pairwise(listed)
            if before.opname.startswith("CALL")
        }
    return frame.f_lasti in _calls[code]


def in_time(work: Any) -> bool:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


def interrupted() -> Iterator[tuple[int, bool]]:
    """Cut off a decision after 1, 2, 3 ... calls, until it ends first; say if others go on."""
    for after in range(1, 1_000):
        with opened() as e:
            e.decide("ann")
            cut = CutOff(after)
            sys.settrace(cut)
            try:
                e.decide("ann", event="cut off")
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(None)
            yield after, in_time(lambda e=e: e.decide("bob", event="cut off 2"))
            assert in_time(e.close)
            if cut.left > 0:
                return
    raise AssertionError("it never ended")


def test_a_call_that_is_cut_off_holds_up_nobody() -> None:
    if sys.gettrace() is not None:
        pytest.fail("somebody traces already")
    found = list(interrupted())
    assert len(found) > 10
    assert all(fine for _, fine in found)


def test_closing_that_is_cut_off_can_be_done_again() -> None:
    for after in range(1, 30):
        e = opened()
        e.decide("ann")
        sys.settrace(CutOff(after))
        try:
            e._writer.close()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        assert in_time(e._writer.close), after
        assert in_time(e.close), after


def test_a_writer_is_not_idle_between_two_steps() -> None:
    """A turn would be given up, and what was handed in refused."""
    work, seen = writer.Writer(MemoryStore()), list[bool]()
    work.hand_in([Entry(kind="arm", at=1, arm="red", detail="added")])

    def look(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != writer.__file__:
            return None
        frame.f_trace_opcodes = True
        seen.append(work.idle)
        return look

    sys.settrace(look)
    try:
        batch = work._next()
    finally:
        sys.settrace(None)
    assert len(batch) == 1
    assert len(seen) > 30
    assert not any(seen)
    assert not work.idle
