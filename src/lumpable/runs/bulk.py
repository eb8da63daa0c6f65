"""The bulk executor: runs a plan in a world at a cost that does not grow with the rounds.

Requests are answered by `answers`. Plans side by side are independent given their numbers of
rounds, since arrivals are: one multinomial divides the rounds. Knows no algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import IntVector
from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.errors import BadArgument
from lumpable.plans.plan import Belief, Collect, Plan, Request, Result, Split
from lumpable.plans.progress import Progress
from lumpable.plans.seen import Sample
from lumpable.runs.answers import Drawn, Exact, Law, check_rounds, check_scale, check_size
from lumpable.runs.run import RequestRow, Run, Side, Step, Turn
from lumpable.worlds.world import World

Watch = Callable[[Step], None]
LONGEST = 10**300
"""Regret without noise is a float, and more rounds than this would overflow it."""


def simulate(
    plan: Plan,
    world: World,
    *,
    seed: int,
    horizon: float | None = None,
    watch: Watch | None = None,
) -> Run:
    """Run a plan in a world until it ends or the horizon cuts it off, even inside a request.

    A horizon is a whole number, such as 10**10 or 1e10. `watch` is called with each answered
    request.

    >>> from lumpable import Problem, pac, worlds
    >>> world = worlds.lumpable(contexts=30, arms=20, groups=3, seed=1)
    >>> plan = pac.near_uniform(Problem(30, 20, 3), epsilon=0.2, delta=0.05)
    >>> run = simulate(plan, world, seed=2)
    >>> run.rounds, round(world.loss(run.policy), 3)
    (5701504, 0.015)
    """
    seed = checks.whole("seed", seed, 0)
    limit = None if horizon is None else checks.count("horizon", horizon, 1, MOST_ROUNDS)
    return _run(plan, world, Drawn(seed), limit, watch)


def exact(
    plan: Plan, world: World, *, horizon: float | None = None, watch: Watch | None = None
) -> Run:
    """Run a plan with infinite data: no noise, and every pair asked for is seen.

    Contexts that never come are not seen. Plays are proportional to the context frequencies;
    rounds are those asked for, up to the horizon. Plans side by side get rounded shares of them.
    """
    limit = None if horizon is None else checks.count("horizon", horizon, 1)
    if limit is not None and limit > LONGEST:
        raise BadArgument("horizon", f"at most {LONGEST:g} rounds", f"{limit.bit_length()} bits")
    return _run(plan, world, Exact(), limit, watch)


def _run(
    plan: Plan,
    world: World,
    law: Law,
    limit: int | None,
    watch: Watch | None,
    path: tuple[int, ...] = (),
) -> Run:
    check_size(plan.shape, world)
    check_scale(world)
    progress = Progress(plan)
    rounds, regret = 0, 0.0
    requests: list[RequestRow] = []
    turns: list[Turn] = []
    sides: list[Side] = []
    while (request := progress.request) is not None and rounds != limit:
        here = (*path, len(requests))
        policy = progress.so_far.policy
        if limit is None:  # a plan without end would never stop
            check_rounds(request)
        left = request.rounds if limit is None else min(request.rounds, limit - rounds)
        turns += _new_turn(turns, rounds, request.belief)
        reply: Sample | tuple[Result, ...]
        if isinstance(request, Split):
            beside, lost = _side_by_side(request, left, world, law, watch, here, policy)
            sides += beside
            reply = tuple(_standing(side.run) for side in beside)
        else:
            asked = request if left == request.rounds else replace(request, rounds=left)
            got = law.answer(asked, world, here, policy)
            lost, reply = got.regret, got.sample
            if watch is not None:
                watch(Step(here[-1], asked, got.sample, rounds + left, regret + lost, path[1:2]))
        rounds, regret = rounds + left, regret + lost
        requests.append(_row(here[-1], request, rounds, regret))
        if left == request.rounds:
            progress.answer(reply)
    end = progress.so_far
    policy = end.policy
    if isinstance(progress.request, Split) and progress.answered < len(requests):  # it was cut
        policy = policy.copy()
        for side in sides[-len(progress.request.plans) :]:
            policy[side.contexts] = side.run.policy
    return Run(
        about=plan.about,
        ran=plan.runs,
        parameters=plan.parameters,
        world=world,
        seed=law.seed,
        rounds=rounds,
        regret=regret,
        policy=policy,
        result=progress.result,
        requests=requests,
        turns=turns,
        sides=sides,
        said=end.notes,
    )


def _side_by_side(
    request: Split,
    rounds: int,
    world: World,
    law: Law,
    watch: Watch | None,
    path: tuple[int, ...],
    policy: IntVector,
) -> tuple[list[Side], float]:
    """Run plans side by side for `rounds` rounds in all; return their runs and the regret."""
    members = [request.contexts(number) for number in (*range(len(request.plans)), -1)]
    mass = np.array([world.frequency[contexts].sum() for contexts in members])
    *shares, idle = law.share(rounds, mass / mass.sum(), path)
    sides = []
    for number, (plan, share) in enumerate(zip(request.plans, shares, strict=True)):
        run = _run(plan, world.part(members[number]), law, share, watch, (*path, number))
        lost = _serve(share - run.rounds, run.world, law, (*path, number), run.policy)
        run = replace(run, rounds=share, regret=run.regret + lost)
        sides.append(Side(path[-1], members[number], run))
    rest = members[-1]
    lost = _serve(idle, world.part(rest), law, (*path, len(shares)), policy[rest]) if idle else 0.0
    return sides, lost + sum(side.run.regret for side in sides)


def _serve(rounds: int, world: World, law: Law, path: tuple[int, ...], policy: IntVector) -> float:
    """Return the regret of serving a policy for `rounds` rounds."""
    if rounds == 0:
        return 0.0
    nothing = Collect(rounds, 1, np.zeros(world.mean.shape, dtype=bool))
    return law.answer(nothing, world, path, policy).regret


def _standing(run: Run) -> Result:
    """Return a plan's result, or what it would have answered when it was stopped."""
    return run.result or Result(run.policy, notes=run.said)


def _new_turn(turns: list[Turn], rounds: int, belief: Belief | None) -> Iterator[Turn]:
    """Yield a turn if the clusters or their good arms have changed."""
    if belief is None or belief.cluster is None:
        return
    last = turns[-1].belief if turns else None
    if last is None or last.cluster is not belief.cluster or last.good is not belief.good:
        yield Turn(rounds, belief)


def _row(number: int, request: Request, rounds: int, regret: float) -> RequestRow:
    belief = request.belief
    good = None if belief is None else belief.good
    return RequestRow(
        request=number,
        phase="" if belief is None else belief.phase,
        kind="" if belief is None else belief.kind,
        h=0 if belief is None else belief.number,
        rounds=rounds,
        repeats=request.repeats if isinstance(request, Collect) else 1,
        candidates=0 if belief is None else len(belief.candidates),
        clusters=None if good is None else len(good),
        good_arms=None if good is None else float(good.sum(1).mean()),
        regret=regret,
    )
