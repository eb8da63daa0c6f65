"""How often promises fail, over many noisy runs: printed, and kept in docs/guarantees.md.

Run `python benchmarks/guarantees.py`; it takes about two minutes on an idle core. What counts as a
failure is defined once, in tests/witness.py, and the closed forms are those of the tests.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import lumpable as lb
from lumpable import bounds, pac, standard, worlds
from lumpable.base.checks import FloatVector

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from growth import table

import test_guarantee as tests
import witness
from witness import Count, Part, Setting, Watched

PAGE = Path(__file__).parents[1] / "docs" / "guarantees.md"
DELTA = 0.05
RUNS = 100
RATE_RUNS = 2000

TEXT = """\
# How often the promises fail

Made by `python benchmarks/guarantees.py`, with the printed constants unless it says otherwise and
delta = {DELTA}. What counts as a failure is what the tests count (`tests/witness.py`).

## Algorithms 1 and 3

Counted are the executions of Algorithm 1 (in Algorithm 3 one in each bucket that was kept) in which

- (a) a group with omega(b) >= epsilon/r lacks coverage: some arm has no finished play on any of
  its contexts at its level ceil(log2(1/epsilon_b^2)). Lemma pac-2 promises at most
  2 delta = {two:.0%};
- (b) the candidates have no arm within 8 sqrt(log(rSK/delta)) epsilon_b of the best for such a
  group (printed: 10). Lemma pac-4 promises at most 4 delta = {four:.0%}. Where no arm is that bad
  it cannot fail, and the cell is empty: at usual epsilon the distance is above 1;
- (c) a level takes more than r screenings, as one must when |W| > N r. Lemma pac-3 promises at most
  4 delta = {four:.0%};

and the runs in which the loss is above epsilon itself, which nobody promises. What is proved stands
in the last column: the loss that all steps together allow with probability at least 1 - 6 delta (in
each bucket), in units of epsilon. It is empty where that is above 1 and says nothing. Left out are
buckets that the estimate put together so that Algorithm 1's assumption does not hold in them.

{promises}

(a) to (c) are kept with much to spare: the union bounds behind them are generous, and Step 1 plays
far more than coverage needs (the next table: a fiftieth of it often suffices at small sizes).

The loss is another matter. At usual epsilon the screening threshold is above 1, or not far below:
everybody leaves at once, each level adds one candidate, and groups whose best arm is not among
these few lose more than epsilon without any promise being broken. From an epsilon of about 0.02
down screening tells groups apart, and Algorithm 1 seldom loses more than epsilon. Algorithm 3 gets
there later, since in a bucket of frequency u it works at 2 epsilon / sqrt(u). In a hard instance
with a gap of 4 epsilon the gap is below what screening can see at every epsilon; there only chance
adds candidates, one at each level, and a smaller epsilon helps because it has more levels.

## Constants scaled down

A failure that never happens tests nothing. With constants scaled down failures happen at a rate
that can be worked out exactly from the printed lengths, and the tests hold the package to that rate
on both sides. The last column is what a build that collects a quarter of those samples shows.

{rates}

## Each context on its own

Elimination per context certifies its policy: the loss is at most epsilon with probability at least
1 - delta. The naive method promises 2 sqrt(2) epsilon + 4 epsilon^2 with probability at least
1 - 2 delta, for any frequencies.

