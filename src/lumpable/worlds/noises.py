"""What people write for the law of rewards: a name, a table, a law, or a function of their own."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest
from lumpable.worlds.amounts import Beta, Exponential, Poisson, Revenue, StudentT
from lumpable.worlds.custom import Custom, Draw, import_law
from lumpable.worlds.laws import Bernoulli, Gaussian, Law
from lumpable.worlds.stars import Stars

Noise = str | Law | Mapping[str, Any] | Draw
"""The name of a law; a table with its name as `law` and its parameters; a law; or a function
`draw(mean, rng)` of one's own, which may be named `module:function`."""
LAWS: dict[str, type[Law]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "beta": Beta,
    "poisson": Poisson,
    "exponential": Exponential,
    "revenue": Revenue,
    "student": StudentT,
    "stars": Stars,
}
"""Laws by name."""


def find(noise: Noise, sd: float = 1.0) -> Law:
    """Return the law that is meant; `sd` is that of Gaussian noise.

    >>> find({"law": "beta", "concentration": 8})
    Beta(concentration=8)
    >>> find("gaussian", sd=0.3)
    Gaussian(sd=0.3, slope=0.0)
    """
    if isinstance(noise, str) and noise == "gaussian":
        return Gaussian(sd)
    law = _law(noise)
    if sd != 1 and not isinstance(law, Bernoulli):
        why = f"goes with noise 'gaussian' only; {law.name} has parameters of its own"
        raise BadArgument("sd", why=why)
    return law


def _law(noise: Noise) -> Law:
    if isinstance(noise, Law):
        return noise
    if isinstance(noise, str):
        return (
            import_law(noise)
            if ":" in noise
            else LAWS[checks.choice("noise", noise, tuple(LAWS))]()
        )
    if isinstance(noise, Mapping):
        return _from_table(noise)
    if callable(noise):
        return Custom(noise)
    raise BadArgument("noise", f"one of {', '.join(LAWS)}, or a law of your own", repr(noise))


def _from_table(said: Mapping[str, Any]) -> Law:
    given = dict(said)
    name = given.pop("law", None)
    if name is None:
        raise BadArgument("noise", "a key 'law'", f"{sorted(map(str, given)) or 'none'}")
    if isinstance(name, str) and ":" in name:
        return Custom(import_law(name).function, **_known(name, given, ("name", "low", "high")))
    kind = LAWS[checks.choice("noise", name, tuple(LAWS))]
    return kind(**_known(name, given, tuple(inspect.signature(kind).parameters)))


def _known(law: str, given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of a law; refuse one that it does not have."""
    for key in given:
        if key not in names:
            listed = ", ".join(names) or "none"
            got = f"{key!r}{nearest(str(key), names)}"
            raise BadArgument("noise", f"parameters of {law} ({listed})", got)
    return dict(given)
