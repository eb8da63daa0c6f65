"""Claim 35: lumpability does not help EXP4 and SupLinRel, in bounds and in runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import IntVector
from lumpable.base.protocols import Learner
from lumpable.learners import LumpableExperts, SupLinRel
from lumpable.plans import bounds
from lumpable.plans.compared_rates import exp4_log_experts, exp4_rate
from lumpable.plans.problem import Problem
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import phases
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Colour, Rows, Series, curves, panel

# --- Bounds, exactly --------------------------------------------------------------------------

ORDER = 0.5
"""A bound is of order sqrt(SKT) if it is never below this part of it: sqrt(log 2) is 0.83."""
FAR = tuple(2**k for k in range(4, 21))
"""S = K of the bounds; r is 2."""
HALF_WAY = 0.25
"""Between the exponents of S and of K in sqrt(SKT), 1/2, and 0.

Groups that are known make that of S zero, sqrt(rKT); groups that are found make that of K small
where S is far larger, sqrt(r(S + K)T).
"""


def lumpable_policies(problem: Problem) -> float:
    """K log(r^S K^r): a group for each context, an arm for each group."""
    return problem.arms * exp4_log_experts(problem)


def groupings(problem: Problem) -> float:
    """K log(r^S / r!): maps of contexts to groups, with no regard to the names of groups."""
    S, K, r = problem.letters
    return K * (S * math.log(r) - math.lgamma(r + 1))


def printed_class(problem: Problem) -> float:
    """K log(S^r): |F| as printed."""
    S, K, r = problem.letters
    return K * r * math.log(S)


def told_groups(problem: Problem) -> float:
    """K log(K^r): an arm for each group, when the groups are known."""
    return problem.arms * problem.groups * math.log(problem.arms)


def features(problem: Problem) -> float:
    """d = SK: a feature for each pair."""
    return float(problem.contexts * problem.arms)


def of_standard(squared: Callable[[Problem], float]) -> float:
    """Return the least part of sqrt(SKT) that a bound is, from its square over T."""
    problems = [Problem(n, n, 2) for n in FAR]
    return min(math.sqrt(squared(each) / features(each)) for each in problems)


# --- Runs -------------------------------------------------------------------------------------

ARMS, GROUPS = 4, 2
SEED = 0
GAPS = tuple(0.4 * 2 ** (-k / 2) for k in range(7))
"""From 0.4 to 0.05; the worst of them counts."""
EXP4, ALL, TOLD = "EXP4, rˢKʳ experts", "EXP4, all Kˢ policies", "broken: EXP4 told the groups"
LINEAR = "SupLinRel, d = SK"
PRINTED, MEANT = "oracle-based, |F| = Sʳ", "oracle-based, |F| = rˢ/r!"
BOUNDS = {
    EXP4: lumpable_policies,
    LINEAR: features,
    PRINTED: printed_class,
    MEANT: groupings,
    TOLD: told_groups,
}
BOUND = "bound of EXP4 with rˢKʳ"


class Told:
    """EXP4 with K^r experts: it sees the group of a context in place of the context."""

    unit_rewards = True

    def __init__(self, group: IntVector, arms: int, *, horizon: int, seed: int) -> None:
        self.group: list[int] = group.tolist()
        groups = max(self.group) + 1
        # all K^r maps of r groups: lumpable policies of r contexts with K groups of arms
        self.inside = LumpableExperts(groups, arms, groups=arms, horizon=horizon, seed=seed)

    def ask(self, context: int) -> int:
        """Return the arm for the context's group."""
        return self.inside.ask(self.group[context])

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Learn for the context's group."""
        self.inside.tell(self.group[context], arm, reward)

    def policy(self) -> IntVector:
        """Return the arm of each context's group."""
        return self.inside.policy()[self.group]


