"""The worlds of an experiment: descriptions, checked and drawn once. Runs nothing."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra
from lumpable.comparisons.cell import GIVEN, KINDS, WorldSpec, maker, reach
from lumpable.comparisons.described import describe
from lumpable.comparisons.positions import Place
from lumpable.comparisons.rows import as_json
from lumpable.comparisons.values import (
    Refused,
    check_key,
    check_labels,
    check_type,
    choice,
    items,
    label_of,
    refusal,
    text,
    whole,
)
from lumpable.worlds import noises
from lumpable.worlds.laws import Law
from lumpable.worlds.scene import ARRIVALS, Scene
from lumpable.worlds.world import World

SCENE = ("kind", "label", "arrivals", "delay", "drift", "at", "horizon", "pulls")


def _spec(place: Place, item: Any, folder: Path | None) -> WorldSpec:
    if isinstance(item, World | Scene):
        return _spec_of(item)
    if not isinstance(item, Mapping):
        raise Refused(place, "world", "a table with a kind", repr(item))
    if "kind" not in item:
        why = f"expected a key 'kind', one of {', '.join(KINDS)}; got none"
        raise Refused(place, "world", why=why)
    kind = choice(place, "kind", item["kind"], KINDS)
    parameters = {
        key: parameter
        for key, parameter in inspect.signature(maker(kind)).parameters.items()
        if key != "seed"
    }
    given = {key: value for key, value in item.items() if key not in SCENE}
    for key, value in given.items():
        check_key(place, key, (*parameters, *SCENE), f"a world of kind {kind}")
        check_type(place, key, parameters[key], value)
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in given:
            raise Refused(place, "world", why=f"kind {kind} needs a key {key!r}, got none")
    dynamics = _dynamics(place, item)
    label = text(place, "label", item["label"]) if "label" in item else ""
    setting = {"kind": kind, **given, **dynamics}
    if "path" in given:
        path = (folder or Path()) / text(place, "path", given["path"])
        setting |= {"path": path.name, "sha256": _digest(place, path)}
        given["path"] = str(path.absolute())
    words = {key: value for key, value in setting.items() if key not in ("kind", "sha256", "mean")}
    home = "" if folder is None else str(folder)
    if not isinstance(given.get("noise", ""), str) or ":" in given.get("noise", ""):
        law = _law(place, item, home)
        setting["noise"], words["noise"] = describe(law), str(law)
    return WorldSpec(
        label=label or label_of(kind, words),
        kind=kind,
        given=given,
        setting=as_json(setting),
        folder=home,
        **dynamics,
    )


def _law(place: Place, item: Mapping[str, Any], folder: str) -> Law:
    """Return the law of rewards of a described world, which may be in a module of the user."""
    reach(folder)
    try:
        return noises.find(item["noise"])
    except (BadArgument, TypeError) as error:
        raise refusal((*place, "noise"), None, "", error) from error


def _dynamics(place: Place, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrivals, delay, drift and rounds to measure at, where they are not the defaults."""
    found: dict[str, Any] = {}
    if item.get("arrivals", "iid") != "iid":
        found["arrivals"] = choice(place, "arrivals", item["arrivals"], ARRIVALS)
    if item.get("delay", 0) != 0:
        found["delay"] = whole((*place, "delay"), "delay", item["delay"], 0, 10**7)
    drift = item.get("drift", 0)
    if isinstance(drift, bool) or not isinstance(drift, int | float) or not 0 <= drift <= 1:
        raise Refused((*place, "drift"), "drift", "a share from 0 to 1", repr(drift))
    found |= {"drift": float(drift)} if drift else {}
    return found | ({"at": _rounds(place, item["at"])} if "at" in item else {})


def _rounds(place: Place, said: Any) -> tuple[int, ...]:
    """Return the rounds for each context to measure at, in order."""
    if isinstance(said, str | Mapping) or not isinstance(said, Sequence) or not said:
        raise Refused((*place, "at"), "at", "a list of rounds per context", repr(said))
    return tuple(sorted({whole((*place, "at"), "at", pulls, 1, MOST_ROUNDS) for pulls in said}))


def _digest(place: Place, path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except FileNotFoundError as error:
        raise Refused((*place, "path"), "path", why=f"no such file: {str(path)!r}") from error
    except (OSError, ValueError) as error:  # ValueError: an impossible name
        why = str(getattr(error, "strerror", None) or error).lower()
        got = f"{str(path)!r}: {why}"
        raise Refused((*place, "path"), "path", "a CSV, Parquet, npz or npy file", got) from error


def _spec_of(item: World | Scene) -> WorldSpec:
    """Describe a world or scene itself: a digest tells it from others."""
    scene = item if isinstance(item, Scene) else Scene(item)
    world = scene.world
    digest = hashlib.sha256()
    for start, each in ((0, world), *scene.later):
        noise = each.noise if each.plain else as_json(describe(each.law))
        digest.update(f"{start} {noise} {each.sd}".encode())
        for array in (each.mean, each.frequency, each.group):
            digest.update(np.ascontiguousarray(array).tobytes())
    dynamics = {"arrivals": scene.arrivals} if scene.arrivals != "iid" else {}
    dynamics |= {"delay": str(scene.delay)} if scene.delay else {}
    setting = {"kind": GIVEN, "sha256": digest.hexdigest()[:16], **dynamics}
    size = f"{world.name} {world.contexts} x {world.arms}, {world.groups} groups"
    label = scene.name or label_of(size, dynamics)
    return WorldSpec(label, GIVEN, setting=as_json(setting), scene=scene)


def draw(
    said: Mapping[str, Any], folder: Path | None, seed: int, left_out: list[str] | None
) -> Iterator[tuple[WorldSpec, Scene, int]]:
    """Draw every world once, which finds bad values; yield it, its scene and its horizon.

    A world that needs a missing extra is left out and noted in `left_out`; without that list it is
    an error.
    """
    listed = items(said, "world")
    specs = [_spec(("world", i), item, folder) for i, item in enumerate(listed)]
    check_labels("world", [spec.label for spec in specs])
    for i, (spec, item) in enumerate(zip(specs, listed, strict=True)):
        draft = item if isinstance(item, Mapping) else {}
        try:
            scene = spec.make(horizon=2, seed=seed)
        except MissingExtra as error:
            if left_out is None:
                raise
            left_out.append(f"left out: {spec.label}: {error}")
            continue
        except (ValueError, TypeError) as error:
            raise refusal(("world", i), draft, spec.label, error) from error
        own: Place = ("world", i) if {"horizon", "pulls"} & set(draft) else ()
        horizon = _horizon(own, draft if own else said, scene.world.contexts)
        if horizon < 2 and spec.drift:
            raise Refused(own, "horizon", why=f"drift needs at least 2 rounds, got {horizon}")
        yield spec, scene, horizon


def _horizon(place: Place, said: Mapping[str, Any], contexts: int) -> int:
    both = [key for key in said if key in ("horizon", "pulls") and said[key] is not None]
    if len(both) != 1:
        got = "both" if both else "none"
        raise Refused((*place, *both[1:]), "horizon", "either 'horizon' or 'pulls'", got)
    at: Place = (*place, both[0])
    number = whole(at, both[0], said[both[0]], 1, MOST_ROUNDS)
    if both[0] == "horizon":
        return number
    if number * contexts > MOST_ROUNDS:
        words = f"a whole number from 1 to {MOST_ROUNDS // contexts:.2e} for {contexts:,} contexts"
        raise Refused(at, "pulls", words, repr(said["pulls"]))
    return number * contexts
