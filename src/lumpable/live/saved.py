"""A session in a file: a header that says how far its plan has come, and arrays.

To open is to replay: a fresh plan is made by name and given the answers again.
"""

from __future__ import annotations

import inspect
import typing
from typing import Annotated

import msgspec

from lumpable.base.archive import Array, Reader
from lumpable.base.errors import BadArgument
from lumpable.live.packed import Packed
from lumpable.live.player import Player
from lumpable.plans import methods
from lumpable.plans.plan import Collect, Plan
from lumpable.plans.problem import Problem

SCHEMA = 2
CELLS = 2**24
"""Pairs of a context and an arm that any file may ask for; to play them takes about 300 MB."""
Count = Annotated[int, msgspec.Meta(ge=0)]


class Place(msgspec.Struct, forbid_unknown_fields=True):
    """How far a plan has come."""

    answers: list[list[Place] | None]
    """For each finished request: None for a sample, or the places of the plans side by side."""
    rounds: Count = 0
    """Rounds of the open request, or since the plan ended."""
    sides: list[Place] = []
    """The places of the plans side by side, if the open request is to split."""


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """The description of a saved session."""

    format: str
    schema: int
    plan: str
    parameters: dict[str, msgspec.Raw]
    seed: int
    late: Count
    place: Place


# --- Writing ----------------------------------------------------------------------------------


def header(player: Player, late: int) -> bytes:
    """Return the header as JSON."""
    plan = player.progress.plan
    return msgspec.json.encode(
        Header(
            format="lumpable session",
            schema=SCHEMA,
            plan=plan.name,
            parameters=json_parameters(plan),
            seed=player.seed,
            late=late,
            place=_place(player),
        )
    )


def _place(player: Player) -> Place:
    answers = [
        None if isinstance(answer, Packed) else [_place(side) for side in answer]
        for answer in player.answers
    ]
    return Place(answers, player.open_rounds, [_place(side) for side in player.sides])


def arrays(player: Player, path: tuple[int, ...] = ()) -> dict[str, Array]:
    """Return the samples of finished requests and the state of open ones, by name."""
    found: dict[str, Array] = {}
    for k, answer in enumerate([*player.answers, player.sides]):
        if isinstance(answer, Packed):
            prefix = _prefix("sample", (*path, k))
            found |= {prefix + name: array for name, array in answer.arrays().items()}
        else:
            for b, side in enumerate(answer):
                found |= arrays(side, (*path, k, b))
    if player.collector is not None:
        prefix = _prefix("open", (*path, len(player.answers)))
        found |= {prefix + name: array for name, array in player.collector.state().items()}
    return found


def _prefix(kind: str, path: tuple[int, ...]) -> str:
    return f"{kind}-{'.'.join(map(str, path))}-"


# --- Reading ----------------------------------------------------------------------------------


def bring(player: Player, place: Place, reader: Reader) -> None:
    """Bring a fresh player to the place that was saved, and open it."""
    _replay(player, place, reader, ())
    _check_contexts(player, reader, ())
    player.open()
    _restore(player, place, reader, ())


def _replay(player: Player, place: Place, reader: Reader, path: tuple[int, ...]) -> None:
    """Give the plan its answers again; those of plans side by side come from replaying them."""
    for k, sides in enumerate(place.answers):
        if sides is None:
            shape = player.progress.plan.shape
            packed = Packed.read(reader, _prefix("sample", (*path, k)), shape)
            player.answer(packed.sample(shape))
        else:
            open_request = player.progress.request
            rounds = 0 if open_request is None else open_request.rounds
            player.answer(_replay_sides(player, sides, rounds, reader, (*path, k)))
    request = player.progress.request
    if request is not None and place.rounds >= request.rounds:
        raise BadArgument("path", f"rounds below {request.rounds}", f"{place.rounds}")
    here = (*path, len(place.answers))
    player.sides = _replay_sides(player, place.sides, place.rounds, reader, here)
    player.told = place.rounds
    player.idle = place.rounds - sum(side.rounds for side in player.sides)


