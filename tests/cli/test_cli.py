"""The command line: what it prints, what it refuses, and how it stops."""

from __future__ import annotations

import dataclasses
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.base.words import short
from lumpable.cli import budgets, main, paper_demo, simulations, watching
from lumpable.plans.costs import METHODS
from lumpable.runs import answers

SIZE = ("--contexts", "12", "--arms", "8", "--groups", "3")
SMALL = (*SIZE, "--epsilon", "0.2")


def call(*words: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main.main, words, prog_name="lumpable")


def pac(*words: str) -> dict[str, Any]:
    """Look for a policy and return the JSON of it."""
    return simulated("pac", *words)


def regret(*words: str) -> dict[str, Any]:
    """Play up to a horizon and return the JSON of it."""
    return simulated("regret", *words)


def simulated(*words: str) -> dict[str, Any]:
    """Run a small simulation and return its JSON, which must be strict."""
    result = call("simulate", *words, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return strict(result.stdout)


def strict(text: str) -> dict[str, Any]:
    """Parse JSON that must not say NaN or Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


# --- Help and docs --------------------------------------------------------------------------


def commands(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all commands below it."""
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands((*path, name), below)


def help_page() -> str:
    """Return the help of every command, as people see it."""
    parts = []
    for words in commands((), main.main):
        title = " ".join(("lumpable", *words))
        parts.append(f"## `{title}`\n\n```text\n{call(*words, '--help').stdout}```\n")
    return "\n".join(parts)


def test_help_is_as_wide_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = set()
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        pages.add(help_page())
    assert len(pages) == 1


def test_help_fits_into_a_terminal_of_80_columns() -> None:
    assert max(map(len, help_page().splitlines())) <= 80


def test_help_of_all_says_what_to_type() -> None:
    text = call("--help").stdout
    assert "lumpable demo" in text
    assert "reward" in text
    for name in main.main.commands:
        assert f"\n  {name} " in text


def test_a_command_that_is_imported_later_is_listed_as_it_is() -> None:
    from lumpable.cli.reproducing import reproduce

    later = main.main.commands["reproduce"]
    assert later.get_short_help_str(200) == reproduce.get_short_help_str(200)
    assert "Usage: lumpable reproduce" in call("reproduce", "--help").stdout
    assert call("reproduce", "--only", "x").exit_code == 2


def test_help_is_quick() -> None:
    heavy = "{'rich', 'altair', 'numba', 'pandas', 'pyarrow', 'scipy'}"
    code = (
        "import sys; from lumpable.cli.main import main; main(['--help'], standalone_mode=False); "
        f"sys.exit(str({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"


def test_module_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lumpable", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"lumpable {lb.__version__}\n"


def test_cite_prints_the_citation() -> None:
    assert call("cite").stdout == lb.citation()


# --- simulate pac ---------------------------------------------------------------------------


def test_json_is_the_run_of_the_library() -> None:
    found = pac(*SMALL, "--seed", "5")
    world = lb.worlds.lumpable(12, 8, 3, seed=5)
    problem = lb.Problem(12, 8, 3)
    run = lb.simulate(lb.pac.any_contexts(problem, epsilon=0.2, delta=0.05), world, seed=6)
    assert run.result is not None
    assert found == {
        "version": lb.__version__,
        "method": "any_contexts",
        "world": repr(world),
        "parameters": {
            **{"algorithm": "any-contexts", "contexts": 12, "arms": 8, "groups": 3},
            **{"epsilon": 0.2, "delta": 0.05, "sizes": "equal", "frequency": "uniform"},
            **{"noise": "gaussian", "sd": 1.0, "means": "uniform", "seed": 5},
            **{"rank": None, "hard": None, "matrix": None},
        },
        "constants": "PAPER",
        "seed": 5,
        "run_seed": 6,
        "loss": world.loss(run.policy),
        "rounds": run.rounds,
        "requests": len(run.requests),
        "regret": run.regret,
        "candidates": list(run.result.candidates),
        "bound": lb.bounds.whole(problem, 0.2, 0.05),
        "printed": lb.bounds.any_contexts_printed(problem, 0.2, 0.05),
        "promise": lb.bounds.any_contexts_promise(problem, 0.2, 0.05),
        "naive_rounds": lb.bounds.naive_rounds(problem, 0.2, 0.05),
        "naive_promise": lb.bounds.naive_promise(0.2),
        "cheaper": "naive",
        "notes": list(run.notes),
        "policy": run.policy.tolist(),
        "context_names": None,
        "arm_names": None,
    }


def test_the_same_seed_gives_the_same_output() -> None:
    first, again, other = (
        call("simulate", "pac", "--json", *SMALL, "--seed", seed).stdout for seed in "778"
    )
    assert first == again
    assert json.loads(first)["policy"] != json.loads(other)["policy"]


@pytest.mark.parametrize(
    ("algorithm", "method"),
    [
        ("near-uniform", "near_uniform"),
        ("naive", "naive"),
        ("elimination", "elimination"),
        ("cheaper", "naive"),
    ],
)
def test_every_algorithm_says_what_it_promises(algorithm: str, method: str) -> None:
    found = pac(*SMALL, "--algorithm", algorithm)
    problem = lb.Problem(12, 8, 3)
    row = next(m for m in lb.budget(problem, 0.2, 0.05).methods if m.name == method)
    assert found["method"] == method
    assert (found["printed"], found["promise"]) == (row.printed, row.promise)
    assert found["rounds"] <= found["bound"]
    if method != "near_uniform":
        assert found["bound"] == row.rounds
    assert ("PAPER" in found["constants"]) == (method != "elimination")


@pytest.mark.parametrize(
    ("contexts", "cells", "method"), [("12", 12, "naive"), ("4000", 4, "near_uniform")]
)
def test_low_rank_takes_the_rank_and_says_what_ran(contexts: str, cells: int, method: str) -> None:
    """R = min(S, 2/epsilon) cells at rank 1; Algorithm 1 where that asks for fewer rounds."""
    epsilon = "0.1" if method == "naive" else "0.5"
    size = ("--contexts", contexts, "--arms", "600", "--epsilon", epsilon, "--rank", "1")
    found = pac(*size, "--algorithm", "low-rank")
    problem = lb.Problem(int(contexts), 600, cells)
    row = next(m for m in lb.budget(problem, float(epsilon), 0.05).methods if m.name == method)
    assert (found["method"], found["promise"]) == (method, row.promise)
    assert any(f"assumes {cells} cells" in note for note in found["notes"]) == (cells == 4)
    assert not any("theorem" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("options", "world"),
    [
        (
            ("--sizes", "giant", "--frequency", "zipf", "--noise", "bernoulli", "--means", "hard"),
            lb.worlds.lumpable(
                12, 8, 3, sizes="giant", frequency="zipf", noise="bernoulli", means="hard", seed=0
            ),
        ),
        (("--sizes", "geometric"), lb.worlds.lumpable(12, 8, 3, sizes="geometric", seed=0)),
        (("--sd", "0.5"), lb.worlds.lumpable(12, 8, 3, sd=0.5, seed=0)),
        (("--rank", "2"), lb.worlds.low_rank(12, 8, 2, seed=0)),
        (
            ("--hard", "2", "--epsilon", "0.1"),
            lb.worlds.hard(2, 12, 8, 3, epsilon=0.1, seed=0),
        ),
    ],
)
def test_options_make_the_world_that_they_name(options: tuple[str, ...], world: lb.World) -> None:
    found = pac(*SMALL, "--algorithm", "naive", *options)
    epsilon = found["parameters"]["epsilon"]
    plan = lb.standard.naive(lb.Problem(12, 8, 3), epsilon=epsilon, delta=0.05)
    run = lb.simulate(plan, world, seed=1)
    assert found["policy"] == run.policy.tolist()
    assert found["regret"] == run.regret


def write_matrix(path: Path) -> None:
    rows = [("ann", "tea", 0.9), ("ann", "rum", 0.1), ("bob", "tea", 0.2), ("bob", "rum", 0.7)]
    if path.suffix == ".csv":
        lines = ["context,arm,mean", *(f"{user},{drink},{mean}" for user, drink, mean in rows)]
        path.write_text("\n".join(lines))
    else:
        import polars

        names = ("context", "arm", "mean")
        polars.DataFrame(rows, schema=names, orient="row").write_parquet(path)


@pytest.mark.parametrize("name", ["rewards.csv", "rewards.parquet"])
def test_a_matrix_of_your_own(tmp_path: Path, name: str) -> None:
    write_matrix(tmp_path / name)
    found = pac("--matrix", str(tmp_path / name), "--sd", "0.1")
    assert [found["parameters"][size] for size in ("contexts", "arms", "groups")] == [2, 2, 2]
    assert found["parameters"]["sizes"] is None
    assert found["context_names"] == ["ann", "bob"]
    assert found["arm_names"] == ["tea", "rum"]
    assert found["policy"] == [0, 1]
    told = pac("--matrix", str(tmp_path / name), "--groups", "1")
    assert told["parameters"]["groups"] == 1
    assert told["notes"] == [
        "the plan assumes 1 group, the world has 2: outside the theorem's assumptions"
    ]


def test_uneven_contexts_are_noted_for_algorithm_1() -> None:
    options = (*SMALL, "--frequency", "zipf")
    words = "contexts do not come about equally often: outside the theorem's assumptions"
    world = lb.worlds.lumpable(100, 8, 3, frequency="zipf", seed=0)
    assert world.frequency.max() > 8 / 100
    uneven = ("--contexts", "100", "--algorithm")
    assert words in pac(*options, *uneven, "near-uniform")["notes"]
    assert words not in pac(*options, *uneven, "any-contexts")["notes"]
    assert pac(*SMALL, "--algorithm", "near-uniform")["notes"] == []


def test_table_says_all_that_matters() -> None:
    text = " ".join(call("simulate", "pac", *SMALL).stdout.split())
    found = pac(*SMALL)
    assert f"loss {found['loss']:.4g}, or {found['loss'] / 0.2:.2f} epsilon" in text
    assert f"promised loss {found['promise']:.3g} (vacuous: above 1)" in text
    assert f"rounds used {short(found['rounds'])} in {found['requests']} requests" in text
    assert f"paper's bound {short(found['bound'])} rounds" in text
    assert f"naive method {short(found['naive_rounds'])} rounds" in text
    assert "constants PAPER" in text
    assert "seed 0 for the world, 1 for the run" in text
    assert "the naive method is cheaper here" in text


def test_pictures_are_written_where_asked(tmp_path: Path) -> None:
    folder, page = tmp_path / "new" / "pictures", tmp_path / "page.html"
    size = ("--contexts", "6", "--arms", "4", "--groups", "2", "--epsilon", "0.2")
    result = call("simulate", "pac", "--json", *size, "--png", str(folder), "--html", str(page))
    assert strict(result.stdout)["requests"] > 0
    assert (folder / "matrix.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in page.read_text()


# --- simulate regret ------------------------------------------------------------------------

LONG = (*SIZE, "--horizon", "1e12")


def test_json_of_regret_is_the_run_of_the_library() -> None:
    found = regret(*LONG, "--seed", "5")
    world = lb.worlds.lumpable(12, 8, 3, seed=5)
    problem = lb.Problem(12, 8, 3)
    run = lb.simulate(lb.regret.equal_groups(problem), world, seed=6, horizon=10**12)
    assert run.turns[-1].belief.good is not None
    good = run.turns[-1].belief.good.sum(axis=1)
    fell = next(
        t.rounds for t in run.turns if t.belief.good is not None and not t.belief.good.all()
    )
    apart = next(
        t.rounds for t in run.turns if t.belief.good is not None and len(t.belief.good) == 3
    )
    assert found == {
        "version": lb.__version__,
        "method": "equal_groups",
        "world": repr(world),
        "parameters": {
            **{"algorithm": "equal-groups", "contexts": 12, "arms": 8, "groups": 3},
            **{"horizon": 10**12, "mended": False, "sizes": "equal", "frequency": "uniform"},
            **{"noise": "gaussian", "sd": 1.0, "means": "uniform", "seed": 5},
            **{"rank": None, "matrix": None},
        },
        "constants": "PAPER",
        "seed": 5,
        "run_seed": 6,
        "rounds": 10**12,
        "requests": len(run.requests),
        "regret": run.regret,
        "regret_per_round": run.regret / 10**12,
        "loss": world.loss(run.policy),
        "groups": 3,
        "clusters": 3,
        "good_arms": good.mean(),
        "apart": apart,
        "first_fall": fell,
        "buckets": None,
        "split_possible": found["split_possible"],
        "fall_possible": found["fall_possible"],
        "rate": lb.bounds.regret_rate(problem, 10**12),
        "rate_formula": "sqrt(r^3 (S+K) T)",
        "standard_rate": lb.bounds.standard_rate(problem, 10**12),
        "notes": [],
        "policy": run.policy.tolist(),
        "context_names": None,
        "arm_names": None,
    }


@pytest.mark.parametrize(
    ("options", "method", "plan"),
    [
        (("any-groups",), "any_groups", lambda p: lb.regret.any_groups(p)),
        (("any-groups", "--mended"), "any_groups", lambda p: lb.regret.any_groups(p, mended=True)),
        (("fresh-phases",), "fresh_phases", lambda p: lb.regret.fresh_phases(p)),
        (("fresh-guesses",), "fresh_guesses", lambda p: lb.regret.fresh_guesses(p)),
        (
            ("any-contexts",),
            "any_contexts_online",
            lambda p: lb.reductions.any_contexts_online(p, horizon=10**12),
        ),
        (
            ("unknown-groups",),
            "unknown_groups",
            lambda p: lb.reductions.unknown_groups(lb.Problem(12, 8, 1)),
        ),
        (("never-worse",), "online", lambda p: lb.standard.online(p)),
        (("standard",), "online", lambda p: lb.standard.online(p)),
        (("low-rank",), "online", lambda p: lb.standard.online(p)),
    ],
)
def test_every_algorithm_of_regret_is_the_plan_that_it_names(
    options: tuple[str, ...], method: str, plan: Callable[[lb.Problem], lb.Plan]
) -> None:
    found = regret(*LONG, "--algorithm", *options)
    world = lb.worlds.lumpable(12, 8, 3, seed=0)
    run = lb.simulate(plan(lb.Problem(12, 8, 3)), world, seed=1, horizon=10**12)
    assert (found["method"], found["regret"]) == (method, run.regret)
    assert found["policy"] == run.policy.tolist()
    if not run.sides:
        assert (found["clusters"] is None) == (not run.turns)


@pytest.mark.parametrize(("text", "rounds"), [("1e5", 10**5), ("250_000", 250_000), ("7", 7)])
def test_horizons_can_be_written_as_people_do(text: str, rounds: int) -> None:
    assert regret(*SIZE, "--horizon", text)["rounds"] == rounds


@pytest.mark.parametrize("algorithm", ["equal-groups", "any-groups"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_no_arm_of_gap_1_falls_before_it_can(algorithm: str, share: float, tmp_path: Path) -> None:
    """Without noise and with a gap of 1, arms fall when the advice says, and not before."""
    rows = "".join(
        f"user {i},{arm},{mean}\n" for i in range(4) for arm, mean in (("a", 1), ("b", 0))
    )
    (tmp_path / "one.csv").write_text("context,arm,mean\n" + rows)
    options = ("--matrix", str(tmp_path / "one.csv"), "--sd", "0", "--algorithm", algorithm)
    first = regret(*options, "--horizon", "10")["fall_possible"]
    last = regret(*options, "--horizon", str(int(share * first) + 1))
    assert (last["first_fall"] is None) == (share < 1)
    if share == 1:
        assert last["first_fall"] == first


def test_the_earliest_round_is_that_of_the_readings() -> None:
    found = regret("--contexts", "30", "--arms", "20", "--groups", "3", "--horizon", "10")
    assert found["fall_possible"] == pytest.approx(4.0e9, rel=0.01)
    assert found["split_possible"] < found["fall_possible"]


def test_the_table_of_regret_says_all_that_matters() -> None:
    text = " ".join(call("simulate", "regret", *LONG).stdout.split())
    found = regret(*LONG)
    per_round = found["regret_per_round"]
    assert "method Algorithm 4 constants PAPER seed 0 for the world, 1 for the run" in text
    assert f"regret {short(found['regret'])}, the reward that learning cost" in text
    assert (
        f"{per_round:.3g}, as if one round in {round(1 / per_round)} had lost a reward of 1" in text
    )
    assert f"policy at the end loses {found['loss']:.4g} a round" in text
    assert "clusters 3 for 3 hidden groups" in text
    assert f"all groups apart after {short(found['apart'])} rounds" in text
    assert f"first arm dropped after {short(found['first_fall'])} rounds" in text
    assert f"{short(found['rate'])} = sqrt(r^3 (S+K) T) without constants" in text
    assert "The standard rate is the smaller one at this size, whatever the horizon: " in text
    assert "run the same with --algorithm standard to compare" in text


def test_a_repaired_algorithm_is_called_so() -> None:
    options = (*SIZE, "--horizon", "1e6", "--algorithm", "any-groups")
    for extra, words in (((), "Algorithm 6 constants"), (("--mended",), "Algorithm 6, mended")):
        assert words in " ".join(call("simulate", "regret", *options, *extra).stdout.split())


def test_when_nothing_has_happened_the_table_says_when_it_can() -> None:
    text = " ".join(call("simulate", "regret", *SIZE, "--horizon", "1e6").stdout.split())
    found = regret(*SIZE, "--horizon", "1e6")
    assert "all groups apart not yet first arm dropped not yet" in text
    assert "No cluster was split and no arm dropped yet" in text
    assert f"split from about {short(found['split_possible'])} rounds on" in text
    assert f"dropped from about {short(found['fall_possible'])} on" in text


def test_buckets_are_told_one_by_one() -> None:
    options = (*LONG, "--algorithm", "any-contexts", "--frequency", "zipf")
    found = regret(*options)
    text = " ".join(call("simulate", "regret", *options).stdout.split())
    world = lb.worlds.lumpable(12, 8, 3, frequency="zipf", seed=0)
    assert sum(share["contexts"] for share in found["buckets"]) == 12
    assert sum(share["clusters"] for share in found["buckets"]) == found["clusters"]
    assert max(share["groups"] for share in found["buckets"]) <= world.groups
    assert all(share["clusters"] == share["groups"] for share in found["buckets"])
    assert "clusters in every bucket as many as hidden groups" in text
    number = len(found["buckets"])
    assert f"buckets {number} side by side" in text
    assert f"all groups apart in {number} of {number} buckets" in text


def test_guesses_that_were_given_up_are_notes() -> None:
    notes = regret(*LONG, "--algorithm", "unknown-groups")["notes"]
    assert [note.split(" was given up")[0] for note in notes] == ["r = 1", "r = 2"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sizes", "giant"), "groups are not of equal size"),
        (("--frequency", "zipf", "--contexts", "100"), "contexts do not come about equally often"),
        (("--algorithm", "never-worse"), "the standard algorithm ran"),
    ],
)
def test_what_is_outside_the_theorems_is_noted(options: tuple[str, ...], words: str) -> None:
    assert regret(*SIZE, "--horizon", "1e6")["notes"] == []
    assert any(words in note for note in regret(*SIZE, "--horizon", "1e6", *options)["notes"])


def test_a_matrix_of_your_own_is_played_too(tmp_path: Path) -> None:
    write_matrix(tmp_path / "rewards.csv")
    found = regret("--matrix", str(tmp_path / "rewards.csv"), "--horizon", "1e9")
    assert [found["parameters"][size] for size in ("contexts", "arms", "groups")] == [2, 2, 2]
    assert (found["policy"], found["arm_names"]) == ([0, 1], ["tea", "rum"])
    told = regret("--matrix", str(tmp_path / "rewards.csv"), "--horizon", "1e6", "--groups", "1")
    assert "the plan assumes 1 group, the world has 2" in told["notes"][0]


def test_low_rank_is_told_the_rank() -> None:
    found = regret(*SIZE[:4], "--rank", "2", "--algorithm", "low-rank", "--horizon", "1e6")
    assert found["parameters"]["groups"] == 2
    assert found["rate"] == lb.bounds.low_rank_rate(lb.Problem(12, 8, 2), 10**6)
    assert found["constants"] == "none of the paper's"  # the standard algorithm ran


def test_buckets_that_are_not_apart_are_told_one_by_one() -> None:
    options = (*SIZE, "--algorithm", "any-contexts", "--frequency", "zipf", "--horizon", "1e9")
    found = regret(*options)
    text = " ".join(call("simulate", "regret", *options).stdout.split())
    listed = ", ".join(f"{share['clusters']} for {share['groups']}" for share in found["buckets"])
    assert f"clusters {listed} hidden groups" in text


def test_a_horizon_that_estimating_takes_whole_is_noted() -> None:
    found = regret(*SIZE, "--algorithm", "any-contexts", "--horizon", "100")
    assert any("all rounds went into estimating" in note for note in found["notes"])


def test_no_rate_is_called_smaller_outside_the_theorem() -> None:
    options = (*SIZE, "--sizes", "geometric", "--horizon", "1e12")
    text = " ".join(call("simulate", "regret", *options).stdout.split())
    assert "outside the theorem's assumptions" in text
    assert "rate is the smaller one" not in text


def test_pictures_of_regret_are_written_where_asked(tmp_path: Path) -> None:
    folder, page = tmp_path / "new", tmp_path / "page.html"
    options = ("--horizon", "1e6", "--png", str(folder), "--html", str(page))
    result = call("simulate", "regret", *SIZE, *options)
    assert result.exit_code == 0, result.stderr
    assert (folder / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in page.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--horizon", "0"), "expected a whole number from 1 to 9.22e18, got '0'"),
        (("--horizon", "1e19"), "expected a whole number from 1 to 9.22e18, got '1e19'"),
        (("--horizon", "2.5"), "got '2.5'"),
        (("--horizon", "nan"), "got 'nan'"),
        (("--horizon", "1e999"), "got '1e999'"),
        (("--mended",), "--mended goes with any-groups, any-contexts"),
        (("--rank", "2", "--sizes", "giant"), "--sizes has no effect with --rank"),
        (("--contexts", "2"), "groups: expected one of 1 .. 2, got 3"),
        (("--algorithm", "low-rank", "--horizon", "5"), "horizon: expected"),
        (("--html", "page.pdf"), "path: expected a name that ends in"),
        (("--seed", "-1"), "seed: expected a whole number of at least 0, got -1"),
        (("--noise", "poisson", "--sd", "2"), "sd: goes with noise 'gaussian' only"),
    ],
)
def test_bad_input_to_regret_is_refused(options: tuple[str, ...], words: str) -> None:
    result = call("simulate", "regret", *SIZE, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


# --- budget ---------------------------------------------------------------------------------


def test_budget_as_json_is_the_budget_of_the_library() -> None:
    result = call("budget", "--contexts", "200", "--arms", "300", "--groups", "4", "--json")
    found = lb.budget(lb.Problem(200, 300, 4), 0.1, 0.05)
    assert strict(result.stdout) == json.loads(json.dumps(msgspec.to_builtins(found)))


def budget_text(size: int) -> tuple[str, lb.Budget]:
    """Return what is printed for S = K, white space made even, and the budget itself."""
    text = call("budget", "--contexts", str(size), "--arms", str(size)).stdout
    return " ".join(text.split()), lb.budget(lb.Problem(size, size, 5), 0.1, 0.05)


def test_budget_shows_costs_and_promises_of_every_method() -> None:
    text, found = budget_text(1000)
    for method in found.methods:
        name = METHODS[method.name].title
        losses = [
            "-" if loss is None else f"{loss:.3g}{' (vacuous)' if loss > 1 else ''}"
            for loss in (method.printed, method.promise)
        ]
        assert f"{name} {short(method.rounds)} {' '.join(losses)} " in text
        assert f"{name} {method.equal_epsilon:.2g} {short(method.equal_rounds)} " in text
    assert text.count("(vacuous)") == 4
    assert "Any method needs about 1e6 rounds" in text


def test_budget_says_which_is_cheaper_and_from_where_on() -> None:
    text, _ = budget_text(200)
    assert "At the same epsilon, the naive method is cheaper here" in text
    assert "From S = 682, K = 682 on, as both grow, Algorithm 3 is cheaper." in text
    text, found = budget_text(1000)
    assert "At the same epsilon, Algorithm 3 is cheaper here" in text
    assert "From S = 681, K = 681 down, as both shrink, the naive method is cheaper." in text
    assert "At the same promise, the naive method is cheaper here" in text
    assert found.equal_other_from is not None
    S, K = map(short, found.equal_other_from)
    assert f"From S = {S}, K = {K} on, as both grow, Algorithm 3 is cheaper." in text


def test_budget_says_when_the_choice_never_turns() -> None:
    found = lb.budget(lb.Problem(200, 200, 5), 0.1, 0.05)
    never = dataclasses.replace(found, other_from=None, equal_other_from=None)
    for words in (budgets.advice(never), budgets.equal_advice(never)):
        assert words.endswith("It stays so as both grow.")


# --- What is refused ------------------------------------------------------------------------

BAD_FILES = {
    "nan.csv": "context,arm,mean\nann,tea,0.5\nann,rum,nan\n",
    "hole.csv": "context,arm,mean\nann,tea,0.5\nbob,rum,0.5\n",
    "wide.csv": "context,arm,mean\nann,tea,0\nann,rum,7\n",
    "words.csv": "context,arm,mean\nann,tea,much\n",
    "names.csv": "user,item,value\nann,tea,0.5\n",
    "table.xlsx": "",
    "broken.parquet": "no parquet\n",
    "long.csv": f"context,arm,mean\n{'a' * 200_000},tea,0.5\n",
    "short.csv": "context,arm,mean\nann\n",
    "empty.csv": "",
    "good.csv": "context,arm,mean\nann,tea,0.5\n",
    "diagonal.csv": "context,arm,mean\n" + "".join(f"{i},{i},0.5\n" for i in range(20_000)),
}
LARGE = "1" + 30 * "0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--contexts", "3", "--groups", "4"), "groups: expected one of 1 .. 3, got 4"),
        (("--epsilon", "0.7"), "epsilon: expected a number in (0, 1/2], got 0.7"),
        (("--epsilon", "nan"), "epsilon: expected a number in (0, 1/2], got nan"),
        (("--delta", "1"), "delta: expected a number in (0, 1), got 1.0"),
        (("--contexts", "0"), "contexts: expected a whole number of at least 1, got 0"),
        (("--arms", "0"), "arms: expected a whole number of at least 1, got 0"),
        (("--seed", "-1"), "seed: expected a whole number of at least 0, got -1"),
        (("--sd", "-1"), "sd: expected a finite number of at least 0, got -1.0"),
        (("--rank", "0"), "rank: expected one of 1 .. 8, got 0"),
        (("--hard", "1"), "groups: case 1 needs at least as many groups as arms (8), got 3"),
        (("--epsilon", "1e-9"), "rounds: a request of"),
        (("--matrix", "none.csv"), "path: no such file: 'none.csv'"),
        (("--matrix", "nan.csv"), "rows: expected a mean for every pair, got none for"),
        (("--matrix", "hole.csv"), "rows: expected a mean for every pair, got none for"),
        (("--matrix", "wide.csv"), "mean: expected means of one context to span at most 1, got 7"),
        (("--matrix", "words.csv"), "mean: expected a number, got 'much'"),
        (("--matrix", "names.csv"), "path: expected columns context, arm, mean, or names"),
        (("--matrix", "table.xlsx"), "path: expected a name that ends in .csv, .parquet, .npz"),
        (("--matrix", "broken.parquet"), "'broken.parquet' is not a Parquet file"),
        (("--matrix", "long.csv"), "'long.csv' is not a CSV file: field larger than"),
        (("--matrix", "short.csv"), "rows: expected a mean for every pair, got none for"),
        (("--matrix", "empty.csv"), "path: expected columns context, arm, mean, or names"),
        (("--matrix", "diagonal.csv"), "rows: expected a mean for every pair, got none for"),
        (("--matrix", "good.csv", "--seed", "-1"), "seed: expected a whole number of at least 0"),
        (("--contexts", LARGE), "contexts and arms: expected at most 1e15 pairs"),
        (("--arms", str(2**63 - 1)), "contexts and arms: expected at most 1e15 pairs"),
        (("--hard", "1", "--groups", LARGE, "--contexts", LARGE), "expected at most 1e15 pairs"),
        (("--html", "page.pdf"), "path: expected a name that ends in .png, .svg, .html, got"),
        (("--png", "nan.csv"), "nan.csv"),
    ],
)
def test_bad_input_is_one_line_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in BAD_FILES.items():
        Path(name).write_text(text)
    size = () if "--matrix" in options else SMALL
    result = call("simulate", "pac", *size, *options)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--matrix", "a.csv", "--contexts", "1000"), "--contexts has no effect with --matrix"),
        (("--hard", "2", "--noise", "gaussian"), "--noise has no effect with --hard"),
        (("--rank", "2", "--sizes", "giant"), "--sizes has no effect with --rank"),
        (("--hard", "4"), "'--hard'"),
        (("--arms", "many"), "'--arms'"),
        (("--algorithm", "magic"), "'--algorithm'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: tuple[str, ...], words: str) -> None:
    result = call("simulate", "pac", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr


def test_budget_refuses_bad_input() -> None:
    result = call("budget", "--epsilon", "0.7")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: epsilon: expected a number in (0, 1/2], got 0.7\n"


@pytest.mark.parametrize("option", ["--contexts", "--arms"])
def test_budget_refuses_sizes_beyond_floats(option: str) -> None:
    result = call("budget", option, "1" + 320 * "0")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {option[2:]}: expected at most 1e18, got")
    assert result.stderr.count("\n") == 1


def test_budget_has_an_answer_at_both_ends_of_what_it_takes() -> None:
    """At a tiny epsilon the promise is as tiny: the bisection must not end at zero."""
    for size in ("--contexts", "1"), ("--contexts", "1000000000000000000"):
        result = call("budget", *size, "--groups", "1", "--epsilon", "1e-100", "--json")
        assert result.exit_code == 0, result.stderr
        for method in strict(result.stdout)["methods"]:
            assert 0 < method["equal_epsilon"] <= 1e-100


@pytest.mark.parametrize(
    "error",
    [
        ValueError("could not broadcast"),
        TypeError("no such thing"),
        KeyError("lost"),
        OverflowError("int too large"),
        RuntimeError("broken"),
    ],
)
def test_a_bug_is_a_traceback_and_where_to_report_it(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Nobody is told that he typed something wrong when the package is wrong."""

    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(main, "budget", broken)
    result = call("budget")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Traceback")
    assert f"{type(error).__name__}: " in result.stderr
    assert f"This is a bug in lumpable {lb.__version__}, not in what you typed." in result.stderr


@pytest.mark.parametrize(
    "error",
    [
        lb.BadArgument("epsilon", "a small number", "7"),
        FileNotFoundError(2, "No such file or directory", "x.csv"),
        lb.MissingExtra("drawing needs an extra"),
        MemoryError(),
    ],
)
def test_what_people_can_mend_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refused(*_: Any) -> None:
        raise error

    monkeypatch.setattr(main, "budget", refused)
    result = call("budget")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {str(error) or 'MemoryError'}\n"


def test_too_large_a_world_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(_: dict[str, Any]) -> None:
        raise MemoryError("Unable to allocate 728. TiB")

    monkeypatch.setattr(simulations, "make_world", too_large)
    result = call("simulate", "pac")
    assert (result.exit_code, result.stderr) == (2, "Error: Unable to allocate 728. TiB\n")


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_a_missing_extra_is_told_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(simulations, "make_world", lambda settings: pytest.fail("a world was made"))
    result = call("simulate", "pac", *SMALL, "--png", str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: drawing pictures needs an extra that is not installed: "
        "pip install 'lumpable[plot]'\n"
    )


# --- Stopping -------------------------------------------------------------------------------


def test_ctrl_c_in_a_terminal_stops_between_requests() -> None:
    """A real process on a real terminal: it shows its progress, and stops when asked to."""
    words = ["simulate", "pac", "--algorithm", "naive", "--contexts", "2000", "--arms", "2000"]
    code = (  # whoever runs the tests may have told its children to ignore SIGINT
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from lumpable.cli.main import main; main({words!r}, prog_name='lumpable')"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen = ""
        for text in terminal(ours):
            seen += text
            if re.search(r"request \d+,", seen):
                process.send_signal(signal.SIGINT)
                break
        seen += "".join(terminal(ours))
        os.close(ours)
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 130
    assert printed == b""
    assert "rounds, 2000 candidates: trying candidate" in seen
    assert "; the same command with the same seed gives the same run" in seen
    assert "stopped after request " in seen
    assert "Traceback" not in seen


def terminal(handle: int) -> Iterator[str]:
    """Yield what is written to a terminal until nobody holds it open any more."""
    while True:
        try:
            text = os.read(handle, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            return
        if not text:
            return
        yield text.decode(errors="replace")


def stopped_at(number: int, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """Press Ctrl-C while a request is played, and return what comes of it."""
    play = answers.answer
    requests = iter(range(100))

    def answer(*words: Any) -> Any:
        if next(requests) == number:
            signal.raise_signal(signal.SIGINT)
        return play(*words)

    monkeypatch.setattr(answers, "answer", answer)
    return call("simulate", *(words or ("pac", *SMALL, "--json")))


def test_ctrl_c_says_how_far_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = (
        lb.simulate(
            lb.pac.any_contexts(lb.Problem(12, 8, 3), epsilon=0.2, delta=0.05),
            lb.worlds.lumpable(12, 8, 3, seed=0),
            seed=1,
        )
        .rows()[2]
        .rounds
    )
    result = stopped_at(2, monkeypatch)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == (
        f"stopped after request 3, {short(rounds)} rounds; "
        "the same command with the same seed gives the same run\n"
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_in_a_bucket_says_in_which(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--algorithm", "any-contexts", "--horizon", "1e9", "--json")
    result = stopped_at(2, monkeypatch, "regret", *SIZE, *options)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.startswith("stopped after bucket 1, request 2, ")


def test_progress_says_how_far_it_is() -> None:
    said: list[str] = []
    world = lb.worlds.lumpable(12, 8, 3, seed=0)
    problem = lb.Problem(12, 8, 3)
    lb.simulate(
        lb.regret.equal_groups(problem),
        world,
        seed=1,
        horizon=10**6,
        watch=lambda step: said.append(watching.progress(step, 10**6)),
    )
    n = len(said)
    assert said[-1] == f"request {n}, 1e6 of 1e6 rounds, 1 cluster: phase {n}: exploring"


def test_ctrl_c_twice_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(answers, "answer", answer)
    result = call("simulate", "pac", *SMALL)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == f"{watching.how_far(None)}\n"
    assert result.stderr.startswith("stopped before the first request was answered; ")


def test_ctrl_c_between_runs_is_clean_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "budget", pressed)
    result = call("budget")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "stopped\n")


def test_a_system_error_of_its_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise SystemError("not by Ctrl-C")

    monkeypatch.setattr(answers, "answer", broken)
    result = call("simulate", "pac", *SMALL)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "SystemError: not by Ctrl-C" in result.stderr


# --- The paper's demo -------------------------------------------------------------------------


@pytest.fixture
def short_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the demo small; what it says and writes stays the same."""
    monkeypatch.setattr(paper_demo, "PROBLEM", lb.Problem(40, 30, 9))
    monkeypatch.setattr(paper_demo, "SIZES", ((10, 10), (10, 20)))
    monkeypatch.setattr(paper_demo, "EPSILON", 0.1)


def test_the_demo_runs_where_the_paper_is_cheaper() -> None:
    assert (
        lb.budget(paper_demo.PROBLEM, paper_demo.EPSILON, paper_demo.DELTA).cheaper
        == "any_contexts"
    )


@pytest.mark.usefixtures("short_demo")
def test_the_demo_tells_and_draws(tmp_path: Path) -> None:
    result = call("demo", "paper", "--folder", str(tmp_path / "new"))
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    world = lb.worlds.lumpable(40, 30, 9, seed=paper_demo.SEED)
    problem = lb.Problem(40, 30, 9)
    plan = lb.pac.any_contexts(problem, epsilon=0.1, delta=0.05)
    run = lb.simulate(plan, world, seed=paper_demo.SEED + 1)
    loss = world.loss_by_context(run.policy)
    half, within, twice = ((loss <= 0.1 * scale).mean() for scale in (0.5, 1, 2))
    assert half < within < twice  # else any other share would do
    naive = lb.bounds.naive_rounds(problem, 0.1, 0.05)
    assert f"loss of the policy {world.loss(run.policy):.4f} of reward" in text
    assert f"rounds used {short(run.rounds)} " in text
    same = text.partition("The same run: lumpable ")[2].partition(" Now")[0].split()
    assert strict(call(*same, "--json").stdout)["policy"] == run.policy.tolist()
    assert f"the paper's bound {short(lb.bounds.whole(problem, 0.1, 0.05))} " in text
    assert f"the naive method {short(naive)}, " in text
    assert f"users served well {within:.1%} get an offer within epsilon" in text
    assert f"40 x 30 70 {short(run.rounds)} " in text
    assert f"{short(naive)} not run" in text
    assert result.stderr == ""
    for name in ("matrix.png", "growth.png"):
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")
    for name in ("matrix.html", "growth.html"):
        assert "vegaEmbed" in (tmp_path / "new" / name).read_text()


@pytest.mark.usefixtures("short_demo")
def test_the_demo_does_all_else_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    result = call("demo", "paper", "--folder", str(tmp_path / "new"))
    assert result.exit_code == 0
    assert "users served well" in result.stdout
    assert "pip install 'lumpable[plot]'" in " ".join(result.stdout.split())
    assert not (tmp_path / "new").exists()


def test_clusters_are_judged_by_their_largest_group() -> None:
    world = lb.worlds.lumpable(6, 4, 2, seed=1)
    run = lb.simulate(
        lb.standard.naive(lb.Problem(6, 4, 2), epsilon=0.1, delta=0.05), world, seed=1
    )
    by_group = lb.Run(**{**vars(run), "policy": world.group})
    assert paper_demo.clusters(world, by_group).startswith("2 for 2 hidden groups; 100.0% of")
    everybody = lb.Run(**{**vars(run), "policy": world.group * 0})
    assert paper_demo.clusters(world, everybody).startswith("1 for 2 hidden groups; 50.0% of")
