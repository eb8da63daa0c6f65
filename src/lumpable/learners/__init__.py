"""Learners that decide every round. They know no world: `ask` reads, `tell` writes.

Each is a page of its own. They are imported when they are first named: their steps are compiled,
and the compiler takes longer to import than all the rest of the package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lumpable.learners.catalogue import CATALOGUE, names

if TYPE_CHECKING:
    from lumpable.base.protocols import Learner
    from lumpable.learners.bmf import FactorThompson
    from lumpable.learners.cab import CAB
    from lumpable.learners.club import CLUB
    from lumpable.learners.cofiba import COFIBA
    from lumpable.learners.dynucb import DynUCB
    from lumpable.learners.exp4 import ConstantExperts
    from lumpable.learners.exp4_lumpable import LumpableExperts
    from lumpable.learners.falcon import FALCON
    from lumpable.learners.jain_pal import OCTAL
    from lumpable.learners.jedra import SpectralPolicy
    from lumpable.learners.klucb import KLUCB
    from lumpable.learners.kmeans import ExploreThenKMeans
    from lumpable.learners.lattice import LATTICE
    from lumpable.learners.learner import Compiled, Unfit
    from lumpable.learners.linucb import LinUCB
    from lumpable.learners.maillard_mannor import AgnosticClusters
    from lumpable.learners.maillard_mannor_known import KnownClusters
    from lumpable.learners.mixture import MixtureThompson
    from lumpable.learners.mts import ModelThompson
    from lumpable.learners.mucb import ModelUCB
    from lumpable.learners.nmf import NMFGreedy
    from lumpable.learners.nucb import NUCB
    from lumpable.learners.oracle_groups import KnownGroups
    from lumpable.learners.particle import ParticleThompson
    from lumpable.learners.sclub import SCLUB
    from lumpable.learners.shrinkage import Shrinkage
    from lumpable.learners.squarecb import SquareCB
    from lumpable.learners.successive import SuccessiveElimination
    from lumpable.learners.suplinrel import SupLinRel
    from lumpable.learners.thompson_beta import BetaThompson
    from lumpable.learners.thompson_gaussian import GaussianThompson
    from lumpable.learners.ucb import UCB1
    from lumpable.learners.uniform import Uniform
    from lumpable.learners.vowpal import VowpalWabbit

__all__ = [
    "CAB",
    "CATALOGUE",
    "CLUB",
    "COFIBA",
    "FALCON",
    "KLUCB",
    "LATTICE",
    "NUCB",
    "OCTAL",
    "SCLUB",
    "UCB1",
    "AgnosticClusters",
    "BetaThompson",
    "Compiled",
    "ConstantExperts",
    "DynUCB",
    "ExploreThenKMeans",
    "FactorThompson",
    "GaussianThompson",
    "KnownClusters",
    "KnownGroups",
    "Learner",
    "LinUCB",
    "LumpableExperts",
    "MixtureThompson",
    "ModelThompson",
    "ModelUCB",
    "NMFGreedy",
    "ParticleThompson",
    "Shrinkage",
    "SpectralPolicy",
    "SquareCB",
    "SuccessiveElimination",
    "SupLinRel",
    "Unfit",
    "Uniform",
    "VowpalWabbit",
    "names",
]

_BASE = {
    "Compiled": "lumpable.learners.learner",
    "Learner": "lumpable.base.protocols",
    "Unfit": "lumpable.learners.learner",
}


def __getattr__(name: str) -> Any:
    """Import a learner's module when the learner is first asked for."""
    if name in _BASE:
        return getattr(importlib.import_module(_BASE[name]), name)
    for entry in CATALOGUE.values():
        module, _, found = entry.place.partition(":")
        if found == name:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name everything that can be asked for."""
    return sorted({*__all__, *(entry.place.partition(":")[2] for entry in CATALOGUE.values())})
