"""The worlds of an experiment: what is said of each, checked and drawn once. Runs nothing."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.words import nearest
from lumpable.comparisons.cell import GIVEN, KINDS, WorldSpec, maker
from lumpable.comparisons.positions import Place
from lumpable.comparisons.rows import as_json
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
from lumpable.worlds.scene import ARRIVALS, Scene
from lumpable.worlds.world import World

SCENE = ("kind", "label", "arrivals", "delay", "drift", "at", "horizon", "pulls")


def described(
    said: Mapping[str, Any], folder: Path | None
) -> tuple[tuple[WorldSpec, ...], list[Mapping[str, Any]]]:
    """Return the worlds, and beside each what is said of it, which may be its own horizon."""
    specs: list[WorldSpec] = []
    drafts: list[Mapping[str, Any]] = []
    for i, item in enumerate(items(said, "world")):
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
        label=label or labelled(kind, words),
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
    met |= {"drift": float(drift)} if drift else {}
    return met | ({"at": _measured_at(place, item["at"])} if "at" in item else {})


def _measured_at(place: Place, said: Any) -> tuple[int, ...]:
    """Return the rounds for each context to measure at, in order."""
    if isinstance(said, str | Mapping) or not isinstance(said, Sequence) or not said:
        raise Refused((*place, "at"), f"at: expected a list of rounds per context, got {said!r}")
    return tuple(sorted({whole((*place, "at"), "at", pulls, 1, MOST_ROUNDS) for pulls in said}))


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
    return WorldSpec(scene.name or labelled(size, met), GIVEN, setting=as_json(setting),
                     scene=scene)  # fmt: skip


def drawn(
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
            raise Refused(place, hinted(f"{spec.label}: {error}")) from error
        scenes.append(scene)
        own: Place = ("world", i) if {"horizon", "pulls"} & set(draft) else ()
        horizon = _horizon(own, draft if own else said, scene.world.contexts)
        if horizon < 2 and spec.drift:
            raise Refused(own, f"horizon: drift needs at least 2 rounds, got {horizon}")
        horizons.append(horizon)
    return scenes, tuple(horizons)


def _horizon(place: Place, said: Mapping[str, Any], contexts: int) -> int:
    both = [key for key in said if key in ("horizon", "pulls") and said[key] is not None]
    if len(both) != 1:
        got = "both" if both else "none"
        words = f"horizon: expected either 'horizon' or 'pulls', got {got}"
        raise Refused((*place, *both[1:]), words)
    at: Place = (*place, both[0])
    number = whole(at, both[0], said[both[0]], 1, MOST_ROUNDS)
    if both[0] == "horizon":
        return number
    if number * contexts > MOST_ROUNDS:
        words = f"a whole number from 1 to {MOST_ROUNDS // contexts:.2e} for {contexts:,} contexts"
        raise Refused(at, f"pulls: expected {words}, got {said['pulls']!r}")
    return number * contexts
