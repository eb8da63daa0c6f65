"""Claims 25 and 26: any context frequencies online, and an unknown number of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base import words
from lumpable.plans import reductions, regret
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import PAPER, Problem
from lumpable.reproduce.claim import Check, Effort, Finding, claim
from lumpable.reproduce.claims import sketch, skewed
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.reproduce.claims.skewed import (
    ALL_KEPT,
    GIVEN_UP,
    NO_BUCKETS,
    SKEWED,
    faulty,
    idle,
    in_bars,
    reduced,
    uniform_regret,
)

# --- 25: any context frequencies ------------------------------------------------------------


@claim(
    25,
    "Any context frequencies online",
    printed=(
        "Estimating ν and giving up rare contexts costs an extra Õ(√(ST)); the others fall into "
        "O(log(ST)) buckets of nearly equal frequencies, which costs a factor √log(ST)"
    ),
    broken=(
        "all contexts are kept; no buckets; everybody below half of the average is given up; no "
        "arm ever falls"
    ),
    seconds=(10.0, 95.0),
)
def any_frequencies(effort: Effort) -> Finding:
    """Run the reduction where frequencies are skewed, and look at what it adds.

    What buckets cost is looked at where they have learned something: an arm of gap 1 must have
    fallen in each of them, by schedule. Before that all lose alike, and the factor is 1.
    """
    S, K, r = SKEWED.letters
    runs = effort.pick(1, 5)
    horizons = effort.pick((10**10, 10**12, 10**14), tuple(10**e for e in range(10, 17)))
    rows: list[dict[str, float | str]] = []
    found: list[dict[str, float]] = []
    factors: dict[int, list[float]] = {}
    wasted = []
    for T in horizons:
        here = []
        for seed in range(runs):
            for name, world in skewed.kinds(SKEWED, T, seed).items():
                run = reduced(world, T, seed)
                here.append(run)
                found.append(in_bars(run, T))
                if name == "Zipf" and run.late and skewed.surely_learns(SKEWED, T):
                    factors.setdefault(T, []).append(run.inside / uniform_regret(world, T, seed))
        careless = faulty(skewed.kinds(SKEWED, T, 0)["Zipf"], T, GIVEN_UP, 0)
        wasted.append(in_bars(careless, T)["given_up"])
        heights = {
            "in buckets": max(run.inside for run in here),
            "estimating": max(run.estimating for run in here),
            "given up": max(run.given_up for run in here),
            "bar for given up": skewed.given_up_bar(S, T),
            "broken, given up": careless.given_up,
        }
        rows += [{"series": name, "horizon": T, "regret": y} for name, y in heights.items()]
    most = {name: max(each[name] for each in found) for name in found[0]}
    world = skewed.kinds(SKEWED, T, 0)["halving"]
    kept, mixed = (in_bars(faulty(world, T, fault, 0), T) for fault in (ALL_KEPT, NO_BUCKETS))
    # the mean over worlds at each horizon, in units of the root that the paper allows there
    roots = {T: math.sqrt(skewed.most_buckets(S, T)) for T in factors}
    factor = {T: float(np.mean(ratios)) for T, ratios in factors.items()}
    zipf = skewed.kinds(SKEWED, T, 0)["Zipf"]
    unlearned = idle(zipf, T, 0).inside / uniform_regret(zipf, T, 0)

    def checks(
        buckets: float, unevenness: float, given_up: float, times: float
    ) -> tuple[Check, ...]:
        return (
            Check("buckets, over log₂ √(ST) + 1, most", buckets, "<=", 1.0),
            Check("a context against the average of its bucket, factor", unevenness, "<=", 8.0),
            Check("regret of those given up, over 2 √(ST), most", given_up, "<=", 1.0),
            Check(
                "regret in buckets over that with uniform ν, in √(log₂ √(ST) + 1), most, T ≥ "
                f"{words.number(min(factor))}",
                times,
                "<=",
                1.0,
            ),
        )

    return Finding(
        setting=(
            f"S = {S}, K = {K}, r = {r}, uniform means, printed constants; T = 1e10 … "
            f"{words.number(T)}; frequencies ∝ 1/k, ∝ 2^-k, 0.9/√(ST) or 20/√(ST) for all but two"
        ),
        seeds=len(found),
        printed=checks(
            most["buckets"],
            most["unevenness"],
            most["given_up"],
            max(factor[T] / roots[T] for T in factor),
        ),
        broken=checks(
            kept["buckets"], mixed["unevenness"], wasted[-1], unlearned / roots[horizons[-1]]
        ),
        words=(
            f"Contexts of a bucket come within a factor {most['unevenness']:.1f} of its average, "
            f"those given up cost at most {2 * most['given_up']:.2f} √(ST). From T = "
            f"{words.number(min(factor))} on, where a gap of 1 must have shown in every bucket, "
            f"the regret in buckets is at most {max(factor.values()):.2f} times that with uniform "
            f"frequencies; the paper allows {min(roots.values()):.1f}."
        ),
        figure=sketch.picture(
            rows,
            Axis("horizon", "horizon T", "log"),
            Axis("regret", "regret", "log"),
            {
                "in buckets": Series(sketch.GREEN),
                "estimating": Series(sketch.SKY),
                "given up": Series(sketch.BLUE),
                "bar for given up": Series("#222222", "dash"),
                "broken, given up": Series(sketch.ORANGE),
            },
            title="Skewed frequencies cost √(ST) more",
            subtitle=[
                f"Largest of {4 * runs} runs a point. Broken: contexts below 1/(2S) are given up.",
            ],
            description=(
                "Regret against the horizon: what estimating and giving up cost grows like the "
                "square root, far below the regret in buckets; when too many contexts are given up "
                "it grows linearly."
            ),
        ),
    )


# --- 26: an unknown number of groups ----------------------------------------------------------

DOUBLED = (48, 12)
FAR = 10**15
BAR = "bar: log2 r, rounded up, + 1"


@lb.algorithm
def guessing(problem: Problem, *, times: int = 1, plus: int = 0) -> Conversation:
    """Algorithm 6 without knowing r, where the guess grows as it should not."""
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


def restarts_bar(groups: int) -> int:
    """Return ceil(log2 r) + 1."""
    return (groups - 1).bit_length() + 1


@claim(
    26,
    "An unknown number of groups: doubling",
    printed=(
        "Start with r = 1 and double it when there are more than r clusters: the last guess is "
        "below 2r, after at most ⌈log₂ r⌉ + 1 restarts"
    ),
    broken="one more each time instead of twice as many; four times as many",
    seconds=(6.0, 46.0),
)
def doubling(effort: Effort) -> Finding:
    """Count restarts and look at the last guess, for several numbers of groups."""
    S, K = DOUBLED
    runs = effort.pick(1, 4)
    groups = effort.pick((2, 3, 5, 8, 12), (2, 3, 4, 5, 6, 8, 9, 12, 16))
    ways = ("doubling", "one more each time", "four times as many")
    restarts: dict[tuple[str, int], list[int]] = {}
    guess: dict[tuple[str, int], list[int]] = {}
    cost, apart = [], 0
    for r in groups:
        for seed in range(runs):
            world = worlds.lumpable(S, K, r, seed=100 * r + seed)
            for way, plan in _guesses(ways).items():
                run = lb.simulate(plan, world, horizon=FAR, seed=seed)
                count = len(run.notes)
                restarts.setdefault((way, r), []).append(count)
                last = {ways[0]: 2**count, ways[1]: 1 + count, ways[2]: 4**count}[way]
                guess.setdefault((way, r), []).append(min(S, last))
                if way == ways[0]:
                    apart += _same_groups(run)
                    known = regret.any_groups(Problem(S, K, r))
                    cost.append(
                        run.regret / lb.simulate(known, world, horizon=FAR, seed=seed).regret
                    )
    rows = [
        {"series": way, "groups": r, "restarts": float(np.mean(restarts[way, r]))}
        for way in ways[:2]
        for r in groups
    ]
    rows += [{"series": BAR, "groups": r, "restarts": restarts_bar(r)} for r in groups]

    def check_restarts(way: str) -> Check:
        worst = max(max(restarts[way, r]) - restarts_bar(r) for r in groups)
        return Check("restarts beyond ⌈log₂ r⌉ + 1, largest", worst, "<=", 0)

    def check_guess(way: str) -> Check:
        worst = max(max(guess[way, r]) / r for r in groups)
        return Check("last guess, over r, largest", worst, "<=", 2 - 1 / max(groups))

    total = runs * len(groups)
    right = sum(count < restarts_bar(r) for r in groups for count in restarts[ways[0], r])
    return Finding(
        setting=(
            f"S = {S}, K = {K}, r = {groups[0]} … {groups[-1]} equal groups, uniform means, "
            "printed constants, T = 1e15"
        ),
        seeds=total,
        printed=(check_restarts(ways[0]), check_guess(ways[0])),
        broken=(check_restarts(ways[1]), check_guess(ways[2])),
        words=(
            f"In {right} of {total} runs the guess doubled at most ⌈log₂ r⌉ times; in "
            f"{apart} the clusters at the end were the groups exactly. Not knowing r multiplied "
            f"the regret by {np.median(cost):.2f} (median; {min(cost):.2f} to {max(cost):.2f})."
        ),
        figure=sketch.picture(
            rows,
            Axis("groups", "true number of groups r", values=groups),
            Axis("restarts", "restarts"),
            {
                "doubling": Series(sketch.BLUE),
                "one more each time": Series(sketch.ORANGE),
                BAR: Series("#222222", "dash"),
            },
            title="Doubling finds r after log r restarts",
            subtitle=[f"Runs for each r: {runs}; T = 1e15. Broken: one more each time."],
            description=(
                "Restarts against the true number of groups: with doubling one below the bar or "
                "less, with one more each time a straight line that crosses it."
            ),
        ),
    )


def _guesses(ways: Sequence[str]) -> dict[str, lb.Plan]:
    start = Problem(*DOUBLED, 1)
    plans = (reductions.unknown_groups(start), guessing(start, plus=1), guessing(start, times=4))
    return dict(zip(ways, plans, strict=True))


def _same_groups(run: lb.Run) -> bool:
    """Say whether the clusters at the end are the groups of the world."""
    label = run.turns[-1].belief.cluster
    if label is None:
        return False
    pairs = {(int(b), int(c)) for b, c in zip(run.world.group, label, strict=True)}
    return len(pairs) == run.world.groups == len({c for _, c in pairs})
