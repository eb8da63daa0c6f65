"""Bounds of regret with all their constants: what nobody can beat, and what theorems promise.

Formulas only. S contexts, K arms, r groups, T rounds; ln is natural, log2 counts. A `Rate` of
`bounds` leaves constants and logarithms out; here is what stands behind it. Where a theorem does
not name a constant, there is a rate and no bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lumpable.plans.bounds import Rate
from lumpable.plans.problem import Problem

# --- What nobody can beat -----------------------------------------------------------------------


def regret_lower_bound(problem: Problem, horizon: float) -> float:
    """Return a regret that every algorithm has in some world: at least 0.022 sqrt(d T).

    d = min(r (S + K), SK), T >= d, r >= 2, K >= 2; 0.038 if r >= K, else 0.027 if r divides S or
    S >= K. The world has at most r groups, uniform contexts and Bernoulli rewards
    (`worlds.lower_bound`), and the algorithm may know r and T. One group is one bandit:
    0.038 sqrt(KT), T >= K. Shorter runs: restarts every T rounds turn a method for T rounds into
    one for d, with ceil(d/T) times the regret, so a method for T rounds has at least the bound at d
    over ceil(d/T). One arm: zero.
    """
    S, K, r = problem.letters
    if K == 1:
        return 0.0
    factor, size = lower_bound_constant(problem), min(r * (S + K), S * K)
    if r == 1:
        factor, size = 0.038, K
    if horizon >= size:
        return factor * math.sqrt(size * horizon)
    return factor * size / math.ceil(size / horizon)


def lower_bound_constant(problem: Problem) -> float:
    """Return the constant of Theorem L: by whether S K, or half of r (S + K), is the product."""
    S, K, r = problem.letters
    if r >= K:
        return 0.038  # every context is a bandit with K arms
    return 0.027 if S % r == 0 or S >= K else 0.022  # groups of equal size, or not


# --- Fresh phases: good sets from scratch in every phase ----------------------------------------


@dataclass(frozen=True, slots=True)
class PhaseTerms:
    """What phase h of fresh phases adds to the bounds; contexts come at least 1/(8S) often.

    With the printed constants of Algorithm 6 (`tight=False`) or with smaller ones that the proofs
    still allow.
    """

    problem: Problem
    h: int
    tight: bool = True

    @property
    def confidence(self) -> float:
        """ell_h = ln(4 S^2 K h 2^(h/2)); printed lg_h = 128 ln(r^4 S^2 K^2 h 2^h)."""
        S, K, r = self.problem.letters
        if self.tight:
            return math.log(4 * S**2 * K * self.h) + self.h / 2 * math.log(2)
        return 128 * (math.log(r**4 * S**2 * K**2 * self.h) + self.h * math.log(2))

    @property
    def error(self) -> float:
        """a: estimates of level n are within a 2^(-n/2)."""
        return math.sqrt(2 * self.confidence if self.tight else self.confidence / 16)

    @property
    def survivors(self) -> float:
        """Gamma: arms that stay are within Gamma a 2^(-n/2) of the best."""
        return 12.0 if self.tight else 14.0

    @property
    def exploring(self) -> float:
        """Y + Z: Step 1 of level h takes (Y + Z) 2^h rounds."""
        S, K, r = self.problem.letters
        if self.tight:
            return 1.25 * (8 * S + r * K * self.confidence)
        return r * (S + K) * self.confidence

    @property
    def first_level(self) -> int:
        """n0: from here on errors are at most 1/2."""
        if self.tight:
            return math.floor(math.log2(8 * self.confidence)) + 1
        return max(1, math.ceil(math.log2(self.confidence / 4)))

    def splitting(self, groups: int, stages: int | None = None) -> float:
        """lambda = ln(3 S^4 Q 2^h): the confidence term of splits, Q stages at most."""
        if stages is None:
            widest = 2 * _eta(groups) * max(1, groups - 1)
            stages = math.floor(math.log2(widest)) + 1
        return math.log(3 * self.problem.contexts**4 * stages) + self.h * math.log(2)

    def step_one(self, horizon: float) -> float:
        """9.2 Gamma a (h + 7.5) sqrt((Y + Z) T): Step 1 of all phases, failures included."""
        root = math.sqrt(self.exploring * horizon)
        return 9.2 * self.survivors * self.error * (self.h + 7.5) * root


def last_phase_begun(problem: Problem, horizon: float, *, tight: bool = True) -> int:
    """Return h_T, the last phase of fresh phases that can have begun by round T.

    The first that is played (n0 <= h), or the largest h whose phase h - 1 fits: (Y + Z)_{h-1}
    2^(h-1) <= T.
    """
    h = 1
    while PhaseTerms(problem, h, tight).first_level > h:
        h += 1
    while PhaseTerms(problem, h, tight).exploring * 2.0**h <= horizon:
        h += 1
    return h


def fresh_fixed_bound(problem: Problem, horizon: float, *, tight: bool = True) -> float:
    """Return the bound of fresh phases with splits of a fixed length, r known (Theorem A).

    9.2 Gamma a (h_T + 7.5) sqrt((Y+Z) T) + 280 Gamma (9 + 3 log2 r) sqrt(lambda r^3 S T).
    """
    S, _, r = problem.letters
    last = PhaseTerms(problem, last_phase_begun(problem, horizon, tight=tight), tight)
    calls = 280 * last.survivors * (9 + 3 * math.log2(r))
    return last.step_one(horizon) + calls * math.sqrt(last.splitting(r, 1) * r**3 * S * horizon)


def fresh_fixed_carried_bound(problem: Problem, horizon: float, *, tight: bool = True) -> float:
    """Return the bound of `regret.fresh_phases(adaptive=False)`: clusters are kept, r known.

    9.2 Gamma a (h_T + 7.5) sqrt((Y+Z) T) + 44 Gamma sqrt(lambda r^3 S T). At most r - 1 calls of
    the whole run cut, until a group is cut; what follows that and all failures are in 44 and 9.2.
    """
    S, _, r = problem.letters
    last = PhaseTerms(problem, last_phase_begun(problem, horizon, tight=tight), tight)
    calls = 44 * last.survivors * math.sqrt(last.splitting(r, 1) * r**3 * S * horizon)
    return last.step_one(horizon) + calls


def fresh_adaptive_bound(problem: Problem, horizon: float, *, tight: bool = True) -> float:
    """Return the bound of fresh phases with splits that stop when they have cut enough, r known.

    9.2 Gamma a (h_T + 7.5) sqrt((Y+Z) T) + 190 Gamma (3.5 + N) eta sqrt(lambda) r sqrt(S T), where
    eta = 1 + ln r and N = 11 + 2 log2 eta + 2 log2 r.
    """
    r = problem.groups
    last = PhaseTerms(problem, last_phase_begun(problem, horizon, tight=tight), tight)
    phases = 14.5 + 2 * math.log2(_eta(r)) + 2 * math.log2(r)
    return last.step_one(horizon) + phases * _calls(last, horizon)


def fresh_carried_bound(problem: Problem, horizon: float, *, tight: bool = True) -> float:
    """Return the bound of fresh phases that keep their clusters, adaptive splits, r known.

    As `fresh_adaptive_bound`, with 1 + 2/r for 3.5 + N and 1 + 1/(rS) times Step 1: good calls cost
    1/2, calls that turn bad 1/(2 S^2) and what follows a wrong cut 1/r^2 of 190 Gamma eta .., level
    failures less than 0.1/r; together less than 1 for r > 1 and less than 3 for r = 1.
    """
    S, _, r = problem.letters
    last = PhaseTerms(problem, last_phase_begun(problem, horizon, tight=tight), tight)
    return (1 + 1 / (r * S)) * last.step_one(horizon) + (1 + 2 / r) * _calls(last, horizon)


def fresh_unknown_bound(problem: Problem, horizon: float) -> float:
    """Return the bound of fresh phases without r, fresh or carried (Theorem D).

    (2 + log2 r) [400 sqrt(ell) (h_T + 7.5) r sqrt((8S + K ell) T) + 3900 (17 + 2 log2 r +
    2 log2 eta) eta sqrt(lambda) r sqrt(S T)], eta = 1 + ln 2r, lengths of h_T at r = 1, smaller
    constants, and `_failed_guesses`.
    """
    S, K, r = problem.letters
    shortest = Problem(S, K, 1)
    last = PhaseTerms(shortest, last_phase_begun(shortest, horizon))
    ell, eta = last.confidence, _eta(2 * r)
    exploring = 400 * math.sqrt(ell) * (last.h + 7.5) * r * math.sqrt((8 * S + K * ell) * horizon)
    phases = 17 + 2 * math.log2(r) + 2 * math.log2(eta)
    calls = 3900 * phases * eta * r * math.sqrt(last.splitting(2 * r) * S * horizon)
    return (2 + math.log2(r)) * (exploring + calls) + _failed_guesses(last, horizon)


def _failed_guesses(last: PhaseTerms, horizon: float) -> float:
    """Return what failures cost while r is guessed: a guess may then be anything below 4S.

    A eta [900 + 230 sqrt(lambda) A (18 + 2 log2 S + 2 log2 eta) / S] sqrt(S T), A = 2 + log2 S,
    eta = 1 + ln 4S: rounds of phases that fail, and calls once a group was cut.
    """
    S = last.problem.contexts
    attempts, eta = 2 + math.log2(S), _eta(4 * S)
    phases = 18 + 2 * math.log2(S) + 2 * math.log2(eta)
    cut = 230 * math.sqrt(last.splitting(4 * S)) * attempts * phases / S
    return attempts * eta * (900 + cut) * math.sqrt(S * horizon)


def _eta(groups: int) -> float:
    return 1 + math.log(groups)


def _calls(last: PhaseTerms, horizon: float) -> float:
    """190 Gamma eta sqrt(lambda) r sqrt(S T), the unit in which adaptive splits are counted."""
    S, _, r = last.problem.letters
    root = math.sqrt(last.splitting(r) * S * horizon)
    return 190 * last.survivors * _eta(r) * r * root


# --- Rates ---------------------------------------------------------------------------------------


def minimax_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(min(r (S + K), SK) T), the best rate there can be (`regret_lower_bound`)."""
    S, K, r = problem.letters
    return math.sqrt(min(r * (S + K), S * K) * horizon)


