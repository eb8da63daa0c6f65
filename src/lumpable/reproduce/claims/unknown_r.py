"""Claim 26: what it costs not to know the number of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import lumpable as lb
from lumpable.base import words
from lumpable.plans import lengths, reductions, regret, regret_bounds
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import PAPER, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import hardest, rates
from lumpable.reproduce.claims.rates import check_exponent, exponent
from lumpable.reproduce.claims.sketch import Axis, Sketch, curves

DOUBLING, FRESH, CANDIDATES = "Algorithm 6, doubling", "fresh phases, guessing", "candidates"
ONE_MORE = "broken: one more each time"


@lb.algorithm
def one_more_each_time(problem: Problem) -> Conversation:
    """Algorithm 6 without knowing r, with a guess that grows by one instead of doubling."""
    S, K, guess = problem.letters
    while True:
        guessed = Problem(S, K, guess)
        state = regret.LevelledState.start(guessed)
        try:
            while True:
                yield from regret.levelled_phase(guessed, state, PAPER, doubt=guess < S)
        except regret.TooFewGroups:
            guess = min(S, guess + 1)


@dataclass(frozen=True, slots=True)
class Way:
    """How r is told, and how it is done without."""

    told: Callable[[Problem], lb.Plan]
    untold: Callable[[Problem], lb.Plan]
    power: float
    """Regret of an attempt is charged like this power of its guess."""
    small: bool = True
    """Whether gaps of 2^-k, k = H/2 - 5, are seen before phase H of Algorithm 6 ends; else only
    k = H/2 - 15 is."""

    @property
    def bar(self) -> float:
        """Restarts and a last guess below 2r, charged in full: a geometric series.

        The guesses 1, 2, 4, .. up to 2r, to the power p, add up to less than 2^p / (1 - 2^-p) r^p.
        """
        return float(2**self.power / (1 - 2**-self.power))


WAYS = {
    DOUBLING: Way(regret.any_groups, reductions.unknown_groups, 1.5, small=False),
    FRESH: Way(regret.fresh_phases, regret.fresh_guesses, 1.0),
    CANDIDATES: Way(regret.fresh_phases, regret.candidates, 0.5),
    ONE_MORE: Way(regret.any_groups, one_more_each_time, 1.5, small=False),
}


@dataclass(slots=True)
class Prices:
    """Regret with r told and without, each run once."""

    side: int
    phase: int
    """H: T is the end of this phase of Algorithm 6, told r."""
    fine: float
    """How far apart gaps are, in k; 1 for Algorithm 6."""
    seen: dict[tuple[Callable[[Problem], lb.Plan], int, int], float] = field(default_factory=dict)

    def worst(
        self, make: Callable[[Problem], lb.Plan], way: Way, r: int, guess: int, seed: int
    ) -> float:
        """Return the worst regret over all gaps of a plan that is told `guess` groups."""
        if (make, r, seed) not in self.seen:
            told, real = Problem(self.side, self.side, guess), Problem(self.side, self.side, r)
            self.seen[make, r, seed] = float(
                hardest.worst_regret(
                    lambda: make(told),
                    hardest.own_arms(real, seed),
                    seed,
                    (rates.rounds_through(real, self.phase),),
                    start=max(0.0, self.phase / 2 - (5 if way.small else 15)),
                    step=self.fine if way.small else 1.0,
                )[0]
            )
        return self.seen[make, r, seed]

    def price(self, way: Way, r: int, seed: int) -> float:
        """Return the worst regret without r, over that with r told."""
        return self.worst(way.untold, way, r, 1, seed) / self.worst(way.told, way, r, r, seed)


def allowed(name: str, problem: Problem, T: float) -> float:
    """Return how the proofs let the price grow with r.

    Algorithm 6: what they charge for the guesses 1, 2, 4, .. up to the first that is not below r,
    over what they charge with r told; at small r Step 1 counts for more, at large r the calls of
    Algorithm 5. Fresh phases: Theorem D has another rate than Theorem B. Candidates are held
    against a plan with a larger rate, and must not grow faster.
    """
    S, K, r = problem.letters
    if name == CANDIDATES:
        return 1.0
    if name == FRESH:
        unknown = regret_bounds.fresh_unknown_rate(problem, T)
        return unknown / regret_bounds.fresh_adaptive_rate(problem, T)
    guesses = [1 << k for k in range((r - 1).bit_length() + 1)]
    law = lengths.any_groups_phase
    charged = sum(rates.charge(Problem(S, K, guess), T, law) for guess in guesses)
    return charged / rates.charge(problem, T, law)


def measure_unknown(effort: Effort) -> Measured:
    """Compare regret with r told and without, for several numbers of groups at the worst gaps.

    Numbers of groups are compared that lie alike between powers of two: 3, 6, 12, and so on.
    """
    side, phase = effort.pick((16, 22), (32, 34))
    families: Sequence[Sequence[int]] = effort.pick(((3, 6, 12),), ((3, 6, 12), (5, 10)))
    seeds = (20,)
    growth = {
        (name, r): allowed(name, size := Problem(side, side, r), rates.rounds_through(size, phase))
        for name in WAYS
        for family in families
        for r in family
    }
    runs = Prices(side, phase, effort.pick(2.0, 1.0))
    prices: dict[str, dict[int, list[float]]] = {name: {} for name in WAYS}
    exponents = {}
    for name, way in WAYS.items():
        slopes = []
        for seed in seeds:
            for family in families:
                for r in family:
                    prices[name].setdefault(r, []).append(runs.price(way, r, seed))
                left = [prices[name][r][-1] / growth[name, r] for r in family]
                slopes.append(slope(family, left))
        exponents[name] = exponent(slopes)
    counts = sorted(r for family in families for r in family)
    ends = [rates.rounds_through(Problem(side, side, r), phase) for r in (counts[0], counts[-1])]
    return Measured(
        seeds=len(seeds) * len(counts) * len(WAYS),
        setting={"side": side, "phase": phase, "groups": counts, "ends": ends},
        rows=[
            row
            for name, found in prices.items()
            for row in curves(
                "groups", counts, "price", {name: [float(np.mean(found[r])) for r in counts]}
            )
        ],
        facts={
            "exponents": exponents,
            "most": {name: max(map(max, found.values())) for name, found in prices.items()},
        },
    )


def judge_unknown(measured: Measured) -> Verdict:
    """The price stays below a geometric series of guesses, and does not grow with r."""

    def checks(name: str) -> tuple[Check, ...]:
        exponents, most = measured.facts["exponents"], measured.facts["most"]
        return (
            Check(f"regret without r over regret with r, {name}", most[name], "<=", WAYS[name].bar),
            check_exponent(f"exponent of r left in it, {name}", exponents[name], 0.0),
        )

    return Verdict(
        printed=(*checks(DOUBLING), *checks(FRESH), *checks(CANDIDATES)),
        broken=checks(ONE_MORE),
    )


def word_unknown(measured: Measured, verdict: Verdict) -> Words:
    """Tell what not knowing r costs."""
    at, facts = measured.setting, measured.facts
    most, exponents = facts["most"], facts["exponents"]
    first, last = (words.number(end, 1) for end in at["ends"])

    def told(name: str) -> str:
        value, error = exponents[name]
        return f"{most[name]:.2f} times at most, exponent {value:+.2f} ± {error:.2f}"

    return Words(
        setting=(
            f"S = K = {at['side']}, r in {tuple(at['groups'])} equal groups, each with an arm of "
            "its own; all gaps times 2^-k, worst k for each plan; "
            f"T = {first} to {last}, the end of phase {at['phase']} of Algorithm 6. Algorithm 6 "
            "with the guess doubled, beside Algorithm 6 told r; fresh phases that guess, and "
            "candidates, beside fresh phases told r (beyond 2^55 rounds a draw is exact up to "
            "2^-18 in total variation)"
        ),
        takeaway=(
            f"Not knowing r multiplies the worst regret of Algorithm 6: {told(DOUBLING)}. Fresh "
            f"phases: {told(FRESH)}. Candidates: {told(CANDIDATES)}. With one more group each "
            f"time: {told(ONE_MORE)}. Exponents are what is left when the charge of the guesses "
            "over that of r, and Theorem D's rate over Theorem B's, are divided out. Guesses that "
            f"double are allowed {WAYS[DOUBLING].bar:.1f} times."
        ),
    )


UNKNOWN_R = Claim(
    26,
    "An unknown number of groups",
    printed=(
        "“One promising idea is to apply a doubling trick on r”: guess, and when there are more "
        "clusters, double and restart. Theorem D of Beyond the paper: fresh phases that guess have "
        "Õ(r√((S + K)T)); Theorem 1: candidates need no r. So regret keeps its order without r"
    ),
    broken="the guess grows by one each time instead of doubling",
    seconds=(6.0, 53.0),
    measure=measure_unknown,
    judge=judge_unknown,
    word=word_unknown,
    draw=Sketch(
        Axis("groups", "true number of groups r", "log", ticks="points"),
        Axis("price", "regret without r over regret with r", "log", (0.125, 0.25, 0.5, 1, 2, 4)),
        {DOUBLING: "blue", FRESH: "green", CANDIDATES: "sky", ONE_MORE: "orange"},
        bars={"what doubling is allowed": WAYS[DOUBLING].bar, "told r": 1.0},
        title="Not knowing r costs a constant",
        subtitle="Worst regret over all gaps, against Algorithm 6 or fresh phases told r.",
        description=(
            "Ratio of regret without r to regret with r, against the number of groups: level and "
            "below 2 for doubling, about 1 for fresh phases that guess, below 1 for candidates; "
            "with one more group each time it rises."
        ),
    ),
)
