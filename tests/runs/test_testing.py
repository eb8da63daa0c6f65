"""The contract kit catches learners that break its laws, each in words that name the law."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lumpable.learners import UCB1
from lumpable.learners.engine.blocks import Block
from lumpable.testing import check_learner


class Sound:
    """Any arm, a pure function of seed and tells; those below break one law of it each."""

    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        self.contexts, self.arms, self.seed, self.tells = contexts, arms, seed, 0
        self.log: list[tuple[int, int, float]] = []

    def check(self, name: str, value: int, number: int) -> None:
        if not 0 <= value < number:
            raise ValueError(f"{name}: expected a number below {number}, got {value!r}")

    def check_reward(self, reward: float) -> None:
        if not math.isfinite(reward):
            raise ValueError(f"reward: expected a finite number, got {reward!r}")

    def ask(self, context: int) -> int:
        self.check("context", context, self.contexts)
        rng = np.random.default_rng([self.seed, self.tells])
        return int(rng.permutation(self.arms * self.contexts)[context] % self.arms)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.check("context", context, self.contexts)
        self.check("arm", arm, self.arms)
        self.check_reward(reward)
        self.tells += 1

    def policy(self) -> npt.NDArray[np.int64]:
        return np.zeros(self.contexts, dtype=np.int64)

    def labels(self) -> npt.NDArray[np.int64] | None:
        return None


class AskCounts(Sound):
    def ask(self, context: int) -> int:
        arm = super().ask(context)
        self.tells += 1
        return arm


class AskRemembersTheContext(Sound):
    """One more ask for the same context is harmless; for another one it is not."""

    last, turns = -1, 0

    def ask(self, context: int) -> int:
        arm = super().ask(context)
        self.turns += context != self.last
        self.last = context
        return (arm + self.turns) % self.arms


class NoArm(Sound):
    def ask(self, context: int) -> int:
        super().ask(context)
        return self.arms


class SeedIgnored(Sound):
    made = itertools.count()

    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        super().__init__(contexts, arms, next(self.made))


class LoopDiffers(UCB1):
    """Its compiled loop plays another state than ask and tell do."""

    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        super().__init__(contexts, arms, seed=seed)
        loop = self.loop

        def other(block: int, *rest: Any) -> int:
            wrong = Block(self.state._replace(width=0.0), self.clock)
            return loop(wrong.address, *rest)

        self.loop = other


class PolicyOfTheLoopDiffers(Sound):
    """Plays the same, but recommends something else if it was not played by itself."""

    made = itertools.count()

    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        super().__init__(contexts, arms, seed)
        self.number = next(self.made)

    def policy(self) -> npt.NDArray[np.int64]:
        return np.full(self.contexts, self.number % self.arms)


class ShortPolicy(Sound):
    def policy(self) -> npt.NDArray[np.int64]:
        return super().policy()[1:]


class PolicyTooHigh(Sound):
    def policy(self) -> npt.NDArray[np.int64]:
        return super().policy() + self.arms


class PolicyNegative(Sound):
    def policy(self) -> npt.NDArray[np.int64]:
        return super().policy() - (self.tells > 0)


class ShortLabels(Sound):
    def labels(self) -> npt.NDArray[np.int64]:
        return np.zeros(self.contexts + 1, dtype=np.int64)


class AnyContext(Sound):
    def check(self, name: str, value: int, number: int) -> None:
        super().check(name, value % number if name == "context" else value, number)

    def ask(self, context: int) -> int:
        return super().ask(context % self.contexts)


class HighContext(Sound):
    def ask(self, context: int) -> int:
        return super().ask(min(context, self.contexts - 1))


class NegativeContext(Sound):
    """As arrays take them: from the end."""

    def ask(self, context: int) -> int:
        return super().ask(context + self.contexts if context < 0 else context)


class AnyContextTold(Sound):
    def tell(self, context: int, arm: int, reward: float) -> None:
        super().tell(context % self.contexts, arm, reward)


class AnyArm(Sound):
    def tell(self, context: int, arm: int, reward: float) -> None:
        super().tell(context, min(arm, self.arms - 1), reward)


class NegativeArm(Sound):
    def tell(self, context: int, arm: int, reward: float) -> None:
        super().tell(context, arm % self.arms if arm < 0 else arm, reward)


class NaNTaken(Sound):
    def check_reward(self, reward: float) -> None:
        if math.isinf(reward):
            super().check_reward(reward)


class InfinityTaken(Sound):
    def check_reward(self, reward: float) -> None:
        if math.isnan(reward):
            super().check_reward(reward)


class Unnamed(Sound):
    def check_reward(self, reward: float) -> None:
        if not math.isfinite(reward):
            raise ValueError("that will not do")


class CountsBeforeItChecks(Sound):
    def tell(self, context: int, arm: int, reward: float) -> None:
        self.tells += 1
        super().tell(context, arm, reward)


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
def test_a_sound_learner_passes(noise: str) -> None:
    check_learner(Sound, noise=noise)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (AskCounts, "ask changes nothing: round"),
        (AskRemembersTheContext, "ask changes nothing"),
        (NoArm, "ask returns an arm: got 5 of 5"),
        (SeedIgnored, "the same seed gives the same run"),
        (LoopDiffers, "ask and tell do what the loop does"),
        (PolicyOfTheLoopDiffers, "the same policy"),
        (ShortPolicy, r"policy\(\) returned 11 values, expected one for each of 12"),
        (PolicyTooHigh, r"policy\(\) returned [5-9] for context \d+, not an arm"),
        (PolicyNegative, r"policy\(\) returned -1 for context"),
        (ShortLabels, r"labels\(\) returned 13 values"),
        (AnyContext, "a bad context raises ValueError"),
        (HighContext, "a bad context raises ValueError"),
        (NegativeContext, "a bad context raises ValueError"),
        (AnyContextTold, "a bad context raises ValueError"),
        (AnyArm, "a bad arm raises ValueError"),
        (NegativeArm, "a bad arm raises ValueError"),
        (NaNTaken, "a bad reward raises ValueError"),
        (InfinityTaken, "a bad reward raises ValueError"),
        (Unnamed, "an error names the reward: got 'that will not do'"),
        (CountsBeforeItChecks, "what is refused changes nothing"),
    ],
)
def test_a_broken_law_is_named(broken: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_learner(broken)


def test_one_context_and_one_arm_are_tried() -> None:
    class NeedsTwo(Sound):
        def ask(self, context: int) -> int:
            if self.arms == 1:
                raise IndexError("needs two arms")
            return super().ask(context)

    with pytest.raises(IndexError, match="needs two arms"):
        check_learner(NeedsTwo)


def test_late_rewards_and_other_arms_are_tried() -> None:
    class Impatient(Sound):
        asked = -1

        def ask(self, context: int) -> int:
            self.asked = super().ask(context)
            return self.asked

        def tell(self, context: int, arm: int, reward: float) -> None:
            super().tell(context, arm, reward)
            if arm != self.asked and arm != self.ask(context):
                raise RuntimeError("an arm that was not asked for")

    with pytest.raises(RuntimeError, match="an arm that was not asked for"):
        check_learner(Impatient)
