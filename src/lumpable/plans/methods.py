"""Every method of the package, by its goal, in the order in which they are listed."""

from __future__ import annotations

from lumpable.plans import pac, reductions, regret, standard
from lumpable.plans.making import Algorithm

POLICY: tuple[Algorithm[...], ...] = (
    pac.any_contexts,
    pac.near_uniform,
    pac.candidates,
    standard.naive,
    standard.elimination,
    reductions.cheaper,
    reductions.low_rank,
)
"""Plans that end with a policy."""

REGRET: tuple[Algorithm[...], ...] = (
    regret.equal_groups,
    regret.any_groups,
    regret.fresh_phases,
    regret.fresh_guesses,
    regret.candidates,
    reductions.any_contexts_online,
    reductions.unknown_groups,
    reductions.never_worse,
    standard.online,
    reductions.low_rank_online,
)
"""Plans that play until they are cut off."""

BY_NAME = {make.about.name: make for make in (*POLICY, *REGRET)}
"""All of them by their public names, which files keep."""
