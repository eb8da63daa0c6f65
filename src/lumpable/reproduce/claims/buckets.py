"""Claim 13: Algorithm 3 estimates frequencies and puts contexts into buckets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.extras import need
from lumpable.plans import lengths, pac
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import Axis, Rows, Series, Sketch
from lumpable.reproduce.claims.witness import DELTA

BUCKET_SIZE, BUCKET_EPSILON = lb.Problem(100, 10, 3), 0.1


def spread_out(contexts: int, epsilon: float) -> FloatVector:
    """Frequencies that fall geometrically from common to a tenth of epsilon/S."""
    rare = 0.1 * epsilon / contexts
    low, high = 0.0, 1.0
    for _ in range(100):  # the largest frequency, so that they add up to 1
        middle = (low + high) / 2
        total = float(np.geomspace(middle, rare, contexts).sum()) if middle > 0 else 0.0
        low, high = (middle, high) if total < 1 else (low, middle)
    nu: FloatVector = np.geomspace(high, rare, contexts)
    nu /= nu.sum()
    return nu


def arrivals_and_u(contexts: int) -> tuple[int, float]:
    """Return the printed J, and u = log(S/delta) / J."""
    J = lengths.arrivals(lb.Problem(contexts, 1, 1), BUCKET_EPSILON, DELTA)
    return J, math.log(contexts / DELTA) / J


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The frequencies that a run of Algorithm 3 saw, and the buckets that it made of them."""

    true: FloatVector
    seen: FloatVector
    bucket: IntVector
    last: int

    def is_off(self, forgiven: float) -> bool:
        """Whether some nu-hat is outside (nu - forgiven u)/2 .. 2 (nu + u)."""
        _, u = arrivals_and_u(len(self.true))
        low, high = (self.true - forgiven * u) / 2, 2 * (self.true + u)
        return bool(((self.seen < low) | (self.seen > high)).any())

    def misjudges(self) -> bool:
        """Whether nu < eps/(4S) where nu-hat >= eps/S, or nu > 3 eps/S elsewhere."""
        at = BUCKET_EPSILON / len(self.true)
        common = self.seen >= at
        return bool((self.true[common] < at / 4).any() or (self.true[~common] > 3 * at).any())

    def unevenness(self) -> float:
        """Return how far nu inside a bucket is from uniform, as a factor."""
        factor = 1.0
        for level in np.unique(self.bucket[self.bucket < self.last]):
            inside = self.true[self.bucket == level]
            share = inside / inside.sum() * len(inside)
            factor = max(factor, float(share.max()), float(1 / share.min()))
        return factor

    def last_mass(self) -> float:
        """Return the mass of the last bucket, which is given up, in epsilon."""
        return float(self.true[self.bucket == self.last].sum()) / BUCKET_EPSILON


def estimates(runs: int, constants: Constants) -> Iterator[Estimate]:
    """Run Algorithm 3 until it has seen its J contexts."""
    S, K, r = BUCKET_SIZE.letters
    J = lengths.arrivals(BUCKET_SIZE, BUCKET_EPSILON, DELTA, constants)
    last = lengths.last_bucket(BUCKET_SIZE, BUCKET_EPSILON)
    spread = spread_out(S, BUCKET_EPSILON)
    for seed in range(runs):
        frequency = "zipf" if seed % 2 else spread
        world = worlds.lumpable(S, K, r, frequency=frequency, seed=seed)
        plan = pac.any_contexts(
            BUCKET_SIZE, epsilon=BUCKET_EPSILON, delta=DELTA, constants=constants
        )
        plays = witness.watch(plan, world, seed, horizon=J).steps[0].sample.plays
        seen = plays.sum(axis=1) / plays.sum()
        yield Estimate(world.frequency, seen, pac.bucket_of(seen, last), last)


def short_requests(runs: int) -> tuple[int, int]:
    """Count Step 3 requests of buckets, and those that brought fewer samples than asked for."""
    size, epsilon = lb.Problem(30, 10, 3), 0.05
    asked = short = 0
    for seed in range(runs):
        world = worlds.lumpable(30, 10, 3, frequency="zipf", seed=seed)
        plan = pac.any_contexts(size, epsilon=epsilon, delta=DELTA)
        seen = witness.watch(plan, world, seed)
        result = seen.run.result
        for bucket in () if result is None else result.buckets:
            inside = Problem(int(bucket.contexts.sum()), 10, min(3, int(bucket.contexts.sum())))
            needed = lengths.settle(inside, bucket.epsilon, DELTA)
            for step in seen.steps[1:]:  # with repeats 1 every visit is a finished play
                mine = np.array_equal(step.request.arms.any(axis=1), bucket.contexts)
                if mine and step.request.repeats == 1:
                    asked += 1
                    short += int(step.sample.plays.sum()) < needed
    return asked, short


