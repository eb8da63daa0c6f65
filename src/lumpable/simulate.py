"""The bulk executor: runs a plan in a world at a cost that does not grow with the rounds.

Within one request the arms depend on visit counts only, never on rewards, so the rounds need not
be played: visits are one multinomial, arms another, and the mean of m rewards is drawn at once.
Exact in law; only the order of rounds inside a request is lost. Knows no algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lumpable import checks
from lumpable.checks import IntVector
from lumpable.plan import Collect, Plan, Progress, Result, Sample
from lumpable.world import World

MOST_ROUNDS = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What one request brought: the sample, and what only the world sees."""

    sample: Sample
    visits: IntVector
    """Rounds of each context."""
    unfinished: IntVector
    """Arm of the play that each context was in when the request ended; -1: none."""
    regret: float


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One answered request of a run, for whoever watches it."""

    number: int
    request: Collect
    sample: Sample
    rounds: int
    """Rounds so far."""
    regret: float
    """Regret so far."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A plan that was run in a world: its policy, what it cost, and all that reproduces it."""

    plan: str
    parameters: Mapping[str, Any]
    world: World
    seed: int | None
    rounds: int
    regret: float
    policy: IntVector
    result: Result | None
    """None when a horizon cut the plan off."""
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before trusting the policy."""
        own = () if self.result is None else self.result.notes
        if self.world.noise == "gaussian" and self.world.sd > 1:
            return (*own, f"noise sd {self.world.sd:g} is above 1: no theorem speaks of it")
        return own

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each request, ready for pandas or polars."""
        return [dict(step) for step in self.steps]

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!s}" for name, value in self.parameters.items())
        return (
            f"Run of {self.plan}({parameters})\n"
            f"  in {self.world!r}, seed {self.seed}\n"
            f"  {self.rounds:,} rounds in {len(self.steps)} requests, "
            f"loss {self.world.loss(self.policy):.4g}"
            + "".join(f"\n  note: {note}" for note in self.notes)
        )


Watch = Callable[[Step], None]


def simulate(
    plan: Plan,
    world: World,
    *,
    seed: int,
    horizon: int | None = None,
    watch: Watch | None = None,
) -> Run:
    """Run a plan in a world until it ends or the horizon cuts it off, in a request if need be.

    >>> from lumpable import Problem, pac, worlds
    >>> world = worlds.lumpable(contexts=30, arms=20, groups=3, seed=1)
    >>> plan = pac.near_uniform(Problem(30, 20, 3), epsilon=0.2, delta=0.05)
    >>> run = simulate(plan, world, seed=2)
    >>> run.rounds, round(world.loss(run.policy), 3)
    (5701504, 0.015)
    """
    seed = checks.whole("seed", seed, 0)

    def play(request: Collect, number: int, policy: IntVector) -> Answer:
        # numbers from 1: default_rng([seed, 0]) is default_rng(seed), which a world may have used
        return answer(request, world, np.random.default_rng([seed, number + 1]), policy)

    return _run(plan, world, seed, horizon, watch, play)


def exact(plan: Plan, world: World, *, watch: Watch | None = None) -> Run:
    """Run a plan with endless data: no noise, every asked pair of a context that comes is seen.

    Plays stand in proportion to the context frequencies; the rounds are those asked for.
    """

    def play(request: Collect, _: int, policy: IntVector) -> Answer:
        return _exact(request, world, policy)

    return _run(plan, world, None, None, watch, play)


