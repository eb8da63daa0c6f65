"""The outcome of a run as one value, which `lumpable simulate` prints as a table or as JSON.

`PolicyOutcome` for plans that end with a policy, `RegretOutcome` for those that play up to a
horizon. `Outcome` holds their common fields and is never made itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.version import __version__
from lumpable.base.words import counted
from lumpable.plans import bounds
from lumpable.plans.costs import Budget
from lumpable.plans.problem import PAPER, Problem
from lumpable.runs import questions
from lumpable.runs.run import Run


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run, and all that reproduces it."""

    version: str
    method: str
    """The method that ran, where a plan chooses one."""
    world: str
    parameters: dict[str, Any]
    constants: str
    seed: int
    """The seed of the world."""
    run_seed: int | None
    """The seed of the run."""
    loss: float
    """Of the final policy."""
    rounds: int
    requests: int
    regret: float
    notes: list[str]
    policy: list[int]
    context_names: list[str] | None
    arm_names: list[str] | None


class PolicyOutcome(Outcome, frozen=True, kw_only=True):
    """How good a policy is, what it cost, and what was promised."""

    candidates: list[int]
    bound: int
    """The paper's bound on the rounds (Algorithm 3: of each bucket), else the method's own."""
    printed: float | None
    """The loss bound as printed in the paper."""
    promise: float
    """The loss bound that its steps give; above 1 it is vacuous."""
    naive_rounds: int
    naive_promise: float
    cheaper: str
    """`any_contexts` or `naive`, by worst cases at the same epsilon."""


class RegretOutcome(Outcome, frozen=True, kw_only=True):
    """What playing up to a horizon cost, what it found, and the rates of the theorems."""

    regret_per_round: float
    groups: int
    """In the world."""
    clusters: int | None
    """None if the method forms none."""
    good_arms: float | None
    """An average over the clusters."""
    apart: int | None
    """Rounds until all groups were separated; None: not yet, or see `buckets`."""
    first_fall: int | None
    """Rounds until the first arm was dropped; None: not yet, or see `buckets`."""
    buckets: list[Share] | None
    """The outcome of each of several plans side by side."""
    split_possible: int | None
    """Clusters that differ by 1 on an arm can be split from about this round on."""
    fall_possible: int | None
    """Arms that are worse by 1 can be dropped from about this round on."""
    rate: float | None
    """The paper's, without constants and logarithms; None if it gives none."""
    rate_formula: str
    standard_rate: float
    """sqrt(SKT), without constants and logarithms."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one of several plans side by side; it counts its own rounds."""

    contexts: int
    groups: int
    clusters: int | None
    rounds: int
    regret: float
    apart: int | None
    first_fall: int | None


def policy_outcome(run: Run, found: Budget, *, seed: int, given: dict[str, Any]) -> PolicyOutcome:
    """Combine a run with the budget of its problem; `given` holds the user's parameters."""
    at = (found.problem, found.epsilon, found.delta)
    naive = next(method for method in found.methods if method.name == "naive")
    promise = run.ran.promise
    if promise is None:
        raise BadArgument("run", "one of a plan that promises a loss", run.plan)
    return PolicyOutcome(
        **_common_fields(run, found.problem, seed, given),
        candidates=[] if run.result is None else list(run.result.candidates),
        bound=(promise.whole or promise.rounds)(*at),
        printed=promise.printed(*at),
        promise=promise.loss(*at),
        naive_rounds=naive.rounds,
        naive_promise=naive.promise,
        cheaper=found.cheaper,
    )


def regret_outcome(
    run: Run, problem: Problem, *, seed: int, given: dict[str, Any]
) -> RegretOutcome:
    """Combine a run with its turns and the rates; `given` holds the user's parameters."""
    label = questions.final_clusters(run)
    turns = questions.latest(run)
    rate = bounds.LOW_RANK if run.about.low_rank else bounds.LUMPABLE
    if run.about.rate not in (None, bounds.STANDARD):  # that is shown beside it anyway
        rate = run.about.rate
    rated = problem if run.about.low_rank else questions.rated_problem(run)
    good = questions.clusters_of(turns[-1].belief)[1] if turns else None
    return RegretOutcome(
        **_common_fields(run, problem, seed, given),
        regret_per_round=run.regret / run.rounds,
        groups=run.world.groups,
        clusters=None if label is None else int(label.max()) + 1,
        good_arms=None if good is None else float(good.sum(1).mean()),
        apart=questions.apart(turns, run.world),
        first_fall=questions.first_fall(run),
        buckets=[_share(side.run) for side in questions.buckets(run)] or None,
        split_possible=_possible(run, 1),
        fall_possible=_possible(run, 2),
        rate=None if rated is None else rate.of(rated, run.rounds),
        rate_formula=rate.formula,
        standard_rate=bounds.standard_rate(problem, run.rounds),
    )


