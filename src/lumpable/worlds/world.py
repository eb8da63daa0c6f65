"""The truth: mean rewards, groups, frequencies and noise.

A world can judge a policy. It knows no algorithm, and learners never see it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.worlds import noises
from lumpable.worlds.custom import ByMethod
from lumpable.worlds.laws import Bernoulli, Gaussian, Law, least_zero
from lumpable.worlds.noises import Noise


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """Mean rewards, groups, context frequencies and noise: all that a learner does not know.

    With Gaussian and Bernoulli noise the means of one context span at most 1 (reading 3). If they
    do not, the error says what to divide by. Other laws, such as counts and stars, have scales of
    their own, so their means may span more; then the paper's plans refuse them.

    A subclass may have a method `reward` of its own: then it draws every reward, one by one.
    """

    mean: FloatMatrix
    frequency: FloatVector
    group: IntVector
    noise: Noise = "gaussian"
    """The law of rewards: `gaussian` or `bernoulli`, or else a `Law`. Other names, tables and
    functions of your own become one."""
    sd: float = 1.0
    """Standard deviation of Gaussian noise."""
    name: str = "matrix"
    context_names: tuple[Hashable, ...] = ()
    """Names of the contexts, if they have names."""
    arm_names: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        mean = checked_mean(self.mean)
        least_zero("sd", self.sd)
        law = noises.find(self.noise, self.sd)
        if isinstance(law, Gaussian | Bernoulli):
            check_span(mean)
        law.check(mean)
        frequency = checked_frequency(self.frequency, len(mean))
        group = np.array(self.group)
        if group.shape != (len(mean),) or group.dtype.kind not in "iu" or group.min() < 0:
            raise BadArgument("group", f"{len(mean)} group numbers", repr(self.group))
        for name, value in (("mean", mean), ("frequency", frequency), ("group", group)):
            object.__setattr__(self, name, checks.read_only(value))
        if not isinstance(self.noise, str) and isinstance(law, Gaussian) and law.plain:
            object.__setattr__(self, "sd", law.sd)
        object.__setattr__(self, "noise", law.name if law.plain else law)

    def __repr__(self) -> str:
        return f"World({self.summary})"

    @property
    def summary(self) -> str:
        """Its name, size and noise, in a few words."""
        noise = f"gaussian, sd={self.sd:g}" if self.noise == "gaussian" else str(self.noise)
        size = f"contexts={self.contexts}, arms={self.arms}, groups={self.groups}"
        return f"{self.name}, {size}, {noise}"

    @cached_property
    def law(self) -> Law:
        """The law of its rewards."""
        if type(self).reward is not World.reward:
            return ByMethod(self, np.arange(self.contexts))
        return noises.find(self.noise, self.sd)

    @property
    def plain(self) -> bool:
        """Whether `noise` and `sd` say all about its rewards."""
        own = type(self).reward is not World.reward or type(self).law is not World.law
        return isinstance(self.noise, str) and not own

    @cached_property
    def spread(self) -> float:
        """How far rewards are from their means: the root of the mean variance, as contexts come."""
        variance = self.law.variance(self.mean)
        return float(np.sqrt(self.frequency @ variance.mean(axis=1)))

    @property
    def span(self) -> float:
        """The largest distance between two means of one context."""
        return float((self.mean.max(axis=1) - self.mean.min(axis=1)).max())

    @property
    def contexts(self) -> int:
        """S, the number of contexts."""
        return int(self.mean.shape[0])

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return int(self.mean.shape[1])

    @property
    def groups(self) -> int:
        """r, the number of groups, including those without contexts."""
        return int(self.group.max()) + 1

    @cached_property
    def group_frequency(self) -> FloatVector:
        """omega: how often each group comes."""
        omega: FloatVector = np.zeros(self.groups)
        np.add.at(omega, self.group, self.frequency)
        return omega

    @cached_property
    def policy(self) -> IntVector:
        """An optimal policy: each context's best arm, the first of several."""
        arms: IntVector = np.argmax(self.mean, axis=1)
        return arms

    @cached_property
    def best(self) -> FloatVector:
        """Each context's largest mean."""
        largest: FloatVector = self.mean.max(axis=1)
        return largest

    def part(self, contexts: IntVector) -> World:
        """Return the world of some contexts only, with their relative frequencies.

        If none of them ever comes, they get equal frequencies, which has no effect. Its contexts
        count from 0 on. Where a subclass draws the rewards, it is asked for them by its own
        numbers: the part is a plain `World` with that law.
        """
        share = self.frequency[contexts]
        total = share.sum()
        names = self.context_names
        return World(
            mean=self.mean[contexts],
            frequency=share / total if total > 0 else np.full(len(share), 1 / max(1, len(share))),
            group=self.group[contexts],
            noise=self.noise if self.plain else self.law.part(contexts),
            sd=self.sd if self.plain else World.sd,
            name=self.name,
            context_names=tuple(names[i] for i in contexts) if names else (),
            arm_names=self.arm_names,
        )

    def reward(self, context: int, arm: int, rng: np.random.Generator) -> float:
        """Draw one reward, for playing round by round."""
        mean = float(self.mean[context, arm])
        if isinstance(self.noise, Law):
            law = self.noise.part(np.array([context]))
            return float(law.draw(self.mean[[context]], rng)[0, arm])
        if self.noise == "bernoulli":
            return float(rng.random() < mean)
        return mean + self.sd * rng.standard_normal()

    def loss(self, policy: npt.ArrayLike) -> float:
        """Return how far the mean reward of this policy is below that of the best one."""
        return float(self.frequency @ self.loss_by_context(policy))

    def loss_by_context(self, policy: npt.ArrayLike) -> FloatVector:
        """Return each context's loss under this policy."""
        arms = np.asarray(policy)
        if arms.shape != (self.contexts,) or arms.dtype.kind not in "iu":
            raise BadArgument("policy", f"{self.contexts} arms", f"{_shape(arms)}")
        if arms.min() < 0 or arms.max() >= self.arms:
            wrong = int(arms[(arms < 0) | (arms >= self.arms)][0])
            raise BadArgument("policy", f"arms 0 .. {self.arms - 1}", f"{wrong}")
        loss: FloatVector = self.best - self.mean[np.arange(self.contexts), arms]
        return loss


