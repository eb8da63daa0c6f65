"""What playing up to a horizon came to, as one value: what `lumpable simulate regret` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lumpable.plans import bounds, lengths
from lumpable.plans.problem import PAPER, Problem
from lumpable.runs import questions
from lumpable.runs.outcome import names, uneven
from lumpable.runs.run import Run


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What a run cost and found, what the theorems say of it, and all that reproduces it."""

    version: str
    method: str
    """What ran in the end: `never_worse` and `low_rank_online` choose."""
    world: str
    parameters: dict[str, Any]
    constants: str
    seed: int
    """The world was drawn with this seed."""
    run_seed: int | None
    """The run was drawn with this seed."""
    rounds: int
    requests: int
    regret: float
    regret_per_round: float
    loss: float
    """Of the policy at the end."""
    groups: int
    """Hidden in the world."""
    clusters: int | None
    """None where a method forms none."""
    good_arms: float | None
    """An average over the clusters."""
    apart: int | None
    """Rounds after which all groups were apart; None: not yet, or see `buckets`."""
    first_fall: int | None
    """Rounds after which the first arm had fallen; None: not yet, or see `buckets`."""
    buckets: list[Share] | None
    """Of plans side by side: what came of each in the end."""
    split_possible: int | None
    """Clusters can be split from about so many rounds on, those that differ by 1 on an arm."""
    fall_possible: int | None
    """Arms can fall from about so many rounds on, those that are worse by 1."""
    rate: float | None
    """The paper's, constants and logarithms left out; None: no theorem speaks of it."""
    rate_formula: str
    standard_rate: float
    """sqrt(SKT), constants and logarithms left out."""
    notes: list[str]
    policy: list[int]
    context_names: list[str] | None
    arm_names: list[str] | None


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one of several plans side by side; it counts its own rounds."""

    contexts: int
    groups: int
    clusters: int | None
    rounds: int
    regret: float
    apart: int | None
    first_fall: int | None


def account(
    run: Run, problem: Problem, *, version: str, seed: int, given: dict[str, Any]
) -> Account:
    """Put together a run, what its turns say, and the rates; `given` holds what was asked for."""
    world = run.world
    label = questions.found(run)
    rated = questions.rated(run)
    rate, formula = bounds.regret_rate, "sqrt(r^3 (S+K) T)"
    if run.plan.endswith(".low_rank_online"):
        rated, rate, formula = problem, bounds.low_rank_rate, "(S+K)^p T^(1-p), p = 1/(3r+2)"
    turns = questions.latest(run)
    return Account(
        version=version,
        method=ran(run),
        world=repr(world),
        parameters=given,
        constants=_constants(run),
        seed=seed,
        run_seed=run.seed,
        rounds=run.rounds,
        requests=len(run.steps),
        regret=run.regret,
        regret_per_round=run.regret / run.rounds,
        loss=world.loss(run.policy),
        groups=world.groups,
        clusters=None if label is None else int(label.max()) + 1,
        good_arms=float(questions.clusters_of(turns[-1].belief)[1].sum(1).mean())
        if turns
        else None,
        apart=questions.apart(turns, world),
        first_fall=questions.first_fall(run),
        buckets=[_share(side.run) for side in questions.buckets(run)] or None,
        split_possible=_possible(run, 1),
        fall_possible=_possible(run, 2),
        rate=None if rated is None else rate(rated, run.rounds),
        rate_formula=formula,
        standard_rate=bounds.standard_rate(problem, run.rounds),
        notes=[*run.notes, *_notes(run, problem)],
        policy=run.policy.tolist(),
        context_names=names(world.context_names),
        arm_names=names(world.arm_names),
    )


def ran(run: Run) -> str:
    """Return the name of what ran in the end, where a plan chooses."""
    name = run.plan.rpartition(".")[2]
    if name in ("never_worse", "low_rank_online") and not run.turns:
        return "online"
    return "any_groups" if name == "never_worse" else name


def _constants(run: Run) -> str:
    """Say which constants counted: the standard algorithm has none of the paper's."""
    given = run.parameters.get("constants")
    return "none of the paper's" if given is None or ran(run) == "online" else str(given)


def _share(run: Run) -> Share:
    label = questions.found(run)
    return Share(
        contexts=run.world.contexts,
        groups=len(set(run.world.group.tolist())),
        clusters=None if label is None else int(label.max()) + 1,
        rounds=run.rounds,
        regret=run.regret,
        apart=questions.apart(questions.latest(run), run.world),
        first_fall=questions.first_fall(run),
    )


# --- When something can happen -----------------------------------------------------------------


def possible(problem: Problem, run: Run, times: int) -> int | None:
    """Return the first rounds after which a gap of 1 can be `times` the threshold of a phase.

    Once: a cluster is split. Twice: an arm falls. None where a method has no such phases.
    """
    name = ran(run)
    if name not in ("equal_groups", "any_groups", "unknown_groups"):
        return None
    constants = run.parameters.get("constants", PAPER)
    rounds = h = 0
    while True:
        h += 1
        if name == "equal_groups":
            size = lengths.equal_groups_phase(problem, h, constants)
            rounds += size.explore(h)
        else:
            size = lengths.any_groups_phase(problem, h, constants)
            rounds += sum(size.explore(n) for n in range(1, h + 1))
        if times * size.threshold(h) <= 1:
            return rounds


def _possible(run: Run, times: int) -> int | None:
    """Return the same for a whole run; a bucket's rounds take as many more as it has a share."""
    shares = []
    for side in questions.buckets(run):
        found = _possible(side.run, times)
        if side.run.rounds and found is not None:
            before = run.steps[side.request - 1]["rounds"] if side.request else 0
            split = run.steps[side.request]["rounds"] - before
            shares.append(before + found * split // side.run.rounds)
    problem = run.parameters.get("problem")
    if shares or not isinstance(problem, Problem):
        return min(shares, default=None)
    return possible(problem, run, times)


# --- Notes -------------------------------------------------------------------------------------


def _notes(run: Run, problem: Problem) -> Iterator[str]:
    """Yield what the world, but not the plan, knows to be outside the theorems."""
    name, world = ran(run), run.world
    if name in ("equal_groups", "any_groups", "any_contexts_online"):
        if world.groups > problem.groups:
            yield (
                f"the learner was told of {problem.groups} groups and the world has "
                f"{world.groups}: no theorem speaks of it"
            )
        if name != "any_contexts_online" and uneven(world):
            yield "contexts do not come about equally often: the theorem does not speak of it"
    if name == "any_contexts_online" and not run.sides:
        yield "all rounds went into estimating how often contexts come: try a larger --horizon"
    shares = world.group_frequency
    if name == "equal_groups" and shares.max() > 2 * shares.min():
        yield "groups are not of equal size: Algorithm 4's theorem does not speak of it"
    if name == "online" and run.plan.rpartition(".")[2] != "online":
        yield "the standard algorithm ran: its bound is the better one here"
