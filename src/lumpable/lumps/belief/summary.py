"""What is believed of contexts, in a sentence or two."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from lumpable.base.words import counted, number, plural
from lumpable.lumps.belief.deviating import clearly_deviate, vary
from lumpable.lumps.belief.looks import looks
from lumpable.lumps.belief.posterior import posterior_now
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.model.search import PULLS_FOR_GROUPS

OPEN = 0.8
"""Memberships are open while the likeliest group of a context has less than this on average."""
DOUBTFUL = 0.05
"""Whether there are groups at all is open while one group has more than this probability."""

Answer = Literal["yes", "no", "open"]


class Structure(NamedTuple):
    """Whether contexts differ in a common way, and in which."""

    answer: Answer
    words: str


def summary(learner: Levels, who: str = "context") -> str:
    """Say in a few sentences what is believed of contexts, and what that rests on."""
    return " ".join([structure(learner, who).words, *looks(learner).notes])


def structure(learner: Levels, who: str = "context") -> Structure:
    """Say whether contexts differ, and how; `who` is what to call one.

    The explained share is the variance of group means between contexts, arms weighted by pulls,
    against the same plus the variance of contexts around their group that m0 implies.
    """
    seen = posterior_now(learner)
    if seen.counts.contexts == 0:
        return Structure("open", "Nothing was seen yet.")
    if seen.counts.contexts == 1:
        return Structure("open", f"Only one {who} was seen: there is no other to compare it with.")
    M, q = seen.member.shape[1], learner.state.loading.shape[1]
    between, within = explained_variance(learner)
    own = "" if within == 0.0 else f"; individual deviation sd {number(math.sqrt(within), 2)}"
    part = f"{100.0 * between / max(between + within, 1e-300):.0f} %"
    part = "all" if within == 0.0 else part
    if q > 0:
        explain = "explains" if q == 1 else "explain"
        words = (
            f"{plural(who).capitalize()} differ along {counted(q, 'direction')}, which {explain}"
        )
        return Structure("yes", f"{words} {part} of the difference between {plural(who)}{own}.")
    if M == 1:
        few = learner.last_fit is None or learner.tells < PULLS_FOR_GROUPS * seen.counts.contexts
        return _one_group(learner, who, own, few=few)
    if not looks(learner).shown:
        many = f"{plural(who).capitalize()}' rewards are of {M} kinds"
        return Structure("open", f"{many}, but that their means differ is not shown.")
    doubt = 0.0 if learner.last_fit is None else learner.last_fit.doubt
    if doubt > DOUBTFUL:
        words = f"{M} groups are likelier than one, but the probability of one is "
        return Structure("open", f"{words}{number(doubt, 2)}.")
    sure = float(seen.member.max(axis=1).mean())
    if sure < OPEN:
        return Structure(
            "yes",
            f"{M} groups are likely, but who is in which is open: the likeliest group of each "
            f"{who} has a probability of only {100.0 * sure:.0f} % on average.",
        )
    return Structure(
        "yes", f"{M} groups explain {part} of the difference between {plural(who)}{own}."
    )


def _one_group(learner: Levels, who: str, own: str, *, few: bool) -> Structure:
    if few:
        words = f"Groups not yet identified: too little was seen of each {who}."
        return Structure("open", words)
    if not own or not vary(learner):
        words = f"one group, and no sign of a difference between {plural(who)}"
        return Structure("no", f"{plural(who).capitalize()} look alike: {words}.")
    if not clearly_deviate(learner):
        words = f"Groups not yet identified: whether {plural(who)} differ at all is open."
        return Structure("open", words)
    words = f"Groups not yet identified: {plural(who)} differ, but in no common way{own}."
    return Structure("open", words)


def explained_variance(learner: Levels) -> tuple[float, float]:
    """Return the variance between contexts that groups or directions explain, and their own."""
    seen = posterior_now(learner)
    pulls = seen.pulls.sum(axis=1)
    arm = pulls / max(float(pulls.sum()), 1e-300)
    share = seen.member.mean(axis=0) if seen.counts.contexts else np.ones(seen.mean.shape[1])
    around = seen.mean - (seen.mean @ share)[:, None]
    between = float(arm @ (around**2 @ share)) + float(arm @ (learner.effects**2).sum(axis=1))
    return between, float(arm @ (seen.own @ share))
