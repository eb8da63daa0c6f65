"""Play a learner in a scene, round by round, and measure it at log-spaced rounds.

Contexts and noise come from the scene's tape, so that all learners get the same. Compiled learners
are played by their own loop, others by a plain one; knows no algorithm.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.protocols import Learner
from lumpable.base.words import counted
from lumpable.runs.measures import Checkpoint, Misbehaved, measure
from lumpable.worlds.scene import BLOCK, CHUNK, Scene, Tape
from lumpable.worlds.world import World

PER_DECADE = 5
"""Checkpoints in a decade of rounds."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A learner after it was played in a scene, and what was measured."""

    learner: Learner
    scene: Scene
    seed: int
    rounds: int
    regret: float
    checkpoints: list[Checkpoint]

    def rows(self) -> list[Checkpoint]:
        """Return what was measured at each checkpoint and at the end, ready for any frame."""
        return list(self.checkpoints)


def checkpoints(horizon: int, first: int = 10) -> list[int]:
    """Return the rounds to measure at: five in each decade, and the last.

    >>> checkpoints(200)
    [10, 16, 25, 40, 63, 100, 158, 200]
    """
    marks, k = {horizon}, 0
    while (mark := round(first * 10 ** (k / PER_DECADE))) < horizon:
        marks.add(mark)
        k += 1
    return sorted(marks)


def play(
    learner: Learner,
    world: World | Scene,
    *,
    horizon: float,
    seed: int,
    at: Iterable[int] | None = None,
) -> Played:
    """Play `horizon` rounds: a context comes, the learner picks an arm and gets the reward.

    Parameters
    ----------
    at
        Rounds to measure at; five in each decade unless given, and always the last.

    >>> from lumpable import worlds
    >>> from lumpable.learners import UCB1
    >>> world = worlds.from_matrix([[0.2, 0.8], [0.1, 0.4]], noise="bernoulli")
    >>> played = play(UCB1(2, 2, seed=1), world, horizon=1000, seed=2)
    >>> played.regret < 0.2 * played.rounds
    True
    """
    T = checks.count("horizon", horizon, 1)
    scene = world if isinstance(world, Scene) else Scene(world)
    marks = (
        checkpoints(T) if at is None else sorted({checks.whole("at", x, 1, T) for x in at} | {T})
    )
    check_fit(learner, scene.world)
    rounds = _Rounds(learner, Tape(scene, T, checks.whole("seed", seed, 0)))
    measured = []
    for mark in marks:
        rounds.until(mark)
        measured.append(rounds.measure())
    return Played(learner, scene, seed, T, rounds.regret, measured)


def check_fit(learner: Learner, world: World) -> None:
    """Refuse a learner of another size than the world's, or one that its rewards do not suit.

    Compiled code does not look where it writes, so this comes before any of it runs.
    """
    name = type(learner).__name__
    for size, expected in (("contexts", world.contexts), ("arms", world.arms)):
        own = getattr(learner, size, expected)
        if isinstance(own, int | np.integer) and own != expected:
            got = f"{name} for {own}"
            raise BadArgument("learner", f"one for {counted(expected, size[:-1])}", got)
    _check_names(learner, world.arms)
    low, high = world.law.support
    if getattr(learner, "unit_rewards", False) and (low < 0 or high > 1):
        why = f"{name} needs rewards in [0, 1], got {world.law.name} noise"
        raise BadArgument("learner", why=why)


def _check_names(learner: Learner, arms: int) -> None:
    """Refuse a learner with names whose arms are not the numbers of the world's arms.

    It would never play the arms that it does not know, or end in mid-run with one too many.
    """
    own = getattr(learner, "arms", None)
    if not isinstance(own, tuple) or (len(own) == arms and set(own) == set(range(arms))):
        return
    got = f"{type(learner).__name__} for {len(own)}"
    if len(own) == arms:
        other = next(repr(name) for name in own if name not in range(arms))
        got += f" of other names, such as {other}; a world's are 0 to {arms - 1}"
    raise BadArgument("learner", f"one for {counted(arms, 'arm')}", got)


