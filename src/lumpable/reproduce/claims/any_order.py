"""Claim 32: candidates online, contexts in any order that is fixed in advance.

The noise is quiet and the learner is told so, which scales its widths c(n). Its theorem holds as
long as 7 c(0) >= 1, and its rate shows at horizons that can be played.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import lumpable as lb
from lumpable.base.arrays import IntVector
from lumpable.base.words import counted
from lumpable.learners.online_candidates import OnlineCandidates, State
from lumpable.plans import regret_bounds
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate, slope
from lumpable.reproduce.claims.rates import check_exponent, exponent
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Series, Sketch, curves

SIZE = Problem(8, 8, 2)
SD = 0.02
STEEPEST = 0.75
"""Half-way between sqrt(T) and T; with ln^5 T the theorem would allow nearly T at such horizons."""
LOGS = 3.0
"""Regret over sqrt(r(S + K)T), at the last T: at most 3 ln T; the theorem allows C ln^5 T."""
CHUNK = 1 << 16
WORST, BEST, UNIFORM = "the worst order", "the best order", "arms at random"
LATE, BROKEN, BAR = "a late group", "broken, a late group", f"{LOGS:g} ln T"

# --- Orders: the context of each of T rounds ------------------------------------------------------

Order = Callable[[int, np.random.Generator], IntVector]


def halving(T: int, rng: np.random.Generator) -> IntVector:
    """One context for half of all rounds, the next for half of the rest, and so on."""
    passed = np.arange(T) / T
    turn: IntVector = np.floor(-np.log2(1 - passed)).astype(np.int64)
    return np.minimum(turn, SIZE.contexts - 1)


def late_group(T: int, rng: np.random.Generator) -> IntVector:
    """The first group in turn for a quarter of all rounds, then only the second."""
    half, turn = SIZE.contexts // 2, np.arange(T)
    return np.where(turn < T // 4, turn % half, half + turn % half)


def bursts(T: int, rng: np.random.Generator) -> IntVector:
    """The same context for a while, for 1, 2, 4, ... up to T/8 rounds, each length as likely."""
    longest = max(1, int(math.log2(T)) - 3)
    found: list[IntVector] = []
    left = T
    while left > 0:
        length = 1 << int(rng.integers(longest + 1))
        found.append(np.full(length, rng.integers(SIZE.contexts)))
        left -= length
    return np.concatenate(found)[:T]


def zipf(T: int, rng: np.random.Generator) -> IntVector:
    """Independent, with frequencies 1, 1/2, 1/3, ..; the groups take turns."""
    weight = 1 / np.arange(1.0, SIZE.contexts + 1)
    turns = np.arange(SIZE.contexts).reshape(SIZE.groups, -1).T.ravel()
    chosen: IntVector = turns[rng.choice(SIZE.contexts, size=T, p=weight / weight.sum())]
    return chosen


ORDERS: dict[str, Order] = {
    "i.i.d.": lambda T, rng: rng.integers(SIZE.contexts, size=T),
    "round robin": lambda T, rng: np.arange(T) % SIZE.contexts,
    "sorted": lambda T, rng: np.arange(T) * SIZE.contexts // T,
    LATE: late_group,
    "bursts": bursts,
    "newcomers": lambda T, rng: rng.integers(np.arange(T) * SIZE.contexts // T + 1),
    "Zipf": zipf,
    "halving": halving,
    "rare first": lambda T, rng: halving(T, rng)[::-1].copy(),
}
"""Contexts of the first group have the first numbers. Newcomers: those who may come are one more
now and then, so that, as in the sorted order, the second group is not seen before half-time."""

# --- One run --------------------------------------------------------------------------------------


class ExploresEarly(OnlineCandidates):
    """Counts by the clock of all rounds: after a quarter of them no slot is started."""

    def _fresh(self, S: int, K: int, T: int, R: int, end: int) -> State:
        return super()._fresh(S, K, T, R, T // 4)

    def refit(self) -> None:
        """Start no slot any more."""
        state = self.state._replace(start=0.0, due=np.array([1 << 62]))
        vars(self).update(self._connections(state, self.clock))


def hidden(seed: int) -> lb.World:
    """Return a world with one good arm for each group: mean 1, all others 0."""
    S, K, r = SIZE.letters
    group = np.arange(S) * r // S
    best = np.random.default_rng(seed).permutation(K)[:r]
    mean = np.zeros((S, K))
    mean[np.arange(S), best[group]] = 1.0
    return lb.World(mean, np.full(S, 1 / S), group, sd=SD, name="hidden")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run came to."""

    regret: float
    """Over sqrt(r(S + K)T)."""
    too_high: bool
    """Whether V(i) is above the mean of arm(i) in some context, at the end."""
    guess: int
    candidates: int