MANY_CONTEXTS = 10_000
LOWEST = {1.0: "½(ν − u)", 2.0: "½(ν − 2u)"}
"""What ν̂ may not fall below, by how many u are forgiven."""
EXACT = {
    "½(ν − u), printed": (1.0, 1.0),
    "½(ν − 2u), repaired": (2.0, 1.0),
    "½(ν − 2u), a sixteenth of J": (2.0, 1 / 16),
}
"""By series: how many u are forgiven, and the share of J."""
SIZES = [10**p for p in range(1, 10)]


@cache
def slip(contexts: int, forgiven: float, share: float = 1.0) -> tuple[float, float]:
    """Return a frequency at which some nu-hat is below (nu - forgiven u)/2 often, and how often.

    The frequency is in u = log(S/delta)/J, that of all contexts but one, with this share of the J
    contexts. Counts of a multinomial are negatively associated, so that independence, as here,
    gives a lower bound.
    """
    binom = need("scipy.stats", "research", "reproducing the paper").binom
    J, u = arrivals_and_u(contexts)
    ratio = np.linspace(forgiven + 0.02, forgiven + 4, 400)
    below = np.ceil(share * J * (ratio - forgiven) * u / 2) - 1
    alone = binom.cdf(below, round(share * J), ratio * u)
    worst = int(np.argmax(alone))
    return float(ratio[worst]), -math.expm1((contexts - 1) * math.log1p(-float(alone[worst])))


def slips(contexts: int, runs: int, forgiven: float) -> int:
    """Count draws with some nu-hat below (nu - forgiven u)/2, at the frequency of `slip`."""
    J, u = arrivals_and_u(contexts)
    nu = np.full(contexts, slip(contexts, forgiven)[0] * u)
    nu[0] = 1 - nu[1:].sum()
    rng = np.random.default_rng(13)
    low = J * (nu - forgiven * u) / 2
    return sum(bool((rng.multinomial(J, nu) < low).any()) for _ in range(runs))


def summary(runs: int, constants: Constants) -> dict[str, Any]:
    """Return what the checks need of many estimates."""
    every = list(estimates(runs, constants))
    return {
        "off": {f"{forgiven:g}": sum(e.is_off(forgiven) for e in every) for forgiven in LOWEST},
        "misjudging": sum(e.misjudges() for e in every),
        "unevenness": [e.unevenness() for e in every],
        "last mass": [e.last_mass() for e in every],
    }


def slip_rows(runs: int) -> Rows:
    """Return how often the lower inequality fails at the worst frequencies."""
    rows: Rows = [
        {"series": name, "S": S, "slip": slip(S, *how)[1]}
        for name, how in EXACT.items()
        for S in SIZES
    ]
    drawn = {S: slips(S, runs, 1.0) / runs for S in (100, 1000)}
    return rows + [{"series": "½(ν − u), drawn", "S": S, "slip": drawn[S]} for S in drawn]


def measure_frequencies_and_buckets(effort: Effort) -> Measured:
    """Let Algorithm 3 estimate frequencies, and look at every inequality of its proof."""
    runs, many, drawn = effort.pick((60, 400, 300), (2000, 4000, 4000))
    asked, short = short_requests(effort.pick(10, 60))
    return Measured(
        seeds=runs,
        setting={"S": BUCKET_SIZE.contexts, "epsilon": BUCKET_EPSILON, "delta": DELTA},
        rows=slip_rows(drawn),
        facts={
            "printed": summary(runs, PAPER),
            "broken": summary(runs, replace(PAPER, arrivals=PAPER.arrivals / 16)),
            "slipped": {f"{f:g}": slips(MANY_CONTEXTS, many, f) for f in LOWEST},
            "ratio": slip(MANY_CONTEXTS, 1.0)[0],
            "draws": {"worst": many, "points": drawn},
            "requests": {"asked": asked, "short": short},
        },
    )


