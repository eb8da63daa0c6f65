"""Online candidates: arms that did well in one context are tested in all others. Ours.

For contexts in any order fixed in advance and an unknown number r of groups; no context is ever put
into a group. The letters, for a horizon T and a guess R of r:

    N = floor(log2(T / (R (S + K)))) levels n = 1 .. N;  c(n) = sqrt(2 ln(2 T^3) / 2^n);
    gam(n) = 2^(-n/2) sqrt(R (S + K) / T);  lam = 36 N (1 + ln T);  N < 1: arm 0 for ever.

W is the list of candidates, V(i) a lower bound of the mean of arm(i); they begin with nothing, -inf
and 0. A context deals its visits in turn to 2N tracks, one that tests candidates and one that
explores at each level. A test at level n is a slot of exactly 2^n visits of its track: the arm is
played until its last estimate at a power of two 2^k of its plays is below V(i) - 4 c(n) - c(k),
then arm(i) to the end of the slot. A test is completed if it plays the arm in all of the slot.

- A candidate track tests each w of W, in order of joining. UCB(w) = last estimate + c(k). If it
  is completed and its estimate - c(n) is above V(i), that is V(i) from now on, and arm(i) = w.
- An exploring track that is idle starts a slot with probability gam(n), for an arm J drawn from
  all arms. After it the track plays arm(i), up to the first visit of its own at which i has tested
  all of W at level n. There the entry is decided: J joins W, if it is not in it, when its test was
  completed and its estimate - 2 c(n) is at least UCB(w) of every w. Then the track is idle.
- As soon as |W| > R lam, all is forgotten and R doubled.

Why it works. A test of an arm with gap D stops after about ln(T) / D^2 plays, so that only the
number of tests counts. Slots do not end when the test stops, or else bad arms would be decided
sooner; as it is, the arms J in order of decision are independent and uniform. An arm joins only
if it is better than all candidates by c(n) in some group, which are records of independent draws:
about ln T for each group and level, hence lam. And contexts of a group without a good candidate
draw its best arm once in K entries, together, not each on its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, below, kernel, uniform
from lumpable.learners.learner import NEVER, Compiled, PerContext, zeros

NOBODY = -1
"""No arm is being tested."""


class State(NamedTuple):
    """Track 2n - 2 of a context tests candidates at level n, track 2n - 1 explores there."""

    turn: PerContext
    """The track of the context's next visit."""
    arm: PerContext
    """arm(i)."""
    value: FloatVector
    """V(i)."""
    joined: IntVector
    """W, in order of joining."""
    size: IntVector
    """|W|."""
    candidate: BoolVector
    """Whether an arm is in W."""
    tested: IntMatrix
    """How many of W a context has tested, by context and level: the first ones."""
    top: FloatMatrix
    """The largest UCB(w) of these."""
    drawn: IntMatrix
    """J of an entry that is not decided yet, by context and level; else NOBODY."""
    visits: IntMatrix
    """Visits of the slot so far, by context and track."""
    plays: IntMatrix
    """How many of them played the tested arm; the same shape."""
    total: FloatMatrix
    """The sum of their rewards."""
    upper: FloatMatrix
    """Last estimate at a power of two + c(k); infinite before the first play."""
    due: IntVector
    scale: float
    """c(n) 2^(n/2)."""
    start: float
    """gam(n) 2^(n/2)."""
    most: float
    """R lam."""


@kernel
def radius(state: State, plays: int) -> float:
    """c(k) for 2^k plays."""
    return state.scale / math.sqrt(plays)


@kernel
def arm_on_test(state: State, context: int, track: int) -> int:
    """Return the arm whose slot this visit belongs to, or NOBODY."""
    level = track // 2
    if track % 2 == 1:
        over = state.visits[context, track] == 2 << level
        return NOBODY if over else state.drawn[context, level]
    done = state.tested[context, level]
    return state.joined[done] if done < state.size[0] else NOBODY


