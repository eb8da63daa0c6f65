"""A fingerprint of the code behind a module: its own source and all of ours that it imports.

Reads source and runs nothing, so that imports inside functions count as well.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from lumpable.base.errors import BadArgument

PACKAGE = Path(__file__).resolve().parent.parent


def fingerprint(module: str) -> str:
    """Return a hash that changes when the module changes, or anything of this package behind it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise BadArgument("module", "one with a file", repr(module))
    digest = hashlib.sha256()
    for path in sorted(reached(Path(spec.origin).resolve())):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def reached(start: Path) -> set[Path]:
    """Return a file and the files of this package that it imports, directly or not."""
    found: set[Path] = set()
    ahead = [start]
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += filter(None, map(where, imported(path)))
    return found


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports; of `from a import b` both a and a.b."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise BadArgument(path.name, why="relative imports are not followed")
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def where(name: str) -> Path | None:
    """Return the file of a module of this package; None for other names."""
    first, *rest = name.split(".")
    if first != PACKAGE.name:
        return None
    stem = PACKAGE.joinpath(*rest)
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)
