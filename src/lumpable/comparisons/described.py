"""Laws of rewards in words and digests, so that two of them can be told apart in a key."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any

import numpy as np

from lumpable.base.fingerprint import digest
from lumpable.worlds.custom import ByMethod
from lumpable.worlds.laws import Law
from lumpable.worlds.world import World

OURS = "lumpable.worlds."


def describe(law: Law) -> dict[str, Any]:
    """Return the name of a law, its parameters, and a digest of code that is not ours.

    >>> from lumpable.worlds import Beta
    >>> describe(Beta(8.0))
    {'law': 'beta', 'concentration': 8.0}
    """
    if isinstance(law, ByMethod):
        return {"law": law.name, "source": _digest_of_world(law.world)}
    said: dict[str, Any] = {"law": law.name}
    for each in fields(law):
        if each.name != "name":
            said[each.name] = _value(getattr(law, each.name))
    if not type(law).__module__.startswith(OURS):
        said["source"] = digest(type(law))
    return said


def _value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return hashlib.sha256(f"{value.shape}".encode() + value.tobytes()).hexdigest()[:16]
    return digest(value) if callable(value) else value


def _digest_of_world(world: World) -> str:
    """Return a digest of a class of worlds, and of what its worlds hold beside the usual."""
    usual = {each.name for each in fields(World)} | set(dir(World))
    own = {name: value for name, value in vars(world).items() if name not in usual}
    return digest((type(world), own))
