"""Command lines that somebody mistyped, or that mean harm: refused in one line, never a traceback.

A few hundred, made with a fixed seed from odd values for every option and every key of a file. What
they would run is not run: a line that is good ends where its work would begin.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from lumpable import BadArgument
from lumpable.cli import demo, keep_playing, main, paper_demo, simulations
from lumpable.comparisons import running
from lumpable.http import http_server
from lumpable.learners.catalogue import CATALOGUE
from lumpable.reproduce import runner


def _spelt(text: str) -> list[str]:
    return text.split()


WORDS = _spelt("""
0 -1 1 2 3 1e3 1e400 nan inf -inf 1.5 0x10 １２ ² 1_0 1__0 - None true / .. . a/b 1,000
1e-300 5e-324 0.5 0.1 ~ %s {} 3-1 1-2000 , 1,,2 0-0 equal zipf gaussian uniform hard
low-rank naive any-groups unknown-groups local dask suite
""")
ODD = [
    *WORDS,
    "",
    "9" * 20,
    "9" * 400,
    str(2**63),
    str(2**64),
    "\x1b[31m",
    "\udce9",
    "x" * 300,
    "a\nb",
]
FILES = ["good.csv", "folder.csv", "folder.parquet", "folder.toml", "odd.toml", "odd.parquet",
         "empty.toml", "empty.parquet", "file", "file/x.csv", "file/x.parquet", "file/x.toml",
         "file/x.html", "loop.toml", "loop.parquet", "loop.csv", "none.csv", "none.parquet",
         "none.toml", "folder.html", "good.toml", "/dev/null", "/dev/null/x.parquet"]  # fmt: skip
VALUES = _spelt("""
0 -1 1 2 1e3 1.5 nan inf -inf true "" "x" "\\u001b" "\\u0000" [] [1] [[1]] {} {a=1} ["x"]
1e308 1e18 1e400 5e-324 1979-05-27 07:32:00 [nan] [0.5,0.5] [[0.5,0.5],[0.1,0.2]] [["a"]]
[[1],[1,2]] [{}] [true] [1e400] 9999999999999999999 9223372036854775808
""")
KEYS = _spelt("""
horizon pulls seeds name label width kind contexts arms groups noise sd sizes frequency
means arrivals delay drift at mean path rank case epsilon seed x pooled constants through
mended
""")
OWN = _spelt("""
os:system os:path sys:exit builtins:int builtins:eval math:pi : a: :b a:b:c ..:x
numpy:zeros lumpable:Lumps lumpable:World json:loads builtins:type builtins:property
""")
WORLDS = {
    "lumpable": ["contexts = 6", "arms = 4", "groups = 2"],
    "low_rank": ["contexts = 6", "arms = 4", "rank = 2"],
    "hard": ["case = 2", "contexts = 6", "arms = 4", "groups = 3", "epsilon = 0.1"],
    "matrix": ["mean = [[0.5, 0.1], [0.1, 0.4]]"],
    "table": ['path = "good.csv"'],
}
RAN = "this line is good"


@pytest.fixture
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder of odd files, where no work is begun."""

    def ran(*_: Any, **__: Any) -> Any:
        raise BadArgument("", why=RAN)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "_rows", ran)
    monkeypatch.setattr(runner, "carry_out", ran)
    for command in (demo, keep_playing, paper_demo):
        monkeypatch.setattr(command, "run", ran)
    monkeypatch.setattr(simulations, "watch_run", ran)
    monkeypatch.setattr(http_server, "HttpServer", ran)
    for ending in ("csv", "parquet", "toml", "html"):
        Path(f"folder.{ending}").mkdir()
    for ending in ("csv", "parquet", "toml"):
        Path(f"loop.{ending}").symlink_to(f"loop.{ending}")
        Path(f"odd.{ending}").write_bytes(bytes(range(256)))
        Path(f"empty.{ending}").touch()
    Path("file").touch()
    Path("good.csv").write_text("context,arm,mean\nann,tea,0.5\nbob,tea,0.2\n")
    Path("good.toml").write_text("\n".join(_experiment(random.Random(0), changes=0)))


def _experiment(rng: random.Random, changes: int) -> list[str]:
    """Return the lines of an experiment in which some values are odd."""
    kind = rng.choice(list(WORLDS))
    top = ["horizon = 50", "seeds = 2"]
    learner = [f'name = "{rng.choice([*CATALOGUE, *OWN] if changes else ["ucb"])}"']
    world = ['label = "small"', f'kind = "{kind}"', *WORLDS[kind]]
    for _ in range(changes):
        part, key, value = rng.choice((top, learner, world)), rng.choice(KEYS), rng.choice(VALUES)
        at = rng.randrange(len(part) + 1)
        if at < len(part):
            key = part[at].partition(" = ")[0]
        part[at : at + 1] = [f"{key} = {value}"] if rng.random() < 0.9 else []
        part[:] = part or ["# nothing"]
    return [*top, "[[learner]]", *learner, "[[world]]", *world]


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name)


def _options(path: tuple[str, ...]) -> list[str]:
    """Return the options of a command that take a value."""
    command: click.Command = main.main
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    parameters = command.make_context("x", [], resilient_parsing=True).command.params
    return [one.opts[0] for one in parameters if isinstance(one, click.Option) and not one.is_flag]


def lines(seed: int, number: int) -> Iterator[list[str]]:
    """Yield command lines; a file of an experiment is written on the way."""
    rng = random.Random(seed)
    paths = [path for path in _commands(main.main) if path != ("cite",)]
    options = {path: _options(path) for path in paths}
    for _ in range(number):
        path = rng.choice(paths)
        words = list(path)
        if path[0] == "simulate":
            words += ["--contexts", "12", "--arms", "8", "--groups", "3", "--epsilon", "0.2"][:8]
            words = words if path[1] == "pac" else words[:-2]
        elif path in (("compare",), ("report",)):
            words.append(rng.choice([*FILES, *ODD]))
        if path == ("compare",) and rng.random() < 0.7:
            words[-1] = "mine.toml"
            made = _experiment(rng, changes=rng.choice((1, 1, 2, 3)))
            Path("mine.toml").write_text("\n".join(made))
        elif path in (("verify",), ("show",), ("export",), ("serve",)):
            words.append(rng.choice([*FILES, *ODD]))
        for _ in range(rng.choice((0, 1, 2) if path == ("compare",) else (1, 1, 2))):
            if not options[path]:
                break
            words += [rng.choice(options[path]), rng.choice([*FILES, *ODD, *ODD])]
        yield words


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    ("seed", "number"), [(1, 50), pytest.param(2, 6000, marks=pytest.mark.nightly)]
)
def test_what_is_wrong_is_bad_input(seed: int, number: int) -> None:
    good = 0
    for words in lines(seed, number):
        result = CliRunner().invoke(main.main, words, prog_name="lumpable")
        said = result.stderr
        assert result.exit_code in (0, 2), (words, said, result.exception)
        assert isinstance(result.exception, SystemExit | None), words
        if result.exit_code == 2:
            assert "Traceback" not in said, (words, said)
            assert said.startswith(("Error: ", "Usage: ")) or "\nError: " in said, (words, said)
            assert f"\n{said}".count("\nError: ") == 1, (words, said)
            assert said.strip().rpartition("Error:")[2], words  # it says something
        good += RAN in said or result.exit_code == 0
    assert number / 20 < good < number / 2  # most are bad, but not for one and the same reason