def answer(
    request: Collect, world: World, rng: np.random.Generator, policy: IntVector | None = None
) -> Answer:
    """Draw the answer to one request: Algorithm 2 in bulk.

    Contexts that are asked nothing play `policy` (default: arm 0); it counts for regret only.
    """
    from lumpable import _kernels

    _check_size(request, world)
    if request.rounds > MOST_ROUNDS:
        raise ValueError(
            f"rounds: a request of {request.rounds:.3g} rounds is more than can be counted "
            f"({MOST_ROUNDS:.3g}); give a horizon, or a larger epsilon"
        )
    visits = np.zeros(world.contexts, dtype=np.int64)
    comes = world.frequency > 0  # multinomial gives its rounding remainder to the last cell
    visits[comes] = rng.multinomial(request.rounds, world.frequency[comes])
    plays = np.zeros(world.mean.shape, dtype=np.int64)  # numpy takes large pages, numba does not
    mean = np.full(world.mean.shape, np.nan)
    unfinished, regret = _kernels.collect(
        rng,
        visits,
        min(request.repeats, MOST_ROUNDS),  # more would not fit, and is never finished
        request.arms,
        np.zeros(world.contexts, dtype=np.int64) if policy is None else policy,
        world.mean,
        world.best,
        world.sd,
        world.noise == "bernoulli",
        plays,
        mean,
    )
    return Answer(Sample(plays, mean), visits, unfinished, regret)


def _exact(request: Collect, world: World, policy: IntVector) -> Answer:
    """Answer without noise; the regret is the expected one of the rounds asked for."""
    _check_size(request, world)
    number = request.arms.sum(axis=1)
    each = np.rint(2.0**40 * world.frequency).astype(np.int64)  # row sums, in proportion to nu
    each = np.where(world.frequency > 0, np.maximum(each, number), 0)
    plays = request.arms * (each // np.maximum(number, 1))[:, np.newaxis]
    first = np.argmax(request.arms, axis=1)
    everybody = np.arange(world.contexts)
    plays[everybody, first] += np.where(number > 0, each - plays.sum(axis=1), 0)
    played = (request.arms * world.mean).sum(axis=1) / np.maximum(number, 1)
    gap = world.best - np.where(number > 0, played, world.mean[everybody, policy])
    return Answer(
        Sample(plays, np.where(plays > 0, world.mean, np.nan)),
        visits=each,
        unfinished=np.full(world.contexts, -1),
        regret=request.rounds * float(world.frequency @ gap),
    )


def _check_size(request: Collect, world: World) -> None:
    if request.arms.shape != world.mean.shape:
        raise ValueError(
            f"plan: it asks about {request.arms.shape[0]} contexts and {request.arms.shape[1]} "
            f"arms, the world has {world.contexts} and {world.arms}"
        )


def _run(
    plan: Plan,
    world: World,
    seed: int | None,
    horizon: int | None,
    watch: Watch | None,
    play: Callable[[Collect, int, IntVector], Answer],
) -> Run:
    limit = None if horizon is None else checks.whole("horizon", horizon, 1)
    progress = Progress(plan)
    policy = np.zeros(world.contexts, dtype=np.int64)
    rounds, regret = 0, 0.0
    steps: list[dict[str, Any]] = []
    while (request := progress.request) is not None and rounds != limit:
        belief = request.belief
        policy = policy if belief is None else belief.policy
        cut = limit is not None and rounds + request.rounds > limit
        asked = request
        if limit is not None and cut:
            asked = Collect(limit - rounds, request.repeats, request.arms, belief)
        got = play(asked, len(steps), policy)
        rounds, regret = rounds + asked.rounds, regret + got.regret
        steps.append(_row(len(steps), asked, rounds, regret))
        if watch is not None:
            watch(Step(len(steps) - 1, asked, got.sample, rounds, regret))
        if not cut:
            progress.answer(got.sample)
    result = progress.result
    policy = policy if result is None else result.policy
    return Run(plan.name, plan.parameters, world, seed, rounds, regret, policy, result, steps)


def _row(number: int, request: Collect, rounds: int, regret: float) -> dict[str, Any]:
    belief = request.belief
    return {
        "request": number,
        "phase": "" if belief is None else belief.phase,
        "rounds": rounds,
        "repeats": request.repeats,
        "candidates": 0 if belief is None else len(belief.candidates),
        "regret": regret,
    }