@dataclass(slots=True)
class _Rounds:
    """Rounds that are being played."""

    learner: Any
    tape: Tape
    done: int = 0
    seconds: float = 0.0
    totals: FloatVector = field(default_factory=lambda: np.array([0.0, 0.0, np.nan]))
    _chunk: int = -1
    _block: tuple[int, int] = (-1, -1)
    _start: int = 0
    _came: IntVector = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _contexts: IntVector = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _noise: FloatVector = field(default_factory=lambda: np.zeros(0))
    _rewards: FloatMatrix = field(default_factory=lambda: np.zeros((0, 1)))
    _late: FloatMatrix = field(init=False)
    _slot: IntVector = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    _loop: Callable[..., int] = field(init=False)

    def __post_init__(self) -> None:
        self._late = np.full((self.tape.scene.delay, 3), -1.0)
        self._loop = getattr(self.learner, "loop", None) or _plain(self.learner)
        self._loop_once(0, 0)  # compiles, which is not the learner's time

    @property
    def regret(self) -> float:
        return float(self.totals[0])

    def until(self, mark: int) -> None:
        """Play on until `mark` rounds are done."""
        while self.done < mark:
            self._fetch()
            _, change = self.tape.scene.at(self.done)
            end = self._start + len(self._contexts)
            stop = min(mark, end, mark if change is None else change)
            first, last = self.done - self._start, stop - self._start
            started = time.perf_counter()
            reached = self._loop_once(first, last)
            if not np.isnan(self.totals[2]):
                context, arm = int(self._contexts[reached]), int(self.totals[2])
                raise _no_arm(self.learner, context, self.done + reached - first, arm)
            due = getattr(getattr(self.learner, "state", None), "due", None)
            if due is not None and self.learner.tells >= due[0]:  # only compiled learners refit
                self.learner.refit()
            self.seconds += time.perf_counter() - started
            self.done += reached - first

    def _fetch(self) -> None:
        """Have the contexts and the luck of the next round at hand: a chunk, or a block of it."""
        number, scene = self.done // CHUNK, self.tape.scene
        if number != self._chunk:
            self._came, self._noise = self.tape.chunk(number)
            self._chunk, self._contexts, self._start = number, self._came, number * CHUNK
        if scene.world.plain:
            return
        block = (self.done // BLOCK, scene.changes(self.done))
        if block != self._block:
            self._start = block[0] * BLOCK
            within = self._start - number * CHUNK
            self._contexts = self._came[within : within + BLOCK]
            self._rewards = self.tape.rewards(self._contexts, *block)
            self._block = block

    def _loop_once(self, first: int, last: int) -> int:
        world, _ = self.tape.scene.at(self.done)
        return self._loop(
            getattr(self.learner, "_address", 0),
            self._contexts,
            self._noise,
            self._rewards,
            first,
            last,
            world.mean,
            world.best,
            -1.0 if world.noise == "bernoulli" else world.sd,
            self._late,
            self._slot,
            self.totals,
        )

    def measure(self) -> Checkpoint:
        """Measure everything now."""
        world, _ = self.tape.scene.at(self.done - 1)
        return measure(
            self.learner,
            world,
            round=self.done,
            regret=self.regret,
            reward=float(self.totals[1]),
            seconds=self.seconds,
        )


def _plain(learner: Learner) -> Callable[..., int]:
    """Return the loop of compiled learners for one in plain Python."""
    played = 0

    def loop(
        block: int, contexts: IntVector, noise: FloatVector, rewards: FloatMatrix, first: int,
        last: int, mean: FloatMatrix, best: FloatVector, sd: float, late: FloatMatrix,
        slot: IntVector, totals: FloatVector,
    ) -> int:  # fmt: skip
        nonlocal played
        K, delay = mean.shape[1], len(late)
        for t in range(first, last):
            context = int(contexts[t])
            answer = learner.ask(context)
            try:
                arm = operator.index(answer)
            except TypeError:
                raise _no_arm(learner, context, played, answer) from None
            if not 0 <= arm < K:
                raise _no_arm(learner, context, played, answer)
            value = float(mean[context, arm])
            if len(rewards):
                reward = float(rewards[t, arm])
            else:
                reward = float(noise[t] < value) if sd < 0 else value + sd * float(noise[t])
            totals[0] += best[context] - value
            totals[1] += reward
            played += 1
            if delay:
                before = late[slot[0]].tolist()
                late[slot[0]] = (context, arm, reward)
                slot[0] = (slot[0] + 1) % delay
                if before[0] < 0:
                    continue
                context, arm, reward = int(before[0]), int(before[1]), before[2]
            learner.tell(context, arm, reward)
        return last

    return loop


def _no_arm(learner: Learner, context: int, round_: int, answer: object) -> Misbehaved:
    name = type(learner).__name__
    return Misbehaved(
        f"{name}: ask({context}) returned {answer!r}, not an arm, in round {round_ + 1}"
    )
