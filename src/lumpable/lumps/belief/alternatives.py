"""How likely alternatives are: other models of what was seen than the one believed now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lumpable.base.words import counted, number, plural
from lumpable.lumps.belief.posterior import coins_now, current_fit
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts, group_sums, sample
from lumpable.lumps.model.evidence import evidence
from lumpable.lumps.model.factors import low_rank
from lumpable.lumps.model.fit import Fit, memberships
from lumpable.lumps.model.rivals import neighbours
from lumpable.lumps.model.strengths import middle_level, own_strength_grid, top_level

EM_STEPS = 5


@dataclass(frozen=True, slots=True)
class Alternative:
    """A model, and how likely it makes what was seen."""

    model: str
    believed: bool
    groups: int
    m0: float
    """How closely contexts keep to their group, in rewards; infinite: they are alike."""
    rank: int
    """Directions along which contexts differ."""
    log_evidence: float
    difference: float
    """The log evidence less that of the model believed now."""
    odds: str
    """The same in words."""


def alternatives(
    learner: Levels, who: str = "context", cells: int | None = None
) -> list[Alternative]:
    """Return how likely other models make what was seen: more or fewer groups, alike or not.

    The model believed now is among them, fitted again to all that was seen. Empty before the
    first reward. `who` is what to call a context. With `cells`, larger tables are judged by a
    sample of their contexts (see `sample_size`), which tells less and so makes odds smaller.
    """
    counts = coins_now(learner)
    counts = counts if cells is None else sample(counts, cells)[0]
    if counts.contexts == 0:
        return []
    own, one = current_fit(learner, counts), search.one_group(counts)
    tried = [own, *_best_of_each(neighbours(counts, own)), one, *_alike_or_not(counts, own)]
    factored = low_rank(counts, one, replace(one, evidence=-math.inf))
    tried += [factored] if factored.rank > 0 else []
    rows: dict[str, Alternative] = {}
    for fit in tried:
        more = fit.evidence - own.evidence
        rows.setdefault(_model(fit, who), Alternative(
            _model(fit, who), fit is own, fit.groups, fit.m0, fit.rank, fit.evidence, more,
            "believed now" if fit is own else _odds(more),
        ))  # fmt: skip
    return list(rows.values())


def sample_size(learner: Levels, cells: int) -> int:
    """Return how many contexts `alternatives` judges by."""
    return sample(coins_now(learner), cells)[0].contexts


def _best_of_each(fits: Iterable[Fit]) -> list[Fit]:
    """Return the best fit with each number of groups."""
    best: dict[int, Fit] = {}
    for fit in fits:
        if fit.groups not in best or fit.evidence > best[fit.groups].evidence:
            best[fit.groups] = fit
    return list(best.values())


def _alike_or_not(counts: Counts, own: Fit) -> Iterator[Fit]:
    """Yield the same groups with contexts that deviate if they are alike now, and the reverse.

    How much they deviate is sought as search does, without own means of two values: those are
    likelier wherever the means of the groups have two values, though all contexts are alike.
    """
    if own.rank == 0:
        plain = replace(counts, ends=None)
        others = own_strength_grid(counts)[:-1] if math.isinf(own.m0) else [math.inf]
        held = (held_at(plain, own, float(m0)) for m0 in others)
        best = max(held, key=lambda fit: fit.evidence)
        yield replace(best, evidence=evidence(counts, best))


def held_at(counts: Counts, fit: Fit, m0: float) -> Fit:
    """Go on from a fit by EM with m0 held there."""
    for _ in range(EM_STEPS):
        pulls, totals = group_sums(counts, fit.member, m0)
        if fit.groups > 1:
            level = middle_level(pulls, totals, fit.kappa)
        else:
            k0, p0 = top_level(pulls[:, 0], totals[:, 0])
            level = k0, np.full(counts.arms, p0), fit.prior_weight, k0, p0
        kappa, centre, prior_weight, k0, p0 = level
        fit = replace(
            fit, pulls=pulls, totals=totals, kappa=kappa, centre=centre,
            prior_weight=prior_weight, k0=k0, p0=p0, m0=m0,
        )  # fmt: skip
        if fit.groups == 1:
            break
        member, _ = memberships(counts, m0, kappa, centre, fit.share, pulls, totals)
        fit = replace(fit, member=member)
    return replace(fit, evidence=evidence(counts, fit))


def _model(fit: Fit, who: str) -> str:
    if fit.rank > 0:
        return f"{counted(fit.rank, 'direction')} along which {plural(who)} differ"
    kind = f"{plural(who)} alike" if math.isinf(fit.m0) else f"{plural(who)} deviate"
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
