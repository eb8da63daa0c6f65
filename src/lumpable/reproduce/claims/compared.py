"""Claim 35: lumpability does not help EXP4 and SupLinRel, in bounds and in runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import IntVector
from lumpable.base.protocols import Learner
from lumpable.learners import LumpableExperts, SupLinRel
from lumpable.plans import bounds, compared_rates
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Sketch

# --- Bounds, exactly --------------------------------------------------------------------------

ORDER = 0.5
"""A bound is of order sqrt(SKT) if it is never below this part of it: sqrt(log 2) is 0.83."""
FAR = tuple(2**k for k in range(4, 21))
"""S = K of the bounds; r is 2."""
HALF_WAY = 0.25
"""Between the exponent 1/2 of S contexts that learn alone and 0, of groups that are known."""


def lumpable_policies(problem: Problem) -> float:
    """K log(r^S K^r): a group for each context, an arm for each group."""
    return problem.arms * compared_rates.exp4_log_experts(problem)


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
    name: str, contexts: int, T: int, seed: int, gaps: Sequence[float] = GAPS
) -> float:
    """Return the largest regret over gaps: each group has one good arm, better by the gap."""
    lost = []
    for gap in gaps:
        world = worlds.lumpable(
            contexts, ARMS, GROUPS, means="hard", gap=gap, noise="bernoulli", seed=seed
        )
        lost.append(lb.play(made(name, world, T, seed), world, horizon=T, seed=seed).regret)
    return max(lost)


def in_contexts(found: Sequence[Sequence[float]], contexts: Sequence[int]) -> tuple[float, float]:
    """Return the exponent of S in the mean regret; `found` has a row for each S."""
    return slope(contexts, [float(np.mean(each)) for each in found])


def measure_compared(effort: Effort) -> Measured:
    """Compute bounds, and play where they can be played."""
    runs, gaps = effort.pick((1, GAPS[::2]), (2, GAPS))
    T, longer = effort.pick((20_000, 100_000), (100_000, 1_000_000))
    contexts = effort.pick((4, 8, 16, 32), (8, 16, 32, 64))
    names = effort.pick((EXP4, TOLD, LINEAR), (EXP4, ALL, TOLD, LINEAR))
    rows: Rows = []
    exponents = {}
    for name in names:
        rounds = longer if name == LINEAR else T
        often = 1 if name == LINEAR else runs
        lost = [[worst_regret(name, S, rounds, k, gaps) for k in range(often)] for S in contexts]
        exponents[name] = in_contexts(lost, contexts)
        rows += [
            {"series": name, "S": S, "regret": float(np.mean(each)) / rounds}
            for S, each in zip(contexts, lost, strict=True)
        ]
    for S in contexts:
        problem = Problem(S, ARMS, GROUPS)
        most = 2 * math.sqrt(math.e - 1) * compared_rates.exp4_rate(problem, T)
        rows.append({"series": BOUND, "S": S, "regret": most / T})
    return Measured(
        seeds=runs,
        setting={"T": T, "longer": longer, "S": contexts},
        rows=rows,
        facts={
            "exponents": exponents,
            "part": {name: of_standard(f) for name, f in BOUNDS.items()},
        },
    )


def judge_compared(measured: Measured) -> Verdict:
    """Bounds must be of order sqrt(SKT), and regret must grow with S as if each learnt alone."""
    part, exponents = measured.facts["part"], measured.facts["exponents"]

    def no_better(name: str) -> Check:
        return Check(f"{name}: bound over √(SKT), least over S = K", part[name], ">=", ORDER)

    def grows(name: str) -> Check:
        value, error = exponents[name]
        what = f"{name}: exponent of S in the regret, ± {error:.2f}, less two errors"
        return Check(what, value - 2 * error, ">=", HALF_WAY)

    return Verdict(
        printed=(no_better(EXP4), no_better(LINEAR), no_better(PRINTED)),
        repaired=(no_better(EXP4), no_better(LINEAR), no_better(MEANT), grows(EXP4), grows(LINEAR)),
        broken=(no_better(TOLD), grows(TOLD)),
    )


def word_compared(measured: Measured, verdict: Verdict) -> Words:
    """Tell what the classes allow, and how regret grows."""
    at, part = measured.setting, measured.facts["part"]
    grown = {
        name: "S^({:.2f} ± {:.2f})".format(*pair)
        for name, pair in measured.facts["exponents"].items()
    }
    ignoring = f", {grown[ALL]} with all Kˢ policies" if ALL in grown else ""
    lumped = bounds.regret_rate(Problem(FAR[-1], FAR[-1], 2), 1.0) / FAR[-1]
    return Words(
        setting=(
            f"bounds: S = K = {FAR[0]} … {FAR[-1]:,}, r = 2, by formula; runs: S in "
            f"{tuple(at['S'])}, K = {ARMS}, r = {GROUPS}, rewards 0 or 1, the worst of gaps "
            f"from {GAPS[0]:g} to {GAPS[-1]:g}; T = {at['T']:,} (SupLinRel: {at['longer']:,})"
        ),
        takeaway=(
            f"EXP4 with rˢKʳ experts has a bound of at least {part[EXP4]:.2f} √(SKT), SupLinRel "
            f"√(SKT) itself; √(r³(S + K)T) is {lumped:.3f} of it at S = K = {FAR[-1]:,}. The "
            f"printed |F| = Ω(Sʳ) would give {part[PRINTED]:.3f}: it has to be rˢ. Regret grows "
            f"alike: {grown[EXP4]} for EXP4{ignoring}, {grown[LINEAR]} for SupLinRel. Told the "
            f"groups, EXP4 has Kʳ experts and {grown[TOLD]}."
        ),
    )


COMPARED = Claim(
    35,
    "Lumpability does not help EXP4 and SupLinRel",
    printed=(
        "EXP4 has log N = S log r + r log K and SupLinRel d = SK: regret of order √(SKT), no "
        "better than without groups; with the same argument |F| = Ω(Sʳ) for oracle-based methods"
    ),
    repaired="|F| ≥ rˢ/r!: with Sʳ the bound √(KT log |F|) would be far below √(SKT)",
    broken="EXP4 that is told the groups: Kʳ experts, which do use them",
    seconds=(3.0, 60.0),
    stands=False,
    measure=measure_compared,
    judge=judge_compared,
    word=word_compared,
    draw=Sketch(
        Axis("S", "contexts S", "log", "points"),
        Axis("regret", "regret a round, worst gap", "log"),
        {BOUND: GUIDE, EXP4: "blue", LINEAR: "green", TOLD: "orange"},
        title="EXP4 and SupLinRel pay for every context",
        subtitle=f"K = {ARMS}, r = {GROUPS}, T = {{T}} (SupLinRel: {{longer}}).",
        description=(
            "Regret a round against the number of contexts on log axes: EXP4 with all lumpable "
            "policies and SupLinRel rise with slope near one half, EXP4 below its bound; EXP4 that "
            "is told the groups stays flat."
        ),
    ),
)
