"""Online candidates, written out slowly: every test keeps its rewards, and all else is worked out.

`ends_at_stop` is the broken variant in which a slot ends when its test stops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from twins.stream import Stream


@dataclass
class Slot:
    """A test of one arm: 2^n visits of its track, in some of which the arm was played."""

    arm: int
    n: int
    rewards: list[float] = field(default_factory=list)
    visits: int = 0

    def powers(self) -> list[int]:
        """The k with an estimate: 2^k plays were made."""
        return [k for k in range(self.n + 1) if 2**k <= len(self.rewards)]

    def estimate(self, k: int) -> float:
        return float(sum(self.rewards[: 2**k]) / 2**k)

    @property
    def completed(self) -> bool:
        return len(self.rewards) == 1 << self.n


class Context:
    """What one context has seen in this attempt."""

    def __init__(self, N: int) -> None:
        self.V, self.arm, self.visits = -math.inf, 0, 0
        self.running: dict[int, Slot] = {}
        """The candidate's test that is under way, by level."""
        self.ended: dict[int, list[Slot]] = {n: [] for n in range(1, N + 1)}
        self.entry: dict[int, Slot] = {}
        """The exploring entry that is not decided yet, by level."""
        self.coin: tuple[float, int] | None = None
        """That of the next visit: the coin, and J if it starts a slot."""


class LiteralCandidates:
    def __init__(
        self,
        S: int,
        K: int,
        seed: int,
        *,
        horizon: int | None = None,
        width: float = 1.0,
        allowance: float = 1.0,
        ends_at_stop: bool = False,
    ) -> None:
        self.S, self.K, self.stream = S, K, Stream(seed)
        self.width, self.allowance, self.ends_at_stop = width, allowance, ends_at_stop
        self.known = horizon is not None
        self.decided: list[int] = []
        """J of every decided entry, in order of decision, of all attempts."""
        self.seen = dict.fromkeys(
            ("stopped", "completed", "joined", "refused", "waited", "R", "T"), 0
        )
        self.run(2 * (S + K) if horizon is None else horizon)

    def run(self, T: int) -> None:
        self.T, self.begun = T, self.stream.tells
        self.attempt(1)

    def attempt(self, R: int) -> None:
        self.R, T, size = R, self.T, self.S + self.K
        self.N = max(0, math.floor(math.log2(T / (R * size))))
        self.lam = self.allowance * 36 * self.N * (1 + math.log(T))
        self.W: list[int] = []
        self.context = [Context(self.N) for _ in range(self.S)]

    def c(self, n: int) -> float:
        return self.width * math.sqrt(2 * math.log(2 * self.T**3) / 2**n)

    def gam(self, n: int) -> float:
        return 2 ** (-n / 2) * math.sqrt(self.R * (self.S + self.K) / self.T)

    def ucb(self, slot: Slot) -> float:
        k = slot.powers()[-1]
        return slot.estimate(k) + self.c(k)

    def stops(self, i: Context, slot: Slot) -> bool:
        return bool(slot.rewards) and self.ucb(slot) < i.V - 4 * self.c(slot.n)

    def track(self, i: Context) -> tuple[str, int]:
        """The tracks in turn: candidates at level 1, exploring at level 1, candidates at 2, .."""
        turn = i.visits % (2 * self.N)
        return ("candidate", "exploring")[turn % 2], turn // 2 + 1

    def slot(self, i: Context) -> Slot | None:
        """The slot that the next visit belongs to; a new one is not stored yet."""
        kind, n = self.track(i)
        if kind == "candidate":
            left = [w for w in self.W if w not in [slot.arm for slot in i.ended[n]]]
            return i.running.get(n) or (Slot(left[0], n) if left else None)
        if n in i.entry:
            return None if self.over(i, i.entry[n]) else i.entry[n]
        if i.coin is not None and i.coin[0] < self.gam(n):
            return Slot(i.coin[1], n)
        return None

    def over(self, i: Context, slot: Slot) -> bool:
        if self.ends_at_stop and self.stops(i, slot):
            return True
        return slot.visits == 1 << slot.n

    def ask(self, context: int) -> int:
        if self.N < 1:
            return 0
        i = self.context[context]
        slot = self.slot(i)
        return i.arm if slot is None or self.stops(i, slot) else slot.arm

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.stream.begin_update()
        if self.N >= 1 and arm == self.ask(context):
            self.visit(self.context[context], reward)
        self.stream.told()
        if not self.known and self.stream.tells == self.begun + self.T:
            self.seen["T"] += 1
            self.run(2 * self.T)
        elif len(self.W) > self.R * self.lam:
            self.seen["R"] += 1
            self.attempt(2 * self.R)

    def visit(self, i: Context, reward: float) -> None:
        kind, n = self.track(i)
        slot = self.slot(i)
        if slot is not None:
            if self.stops(i, slot):
                self.seen["stopped"] += 1
            else:
                slot.rewards.append(reward)
            slot.visits += 1
            (i.running if kind == "candidate" else i.entry)[n] = slot
            if kind == "candidate" and self.over(i, slot):
                self.end(i, slot)
        elif kind == "exploring" and n in i.entry:
            if set(self.W) <= {slot.arm for slot in i.ended[n]}:
                self.decide(i, i.entry.pop(n))
            else:
                self.seen["waited"] += 1
        i.visits += 1
        kind, n = self.track(i)
        if kind == "exploring" and n not in i.entry:
            u = self.stream.uniform()
            i.coin = u, (self.stream.below(self.K) if u < self.gam(n) else 0)

    def end(self, i: Context, slot: Slot) -> None:
        i.ended[slot.n].append(i.running.pop(slot.n))
        if slot.completed:
            self.seen["completed"] += 1
            low = slot.estimate(slot.n) - self.c(slot.n)
            if low > i.V:
                i.V, i.arm = low, slot.arm

    def decide(self, i: Context, slot: Slot) -> None:
        self.decided.append(slot.arm)
        low = slot.estimate(slot.n) - 2 * self.c(slot.n) if slot.completed else -math.inf
        bounds = [self.ucb(each) for each in i.ended[slot.n]]
        takes = slot.completed and all(low >= bound for bound in bounds)
        self.seen["joined" if takes else "refused"] += 1
        if takes and slot.arm not in self.W:
            self.W.append(slot.arm)