def play(learner: OnlineCandidates, world: lb.World, order: IntVector, seed: int) -> Seen:
    """Play contexts in this order, with noise of its own seed."""
    rng = np.random.default_rng([seed, 32])
    totals, nothing = np.array([0.0, 0.0, np.nan]), np.zeros((0, 1))
    late, slot = np.zeros((0, 3)), np.zeros(1, dtype=np.int64)
    for start in range(0, len(order), CHUNK):
        contexts = order[start : start + CHUNK]
        noise, done = rng.standard_normal(len(contexts)), 0
        while done < len(contexts):
            done = learner.loop(
                learner._address, contexts, noise, nothing, done, len(contexts),
                world.mean, world.best, world.sd, late, slot, totals,
            )  # fmt: skip
            if learner.tells >= learner.state.due[0]:
                learner.refit()
    mean = world.mean[np.arange(world.contexts), learner.policy()]
    return Seen(
        float(totals[0]) / regret_bounds.groups_rate(SIZE, len(order)),
        bool((learner.state.value > mean).any()),
        learner.guess,
        len(learner.candidates()),
    )


def play_order(kind: type[OnlineCandidates], order: str, T: int, seed: int) -> Seen:
    """Play one run in a world of its own."""
    S, K, _ = SIZE.letters
    learner = kind(S, K, horizon=T, sd=SD, seed=seed)
    came = ORDERS[order](T, np.random.default_rng([seed, 33]))
    return play(learner, hidden(seed), came, seed)


# --- 32 -------------------------------------------------------------------------------------------


def measure_any_order(effort: Effort) -> Measured:
    """Play every order at several horizons, and the broken learner where it must fail."""
    times = effort.pick((2**12, 2**14, 2**17), (2**14, 2**15, 2**16, 2**17, 2**18))
    runs, again = effort.pick(1, 8), {LATE: effort.pick(4, 8), "i.i.d.": effort.pick(3, 8)}
    seen = {
        order: [
            [play_order(OnlineCandidates, order, T, seed) for T in times] for seed in range(runs)
        ]
        for order in ORDERS
    }
    early = {
        order: [[play_order(ExploresEarly, order, T, seed) for T in times] for seed in range(n)]
        for order, n in again.items()
    }
    regret = {order: by_time(found) for order, found in seen.items()}
    everything = [run for found in seen.values() for each in found for run in each]
    series = {
        WORST: [max(column) for column in zip(*regret.values(), strict=True)],
        BEST: [min(column) for column in zip(*regret.values(), strict=True)],
        BROKEN: by_time(early[LATE]),
        UNIFORM: [(1 - 1 / SIZE.arms) * T / regret_bounds.groups_rate(SIZE, T) for T in times],
        BAR: [LOGS * math.log(T) for T in times],
    }
    S, K, r = SIZE.letters
    return Measured(
        seeds=len(everything),
        setting={"S": S, "K": K, "r": r, "sd": SD, "horizons": times, "runs": runs},
        rows=curves("T", times, "regret", series),
        facts={
            "regret": {order: found[-1] for order, found in regret.items()},
            "exponent": {order: growth(times, found) for order, found in seen.items()},
            "together": growth(times, [each for found in seen.values() for each in found]),
            "broken": {order: by_time(found)[-1] for order, found in early.items()},
            "broken exponent": growth(times, early[LATE]),
            "too high": sum(run.too_high for run in everything),
            "guesses": sum(run.guess > max(1, 2 * r - 2) for run in everything),
            "candidates": max(run.candidates for run in everything),
            "broken runs": [
                again[LATE] * len(times),
                sum(x.too_high for y in early[LATE] for x in y),
            ],
        },
    )


def by_time(found: list[list[Seen]]) -> list[float]:
    """Return the mean regret at each horizon."""
    return [float(np.mean([run.regret for run in column])) for column in zip(*found, strict=True)]


