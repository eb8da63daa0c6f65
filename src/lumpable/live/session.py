"""A live session: a plan that is played by people, in the order in which they come.

`ask` reads, `tell` writes. A session is a fold over its tells, so it is saved as the plan's name
and parameters, the seed, the samples of finished requests and the sums of the tells since then; to
open it is to replay them. Knows no algorithm, and nothing of how files are written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lumpable.base import archive, checks
from lumpable.base.arrays import IntVector
from lumpable.live import saved
from lumpable.live.player import Player
from lumpable.plans.plan import Belief, Plan, Request, Result, Split

LARGEST = 1e200
"""Rewards are smaller than this in absolute value, so that no sum of them overflows."""


class Session:
    """Play a plan live: ask for a context's arm, tell the reward when it is known.

    Contexts that are asked nothing, and all contexts once the plan has ended, get the arm of the
    best policy so far. A reward for an arm that is not the assigned one came late: it is counted in
    `late` and changes nothing else.

    >>> from lumpable import Problem, pac
    >>> session = Session(pac.near_uniform(Problem(3, 2, 1), epsilon=0.5, delta=0.1), seed=7)
    >>> arm = session.ask(0)
    >>> session.tell(0, arm, 0.25)
    >>> session.rounds, session.late
    (1, 0)
    """

    def __init__(
        self, plan: Plan, *, seed: int, _begin: Callable[[Player], None] = Player.open
    ) -> None:
        self.plan = plan
        self.seed = checks.whole("seed", seed, 0)
        self.late = 0
        """Rewards for an arm that was not, or no longer, assigned."""
        self._contexts, self._arms = plan.shape
        self._live = Player(plan, self.seed)
        _begin(self._live)
        self._arm = self._live.arm
        self._torn = False
        """Whether a reward is being told; if nobody is at it, it was interrupted."""

    def ask(self, context: int) -> int:
        """Return the arm to play for this context; asked again, the same one."""
        if self._torn:
            self._mend()
        if type(context) is int and 0 <= context < self._contexts:
            return self._arm[context]
        return self._arm[checks.whole("context", context, 0, self._contexts - 1)]

    def choices(self, context: int) -> IntVector:
        """Return the arms of which `ask` was drawn, each with the same probability.

        It is one arm where nothing is asked of the context, or the plan has ended.
        """
        return self._player.choices(checks.whole("context", context, 0, self._contexts - 1))

    def tell(self, context: int, arm: int, reward: float) -> None:
        """Report the reward of an arm that was played for this context.

        A call that is interrupted, by Ctrl-C or for want of memory, has told the reward or not told
        it; `rounds` and `late` say which.
        """
        if type(context) is not int or not 0 <= context < self._contexts:
            context = checks.whole("context", context, 0, self._contexts - 1)
        if type(arm) is not int or not 0 <= arm < self._arms:
            arm = checks.whole("arm", arm, 0, self._arms - 1)
        if type(reward) is not float or not -LARGEST < reward < LARGEST:
            words = f"a finite number below {LARGEST:g} in size"
            reward = checks.real("reward", reward, words, -LARGEST, LARGEST)
        if self._torn:
            self._mend()
        if arm != self._arm[context]:
            self.late += 1
            return
        self._torn = True
        if (collector := self._live.collector) is None:
            if self._live.tell(context, reward):
                self._arm = self._live.arm
        elif collector.tell(context, reward):  # saves a call in nearly every round
            self._live.advance()
            self._arm = self._live.arm
        self._torn = False

    @property
    def _player(self) -> Player:
        if self._torn:
            self._mend()
        return self._live

    def _mend(self) -> None:
        """Finish a reward that was interrupted after it counted."""
        self._live.mend()
        self._arm = self._live.arm
        self._torn = False

    @property
    def shape(self) -> tuple[int, int]:
        """(contexts, arms)."""
        return self._contexts, self._arms

    @property
    def rounds(self) -> int:
        """Rounds so far, including those after the plan's end."""
        return self._player.rounds

    @property
    def request(self) -> Request | None:
        """The request that is being played; None once the plan has ended."""
        return self._player.progress.request

    @property
    def belief(self) -> Belief | None:
        """The plan's belief when it made its request."""
        return None if self.request is None else self.request.belief

    @property
    def result(self) -> Result | None:
        """The plan's result; None while it is under way."""
        return self._player.progress.result

    @property
    def policy(self) -> IntVector:
        """The best policy so far."""
        return self._player.policy

    @property
    def sides(self) -> list[tuple[IntVector, Belief | None]]:
        """The contexts and the belief of each plan side by side; empty if there are none."""
        request = self.request
        if not isinstance(request, Split):
            return []
        requests = [side.progress.request for side in self._player.sides]
        beliefs = [None if own is None else own.belief for own in requests]
        return [(request.contexts(b), belief) for b, belief in enumerate(beliefs)]

    def save(self, path: str | Path) -> None:
        """Write the session to a file: the old file stays whole until the new one is."""
        header = saved.header(self._player, self.late)
        archive.write(Path(path), header, saved.arrays(self._player))

    @classmethod
    def load(cls, path: str | Path, plan: Plan | None = None) -> Session:
        """Open a saved session; it goes on as if it had never stopped.

        Plans of this package are found by name. For a plan of your own, pass a fresh one with the
        same parameters; likewise for a session of many contexts and arms that has hardly begun,
        since a small file must not take much memory by itself.
        """
        with archive.Reader(Path(path)) as reader:
            header = saved.read_header(reader.header)

            def begin(player: Player) -> None:
                saved.bring(player, header.place, reader)

            session = cls(saved.plan_for(header, plan, reader.size), seed=header.seed, _begin=begin)
        session.late = header.late
        return session
