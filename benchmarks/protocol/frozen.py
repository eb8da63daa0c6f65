"""Seeds that follow from the commit that froze learner and measure: nobody can choose them.

Worlds, contexts and luck of a problem are pure functions of such a seed. Peers are screened with
seeds of their own, so that what is reported was seen by nobody before.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEARNER = (
    *(f"src/lumpable/lumps/{room}" for room in ("model", "core", "belief")),
    *(f"src/lumpable/learners/{part}" for part in ("engine", "learner.py", "fitting/lloyd.py")),
    "src/lumpable/runs/playing.py",
    "src/lumpable/worlds",
    "benchmarks/protocol",
)
"""What decides, what it is played in, and how seeds and ratios come about."""
FROZEN = (*LEARNER, "benchmarks/practical.py")
"""The same and how that is judged: names, files and pictures do not matter."""
FRESH, SCREENING = "fresh", "screening"
"""What seeds are for."""
BITS = 48


def seeds(commit: str, purpose: str, problem: str, number: int) -> list[int]:
    """Return the first so many seeds of a problem; more of them begin with the same.

    >>> seeds("abc", FRESH, "s", 2) == seeds("abc", FRESH, "s", 3)[:2]
    True
    """
    return [_seed(f"{commit}/{purpose}/{problem}/{k}") for k in range(number)]


def _seed(words: str) -> int:
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[: BITS // 8], "big")


def last_commit(paths: Sequence[str] = FROZEN) -> str:
    """Return the hash of the last commit that touched what is frozen."""
    return _git("log", "-1", "--format=%H", "--", *paths)


def full_hash(commit: str) -> str:
    """Return the whole hash of a commit, by any name that it goes by."""
    try:
        return _git("rev-parse", "--verify", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError as error:
        raise ValueError(f"freeze: expected a commit, got {commit!r}") from error


def differs(commit: str, paths: Sequence[str] = FROZEN) -> bool:
    """Whether what would be measured, or the measure, is another than that of the commit."""
    return bool(_git("diff", "--name-only", commit, "--", *paths)) or bool(
        _git("ls-files", "--others", "--exclude-standard", "--", *paths)
    )


def digest(paths: Sequence[str] = FROZEN) -> str:
    """Return a digest of what is frozen, as it is now."""
    places = [ROOT / path for path in paths]
    files = sorted(
        file for path in places for file in (path.rglob("*.py") if path.is_dir() else [path])
    )
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
