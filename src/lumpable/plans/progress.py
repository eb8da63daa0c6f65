"""Driving a plan: its open request, its answers, its result. Executors go through here.

An answer that does not fit its request is an error, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.plans.plan import Belief, Plan, Reply, Request, Result, Split
from lumpable.plans.seen import Sample, place


class Progress:
    """A plan under way: its open request or, once it has ended, its result.

    The one place that drives a plan. `request` is None exactly when `result` is not.
    """

    def __init__(self, plan: Plan) -> None:
        if plan.begun:
            raise BadArgument("plan", "a fresh one", f"one that was run: make {plan!r} again")
        self.plan = plan
        self.answered = 0
        self.rounds = 0
        """Rounds of the requests answered so far."""
        self.request: Request | None = next(plan)
        self.result: Result | None = None
        self._belief: Belief | None = self.request.belief
        self.torn = False
        """Whether an answer was interrupted: the plan cannot go on, only a new one can."""

    def answer(self, reply: Reply) -> None:
        """Answer the open request; an answer that does not fit changes nothing."""
        if self.request is None:
            raise BadArgument("sample", why=f"the plan ended after {self.answered} requests")
        wrong = _misfit(self.request, reply)
        if wrong:
            raise BadArgument("sample", why=f"request {self.answered} {wrong}")
        self.torn = True
        self.rounds += self.request.rounds
        self.answered += 1
        try:
            self.request = self.plan.send(reply)
            self._belief = self.request.belief or self._belief
        except StopIteration as end:
            self.request, self.result = None, end.value
        self.torn = False

    @property
    def so_far(self) -> Result:
        """The result or, before the end, what the plan would answer if it were stopped now."""
        if self.result is not None:
            return self.result
        if self._belief is None:
            return Result(np.zeros(self.plan.shape[0], dtype=np.int64))
        return Result(self._belief.policy, self._belief.candidates, notes=self._belief.notes)


def replay(plan: Plan, replies: Iterable[Reply]) -> Progress:
    """Give a fresh plan these answers; one that does not fit is an error."""
    progress = Progress(plan)
    for reply in replies:
        progress.answer(reply)
    return progress


def _misfit(request: Request, reply: Reply) -> str:
    """Say why this does not answer the request; empty if it does."""
    if isinstance(request, Split):
        if isinstance(reply, Sample):
            return f"splits into {len(request.plans)} plans, got a sample, expected their results"
        if len(reply) != len(request.plans):
            return f"splits into {len(request.plans)} plans, got {len(reply)} results"
        for number, (plan, result) in enumerate(zip(request.plans, reply, strict=True)):
            policy, (contexts, arms) = result.policy, plan.shape
            if policy.shape != (contexts,) or policy.min() < 0 or policy.max() >= arms:
                return f"expects an arm below {arms} for {contexts} contexts of plan {number}"
        return ""
    if not isinstance(reply, Sample):
        return "asks for a sample, got results"
    if reply.shape != request.shape:
        return f"asks for shape {request.shape}, got {reply.shape}"
    pairs = reply.seen.pairs
    stray = pairs[~request.arms.reshape(-1)[pairs]]
    return f"does not ask for the pair {place(stray[0], request.shape)}" if stray.size else ""
