"""Files that a command is to write, looked at before it does anything.

What a command reads is never written, nor is anything in the folder of a state. Knows names and
places of files, nothing of what they hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from lumpable.base.errors import BadArgument

EVENTS = (".csv", ".tsv", ".gz", ".parquet")
"""How files end that would be read with a folder of events."""
HEAD = 4096
"""Bytes of a manifest in which it says what it is."""


def check(
    written: Mapping[str, Path | None], *, read: Iterable[Path | None] = (),
    states: Iterable[Path | None] = (),
) -> None:  # fmt: skip
    """Refuse to write what is read, what lies in a state, and two things to one file.

    `written` has an option for each file; None was not asked for. Paths are compared as what they
    lead to, through links of both kinds.
    """
    sources, folders = ([one for one in some if one is not None] for some in (read, states))
    before = dict[str, Path]()
    for option, path in written.items():
        if path is None:
            continue
        for source in sources:
            if _same(path, source):
                got = f"{str(path)!r}, which is read"
                raise BadArgument(option, "another file than those that are read", got)
            if source.is_dir() and _inside(path, source) and path.name.lower().endswith(EVENTS):
                got = f"{str(path)!r}: the next time it would be read, too"
                raise BadArgument(option, f"a file outside of {str(source)!r}", got)
        for folder in (*folders, *filter(_is_state, _resolve(path).parents)):
            if _inside(path, folder):
                expected = f"a file outside of the state {str(folder)!r}"
                raise BadArgument(option, expected, repr(str(path)))
        for other, taken in before.items():
            if _same(path, taken):
                raise BadArgument(option, f"another file than {other}", repr(str(path)))
        before[option] = path


def _same(one: Path, other: Path) -> bool:
    """Whether two names lead to one place; a hard link is another name of the same file."""
    if _resolve(one) == _resolve(other):
        return True
    with contextlib.suppress(OSError):  # one is not there yet
        return one.samefile(other)
    return False


def _inside(path: Path, folder: Path) -> bool:
    """Whether a file stands in a folder, or would; folders of folders count."""
    return any(_same(above, folder) for above in (_resolve(path), *_resolve(path).parents))


def _is_state(folder: Path) -> bool:
    """Whether a state that learns by night is in this folder, whatever the command is about."""
    from lumpable.nightly.night_folder import FORMAT, MANIFEST

    with contextlib.suppress(OSError), (folder / MANIFEST).open("rb") as file:
        return FORMAT.encode() in file.read(HEAD)
    return False


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link that leads to itself
        return path.absolute()