def _replay_sides(
    player: Player, places: list[Place], rounds: int, reader: Reader, path: tuple[int, ...]
) -> list[Player]:
    """Replay the plans side by side of the open request, which had taken `rounds` rounds."""
    sides = player.beside()
    if len(sides) != len(places):
        raise BadArgument("path", why=f"{len(places)} plans side by side, expected {len(sides)}")
    for b, (side, place) in enumerate(zip(sides, places, strict=True)):
        _replay(side, place, reader, (*path, b))
    wrong = player.wrong(rounds, sides)
    if wrong:
        raise BadArgument("path", why=f"plans side by side: {wrong}")
    return sides


def _check_contexts(player: Player, reader: Reader, path: tuple[int, ...]) -> None:
    """Refuse an open request without a number for each context, before memory is taken for it."""
    here = (*path, len(player.answers))
    if isinstance(player.progress.request, Collect):
        contexts = player.progress.plan.shape[0]
        held = len(reader.array(_prefix("open", here) + "finished", "i", contexts))
        if held != contexts:
            raise BadArgument("path", why=f"expected numbers for {contexts} contexts, got {held}")
    for b, side in enumerate(player.sides):
        _check_contexts(side, reader, (*here, b))


def _restore(player: Player, place: Place, reader: Reader, path: tuple[int, ...]) -> None:
    """Restore the state of open requests."""
    here = (*path, len(place.answers))
    if player.collector is not None:
        cells = player.collector.contexts * player.collector.arms
        prefix = _prefix("open", here)
        state = {
            name: reader.array(prefix + name, array.dtype.kind, cells)
            for name, array in player.collector.state().items()
        }
        player.collector.restore(place.rounds, state)
    for b, (side, inner) in enumerate(zip(player.sides, place.sides, strict=True)):
        _restore(side, inner, reader, (*here, b))
    player.gather()


def json_parameters(plan: Plan) -> dict[str, msgspec.Raw]:
    """Return a plan's parameters as JSON."""
    return {
        name: msgspec.Raw(msgspec.json.encode(value, enc_hook=lambda number: number.item()))
        for name, value in plan.parameters.items()
    }


def read_header(raw: bytes) -> Header:
    """Return the header of a saved session; anything else is an error."""
    try:
        header = msgspec.json.decode(raw, type=Header)
    except (msgspec.MsgspecError, RecursionError) as cause:
        raise BadArgument(
            "path", why=f"expected a saved session, but its header says: {cause}"
        ) from None
    if header.format != "lumpable session" or header.schema != SCHEMA:
        got = f"{header.format!r} with schema {header.schema}"
        raise BadArgument("path", f"a lumpable session with schema {SCHEMA}", got)
    return header


def plan_for(header: Header, plan: Plan | None, size: int) -> Plan:
    """Return the plan that the header names: the one given, or a new one of this package.

    A new one must not be out of proportion to the file, which has `size` bytes.
    """
    if plan is None:
        return _make_plan(header, size)
    if (header.plan, header.parameters) != (plan.name, json_parameters(plan)):
        parameters = header.parameters.items()
        written = ", ".join(f"{name}={bytes(value).decode()}" for name, value in parameters)
        raise BadArgument(
            "plan", why=f"the session was saved by {header.plan}({written}), got {plan!r}"
        )
    return plan


def _make_plan(header: Header, size: int) -> Plan:
    make = methods.BY_NAME.get(header.plan)  # a file must not name anything else
    if make is None:
        raise BadArgument(
            "path",
            why=f"the session was saved by {header.plan}, not a plan of this package; "
            "pass a fresh one as `plan`",
        )
    hints = typing.get_type_hints(inspect.unwrap(make))
    try:
        parameters = {
            name: msgspec.json.decode(value, type=hints[name])
            for name, value in header.parameters.items()
        }
        for problem in parameters.values():
            if isinstance(problem, Problem):
                _check_size(problem, size)
        return make(**parameters)
    except (msgspec.MsgspecError, KeyError, TypeError, MemoryError, OverflowError) as cause:
        raise BadArgument("path", why=f"not the parameters of {header.plan}: {cause}") from None


def _check_size(problem: Problem, size: int) -> None:
    """Refuse a problem that no session in a file of `size` bytes is likely to have.

    A file has at least a bit for each context, and for each cell of a finished request.
    """
    contexts, arms = problem.contexts, problem.arms
    bits = 8 * size
    if contexts > bits or contexts * arms > max(bits, CELLS):
        words = f"{contexts:,} contexts and {arms:,} arms in a file of {size:,} bytes"
        raise BadArgument("path", why=f"{words}; if you trust it, pass its plan as `plan`")
