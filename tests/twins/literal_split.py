"""Whole plans played literally, round by round: the oracle for requests, splits and horizons.

One context comes, whoever it belongs to plays one arm and sees one reward: nothing in bulk, nothing
ahead of its time. Slow and plain on purpose; shares nothing with the executors but the values that
a plan says and hears. Readings are those of paper.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.splitmix import context_keys, draw, request_key
from lumpable.plans.plan import Belief, Collect, Plan, Reply, Request, Result
from lumpable.plans.seen import Sample
from lumpable.worlds.world import World
from twins import literal
from twins.literal import Draw

Path = tuple[int, ...]
"""Where a request stands: its number or, inside a split, (its number, the plan's, its own)."""
Draws = Callable[[Path, int], Draw]
"""(path of a request, its number of contexts) -> which arms are drawn in it."""


class Call:
    """Algorithm 2, one round at a time. Contexts that are asked nothing play `policy`."""

    def __init__(self, request: Collect, uniform: Draw, policy: list[int]) -> None:
        S, K = request.arms.shape
        self.repeats = request.repeats  # line 1; 2^n
        self.uniform = uniform
        self.sets = [np.flatnonzero(row).tolist() for row in request.arms]
        self.plays = [[0] * K for _ in range(S)]  # line 2; D_n is where plays > 0
        self.mean = [[np.nan] * K for _ in range(S)]
        self.visits = [0] * S  # the sum of line 8, from the start of the call (reading 7)
        self.total = [[0.0] * K for _ in range(S)]  # the sums of line 9, likewise
        self.times = [[0] * K for _ in range(S)]
        self.psi = list(policy)
        for i in range(S):  # line 3
            self.draw_arm(i, 0)  # line 4

    def draw_arm(self, i: int, play: int) -> None:
        if self.sets[i]:
            self.psi[i] = self.sets[i][self.uniform(i, play, len(self.sets[i]))]

    def tell(self, i: int, reward: float) -> None:
        j = self.psi[i]
        self.total[i][j] += reward
        self.times[i][j] += 1
        self.visits[i] += 1
        if self.sets[i] and self.visits[i] % self.repeats == 0:  # line 8
            self.plays[i][j] += 1  # line 9
            self.mean[i][j] = self.total[i][j] / self.times[i][j]
            self.draw_arm(i, self.visits[i] // self.repeats)  # line 10

    def sample(self) -> Sample:
        return Sample(np.array(self.plays), np.array(self.mean))  # line 11


class Loop:
    """A plan under way: `arm` says what a context plays, `tell` counts the round."""

    def __init__(self, plan: Plan, draws: Draws, path: Path = ()) -> None:
        self.plan, self.draws, self.path = plan, draws, path
        self.rounds = 0
        """On its own clock, those after its end too."""
        self.regret = 0.0
        self.heard: list[Sample | list[Loop]] = []
        """What answered each finished request: a sample, or the plans side by side."""
        self.result: Result | None = None
        self.belief: Belief | None = None
        self.served = [0] * plan.shape[0]
        """What contexts play that are asked nothing."""
        self.open(next(plan))

    def open(self, request: Request) -> None:
        self.request: Request | None = request
        self.played = 0  # rounds of this request
        self.call: Call | None = None
        self.sides: list[Loop] = []
        here = (*self.path, len(self.heard))
        if request.belief is not None:
            self.belief = request.belief
            self.served = request.belief.policy.tolist()
        if isinstance(request, Collect):
            self.call = Call(request, self.draws(here, request.shape[0]), self.served)
            return
        self.sides = [Loop(plan, self.draws, (*here, b)) for b, plan in enumerate(request.plans)]
        members: list[list[int]] = [[] for _ in request.plans]
        self.home: list[tuple[int, int]] = []
        for i, b in enumerate(request.bucket.tolist()):
            self.home.append((b, len(members[b]) if b >= 0 else -1))
            if b >= 0:
                members[b].append(i)

    def arm(self, i: int) -> int:
        if self.call is not None:
            return self.call.psi[i]
        if self.sides and self.home[i][0] >= 0:
            side, own = self.home[i]
            return self.sides[side].arm(own)
        return self.served[i]

    def tell(self, i: int, reward: float, lost: float = 0.0) -> None:
        """Count a round of the arm that was assigned; `lost` is its regret."""
        self.rounds += 1
        self.regret += lost
        if self.request is None:
            return
        self.played += 1
        if self.call is not None:
            self.call.tell(i, reward)
        elif self.home[i][0] >= 0:
            side, own = self.home[i]
            self.sides[side].tell(own, reward, lost)
        if self.played == self.request.rounds:
            self.answer()

    def answer(self) -> None:
        reply: Reply
        if self.call is not None:
            reply = self.call.sample()
            self.heard.append(reply)
        else:
            reply = tuple(side.standing for side in self.sides)
            self.heard.append(self.sides)
        try:
            self.open(self.plan.send(reply))
        except StopIteration as end:
            self.request, self.call, self.sides = None, None, []
            self.result = end.value
            self.served = end.value.policy.tolist()

    @property
    def policy(self) -> IntVector:
        """What it would answer now; a split that has begun answers with its plans'."""
        policy = list(self.served)
        if self.sides and self.played > 0:
            for i, (side, own) in enumerate(self.home):
                if side >= 0:
                    policy[i] = int(self.sides[side].policy[own])
        return np.array(policy)

    @property
    def standing(self) -> Result:
        if self.result is not None:
            return self.result
        return Result(self.policy, notes=self.belief.notes if self.belief else ())

    @property
    def samples(self) -> Iterator[Sample]:
        """Every sample of a finished request, those of plans side by side in their place."""
        for heard in [*self.heard, self.sides]:
            if isinstance(heard, Sample):
                yield heard
            else:
                for side in heard:
                    yield from side.samples


def drawn(rng: np.random.Generator) -> Draws:
    """Draw arms from a numpy Generator, for comparison in law."""
    return lambda _path, _contexts: literal.from_generator(rng)


def counted(seed: int) -> Draws:
    """Draw the arms that a live session with this seed draws: its key is folded along the path."""

    def at(path: Path, contexts: int) -> Draw:
        key = seed
        for number in path:
            key = request_key(key, number)
        keys = context_keys(key, contexts)
        return lambda context, play, size: draw(keys[context], play, size)

    return at


CHUNK = 256


def in_world(
    plan: Plan, world: World, rng: np.random.Generator, horizon: int | None = None
) -> Loop:
    """Play a plan to its end or to the horizon, everything random from one generator."""
    loop = Loop(plan, drawn(rng))
    gap = (world.best[:, np.newaxis] - world.mean).tolist()
    while loop.result is None and loop.rounds != horizon:
        contexts = rng.choice(world.contexts, size=CHUNK, p=world.frequency).tolist()
        reward = literal.rewards(world, iter(literal.noise(world, rng, CHUNK)))
        for i in contexts:
            j = loop.arm(i)
            loop.tell(i, reward(i, j), gap[i][j])
            if loop.result is not None or loop.rounds == horizon:
                break
    return loop
