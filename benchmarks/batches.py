"""Speed of batches at (100000, 1000): decisions against one pass over the arms, rewards by rows.
Then what it costs in regret that undecided contexts share coarser tables.

    python benchmarks/batches.py

The floor of a batch of decisions is, for each context, one pass over K arms that combines two
numbers made beforehand and takes the maximum: compiled, one core, written so that the processor
takes several arms at a time (the plain loop takes three to five times as long). The floor of a
table of rewards is `np.add.at` of counts and totals into cells whose places are known. Ratios are
medians over repetitions in turn, so that a slow moment of the machine hits both; times are those of
the one core that works.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lumpable import worlds
from lumpable.learners.engine.clock import kernel, kernel_without_nan
from lumpable.lumps.core import batches
from lumpable.lumps.core.batches import _kinds, ask_many, tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model.counts import group_sums
from lumpable.lumps.model.fit import Fit

CONTEXTS, ARMS, GROUPS = 100_000, 1000, 5
PULLS, FAVOURITES = 10, 6
"""Rewards of each context, and among how many arms of its own."""
NEVER = 10**15
REPETITIONS = 5
PLAYED, ROUNDS, WORLDS = (3000, 50, 5), 30, 8
"""Where the regret of coarser tables is measured: in so many batches of all contexts."""
PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "batches.md"


def seconds(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start


# --- Floors -------------------------------------------------------------------------------------


@kernel_without_nan
def largest_sum(a: Any, b: Any, scale: float, room: Any) -> float:
    """Return the largest of a + scale b, by halves."""
    for j in range(len(a)):
        room[j] = a[j] + scale * b[j]
    size = len(a)
    while size > 1:
        half = (size + 1) // 2
        for j in range(size // 2):
            room[j] = room[j] if room[j] > room[j + half] else room[j + half]
        size = half
    return float(room[0])


@kernel
def one_pass(contexts: Any, group: Any, a: Any, b: Any, scale: Any, out: Any) -> None:
    """For each context the largest of K sums."""
    room = np.empty(a.shape[1])
    for k in range(len(contexts)):
        i = contexts[k]
        out[k] = largest_sum(a[group[i]], b[group[i]], scale[i], room)


def decisions_floor(label: Any) -> Callable[[], None]:
    rng = np.random.default_rng(1)
    a, b = rng.random((2, GROUPS, ARMS))
    contexts, scale, out = np.arange(CONTEXTS), rng.random(CONTEXTS), np.empty(CONTEXTS)
    return lambda: one_pass(contexts, label, a, b, scale, out)


# --- Learners -----------------------------------------------------------------------------------


def table() -> tuple[Any, Any, Any, Any, Any]:
    """Return the group of each context, and a million rewards: context, arm, reward, count."""
    rng = np.random.default_rng(2)
    label = rng.integers(GROUPS, size=CONTEXTS)
    mean = rng.beta(2.0, 4.0, size=(GROUPS, ARMS))
    best = np.argsort(-mean, axis=1)[:, :50]
    own = rng.integers(50, size=(CONTEXTS, FAVOURITES))
    context = rng.permutation(np.arange(CONTEXTS).repeat(PULLS))
    arm = best[label[context], own[context, rng.integers(FAVOURITES, size=len(context))]]
    reward = (rng.random(len(context)) < mean[label[context], arm]).astype(float)
    return label, context, arm, reward, np.ones(len(context), dtype=np.int64)


def unfitted() -> ThreeLevels:
    learner = ThreeLevels(CONTEXTS, ARMS, seed=1)
    learner.state.due[0] = NEVER
    learner.next_fit = NEVER
    return learner


def adopt(learner: ThreeLevels, member: Any, m0: float) -> None:
    """Let it believe in these groups: fits are no part of what is measured."""
    counts, M = learner.counts(), member.shape[1]
    pulls, totals = group_sums(counts, member, m0)
    prior_weight = np.full(ARMS, np.inf if M == 1 else 20.0)
    share = np.log(member.mean(axis=0))
    fit = Fit(
        counts.context, member, pulls, totals, share, 6.0, np.full(ARMS, 0.33), prior_weight, m0,
        6.0, 0.33, np.zeros((ARMS, 0)), counts.rewards, 0.0,
    )  # fmt: skip
    learner.adopt(fit)


def beliefs(label: Any) -> list[tuple[str, Any, float]]:
    """Return what is measured: words, posteriors over groups, m0."""
    one, rng = np.ones((CONTEXTS, 1)), np.random.default_rng(4)
    sure = np.where(np.arange(GROUPS) == label[:, None], 1.0 - 4e-6, 1e-6)
    split = rng.dirichlet(np.full(GROUPS, 0.3), size=CONTEXTS)
    tenth = np.where((rng.random(CONTEXTS) < 0.1)[:, None], split, sure)
    return [
        ("one group, contexts alike", one, math.inf),
        ("one group, m0 = 8", one, 8.0),
        ("5 groups, contexts alike", sure, math.inf),
        ("5 groups, m0 = 8", sure, 8.0),
        ("5 groups, m0 = 8, a tenth of the contexts undecided", tenth, 8.0),
        ("5 groups, m0 = 8, all contexts undecided", split, 8.0),
    ]


# --- Measures -----------------------------------------------------------------------------------


def asked(learner: ThreeLevels, floor: Callable[[], None]) -> tuple[float, float]:
    """Return seconds of a batch of all contexts, and its ratio to the floor."""
    contexts = np.arange(CONTEXTS)
    ask_many(learner, contexts)
    floor()
    times = [
        (seconds(lambda: ask_many(learner, contexts)), seconds(floor)) for _ in range(REPETITIONS)
    ]
    return statistics.median(a for a, _ in times), statistics.median(a / b for a, b in times)


def kinds(learner: ThreeLevels) -> int:
    """Return how many tables a batch of all contexts needs."""
    return len(np.unique(_kinds(learner, np.arange(CONTEXTS))[0]))


def told(
    rows: tuple[Any, ...], member: Any, m0: float, one_pass: Callable[[], None]
) -> tuple[float, float, float]:
    """Return rows a second of a second table of the same cells, and two ratios.

    The first is to the floor of a table, the second that of as many rows as there are contexts to
    one pass over the arms of each.
    """
    context, arm, reward, count = rows
    place = np.unique(context * ARMS + arm, return_inverse=True)[1]
    pulls, total = np.zeros((2, place.max() + 1))

    def floor() -> None:
        np.add.at(pulls, place, count)
        np.add.at(total, place, count * reward)

    learner = unfitted()
    tell_many(learner, *rows)
    adopt(learner, member, m0)
    learner.next_fit = learner.state.due[0] = NEVER
    times = []
    for _ in range(3):
        ours = seconds(lambda: tell_many(learner, *rows))
        times.append((ours, ours / seconds(floor), ours / seconds(one_pass) / PULLS))
    each, ratio, to_pass = (statistics.median(found) for found in zip(*times, strict=True))
    return len(context) / each, ratio, to_pass


def regrets(steps: float) -> list[float]:
    """Return the regret in each world if posteriors agree in so many steps."""
    kept, found = batches.STEPS, []
    batches.STEPS = (steps,)
    contexts, once = np.arange(PLAYED[0]), np.ones(PLAYED[0], dtype=np.int64)
    for seed in range(WORLDS):
        world = worlds.lumpable(*PLAYED, noise="bernoulli", seed=100 + seed)
        learner, rng = ThreeLevels(*PLAYED[:2], seed=seed), np.random.default_rng(seed)
        lost = 0.0
        for _ in range(ROUNDS):
            arms = ask_many(learner, contexts)
            mean = world.mean[contexts, arms]
            lost += float((world.mean.max(axis=1) - mean).sum())
            tell_many(learner, contexts, arms, (rng.random(len(mean)) < mean).astype(float), once)
        found.append(lost)
    batches.STEPS = kept
    return found


def coarser() -> list[str]:
    """Return a table of what coarser tables cost, world by world against the finest ones."""
    title = f"posteriors agree in steps of | regret of {ROUNDS} batches of {PLAYED[0]:,} contexts"
    lines = [f"| {title} | against the finest, {WORLDS} worlds |", "| --- | --- | --- |"]
    finest: list[float] = []
    for steps in batches.STEPS:
        found = regrets(steps)
        finest = finest or found
        ratio = [a / b for a, b in zip(found, finest, strict=True)]
        error = statistics.stdev(ratio) / math.sqrt(WORLDS)
        mean = f"{statistics.mean(ratio):.3f} ({error:.3f})"
        lines.append(f"| 1/{steps:.0f} | {statistics.mean(found):,.0f} | {mean} |")
        print(lines[-1])
    return lines


HEAD = """\
# Speed of batches

