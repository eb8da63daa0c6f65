"""The folder of a state: segments that never change, and one manifest that names them.

A segment is a file of rows, called by its SHA-256. The manifest is replaced whole, after all that
it names is on the disk: a crash leaves the state before or the state after. What a crash leaves
over is removed by the next process that writes. Every file is compared with its digest before it is
used.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumpable.base import files
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.stores.writer_lock import WriterLock

MANIFEST, FORMAT, SCHEMA = "manifest.json", "lumpable nightly", 1
SEGMENT = re.compile(r"[0-9a-f]{64}\.parquet")
BLOCK = 1 << 20


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events that were added together."""

    sha256: str
    """Of its file, which is named so."""
    events: int
    source: str
    """The name of the file that it came from; empty for a frame."""
    source_sha256: str
    """Of that file's bytes; empty for a frame."""
    content: str
    """A digest of the events that came, in whatever order or format they were."""

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.sha256}.parquet"


class Planned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How plans are made, from the first one on."""

    learner: str | dict[str, Any] = "lumps"
    floor: float | None = None
    """The least probability of each item; None: as small as the number of items asks."""
    seed: int = 0
    users: tuple[Name, ...] = ()
    """Of a plan of the paper, whose users and items are fixed; else empty."""
    items: tuple[Name, ...] = ()
    since: int = 0
    """Segments that were there before a plan of the paper began: it did not ask for them."""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a state is."""

    columns: dict[str, str] | None = None
    """Which column holds what; None until the first events come."""
    rewards: str | tuple[float, float] = "any"
    zoned: bool | None = None
    """Whether times say their zone."""
    planned: Planned | None = None
    segments: tuple[Segment, ...] = ()


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    """A manifest as its file holds it."""

    format: str
    schema: int
    sha256: str
    state: msgspec.Raw


class Folder:
    """The folder of a state; it may not be there yet."""

    def __init__(self, path: str | Path) -> None:
        if path == "":  # the system takes it for the current folder, which nobody means
            raise BadArgument("state", "the name of a folder", "an empty string")
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise BadArgument("state", "a folder", f"{str(path)!r}, which is a file")

    @property
    def begun(self) -> bool:
        """Whether there is a state."""
        return (self.path / MANIFEST).exists()

    def read(self) -> Manifest:
        """Return the manifest; an empty one if there is no state yet."""
        if not self.begun:
            if self.path.is_dir() and any(SEGMENT.fullmatch(p.name) for p in self.path.iterdir()):
                raise self._damage_error(MANIFEST, "it is missing, and its segments are there")
            return Manifest()
        try:
            kept = msgspec.json.decode((self.path / MANIFEST).read_bytes(), type=_Kept)
            if (kept.format, kept.schema) != (FORMAT, SCHEMA):
                raise self._damage_error(MANIFEST, f"it is {kept.format!r} {kept.schema}")
            if hashlib.sha256(bytes(kept.state)).hexdigest() != kept.sha256:
                raise self._damage_error(MANIFEST, "it is not as it was written")
            return msgspec.json.decode(bytes(kept.state), type=Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._damage_error(MANIFEST, str(error)) from None

    def check(self, manifest: Manifest) -> list[Path]:
        """Return the files of all segments, each compared with its digest."""
        paths = [self.path / segment.name for segment in manifest.segments]
        for segment, path in zip(manifest.segments, paths, strict=True):
            if not path.is_file():
                raise self._damage_error(path.name, "it is missing")
            if digest_of_file(path) != segment.sha256:
                raise self._damage_error(path.name, "it is not as it was written")
        return paths

    def _damage_error(self, name: str, what: str) -> BadArgument:
        return BadArgument("state", why=f"{str(self.path / name)!r} is damaged: {what}")

    # --- Writing ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self) -> Iterator[Manifest]:
        """Let one process at a time change the state, and remove what a crash left over."""
        if not self.path.parent.is_dir():
            raise BadArgument("state", "a folder inside an existing one", repr(str(self.path)))
        if self.path.is_dir() and not self.begun:
            others = [p.name for p in self.path.iterdir() if not self._ours(p.name)]
            if others:
                expected = "a new or empty folder, or one with a state"
                raise BadArgument("state", expected, f"{str(self.path)!r} with {min(others)!r}")
        new, begun = not self.path.exists(), self.begun
        self.path.mkdir(exist_ok=True)
        lock = WriterLock(self.path / MANIFEST)
        try:
            manifest = self.read()
            self._sweep(manifest)
            try:
                yield manifest
            except Exception:
                self._undo(new, begun)
                raise
        finally:
            lock.release()

    def _undo(self, new: bool, begun: bool) -> None:
        """Leave the folder as it was; what the manifest names stays, whoever wrote it."""
        if new:
            shutil.rmtree(self.path)
        elif begun:
            self._sweep(self.read())
        else:
            self._end()

    def _ours(self, name: str) -> bool:
        return name.startswith(f".{MANIFEST}") or name == f"{MANIFEST}.lock" or bool(
            SEGMENT.fullmatch(name) or re.match(r"\.[0-9a-f]{64}\.parquet\.", name)
            or re.match(r"\.?fit\.kept", name)
        )  # fmt: skip

    def _sweep(self, manifest: Manifest) -> None:
        files.sweep(self.path)
        named = {segment.name for segment in manifest.segments}
        for path in self.path.iterdir():
            if SEGMENT.fullmatch(path.name) and path.name not in named:
                path.unlink()

    def _end(self) -> None:
        """Remove a state that was begun in vain; segments without a manifest would be damage."""
        if self.begun:
            self._sweep(Manifest())
            files.remove(self.path / MANIFEST)

    def put(self, made: Path) -> str:
        """Keep a file as a segment, durably; return its digest."""
        if not self.begun:
            self.write(Manifest())  # a folder without one has no segments
        digest = digest_of_file(made)
        copy_whole(made, self.path / f"{digest}.parquet")
        return digest

    def write(self, manifest: Manifest) -> None:
        """Replace the manifest: from here on the state is this one."""
        state = msgspec.json.encode(manifest)
        kept = _Kept(FORMAT, SCHEMA, hashlib.sha256(state).hexdigest(), msgspec.Raw(state))
        files.replace(self.path / MANIFEST, msgspec.json.encode(kept))


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            whole.update(block)
    return whole.hexdigest()


def copy_whole(made: Path, path: Path) -> None:
    """Copy a file to its place, whole or not at all."""
    with made.open("rb") as source, files.replacing(path) as file:
        shutil.copyfileobj(source, file, BLOCK)
