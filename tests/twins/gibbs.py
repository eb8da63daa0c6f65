"""A mixture of bandits, for literal versions: the model and its Gibbs sampler, reward by reward."""

from __future__ import annotations

import math

import numpy as np

from lumpable.learners.fitting.lloyd import lloyd

Draw = tuple[list[float], list[list[float]]]
"""pi and B."""


class LiteralGibbs:
    """S contexts in r groups, from a list of all that was told."""

    def __init__(self, S: int, K: int, r: int, gaussian: bool, sd: float, weight: float) -> None:
        self.S, self.K, self.r, self.sd, self.weight = S, K, r, sd, weight
        self.gaussian = gaussian
        self.told: list[tuple[int, int, float]] = []
        self.z, self.prior = [0] * S, (0.0, sd**2)

    def search(self, number: int, rng: np.random.Generator) -> None:
        """Run a chain from the current groups and one from k-means; keep the better groups."""
        cells = [[self.rewards({i}, j) for j in range(self.K)] for i in range(self.S)]
        plays = [[len(x) for x in row] for row in cells]
        mean = [[sum(x) / len(x) if x else 0.0 for x in row] for row in cells]
        nearest = lloyd(plays, mean, number, rng)[0].tolist()
        chains = [self.chain(start, rng) for start in (self.z, nearest)]
        values = [self.value(z) for z, _ in chains]
        self.z, self.prior = chains[1] if values[1] > values[0] + 1e-6 else chains[0]

    def rewards(self, users: set[int], arm: int) -> list[float]:
        return [y for i, j, y in self.told if i in users and j == arm]

    def members(self, z: list[int], g: int) -> set[int]:
        return {i for i in range(self.S) if z[i] == g}

    def log_likelihood(self, y: float, mean: float) -> float:
        if self.gaussian:
            return (y * mean - mean**2 / 2) / self.sd**2  # less what does not depend on the mean
        return y * math.log(mean) + (1 - y) * math.log(1 - mean)

    def log_chances(self, context: int, draw: Draw) -> list[float]:
        pi, B = draw
        own = [(j, y) for i, j, y in self.told if i == context]
        return [
            math.log(pi[g]) + sum(self.log_likelihood(y, B[g][j]) for j, y in own)
            for g in range(self.r)
        ]

    @staticmethod
    def pick(logs: list[float], u: float) -> int:
        chance = [math.exp(x - max(logs)) for x in logs]
        at = u * sum(chance)
        return next(g for g in range(len(logs)) if sum(chance[: g + 1]) > at)

    def normal(self, seen: list[float], prior: tuple[float, float]) -> tuple[float, float]:
        """Mean and variance of the posterior."""
        precision = 1 / prior[1] + len(seen) / self.sd**2
        return (prior[0] / prior[1] + sum(seen) / self.sd**2) / precision, 1 / precision

    def draw(self, z: list[int], prior: tuple[float, float], rng: np.random.Generator) -> Draw:
        gammas = [rng.standard_gamma(self.weight + len(self.members(z, g))) for g in range(self.r)]
        B = [[0.0] * self.K for _ in range(self.r)]
        for g in range(self.r):
            for j in range(self.K):
                seen = self.rewards(self.members(z, g), j)
                if self.gaussian:
                    mean, variance = self.normal(seen, prior)
                    B[g][j] = mean + math.sqrt(variance) * rng.standard_normal()
                else:
                    B[g][j] = rng.beta(1 + sum(seen), 1 + len(seen) - sum(seen))
        return [x / sum(gammas) for x in gammas], B

    def chain(
        self, z: list[int], rng: np.random.Generator
    ) -> tuple[list[int], tuple[float, float]]:
        m, tau2 = self.prior
        for _ in range(10):
            draw = self.draw(z, (m, tau2), rng)
            if self.gaussian:
                every = [b for row in draw[1] for b in row]
                m = sum(every) / len(every) + math.sqrt(tau2 / len(every)) * rng.standard_normal()
                rate = 0.1 * self.sd**2 + sum((b - m) ** 2 for b in every) / 2
                tau2 = rate / rng.standard_gamma(1 + len(every) / 2)
            z = [self.pick(self.log_chances(i, draw), rng.random()) for i in range(self.S)]
        return z, (m, tau2)

    def value(self, z: list[int]) -> float:
        """ln P(z, rewards), reward by reward: each given those before it, pi and B summed out."""
        total = 0.0
        for g in range(self.r):
            users = self.members(z, g)
            total += sum(math.log(self.weight + k) for k in range(len(users)))
            for j in range(self.K):
                seen = self.rewards(users, j)
                if self.gaussian:
                    for k, y in enumerate(seen):
                        mean, variance = self.normal(seen[:k], self.prior)
                        variance += self.sd**2
                        total -= 0.5 * (math.log(variance) + (y - mean) ** 2 / variance)
                else:
                    for k, y in enumerate(seen):
                        success = (1 + sum(seen[:k])) / (2 + k)
                        total += math.log(success if y == 1 else 1 - success)
        return total
