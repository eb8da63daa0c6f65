"""An experiment in a file that survives a crash, first in a program, then as a service."""

import subprocess
import sys
import tempfile
from pathlib import Path

import lumpable as lb
from lumpable.client import Client

USERS = [f"user {k}" for k in range(40)]
LIKES = {user: ("tea", "coffee")[k % 2] for k, user in enumerate(USERS)}  # stands for real life


def likes(user: str, arm: str) -> float:
    """Return the reward of showing an arm to a user."""
    return 1.0 if arm == LIKES[user] else 0.0


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "drinks.db"

    # In your program: whatever was answered is in the file, so that a crash loses nothing.
    shop = lb.open(file, ["tea", "coffee", "juice"], rewards="binary", fits="inline")
    for visit in range(600):
        user = USERS[visit % len(USERS)]
        choice = shop.decide(user, event=f"visit-{visit}")
        shop.reward(choice.event, likes(user, str(choice.arm)))
    shop.close()

    # Opened again, it goes on where it was.
    with lb.open(file, fits="inline") as shop:
        print(shop.summary())
        again = shop.decide(USERS[1], event="visit-1")  # decided before: the same answer
        print(f"visit-1 was shown {again.arm!r}, and {shop.status().rewards} rewards came")

    # The same file as a service, which other programs call.
    command = [sys.executable, "-P", "-m", "lumpable", "serve", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as service:
        try:
            assert service.stdout is not None
            address = service.stdout.readline().decode().rpartition(" at ")[2].strip()
            with Client(address) as client:
                client.wait_until_ready(120)
                right = 0.0
                for user in USERS:
                    chosen = client.decide(user)
                    right += likes(user, str(chosen.arm))
                    client.reward(chosen.event, likes(user, str(chosen.arm)))
            print(f"{right:.0f} of {len(USERS)} were shown what they like")
        finally:
            service.terminate()