def made(name: str, world: lb.World, T: int, seed: int) -> Learner:
    """Return a learner for a world."""
    S, K = world.contexts, world.arms
    if name == TOLD:
        return Told(world.group, K, horizon=T, seed=seed)
    if name == LINEAR:  # a width of 1/2 is safe for rewards in [0, 1]
        return SupLinRel(S, K, horizon=T, width=0.5, seed=seed)
    return LumpableExperts(S, K, groups=GROUPS if name == EXP4 else K, horizon=T, seed=seed)


def worst_regret(
    name: str, size: tuple[int, int], T: int, gaps: Sequence[float], runs: int
) -> float:
    """Return the largest mean regret over gaps: each group's own arm is better by the gap."""
    lost = []
    for gap in gaps:
        mean = 0.5 + phases.own_arms(*size, GROUPS, gap).mean
        world = worlds.from_matrix(mean, noise="bernoulli")
        seeds = range(SEED, SEED + runs)
        played = [lb.play(made(name, world, T, k), world, horizon=T, seed=k) for k in seeds]
        lost.append(sum(each.regret for each in played) / runs)
    return max(lost)


def measure_expert_classes(effort: Effort) -> Measured:
    """Compute bounds, and play where they can be played."""
    gaps = effort.pick(GAPS[:4:3], GAPS)
    T, longer = effort.pick((20_000, 50_000), (100_000, 500_000))
    fewer = effort.pick(4, 1)  # SupLinRel learns nothing in few rounds for many contexts
    along = {
        "S": [(S, ARMS) for S in (8, 16, 32, 64)],
        "K": [(effort.pick(8, 32), K) for K in effort.pick((4, 8, 16), (4, 6, 8, 12, 16))],
    }
    names = {"S": effort.pick((EXP4, TOLD, LINEAR), (EXP4, ALL, TOLD, LINEAR)), "K": (EXP4, LINEAR)}
    exponents: dict[str, dict[str, tuple[float, float]]] = {}
    rows: Rows = []
    runs = 0
    for letter, wide in along.items():
        for name in names[letter]:
            rounds = longer if name == LINEAR else T
            sizes = [(S // fewer, K) for S, K in wide] if name == LINEAR else wide
            often = effort.pick(4, 2) if name in (EXP4, ALL) else 1
            lost = [worst_regret(name, size, rounds, gaps, often) for size in sizes]
            grown = [size[letter == "K"] for size in sizes]
            exponents.setdefault(name, {})[letter] = slope(grown, lost)
            rows += curves(letter, grown, "regret", {name: [each / rounds for each in lost]})
            runs += often * len(gaps) * len(sizes)
        bound = [2 * math.sqrt(math.e - 1) * exp4_rate(Problem(*size, GROUPS), T) for size in wide]
        grown = [size[letter == "K"] for size in wide]
        rows += curves(letter, grown, "regret", {BOUND: [each / T for each in bound]})
    return Measured(
        seeds=runs,
        setting={"T": T, "longer": longer, "fewer": fewer, "gaps": gaps, **along},
        rows=rows,
        facts={
            "exponents": exponents,
            "part": {name: of_standard(f) for name, f in BOUNDS.items()},
        },
    )


def judge_expert_classes(measured: Measured) -> Verdict:
    """Bounds must be of order sqrt(SKT), and regret must grow with S and with K like it."""
    part, exponents = measured.facts["part"], measured.facts["exponents"]

    def no_better(name: str) -> Check:
        return Check(f"{name}: bound over √(SKT), least over S = K", part[name], ">=", ORDER)

    def grows(name: str, letter: str) -> Check:
        value, error = exponents[name][letter]
        what = f"{name}: exponent of {letter} in the regret, ± {error:.1g}, less two errors"
        return Check(what, value - 2 * error, ">=", HALF_WAY)

    return Verdict(
        printed=(no_better(EXP4), no_better(LINEAR), no_better(PRINTED)),
        repaired=(
            *(no_better(name) for name in (EXP4, LINEAR, MEANT)),
            *(grows(name, letter) for name in (EXP4, LINEAR) for letter in ("S", "K")),
        ),
        broken=(no_better(TOLD), grows(TOLD, "S")),
    )


def fewer(setting: dict[str, Any]) -> str:
    """Say by what the contexts of SupLinRel were divided, if they were."""
    return f" and S/{setting['fewer']}" if setting["fewer"] > 1 else ""


def word_expert_classes(measured: Measured, verdict: Verdict) -> Words:
    """Tell what the classes allow, and how regret grows."""
    at, part = measured.setting, measured.facts["part"]
    grown = {
        name: " ".join(f"{letter}^({e:.2f} ± {d:.1g})" for letter, (e, d) in found.items())
        for name, found in measured.facts["exponents"].items()
    }
    ignoring = f" ({grown[ALL]} with all Kˢ policies)" if ALL in grown else ""
    lumped = bounds.regret_rate(Problem(FAR[-1], FAR[-1], 2), 1.0) / FAR[-1]
    return Words(
        setting=(
            f"bounds: S = K = {FAR[0]} … {FAR[-1]:,}, r = 2, by formula; runs: S in "
            f"{tuple(S for S, _ in at['S'])} at K = {ARMS}, K in {tuple(K for _, K in at['K'])} at "
            f"S = {at['K'][0][0]}, r = {GROUPS}, rewards 0 or 1, the worst of gaps from "
            f"{at['gaps'][0]:g} to {at['gaps'][-1]:.2f}; T = {at['T']:,}, SupLinRel "
            f"{at['longer']:,}{fewer(at)}"
        ),
        takeaway=(
            f"EXP4 with rˢKʳ experts has a bound of at least {part[EXP4]:.2f} √(SKT), SupLinRel "
            f"√(SKT) itself; √(r³(S + K)T) is {lumped:.3f} of it at S = K = {FAR[-1]:,}. The "
            f"printed |F| = Ω(Sʳ) is true but too little: it gives {part[PRINTED]:.3f}, and only "
            f"rˢ gives the conclusion. Regret grows like the bounds: {grown[EXP4]} for "
            f"EXP4{ignoring}, {grown[LINEAR]} for SupLinRel. "
            f"Told the groups, EXP4 has Kʳ experts and {grown[TOLD]}."
        ),
    )


def draw_expert_classes(measured: Measured) -> Any:
    """Draw regret against S and against K."""
    colours: dict[str, Series | Colour] = {
        BOUND: GUIDE, EXP4: "blue", LINEAR: "green", TOLD: "orange",
    }  # fmt: skip
    regret, at = Axis("regret", "regret a round, worst gap", "log"), measured.setting
    left, right = (
        panel(
            [row for row in measured.rows if letter in row],
            Axis(letter, words, "log", "points"),
            regret,
            {name: style for name, style in colours.items() if letter == "S" or name != TOLD},
            width=270,
        )
        for letter, words in (("S", "contexts S"), ("K", "arms K"))
    )
    return canvas.with_title(
        left.properties(title=f"K = {ARMS}") | right.properties(title=f"S = {at['K'][0][0]}"),
        "EXP4 and SupLinRel pay for every pair",
        [f"r = {GROUPS}, T = {at['T']:,} (SupLinRel: {at['longer']:,}{fewer(at)})."],
        "Left: regret a round against the number of contexts on log axes: EXP4 with all lumpable "
        "policies and SupLinRel rise with slope near one half, EXP4 below its bound; EXP4 that is "
        "told the groups stays flat. Right: against the number of arms, where both rise too.",
    )


EXPERT_CLASSES = Claim(
    35,
    "Lumpability does not help EXP4 and SupLinRel",
    printed=(
        "EXP4 has log N = S log r + r log K and SupLinRel d = SK: regret of order √(SKT), no "
        "better than without groups; with the same argument |F| = Ω(Sʳ) for oracle-based methods"
    ),
    repaired="|F| ≥ rˢ/r!; with no more than Sʳ, √(KT log |F|) would be far below √(SKT)",
    broken="EXP4 that is told the groups: Kʳ experts, which do use them",
    seconds=(4.0, 60.0),
    stands=False,
    measure=measure_expert_classes,
    judge=judge_expert_classes,
    word=word_expert_classes,
    draw=draw_expert_classes,
)
