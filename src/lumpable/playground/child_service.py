"""`lumpable serve` in a child process, for as long as somebody plays with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

from lumpable.base.errors import BadArgument
from lumpable.client import Client, Unreachable
from lumpable.playground.shop import Shop

WINDOW = 1.0
"""Seconds in which a click counts."""
HOLD_BACK = 0.05
GRACE = 60.0
"""Seconds that it is given to end."""
LOOK = 0.2
"""Seconds between two looks whether it is ready."""


class ServiceGone(OSError):
    """The service ended while it was needed."""


def settings_for(shop: Shop, seed: int) -> list[str]:
    """Return the words after `lumpable serve FILE` that suit a shop."""
    arms = [word for offer in shop.offers[:-1] for word in ("--arm", offer)]
    return [
        *arms, "--rewards", "binary", "--window", f"{WINDOW:g}", "--default", "0",
        "--hold-back", f"{HOLD_BACK:g}", "--control", shop.control, "--seed", str(seed),
    ]  # fmt: skip


class ChildService:
    """A service in a process of its own; its log is written beside its file.

    Leaving the block stops it gracefully: what was answered is in the file. So does the end of this
    process, in whatever way: with it ends the pipe that the service has as its stdin.
    """

    def __init__(self, file: Path, words: list[str], *, port: int = 0) -> None:
        self.log = file.with_name(file.name + ".log")
        self._ready = False
        command = [sys.executable, "-P", "-m", "lumpable", "serve", str(file), "--port", str(port)]
        command.append("--until-stdin-ends")
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=_environment(), start_new_session=True,  # Ctrl-C is for us, who stop it then
            )  # fmt: skip
        try:
            self.url = self._address()
        except BaseException:
            self.stop()
            raise

    def _address(self) -> str:
        """Return where it listens, which its first line says; else raise what it said instead."""
        out: IO[bytes] | None = self._process.stdout
        assert out is not None
        first = out.readline().decode(errors="replace")
        url = first.rpartition(" at ")[2].strip()
        if url.startswith("http"):
            return url
        self._process.wait(GRACE)
        raise BadArgument(
            "", why=self._last_error() or f"the service did not start; see {self.log}"
        )

    def _last_error(self) -> str:
        """Return its last error, without the word that a command begins it with."""
        lines = self.log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("Error: ")]
        return errors[-1].removeprefix("Error: ") if errors else ""

    def until_ready(self) -> Iterator[None]:
        """Yield now and then until it is ready: on a new machine it compiles first."""
        with Client(self.url) as client:
            while not self._ready:
                yield
                with contextlib.suppress(Unreachable):
                    client.wait_until_ready(LOOK)
                    self._ready = True
                self.check()

    def check(self) -> None:
        """Raise `ServiceGone` if it has ended."""
        code = self._process.poll()
        if code is not None:
            said = self._last_error() or f"exit code {code}; see {self.log}"
            raise ServiceGone(f"the service has ended: {said}")

    def stop(self) -> None:
        """End it, gracefully if it has begun to serve; wait until it has ended."""
        if self._ready:
            self._process.send_signal(signal.SIGTERM)
        else:
            self._process.kill()  # it may compile for long, and nobody was answered yet
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _environment() -> dict[str, str]:
    """Return the environment of a child that finds the same packages, and needs no tokens.

    Neither it nor its own children look for modules in the current directory.
    """
    path = os.pathsep.join(filter(None, sys.path))
    return {name: value for name, value in os.environ.items() if name != "LUMPABLE_TOKENS"} | {
        "PYTHONPATH": path, "PYTHONSAFEPATH": "1",
    }  # fmt: skip
