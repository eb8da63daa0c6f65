"""Claim 34: the lower bound on regret, on its own worlds and at gaps that are not matched to T."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.extras import need
from lumpable.comparisons import roster
from lumpable.learners import (
    KLUCB,
    UCB1,
    BetaThompson,
    KnownGroups,
    MixtureThompson,
    OnlineCandidates,
    SuccessiveElimination,
    Uniform,
)
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.plans import regret_bounds
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import two_arms
from lumpable.reproduce.claims.sketch import Axis, Rows, Series, Sketch
from lumpable.worlds.scene import Scene
from lumpable.worlds.worst_cases import lower_bound_gap

EXACT, TOLD, LUMPS = "best possible, exact", "told the groups", "Lumps"
LEARNERS: dict[str, Callable[..., Any]] = {
    "uniform play": Uniform,
    "elimination": SuccessiveElimination,
    "UCB1": UCB1,
    "KL-UCB": KLUCB,
    "Beta Thompson": BetaThompson,
    "online candidates": OnlineCandidates,
    "mixture Thompson": MixtureThompson,
    LUMPS: ThreeLevels,
}
SLOW = ("mixture Thompson", LUMPS)
SHOWN = ("UCB1", "KL-UCB", "Beta Thompson")
MULTIPLES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 6.0, 8.0)
"""Gaps of the figure, in units of the gap that is matched to T."""
FIRST = 3400
"""The first seed."""
SLACK = 0.05
"""How far an exponent may be below 1/2: a learner that is told the groups is much further."""


@dataclass(frozen=True, slots=True)
class Size:
    """A world of the lower bound (case 1, 2 or 3) and a horizon."""

    case: int
    contexts: int
    arms: int
    groups: int
    horizon: int

    @property
    def bound(self) -> float:
        """Theorem L, with the constant of this size."""
        problem = Problem(self.contexts, self.arms, self.groups)
        return regret_bounds.regret_lower_bound(problem, self.horizon)

    @property
    def gap(self) -> float:
        """The gap that is matched to the horizon."""
        sizes = (self.contexts, self.arms, self.groups)
        return lower_bound_gap(self.case, *sizes, self.horizon)

    def regret(self, maker: Callable[..., Any], seed: int, multiple: float = 1.0) -> float:
        """Play a learner in a world that is drawn by the seed; its gap is a multiple of the gap."""
        T = self.horizon
        world = worlds.lower_bound(
            self.case, self.contexts, self.arms, self.groups,
            rounds=T, gap=multiple * self.gap, seed=seed,
        )  # fmt: skip
        learner = roster.make(maker, Scene(world), horizon=T, seed=seed)
        return lb.play(learner, world, horizon=T, seed=seed, at=[T]).regret

    def mean_regret(
        self, maker: Callable[..., Any], seeds: Sequence[int], multiple: float = 1.0
    ) -> float:
        """Return the mean over seeds."""
        return float(np.mean([self.regret(maker, seed, multiple) for seed in seeds]))

    def least_regret(self, multiple: float = 1.0) -> float:
        """Return what the best play of two arms loses on average, even told who comes when."""
        binom = need("scipy.stats", "research", "reproducing the paper").binom
        most = int(binom.isf(1e-9, self.horizon, 1 / self.contexts))
        visits = binom.pmf(np.arange(most + 1), self.horizon, 1 / self.contexts)
        lost = two_arms.least_regret(multiple * self.gap, most)
        return float(self.contexts * (visits @ lost))


def families(effort: Effort) -> dict[str, list[Size]]:
    """Return the sizes by the letter that grows."""
    T, few = effort.pick((2**13, 2**12), (2**15, 2**15))
    contexts = effort.pick((256, 512, 1024), (256, 512, 1024, 2048))
    arms = effort.pick((16, 32, 64), (16, 32, 64, 128))
    groups = effort.pick((2, 4, 8), (2, 4, 8, 16))
    horizons = effort.pick((2**10, 2**11, 2**13), (2**10, 2**12, 2**14, 2**16))
    return {
        "S": [Size(1, S, 2, 2, T) for S in contexts],
        "K": [Size(3, 13, K, 4, few) for K in arms],
        "r": [Size(2, 64, 40, r, few) for r in groups],
        "T": [Size(1, 64, 4, 4, t) for t in horizons],
    }


def growing(size: Size, letter: str) -> float:
    """Return the value of a letter of a size."""
    values = {"S": size.contexts, "K": size.arms, "r": size.groups, "T": size.horizon}
    return float(values[letter])


def few(name: str, seeds: range) -> range:
    """Return one seed for a learner that takes long: it meets many contexts already."""
    return seeds[:1] if name in SLOW else seeds


def by_gap(size: Size, names: list[str], seeds: range, effort: Effort) -> Rows:
    """Return regrets over the bound, at gaps that are matched to T and at others."""

    def ratio(name: str, multiple: float) -> float:
        if name == EXACT:
            return size.least_regret(multiple) / size.bound
        maker = KnownGroups if name == TOLD else LEARNERS[name]
        return size.mean_regret(maker, few(name, seeds), multiple) / size.bound

    return [
        {"series": name, "multiple": multiple, "ratio": ratio(name, multiple)}
        for name in (EXACT, *names, TOLD)
        for multiple in MULTIPLES
        if name not in SLOW or not effort.quick or multiple in (1.0, 6.0)
    ]


def measure_regret_lower(effort: Effort) -> Measured:
    """Play every learner at every size, each seed in a world of its own."""
    seeds = range(FIRST, FIRST + effort.pick(3, 6))
    names = [name for name in LEARNERS if not effort.quick or name not in SLOW]
    ratios: dict[str, list[float]] = {}
    exponents = {}
    best: dict[str, list[float]] = {}
    for letter, sizes in families(effort).items():
        x = [growing(size, letter) for size in sizes]
        means = {
            name: [
                size.mean_regret(LEARNERS[name], few(name, seeds))
                for size in sizes
                if name != "mixture Thompson" or size.contexts <= 64
            ]
            for name in names
        }
        whole = {name: found for name, found in means.items() if len(found) == len(sizes)}
        least = np.min(list(whole.values()), axis=0)
        exponents[letter] = slope(x, least.tolist())
        best[letter] = [float(y / size.bound) for y, size in zip(least, sizes, strict=True)]
        for name, found in whole.items():
            ratios.setdefault(name, []).extend(
                y / size.bound for y, size in zip(found, sizes, strict=True)
            )
    many = families(effort)["S"]
    told = [size.mean_regret(KnownGroups, seeds) for size in many]
    return Measured(
        seeds=len(seeds),
        setting={"sizes": sum(map(len, best.values())), "learners": names},
        rows=by_gap(many[1], [*SHOWN, LUMPS], seeds, effort),
        facts={
            "least": {name: min(found) for name, found in ratios.items()},
            "best": (min(map(min, best.values())), max(map(max, best.values()))),
            "exponents": exponents,
            "exact": [size.least_regret() / size.bound for size in many],
            "told": [y / size.bound for y, size in zip(told, many, strict=True)],
            "told exponent": slope([size.contexts for size in many], told),
        },
    )


def judge_regret_lower(measured: Measured) -> Verdict:
    """Nobody below the bound, and no exponent below 1/2."""
    facts = measured.facts

    def grows(letter: str, found: tuple[float, float]) -> Check:
        what = f"exponent of {letter} in the smallest regret, ± {found[1]:.3f}"
        return Check(f"{what}; {SLACK} allowed", found[0], ">=", 0.5 - SLACK)

    below = "regret over the bound, smallest of all sizes"
    return Verdict(
        printed=(
            *(Check(f"{below}: {name}", y, ">=", 1.0) for name, y in facts["least"].items()),
            Check(f"{below}: the best possible with two arms, exact", min(facts["exact"]), ">=", 1),
            *(grows(letter, found) for letter, found in facts["exponents"].items()),
        ),
        broken=(
            Check(f"{below}: {TOLD}", min(facts["told"]), ">=", 1.0),
            grows("S", facts["told exponent"]),
        ),
    )


def word_regret_lower(measured: Measured, verdict: Verdict) -> Words:
    """Tell how far above the bound everybody is, and how far the bound is from the truth."""
    facts = measured.facts
    low, high = facts["best"]
    told, error = facts["told exponent"]
    ratio = {(row["series"], row["multiple"]): row["ratio"] for row in measured.rows}
    hardest = max(y for (name, _), y in ratio.items() if name == EXACT)
    worst = {name: max(y for (own, _), y in ratio.items() if own == name) for name in SHOWN}
    calm = min(worst, key=lambda name: worst[name])
    exponents = ", ".join(
        f"{value:.2f} ± {error:.2f} in {letter}"
        for letter, (value, error) in facts["exponents"].items()
    )
    return Words(
        setting=(
            f"{measured.setting['sizes']} sizes: S from 256 at K = r = 2; K from 16 at S = 13, "
            "r = 4; r from 2 at S = 64, K = 40; T from 1024 at S = 64, K = r = 4; learners: "
            f"{', '.join(measured.setting['learners'])}; each seed draws a world"
        ),
        takeaway=(
            f"At every size the best learner lost {low:.1f} to {high:.1f} times the bound; uniform "
            "play loses little more, since at this gap T rounds teach little to anybody. The "
            f"smallest regret grows with exponents {exponents}. With two arms nobody at all can "
            f"lose less than {min(facts['exact']):.1f} times the bound (computed); with larger "
            f"gaps, {hardest:.1f} times, while {calm} lost at most {worst[calm]:.1f} times the "
            "bound at any of the gaps: the order is right, and here the constant could be "
            f"{hardest:.1f} times larger. Told the groups, one loses down to "
            f"{min(facts['told']):.2f} of the bound, and S costs nothing "
            f"({told:.2f} ± {error:.2f})."
        ),
    )


REGRET_LOWER_BOUND = Claim(
    34,
    "The lower bound on regret",
    printed=(
        "Theorem L of Beyond the paper: for 2 ≤ r ≤ S, K ≥ 2 and T ≥ min(r(S + K), S K) every "
        "algorithm, even one that knows r and T, has expected regret ≥ 0.022 √(min(r(S + K), S K) "
        "T) in some world; 0.038 if r ≥ K, else 0.027 if r divides S or S ≥ K"
    ),
    broken="a learner that is told which contexts are alike",
    seconds=(3.0, 50.0),
    measure=measure_regret_lower,
    judge=judge_regret_lower,
    word=word_regret_lower,
    draw=Sketch(
        Axis("multiple", "gap, in units of the gap that is matched to T", "log", MULTIPLES),
        Axis("ratio", "regret over the bound", "log", (0.1, 0.3, 1, 3, 10)),
        {
            EXACT: Series("green", "line"),
            "UCB1": "sky",
            "KL-UCB": "blue",
            "Beta Thompson": "pink",
            LUMPS: Series("ink", "ring"),
            TOLD: "orange",
        },
        bars={"the bound": 1.0},
        title="At the bound's own gap nobody gets below it",
        subtitle=(
            "S = 512, K = r = 2, means of {seeds} worlds (Lumps: one). Smaller gaps cost little, "
            "larger ones are found. Orange: told which contexts are alike."
        ),
        description=(
            "Regret over the bound against the gap on log axes: at the matched gap all learners "
            "are at about twice the bound, at a quarter of it at half the bound, at six times five "
            "to nine; a learner that is told the groups is below 1 everywhere."
        ),
    ),
)
