"""What an experiment says, checked before anything runs: learners, worlds, horizons and seeds.

One description serves TOML files and Python alike: a mapping with `horizon` or `pulls`, `seeds`,
`learner` and `world`. What is wrong is a `Refused` that knows its place in the description.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.checks import MOST_ROUNDS
from lumpable.experiment.cells import (
    GIVEN,
    KINDS,
    Cell,
    LearnerSpec,
    WorldSpec,
    as_json,
    maker,
    own_seed,
)
from lumpable.experiment.positions import Place
from lumpable.extras import MissingExtra
from lumpable.learners import catalogue
from lumpable.scene import ARRIVALS, Scene
from lumpable.world import World

TOP = ("horizon", "pulls", "seeds", "learner", "world")
SCENE = ("kind", "label", "arrivals", "delay", "drift", "horizon", "pulls")
SEEDS = 20
"""How many seeds there are unless an experiment says so."""
LARGEST = 1_000_000
"""A learner is tried out beforehand on the smallest world, if that has at most so many pairs."""
TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
}
WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a string"}


class Refused(ValueError):
    """Something in an experiment is wrong; `place` says where."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place = place


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
    worlds, drafts = _worlds(said, folder)
    seeds = _seeds(said.get("seeds", SEEDS))
    scenes, horizons = _drawn(said, worlds, drafts, seeds[0])
    learners = tuple(
        _learner(("learner", i), item, folder) for i, item in enumerate(_items(said, "learner"))
    )
    distinct("learner", [spec.label for spec in learners])
    _try_out(said, learners, worlds, scenes, horizons, seeds[0])
    return Experiment(learners, worlds, horizons, seeds)


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
    try:
        found, sets = catalogue.find(name) if isinstance(name, str) else (name, {})
    except ValueError as error:
        raise Refused(at, str(error)) from error
    title = catalogue.CATALOGUE[name].title or name if name in catalogue.CATALOGUE else ""
    signature = inspect.signature(found).parameters
    _check_parameters(place, title or _called(name), signature, given)
    differs = {k: v for k, v in (sets | given).items() if signature[k].default != v}
    if label != title and (label is not None or not title):
        differs["name"] = name if isinstance(name, str) else _place_of(name)
    return LearnerSpec(
        label=_labelled(title or _called(name), given) if label is None else label,
        name=name,
        given=given,
        parameters=as_json(differs),
        knows=",".join(k for k in signature if k in catalogue.ORACLES and k not in given),
        folder=draft.folder,
    )


def _called(name: Any) -> str:
    return name if isinstance(name, str) else str(getattr(name, "__name__", name))


def _place_of(found: Any) -> str:
    qualified = getattr(found, "__qualname__", type(found).__qualname__)
    return f"{getattr(found, '__module__', '')}:{qualified}"


def _labelled(title: str, given: Mapping[str, Any]) -> str:
    return ", ".join([title, *(f"{key}={value}" for key, value in given.items())])


