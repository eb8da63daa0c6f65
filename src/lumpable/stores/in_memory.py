"""A store that lives as long as its process: for tests, simulations and a first look."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence

from lumpable.base.units import Name
from lumpable.stores.law import AlreadyDecided, Damage, Store
from lumpable.stores.log_entries import Entry, digest_of, digest_of_settings, next_link


class MemoryStore(Store):
    """Keeps entries in lists; what it promises of crashes holds for what is in memory."""

    def __init__(self, *, salt: Callable[[], bytes] = lambda: os.urandom(16)) -> None:
        self._lock = threading.RLock()
        self._salt = salt
        self._salts: dict[Name, bytes] = {}
        self._settings, self._settings_digest = b"", digest_of_settings(b"")
        self._log: list[Entry | None] = []
        self._digests: list[bytes] = []
        self._chain: list[tuple[int, bytes]] = [(0, b"")]
        self._about: dict[str, list[int]] = {}

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return len(self._log)

    @property
    def settings(self) -> bytes:
        """What `configure` wrote last."""
        return self._settings

    def configure(self, settings: bytes) -> None:
        """Keep settings."""
        self._settings = bytes(settings)
        self._settings_digest = digest_of_settings(settings)

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries."""
        with self._lock:
            new = [entry.event for entry in entries if entry.kind == "decided"]
            known = {
                event for event in new if any(e.kind == "decided" for _, e in self.about(event))
            }
            if known or len(set(new)) < len(new):
                raise AlreadyDecided(", ".join(sorted(known or set(new))))
            digests = [digest_of(entry, self._salt_of(entry.user)) for entry in entries]
            for number, entry in enumerate(entries, len(self._log)):
                self._about.setdefault(entry.event, []).append(number)
            self._log += entries
            self._digests += digests
            if entries:
                self._chain.append((len(self._log), next_link(self._chain[-1][1], digests)))
            return len(self._log)

    def _salt_of(self, user: Name | None) -> bytes:
        if user is None:
            return b""
        return self._salts.get(user) or self._salts.setdefault(user, self._salt())

    def entries(self, after: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield the entries after a number."""
        for number, entry in enumerate(self._log[after:], after + 1):
            if entry is not None:
                yield number, entry

    def about(self, event: str) -> list[tuple[int, Entry]]:
        """Return the entries of an event."""
        found = ((number + 1, self._log[number]) for number in self._about.get(event, ()) if event)
        return [(number, entry) for number, entry in found if entry is not None]

    def digest(self, number: int) -> bytes:
        """Return the digest of an entry."""
        return self._digests[number - 1] if 0 < number <= len(self._digests) else b""

    def ready_to_erase(self, user: Name) -> bool:
        """Look for entries of the user."""
        return any(entry is not None and entry.user == user for entry in self._log)

    def erase(self, user: Name) -> int:
        """Remove all entries of a user and of their events."""
        with self._lock:
            events = {e.event for e in self._log if e is not None and e.user == user and e.event}
            own = [
                number
                for number, e in enumerate(self._log)
                if e is not None and (e.user == user or e.event in events)
            ]
            for number in own:
                self._log[number] = None
            for event in events:
                self._about.pop(event, None)
            self._salts.pop(user, None)
            return len(own)

    def verify(self) -> list[Damage]:
        """Compare every entry with its digest, and the digests with the chain."""
        damages = [
            Damage(f"entry {number + 1}", "is not what was written")
            for number, (entry, digest) in enumerate(zip(self._log, self._digests, strict=True))
            if entry is not None and digest_of(entry, self._salts.get(entry.user, b"")) != digest  # type: ignore[arg-type]
        ]
        for (first, link), (last, kept) in zip(self._chain, self._chain[1:], strict=False):
            if next_link(link, self._digests[first:last]) != kept:
                damages.append(Damage(f"entries {first + 1} to {last}", "the chain is broken"))
        if digest_of_settings(self._settings) != self._settings_digest:
            damages.append(Damage("the settings", "are not what was written"))
        return damages

    def close(self) -> None:
        """Keep everything: it is all there is."""