def growth(times: Sequence[int], found: list[list[Seen]]) -> tuple[float, float]:
    """Return the exponent of T in the regret: each run of a seed has its own slope."""
    rates = [regret_bounds.groups_rate(SIZE, T) for T in times]
    return exponent(
        slope(times, [run.regret * unit for run, unit in zip(each, rates, strict=True)])
        for each in found
    )


def judge_any_order(measured: Measured) -> Verdict:
    """Hold the regret of the worst order and the exponent against bars, and two lemmas."""
    facts, times = measured.facts, measured.setting["horizons"]
    first, last = times[0], times[-1]

    def checks(
        worst: float, grown: tuple[float, float], too_high: int, runs: int
    ) -> tuple[Check, ...]:
        what = "worst order: mean regret over √(r(S + K)T) at the last T"
        promised = math.log2(2 * first) / first**2
        return (
            Check(what, worst, "<=", LOGS * math.log(last)),
            check_exponent("exponent of T, all orders together", grown, STEEPEST),
            rate("some V(i) above the mean of arm(i)", too_high, runs, promised),
        )

    sound = checks(
        max(facts["regret"].values()), facts["together"], facts["too high"], measured.seeds
    )
    what = "runs in which the guess of r came to 2r or more"
    runs, too_high = facts["broken runs"]
    return Verdict(
        printed=(*sound, Check(what, facts["guesses"], "<=", 0)),
        broken=checks(max(facts["broken"].values()), facts["broken exponent"], too_high, runs),
    )


def word_any_order(measured: Measured, verdict: Verdict) -> Words:
    """Tell how the orders compare, what the theorem's constants would allow, and what breaks."""
    at, facts = measured.setting, measured.facts
    regret, (grown, error) = facts["regret"], facts["together"]
    worst, best = max(regret, key=regret.__getitem__), min(regret, key=regret.__getitem__)
    T = at["horizons"]
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, one good arm for each group (mean 1, "
            f"others 0), noise of sd {at['sd']:g} and told so, T = {T[0]} … {T[-1]} known; "
            f"{counted(at['runs'], 'world')} for each of {len(regret)} orders: {', '.join(regret)}"
        ),
        takeaway=(
            f"At T = {T[-1]} the mean regret was {regret[best]:.0f} ({best}) to "
            f"{regret[worst]:.0f} ({worst}) times √(r(S + K)T); arms at random have "
            f"{(1 - 1 / at['K']) * math.sqrt(T[-1] / at['r'] / (at['S'] + at['K'])):.0f}. The "
            f"exponent of T was {grown:.2f} ± {error:.2f}. Slots are counted "
            f"in visits of a context, not in rounds: a learner that starts no slot after a quarter "
            f"of all rounds comes to {facts['broken']['i.i.d.']:.0f} if contexts are i.i.d., and "
            f"to {facts['broken'][LATE]:.0f} if the second group comes late. The noise is quiet "
            "for the rate to be seen: with sd 1 hardly anything is learned at such T. The bars are "
            "far below the theorem's C ln⁵ T, which would be vacuous here."
        ),
    )


ANY_ORDER = Claim(
    32,
    "Candidates online: contexts in any order",
    printed=(
        "Theorem 2 of Beyond the paper: for contexts in any order that is fixed in advance, "
        "candidates online, not told r, have expected regret at most C ln⁵(T) √(r(S + K)T)"
    ),
    broken="no slot is started after a quarter of all rounds: it counts by the clock of all rounds",
    seconds=(3.0, 50.0),
    measure=measure_any_order,
    judge=judge_any_order,
    word=word_any_order,
    draw=Sketch(
        Axis("T", "horizon T", "log", "points"),
        Axis("regret", "mean regret over √(r(S + K)T)", "log"),
        {
            WORST: "blue",
            BEST: "sky",
            BROKEN: "orange",
            UNIFORM: Series("pink", "dash"),
            BAR: GUIDE,
        },
        title="Any order of contexts: regret nearly like √T",
        subtitle=(
            "{runs} worlds for each order and horizon. A flat line is √T, a line parallel to arms "
            "at random is T."
        ),
        description=(
            "Mean regret in units of the rate against the horizon: the worst and the best of the "
            "orders grow slowly, the broken learner as fast as arms at random."
        ),
    ),
)
