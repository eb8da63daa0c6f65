"""What a learner with names believes: tables, sentences and a page. Reads, and writes nothing."""

from __future__ import annotations

from pathlib import Path

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.belief import alternatives, beliefs, looks, residuals, summary
from lumpable.lumps.belief.alternatives import Alternative
from lumpable.lumps.belief.beliefs import Group, Mean, Member
from lumpable.lumps.belief.looks import Looks
from lumpable.lumps.belief.residuals import Residuals
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.use.locking import alone
from lumpable.lumps.use.named_learner import NamedLearner


class BelievingLearner(NamedLearner[ThreeLevels]):
    """A learner that says what it believes of groups, and how sure that is."""

    @alone
    def groups(self, *, level: float = beliefs.LEVEL) -> list[Group]:
        """Return a row for each group: how large it is, its best arm, and how sure both are."""
        arms = self._named.arms.listed
        return beliefs.groups(self.core, level, arm_names=arms) if arms else []

    @alone
    def means(self, *, level: float = beliefs.LEVEL) -> list[Mean]:
        """Return a row for each group and arm: its mean reward, with an interval."""
        arms = self._named.arms.listed
        return beliefs.means(self.core, level, arm_names=arms) if arms else []

    @alone
    def members(self) -> list[Member]:
        """Return a row for each context that had a reward: its group, how surely, its best arm."""
        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        return beliefs.members(self.core, context_names=contexts, arm_names=arms) if arms else []

    @alone
    def together(self, a: Name, b: Name) -> float:
        """Return the probability that two contexts are in one group."""
        return float(beliefs.together(self.core, self._named.known(a), self._named.known(b)))

    @alone
    def evidence(self) -> list[Alternative]:
        """Return how likely other models make what was seen: more or fewer groups, alike or not."""
        return alternatives.alternatives(self.core)

    @alone
    def summary(self, who: str = "context") -> str:
        """Say in a sentence or two what is believed of contexts; `who` is what to call one."""
        return summary.summary(self.core, who)

    @alone
    def looks(self) -> Looks:
        """Return what the rewards look like, how they are read, and what one should know of it."""
        return looks.looks(self.core)

    @alone
    def residuals(self) -> Residuals:
        """Check whether the residuals have a direction in common that groups cannot explain."""
        return residuals.residuals(self.core)

    @alone
    def report(self, path: str | Path) -> Path:
        """Write all of this as one page with pictures that needs nothing else (extra `plot`)."""
        from lumpable.reports.pages import belief_page  # brings pictures along

        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        if not arms:
            raise BadArgument("arms", "at least one arm to report on", "none")
        return belief_page.report(
            self.core, path, context_names=contexts, arm_names=arms, contexts_known=len(contexts)
        )
