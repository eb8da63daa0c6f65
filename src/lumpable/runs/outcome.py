"""What a run came to, as one value: what `lumpable simulate` prints, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from lumpable.plans import bounds
from lumpable.plans.costs import Budget
from lumpable.runs.bulk import Run
from lumpable.worlds.world import World


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to, what was promised, and all that reproduces it."""

    version: str
    method: str
    """What ran in the end: `cheaper` chooses."""
    world: str
    parameters: dict[str, Any]
    constants: str
    seed: int
    """The world was drawn with this seed."""
    run_seed: int | None
    """The run was drawn with this seed."""
    loss: float
    rounds: int
    requests: int
    regret: float
    candidates: list[int]
    bound: int
    """The paper's bound on the rounds (Algorithm 3: of each bucket), else the method's own."""
    printed: float | None
    """The loss bound as printed in the paper."""
    promise: float
    """The loss bound that its steps give; above 1 it says nothing."""
    naive_rounds: int
    naive_promise: float
    cheaper: str
    """`any_contexts` or `naive`, by worst cases at the same epsilon."""
    notes: list[str]
    policy: list[int]
    context_names: list[str] | None
    arm_names: list[str] | None


def outcome(run: Run, found: Budget, *, version: str, seed: int, given: dict[str, Any]) -> Outcome:
    """Put together a run and the budget of its problem; `given` holds what people asked for."""
    methods = {method.name: method for method in found.methods}
    method = methods[_ran(run, found)]
    bound = method.rounds
    if method.name in ("any_contexts", "near_uniform"):
        bound = bounds.whole(found.problem, found.epsilon, found.delta)
    return Outcome(
        version=version,
        method=method.name,
        world=repr(run.world),
        parameters=given,
        constants=str(run.parameters.get("constants", "none of the paper's")),
        seed=seed,
        run_seed=run.seed,
        loss=run.world.loss(run.policy),
        rounds=run.rounds,
        requests=len(run.steps),
        regret=run.regret,
        candidates=[] if run.result is None else list(run.result.candidates),
        bound=bound,
        printed=method.printed,
        promise=method.promise,
        naive_rounds=methods["naive"].rounds,
        naive_promise=methods["naive"].promise,
        cheaper=found.cheaper,
        notes=[*run.notes, *_notes(run, found, method.name)],
        policy=run.policy.tolist(),
        context_names=names(run.world.context_names),
        arm_names=names(run.world.arm_names),
    )


def _ran(run: Run, found: Budget) -> str:
    """Return the name of what ran in the end, where a plan chooses."""
    name = run.plan.rpartition(".")[2]
    if name == "cheaper":
        return found.cheaper
    if name == "low_rank":
        rounds = {method.name: method.rounds for method in found.methods}
        return "naive" if rounds["naive"] <= rounds["near_uniform"] else "near_uniform"
    return name


def _notes(run: Run, found: Budget, method: str) -> Iterator[str]:
    """Yield what the world, but not the plan, knows to be outside the theorems."""
    _, _, r = found.problem.letters
    world = run.world
    if method not in ("any_contexts", "near_uniform"):
        return
    if run.plan.endswith(".low_rank"):
        yield f"low rank: told of {r} cells of a cover; the promise is for cells that are all alike"
    elif world.groups > r:
        yield (
            f"the learner was told of {r} groups and the world has {world.groups}: "
            "no theorem speaks of it"
        )
    if method == "near_uniform" and uneven(world):
        yield "contexts do not come about equally often: Algorithm 1's theorem does not speak of it"


def uneven(world: World) -> bool:
    """Say whether contexts do not come about equally often."""
    S = world.contexts
    return bool(world.frequency.min() < 1 / (8 * S) or world.frequency.max() > 8 / S)


def names(given: tuple[Hashable, ...]) -> list[str] | None:
    """Return names as words; None where there are none."""
    return [str(name) for name in given] or None
