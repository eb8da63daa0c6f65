"""Regret of methods that the paper compares itself with: rates, and bounds where they are known.

Formulas only. Where a bound has a constant it is for rewards in [0, 1], any context frequencies
and expected regret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lumpable.plans.bounds import Rate, standard_rate
from lumpable.plans.problem import Problem


@dataclass(frozen=True, slots=True)
class Compared:
    """A method of others: what it is called, what it knows, and how its regret grows."""

    title: str
    knows: str
    rate: Rate
    remark: str = ""
    """What else it assumes."""


def exp4_log_experts(problem: Problem) -> float:
    """Return ln N, N = r^S K^r: a group for each context, then an arm for each group."""
    S, K, r = problem.letters
    return S * math.log(r) + r * math.log(K)


def exp4_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(K T ln N), N = r^S K^r experts."""
    return math.sqrt(problem.arms * horizon * exp4_log_experts(problem))


def exp4_bound(problem: Problem, horizon: float) -> float:
    """Return sqrt(2 K T ln N): EXP4 with learning rate sqrt(2 ln N / (KT)) and N experts."""
    return math.sqrt(2) * exp4_rate(problem, horizon)


def known_groups_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(r K T): r bandits with K arms."""
    return math.sqrt(problem.groups * problem.arms * horizon)


def known_groups_bound(problem: Problem, horizon: float) -> float:
    """Return 2 sqrt(r K T ln K): EXP3 in each group, learning rate sqrt(ln K / (tK)) in round t.

    A group of n rounds loses at most ln K / eta_n + K/2 sum eta_t <= 2 sqrt(n K ln K), and
    sum sqrt(n) <= sqrt(r T).
    """
    return 2 * math.sqrt(math.log(problem.arms)) * known_groups_rate(problem, horizon)


def per_context_bound(problem: Problem, horizon: float) -> float:
    """Return 2 sqrt(S K T ln K): as `known_groups_bound`, each context a group of its own."""
    return 2 * math.sqrt(math.log(problem.arms)) * standard_rate(problem, horizon)


def bilinear_rate(problem: Problem, horizon: float) -> float:
    """Return (S + K)^(3/2) sqrt(r T)."""
    S, K, r = problem.letters
    return (S + K) * math.sqrt((S + K) * r * horizon)


def generalized_rate(problem: Problem, horizon: float) -> float:
    """Return (S + K) r sqrt(T)."""
    S, K, r = problem.letters
    return (S + K) * r * math.sqrt(horizon)


def completion_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt((S + K) T)."""
    return math.sqrt((problem.contexts + problem.arms) * horizon)


BOUNDED = "rewards in [0, 1]"

EXP4 = Rate(
    "sqrt(K T (S ln r + r ln K))",
    exp4_rate,
    source="Lattimore and Szepesvari, Bandit Algorithms, Theorem 18.1, with r^S K^r experts",
    bound=exp4_bound,
)
SUPLINREL = Rate(
    "sqrt(S K T)",
    standard_rate,
    "ln^1.5(KT)",
    "Auer 2002, Section 4, dimension SK, as the paper cites it; constant not named",
)
KNOWN_GROUPS = Rate(
    "sqrt(r K T)",
    known_groups_rate,
    "sqrt(ln K)",
    "EXP3 in each group: Bubeck and Cesa-Bianchi 2012, Theorem 3.1",
    known_groups_bound,
)
PER_CONTEXT = Rate(
    "sqrt(S K T)",
    standard_rate,
    "sqrt(ln K)",
    "EXP3 on each context: Bubeck and Cesa-Bianchi 2012, Theorem 3.1",
    per_context_bound,
)
BILINEAR = Rate(
    "(S+K)^1.5 sqrt(r T)",
    bilinear_rate,
    "logarithms",
    "Jun et al. 2019, Lu et al. 2021, as the paper cites them; constant not named",
)
GENERALIZED = Rate(
    "r (S+K) sqrt(T)",
    generalized_rate,
    "logarithms",
    "Kang et al. 2022, as the paper cites them; constant not named",
)
COMPLETION = Rate(
    "sqrt((S+K) T)",
    completion_rate,
    "logarithms",
    "Pal et al. 2023, as the paper cites them: r constant; constant not named",
)

COMPARED = (
    Compared("EXP3 per context", "nothing", PER_CONTEXT, BOUNDED),
    Compared("EXP4, r^S K^r experts", "r and T", EXP4, BOUNDED),
    Compared("SupLinRel", "T", SUPLINREL),
    Compared("low-rank bilinear", "r, means of rank r", BILINEAR),
    Compared("low-rank generalized", "r, means of rank r", GENERALIZED),
    Compared("matrix completion", "r constant, incoherent means", COMPLETION),
    Compared("EXP3 in known groups", "the groups", KNOWN_GROUPS, BOUNDED),
)
"""What the paper compares itself with; the last one knows what the others have to find."""
