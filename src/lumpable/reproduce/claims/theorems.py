"""Claims 9 and 14: the losses of Theorems 1 and 2.

Both are judged at the finest epsilon, where the bound is far below 1, the largest possible loss.
Claims 10 and 11 are in `samples`, 12 in `several_levels`, 13 in `buckets`, 15 in `lower`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import FloatVector
from lumpable.plans import bounds, lengths, pac
from lumpable.plans.plan import Belief, Collect, Conversation, Result
from lumpable.plans.problem import PAPER
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import witness
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Series, Sketch
from lumpable.reproduce.claims.witness import DELTA, algorithm_1

Losses = dict[str, list[float]]
Bound = Callable[[lb.Problem, float, float], float]


def measure_losses(
    size: lb.Problem,
    epsilons: Sequence[float],
    bound_by: Mapping[str, Bound],
    losses_at: Callable[[float], Losses],
) -> Measured:
    """Measure losses at each epsilon; as facts, the bounds and all losses at the last one."""
    rows: Rows = []
    for epsilon in epsilons:
        bound = {name: func(size, epsilon, DELTA) for name, func in bound_by.items()}
        rows += [{"series": name, "epsilon": epsilon, "loss": bound[name]} for name in bound]
        losses = losses_at(epsilon)
        rows += [
            {"series": name, "epsilon": epsilon, "loss": loss}
            for name, each in losses.items()
            for loss in sorted({round(loss, 4) for loss in each})
        ]
    S, K, r = size.letters
    return Measured(
        seeds=max(map(len, losses.values())),
        setting={"S": S, "K": K, "r": r, "delta": DELTA, "epsilons": epsilons},
        rows=rows,
        facts={**bound, "losses": losses},
    )


def loss_check(measured: Measured, series: str, words: str, bound: float) -> Check:
    """Hold the share of losses above a bound against delta."""
    over = sum(loss > bound for loss in measured.facts["losses"][series])
    what = f"loss above {words} {bound:.3f}"
    return rate(what, over, measured.seeds, measured.setting["delta"])


def losses_against_epsilon(sound: str, broken: str, *, title: str, subtitle: str) -> Sketch:
    """Draw losses, sound and broken, against epsilon, with the bounds."""
    return Sketch(
        Axis("epsilon", "ε", "log", "points"),
        Axis("loss", "loss"),
        {
            "printed bound": GUIDE,
            "repaired": Series("green", "line"),
            broken: Series("orange", "point"),
            sound: Series("blue", "point"),
        },
        bars={"1: no loss is larger": 1.0},
        title=title,
        subtitle=subtitle,
        description=(
            f"Losses against epsilon: {sound} stays near zero, below both bounds; {broken}: above "
            "them at small epsilon."
        ),
    )


# --- 9: Theorem 1 ---------------------------------------------------------------------------

SIZE = lb.Problem(63, 40, 3)
EPSILONS = (0.02, 0.01, 0.005, 0.0025)
FORMS = {"Algorithm 1": 1.0, "broken": 30.0}
"""How much wider the screening threshold is."""


def theorem_losses(epsilon: float, runs: int, factor: float) -> list[float]:
    """Return losses in both kinds of worlds, with the screening threshold this much wider."""
    S, K, r = SIZE.letters
    constants = witness.threshold_times(factor)
    planted = witness.planted(S, K, r, 0.6, witness.most_uneven(S))
    return [
        algorithm_1(world, epsilon, seed, constants).loss
        for seed in range(runs)
        for world in (worlds.lumpable(S, K, r, seed=seed), planted)
    ]


def measure_theorem_1(effort: Effort) -> Measured:
    """Run it at accuracies where the bound is below 1, in worlds that can break it."""
    runs = effort.pick(12, 120)
    return measure_losses(
        SIZE,
        effort.pick(EPSILONS[1::2], EPSILONS),
        {"printed bound": bounds.near_uniform_printed, "repaired": bounds.near_uniform_promise},
        lambda epsilon: {name: theorem_losses(epsilon, runs, f) for name, f in FORMS.items()},
    )


def judge_theorem_1(measured: Measured) -> Verdict:
    """Hold losses against both bounds."""

    def checks(series: str) -> tuple[Check, Check]:
        printed = loss_check(measured, series, "the printed", measured.facts["printed bound"])
        return printed, loss_check(measured, series, "the proved", measured.facts["repaired"])

    printed, repaired = checks("Algorithm 1")
    return Verdict(printed=(printed,), repaired=(repaired,), broken=checks("broken"))


def word_theorem_1(measured: Measured, verdict: Verdict) -> Words:
    """Tell how far below the bound the losses are."""
    at, bound = measured.setting, measured.facts["printed bound"]
    finest, losses = at["epsilons"][-1], np.array(measured.facts["losses"]["Algorithm 1"])
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, uniform means and frequencies, and "
            f"planted arms with the most uneven frequencies; δ = {at['delta']:g}, judged at ε = "
            f"{finest:g}"
        ),
        takeaway=(
            f"At ε = {finest:g} the bound is {bound:.2f} and the largest loss of {measured.seeds} "
            f"runs was {losses.max():.2g}; {np.sum(losses > bound)} of them were above the bound, "
            f"and {np.sum(losses > finest)} above ε itself, which nobody promises. Above ε = "
            f"{finest / bound:.3f} the bound is vacuous (above 1)."
        ),
    )


THEOREM_1 = Claim(
    9,
    "Theorem 1: the loss",
    printed=(
        "For ν(i) in [1/(8S), 8/S] Algorithm 1 is 2(10 √(log(rSK/δ)) + 1) ε-optimal with "
        "probability ≥ 1 − δ"
    ),
    repaired="its steps give (10 √(log(rSK/δ)) + 1 + 2√2 + 4ε) ε, half as much",
    broken="a screening threshold thirty times as wide, all lengths as printed",
    seconds=(2.5, 18.0),
    measure=measure_theorem_1,
    judge=judge_theorem_1,
    word=word_theorem_1,
    draw=losses_against_epsilon(
        *FORMS,
        title="Theorem 1: losses far below the bound",
        subtitle="{seeds} runs at each ε. Broken: threshold thirty times as wide.",
    ),
)


# --- 14: Theorem 2 --------------------------------------------------------------------------

GENERAL_SIZE = lb.Problem(24, 10, 3)
GENERAL_EPSILONS = (0.004, 0.002, 0.001, 0.0005)
SKIPPED = "bucket 0 skipped"


def one_dominates(contexts: int) -> FloatVector:
    """Frequencies 0.6 for one context, and Zipf for the others."""
    rest = 1 / np.arange(1, contexts)
    return np.concatenate([[0.6], 0.4 * rest / rest.sum()])


def outvoted(contexts: int, arms: int) -> lb.World:
    """One context has 0.6 of all arrivals and an arm of its own; the pooled data like another.

    That one is half as good for it, but the best or nearly the best for everybody else.
    """
    group = np.arange(contexts) % 2 + 1
    group[0] = 0
    mean = np.zeros((3, arms))
    mean[0, :2] = 1.0, 0.5
    mean[1, 1], mean[2, 1:3] = 1.0, (0.9, 1.0)
    return lb.World(mean[group], one_dominates(contexts), group, name="outvoted")


@lb.algorithm(lb.About())
def buckets_from(
    problem: lb.Problem, *, epsilon: float, delta: float, first: int = 1
) -> Conversation:
    """Algorithm 3 with its loop over l = first .. L - 1: with 1 as printed, with 0 as meant.

    Contexts of a bucket that is left out are treated like those that are given up.
    """
    S, K, r = problem.letters
    belief = Belief("estimating", np.zeros(S, dtype=np.int64), kind="estimating")
    J = lengths.arrivals(problem, epsilon, delta)
    sample = yield Collect(J, 1, np.ones((S, K), dtype=bool), belief)
    L = lengths.last_bucket(problem, epsilon)
    frequency = sample.plays.sum(axis=1) / sample.plays.sum()
    bucket = pac.bucket_of(frequency, L)
    policy = np.full(S, pac.best_pooled_arm(sample))
    for level in range(first, L):
        contexts = bucket == level
        if contexts.any():
            nu, size = float(frequency[contexts].sum()), int(contexts.sum())
            epsilon_l = lengths.bucket_epsilon(epsilon, nu)
            learner = pac.near_uniform(
                lb.Problem(size, K, min(r, size)), epsilon=epsilon_l, delta=delta
            )
            _, found = yield from pac.in_bucket(learner, contexts, nu, policy, level, PAPER)
            policy = policy.copy()
            policy[contexts] = found.policy
    return Result(policy)


def measure_theorem_2(effort: Effort) -> Measured:
    """Run Algorithm 3 where one context has more than half of all arrivals."""
    S, K, r = GENERAL_SIZE.letters
    algorithms: dict[str, Callable[..., lb.Plan]] = {
        "Algorithm 3": pac.any_contexts,
        SKIPPED: buckets_from,
    }

    def losses_at(epsilon: float) -> Losses:
        losses: Losses = {name: [] for name in algorithms}
        for seed in range(effort.pick(6, 75)):
            drawn = worlds.lumpable(S, K, r, frequency=one_dominates(S), seed=seed)
            for world in (drawn, outvoted(S, K)):
                for name, algorithm in algorithms.items():
                    plan = algorithm(GENERAL_SIZE, epsilon=epsilon, delta=DELTA)
                    losses[name].append(world.loss(lb.simulate(plan, world, seed=seed).policy))
        return losses

    bound_by = {"printed bound": bounds.any_contexts_printed}
    bound_by["repaired"] = bounds.any_contexts_promise
    epsilons = effort.pick(GENERAL_EPSILONS[1::2], GENERAL_EPSILONS)
    return measure_losses(GENERAL_SIZE, epsilons, bound_by, losses_at)


def judge_theorem_2(measured: Measured) -> Verdict:
    """Hold losses against the bounds, the printed one also with the 3 epsilon that it forgets."""
    bound, promise = measured.facts["printed bound"], measured.facts["repaired"]
    whole = bound + 3 * measured.setting["epsilons"][-1]

    def checks(series: str) -> tuple[Check, Check]:
        printed = loss_check(measured, series, "C √L ε + 3ε =", whole)
        return printed, loss_check(measured, series, "the proved", promise)

    printed, repaired = checks("Algorithm 3")
    return Verdict(
        printed=(loss_check(measured, "Algorithm 3", "C √L ε =", bound), printed),
        repaired=(repaired,),
        broken=checks(SKIPPED),
    )


def word_theorem_2(measured: Measured, verdict: Verdict) -> Words:
    """Tell how far below the bound the losses are, and what bucket 0 is worth."""
    at, losses = measured.setting, measured.facts["losses"]
    finest, bound = at["epsilons"][-1], measured.facts["printed bound"]
    over = {name: sum(loss > bound for loss in each) for name, each in losses.items()}
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r = {at['r']}, δ = {at['delta']:g}, one context with "
            "0.6 of all arrivals, Zipf for the others; half of the runs with uniform means, half "
            f"where an arm that is 0.5 worse for that context wins on average; judged at ε = "
            f"{finest:g}"
        ),
        takeaway=(
            f"At ε = {finest:g} the bound is {bound:.2f}. Algorithm 3 lost at most "
            f"{max(losses['Algorithm 3']):.2g}, more than the bound in {over['Algorithm 3']} of "
            f"{measured.seeds} runs. With the loop as printed, over [L − 1], the context that "
            "comes most often gets the arm that is best on average: a loss above the bound in "
            f"{over[SKIPPED]} of {measured.seeds} runs, up to {max(losses[SKIPPED]):.2f}."
        ),
    )


THEOREM_2 = Claim(
    14,
    "Theorem 2: the loss for any frequencies",
    printed="Algorithm 3 is C √L ε-optimal, C = 2√2 (10 √(log(rSK/δ)) + 1), L = ⌈log₂(S/ε)⌉",
    repaired="3.08 (10 √(log(rSK/δ)) + 3.9) √L ε + 38 L ε² + 1.9 ε, bucket by bucket",
    broken=(
        "the loop as printed, over [L − 1]: bucket 0 is skipped, and its context is treated like "
        "those that are given up"
    ),
    seconds=(2.0, 42.0),
    measure=measure_theorem_2,
    judge=judge_theorem_2,
    word=word_theorem_2,
    draw=losses_against_epsilon(
        "Algorithm 3",
        SKIPPED,
        title="Theorem 2: losses far below the bound",
        subtitle="{seeds} runs at each ε; one context has 60 % of all arrivals.",
    ),
)
