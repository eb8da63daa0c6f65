"""What is believed of contexts, in a sentence or two."""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.words import counted, number
from lumpable.lumps.belief.looks import looks
from lumpable.lumps.belief.posterior import posterior_now
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.model.search import PULLS_FOR_GROUPS

OPEN = 0.8
"""Memberships are open while the likeliest group of a context has less than this on average."""


def summary(learner: Levels) -> str:
    """Say in a few sentences what is believed of contexts, and what that rests on."""
    seen = looks(learner)
    return " ".join([_structure(learner, shown=seen.shown), *seen.notes])


def _structure(learner: Levels, *, shown: bool) -> str:
    """Say whether contexts differ, and how.

    The explained share is the variance of group means between contexts, arms weighted by pulls,
    against the same plus the variance of contexts around their group that m0 implies.
    """
    seen = posterior_now(learner)
    if seen.counts.contexts == 0:
        return "Nothing was seen yet."
    if seen.counts.contexts == 1:
        return "Only one context was seen: there is no other to compare it with."
    M, q = seen.member.shape[1], learner.state.loading.shape[1]
    between, within = explained(learner)
    own = "" if within == 0.0 else f"; individual deviation sd {number(math.sqrt(within), 2)}"
    part = f"{100.0 * between / max(between + within, 1e-300):.0f} %"
    part = "all" if within == 0.0 else part
    if q > 0:
        explain = "explains" if q == 1 else "explain"
        return (
            f"Contexts differ along {counted(q, 'direction')}, which {explain} {part} of the "
            f"difference between contexts{own}."
        )
    if M == 1 and (
        learner.last_fit is None or learner.tells < PULLS_FOR_GROUPS * seen.counts.contexts
    ):
        return "Groups not yet identified: too little was seen of each context."
    if M == 1 and within == 0.0:
        return "Contexts look alike: one group, and no sign of a difference between contexts."
    if M == 1:
        return f"Groups not yet identified: contexts differ, but in no common way{own}."
    if not shown:
        return f"Contexts' rewards are of {M} kinds, but that their means differ is not shown."
    sure = float(seen.member.max(axis=1).mean())
    if sure < OPEN:
        return (
            f"{M} groups are likely, but who is in which is open: the likeliest group of a context "
            f"has a probability of only {100.0 * sure:.0f} % on average."
        )
    return f"{M} groups explain {part} of the difference between contexts{own}."


def explained(learner: Levels) -> tuple[float, float]:
    """Return the variance between contexts that groups or directions explain, and their own."""
    seen = posterior_now(learner)
    pulls = seen.pulls.sum(axis=1)
    arm = pulls / max(float(pulls.sum()), 1e-300)
    share = seen.member.mean(axis=0) if seen.counts.contexts else np.ones(seen.mean.shape[1])
    around = seen.mean - (seen.mean @ share)[:, None]
    between = float(arm @ (around**2 @ share)) + float(arm @ (learner.effects**2).sum(axis=1))
    return between, float(arm @ (seen.own @ share))
