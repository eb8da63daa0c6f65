"""Many decisions before any reward, and many rewards at once.

In a batch, each decision counts for those after it as a pull whose reward has not come: it narrows
the index of its arm, adds to the rounds N and leaves the means (Desautels, Krause and Burdick,
"Parallelizing exploration-exploitation tradeoffs in Gaussian process bandit optimization", JMLR 15,
2014, who call such pulls hallucinated); how that is done fast is in `asking`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.learners.engine.blocks import Block
from lumpable.learners.engine.clock import TELLS, Clock, kernel
from lumpable.learners.engine.entries import entry
from lumpable.learners.learner import LARGEST
from lumpable.lumps.core.asking import ask_in_turn
from lumpable.lumps.core.kinds import Words, few_kinds, sort_keys
from lumpable.lumps.core.layout import with_room, with_rows_for
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import State
from lumpable.lumps.core.steps import add

STEPS: tuple[float, ...] = (256.0, 16.0, 4.0, 2.0)
"""Posteriors are about the same if they agree in this many steps of their largest entry: the first
of these with which the tables are at most MOST_TABLES, or one for each SHARED contexts."""
MOST_TABLES, SHARED = 500, 200


def ask_many(learner: Levels, contexts: IntVector, allowed: BoolVector | None = None) -> IntVector:
    """Return an arm for each of these contexts, to be played before any of their rewards comes.

    Nothing is changed. One context gets the arm of `learner.ask`. The answer depends on which
    contexts are asked, and how often, but not on their order: inside, those whose posteriors over
    groups are alike come together, the least seen first, then in an order that changes with the
    number of tells. A context that comes several times gets its arms in some order.
    """
    contexts = _places("contexts", contexts, learner.contexts)
    if len(contexts) == 1:
        return np.array([learner.ask(int(contexts[0]), allowed)], dtype=np.int64)
    mask, state = learner.mask(allowed), learner.state
    kind, order, steps = _kinds(learner, contexts)
    arms = np.empty(len(contexts), dtype=np.int64)
    own = {"group_visits": state.group_visits.copy(), "pending": state.pending.copy()}
    block = Block(state._replace(**own), learner.clock)
    entry(ask_in_turn, state)(block.address, contexts, kind, order, steps, mask, arms)
    return arms


def _kinds(learner: Levels, contexts: IntVector) -> tuple[Words, IntVector, float]:
    """Return of what kind each context is, the order in which they are asked, and the steps."""
    state, address = learner.state, learner._address
    kind, key = np.empty((2, len(contexts)), dtype=np.uint64)
    most = max(MOST_TABLES, len(contexts) // SHARED)
    for steps in STEPS:
        seen = np.zeros(1 << (2 * most).bit_length(), dtype=np.uint64)
        if len(state.factor) > 0 or entry(few_kinds, state)(address, contexts, steps, most, seen):
            break
    entry(sort_keys, state)(address, contexts, steps, kind, key)
    return kind, np.argsort(key), steps


def tell_many(
    learner: Levels, contexts: IntVector, arms: IntVector, rewards: FloatVector,
    counts: IntVector,
) -> None:  # fmt: skip
    """Tell counts[k] rewards of value rewards[k] for each context and arm.

    Cells become what telling each reward would make them, in any order; so does the next fit, a
    function of the cells, which comes once at the end if it fell due. Until it comes, the groups
    have learned from each row in one step. All rows count, or none does. The time is that of the
    rows, not of the counts.
    """
    contexts = _places("contexts", contexts, learner.contexts)
    arms = _places("arms", arms, learner.arms)
    rewards, counts = _rewards(rewards), _places("counts", counts, 2**53)
    _same_lengths(contexts=contexts, arms=arms, rewards=rewards, counts=counts)
    learner.become(with_room(with_rows_for(learner.state, contexts), rewards=len(contexts)))
    tell_in_turn = entry(update_in_turn, learner.state)
    tell_in_turn(learner._address, contexts, arms, rewards, counts)
    if learner.tells >= learner.state.due[0]:
        learner.refit()


# --- What comes in ------------------------------------------------------------------------------


def _places(name: str, values: IntVector, number: int) -> IntVector:
    """Return these as an array of whole numbers below `number`."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise BadArgument(
            name, "a vector of whole numbers", f"{array.dtype} of shape {array.shape}"
        )
    wrong = np.flatnonzero((array < 0) | (array >= number))
    if len(wrong):
        raise BadArgument(f"{name}[{wrong[0]}]", f"one of 0 .. {number - 1}", f"{array[wrong[0]]}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _rewards(values: FloatVector) -> FloatVector:
    array = np.ascontiguousarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~(np.abs(array) <= LARGEST))
    if array.ndim != 1 or len(wrong):
        got = f"{array.flat[wrong[0]]} at {wrong[0]}" if len(wrong) else f"shape {array.shape}"
        raise BadArgument(
            "rewards", f"a vector of numbers of at most {LARGEST:g} in size", f"{got}"
        )
    return array


def _same_lengths(**vectors: npt.NDArray[np.generic]) -> None:
    lengths = {name: len(vector) for name, vector in vectors.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadArgument("rows", "vectors of one length", got)


# --- Telling ------------------------------------------------------------------------------------


@kernel
def update_in_turn(
    state: State, contexts: IntVector, arms: IntVector, rewards: FloatVector, counts: IntVector,
    clock: Clock,
) -> None:  # fmt: skip
    """Add all rows; there must be room for their cells."""
    for k in range(len(contexts)):
        if counts[k] > 0:
            if add(state, contexts[k], arms[k], rewards[k], float(counts[k])):
                state.due[0] = 0
            clock[TELLS] += np.uint64(counts[k])
