"""Reductions that the paper describes in prose.

The switch to a standard method, any context frequencies online, an unknown number of groups, low
rank. Plans: no randomness, clock, I/O, logging or globals; "reading" refers to paper.md and
paper-regret.md.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.plans import bounds, clusters, lengths, pac, regret, standard
from lumpable.plans.about import About
from lumpable.plans.making import algorithm
from lumpable.plans.plan import Belief, Branching, Collect, Conversation, Request, Result, Split
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.plans.seen import Sample

# --- The switch -------------------------------------------------------------------------------


@algorithm(
    About(
        "Algorithm 3 or the naive method",
        "takes the one that asks for fewer rounds at worst",
    )
)
def cheaper(
    problem: Problem, *, epsilon: float, delta: float, constants: Constants = PAPER
) -> Branching:
    """Algorithm 3 or the naive method, whichever asks for fewer rounds at worst (reading 33).

    The naive method if they are equal. Both run at the same epsilon; they do not promise the same
    loss (`lumpable.budget`).
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    paper = bounds.any_contexts_rounds(problem, epsilon, delta, constants)
    naive = bounds.naive_rounds(problem, epsilon, delta, constants)
    method = pac.any_contexts if paper < naive else standard.naive
    return method(problem, epsilon=epsilon, delta=delta, constants=constants)


@algorithm(
    About(
        "Algorithm 6 or the standard one",
        "takes the one with the better bound",
        endless=True,
        rate=bounds.NEVER_WORSE,
    )
)
def never_worse(
    problem: Problem, *, constants: Constants = PAPER, mended: bool = False
) -> Branching:
    """Algorithm 6, or the standard algorithm where its bound is the better one (reading 33).

    That is where SK < r^3 (S + K), for any horizon.
    """
    if bounds.standard_is_better(problem):
        return standard.online(problem)
    return regret.any_groups(problem, constants=constants, mended=mended)


# --- An unknown number of groups ---------------------------------------------------------------


@algorithm(
    About(
        "Algorithm 6 without r",
        "starts from one group and doubles the guess whenever the data disprove it",
        endless=True,
        rate=bounds.LUMPABLE,
        phase=lengths.any_groups_phase,
        guesses=True,
    )
)
def unknown_groups(
    problem: Problem, *, constants: Constants = PAPER, mended: bool = False
) -> Conversation:
    """Algorithm 6 without knowing r: a guess doubles whenever the data disprove it (reading 32).

    `problem.groups` is the first guess; the paper's is 1. The notes of a run say which guesses
    were given up and why. The paper proposes this without a proof.
    """
    S, K, guess = problem.letters
    given_up: tuple[str, ...] = ()
    policy: IntVector | None = None
    while True:
        guessed = Problem(S, K, guess)
        state = regret.LevelledState.start(guessed, policy)
        try:
            while True:
                yield from regret.levelled_phase(
                    guessed, state, constants, mended=mended, doubt=guess < S, given_up=given_up
                )
        except regret.TooFewGroups as reason:
            why = f"r = {guess} was given up in phase {state.h}: {reason}"
            given_up = (*given_up, why)
            policy = state.policy
            guess = min(2 * guess, S)


# --- Any context frequencies -------------------------------------------------------------------


@algorithm(
    About(
        "Algorithm 6 in buckets",
        "runs Algorithm 6 side by side on contexts that come about equally often",
        option="any-contexts",
        endless=True,
        rate=bounds.LUMPABLE,
        assumes=frozenset({"enough groups"}),
    )
)
def any_contexts_online(
    problem: Problem,
    *,
    horizon: int | float | None = None,
    constants: Constants = PAPER,
    mended: bool = False,
) -> Branching:
    """Algorithm 6 for any context frequencies: a copy for each bucket, side by side (reading 31).

    With a horizon it ends there. Without one the horizon doubles, each time from scratch; the first
    rounds, too few to estimate frequencies, go to the standard algorithm.
    """
    S = problem.contexts
    policy = np.zeros(S, dtype=np.int64)
    if horizon is not None:
        T = checks.count("horizon", horizon, 1, checks.MOST_ROUNDS)
        return Result((yield from _for_horizon(problem, T, policy, constants, mended)))
    T = lengths.first_horizon(S, constants)
    everybody = np.zeros(S, dtype=np.int64)
    belief = Belief(f"the standard algorithm, up to round {T}", policy, kind="side by side")
    first: tuple[Result, ...] = yield Split(T, everybody, (standard.online(problem),), belief)
    policy = first[0].policy
    while True:
        # rounds T + 1 .. 2T
        policy = yield from _for_horizon(problem, T, policy, constants, mended)
        T *= 2