{alone}
"""


# --- Settings -------------------------------------------------------------------------------


def random_worlds() -> Iterator[Setting]:
    """Means uniform on [0, 1], at a size and epsilons that people use."""
    for epsilon in (0.2, 0.05, 0.01, 0.002):
        yield Setting(
            "uniform",
            pac.near_uniform,
            lambda seed: worlds.lumpable(60, 40, 3, seed=seed),
            groups=3,
            epsilon=epsilon,
        )
    for epsilon in (0.2, 0.01):
        yield Setting(
            "most uneven, Bernoulli",
            pac.near_uniform,
            lambda seed: worlds.lumpable(
                63, 40, 3, frequency=witness.most_uneven(63), noise="bernoulli", seed=seed
            ),
            groups=3,
            epsilon=epsilon,
        )
    yield Setting(
        "one giant group",
        pac.near_uniform,
        lambda seed: worlds.lumpable(60, 40, 6, sizes="giant", seed=seed),
        groups=6,
        epsilon=0.01,
    )
    for epsilon in (0.2, 0.05, 0.01, 0.002):
        yield Setting(
            "Zipf",
            pac.any_contexts,
            lambda seed: worlds.lumpable(60, 40, 3, frequency="zipf", seed=seed),
            groups=3,
            epsilon=epsilon,
        )
    yield Setting(
        "halving, 4 never come, Bernoulli",
        pac.any_contexts,
        lambda seed: worlds.lumpable(
            16, 10, 3, frequency=witness.halving(16, 4), noise="bernoulli", seed=seed
        ),
        groups=3,
        epsilon=0.005,
    )


def tight_worlds() -> Iterator[Setting]:
    """Every arm but one a group is just not near-optimal, so (b) has every chance to fail."""
    for name, frequency in (
        ("tight", witness.uniform(12)),
        ("tight, most uneven", witness.most_uneven(18)),
    ):
        yield Setting(
            name,
            pac.near_uniform,
            functools.partial(_tight, frequency),
            groups=3,
            epsilon=0.005,
        )


def _tight(frequency: FloatVector, _: int) -> lb.World:
    return witness.tight(6, 3, 0.005, DELTA, frequency, "gaussian")


def hard_instances() -> Iterator[Setting]:
    """The three of the lower bound, at their gap of 4 epsilon and at one of 1/2."""
    for case, method, arms, groups in (
        (1, pac.near_uniform, 6, 6),
        (2, pac.near_uniform, 12, 3),
        (3, pac.near_uniform, 12, 3),
        (3, pac.any_contexts, 12, 3),
    ):
        for epsilon, gap in ((0.1, None), (0.01, None), (0.005, 0.5)):
            size = f"gap {'4 epsilon' if gap is None else gap}"
            yield Setting(
                f"hard instance {case}, {size}",
                method,
                functools.partial(_hard, case, arms, groups, epsilon, gap),
                groups=groups,
                epsilon=epsilon,
            )


def _hard(
    case: int, arms: int, groups: int, epsilon: float, gap: float | None, seed: int
) -> lb.World:
    return worlds.hard(case, 24, arms, groups, epsilon=epsilon, gap=gap, seed=seed)


# --- Rows -----------------------------------------------------------------------------------


def shown(count: Count) -> str:
    return f"{count.failures} of {count.trials}" if count.trials else ""


def proved(watched: Watched, parts: list[Part]) -> float:
    """Return what the steps allow: each kept bucket by its weight, and all of what was given up."""
    nu = watched.run.world.frequency
    if watched.run.plan.endswith("near_uniform"):
        weights = [1.0]
    else:
        result = watched.run.result
        kept = [] if result is None else [b for b in result.buckets if b.result is not None]
        weights = [float(nu[bucket.contexts].sum()) for bucket in kept]
    loss = 1 - sum(weights)
    for weight, part in zip(weights, parts, strict=True):
        promise = bounds.near_uniform_promise(part.problem, part.epsilon, part.delta)
        loss += weight * min(1.0, promise)
    return loss


def promise_row(setting: Setting, runs: int) -> list[str]:
    """Run a setting with every seed and count."""
    watched = [setting.watch(seed) for seed in range(runs)]
    parts = [witness.parts(run) for run in watched]
    executions = [part for found in parts for part in found]
    counts = {
        claim.fails: witness.count(claim, executions, setting.delta) for claim in witness.CLAIMS
    }
    world = watched[0].run.world
    losses = np.array([run.loss for run in watched]) / setting.epsilon
    allowed = np.mean(list(map(proved, watched, parts)))
    return [
        "1" if setting.method is pac.near_uniform else "3",
        setting.name,
        f"{world.contexts}, {world.arms}, {setting.groups}",
        f"{setting.epsilon:g}",
        f"{sum(not witness.as_assumed(part) for part in executions)}",
        shown(counts[Part.uncovered]),
        shown(counts[Part.lacks_good_arm]),
        shown(counts[Part.too_many_screenings]),
        f"{np.sum(losses > 1)} of {runs}",
        f"{losses.mean():.2f}",
        f"{losses.max():.2f}",
        f"{allowed / setting.epsilon:.0f}" if allowed < 0.995 else "",
    ]


PROMISES = (
    "Algorithm",
    "setting",
    "S, K, r",
    "epsilon",
    "left out",
    "(a)",
    "(b)",
    "(c)",
    "loss > epsilon",
    "mean loss / epsilon",
    "max",
    "proved / epsilon",
)


def rate_row(rate: tests.Rate, runs: int) -> list[str]:
    """Compare a closed form with runs, and with runs that collect a quarter."""
    wrong, trials = rate.seen(rate.constants(), runs)
    quarters = []
    for name in rate.quarters:
        poor, of = rate.seen(rate.quartered(name), runs // 4)
        quarters.append(f"{name}: {poor / of:.3f}")
    scaled = ", ".join(f"{name} x {factor:g}" for name, factor in rate.scale.items())
    return [
        rate.name,
        scaled or "as printed",
        f"{rate.expected():.3f}",
        f"{wrong / trials:.3f}",
        f"{np.sqrt(rate.expected() * (1 - rate.expected()) / trials):.3f}",
        ", ".join(quarters),
    ]


RATES = ("what goes wrong", "constants", "closed form", "seen", "standard error", "with a quarter")


def alone_row(alone: tests.Alone, runs: int) -> list[str]:
    """Count what elimination and the naive method lose."""
    eliminated = np.array(alone.losses(standard.elimination, runs)) / alone.epsilon
    naive = np.array(alone.losses(standard.naive, runs)) / alone.epsilon
    promise = tests.naive_promise(alone.epsilon) / alone.epsilon
    return [
        alone.name,
        f"{alone.epsilon:g}",
        f"{np.sum(eliminated > 1)} of {len(eliminated)}",
        f"{eliminated.max():.3f}",
        f"{np.sum(naive > promise)} of {len(naive)}",
        f"{naive.max():.3f}",
        f"{promise:.2f}",
    ]


ALONE = (
    "setting",
    "epsilon",
    "elimination: loss > epsilon",
    "max loss / epsilon",
    "naive: above promise",
    "max loss / epsilon",
    "promise / epsilon",
)


def collected(columns: tuple[str, ...], rows: Iterable[list[str]]) -> str:
    """Print rows as they come and return the table."""
    print("\n" + "  ".join(columns))
    kept = []
    for row in rows:
        print("  ".join(cell or "-" for cell in row), flush=True)
        kept.append(row)
    return table(columns, kept)


def main() -> None:
    settings = [*random_worlds(), *tight_worlds(), *hard_instances()]
    page = TEXT.format(
        DELTA=DELTA,
        two=2 * DELTA,
        four=4 * DELTA,
        promises=collected(PROMISES, (promise_row(setting, RUNS) for setting in settings)),
        rates=collected(RATES, (rate_row(rate, RATE_RUNS) for rate in tests.RATES)),
        alone=collected(ALONE, (alone_row(alone, RUNS) for alone in tests.ALONE)),
    )
    PAGE.write_text(page, encoding="utf-8")
    print(f"\nwritten to {PAGE}")


if __name__ == "__main__":
    main()
