"""Looks into runs: which promises of the paper they kept, and what the laws of chance expect.

Law of this module: levels, lengths and thresholds are worked out here again from what the paper
prints, never taken from the package, so that a slip there cannot hide itself. The one exception is
the proved loss, `bounds.near_uniform_promise`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.runs.run import Step

SUSPICION = 1e-9
"""What was seen is held against the package when it has at most this probability."""

NEAR = 8
"""Lemma pac-4's factor of sqrt(log x) epsilon_b, as its steps give it (printed: 10).

The estimate that wins is at most 2 below the group's best arm, a context that leaves is within 4 of
it by a fresh estimate, which is off by at most 2: all in units of sqrt(log x / 2^n).
"""


# --- Reading a run --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Watched:
    """A run and all that it asked and was told."""

    run: lb.Run
    steps: Sequence[Step]

    @property
    def loss(self) -> float:
        """The mean loss of the policy."""
        return self.run.world.loss(self.run.policy)


def watch(plan: lb.Plan, world: lb.World, seed: int) -> Watched:
    """Run a plan and keep every request and sample."""
    steps: list[Step] = []
    return Watched(lb.simulate(plan, world, seed=seed, watch=steps.append), steps)


def levels(epsilon: float) -> int:
    """N = ceil(log2(1 / epsilon^2))."""
    return math.ceil(math.log2(1 / epsilon**2) - 1e-9)


@dataclass(frozen=True, eq=False)
class Part:
    """One execution of Algorithm 1 with the truth beside it: a whole run or a kept bucket."""

    problem: lb.Problem
    epsilon: float
    delta: float
    mean: FloatMatrix
    group: IntVector
    frequency: FloatVector
    """How often each context comes, among these contexts; adds up to 1."""
    share: float
    """True frequency of these contexts over the estimated one; 1 for a whole run."""
    plays: Sequence[IntMatrix]
    """Finished plays of Step 1, level by level."""
    screened: Sequence[tuple[int, int]]
    """Repeats and arm of every request of Step 2."""
    result: lb.Result

    @property
    def root_log_x(self) -> float:
        """sqrt(log(rSK / delta))."""
        S, K, r = self.problem.letters
        return math.sqrt(math.log(r * S * K / self.delta))

    @property
    def almost_uniform(self) -> bool:
        """Whether Algorithm 1's assumption holds; a context that never comes does no harm."""
        relative = self.frequency[self.frequency > 0] * self.problem.contexts
        return bool(relative.min() >= 1 / 8 - 1e-9 and relative.max() <= 8 + 1e-9)

    def sizeable(self) -> Iterator[tuple[BoolVector, float]]:
        """Yield the contexts and epsilon_b of each group with omega(b) >= epsilon / r."""
        r = self.problem.groups
        for b in np.unique(self.group):
            members = self.group == b
            omega = float(self.frequency[members].sum())
            if omega >= self.epsilon / r:
                yield members, max(1.0, 1 / math.sqrt(r * omega)) * self.epsilon

    def uncovered(self) -> bool:
        """(a): at its level n_b some sizeable group has an arm that no context finished."""
        return any(
            not self.plays[levels(epsilon_b) - 1][members].any(axis=0).all()
            for members, epsilon_b in self.sizeable()
        )

    def lacks_good_arm(self) -> bool | None:
        """(b): some sizeable group has no candidate within NEAR sqrt(log x) epsilon_b of its best.

        None when no arm of any sizeable group is that bad: then this cannot happen.
        """
        candidates = sorted({arm for _, arm in self.screened})
        lacking = []
        for members, epsilon_b in self.sizeable():
            mean = self.mean[members][0]
            enough = mean.max() - NEAR * self.root_log_x * epsilon_b
            if mean.min() < enough:
                lacking.append(bool(mean[candidates].max() < enough))
        return any(lacking) if lacking else None

    def too_many_candidates(self) -> bool | None:
        """(c): |W| > N r; None when there are no more arms than that."""
        most = levels(self.epsilon) * self.problem.groups
        return len({arm for _, arm in self.screened}) > most if self.problem.arms > most else None

    def too_many_screenings(self) -> bool:
        """(c), its stronger form: more than r screenings at a level."""
        return max(Counter(repeats for repeats, _ in self.screened).values()) > self.problem.groups

    def loses_too_much(self) -> bool | None:
        """(d): the loss is above what was proved; None when that is above 1."""
        proved = lb.bounds.near_uniform_promise(self.problem, self.epsilon, self.delta)
        chosen = self.mean[np.arange(len(self.group)), self.result.policy]
        loss = float(self.frequency @ (self.mean.max(axis=1) - chosen))
        return loss > proved if proved < 1 else None