def _for_horizon(
    problem: Problem, T: int, policy: IntVector, constants: Constants, mended: bool
) -> Generator[Request, Any, IntVector]:
    """Play T rounds: estimate frequencies, then run a plan for each bucket; return the policy.

    Contexts that hardly ever come are given up.
    """
    S, K, r = problem.letters
    J = lengths.estimate_rounds(S, T, constants)
    words = f"estimating how often each context comes, horizon {T}"
    belief = Belief(words, policy, kind="estimating")
    sample: Sample = yield Collect(J, 1, np.ones((S, K), dtype=bool), belief)
    frequency = sample.plays.sum(axis=1) / max(1, int(sample.plays.sum()))
    bucket = side_by_side(frequency, T)
    policy = np.full(S, pac.best_pooled_arm(sample))
    if T == J:
        return policy
    given_up = int(np.sum(bucket < 0))
    number = int(bucket.max()) + 1
    words = f"horizon {T}: {number} buckets side by side, {given_up} contexts given up"
    if number == 0:
        nobody = np.zeros((S, K), dtype=bool)
        yield Collect(T - J, 1, nobody, Belief(words, policy, kind="serving"))
        return policy
    belief = Belief(words, policy, kind="side by side")
    sizes = np.bincount(bucket[bucket >= 0]).tolist()
    options: dict[str, Any] = {"constants": constants, "mended": mended, "arm": int(policy[0])}
    plans = tuple(regret.any_groups(Problem(size, K, min(r, size)), **options) for size in sizes)
    results: tuple[Result, ...] = yield Split(T - J, bucket, plans, belief)
    policy = policy.copy()
    for b, result in enumerate(results):
        policy[bucket == b] = result.policy
    return policy


def side_by_side(frequency: FloatVector, horizon: int) -> IntVector:
    """Number the buckets (2^-l-1, 2^-l] that are not empty; -1: nu-hat <= 1/sqrt(ST), given up."""
    S = len(frequency)
    kept = frequency * frequency * (S * horizon) > 1
    bucket = np.full(S, -1, dtype=np.int64)
    level = pac.bucket_of(frequency[kept], 1 << 30)
    bucket[kept] = np.unique(level, return_inverse=True)[1]
    return bucket


# --- Low rank ----------------------------------------------------------------------------------


@algorithm(
    About(
        "Algorithm 1 on a cover",
        "takes the means to be of low rank, and Algorithm 1 or the naive method",
        low_rank=True,
    )
)
def low_rank(
    problem: Problem,
    *,
    epsilon: float,
    delta: float,
    bound: float = 1.0,
    switch: bool = True,
    constants: Constants = PAPER,
) -> Branching:
    """Algorithm 1 for means of low rank: contexts in one cell of a cover are nearly alike.

    `problem.groups` is the rank r, `bound` is B, the largest absolute entry of the contexts'
    vectors: R = min(S, ceil(2B/epsilon)^r) cells. With `switch`, the naive method where that asks
    for fewer rounds at worst, which is nearly everywhere (reading 34).
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    bound = checks.real("bound", bound, "a positive number", 0.0, np.inf)
    S, K, _ = problem.letters
    cells = Problem(S, K, lengths.cover(problem, bound, epsilon))
    cost = bounds.near_uniform_rounds(cells, epsilon, delta, constants)
    naive_is_cheaper = bounds.naive_rounds(problem, epsilon, delta, constants) <= cost
    method = standard.naive if switch and naive_is_cheaper else pac.near_uniform
    return method(cells, epsilon=epsilon, delta=delta, constants=constants)


@algorithm(
    About(
        "Algorithm 6 on a cover",
        "takes the means to be of low rank, and Algorithm 6 or the standard algorithm",
        option="low-rank",
        endless=True,
        rate=bounds.LOW_RANK,
        low_rank=True,
    )
)
def low_rank_online(
    problem: Problem,
    *,
    horizon: int | float,
    bound: float = 1.0,
    switch: bool = True,
    constants: Constants = PAPER,
) -> Branching:
    """Algorithm 6 for means of low rank, frozen where the proof ends (reading 34).

    Where contexts lie denser than Algorithm 5 can tell apart it learns nothing, and the printed
    order fails (errata.md); `regret.candidates`, which needs neither rank nor cover, has a better
    one there too (Corollary 4 in beyond-candidates.md).

    `problem.groups` is the rank r, `bound` is B: R = min(S, ceil(2B/alpha)^r) cells of width alpha
    = ((S + K)/T)^(1/(3r + 2)). After phase H contexts of one cell would be split; from then on it
    plays its deepest good sets unchanged until it is cut off. With `switch`, the standard algorithm
    where its bound is the better one, which is nearly everywhere.
    """
    S, K, _ = problem.letters
    T = checks.count("horizon", horizon, S + K + 1, checks.MOST_ROUNDS)
    bound = checks.real("bound", bound, "a positive number", 0.0, np.inf)
    alpha = lengths.cover_width(problem, T)
    cells = Problem(S, K, lengths.cover(problem, bound, alpha))
    if switch and bounds.standard_is_better(cells):
        return standard.online(problem)
    return frozen_after(lengths.last_phase(alpha), cells, constants)


def frozen_after(H: int, problem: Problem, constants: Constants) -> Conversation:
    """Algorithm 6 up to phase H; from then on it plays its deepest good sets unchanged."""
    state = regret.LevelledState.start(problem)
    for _ in range(H):
        yield from regret.levelled_phase(problem, state, constants)
    rounds = lengths.any_groups_phase(problem, H, constants).explore(H)
    words = f"frozen after phase {H}"
    belief = clusters.belief_in(state.found, "frozen", words, H, state.policy)
    while True:
        yield Collect(rounds, 2**H, state.found.arms(-1), belief)
        rounds *= 2  # the same arms for ever: longer requests are only fewer
