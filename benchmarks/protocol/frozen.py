"""Seeds that follow from the commit that froze the learner: nobody can choose them.

Worlds, contexts and luck of a problem are pure functions of such a seed. Peers are screened with
seeds of their own, so that what is reported was seen by nobody before.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEARNER = "src/lumpable/lumps"
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


def last_commit() -> str:
    """Return the hash of the last commit that touched the learner."""
    return _git("log", "-1", "--format=%H", "--", LEARNER)


def full_hash(commit: str) -> str:
    """Return the whole hash of a commit, by any name that it goes by."""
    try:
        return _git("rev-parse", "--verify", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError as error:
        raise ValueError(f"freeze: expected a commit, got {commit!r}") from error


def differs(commit: str) -> bool:
    """Whether the learner that would be measured is another than that of the commit."""
    return bool(_git("diff", "--name-only", commit, "--", LEARNER)) or bool(
        _git("ls-files", "--others", "--exclude-standard", "--", LEARNER)
    )


def digest() -> str:
    """Return a digest of the learner's code as it is now."""
    files = sorted((ROOT / LEARNER).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
