"""The learners by name, and how one is made for a problem. Imports none of them until it is made.

A learner is any class with `ask` and `tell` that is made from `contexts`, `arms` and, if it names
them, `seed`, `horizon` and what only an oracle can know: it is handed what it names in its
signature.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest

if TYPE_CHECKING:
    from lumpable.base.protocols import Learner


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a learner is, and what its name sets."""

    place: str
    """Its module and class, `module:Class`."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ from the defaults of the class."""
    title: str = ""


def _at(place: str, title: str, **sets: Any) -> Entry:
    return Entry(f"lumpable.learners.{place}", sets, title)


def _lumps(place: str, title: str) -> Entry:
    return Entry(f"lumpable.lumps.{place}", {}, title)


def _plan(name: str, title: str) -> Entry:
    return Entry(f"lumpable.comparisons.planned:{name}", {}, title)


CATALOGUE: dict[str, Entry] = {
    "lumps": _lumps("core.levels:ThreeLevels", "Lumps"),
    "lumps-policy": _lumps("core.top_two:TopTwo", "Lumps, finding a policy"),
    # on their own, and one for all
    "uniform": _at("uniform:Uniform", "uniform play"),
    "ucb": _at("ucb:UCB1", "UCB1 per context"),
    "ucb-one": _at("ucb:UCB1", "UCB1, one for all", pooled=True),
    "kl-ucb": _at("klucb:KLUCB", "KL-UCB per context"),
    "beta-thompson": _at("thompson_beta:BetaThompson", "Beta Thompson per context"),
    "beta-thompson-one": _at(
        "thompson_beta:BetaThompson", "Beta Thompson, one for all", pooled=True
    ),
    "thompson": _at("thompson_gaussian:GaussianThompson", "Gaussian Thompson per context"),
    "thompson-one": _at(
        "thompson_gaussian:GaussianThompson", "Gaussian Thompson, one for all", pooled=True
    ),
    "elimination": _at("successive:SuccessiveElimination", "successive elimination per context"),
    "shrinkage": _at("shrinkage:Shrinkage", "empirical-Bayes Thompson, one group"),
    "factor-bayes": _at("factor_bayes:FactorBayes", "empirical-Bayes Thompson, factors and levels"),
    # experts and linear models
    "exp4": _at("exp4_lumpable:LumpableExperts", "EXP4, lumpable experts"),
    "exp4-constant": _at("exp4:ConstantExperts", "EXP4, constant experts"),
    "linucb": _at("linucb:LinUCB", "LinUCB, one feature per cell"),
    "linucb-additive": _at("linucb:LinUCB", "LinUCB, additive features", features="additive"),
    "suplinrel": _at("suplinrel:SupLinRel", "SupLinRel"),
    # clustering
    "club": _at("club:CLUB", "CLUB"),
    "rclumb": _at("club:CLUB", "RCLUMB", alpha2=1.0, slack=0.3, misfit=0.2),
    "uniclub": _at("club:CLUB", "UniCLUB", explore=5.0),
    "sclub": _at("sclub:SCLUB", "SCLUB"),
    "cofiba": _at("cofiba:COFIBA", "COFIBA"),
    "cab": _at("cab:CAB", "CAB"),
    "dynucb": _at("dynucb:DynUCB", "DynUCB"),
    "kmeans": _at("kmeans:ExploreThenKMeans", "explore, then k-means"),
    "borrowing": _at("borrowing:Borrowing", "borrowing while the bias is small"),
    "nucb": _at("nucb:NUCB", "NUCB"),
    "bai-cl": _at("bai_cl:BAICl", "BAI-Cl, best arms first", compare=False),
    "bai-cl-plus": _at("bai_cl:BAICl", "BAI-Cl++, best arms first"),
    # latent groups
    "mucb": _at("mucb:ModelUCB", "mUCB, known means"),
    "mts": _at("mts:ModelThompson", "mTS, Thompson that knows the groups' means"),
    "maillard-mannor-known": _at(
        "maillard_mannor_known:KnownClusters", "Maillard and Mannor, known distributions"
    ),
    "maillard-mannor": _at("maillard_mannor:AgnosticClusters", "Maillard and Mannor, agnostic"),
    "lattice": _at("lattice:LATTICE", "LATTICE"),
    "mixture": _at("mixture:MixtureThompson", "mixture Thompson, Gibbs"),
    "ids-mixture": _at("ids_mixture:InformationMixture", "information-directed sampling, mixture"),
    "online-candidates": _at(
        "online_candidates:OnlineCandidates", "online candidates, arms offered to all"
    ),
    "oracle-groups": _at("oracle_groups:KnownGroups", "Thompson that knows the grouping"),
    # low rank
    "nmf": _at("nmf:NMFGreedy", "NMF epsilon-greedy"),
    "bmf": _at("bmf:FactorThompson", "Bayesian matrix-factorisation Thompson"),
    "particle": _at("particle:ParticleThompson", "particle Thompson"),
    "jain-pal": _at("jain_pal:OCTAL", "Jain and Pal"),
    "jedra": _at("jedra:SpectralPolicy", "Jedra et al., best policy"),
    # regression oracles
    "squarecb": _at("squarecb:SquareCB", "SquareCB, per cell"),
    "squarecb-additive": _at("squarecb:SquareCB", "SquareCB, additive", oracle="additive"),
    "squarecb-lumpable": _at("squarecb:SquareCB", "SquareCB, lumpable", oracle="lumpable"),
    "squarecb-low-rank": _at("squarecb:SquareCB", "SquareCB, low rank", oracle="low rank"),
    "falcon": _at("falcon:FALCON", "FALCON, per cell"),
    "falcon-additive": _at("falcon:FALCON", "FALCON, additive", oracle="additive"),
    "falcon-lumpable": _at("falcon:FALCON", "FALCON, lumpable", oracle="lumpable"),
    "falcon-low-rank": _at("falcon:FALCON", "FALCON, low rank", oracle="low rank"),
    "vowpal": _at("vowpal:VowpalWabbit", "Vowpal Wabbit SquareCB"),
    # plans, played live or in bulk
    "algorithm-4": _plan("algorithm_4", "Algorithm 4, as printed"),
    "algorithm-6": _plan("algorithm_6", "Algorithm 6, as printed"),
    "elimination-plan": _plan("elimination_plan", "phased elimination, a plan"),
}
ORACLES = ("groups", "group", "group_means", "frequency")
"""What only an oracle can know: r, each context's group, the groups' means, nu."""


def names() -> tuple[str, ...]:
    """Return the names of all learners."""
    return tuple(CATALOGUE)


def find(name: str) -> tuple[Callable[..., Learner], dict[str, Any]]:
    """Return the class of a learner by its name or by `module:Class`, and what the name sets."""
    entry = CATALOGUE.get(name)
    if entry is None and ":" not in name:
        hint = nearest(name, CATALOGUE)
        raise BadArgument("learner", "a known name or module:Class", f"{name!r}{hint}")
    entry = entry or Entry(name)
    module, _, attribute = entry.place.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as cause:
        raise BadArgument("learner", why=f"cannot import {entry.place!r}: {cause}") from cause
    return found, dict(entry.sets)
