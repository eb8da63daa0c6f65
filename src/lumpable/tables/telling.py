"""Tell a learner what a log says."""

from __future__ import annotations

import warnings

from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.named import Lumps
from lumpable.tables.events import Events


def tell(events: Events, seed: int = 0, *, floor: float = 0.0, fit: Fit | None = None) -> Lumps:
    """Return a learner that was told these events; users and items keep their numbers.

    It may be asked about other items later. Names that are easily mistaken for each other were
    reported when the log was read. `fit` is the fit of these events, if it was made before.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        lumps = Lumps(
            events.items, events.users, floor=floor, rewards=events.accepted.given, new_arms=True,
            seed=seed,
        )  # fmt: skip
        lumps.core.leave_fits()  # until rows are told, and gone: a fit takes memory of its own
        _tell_rows(lumps, events)
    lumps.core.fits = True
    if fit is None:
        lumps.core.refit()
        return lumps
    try:
        lumps.core.adopt(fit)
    except BadArgument:  # of other events
        lumps.core.refit()
    return lumps


def _tell_rows(lumps: Lumps, events: Events) -> None:
    """Tell a learner all rows that stand for an event."""
    user, item, reward, times = events.evidence()
    if not (some := times > 0).all():
        user, item, reward, times = user[some], item[some], reward[some], times[some]
    lumps.tell_counted(
        events.users, events.items, context=user, arm=item, reward=reward / MICRO, count=times
    )
