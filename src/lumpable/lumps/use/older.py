"""Files of the first version: real rewards were kept as sums only.

Coins go on as they were. The values of real rewards are not in these files: those of a cell are
taken to lie one standard deviation of the noise above and below its average, and groups are found
anew.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.archive import Array
from lumpable.lumps.core.layout import LOG
from lumpable.lumps.core.state import BETWEEN, KAPPA, M0, OWN, VALUES, blank
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.shelf import BELIEFS, CELLS, FITTED, Shelf

OLD_REAL, OLD_SQUARES, OLD_VALUES = 3, 4, 5
"""Places in `value`, which held kappa, m0, sigma^2, whether rewards are real, and squares."""
NEW = (
    "ones", "log_context", "log_arm", "log_value", "log_count", "knot", "grade", "phi",
    "worth_pulls", "worth_total", "noise", "worth_centre", "hold", "worth_loading", "value",
    "doubt",
)  # fmt: skip


def read(shelf: Shelf, *, fitted: bool) -> tuple[dict[str, Array], dict[str, Array], Fit | None]:
    """Return cells, beliefs and the fit as today's files hold them; no beliefs of real rewards."""
    value = shelf.vector("value", OLD_VALUES)
    cells = shelf.arrays({name: law for name, law in CELLS.items() if name not in NEW})
    if value[OLD_REAL] > 0.0:
        return cells | _values(cells, float(value[OLD_SQUARES])), {}, None
    old = {name: law for name, law in BELIEFS.items() if name not in NEW}
    beliefs = shelf.arrays(old)
    plain = blank(1, len(beliefs["centre"]), 0)
    fresh = np.zeros(VALUES)
    fresh[[KAPPA, M0, BETWEEN, OWN]] = value[KAPPA], value[M0], 1.0, value[M0]
    beliefs |= {name: getattr(plain, name) for name in BELIEFS if name not in old}
    beliefs |= {"value": fresh}
    log: dict[str, Array] = {name: np.zeros(0, dtype=np.int64) for name in LOG[:2]}
    log |= {name: np.zeros(0) for name in LOG[2:]}
    laws = {name: law for name, law in FITTED.items() if name not in NEW}
    fit = Fit(**shelf.values(laws, "fit-")) if fitted else None
    return cells | {"ones": cells["total"].copy()} | log, beliefs, fit


def _values(cells: dict[str, Array], squares: float) -> dict[str, Array]:
    """Return rewards with these numbers and averages, and about these squares within cells."""
    n, mean = cells["pulls"], cells["total"] / cells["pulls"]
    row = np.repeat(np.arange(len(cells["length"])), cells["length"])
    sd = math.sqrt(squares / max(float((n - 1.0).sum()), 1.0))
    half = np.floor(n / 2.0)
    kept = [(half, mean - sd), (half, mean + sd), (n - 2.0 * half, mean)]
    place = np.concatenate([np.flatnonzero(times) for times, _ in kept])
    value = np.concatenate([each[times > 0] for times, each in kept])
    times = np.concatenate([times[times > 0] for times, _ in kept])
    other = (value != 0.0) & (value != 1.0)
    ones = np.bincount(place[value == 1.0], times[value == 1.0], minlength=len(n))
    return {
        "ones": ones.astype(np.float64), "log_context": row[place][other],
        "log_arm": cells["arm"][place][other], "log_value": value[other],
        "log_count": times[other],
    }  # fmt: skip
