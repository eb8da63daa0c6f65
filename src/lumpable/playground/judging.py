"""What was found beside the truth: groups beside tastes, believed best offers beside favourites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lumpable.playground.shop import Shop


class Believed(NamedTuple):
    """What is believed of a visitor."""

    visitor: str
    group: int | None
    offer: str
    """Their best offer."""


@dataclass(frozen=True, slots=True)
class TasteFound:
    """A hidden taste, and what was found of it."""

    taste: str
    visitors: int
    groups: int
    """Groups in which it has the majority, ..."""
    in_groups: int
    """... and visitors in them, whatever their taste."""
    favourites: tuple[tuple[str, int], ...]
    """Best offers of its visitors and of how many, the most frequent first; ..."""
    believed: tuple[tuple[str, int], ...]
    """... the same as it is believed."""
    right: int
    """Visitors whose own best offer is believed to be their best."""


@dataclass(frozen=True, slots=True)
class Found:
    """All that was found."""

    tastes: tuple[TasteFound, ...]
    groups: int
    agreeing: int
    """Visitors in a group where their taste has the majority."""
    visitors: int
    right: int


def beside_truth(shop: Shop, beliefs: Iterable[Believed], *, renewed: bool = True) -> Found:
    """Compare what is believed of visitors with what they are."""
    number = {name: i for i, name in enumerate(shop.visitors)}
    taste = shop.world.group.tolist()
    favourite = [shop.offers[arm] for arm in shop.seasons[renewed].favourite.tolist()]
    known = {number[one.visitor]: one for one in beliefs}
    members: dict[int, Counter[int]] = {}
    for i, one in known.items():
        if one.group is not None:
            members.setdefault(one.group, Counter())[taste[i]] += 1
    majority = {group: counts.most_common(1)[0][0] for group, counts in members.items()}
    rows = []
    for t, name in enumerate(shop.tastes):
        own = [i for i, of in enumerate(taste) if of == t]
        seen = [i for i in own if i in known]
        groups = [group for group, most in majority.items() if most == t]
        rows.append(TasteFound(
            name, len(own), len(groups), sum(members[group].total() for group in groups),
            tuple(Counter(favourite[i] for i in own).most_common()),
            tuple(Counter(known[i].offer for i in seen).most_common()),
            sum(known[i].offer == favourite[i] for i in seen),
        ))  # fmt: skip
    agreeing = sum(counts[majority[group]] for group, counts in members.items())
    right = sum(row.right for row in rows)
    return Found(tuple(rows), len(members), agreeing, len(taste), right)