@kernel
def stopped(state: State, context: int, track: int) -> bool:
    """Whether the arm of the slot is clearly worse than arm(i), by today's V(i)."""
    margin = 4.0 * radius(state, 2 << (track // 2))
    return state.upper[context, track] < state.value[context] - margin


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm that the track tests while the test goes on, else arm(i)."""
    if state.visits.shape[1] == 0:
        return 0
    track = state.turn[context]
    arm = arm_on_test(state, context, track)
    if arm != NOBODY and not stopped(state, context, track):
        return arm
    return state.arm[context]


@kernel
def clear(state: State, context: int, track: int) -> None:
    """Forget the slot of a track."""
    state.visits[context, track] = 0
    state.plays[context, track] = 0
    state.total[context, track] = 0.0
    state.upper[context, track] = np.inf


@kernel
def end_test(state: State, context: int, track: int) -> None:
    """End the slot of a candidate: raise V(i) if the test was completed and shows more."""
    level, length = track // 2, 2 << (track // 2)
    low = state.total[context, track] / length - radius(state, length)
    if state.plays[context, track] == length and low > state.value[context]:
        state.value[context] = low
        state.arm[context] = state.joined[state.tested[context, level]]
    state.top[context, level] = max(state.top[context, level], state.upper[context, track])
    state.tested[context, level] += 1
    clear(state, context, track)


@kernel
def decide(state: State, context: int, track: int) -> None:
    """Let the drawn arm join W if it is clearly better than all of W; the track is idle again."""
    level, length = track // 2, 2 << (track // 2)
    arm = state.drawn[context, level]
    low = state.total[context, track] / length - 2.0 * radius(state, length)
    completed = state.plays[context, track] == length
    if completed and low >= state.top[context, level] and not state.candidate[arm]:
        state.joined[state.size[0]] = arm
        state.candidate[arm] = True
        state.size[0] += 1
        if state.size[0] > state.most:
            state.due[0] = 0
    state.drawn[context, level] = NOBODY
    clear(state, context, track)


@kernel
def visit(state: State, context: int, track: int, reward: float) -> None:
    """Count a visit of a slot, and the reward if the tested arm was played."""
    if not stopped(state, context, track):
        state.plays[context, track] += 1
        state.total[context, track] += reward
        plays = state.plays[context, track]
        if plays & (plays - 1) == 0:
            mean = state.total[context, track] / plays
            state.upper[context, track] = mean + radius(state, plays)
    state.visits[context, track] += 1
    if track % 2 == 0 and state.visits[context, track] == 2 << (track // 2):
        end_test(state, context, track)


@kernel
def toss(state: State, context: int, level: int, clock: Clock) -> None:
    """Start a slot of an idle track at its next visit, or do not."""
    if uniform(clock) * math.sqrt(2 << level) < state.start:
        state.drawn[context, level] = below(clock, len(state.joined))


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Take a visit of a context, and toss the coin of its next one if that track is idle."""
    tracks = state.visits.shape[1]
    if tracks == 0 or arm != choose(state, context, clock):
        return
    track = state.turn[context]
    level = track // 2
    if arm_on_test(state, context, track) != NOBODY:
        visit(state, context, track, reward)
    elif track % 2 == 1 and state.drawn[context, level] != NOBODY:
        all_tested = state.tested[context, level] == state.size[0]
        if all_tested:
            decide(state, context, track)
    track = track + 1 if track + 1 < tracks else 0
    state.turn[context] = track
    if track % 2 == 1 and state.drawn[context, track // 2] == NOBODY:
        toss(state, context, track // 2, clock)


class OnlineCandidates(Compiled):
    """Arms drawn at random are tested in a context; the best of them, in all contexts.

    Knows neither r nor, if it is not told, the horizon T. The theorem: if contexts come in an order
    that is fixed in advance (any order: i.i.d. from any frequencies, bursts, round robin), means
    lie in [0, 1], and the noise of different rounds is independent, also of the learner's coins,
    and 1-sub-Gaussian, then the expected regret is at most C (ln T)^5 sqrt(r (S + K) T), C an
    absolute constant. Contexts that answer to what was played, or noise that depends on the past,
    are not covered.

    It shows what is possible and is no rival: the constants are those of the proof. Below
    T = 2 (S + K) it plays arm 0, then for long whichever arm was decided first: another one joins
    when c(n) is about a third of a gap, after hundreds or thousands of visits of one of 2N tracks
    of one context. At (S, K, r) = (20, 10, 2), T = 10^6 and coins (sd 1/2) its regret was 3.4e5,
    that of uniform play 4.1e5 and of UCB1 1.1e4, on average over ten worlds. With a `width` of 0.05
    it was 3.3e4, and nothing is proved.

    A reward of another arm than it would play now, as a late one may be, is not used, and its
    round is no visit: the theorem knows no delays.

    Parameters
    ----------
    horizon
        T. None: rounds come in runs of 2 (S + K), 4 (S + K), 8 (S + K) and so on, each with its own
        length for a horizon; nothing is kept between them. After a given horizon it goes on as
        before.
    sd
        The noise is sub-Gaussian with this scale: it multiplies c(n). 1/2 for rewards in [0, 1].
    width
        Factor of c(n). Below 1 the theorem is given up.
    allowance
        Factor of lam, the candidates allowed for each guessed group. Below 1 the theorem is given
        up.

    >>> learner = OnlineCandidates(contexts=1, arms=2, horizon=10_000, width=0.01, seed=3)
    >>> for _ in range(10_000):
    ...     arm = learner.ask(0)
    ...     learner.tell(0, arm, float(arm))
    >>> learner.candidates().tolist(), learner.guess, int(learner.policy()[0])
    ([0, 1], 1, 1)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        horizon: int | None = None,
        sd: float = 1.0,
        width: float = 1.0,
        allowance: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        known = horizon is not None
        T = 2 * (S + K) if horizon is None else horizon
        self.horizon = checks.whole("horizon", T, 1, checks.MOST_ROUNDS)
        """T of this run."""
        self.guess = 1
        """R."""
        self._end = NEVER if known else self.horizon
        factor = checks.real("width", width, "a positive number", 0.0, 1e9)
        self._sd = factor * checks.real("sd", sd, "a positive number", 0.0, 1e9)
        self._allowance = checks.real("allowance", allowance, "a positive number", 0.0, 1e9)
        state = self._fresh(S, K, self.horizon, self.guess, self._end)
        super().__init__(S, K, seed, state)

    def _fresh(self, S: int, K: int, T: int, R: int, end: int) -> State:
        """Return the state of somebody who has seen nothing, for this horizon and guess."""
        N = max((T // (R * (S + K))).bit_length() - 1, 0)
        lam = 36 * N * (1 + math.log(T))
        slots: Any = (S, 2 * N)
        return zeros(State, S, K)._replace(
            value=np.full(S, -np.inf),
            joined=np.zeros(K, dtype=np.int64),
            size=np.zeros(1, dtype=np.int64),
            candidate=np.zeros(K, dtype=np.bool_),
            tested=np.zeros((S, N), dtype=np.int64),
            top=np.full((S, N), -np.inf),
            drawn=np.full((S, N), NOBODY, dtype=np.int64),
            visits=np.zeros(slots, dtype=np.int64),
            plays=np.zeros(slots, dtype=np.int64),
            total=np.zeros(slots),
            upper=np.full(slots, np.inf),
            due=np.array([end], dtype=np.int64),
            scale=self._sd * math.sqrt(2 * (math.log(2) + 3 * math.log(T))),
            start=math.sqrt(R * (S + K) / T),
            most=self._allowance * R * lam,
        )

    def refit(self) -> None:
        """Forget all: the run is over and the next is twice as long, or W is too large for R."""
        T, R, end = self.horizon, 2 * self.guess, self._end
        if self.tells >= end:
            T, R, end = 2 * T, 1, end + 2 * T
        state = self._fresh(self.contexts, self.arms, T, R, end)
        made = self._connections(state, self.clock)
        vars(self).update(made, horizon=T, guess=R, _end=end)

    def candidates(self) -> IntVector:
        """Return the arms of W, in order of joining."""
        return self.state.joined[: self.state.size[0]].copy()

    def policy(self) -> IntVector:
        """Return arm(i) of each context."""
        return self.state.arm.copy()