def checked_mean(mean: npt.ArrayLike) -> FloatMatrix:
    """Return a copy of a (contexts, arms) array of finite means."""
    try:
        matrix = np.array(mean, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument("mean", "a (contexts, arms) array", repr(mean)) from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise BadArgument("mean", "a (contexts, arms) array", f"{_shape(matrix)}")
    bad = ~np.isfinite(matrix)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        value = matrix[i, j]
        raise BadArgument("mean", "finite numbers", f"{value} at context {i}, arm {j}")
    return matrix


def check_span(mean: FloatMatrix) -> None:
    """Refuse means of one context that span more than 1."""
    span = mean.max(axis=1) - mean.min(axis=1)
    if span.max() > 1 + 1e-12:
        i = int(np.argmax(span))
        raise BadArgument(
            "mean",
            "means of one context to span at most 1",
            f"{span[i]:g} at context {i}; divide the means and the sd by {span[i]:g}",
        )


def checked_frequency(frequency: npt.ArrayLike, contexts: int) -> FloatVector:
    """Return a copy of frequencies that add up to 1; zero is allowed."""
    try:
        nu = np.array(frequency, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument("frequency", f"{contexts} numbers", repr(frequency)) from None
    if nu.shape != (contexts,):
        raise BadArgument("frequency", f"{contexts} numbers", f"{_shape(nu)}")
    if not np.isfinite(nu).all() or nu.min() < 0:
        raise BadArgument("frequency", "no negative or missing number", f"{nu.min()}")
    if abs(nu.sum() - 1) > 1e-9:
        raise BadArgument("frequency", "numbers that add up to 1", f"{nu.sum()}")
    nu /= nu.sum()
    return nu


def _shape(array: npt.NDArray[Any]) -> str:
    return f"an array of shape {array.shape} and type {array.dtype}"
