"""Claim 26: an unknown number of groups, guessed and doubled."""

from __future__ import annotations

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.plans import reductions, regret
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import PAPER, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Sketch, curves

SIZE = (48, 12)
FAR = 10**15
TWICE, ONE_MORE, FOUR_TIMES = "doubling", "one more each time", "four times as many"
BAR = "bar: log2 r, rounded up, + 1"


@lb.algorithm
def guessing(problem: Problem, *, times: int = 1, plus: int = 0) -> Conversation:
    """Algorithm 6 without knowing r, with a guess that does not double."""
    S, K, guess = problem.letters
    given_up: tuple[str, ...] = ()
    while True:
        guessed = Problem(S, K, guess)
        state = regret.LevelledState.start(guessed)
        try:
            while True:
                yield from regret.levelled_phase(
                    guessed, state, PAPER, doubt=guess < S, given_up=given_up
                )
        except regret.TooFewGroups as reason:
            given_up = (*given_up, str(reason))
            guess = min(S, times * guess + plus)


def ways_to_guess() -> dict[str, lb.Plan]:
    """Return a fresh plan of each way."""
    start = Problem(*SIZE, 1)
    plans = (reductions.unknown_groups(start), guessing(start, plus=1), guessing(start, times=4))
    return dict(zip((TWICE, ONE_MORE, FOUR_TIMES), plans, strict=True))


def restarts_bar(groups: int) -> int:
    """Return ceil(log2 r) + 1."""
    return (groups - 1).bit_length() + 1


def same_groups(run: lb.Run) -> bool:
    """Say whether the clusters at the end are the groups of the world."""
    label = run.turns[-1].belief.cluster
    if label is None:
        return False
    pairs = {(int(b), int(c)) for b, c in zip(run.world.group, label, strict=True)}
    return len(pairs) == run.world.groups == len({c for _, c in pairs})


def measure_doubling(effort: Effort) -> Measured:
    """Count restarts and look at the last guess, for several numbers of groups."""
    S, K = SIZE
    runs = effort.pick(1, 4)
    groups = effort.pick((2, 3, 5, 8, 12), (2, 3, 4, 5, 6, 8, 9, 12, 16))
    restarts: dict[str, list[list[int]]] = {
        way: [[] for _ in groups] for way in (TWICE, ONE_MORE, FOUR_TIMES)
    }
    cost, same = [], 0
    for k, r in enumerate(groups):
        for seed in range(runs):
            world = worlds.lumpable(S, K, r, seed=100 * r + seed)
            for way, plan in ways_to_guess().items():
                run = lb.simulate(plan, world, horizon=FAR, seed=seed)
                restarts[way][k].append(len(run.notes))
                if way == TWICE:
                    same += same_groups(run)
                    known = regret.any_groups(Problem(S, K, r))
                    usual = lb.simulate(known, world, horizon=FAR, seed=seed)
                    cost.append(run.regret / usual.regret)
    heights = {way: np.mean(restarts[way], axis=1).tolist() for way in (TWICE, ONE_MORE)}
    heights[BAR] = [restarts_bar(r) for r in groups]
    return Measured(
        seeds=runs * len(groups),
        setting={"S": S, "K": K, "groups": groups, "runs": runs},
        rows=curves("groups", groups, "restarts", heights),
        facts={"restarts": restarts, "cost": cost, "same": same},
    )


def judge_doubling(measured: Measured) -> Verdict:
    """The worst run counts; the last guess follows from the number of restarts."""
    S, groups = measured.setting["S"], measured.setting["groups"]

    def worst(way: str) -> list[tuple[int, int]]:
        return [(r, max(n)) for r, n in zip(groups, measured.facts["restarts"][way], strict=True)]

    def check_restarts(way: str) -> Check:
        beyond = max(count - restarts_bar(r) for r, count in worst(way))
        return Check("restarts beyond ⌈log₂ r⌉ + 1, largest", beyond, "<=", 0)

    def check_guess(way: str, times: int) -> Check:
        guess = max(min(S, times**count) / r for r, count in worst(way))
        return Check("last guess, over r, largest", guess, "<=", 2 - 1 / max(groups))

    return Verdict(
        printed=(check_restarts(TWICE), check_guess(TWICE, 2)),
        broken=(check_restarts(ONE_MORE), check_guess(FOUR_TIMES, 4)),
    )


def word_doubling(measured: Measured, verdict: Verdict) -> Words:
    """Tell how often the guess doubled, and what not knowing r costs."""
    at, cost = measured.setting, measured.facts["cost"]
    found = zip(at["groups"], measured.facts["restarts"][TWICE], strict=True)
    right = sum(count < restarts_bar(r) for r, counts in found for count in counts)
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['groups'][0]} … {at['groups'][-1]} equal "
            "groups, uniform means, printed constants, T = 1e15"
        ),
        takeaway=(
            f"In {right} of {measured.seeds} runs the guess doubled at most ⌈log₂ r⌉ times; in "
            f"{measured.facts['same']} the clusters at the end were the groups exactly. Not "
            f"knowing r multiplied the regret by {np.median(cost):.2f} (median; {min(cost):.2f} to "
            f"{max(cost):.2f})."
        ),
    )


DOUBLING = Claim(
    26,
    "An unknown number of groups: doubling",
    printed=(
        "Start with r = 1 and double it when there are more than r clusters: the last guess is "
        "below 2r, after at most ⌈log₂ r⌉ + 1 restarts"
    ),
    broken="one more each time instead of twice as many; four times as many",
    seconds=(6.0, 46.0),
    measure=measure_doubling,
    judge=judge_doubling,
    word=word_doubling,
    draw=Sketch(
        Axis("groups", "true number of groups r", ticks="points"),
        Axis("restarts", "restarts"),
        {TWICE: "blue", ONE_MORE: "orange", BAR: GUIDE},
        title="Doubling finds r after log r restarts",
        subtitle="Runs for each r: {runs}; T = 1e15. Broken: one more each time.",
        description=(
            "Restarts against the true number of groups: with doubling one below the bar or less, "
            "with one more each time a straight line that crosses it."
        ),
    ),
)