def parts(watched: Watched) -> list[Part]:
    """Cut a run into its executions of Algorithm 1."""
    run = watched.run
    if run.result is None:
        raise ValueError("run: expected one that came to its end")
    everybody = np.ones(run.world.contexts, dtype=bool)
    if run.plan.endswith("near_uniform"):
        problem, epsilon = run.parameters["problem"], run.parameters["epsilon"]
        return [_part(run, problem, epsilon, everybody, 1.0, watched.steps, run.result)]
    cut = []
    for bucket in run.result.buckets:
        if bucket.result is not None:
            inside = bucket.contexts
            size = int(inside.sum())
            problem = lb.Problem(size, run.world.arms, min(run.parameters["problem"].groups, size))
            steps = [  # the first request estimates the frequencies
                step
                for step in watched.steps[1:]
                if np.array_equal(step.request.arms.any(axis=1), inside)
            ]
            part = _part(
                run, problem, bucket.epsilon, inside, bucket.frequency, steps, bucket.result
            )
            cut.append(part)
    return cut


def _part(
    run: lb.Run,
    problem: lb.Problem,
    epsilon: float,
    inside: BoolVector,
    estimate: float,
    steps: Sequence[Step],
    result: lb.Result,
) -> Part:
    """Put what was asked beside the truth; what the result says of itself must agree with it."""
    N = levels(epsilon)
    screened = [
        (step.request.repeats, int(np.argmax(step.request.arms[inside][0])))
        for step in steps[N:]
        if step.request.repeats > 1  # Step 3 plays every arm once
    ]
    count = Counter(repeats for repeats, _ in screened)
    if result.candidates != tuple(sorted({arm for _, arm in screened})):
        raise AssertionError(f"candidates {result.candidates} are not those that were screened")
    if result.screenings != tuple(count[2**n] for n in range(1, N + 1)):
        raise AssertionError(f"screenings {result.screenings} are not those that were asked for")
    nu = run.world.frequency[inside]
    return Part(
        problem=problem,
        epsilon=epsilon,
        delta=run.parameters["delta"],
        mean=run.world.mean[inside],
        group=run.world.group[inside],
        frequency=nu / nu.sum(),
        share=float(nu.sum()) / estimate,
        plays=[step.sample.plays[inside] for step in steps[:N]],
        screened=screened,
        result=result,
    )


# --- Promises -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """Something that goes wrong with probability at most `times` delta."""

    name: str
    times: int
    fails: Callable[[Part], bool | None]
    """None when the claim says nothing of this part."""


CLAIMS = (
    Claim("coverage (Lemma pac-2)", 2, Part.uncovered),
    Claim("near-optimal candidate (Lemma pac-4)", 4, Part.lacks_good_arm),
    Claim("|W| <= N r (Lemma pac-3)", 4, Part.too_many_candidates),
    Claim("r screenings a level (proof of Lemma pac-3)", 4, Part.too_many_screenings),
    Claim("loss as proved (Lemmas pac-1 and pac-4, Step 3)", 6, Part.loses_too_much),
)


@dataclass(frozen=True)
class Count:
    """Failures among trials, and the probability of a failure that was promised at most."""

    failures: int
    trials: int
    promised: float

    @property
    def broken(self) -> bool:
        """Whether an exact binomial bound says that the promise was not kept."""
        if self.trials == 0:
            return False
        test = stats.binomtest(self.failures, self.trials, self.promised, alternative="greater")
        return bool(test.pvalue < SUSPICION)


def as_assumed(part: Part) -> bool:
    """Whether a bucket is what Algorithm 3 takes it for: decided before its own data come."""
    return part.almost_uniform and part.share >= 1 / 2


def count(claim: Claim, found: Iterable[Part], delta: float) -> Count:
    """Count how often a claim failed, over the parts of which it speaks."""
    verdicts = [claim.fails(part) for part in found if as_assumed(part)]
    spoken = [verdict for verdict in verdicts if verdict is not None]
    return Count(sum(spoken), len(spoken), claim.times * delta)


# --- Settings -------------------------------------------------------------------------------

Method = Callable[..., lb.Plan]


@dataclass(frozen=True, eq=False)
class Setting:
    """A method in a world that is drawn anew for each seed."""

    name: str
    method: Method
    world: Callable[[int], lb.World]
    groups: int
    epsilon: float
    delta: float = 0.05
    constants: lb.Constants = lb.PAPER

    def watch(self, seed: int) -> Watched:
        """Run it once."""
        world = self.world(seed)
        plan = self.method(
            lb.Problem(world.contexts, world.arms, self.groups),
            epsilon=self.epsilon,
            delta=self.delta,
            constants=self.constants,
        )
        return watch(plan, world, seed)


def most_uneven(contexts: int) -> FloatVector:
    """Frequencies 8/S for a ninth of the contexts and 1/(8S) for the others: they add up to 1."""
    heavy = np.arange(contexts) < contexts // 9
    return np.where(heavy, 8.0, 1 / 8) / contexts


def halving(contexts: int, never: int) -> FloatVector:
    """Frequencies 1/2, 1/4, 1/8, .. (the last two alike), and 0 for the last `never` contexts."""
    come = contexts - never
    nu = 0.5 ** np.minimum(np.arange(1, contexts + 1), come - 1)
    return np.where(np.arange(contexts) < come, nu, 0.0)


