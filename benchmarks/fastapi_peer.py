"""What somebody would write instead: FastAPI, and a plain SQLite insert for every call.

Decides at random and learns nothing. `http_load.py --peer` starts it.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import uuid

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Decide(BaseModel):
    """A user comes."""

    user: str
    event: str | None = None


class Reward(BaseModel):
    """A reward comes."""

    event: str
    value: float


def made(path: str, arms: list[str]) -> FastAPI:
    """Return the application."""
    app = FastAPI()
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE decisions (event TEXT PRIMARY KEY, user TEXT, arm TEXT);"
        "CREATE TABLE rewards (event TEXT PRIMARY KEY, value REAL);"
    )

    @app.post("/decide")
    async def decide(asked: Decide) -> dict[str, str]:
        event, arm = asked.event or uuid.uuid4().hex, random.choice(arms)
        db.execute("INSERT OR IGNORE INTO decisions VALUES (?, ?, ?)", (event, asked.user, arm))
        return {"event": event, "user": asked.user, "arm": arm}

    @app.post("/reward")
    async def reward(told: Reward) -> dict[str, str]:
        db.execute("INSERT OR IGNORE INTO rewards VALUES (?, ?)", (told.event, told.value))
        return {"standing": "rewarded"}

    return app


if __name__ == "__main__":
    uvicorn.run(made(sys.argv[1], sys.argv[3:]), port=int(sys.argv[2]), log_level="warning")
