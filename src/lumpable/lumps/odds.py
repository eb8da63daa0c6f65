"""How likely other models are, and what is believed, in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from lumpable.base.words import counted, number
from lumpable.lumps import rivals, search
from lumpable.lumps.beliefs import Row
from lumpable.lumps.evidence import evidence as log_evidence
from lumpable.lumps.factors import low_rank
from lumpable.lumps.laws import now
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import (
    Counts,
    Fit,
    gathered,
    middle_level,
    posterior,
    strengths,
    top_level,
)

OPEN = 0.8
"""Memberships are open while the likeliest group of a context has less than this on average."""
FEW = search.PULLS_FOR_GROUPS
"""With fewer rewards a context on average, nothing can be said of differences."""
EM_STEPS = 5


def evidence(learner: ThreeLevels) -> list[Row]:
    """Return how likely other models make what was seen: more or fewer groups, alike or not.

    `difference` is the log evidence less that of the model believed now, settled anew on all that
    was seen; `odds` says it in words. Nothing seen, no rows.
    """
    counts = learner.counts()
    if counts.contexts == 0:
        return []
    own, one = rivals.believed(learner, counts), search.one_group(counts)
    tried = [own, *_best_of_each(rivals.neighbours(counts, own)), one, *_alike_or_not(counts, own)]
    factored = low_rank(counts, one, replace(one, evidence=-math.inf))
    tried += [factored] if factored.rank > 0 else []
    rows: dict[str, Row] = {}
    for fit in tried:
        rows.setdefault(_model(fit), {
            "model": _model(fit), "believed": fit is own, "groups": fit.groups, "m0": fit.m0,
            "rank": fit.rank, "log_evidence": fit.evidence,
            "difference": fit.evidence - own.evidence,
            "odds": "believed now" if fit is own else _odds(fit.evidence - own.evidence),
        })  # fmt: skip
    return list(rows.values())


def _best_of_each(fits: Iterable[Fit]) -> list[Fit]:
    """Return the best fit with each number of groups."""
    best: dict[int, Fit] = {}
    for fit in fits:
        if fit.groups not in best or fit.evidence > best[fit.groups].evidence:
            best[fit.groups] = fit
    return list(best.values())


def _alike_or_not(counts: Counts, own: Fit) -> Iterator[Fit]:
    """Yield the same groups of contexts that are all alike, and of such that deviate."""
    if own.rank == 0:
        others = strengths(counts.real)[:-1] if math.isinf(own.m0) else [math.inf]
        held = (_held(counts, own, float(m0)) for m0 in others)
        yield max(held, key=lambda fit: fit.evidence)


def _held(counts: Counts, fit: Fit, m0: float) -> Fit:
    """Go on from a fit by EM with m0 held there."""
    for _ in range(EM_STEPS):
        pulls, totals = gathered(counts, fit.member, m0)
        if fit.groups > 1:
            level = middle_level(counts, pulls, totals, fit.kappa, fit.noise)
        else:
            k0, p0 = top_level(counts.real, pulls[:, 0], totals[:, 0], fit.noise)
            level = k0, np.full(counts.arms, p0), fit.hold, k0, p0
        kappa, centre, hold, k0, p0 = level
        fit = replace(
            fit, pulls=pulls, totals=totals, kappa=kappa, centre=centre, hold=hold, k0=k0, p0=p0,
            m0=m0,
        )  # fmt: skip
        if fit.groups == 1:
            break
        member, _ = posterior(counts, m0, fit.noise, kappa, centre, fit.share, pulls, totals)
        fit = replace(fit, member=member)
    return replace(fit, evidence=log_evidence(counts, fit))


def _model(fit: Fit) -> str:
    if fit.rank > 0:
        return f"{counted(fit.rank, 'direction')} along which contexts differ"
    kind = "contexts alike" if math.isinf(fit.m0) else "contexts deviate"
    return f"{counted(fit.groups, 'group')}, {kind}"


def _odds(difference: float) -> str:
    """Say odds in words.

    >>> _odds(-3.0), _odds(0.3), _odds(-50.0)
    ('20.1 times less likely', 'about as likely', 'more than a million times less likely')
    """
    if abs(difference) < 1.0:
        return "about as likely"
    times = math.exp(min(abs(difference), 20.0))
    many = "more than a million" if times > 1e6 else number(times)
    return f"{many} times {'less' if difference < 0 else 'more'} likely"


# --- In words -------------------------------------------------------------------------------------


def summary(learner: ThreeLevels) -> str:
    """Say in a sentence or two what is believed of contexts.

    The explained share is the variance of group means between contexts, arms weighted by pulls,
    against the same plus the variance of contexts around their group that m0 implies.
    """
    seen = now(learner)
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
    if M == 1 and (learner.fit is None or learner.tells < FEW * seen.counts.contexts):
        return "Groups not yet identified: too little was seen of each context."
    if M == 1 and within == 0.0:
        return "Contexts look alike: one group, and no sign of a difference between contexts."
    if M == 1:
        return f"Groups not yet identified: contexts differ, but in no common way{own}."
    sure = float(seen.member.max(axis=1).mean())
    if sure < OPEN:
        return (
            f"{M} groups are likely, but who is in which is open: the likeliest group of a context "
            f"has a probability of only {100.0 * sure:.0f} % on average."
        )
    return f"{M} groups explain {part} of the difference between contexts{own}."


def explained(learner: ThreeLevels) -> tuple[float, float]:
    """Return the variance between contexts that groups or directions explain, and their own."""
    seen = now(learner)
    pulls = seen.pulls.sum(axis=1)
    arm = pulls / max(float(pulls.sum()), 1e-300)
    share = seen.member.mean(axis=0) if seen.counts.contexts else np.ones(seen.mean.shape[1])
    around = seen.mean - (seen.mean @ share)[:, None]
    between = float(arm @ (around**2 @ share)) + float(arm @ (learner.state.loading**2).sum(axis=1))
    strength = seen.m0 if seen.counts.real else 1.0 + seen.m0
    return between, float(arm @ (seen.spread @ share)) / strength
