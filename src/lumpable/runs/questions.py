"""What the turns of a run show: when groups were separated, and when arms were dropped.

Values in, values out: knows no algorithm, runs nothing and draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lumpable.base.arrays import BoolMatrix, IntMatrix, IntVector
from lumpable.base.errors import BadArgument
from lumpable.plans.plan import Belief
from lumpable.plans.problem import Problem
from lumpable.runs.run import Run, Side, Turn
from lumpable.worlds.world import World


def starts(run: Run) -> list[list[Turn]]:
    """Return the turns of each start of the plan: a restart counts phases from 1 again."""
    parts: list[list[Turn]] = []
    last = Belief("", run.policy)
    for turn in run.turns:
        now = turn.belief
        if not parts or now.number < last.number or now.restarts != last.restarts:
            parts.append([])
        parts[-1].append(turn)
        last = now
    return parts


def latest(run: Run) -> list[Turn]:
    """Return the turns since the plan's last start; none if it has no clusters."""
    return starts(run)[-1] if run.turns else []


def phases(turns: Sequence[Turn]) -> list[Turn]:
    """Return one turn for each phase: the rounds at its beginning, the belief at its end."""
    last: dict[int, Turn] = {}
    for turn in turns:
        first = last.get(turn.belief.number, turn)
        last[turn.belief.number] = Turn(first.rounds, turn.belief)
    return list(last.values())


def clusters_of(belief: Belief) -> tuple[IntVector, BoolMatrix]:
    """Return the cluster of each context and the good arms of each cluster."""
    if belief.cluster is None or belief.good is None:
        raise BadArgument("belief", "clusters and their good arms", "none")
    return belief.cluster, belief.good


def ancestors(turns: Sequence[Turn]) -> IntMatrix:
    """Return, turn by turn, the cluster that each of the last clusters was part of."""
    final, _ = clusters_of(turns[-1].belief)
    _, member = np.unique(final, return_index=True)
    return np.array([clusters_of(turn.belief)[0][member] for turn in turns])


def last_good(turns: Sequence[Turn]) -> IntMatrix:
    """Return the last phase in which each arm was good for each of the last clusters.

    An arm that is not good in the end was dropped in that phase.
    """
    number = len(clusters_of(turns[-1].belief)[1])
    last = np.zeros((number, clusters_of(turns[0].belief)[1].shape[1]), dtype=np.int64)
    for turn, rows in zip(turns, ancestors(turns), strict=True):
        last[clusters_of(turn.belief)[1][rows]] = turn.belief.number
    return last


def apart(turns: Sequence[Turn], world: World) -> int | None:
    """Return the rounds until no cluster held contexts of two groups; None: some still do.

    Contexts that never come cannot be separated, and do not count.
    """
    comes = world.frequency > 0
    group = world.group[comes]
    for turn in turns:
        label = clusters_of(turn.belief)[0][comes]
        if len(set(zip(label.tolist(), group.tolist(), strict=True))) == len(np.unique(label)):
            return turn.rounds
    return None


def first_fall(run: Run) -> int | None:
    """Return the rounds until an arm was first dropped since the plan's last start, if any."""
    for turn in latest(run):
        if not clusters_of(turn.belief)[1].all():
            return turn.rounds
    return None


def rated_problem(run: Run) -> Problem | None:
    """Return the lumpable problem whose rate applies to a run; None if none does."""
    problem = run.parameters.get("problem")
    if run.about.rate is None or run.about.low_rank or not isinstance(problem, Problem):
        return None
    if run.about.guesses:
        return Problem(problem.contexts, problem.arms, run.world.groups)
    return problem


# --- Plans side by side -------------------------------------------------------------------------


def buckets(run: Run) -> list[Side]:
    """Return the runs of the last plans side by side."""
    return [side for side in run.sides if side.request == run.sides[-1].request]


def final_clusters(run: Run) -> IntVector | None:
    """Return the cluster of each context in the end; None if the plan forms none.

    Those of plans side by side are numbered bucket by bucket; contexts of no bucket come last.
    """
    if run.turns:
        return clusters_of(run.turns[-1].belief)[0]
    parts = [(side, final_clusters(side.run)) for side in buckets(run)]
    if all(part is None for _, part in parts):
        return None
    label = np.full(run.world.contexts, -1, dtype=np.int64)
    number = 0
    for side, part in parts:
        label[side.contexts] = number if part is None else number + part
        number += 1 if part is None else int(part.max()) + 1
    return np.where(label < 0, number, label)
