"""One plan played live on its contexts: the open request, its arms, and the answers so far.

A request to collect is played by a `Collector`; one to split by players side by side, one for each
bucket of contexts. The answers are all it takes to bring another player to the same state, or this
one after an interruption. Knows no algorithm and no files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.splitmix import request_key
from lumpable.live.collector import Collector
from lumpable.live.packed import Packed
from lumpable.plans.plan import Collect, Plan, Reply, Result, Split
from lumpable.plans.progress import Progress
from lumpable.plans.seen import Sample


class Player:
    """A plan under way.

    `arm[i]` is the arm that context i plays now. `tell` counts a round and says whether the arms of
    other contexts may have changed. A player begins to play when it is opened.
    """

    def __init__(self, plan: Plan, seed: int) -> None:
        self.progress = Progress(plan)
        self.seed = seed
        self.answers: list[Packed | list[Player]] = []
        """The answer to each finished request: a sample, or the plans side by side."""
        self.told = 0
        """Rounds of the open request, or since the plan ended; a collector counts its own."""
        self.idle = 0
        """Those of them that no plan side by side counts."""
        self.collector: Collector | None = None
        self.sides: list[Player] = []
        """The plans side by side, while a request to split is open."""
        self.arm: list[int] = []
        self._opened = -1  # after how many answers

    def tell(self, context: int, reward: float) -> bool:
        """Count the reward of the arm assigned to this context."""
        if self.collector is not None:
            if not self.collector.tell(context, reward):
                return False
        else:
            others = self._tell_side(context, reward)
            self.told += 1
            request = self.progress.request
            if not self.sides or request is None or self.told < request.rounds:
                return others
        self.advance()
        return True

    def choices(self, context: int) -> IntVector:
        """Return the arms of which the one assigned to a context was drawn, each as likely."""
        if self.collector is not None:
            return self.collector.choices(context)
        bucket = self._bucket[context] if self.sides else -1
        if bucket < 0:
            return np.array([self.arm[context]])
        return self.sides[bucket].choices(self._own[context])

    def mend(self) -> None:
        """Finish what was interrupted: what was counted stays, and all else follows from it."""
        if not self.arm:
            return  # it was closed
        for part in (self.collector, *self.sides):
            if part is not None:
                part.mend()
        if self.progress.torn or self.progress.answered < len(self.answers):
            self._rebuild()
        if self._opened < len(self.answers):
            self._close_request()
            self.open()
        if self.collector is not None:
            due = self.collector.ended
        else:
            self.told = self.idle + sum(side.rounds for side in self.sides)
            due = bool(self.sides) and self.told >= self._request_rounds
        if due:
            self.advance()
        else:
            self.gather()

    def _rebuild(self) -> None:
        """Give a new plan the answers: an interrupted one cannot go on."""
        progress, shape = Progress(self.progress.plan.again()), self.progress.plan.shape
        for answer in self.answers:
            if isinstance(answer, Packed):
                progress.answer(answer.sample(shape))
            else:
                progress.answer(_standings(answer))
        self.progress, self._opened = progress, -1

    def advance(self) -> None:
        """Answer the finished request and open the next."""
        self.answer(self.sides if self.collector is None else self.collector.sample())
        self.open()

    def _tell_side(self, context: int, reward: float) -> bool:
        """Send the reward to the context's plan; True: its other contexts may have new arms."""
        bucket = self._bucket[context] if self.sides else -1
        if bucket < 0:
            self.idle += 1
            return False
        side, own = self.sides[bucket], self._own[context]
        others = side.tell(own, reward)
        if others:
            self._gather(bucket)
        else:
            self.arm[context] = side.arm[own]
        return others

    def answer(self, reply: Sample | list[Player]) -> None:
        """Answer the open request; open the player again before it goes on."""
        answer: Reply
        if isinstance(reply, Sample):
            answer = reply
            self.answers.append(Packed.of(reply))
        else:
            answer = _standings(reply)
            for side in reply:
                side.close()
            self.answers.append(reply)
        self.progress.answer(answer)
        self._close_request()

    def _close_request(self) -> None:
        self.collector, self.sides, self.told, self.idle = None, [], 0, 0

    def open(self) -> None:
        """Begin to play the open request, or serve the policy if there is none."""
        request = self.progress.request
        policy = self.progress.so_far.policy
        self.arm = policy.tolist()
        if isinstance(request, Collect):
            key = request_key(self.seed, self.progress.answered)
            self.collector = Collector(request, key, policy)
            self.arm = self.collector.arm
        elif isinstance(request, Split):
            self._open_sides(request)
        self._opened = len(self.answers)

    def close(self) -> None:
        """Stop playing, and keep only what it takes to replay it."""
        if self.collector is not None:
            self.told = self.idle = self.collector.rounds
        self.arm = []
        self.collector = None
        for side in self.sides:
            side.close()

    def beside(self) -> list[Player]:
        """Return new players for the plans of the open request, not yet opened."""
        request = self.progress.request
        if not isinstance(request, Split):
            return []
        key = request_key(self.seed, self.progress.answered)
        plans = [plan.again() if plan.begun else plan for plan in request.plans]
        return [Player(plan, request_key(key, b)) for b, plan in enumerate(plans)]

    def _open_sides(self, request: Split) -> None:
        self.sides = self.sides or self.beside()  # a saved session brings its own
        self._bucket: list[int] = request.bucket.tolist()
        self._members = [request.contexts(b).tolist() for b in range(len(self.sides))]
        self._own = [0] * len(self._bucket)
        for side, members in zip(self.sides, self._members, strict=True):
            side.open()
            for own, i in enumerate(members):
                self._own[i] = own
        self.gather()

    def gather(self) -> None:
        """Copy the arms of the plans side by side."""
        for b in range(len(self.sides)):
            self._gather(b)

    def _gather(self, bucket: int) -> None:
        for i, arm in zip(self._members[bucket], self.sides[bucket].arm, strict=True):
            self.arm[i] = arm

    @property
    def _request_rounds(self) -> float:
        request = self.progress.request
        return math.inf if request is None else request.rounds

    @property
    def rounds(self) -> int:
        """Rounds so far, including those after the plan's end."""
        return self.progress.rounds + self.open_rounds

    @property
    def open_rounds(self) -> int:
        """Rounds of the open request, or since the plan ended."""
        return self.told if self.collector is None else self.collector.rounds

    @property
    def policy(self) -> IntVector:
        """The best policy so far; where plans have begun to run side by side, theirs."""
        policy = self.progress.so_far.policy
        request = self.progress.request
        if isinstance(request, Split) and self.told:
            policy = policy.copy()
            for b, side in enumerate(self.sides):
                policy[request.contexts(b)] = side.policy
        return policy

    @property
    def standing(self) -> Result:
        """The result or, before the end, what the plan would answer now."""
        so_far = self.progress.so_far
        return so_far if self.progress.result else Result(self.policy, notes=so_far.notes)

    def wrong(self, rounds: int, sides: list[Player]) -> str:
        """Say why plans side by side cannot have taken `rounds` rounds; empty if they can."""
        request = self.progress.request
        if not isinstance(request, Split):
            return ""
        spent = sum(side.rounds for side in sides)
        if not spent <= rounds <= request.rounds:
            return f"expected rounds from {spent} to {request.rounds}, got {rounds}"
        alone = bool(np.all(request.bucket >= 0))
        return f"expected {spent} rounds, got {rounds}" if alone and spent != rounds else ""


def _standings(sides: Iterable[Player]) -> tuple[Result, ...]:
    return tuple(side.standing for side in sides)
