"""Plans answered by hand: what is asked is looked at, what comes is written down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lumpable.plans.plan import Belief, Collect, Plan, Result, Split
from lumpable.plans.progress import Progress
from lumpable.plans.seen import Sample


class Script:
    """A plan under way, told samples by hand."""

    def __init__(self, plan: Plan) -> None:
        self.progress = Progress(plan)

    @property
    def asks(self) -> Collect:
        """The open request, for data."""
        assert isinstance(self.progress.request, Collect)
        return self.progress.request

    @property
    def splits(self) -> Split:
        """The open request, for plans side by side."""
        assert isinstance(self.progress.request, Split)
        return self.progress.request

    @property
    def over(self) -> bool:
        return self.progress.request is None

    @property
    def result(self) -> Result:
        assert self.progress.result is not None
        return self.progress.result

    @property
    def belief(self) -> Belief:
        assert self.progress.request is not None
        assert self.progress.request.belief is not None
        return self.progress.request.belief

    @property
    def arms(self) -> list[list[int]]:
        """The exploration sets of the open request, context by context."""
        return [np.flatnonzero(row).tolist() for row in self.asks.arms]

    def tell(self, mean: dict[tuple[int, int], float], plays: int = 1) -> None:
        """Answer: the pairs named were seen, all others were not."""
        self.progress.answer(answer(self.asks, mean, plays))

    def tell_all(self, mean: Any, plays: Any = 1) -> None:
        """Answer with a row for each context; what was not asked for is left out, and NaN."""
        value = np.broadcast_to(np.asarray(mean, dtype=float), self.asks.shape)
        seen = self.asks.arms & ~np.isnan(value)
        counts = np.where(seen, np.broadcast_to(plays, self.asks.shape), 0)
        self.progress.answer(Sample(counts, np.where(counts > 0, value, np.nan)))

    def tell_column(self, arm: int, values: Sequence[float]) -> None:
        """Answer with the means of one arm by context; NaN: not seen."""
        self.tell(column(arm, values))

    def told(self, *policies: Sequence[int]) -> None:
        """Answer a split with the policies of its plans."""
        results = tuple(Result(np.array(policy)) for policy in policies)
        assert self.splits
        self.progress.answer(results)


def answer(request: Collect, mean: dict[tuple[int, int], float], plays: int = 1) -> Sample:
    """Write a sample by hand: the pairs named were seen, all others were not."""
    seen = np.zeros(request.arms.shape, dtype=np.int64)
    value = np.full(request.arms.shape, np.nan)
    for pair, number in mean.items():
        seen[pair], value[pair] = plays, number
    return Sample(seen, value)


def column(arm: int, values: Sequence[float]) -> dict[tuple[int, int], float]:
    """Means of one arm by context; NaN: not seen."""
    return {(i, arm): value for i, value in enumerate(values) if not math.isnan(value)}
