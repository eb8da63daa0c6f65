"""Make a release: `make release`. Builds it and tries it; publishes nothing.

The version is in one place, src/lumpable/base/version.py. The changelog must have an entry for it
with a date, and CITATION.cff must name it. Wheel and sdist go to dist/; the wheel is installed into
a clean environment, where the main things are done.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TRIAL = """
import lumpable as lb
lumps = lb.Lumps(arms=["tea", "coffee"])
choice = lumps.decide("ann")
lumps.reward(choice.id, 1.0)
world, problem = lb.worlds.lumpable(20, 10, 2, seed=1), lb.Problem(20, 10, 2)
run = lb.simulate(lb.pac.any_contexts(problem, epsilon=0.3, delta=0.1), world, seed=1)
print(lb.__version__, len(lumps.groups()), run.rounds)
"""


def version() -> str:
    """Return the version that is to be released."""
    text = (ROOT / "src" / "lumpable" / "base" / "version.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'__version__ = "([^"]+)"', text)
    return str(found)


def complaints(wanted: str) -> list[str]:
    """Return what is still to be done before this version can be released."""
    said = []
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"(?m)^## {re.escape(wanted)} \(\d{{4}}-\d\d-\d\d\)$", changelog):
        said.append(f"CHANGELOG.md: expected a heading '## {wanted} (YYYY-MM-DD)'")
    if f"\nversion: {wanted}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        said.append(f"CITATION.cff: expected 'version: {wanted}'")
    changes = run("git", "status", "--porcelain").strip()
    if changes:
        said.append(f"git: expected everything committed, got\n{changes}")
    return said


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; stop where it fails."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> tuple[Path, Path]:
    """Build the sdist and, from it, the wheel; return both."""
    for old in DIST.glob("lumpable-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def trial(wheel: Path) -> str:
    """Install a wheel where nothing else is, do the main things, return what they print."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        constraints = ROOT / "constraints.txt"
        run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, wheel)
        said = run(python, "-c", TRIAL, cwd=Path(folder))
        run(python, "-m", "lumpable", "budget", cwd=Path(folder))
        run(python, "-m", "lumpable", "simulate", "pac", "--contexts", "20", "--arms", "10")
    return said


def main() -> int:
    """Check, build, try; say what to do next."""
    wanted = version()
    said = complaints(wanted)
    if said:
        print("\n".join(said), file=sys.stderr)
        return 2
    wheel, sdist = build()
    print(f"built {wheel.relative_to(ROOT)} and {sdist.relative_to(ROOT)}")
    if trial(wheel).split()[0] != wanted:
        print(f"the wheel does not say that it is {wanted}", file=sys.stderr)
        return 1
    print(f"tried the wheel in a clean environment. Next: git tag v{wanted}, and publish dist/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