Made by `python benchmarks/batches.py` in one run on one core: {S:,} contexts, {K:,} arms, and
{pulls} rewards for each context, spread over {own} arms of its own. [How to use
batches](../how-to/production.md#thousands-at-once).

**Floors.** For a batch of decisions, one per context, the floor is a single pass over the arms of
each context: two prepared numbers are combined for each arm, several arms at a time, and the
largest result is kept. Here that takes {floor:.2f} us per context. For a table of rewards the floor
is `np.add.at` into cells whose places are known. Times are compared by turns, and each ratio is the
median.

**Tables.** Contexts with about the same posterior over groups share a table of indices, whose
largest entry is kept up to date. Undecided contexts need more tables, up to a few hundred. The more
tables are needed, the coarser "about the same" becomes, at no measurable cost in regret (see the
last table). With low-rank factors each context needs its own table, and a decision takes about as
long as `ask`.

"""


def main() -> None:
    label, *rows = table()
    floor = decisions_floor(label)
    floor()
    lines = ["| a decision for each context | us each | against the floor | bar | tables |"]
    lines.append("| --- | --- | --- | --- | --- |")
    learner = unfitted()
    tell_many(learner, *rows)
    for words, member, m0 in beliefs(label):
        adopt(learner, member, m0)
        time_, ratio = asked(learner, floor)
        each = time_ / CONTEXTS * 1e6
        lines.append(f"| {words} | {each:.2f} | {ratio:.2f} x | <= 5 x | {kinds(learner):,} |")
        print(lines[-1])
    title = "a million rows of rewards | rows a second | against the floor"
    lines += ["", f"| {title} | a row for each context, against one pass over its arms | bar |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for words, member, m0 in beliefs(label)[:4]:
        speed, ratio, to_pass = told(tuple(rows), member, m0, floor)
        lines.append(f"| {words} | {speed:,.0f} | {ratio:.1f} x | {to_pass:.1f} x | <= 5 x |")
        print(lines[-1])
    lines += ["", *coarser()]
    once = statistics.median(seconds(floor) for _ in range(REPETITIONS)) / CONTEXTS * 1e6
    head = HEAD.format(S=CONTEXTS, K=ARMS, pulls=PULLS, own=FAVOURITES, floor=once)
    PAGE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
