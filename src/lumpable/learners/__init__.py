"""Learners that decide every round. They know no world: `ask` reads, `tell` writes.

Each is a page of its own. They are imported when they are first named: their steps are compiled,
and the compiler takes longer to import than all the rest of the package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lumpable.learners.catalogue import CATALOGUE, names

if TYPE_CHECKING:
    from lumpable.base.protocols import Learner as Learner
    from lumpable.learners.bai_cl import BAICl as BAICl
    from lumpable.learners.bmf import FactorThompson as FactorThompson
    from lumpable.learners.borrowing import Borrowing as Borrowing
    from lumpable.learners.cab import CAB as CAB
    from lumpable.learners.club import CLUB as CLUB
    from lumpable.learners.cofiba import COFIBA as COFIBA
    from lumpable.learners.dynucb import DynUCB as DynUCB
    from lumpable.learners.exp4 import ConstantExperts as ConstantExperts
    from lumpable.learners.exp4_lumpable import LumpableExperts as LumpableExperts
    from lumpable.learners.factor_bayes import FactorBayes as FactorBayes
    from lumpable.learners.falcon import FALCON as FALCON
    from lumpable.learners.ids_mixture import InformationMixture as InformationMixture
    from lumpable.learners.jain_pal import OCTAL as OCTAL
    from lumpable.learners.jedra import SpectralPolicy as SpectralPolicy
    from lumpable.learners.klucb import KLUCB as KLUCB
    from lumpable.learners.kmeans import ExploreThenKMeans as ExploreThenKMeans
    from lumpable.learners.lattice import LATTICE as LATTICE
    from lumpable.learners.learner import Compiled as Compiled
    from lumpable.learners.learner import Unfit as Unfit
    from lumpable.learners.linucb import LinUCB as LinUCB
    from lumpable.learners.maillard_mannor import AgnosticClusters as AgnosticClusters
    from lumpable.learners.maillard_mannor_known import KnownClusters as KnownClusters
    from lumpable.learners.mixture import MixtureThompson as MixtureThompson
    from lumpable.learners.mts import ModelThompson as ModelThompson
    from lumpable.learners.mucb import ModelUCB as ModelUCB
    from lumpable.learners.nmf import NMFGreedy as NMFGreedy
    from lumpable.learners.nucb import NUCB as NUCB
    from lumpable.learners.online_candidates import OnlineCandidates as OnlineCandidates
    from lumpable.learners.oracle_groups import KnownGroups as KnownGroups
    from lumpable.learners.particle import ParticleThompson as ParticleThompson
    from lumpable.learners.sclub import SCLUB as SCLUB
    from lumpable.learners.shrinkage import Shrinkage as Shrinkage
    from lumpable.learners.squarecb import SquareCB as SquareCB
    from lumpable.learners.successive import SuccessiveElimination as SuccessiveElimination
    from lumpable.learners.suplinrel import SupLinRel as SupLinRel
    from lumpable.learners.thompson_beta import BetaThompson as BetaThompson
    from lumpable.learners.thompson_gaussian import GaussianThompson as GaussianThompson
    from lumpable.learners.ucb import UCB1 as UCB1
    from lumpable.learners.uniform import Uniform as Uniform
    from lumpable.learners.vowpal import VowpalWabbit as VowpalWabbit

_PLACES = {
    "Compiled": "lumpable.learners.learner:Compiled",
    "Learner": "lumpable.base.protocols:Learner",
    "Unfit": "lumpable.learners.learner:Unfit",
    **{entry.place.partition(":")[2]: entry.place for entry in CATALOGUE.values()},
}
"""Where each name is that is imported when it is first asked for."""

_OTHER_ROOMS = ("lumpable.lumps", "lumpable.comparisons")
__all__ = ["CATALOGUE", "names"]
__all__ += [name for name, place in _PLACES.items() if not place.startswith(_OTHER_ROOMS)]


def __getattr__(name: str) -> Any:
    """Import a learner's module when the learner is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name].partition(":")[0]), name)


def __dir__() -> list[str]:
    """Name everything that can be asked for."""
    return sorted({*__all__, *_PLACES})