def groups_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(r (S + K) T)."""
    S, K, r = problem.letters
    return math.sqrt(r * (S + K) * horizon)


def fresh_fixed_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt((r^3 S + r K) T)."""
    S, K, r = problem.letters
    return math.sqrt((r**3 * S + r * K) * horizon)


def fresh_adaptive_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt((r^2 S + r K) T)."""
    S, K, r = problem.letters
    return math.sqrt((r**2 * S + r * K) * horizon)


def fresh_unknown_rate(problem: Problem, horizon: float) -> float:
    """Return r sqrt((S + K) T)."""
    S, K, r = problem.letters
    return r * math.sqrt((S + K) * horizon)


def cover_rate(problem: Problem, horizon: float) -> float:
    """Return (S + K)^p T^(1-p), p = 1/(r + 2), for means of rank r."""
    S, K, r = problem.letters
    p = 1 / (r + 2)
    return math.pow(S + K, p) * math.pow(horizon, 1 - p)


CANDIDATES = Rate(
    "sqrt(min(r (S+K), S K) T)",
    minimax_rate,
    "ln^3(SKT)",
    "candidates, near-uniform contexts, r and T unknown (literal form: ln^3.5); constant not named",
)
CANDIDATES_BUCKETS = Rate(
    "sqrt(r (S+K) T)",
    groups_rate,
    "ln^4(SKT)",
    "candidates in buckets, any frequencies, r unknown; constant not named",
)
CANDIDATES_ONLINE = Rate(
    "sqrt(r (S+K) T)",
    groups_rate,
    "ln^5(T)",
    "candidates online, contexts in any order fixed beforehand, r unknown; constant not named",
)
CANDIDATES_LOW_RANK = Rate(
    "(S+K)^p T^(1-p), p = 1/(r+2)",
    cover_rate,
    "ln^3.5(SKT)",
    "candidates on means of rank r, near-uniform contexts; constant not named",
)
FRESH_FIXED = Rate(
    "sqrt((r^3 S + r K) T)",
    fresh_fixed_rate,
    "powers of ln(SKT)",
    "fresh phases that keep their clusters, splits of fixed length, r known",
    fresh_fixed_carried_bound,
)
FRESH_ADAPTIVE = Rate(
    "sqrt((r^2 S + r K) T)",
    fresh_adaptive_rate,
    "powers of ln(SKT)",
    "fresh phases, adaptive splits, r known",
    fresh_adaptive_bound,
)
FRESH_CARRIED = Rate(
    "sqrt((r^2 S + r K) T)",
    fresh_adaptive_rate,
    "powers of ln(SKT)",
    "fresh phases that keep their clusters, r known",
    fresh_carried_bound,
)
FRESH_UNKNOWN = Rate(
    "r sqrt((S+K) T)",
    fresh_unknown_rate,
    "powers of ln(SKT)",
    "fresh phases, r unknown",
    fresh_unknown_bound,
)

FORMS = (
    ("fresh phases, fixed split", FRESH_FIXED, "fresh_phases(adaptive=False)"),
    ("candidates on means of rank r", CANDIDATES_LOW_RANK, "regret.candidates"),
    ("candidates, contexts in any order", CANDIDATES_ONLINE, "learners.OnlineCandidates, told T"),
    ("candidates in buckets", CANDIDATES_BUCKETS, "proved, not built"),
)
"""Theorems about what is no plan of its own: title, rate, and what runs it.

`FRESH_ADAPTIVE` and Theorem A are not here: they are about partitions that are made anew in every
phase. Nothing runs that, since carried ones have the same orders and smaller bounds.
"""
