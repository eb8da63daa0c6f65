"""How many durable decisions and rewards a second `lumpable serve` answers, and how soon.

    python benchmarks/http_load.py --connections 64 --seconds 10
    python benchmarks/http_load.py --peer     # and FastAPI with plain inserts, in the same run

Starts the service on a new file, waits until it is ready, and calls it from one process: every
connection decides, then rewards, then decides. Calls are counted when they are answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import click

from lumpable.client import Client

ARMS = [f"arm {k}" for k in range(20)]


def message(path: str, body: dict[str, object]) -> bytes:
    text = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text


async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> bytes:
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    body = await reader.readexactly(length)
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(body.decode())
    return body


async def caller(number: int, port: int, end: float, users: int, times: list[float]) -> None:
    rng = random.Random(number)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while time.perf_counter() < end:
        event, user = f"{number}-{count}", f"user {rng.randrange(users)}"
        count += 1
        for sent in (
            message("/decide", {"user": user, "event": event}),
            message("/reward", {"event": event, "value": rng.randrange(2)}),
        ):
            begun = time.perf_counter()
            await call(reader, writer, sent)
            times.append(time.perf_counter() - begun)
    writer.close()


async def load(port: int, connections: int, seconds: float, users: int) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(caller(n, port, end, users, times) for n in range(connections)))
    return times


def said(times: list[float], seconds: float) -> str:
    times.sort()
    p50, p99 = (1e3 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    return f"{len(times) / seconds:,.0f} calls a second, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def look(port: int) -> None:
    """Wait for the page, which is made beside after the start, so that it is not measured."""
    page = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(page) as answer:
        answer.read()


def ours(folder: Path, connections: int, seconds: float, users: int) -> list[float]:
    """Load `lumpable serve`; print what became of it."""
    command = [sys.executable, "-m", "lumpable", "serve", str(folder / "load.db")]
    command += ["--port", "0", "--rewards", "binary", *(w for a in ARMS for w in ("--arm", a))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        client = Client(f"http://127.0.0.1:{port}")
        client.wait_until_ready(300)
        look(port)
        times = asyncio.run(load(port, connections, seconds, users))
        status = client.status()["experiment"]
        server.terminate()
    click.echo(f"lumpable serve: {said(times, seconds)}")
    click.echo(f"{status['decisions']:,} decisions, {status['version']} fits, {users:,} users")
    return times


def peer(folder: Path, connections: int, seconds: float, users: int) -> list[float]:
    """Load the peer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("fastapi_peer.py")
    command = [sys.executable, str(script), str(folder / "peer.db"), str(port), *ARMS]
    with subprocess.Popen(command) as server:
        while server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        times = asyncio.run(load(port, connections, seconds, users))
        server.terminate()
    click.echo(f"FastAPI, a plain insert a call: {said(times, seconds)}")
    return times


@click.command(help=__doc__.partition("\n")[0])
@click.option("--connections", default=64, show_default=True)
@click.option("--seconds", default=10.0, show_default=True)
@click.option("--users", default=1_000, show_default=True)
@click.option("--peer", "beside", is_flag=True, help="Load FastAPI with plain inserts, too.")
def main(connections: int, seconds: float, users: int, beside: bool) -> None:
    """Start the service, load it, and print what it did."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        own = ours(Path(folder), connections, seconds, users)
        if beside:
            other = peer(Path(folder), connections, seconds, users)
            click.echo(f"ratio {len(own) / len(other):.2f}")


if __name__ == "__main__":
    main()
