"""Numbers, times and hints in words, for pages and the terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


def number(value: float, digits: int = 3) -> str:
    """Write a number with few digits.

    >>> number(1234), number(0.04217), number(2.4771e9), number(1e-6), number(float("inf"))
    ('1,234', '0.0422', '2.48e9', '1e-6', '∞')
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < 100_000 and (value == round(value) or abs(value) >= 10**digits):
        return f"{value:,.0f}"
    mantissa, e, exponent = f"{value:,.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def figure(value: float) -> str:
    """Write a number so that those of a column have about the same number of digits.

    >>> figure(0.6), figure(-12.345), figure(1234.6), figure(0.00012), figure(float("nan"))
    ('0.600', '-12.35', '1,235', '0.00012', 'not known')
    """
    if math.isnan(value):
        return "not known"
    size = abs(value)
    if 0.0 < size < 0.001:
        return number(value, 2)
    return f"{value:,.{3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0}f}"


def between(low: float, high: float) -> str:
    """Write the ends of an interval.

    >>> between(0.6, 1.25), between(float("nan"), float("nan"))
    ('0.600 to 1.250', 'not known')
    """
    if math.isnan(low) or math.isnan(high):
        return "not known"
    return f"{figure(low)} to {figure(high)}"


def short(number: float) -> str:
    """Write a count with few digits.

    >>> short(1234), short(2.477e9), short(155_553_097_786)
    ('1,234', '2.48e9', '1.56e11')
    """
    if number < 100_000:
        return f"{number:,.0f}"
    mantissa, _, exponent = f"{number:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def percent(probability: float) -> str:
    """Write a probability that was estimated, and never as certain.

    >>> percent(0.62), percent(0.9999), percent(0.0)
    ('62 %', 'over 99 %', 'under 1 %')
    """
    if probability > 0.99:
        return "over 99 %"
    return f"{100 * probability:.0f} %" if probability >= 0.01 else "under 1 %"


def plural(word: str) -> str:
    """Return what several are called; words come from the heads of columns, so guess little.

    A word that ends in s is taken to be plural already, unless it ends in ss or us.

    >>> [plural(word) for word in ("offer", "country", "day", "box", "class", "users", "CITY")]
    ['offers', 'countries', 'days', 'boxes', 'classes', 'users', 'CITIES']
    """
    low = word.casefold()
    if re.search(r"[^\Waeiou\d_]y$", low):
        stem, end = word[:-1], "ies"
    elif low.endswith(("ss", "us", "x", "z", "ch", "sh")):
        stem, end = word, "es"
    elif low.endswith("s"):
        return word
    else:
        stem, end = word, "s"
    return stem + (end.upper() if word.isupper() and len(word) > 1 else end)


def counted(number: int, thing: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "cluster"), counted(3, "cluster"), counted(0, "country")
    ('1 cluster', '3 clusters', '0 countries')
    """
    return f"{number:,} {thing if number == 1 else plural(thing)}"


def distinct(texts: Sequence[str], most: int, longest: int) -> list[str]:
    """Leave out the middle of texts longer than `most`, by whole characters, and keep them apart.

    Where two would look alike less is left out, up to `longest` characters; what still looks alike
    then is numbered.

    >>> distinct(["a very long and winding name 7", "short"], 18, 40)
    ['a very long…name 7', 'short']
    >>> distinct(["one.long.name.of.it", "one.long.nick.of.it"], 12, 16)
    ['one.l….of.it (1)', 'one.l….of.it (2)']
    """
    labels = [_cut(text, most) for text in texts]
    for size in (*range(most + 4, longest, 4), longest, most):  # in vain: short ones, numbered
        often = Counter(labels)
        if len(often) == len(labels):
            return labels
        both = zip(texts, labels, strict=True)
        labels = [_cut(text, size) if often[label] > 1 else label for text, label in both]
    often, told, number = Counter(labels), set(labels), Counter[str]()
    for place, label in enumerate(labels):
        while often[label] > 1 and labels[place] in told:
            number[label] += 1
            labels[place] = f"{label} ({number[label]})"
        told.add(labels[place])
    return labels


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 7]}…{text[-6:]}"


def duration(seconds: float) -> str:
    """Write a time.

    >>> duration(4.2), duration(95), duration(7260)
    ('4.2 s', '1 min 35 s', '2 h 1 min')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def time_left(seconds: float) -> str:
    """Say about how much time is left.

    >>> time_left(95.2), time_left(0.3)
    ('about 1 min 35 s left', 'nearly done')
    """
    return f"about {duration(round(seconds))} left" if seconds >= 1 else "nearly done"


def plain(text: str) -> str:
    r"""Make visible what a terminal would obey or could not show; ends of lines and tabs stay.

    These are control characters, those that turn the direction of a text, and halves of characters
    in the names of files.

    >>> plain("\x1b[2Jmine\r"), plain("two\nlines"), plain("\u202egnp")
    ('\\x1b[2Jmine\\r', 'two\nlines', '\\u202egnp')
    """
    if text.isprintable():
        return text
    return "".join(one if one in "\n\t" or not _obeyed(one) else repr(one)[1:-1] for one in text)


def _obeyed(one: str) -> bool:
    return unicodedata.category(one) in ("Cc", "Cs") or unicodedata.bidirectional(one) in _TURNS


_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of whole numbers without a gap.

    >>> runs([5, 0, 1, 2])
    [(0, 2), (5, 5)]
    """
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def nearest(word: str, names: Iterable[str] | Mapping[str, str], cutoff: float = 0.3) -> str:
    """Name the nearest of these, if one is near; a mapping gives what to show for each.

    >>> nearest("widht", ["width", "seed"]), nearest("UCB", {"UCB1": "ucb"})
    ("; the nearest is 'width'", "; the nearest is 'ucb'")
    """
    import difflib  # only when something is wrong

    meant = names if isinstance(names, Mapping) else {name: name for name in names}
    near = difflib.get_close_matches(word, list(meant), n=1, cutoff=cutoff)
    return f"; the nearest is {meant[near[0]]!r}" if near else ""