def tight(
    arms: int, groups: int, epsilon: float, delta: float, frequency: FloatVector, noise: str
) -> lb.World:
    """Hide groups, each with one good arm and all others just not near-optimal in Lemma pac-4.

    So (b) fails as soon as one group's good arm is not found. Contexts take turns in the groups.
    """
    S = len(frequency)
    group = np.arange(S) % groups
    omega = np.bincount(group, weights=frequency)
    epsilon_b = np.maximum(1.0, 1 / np.sqrt(groups * omega)) * epsilon
    gap = 1.05 * NEAR * math.sqrt(math.log(groups * S * arms / delta)) * epsilon_b
    best = 1 - 0.001 * np.arange(groups)  # no ties between groups
    mean = np.repeat((best - gap)[:, np.newaxis], arms, axis=1)
    mean[np.arange(groups), np.arange(groups)] = best
    return lb.World(mean[group], frequency, group, noise, name="tight")


def uniform(contexts: int) -> FloatVector:
    """All contexts come equally often."""
    return np.full(contexts, 1 / contexts)


# --- Closed forms: what Algorithm 2 collects in a given number of rounds -----------------------

Given = FloatVector
"""Probability of an event that concerns some contexts, given t = 0, 1, .. visits to them."""


@functools.lru_cache(maxsize=64)
def _binomials(size: int, share: float) -> FloatMatrix:
    t = np.arange(size)
    return np.asarray(stats.binom.pmf(t[np.newaxis, :], t[:, np.newaxis], share))


def both(first: Given, second: Given, share: float) -> Given:
    """Return the probability of two events, each about its own contexts, given visits to either.

    A visit goes to the second's contexts with probability `share`.
    """
    pmf = _binomials(len(first), share)
    return np.array([pmf[t, : t + 1] @ (second[: t + 1] * first[t::-1]) for t in range(len(first))])


def all_of(events: Sequence[Given], weights: Sequence[float]) -> Given:
    """Return the probability of several events; a visit goes to each in proportion to weights."""
    together, total = events[0], weights[0]
    for event, weight in zip(events[1:], weights[1:], strict=True):
        total += weight
        together = both(together, event, weight / total)
    return together


def covers(frequency: FloatVector, arms: int, repeats: int, rounds: int) -> Given:
    """Return the probability that a group with these frequencies finishes every arm.

    m finished plays miss k given arms with probability (1 - k/K)^m; m adds up over the contexts,
    so its power is a product of events, and inclusion-exclusion over k does the rest.
    """
    t = np.arange(rounds + 1)
    weights = frequency[frequency > 0].tolist()
    covered: Given = np.zeros(rounds + 1)
    for k in range(arms + 1):
        misses_k = np.power(1 - k / arms, t // repeats)
        covered += (-1) ** k * math.comb(arms, k) * all_of([misses_k] * len(weights), weights)
    return covered


def miss_rate(
    frequency: FloatVector, group: IntVector, arms: int, r: int, epsilon: float, rounds: int
) -> float:
    """Return the probability of (a) when each level of Step 1 has this many rounds.

    Levels are independent requests; groups of one level share its visits, and what does not
    concern them is an event that always happens.
    """
    by_level: dict[int, list[FloatVector]] = {}
    for b in np.unique(group):
        members = frequency[group == b]
        omega = float(members.sum())
        if omega >= epsilon / r:
            epsilon_b = max(1.0, 1 / math.sqrt(r * omega)) * epsilon
            by_level.setdefault(levels(epsilon_b), []).append(members)
    covered = 1.0
    for n, groups in by_level.items():
        weights = [float(members.sum()) for members in groups]
        events = [covers(members, arms, 2**n, rounds) for members in groups]
        rest = max(0.0, 1 - sum(weights))
        covered *= float(all_of([*events, np.ones(rounds + 1)], [*weights, rest])[-1])
    return 1 - covered


def unseen_rate(contexts: int, repeats: int, rounds: int) -> float:
    """Return the probability that one of all but one uniform contexts finishes no play."""
    finished = (np.arange(rounds + 1) >= repeats).astype(float)
    events = [np.ones(rounds + 1), *itertools.repeat(finished, contexts - 1)]
    return 1 - float(all_of(events, [1.0] * contexts)[-1])


def wrong_rate(gap: float, sd: float, frequency: float, rounds: int) -> float:
    """Return the probability that a context takes the worse of two arms in Step 3.

    Each arm has `rounds` rounds of its own, so a binomial number of rewards of this context, and
    the difference of two averages is normal. No visit at all must be out of the question.
    """
    if (1 - frequency) ** rounds > 1e-6:
        raise ValueError(f"rounds: expected enough for a visit, got {rounds}")
    visits = np.arange(1, rounds + 1)
    pmf = np.asarray(stats.binom.pmf(visits, rounds, frequency))
    spread = sd * np.sqrt(1 / visits[:, np.newaxis] + 1 / visits[np.newaxis, :])
    return float(pmf @ stats.norm.cdf(-gap / spread) @ pmf)