def _check_parameters(
    place: Place, who: str, signature: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> None:
    made_for = {"contexts", "arms", "seed", "horizon"}
    free = [k for k, p in signature.items() if k not in made_for and p.kind is not p.VAR_KEYWORD]
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
    from lumpable.learners.base import Unfit

    for i, spec in enumerate(learners):
        if not spec.given:
            continue
        try:
            spec.made(scenes[small], horizon=horizons[small], seed=own_seed(seed))
        except (Unfit, MissingExtra):
            continue  # a row will say so
        except ValueError as error:
            item = _items(said, "learner")[i]
            first = str(error).partition(":")[0]
            place: Place = ("learner", i, first) if first in item else ("learner", i)
            words = f"{spec.label} in {worlds[small].label}: {error}"
            raise Refused(place, words) from error
        except Exception:
            continue  # its own fault, not that of a value: the row of the cell will say so


# --- Worlds -----------------------------------------------------------------------------------


def _worlds(
    said: Mapping[str, Any], folder: Path | None
) -> tuple[tuple[WorldSpec, ...], list[Mapping[str, Any]]]:
    specs: list[WorldSpec] = []
    drafts: list[Mapping[str, Any]] = []
    for i, item in enumerate(_items(said, "world")):
        place: Place = ("world", i)
        if isinstance(item, World | Scene):
            specs.append(_given(item))
            drafts.append({})
        elif isinstance(item, WorldSpec):
            specs.append(item)
            drafts.append({})
        elif isinstance(item, Mapping):
            specs.append(_world(place, item, folder))
            drafts.append(item)
        else:
            raise Refused(place, f"world: expected a table with a kind, got {item!r}")
    distinct("world", [spec.label for spec in specs])
    return tuple(specs), drafts


def _world(place: Place, item: Mapping[str, Any], folder: Path | None) -> WorldSpec:
    if "kind" not in item:
        raise Refused(place, f"world: expected a key 'kind', one of {', '.join(KINDS)}; got none")
    kind = item["kind"]
    if kind not in KINDS:
        near = nearest(str(kind), KINDS)
        raise Refused(
            (*place, "kind"), f"kind: expected one of {', '.join(KINDS)}, got {kind!r}{near}"
        )
    parameters = {
        key: parameter
        for key, parameter in inspect.signature(maker(kind)).parameters.items()
        if key != "seed"
    }
    given = {key: value for key, value in item.items() if key not in SCENE}
    for key, value in given.items():
        known(place, key, (*parameters, *SCENE), f"a world of kind {kind}")
        typed(place, key, parameters[key], value)
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in given:
            raise Refused(place, f"world: kind {kind} needs a key {key!r}, got none")
    met = _met(place, item)
    label = text(place, "label", item.get("label"), optional=True)
    setting = {"kind": kind, **given, **met}
    if "path" in given:
        path = (folder or Path()) / given["path"]
        setting |= {"path": path.name, "sha256": _digest(place, path)}
        given["path"] = str(path.absolute())
    words = {key: value for key, value in setting.items() if key not in ("kind", "sha256", "mean")}
    return WorldSpec(
        label=label or _labelled(kind, words),
        kind=kind,
        given=given,
        setting=as_json(setting),
        **met,
    )


def _met(place: Place, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a world is met, as far as that is said."""
    met: dict[str, Any] = {}
    if "arrivals" in item and item["arrivals"] != "iid":
        met["arrivals"] = item["arrivals"]
        if met["arrivals"] not in ARRIVALS:
            words = f"arrivals: expected one of {', '.join(ARRIVALS)}, got {met['arrivals']!r}"
            raise Refused((*place, "arrivals"), words + nearest(str(met["arrivals"]), ARRIVALS))
    if item.get("delay", 0) != 0:
        met["delay"] = whole((*place, "delay"), "delay", item["delay"], 0, 10**7)
    drift = item.get("drift", 0)
    if isinstance(drift, bool) or not isinstance(drift, int | float) or not 0 <= drift <= 1:
        words = f"drift: expected a share from 0 to 1, got {drift!r}"
        raise Refused((*place, "drift"), words)
    return met | ({"drift": float(drift)} if drift else {})


def _digest(place: Place, path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        words = f"path: expected a CSV or Parquet file, got {str(path)!r}: {error.strerror}"
        raise Refused((*place, "path"), words) from error


def _given(item: World | Scene) -> WorldSpec:
    """Describe a world that was handed over: a digest tells it from others."""
    scene = item if isinstance(item, Scene) else Scene(item)
    world = scene.world
    digest = hashlib.sha256()
    for start, each in ((0, world), *scene.later):
        digest.update(f"{start} {each.noise} {each.sd}".encode())
        for array in (each.mean, each.frequency, each.group):
            digest.update(np.ascontiguousarray(array).tobytes())
    met = {"arrivals": scene.arrivals} if scene.arrivals != "iid" else {}
    met |= {"delay": str(scene.delay)} if scene.delay else {}
    setting = {"kind": GIVEN, "sha256": digest.hexdigest()[:16], **met}
    size = f"{world.name} {world.contexts} x {world.arms}, {world.groups} groups"
    return WorldSpec(scene.name or _labelled(size, met), GIVEN, setting=as_json(setting),
                     scene=scene)  # fmt: skip


def _drawn(
    said: Mapping[str, Any],
    worlds: Sequence[WorldSpec],
    drafts: Sequence[Mapping[str, Any]],
    seed: int,
) -> tuple[list[Scene], tuple[int, ...]]:
    """Draw every world once, which finds bad values, and return the scenes and their horizons."""
    scenes, horizons = [], []
    for i, (spec, draft) in enumerate(zip(worlds, drafts, strict=True)):
        try:
            scene = spec.made(horizon=2, seed=seed)
        except (ValueError, TypeError) as error:
            first = str(error).partition(":")[0]
            place: Place = ("world", i, first) if first in draft else ("world", i)
            raise Refused(place, f"{spec.label}: {error}") from error
        scenes.append(scene)
        own: Place = ("world", i) if {"horizon", "pulls"} & set(draft) else ()
        horizon = _horizon(own, draft if own else said, scene.world.contexts)
        if horizon < 2 and spec.drift:
            raise Refused(own, f"horizon: drift needs at least 2 rounds, got {horizon}")
        horizons.append(horizon)
    return scenes, tuple(horizons)


def _horizon(place: Place, said: Mapping[str, Any], contexts: int) -> int:
    both = [key for key in ("horizon", "pulls") if said.get(key) is not None]
    if len(both) != 1:
        got = "both" if both else "none"
        raise Refused(place, f"horizon: expected either 'horizon' or 'pulls', got {got}")
    number = whole((*place, both[0]), both[0], said[both[0]], 1, MOST_ROUNDS)
    return number if both[0] == "horizon" else number * contexts


# --- Checks -----------------------------------------------------------------------------------


def _items(said: Mapping[str, Any], key: str) -> Sequence[Any]:
    items = said.get(key, [])
    if isinstance(items, str | Mapping) or not isinstance(items, Sequence):
        raise Refused((key,), f"{key}: expected [[{key}]] tables, got {items!r}")
    if not items:
        raise Refused((key,), f"{key}: expected at least one [[{key}]], got none")
    return items


def _seeds(said: Any) -> tuple[int, ...]:
    if isinstance(said, Iterable) and not isinstance(said, str | Mapping):
        seeds = tuple(whole(("seeds", i), "seeds", seed, 0) for i, seed in enumerate(said))
        if not seeds or len(set(seeds)) != len(seeds):
            raise Refused(("seeds",), f"seeds: expected different numbers, got {list(seeds)}")
        return seeds
    return tuple(range(whole(("seeds",), "seeds", said, 1)))


def whole(place: Place, name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number, which may be written as 1e6."""
    real = isinstance(value, float) and math.isfinite(value) and value == int(value)
    number = int(value) if real or isinstance(value, int | np.integer) else None
    if number is None or isinstance(value, bool) or number < low or number > (high or number):
        allowed = f"a whole number of at least {low}"
        if high is not None and high < MOST_ROUNDS:
            allowed = f"a whole number from {low} to {high}"
        raise Refused(place, f"{name}: expected {allowed}, got {value!r}")
    return number


def text(place: Place, name: str, value: Any, *, optional: bool = False) -> str | None:
    """Return a string that is not empty."""
    if (optional and value is None) or (isinstance(value, str) and value.strip()):
        return value
    raise Refused((*place, name), f"{name}: expected a string, got {value!r}")


def known(place: Place, key: str, names: Iterable[str], who: str, what: str = "key") -> None:
    """Refuse a key that is none of these names."""
    names = list(dict.fromkeys(names))
    if key not in names:
        listed = ", ".join(names) or "none"
        words = f"{key}: {who} has no such {what}, expected one of {listed}"
        raise Refused((*place, key), words + nearest(key, names))


def typed(place: Place, key: str, parameter: inspect.Parameter, value: Any) -> None:
    """Refuse a value that does not suit the annotation, where that is a simple one."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return
    if isinstance(annotation, type):
        annotation = annotation.__name__
    kinds = [kind.strip() for kind in str(annotation).split("|") if kind.strip() != "None"]
    if not kinds or not all(kind in TYPES for kind in kinds):
        return
    for kind in kinds:
        if isinstance(value, TYPES[kind]) and (kind == "bool" or not isinstance(value, bool)):
            return
    if value is None and "None" in str(annotation):
        return
    words = " or ".join(WORDS[kind] for kind in kinds)
    raise Refused((*place, key), f"{key}: expected {words}, got {value!r}")


def distinct(kind: str, labels: Sequence[str]) -> None:
    """Refuse a label that two have."""
    for i, label in enumerate(labels):
        if label in labels[:i]:
            first = labels.index(label) + 1
            words = f"label: expected one of its own, got {label!r}, as {kind} {first} has"
            raise Refused((kind, i, "label"), words)


def nearest(word: str, names: Iterable[str]) -> str:
    """Name the nearest of these, if one is near."""
    near = difflib.get_close_matches(word, list(names), n=1, cutoff=0.3)
    return f"; the nearest is {near[0]!r}" if near else ""
