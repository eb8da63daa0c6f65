"""The description of an experiment, checked before anything runs.

One description serves TOML files and Python alike: a mapping with `horizon` or `pulls`, `seeds`,
`learner` and `world`. A bad value is a `Refused` that knows where it stands in the description.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra
from lumpable.base.fingerprint import digest
from lumpable.base.words import nearest
from lumpable.comparisons import world_specs
from lumpable.comparisons.cell import Cell, LearnerSpec, WorldSpec, missing_methods, own_seed, reach
from lumpable.comparisons.positions import Place
from lumpable.comparisons.rows import as_json
from lumpable.comparisons.values import (
    Refused,
    check_key,
    check_labels,
    check_type,
    items,
    label_of,
    refusal,
    text,
    whole,
)
from lumpable.learners import catalogue
from lumpable.worlds.scene import Scene

TOP = ("horizon", "pulls", "seeds", "learner", "world")
SEEDS = 20
"""How many seeds by default."""
MOST_SEEDS = 1_000_000
MADE_FOR = ("contexts", "arms", "seed", "horizon")
"""What a learner is always handed, so that no description may set it."""
HANDED = (*MADE_FOR, "sd", *catalogue.ORACLES)
LARGEST = 1_000_000
"""Learners are tried out beforehand on the smallest world, if it has at most this many pairs."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """Learners x worlds x seeds."""

    learners: tuple[LearnerSpec, ...]
    worlds: tuple[WorldSpec, ...]
    horizons: tuple[int, ...]
    """One for each world."""
    seeds: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    """Worlds that need a missing extra, and how to install it."""

    def cells(self) -> list[Cell]:
        """Return all cells in the order of their rows: by learner, by world, by seed."""
        return [
            Cell(learner, world, horizon, seed)
            for learner in self.learners
            for world, horizon in zip(self.worlds, self.horizons, strict=True)
            for seed in self.seeds
        ]


def parse(
    said: Mapping[str, Any], folder: Path | None = None, *, optional: bool = False
) -> Experiment:
    """Check a description and return the experiment; nothing runs yet.

    Paths and the user's modules are looked for in `folder`. With `optional`, worlds that need a
    missing extra are left out.
    """
    for key in said:
        check_key((), key, TOP, "an experiment")
    seeds = _seeds(said.get("seeds", SEEDS))
    left_out: list[str] = []
    found = world_specs.draw(said, folder, seeds[0], left_out if optional else None)
    worlds, scenes, horizons = zip(*found, strict=True)
    learners = tuple(
        _learner(("learner", i), item, folder) for i, item in enumerate(items(said, "learner"))
    )
    check_labels("learner", [spec.label for spec in learners])
    _try_out(said, learners, worlds, scenes, horizons, seeds[0])
    return Experiment(learners, worlds, horizons, seeds, tuple(left_out))


def _seeds(said: Any) -> tuple[int, ...]:
    if isinstance(said, Iterable) and not isinstance(said, str | Mapping):
        seeds = tuple(
            whole(("seeds", i), "seeds", seed, 0, MOST_ROUNDS) for i, seed in enumerate(said)
        )
        if not seeds or len(set(seeds)) != len(seeds):
            raise Refused(("seeds",), "seeds", "different numbers", f"{list(seeds)}")
        return seeds
    number = whole(("seeds",), "seeds", said, 1)
    if number > MOST_SEEDS:
        raise Refused(("seeds",), "seeds", f"at most {MOST_SEEDS:,} seeds", repr(said))
    return tuple(range(number))


# --- Learners ---------------------------------------------------------------------------------


def _learner(place: Place, item: Any, folder: Path | None) -> LearnerSpec:
    given = dict(item) if isinstance(item, Mapping) else {"name": item}
    if "name" not in given:
        raise Refused(place, "learner", "a key 'name'", "none")
    name, label = given.pop("name"), given.pop("label", None)
    if label is not None:
        text(place, "label", label)
    at: Place = (*place, "name") if isinstance(item, Mapping) else place
    if not isinstance(name, str) and not callable(name):
        raise Refused(at, "learner", "a name or a class", repr(name))
    draft = LearnerSpec("", name, given, folder="" if folder is None else str(folder))
    reach(draft.folder)
    found, sets = _maker(at, name)
    title = catalogue.CATALOGUE[name].title or name if name in catalogue.CATALOGUE else ""
    try:
        signature = inspect.signature(found).parameters
    except (TypeError, ValueError) as error:
        raise Refused(at, "learner", "a class or a callable that makes one", repr(name)) from error
    who = title or _name_of(name)
    _check_parameters(place, who, signature, given)
    for key, parameter in signature.items():
        free = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        needed = parameter.default is parameter.empty and not free
        if needed and key not in (*HANDED, *given, *sets):
            raise Refused(at, who, why=f"needs a value for its parameter {key!r}")
    differs = {k: v for k, v in (sets | given).items() if signature[k].default != v}
    if label != title and (label is not None or not title):
        differs["name"] = name if isinstance(name, str) else _place_of(name)
    if not title:
        differs["source"] = digest(found)
    return LearnerSpec(
        label=label_of(who, given) if label is None else label,
        name=name,
        given=given,
        parameters=as_json(differs),
        knows=",".join(k for k in signature if k in catalogue.ORACLES and k not in given),
        folder=draft.folder,
    )


def _maker(place: Place, name: Any) -> tuple[Any, dict[str, Any]]:
    """Return the callable that makes a learner, and the parameters that its name sets."""
    if not isinstance(name, str):
        return name, {}
    if ":" not in name and name not in catalogue.CATALOGUE:
        got = f"{name!r}{nearest(name.lower(), _aliases())}; lb.learners.names() lists them all"
        raise Refused(place, "learner", "a known name or module:Class", got)
    try:
        return catalogue.find(name)
    except BadArgument as error:
        raise refusal(place, None, "", error) from error
    except (Exception, SystemExit) as error:  # of the user's module
        words = f"cannot import {name!r}: {type(error).__name__}: {error}"
        raise Refused(place, "learner", why=words.partition("\n")[0]) from error


def _aliases() -> dict[str, str]:
    """Return the words that may be meant for a learner (its name, class or title), and its name."""
    words: dict[str, str] = {}
    for key, entry in catalogue.CATALOGUE.items():
        for word in (key, entry.place.rpartition(":")[2], entry.title):
            words.setdefault(word.lower(), key)
    return words


def _name_of(name: Any) -> str:
    return name if isinstance(name, str) else str(getattr(name, "__name__", name))


def _place_of(found: Any) -> str:
    qualified = getattr(found, "__qualname__", type(found).__qualname__)
    return f"{getattr(found, '__module__', '')}:{qualified}"


def _check_parameters(
    place: Place, who: str, signature: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> None:
    free = [k for k, p in signature.items() if k not in MADE_FOR and p.kind is not p.VAR_KEYWORD]
    for key, value in given.items():
        check_key(place, key, ("label", *free), who, what="parameter")
        check_type(place, key, signature[key], value)


def _try_out(
    said: Mapping[str, Any],
    learners: Sequence[LearnerSpec],
    worlds: Sequence[WorldSpec],
    scenes: Sequence[Scene],
    horizons: Sequence[int],
    seed: int,
) -> None:
    """Make each learner once, so that values it refuses are found before anything runs."""
    small = min(range(len(scenes)), key=lambda i: scenes[i].world.mean.size)
    if scenes[small].world.mean.size > LARGEST:
        return
    from lumpable.learners.learner import Unfit

    for i, spec in enumerate(learners):
        unlike = _unlike(spec)
        if not spec.given and not unlike:
            continue
        place: Place = ("learner", i)
        try:
            made = spec.make(scenes[small], horizon=horizons[small], seed=own_seed(seed))
        except (Unfit, MissingExtra):
            continue  # its row will say so
        except ValueError as error:
            who = f"{spec.label} in {worlds[small].label}"
            raise refusal(place, items(said, "learner")[i], who, error) from error
        except (Exception, SystemExit):
            continue  # the learner's fault, not that of a value: the row of the cell will say so
        for method in missing_methods(made) if unlike else ():
            item = items(said, "learner")[i]
            place = (*place, "name") if isinstance(item, Mapping) else place
            raise Refused(place, spec.label, "methods 'ask' and 'tell'", f"no {method!r}")


def _unlike(spec: LearnerSpec) -> bool:
    """Whether its class lacks the methods of a learner; its objects may still have them."""
    if isinstance(spec.name, str) and spec.name in catalogue.CATALOGUE:
        return False
    found = catalogue.find(spec.name)[0] if isinstance(spec.name, str) else spec.name
    return isinstance(found, type) and bool(missing_methods(found))
