"""What an experiment says, checked before anything runs: learners, worlds, horizons and seeds.

One description serves TOML files and Python alike: a mapping with `horizon` or `pulls`, `seeds`,
`learner` and `world`. What is wrong is a `Refused` that knows its place in the description.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumpable.base.extras import MissingExtra
from lumpable.comparisons import described
from lumpable.comparisons.cell import Cell, LearnerSpec, WorldSpec, as_json, lacking, own_seed
from lumpable.comparisons.code import digest
from lumpable.comparisons.positions import Place
from lumpable.comparisons.values import (
    Refused,
    distinct,
    hinted,
    items,
    known,
    labelled,
    text,
    typed,
    whole,
)
from lumpable.learners import catalogue
from lumpable.worlds.scene import Scene

TOP = ("horizon", "pulls", "seeds", "learner", "world")
SEEDS = 20
"""How many seeds there are unless an experiment says so."""
MADE_FOR = ("contexts", "arms", "seed", "horizon")
"""What a learner is handed, and nobody else says."""
HANDED = (*MADE_FOR, "sd", *catalogue.ORACLES)
LARGEST = 1_000_000
"""A learner is tried out beforehand on the smallest world, if that has at most so many pairs."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """Learners x worlds x seeds."""

    learners: tuple[LearnerSpec, ...]
    worlds: tuple[WorldSpec, ...]
    horizons: tuple[int, ...]
    """One for each world."""
    seeds: tuple[int, ...]

    def cells(self) -> list[Cell]:
        """Return all cells in the order of their rows: by learner, by world, by seed."""
        return [
            Cell(learner, world, horizon, seed)
            for learner in self.learners
            for world, horizon in zip(self.worlds, self.horizons, strict=True)
            for seed in self.seeds
        ]


def planned(said: Mapping[str, Any], folder: Path | None = None) -> Experiment:
    """Check what an experiment says and return it; nothing has run then.

    Paths and modules of one's own are looked for in `folder`.
    """
    for key in said:
        known((), key, TOP, "an experiment")
    worlds, drafts = described.described(said, folder)
    seeds = _seeds(said.get("seeds", SEEDS))
    scenes, horizons = described.drawn(said, worlds, drafts, seeds[0])
    learners = tuple(
        _learner(("learner", i), item, folder) for i, item in enumerate(items(said, "learner"))
    )
    distinct("learner", [spec.label for spec in learners])
    _try_out(said, learners, worlds, scenes, horizons, seeds[0])
    return Experiment(learners, worlds, horizons, seeds)


def _seeds(said: Any) -> tuple[int, ...]:
    if isinstance(said, Iterable) and not isinstance(said, str | Mapping):
        seeds = tuple(whole(("seeds", i), "seeds", seed, 0) for i, seed in enumerate(said))
        if not seeds or len(set(seeds)) != len(seeds):
            raise Refused(("seeds",), f"seeds: expected different numbers, got {list(seeds)}")
        return seeds
    return tuple(range(whole(("seeds",), "seeds", said, 1)))


# --- Learners ---------------------------------------------------------------------------------


def _learner(place: Place, item: Any, folder: Path | None) -> LearnerSpec:
    given = dict(item) if isinstance(item, Mapping) else {"name": item}
    if "name" not in given:
        raise Refused(place, "learner: expected a key 'name', got none")
    name, label = given.pop("name"), given.pop("label", None)
    text(place, "label", label, optional=True)
    at: Place = (*place, "name") if isinstance(item, Mapping) else place
    if not isinstance(name, str) and not callable(name):
        raise Refused(at, f"learner: expected a name or a class, got {name!r}")
    draft = LearnerSpec("", name, given, folder="" if folder is None else str(folder))
    draft.reach()
    found, sets = _found(at, name)
    title = catalogue.CATALOGUE[name].title or name if name in catalogue.CATALOGUE else ""
    try:
        signature = inspect.signature(found).parameters
    except (TypeError, ValueError) as error:
        raise Refused(at, f"learner: expected a class or what makes one, got {name!r}") from error
    _check_parameters(place, title or _called(name), signature, given)
    for key, parameter in signature.items():
        free = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if (
            parameter.default is parameter.empty
            and key not in (*HANDED, *given, *sets)
            and not free
        ):
            who = title or _called(name)
            raise Refused(at, f"{who}: needs a parameter {key!r}, which nobody gives")
    differs = {k: v for k, v in (sets | given).items() if signature[k].default != v}
    if label != title and (label is not None or not title):
        differs["name"] = name if isinstance(name, str) else _place_of(name)
    if not title:
        differs["source"] = digest(found)
    return LearnerSpec(
        label=labelled(title or _called(name), given) if label is None else label,
        name=name,
        given=given,
        parameters=as_json(differs),
        knows=",".join(k for k in signature if k in catalogue.ORACLES and k not in given),
        folder=draft.folder,
    )


def _found(place: Place, name: Any) -> tuple[Any, dict[str, Any]]:
    """Return what makes a learner, and what its name sets."""
    if not isinstance(name, str):
        return name, {}
    if ":" not in name and name not in catalogue.CATALOGUE:
        words = f"learner: expected a known name or module:Class, got {name!r}{_near(name)}"
        raise Refused(place, f"{words}; docs/learners.md lists them all")
    try:
        return catalogue.find(name)
    except ValueError as error:
        raise Refused(place, str(error)) from error
    except (Exception, SystemExit) as error:  # of a module of one's own
        words = f"learner: cannot import {name!r}: {type(error).__name__}: {error}"
        raise Refused(place, words.partition("\n")[0]) from error


def _near(name: str) -> str:
    """Name the nearest learner, by its name, its title or its class."""
    words: dict[str, str] = {}
    for key, entry in catalogue.CATALOGUE.items():
        for word in (key, entry.place.rpartition(":")[2], entry.title):
            words.setdefault(word.lower(), key)
    near = difflib.get_close_matches(name.lower(), words, n=1, cutoff=0.3)
    return f"; the nearest is {words[near[0]]!r}" if near else ""


def _called(name: Any) -> str:
    return name if isinstance(name, str) else str(getattr(name, "__name__", name))


def _place_of(found: Any) -> str:
    qualified = getattr(found, "__qualname__", type(found).__qualname__)
    return f"{getattr(found, '__module__', '')}:{qualified}"


def _check_parameters(
    place: Place, who: str, signature: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> None:
    free = [k for k, p in signature.items() if k not in MADE_FOR and p.kind is not p.VAR_KEYWORD]
    for key, value in given.items():
        known(place, key, ("label", *free), who, what="parameter")
        typed(place, key, signature[key], value)


def _try_out(
    said: Mapping[str, Any],
    learners: Sequence[LearnerSpec],
    worlds: Sequence[WorldSpec],
    scenes: Sequence[Scene],
    horizons: Sequence[int],
    seed: int,
) -> None:
    """Make each learner once: a value that it refuses is found out before anything runs."""
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
            made = spec.made(scenes[small], horizon=horizons[small], seed=own_seed(seed))
        except (Unfit, MissingExtra):
            continue  # a row will say so
        except ValueError as error:
            item = items(said, "learner")[i]
            first = str(error).partition(":")[0]
            words = f"{spec.label} in {worlds[small].label}: {error}"
            own = isinstance(item, Mapping) and first in item
            raise Refused((*place, first) if own else place, hinted(words)) from error
        except (Exception, SystemExit):
            continue  # its own fault, not that of a value: the row of the cell will say so
        for method in lacking(made) if unlike else ():
            item = items(said, "learner")[i]
            place = (*place, "name") if isinstance(item, Mapping) else place
            words = f"{spec.label}: expected methods 'ask' and 'tell', got no {method!r}"
            raise Refused(place, words)


def _unlike(spec: LearnerSpec) -> bool:
    """Whether it is a class without the methods of a learner; an object of it may have them."""
    if isinstance(spec.name, str) and spec.name in catalogue.CATALOGUE:
        return False
    found = catalogue.find(spec.name)[0] if isinstance(spec.name, str) else spec.name
    return isinstance(found, type) and bool(lacking(found))
