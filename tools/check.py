"""Check one room while you write: `make check ROOM=plans`. Under a minute once things are compiled.

Format, lint and types of everything, then the doctests of the room and its quick tests. `make test`
runs all of it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
QUICK = {
    "base": ["test_files"],
    "worlds": ["test_worlds", "test_scene"],
    "plans": [
        *("test_plans", "test_pac_scripted", "test_regret", "test_regret_exact"),
        *("test_reductions", "test_bounds"),
    ],
    "runs": ["test_law", "test_testing"],
    "learners": [
        *("test_draws", "test_ucb", "test_uniform", "test_klucb", "test_thompson_beta"),
        *("test_lloyd", "test_regression", "test_completion"),
    ],
    "lumps": [
        *("test_model", "test_levels", "test_named", "test_stored"),
        *("test_symmetries", "test_forgetting"),
    ],
    "live": ["test_live", "test_live_split"],
    "stores": ["test_stores"],
    "service": ["test_joining", "test_experiment"],
    "http": ["test_endpoints", "test_refusals"],
    "playground": ["test_platform"],
    "tables": ["test_ingest", "test_learn", "test_engines", "test_packed_reading"],
    "nightly": ["test_evidence"],
    "comparisons": ["test_compare_toml", "test_compare_at", "test_comparison"],
    "reports": ["test_report"],
    "reproduce": ["test_reproduce_pac"],
    "cli": ["test_cli"],
    "docs": ["test_docs"],
}
"""Quick tests of each room, by the name of their file, wherever under tests/ it is."""


def places(room: str) -> list[Path]:
    """Return what pytest is to run for a room: its doctests, its quick tests, the law of rooms."""
    names = [*QUICK[room], "test_rooms"]
    tests = [path for name in names for path in (ROOT / "tests").rglob(f"{name}.py")]
    code = ROOT / "docs" if room == "docs" else ROOT / "src" / "lumpable" / room
    return [code, *tests]


def steps(room: str) -> list[list[str]]:
    """Return the commands to run, in their order."""
    chosen = [str(path) for path in places(room)]
    return [
        [str(BIN / "ruff"), "format", "--check", "--quiet", "."],
        [str(BIN / "ruff"), "check", "--quiet", "."],
        [str(BIN / "mypy"), "--no-error-summary"],
        [str(BIN / "pytest"), "-q", "-n", "2", "-m", "not nightly", "-k", "not site", *chosen],
    ]


def main(room: str) -> int:
    """Run every step until one fails; return its exit code."""
    if room not in QUICK:
        print(f"ROOM: expected one of {', '.join(QUICK)}, got {room!r}", file=sys.stderr)
        return 2
    begun = time.monotonic()
    for step in steps(room):
        print(Path(step[0]).name, *step[1:3], flush=True)
        code = subprocess.run(step, cwd=ROOT, check=False).returncode
        if code:
            return code
    print(f"{room}: fine, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