def _common_fields(run: Run, problem: Problem, seed: int, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `Outcome`."""
    world = run.world
    constants = run.parameters.get("constants")
    own = constants is not None and "constants" in run.ran.takes
    return {
        "version": __version__,
        "method": run.ran.method,
        "world": repr(world),
        "parameters": given,
        "constants": str(constants) if own else "none of the paper's",
        "seed": seed,
        "run_seed": run.seed,
        "loss": world.loss(run.policy),
        "rounds": run.rounds,
        "requests": len(run.requests),
        "regret": run.regret,
        "notes": [*run.notes, *outside(run, problem), *_remarks(run, problem)],
        "policy": run.policy.tolist(),
        "context_names": _names(world.context_names),
        "arm_names": _names(world.arm_names),
    }


def _names(given: tuple[Hashable, ...]) -> list[str] | None:
    return [str(name) for name in given] or None


def _share(run: Run) -> Share:
    label = questions.final_clusters(run)
    return Share(
        contexts=run.world.contexts,
        groups=len(set(run.world.group.tolist())),
        clusters=None if label is None else int(label.max()) + 1,
        rounds=run.rounds,
        regret=run.regret,
        apart=questions.apart(questions.latest(run), run.world),
        first_fall=questions.first_fall(run),
    )


def _possible(run: Run, times: int) -> int | None:
    """Return the rounds after which a gap of 1 is first `times` the threshold of a phase.

    Once: a cluster can be split. Twice: an arm can be dropped. None if the method has no such
    phases. A bucket gets only its share of the rounds.
    """
    shares = []
    for side in questions.buckets(run):
        own = _possible(side.run, times)
        if side.run.rounds and own is not None:
            before = run.requests[side.request - 1].rounds if side.request else 0
            split = run.requests[side.request].rounds - before
            shares.append(before + own * split // side.run.rounds)
    problem = run.parameters.get("problem")
    if shares or run.ran.phase is None or not isinstance(problem, Problem):
        return min(shares, default=None)
    constants = run.parameters.get("constants", PAPER)
    rounds = h = 0
    while True:
        h += 1
        size = run.ran.phase(problem, h, constants)
        rounds += sum(size.explore(n) for n in size.levels)
        if times * size.threshold(h) <= 1:
            return rounds


# --- Notes -------------------------------------------------------------------------------------


def outside(run: Run, problem: Problem) -> list[str]:
    """Say which assumptions of the theorem this world breaks; the plan cannot know.

    `problem` is what the plan was given.
    """
    assumes, world, broken = run.ran.assumes, run.world, []
    S, nu = world.contexts, world.frequency
    if "enough groups" in assumes and world.groups > problem.groups and not run.about.low_rank:
        told = counted(problem.groups, "group")
        broken.append(f"the plan assumes {told}, the world has {world.groups}")
    if "even contexts" in assumes and (nu.min() < 1 / (8 * S) or nu.max() > 8 / S):
        broken.append("contexts do not come about equally often")
    shares = world.group_frequency
    if "equal groups" in assumes and shares.max() > 2 * shares.min():
        broken.append("groups are not of equal size")
    return [f"{words}: outside the theorem's assumptions" for words in broken]


def comparable(run: Run, problem: Problem) -> bool:
    """Say whether the paper's rate may be compared with the standard one."""
    return questions.rated_problem(run) is not None and not outside(run, problem)


def _remarks(run: Run, problem: Problem) -> Iterator[str]:
    """Yield what else a reader should know."""
    if run.about.low_rank and "enough groups" in run.ran.assumes:
        cells = f"low rank: the plan assumes {problem.groups} cells of a cover"
        yield f"{cells}; the promise is for cells whose contexts are all alike"
    if run.ran.endless and all(row.kind == "estimating" for row in run.requests):
        yield "all rounds went into estimating how often contexts come: try a larger --horizon"
    if run.ran.endless and run.ran is not run.about and run.ran.rate is bounds.STANDARD:
        yield f"the {run.ran.title} ran: its bound is the better one here"
