"""The learner of today against an earlier one: what is played, and what the page says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import before
import pytest
from click.testing import CliRunner
from protocol import frozen

NAMES = ("s, bursts", "s, bfi survey", "s, Gaussian, sd 1")


def test_every_problem_is_played() -> None:
    plan = before.chosen(None, before.LONGEST, tiny=False)
    assert [problem for problem, _ in plan] == before.listed(tiny=False)
    numbers = {problem.label: number for problem, number in plan}
    assert (numbers["b, bursts"], numbers["s, gss survey"]) == (before.MOST, before.MOST)
    assert numbers["b, Bernoulli, 1000 pulls"] == before.LONGEST


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_is_played_at_the_marks(name: str) -> None:
    (problem,) = (each for each in before.listed(tiny=True) if each.label == name)
    regret = before.play(problem, 7)
    assert regret == before.play(problem, 7)
    assert len(regret) == len(problem.marks)
    assert 0 <= regret[0] <= regret[-1]


def test_contexts_come_in_bursts_where_a_problem_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes: list[Any] = []

    def play(learner: Any, scene: Any, **_: Any) -> Any:
        scenes.append(scene)
        raise KeyError

    monkeypatch.setattr("lumpable.play", play)
    for problem in before.listed(tiny=True):
        with pytest.raises(KeyError):
            before.play(problem, 7)
        assert scenes[-1].arrivals == ("bursts" if "bursts" in problem.label else "iid")


def written(path: Path, rows: dict[str, list[list[float]]]) -> Path:
    lines = [json.dumps([name, k, x]) for name, every in rows.items() for k, x in enumerate(every)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_ratios_are_of_sums_over_the_same_worlds(tmp_path: Path) -> None:
    """The standard error by the delta method: of new - ratio old, over the mean of old."""
    today = written(tmp_path / "today", {"a": [[1.0, 3.0], [2.0, 3.0], [9.0, 9.0]], "b": [[1.0]]})
    old = written(tmp_path / "old", {"a": [[2.0, 3.0], [4.0, 3.0]], "b": [[1.0]]})
    found = before.ratios(today, old, {"a": (10, 30), "b": (10,)})
    assert found == {"a": (2, [(10, 0.5, 0.0), (30, 1.0, 0.0)])}  # one world has no error
    assert before.lines(found) == ["a (2 worlds): 10: 0.500 (0.000), 30: 1.000 (0.000)"]


def test_the_command_writes_a_page_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both learners are today's, in this process, on three problems: every ratio is 1."""
    every = before.listed
    few = [problem for problem in every(tiny=True) if problem.label in NAMES]
    monkeypatch.setattr(before, "listed", lambda tiny: few)

    class Here:
        def __init__(self, command: list[str], env: dict[str, str]) -> None:
            assert Path(env["PYTHONPATH"]) == frozen.ROOT / "src"
            done = CliRunner().invoke(before.main, command[2:], catch_exceptions=False)
            self.wait = lambda: done.exit_code

    monkeypatch.setattr(before, "subprocess", SimpleNamespace(run=subprocess.run, Popen=Here))
    out = tmp_path / "before.md"
    words = [str(frozen.ROOT), "--tiny", "--rows", str(tmp_path / "rows"), "--out", str(out)]
    done = CliRunner().invoke(before.main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert done.output.count("1.000 (0.000)") == 9
    text = out.read_text()
    assert "Made by `python benchmarks/before.py TREE --tiny` on 20" in text
    assert f"of commit `{before.last_commit(frozen.ROOT)[:12]}`" in text
    assert "**9 of 9 ratios are at most 1.03**" in text
    rows = {" ".join(row.split()) for row in text.splitlines()}
    assert all(
        f"| {name} | 2 | 10: 1.00 (0.00), 30: 1.00 (0.00), 60: 1.00 (0.00) |" in rows
        for name in NAMES
    )
    monkeypatch.setattr(before, "play", lambda *_: pytest.fail("played again"))
    again = CliRunner().invoke(before.main, words, catch_exceptions=False)
    assert again.output == done.output
