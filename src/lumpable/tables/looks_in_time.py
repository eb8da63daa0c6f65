"""What a policy is worth after each part of a log, by intervals that all hold at once.

Events are taken in the order in which they came, and the policy was fixed before they did: so each
look adds to the capital of the look before it (see `betting`), and whoever looks at a growing log
every day may stop whenever they like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO, Name
from lumpable.learners.learner import LARGEST
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.betting import betting_interval
from lumpable.tables.cleaning import Columns
from lumpable.tables.ingest import Reading
from lumpable.tables.judged_policies import BELOW_1, items_of
from lumpable.tables.queries import database
from lumpable.tables.sources import parts_of, reading

FIRST, MANY = 10, 40
"""Without a list of looks the first is after so many events, and there are so many at most."""
ROUNDING = 1e-9
"""A propensity that is below the least one by this part of it is the least one."""


@dataclass(frozen=True, slots=True)
class ValueLook:
    """What was known of a policy's value after the first events of a log."""

    events: int
    value: float
    """By IPS."""
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _InOrder:
    """Events in the order in which they came."""

    user: list[Name]
    item: list[Name]
    reward: FloatVector
    propensity: FloatVector


def value_in_time(
    source: Any,
    policy: Mapping[Name, Name],
    user: str = "user",
    item: str = "item",
    reward: str = "reward",
    *,
    least: float,
    propensity: str = "propensity",
    time: str | None = None,
    id: str | None = None,
    rewards: str | tuple[float, float] = "binary",
    looks: Sequence[int] | None = None,
    level: float = 0.95,
) -> list[ValueLook]:
    """Return what a fixed policy is worth per event, with intervals that hold all at once.

    With probability `level` no look ever has the truth outside, so you may look at a growing log as
    often as you like and stop when you know enough. That asks for three things: the policy was not
    chosen by these events; later events stand behind earlier ones, also when the log has grown; and
    the bounds are known beforehand. Rows that cannot count are left out as by `read_events`; of
    events with one id the first counts.

    Parameters
    ----------
    source, user, item, reward, propensity, id
        As `read_events` takes them.
    policy
        The item of each user, as for `Learned.value`.
    least
        No item was ever chosen with a smaller probability, nor will be: such as the floor of the
        plans that chose.
    time
        A column of times, by which events are put in order; without it they are in the order of
        their rows.
    rewards
        Which rewards there can be: "binary", or a range (low, high).
    looks
        After how many events to look; without it, after 10, and from then on at growing distances.
    level
        The probability that all intervals hold.
    """
    columns = Columns(user, item, reward, time, id, propensity)
    accepted = Accepted.of(rewards)
    if not accepted.high < LARGEST:
        raise BadArgument("rewards", "'binary' or a range (low, high)", repr(rewards))
    least = checks.real("least", least, "a probability in (0, 1]", 0.0, 1.0)
    level = checks.real("level", level, "a probability in (0, 1)", 0.0, BELOW_1)
    log = _in_order(source, columns, accepted)
    at = _places(looks, len(log.reward))
    if (rarest := float(log.propensity.min())) < least * (1.0 - ROUNDING):
        why = f"the log has a propensity of {rarest:g}, which is below {least:g}"
        raise BadArgument("least", why=why)
    x = _matched(log, policy) / log.propensity * least
    x *= (log.reward - accepted.low) / (accepted.high - accepted.low)
    unit = (accepted.high - accepted.low) / least
    x = np.minimum(x, 1.0)
    found = []
    for n in at:
        ends = (float(x[:n].mean()), *betting_interval(x[:n], level))
        found.append(ValueLook(n, *(accepted.low + unit * end for end in ends)))
    return found


def _in_order(source: Any, columns: Columns, accepted: Accepted) -> _InOrder:
    """Read the events that count, in the order of their times, else of their rows."""
    with database(None) as con:
        parts = parts_of(con, source, columns.named.values())
        con.execute("SET preserve_insertion_order = true")  # rows are numbered as they stand
        with reading(con, parts):
            every = " UNION ALL ".join(
                f"SELECT *, {number} AS part FROM ({query}) WHERE fault = 0"
                for number, query in enumerate(Reading(con, parts, columns, accepted, None).queries)
            )
            order = "ORDER BY t, part, row"
            once = f"QUALIFY row_number() OVER (PARTITION BY id {order}) = 1" if columns.id else ""
            rows = con.execute(
                f"SELECT u_int, u_text, i_int, i_text, m, p FROM ({every}) {once} {order}"
            ).fetchall()
    if not rows:
        raise BadArgument("source", "events that count", "none")
    u_int, u_text, i_int, i_text, reward, propensity = zip(*rows, strict=True)
    return _InOrder(
        _names(u_int, u_text), _names(i_int, i_text),
        np.array(reward, np.float64) / MICRO, np.array(propensity),
    )  # fmt: skip


def _names(whole: Sequence[int | None], text: Sequence[str | None]) -> list[Name]:
    """Return names, each of which is a whole number or a text."""
    return [a if a is not None else b or "" for a, b in zip(whole, text, strict=True)]


def _matched(log: _InOrder, policy: Mapping[Name, Name]) -> FloatVector:
    """Return 1 where the policy would have chosen what was logged, else 0."""
    chosen = items_of(policy, set(log.user), set(log.item))
    return np.array(
        [chosen[user] == item for user, item in zip(log.user, log.item, strict=True)], np.float64
    )


def _places(looks: Sequence[int] | None, events: int) -> list[int]:
    """Return after how many events to look."""
    if looks is None:
        far = np.geomspace(min(FIRST, events), events, MANY)
        return sorted(set(np.rint(far).astype(int).tolist()))
    return [checks.whole("looks", n, 1, events) for n in looks]