def judge_frequencies_and_buckets(measured: Measured) -> Verdict:
    """Hold every inequality against delta."""
    facts, delta = measured.facts, measured.setting["delta"]

    def checks(form: str, forgiven: int, uneven: float, mass: float) -> tuple[Check, ...]:
        got = facts[form]
        counts = {
            f"ν̂ outside {LOWEST[forgiven]} .. 2(ν + u)": got["off"][f"{forgiven}"],
            "ν misjudged by ν̂ at ε/S": got["misjudging"],
            f"a bucket not uniform within {uneven:g}": sum(e > uneven for e in got["unevenness"]),
            f"given up more than {mass:g} ε": sum(e > mass for e in got["last mass"]),
        }
        return tuple(rate(what, count, measured.seeds, delta) for what, count in counts.items())

    def worst(forgiven: int) -> Check:
        what = f"ν̂ below {LOWEST[forgiven]}, worst ν, S = 10⁴"
        return rate(what, facts["slipped"][f"{forgiven}"], facts["draws"]["worst"], delta)

    asked, short = facts["requests"]["asked"], facts["requests"]["short"]
    enough = rate("a bucket's request short of samples", short, asked, delta)
    return Verdict(
        printed=(*checks("printed", 1, 8.0, 1.0), worst(1), enough),
        repaired=(*checks("printed", 2, 15.7, 3.0), worst(2), enough),
        broken=checks("broken", 2, 15.7, 3.0),
    )


def word_frequencies_and_buckets(measured: Measured, verdict: Verdict) -> Words:
    """Tell which inequality slips, and that all that follows stays."""
    at, facts = measured.setting, measured.facts
    many, slipped, printed = facts["draws"]["worst"], facts["slipped"], facts["printed"]
    exact = {(row["series"], row["S"]): row["slip"] for row in measured.rows}
    return Words(
        setting=(
            f"S = {at['S']}, ε = {at['epsilon']:g}, δ = {at['delta']:g}; Zipf frequencies and "
            "geometric ones down to ε/(10 S); worst ν: 10⁴ contexts, all but one equally rare; "
            "samples: whole runs at (30, 10, 3), ε = 0.05"
        ),
        takeaway=(
            f"One inequality slips: contexts with ν = {facts['ratio']:.1f}u fall below ½(ν − u) in "
            f"{slipped['1'] / many:.1%} of {many} draws at S = 10⁴, and in at least "
            f"{exact['½(ν − u), printed', 10**6]:.1%} at 10⁶ (δ = {at['delta']:g}). With 2u it "
            f"holds ({slipped['2']} of {many}), and all that follows stays: buckets were uniform "
            f"within {max(printed['unevenness']):.1f}, at most {max(printed['last mass']):.2f} ε "
            f"was given up, {facts['requests']['short']} of {facts['requests']['asked']} requests "
            "fell short."
        ),
    )


FREQUENCIES_AND_BUCKETS = Claim(
    13,
    "Algorithm 3: frequencies and buckets",
    printed=(
        "With probability ≥ 1 − δ: ½(ν − u) ≤ ν̂ ≤ 2(ν + u) with u = log(S/δ)/J, so ν ≥ ε/(4S) "
        "where ν̂ ≥ ε/S and ν ≤ 3ε/S elsewhere; buckets are uniform within 8, the last one weighs "
        "≤ ε, and each gets its samples"
    ),
    repaired=(
        "½(ν − 2u) ≤ ν̂ ≤ 2(ν + u), which still gives both; buckets are uniform within 15.7 and the "
        "last one weighs ≤ 3ε by the proof's own step (1.9ε by a sharper one)"
    ),
    broken="a sixteenth of the J contexts",
    seconds=(3.0, 20.0),
    stands=False,
    measure=measure_frequencies_and_buckets,
    judge=judge_frequencies_and_buckets,
    word=word_frequencies_and_buckets,
    draw=Sketch(
        Axis("S", "contexts S", "log", "points"),
        Axis("slip", "probability that some context is below", "log"),
        {
            "½(ν − u), printed": Series("blue", "line"),
            "½(ν − u), drawn": Series("sky", "point"),
            "½(ν − 2u), repaired": Series("green", "line"),
            "½(ν − 2u), a sixteenth of J": Series("orange", "line"),
        },
        bars={f"δ = {DELTA:g}": DELTA},
        title="An estimate may fall lower than printed",
        subtitle=(
            "All contexts but one at the worst frequency. Lines: exact lower bounds. "
            "Points: {draws[points]} draws each. Broken: a sixteenth of the J contexts."
        ),
        description=(
            "Probability that some estimated frequency is below the lower bound, against S: as "
            "printed above delta from S = 100 on and growing, far below it with 2u, near one with "
            "a sixteenth of the contexts."
        ),
    ),
)
