"""The measuring protocol: seeds nobody chooses, ratios with honest errors, verdicts that hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from protocol import bars, frozen, page, peers, policies, ratios, running, structure
from protocol.bars import Bar
from protocol.problems import GROUPED, LONG, OTHER, SUITE, TINY, Problem, problems
from protocol.ratios import Ratio
from protocol.running import OURS, Measured, Way

import lumpable as lb

WORLD = {"kind": "lumpable", "contexts": 10, "arms": 4, "groups": 2, "noise": "bernoulli"}
SHORT = Problem("s", "made up", SUITE, WORLD, 60, (10, 30, 60), 60, contexts=10)


def row(learner: str, round_: int, seed: int, regret: float, **other: Any) -> Any:
    usual = {"knows": "", "status": "done", "reason": "", "world": "made up"}
    said = {"learner": learner, "round": round_, "seed": seed, "regret": regret}
    return SimpleNamespace(**{**said, **usual, **other})


def made(regret: Mapping[str, Sequence[float]], round_: int = 600, **other: Any) -> list[Any]:
    """Rows of learners with these regrets, a seed each, at one round."""
    return [
        row(learner, round_, seed, value, **other)
        for learner, values in regret.items()
        for seed, value in enumerate(values)
    ]


# --- Seeds ------------------------------------------------------------------------------------


def test_seeds_differ_by_commit_purpose_and_problem() -> None:
    asked = [
        (commit, purpose, problem)
        for commit in ("a" * 40, "b" * 40)
        for purpose in (frozen.FRESH, frozen.SCREENING)
        for problem in ("s, Bernoulli", "b, Bernoulli")
    ]
    drawn = [seed for each in asked for seed in frozen.seeds(*each, 100)]
    assert len(set(drawn)) == len(drawn) == 800
    assert all(0 <= seed < 2**frozen.BITS for seed in drawn)


def test_more_seeds_begin_with_the_same() -> None:
    few, many = (frozen.seeds("abc", frozen.FRESH, "s", number) for number in (20, 50))
    assert many[:20] == few


def test_a_commit_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="freeze: expected a commit, got 'no such thing'"):
        frozen.full_hash("no such thing")


# --- Ratios -----------------------------------------------------------------------------------


def paired(rng: np.random.Generator, seeds: int) -> tuple[Any, Any]:
    """Regrets of two learners that suffer from the same hard worlds; their means are 3 and 4."""
    hard = rng.gamma(4.0, 0.25, seeds)
    return 3.0 * hard * rng.gamma(16.0, 1 / 16, seeds), 4.0 * hard * rng.gamma(9.0, 1 / 9, seeds)


def test_the_standard_error_of_a_ratio_is_that_of_repeated_runs() -> None:
    """Law: 4,000 repetitions know a standard deviation to 1.1 %, six of which are 7 %."""
    rng = np.random.default_rng(1)
    found = [ratios.ratio(*paired(rng, 100)) for _ in range(4000)]
    values = np.array([each.value for each in found])
    errors = np.array([each.error for each in found])
    assert abs(errors.mean() / values.std() - 1) < 0.08  # and 1 % of bias, of order 1 / seeds
    assert abs(values.mean() - 0.75) < 6 * values.std() / math.sqrt(4000) + 0.001


def test_the_standard_error_of_a_geometric_mean_is_that_of_repeated_runs() -> None:
    rng = np.random.default_rng(2)
    found = [
        ratios.geometric_mean([ratios.ratio(*paired(rng, 100)) for _ in range(5)])
        for _ in range(2000)
    ]
    values = np.array([each.value for each in found])
    errors = np.array([each.error for each in found])
    assert abs(errors.mean() / values.std() - 1) < 6 / math.sqrt(2 * 2000) + 0.01


def test_a_ratio_needs_pairs() -> None:
    with pytest.raises(ValueError, match="expected at least two, paired"):
        ratios.ratio([1.0], [2.0])


def test_the_peer_of_a_ratio_is_the_best_on_these_seeds() -> None:
    rows = made({OURS: [4.0, 6.0], "good": [9.0, 11.0], "bad": [19.0, 21.0], "other": [1.0, 1.0]})
    found = ratios.against(rows, 600, OURS, ["good", "bad"])
    assert (found.value, found.peer) == (0.5, "good")
    summed = ratios.to_sum(rows, 600, OURS, [["good", "bad"], ["other"]])
    assert summed.value == pytest.approx(5 / 11)
    assert summed.peer == "good + other"


def test_the_best_five_come_in_turn_from_each_checkpoint() -> None:
    late = {name: [float(place), float(place)] for place, name in enumerate("abcdefg", 1)}
    early = {name: [float(place), float(place)] for place, name in enumerate("gfedcba", 1)}
    rows = [*made(late, 600), *made(early, 100)]
    assert ratios.best(rows, [100, 600]) == ["a", "g", "b", "f", "c"]
    assert ratios.best(rows, [600]) == ["a", "b", "c", "d", "e"]
    assert ratios.best(rows, [600], number=2) == ["a", "b"]


def test_oracles_and_those_that_failed_are_not_among_the_best() -> None:
    rows = made({"a": [3.0, 3.0], "b": [4.0, 4.0]})
    rows += made({"oracle": [1.0, 1.0]}, knows="groups")
    rows += [row("fails", 600, 0, 1.0), row("fails", 0, 1, math.nan, status="failed")]
    rows += [row("unfit", 0, seed, math.nan, status="not run") for seed in (0, 1)]
    assert ratios.best(rows, [600]) == ["a", "b"]


# --- Running ----------------------------------------------------------------------------------


class Comparisons:
    """Stands in for `lumpable.compare`: remembers what it was asked and makes rows up."""

    def __init__(self, noise: float) -> None:
        self.noise, self.calls = noise, list[dict[str, Any]]()

    def __call__(self, learners: Any, worlds: Any, **asked: Any) -> Any:
        self.calls.append({"learners": [each["label"] for each in learners], **asked})
        rows = [
            row(each["label"], at * 10, seed, self.regret(place, seed),
                knows="groups" if each["name"] in ("oracle-groups", "mts", "kmeans") else "")
            for place, each in enumerate(learners, 1)
            for seed in asked["seeds"]
            for at in worlds[0]["at"]
        ]  # fmt: skip
        return SimpleNamespace(rows=lambda: rows)

    def regret(self, place: int, seed: int) -> float:
        return place + self.noise * (((seed + place) * 2654435761) % 1000) / 1000


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Comparisons]:
    def fake(noise: float) -> Comparisons:
        compare = Comparisons(noise)
        monkeypatch.setattr(running, "lb", SimpleNamespace(compare=compare))
        return compare

    return fake


def test_screening_never_sees_fresh_seeds(faked: Callable[[float], Comparisons]) -> None:
    compare = faked(0.0)
    found = running.measure(SHORT, Way("abc", Path("rows")))
    screening, fresh = compare.calls
    assert not set(screening["seeds"]) & set(fresh["seeds"])
    assert (len(screening["seeds"]), len(fresh["seeds"])) == (5, 20)
    assert screening["out"] != fresh["out"]
    assert OURS not in screening["learners"]
    known = [each["label"] for each in peers.oracles()]
    assert sorted(fresh["learners"]) == sorted([OURS, *found.rivals, *known])
    assert len(found.rivals) == 5
    assert found.sharp


def test_seeds_are_added_until_the_ratio_is_sharp(faked: Callable[[float], Comparisons]) -> None:
    compare = faked(3.0)
    found = running.measure(SHORT, Way("abc", Path("rows"), most=500))
    numbers = [len(call["seeds"]) for call in compare.calls[1:]]
    assert numbers == list(range(20, numbers[-1] + 1, 10))
    assert found.sharp
    assert 20 < found.seeds == numbers[-1]
    assert all(each.error <= running.SHARP for each in found.ratios.values())


def test_the_cap_on_seeds_stops_it_and_the_page_says_so(
    faked: Callable[[float], Comparisons],
) -> None:
    faked(100.0)
    found = running.measure(SHORT, Way("abc", Path("rows"), most=25))
    assert (found.seeds, found.sharp) == (25, False)
    assert "The cap on seeds was reached before" in page.capped([found])
    assert "s, made up" in page.capped([found])
    assert "25 *" in page.problem_table([found])
    assert "at most 0.03" in page.capped([])


def test_a_learner_that_fails_is_not_judged_by_the_rest(
    faked: Callable[[float], Comparisons], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = faked(0.0)
    broken = row(OURS, 0, 7, math.nan, status="failed", reason="division by zero")

    def fails(*given: Any, **asked: Any) -> Any:
        rows = [*compare(*given, **asked).rows(), broken]
        return SimpleNamespace(rows=lambda: rows)

    monkeypatch.setattr(running, "lb", SimpleNamespace(compare=fails))
    with pytest.raises(RuntimeError, match="made up, seed 7: division by zero"):
        running.measure(SHORT, Way("abc", Path("rows")))


def test_a_peer_that_fails_is_named_and_judged_nowhere(
    faked: Callable[[float], Comparisons], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = faked(0.0)
    first = peers.peers("s")[0]["label"]  # the best of those made up

    def fails(*given: Any, **asked: Any) -> Any:
        rows = [each for each in compare(*given, **asked).rows() if each.learner != first]
        rows += [row(first, 0, 7, math.nan, status="failed", reason="no more memory")]
        return SimpleNamespace(rows=lambda: rows)

    monkeypatch.setattr(running, "lb", SimpleNamespace(compare=fails))
    found = running.measure(SHORT, Way("abc", Path("rows")))
    assert first not in found.rivals
    assert found.failed == {first: "no more memory"}
    assert page.failed([found]) == (
        f"Failed, and judged nowhere: {first} in s, made up: no more memory."
    )
    assert page.failed([]) == "No peer failed."


def test_a_real_problem_is_measured_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: peers.SETTINGS[name] for name in ("thompson-one", "ucb")}
    monkeypatch.setattr(peers, "SETTINGS", few)
    tiny = replace(SHORT, pulls=12, marks=(5, 12), screened=12)
    way = Way("abc", tmp_path, jobs=1, least=2, most=2, screening=2)
    found = running.measure(tiny, way)
    assert {each.round for each in found.rows} >= {50, 120}
    assert set(found.ratios) == {5, 12}
    assert found.to_oracles(12, plain=True).value > 0
    again = running.measure(tiny, way)
    assert again.rows == found.rows  # with their seconds: nothing ran twice


# --- Bars -------------------------------------------------------------------------------------


def measured(part: str, ratio: float, **other: Any) -> Measured:
    """A problem with this ratio at every mark, to every kind of rival."""
    marks = (100, 300) if part == LONG else (10, 30, 60)
    problem = replace(SHORT, part=part, marks=marks, **other)
    known = [each["label"] for each in (*peers.oracles(), *peers.kmeans())]
    rows = []
    for mark in marks:
        rows += made({OURS: [ratio, ratio], "peer": [1.0, 1.0]}, mark * 10)
        rows += made({label: [1.0, 1.0] for label in known}, mark * 10, knows="groups")
    return Measured(problem, rows, ["peer"], 2, True)


def by_what(found: Iterable[Bar]) -> dict[str, Bar]:
    return {bar.what: bar for bar in found}


def test_regret_bars_are_met_and_missed_where_they_should() -> None:
    good = [measured(SUITE, 0.7), measured(LONG, 0.6), measured(OTHER, 1.0)]
    assert all(bar.met for bar in bars.regret_bars(good))
    found = by_what(bars.regret_bars([measured(SUITE, 0.6), measured(SUITE, 0.95), *good[1:]]))
    assert found["suite at 60 pulls, geometric mean"].met
    worst = found["suite at 60 pulls, every problem"]
    assert (worst.met, round(worst.missed_by, 9)) == (False, 0.03)
    assert "1 of 2" in worst.note
    slow = by_what(bars.regret_bars([good[0], measured(LONG, 0.8), measured(OTHER, 1.2)]))
    assert [what for what, bar in slow.items() if not bar.met] == [
        "long runs, 100 to 1,000 pulls",
        "other problems at 30 and 60 pulls",
        "all problems at 10 pulls",
    ]
    assert slow["long runs, against k-means that knows r"].met


def test_oracles_count_by_their_sum() -> None:
    """Each oracle has regret 1, so 2.9 is 1.45 of their sum and 3.1 is 1.55."""
    rest = [measured(LONG, 0.6), measured(OTHER, 1.0)]
    what = "lumpable at 60 pulls, against the sum of both oracles"
    for ratio, met in ((2.9, True), (3.1, False)):
        bar = by_what(bars.regret_bars([measured(SUITE, ratio), *rest]))[what]
        assert bar.met == met
        assert bar.value == pytest.approx(ratio / 2)


@pytest.mark.parametrize(
    ("ratio", "met"),
    [
        (Ratio(1.04, 0.001), True),  # within 5 %
        (Ratio(1.08, 0.05), True),  # within two standard errors of the peer
        (Ratio(1.08, 0.03), False),
        (Ratio(1.5, 0.2), False),
    ],
)
def test_two_standard_errors_excuse(ratio: Ratio, met: bool) -> None:
    case = (measured(OTHER, 1.0), 60, ratio)
    bar = bars.every("others", 1.05, [case], excused=bars.not_worse)
    assert (bar.met, bar.value) == (met, ratio.value)
    assert bar.missed_by == (0.0 if met else pytest.approx(ratio.value - 1.05))


def test_an_excused_case_does_not_hide_one_that_is_missed() -> None:
    cases = [(measured(OTHER, 1.0), 60, each) for each in (Ratio(3.0, 2.0), Ratio(1.2, 0.01))]
    bar = bars.every("others", 1.05, cases, excused=bars.not_worse)
    assert (bar.met, bar.value) == (False, 1.2)


def test_bars_between_two_numbers_and_bars_that_nobody_measured() -> None:
    assert Bar("cover", 0.87, 0.93, 0.9).met
    assert Bar("cover", 0.87, 0.93, 0.95).missed_by == pytest.approx(0.02)
    assert Bar("cover", 0.87, 0.93, 0.80).missed_by == pytest.approx(0.07)
    unknown = Bar("speed", high=1.0, note="no clock")
    assert (unknown.met, unknown.missed_by) == (None, 0.0)
    assert page.verdict([unknown]) == "**0 of 1 bars met.** Not measured: speed."
    assert "| speed | at most 1 | not measured |  | ? | no clock |" in page.bar_table([unknown])


def test_the_page_shows_everything() -> None:
    found = [measured(SUITE, 0.7), measured(LONG, 0.8, pulls=300), measured(OTHER, 1.0)]
    about = page.About("python x", "c" * 40, False, "2026-01-01", 2, 3.0, 5, 20, 100)
    text = page.page(bars.regret_bars(found), found, about)
    assert "**no, by 0.15**" in text
    assert "with changes that are not in it" in text
    assert "| s, made up | 0.70 (0.00) | 0.70 (0.00) | 0.70 (0.00) | peer | 2 |" in text
    assert "0.80 (0.00) / 0.80 (0.00)" in text  # k-means
    assert all(f"`{name}`" in text for name in peers.SETTINGS)


# --- Problems and other measures --------------------------------------------------------------


def test_problems_are_unlike_and_measured_at_the_rounds_of_the_bars() -> None:
    for every in (problems(), problems(quick=True), problems(TINY)):
        labels = [problem.label for problem in every]
        assert len(set(labels)) == len(labels)
        assert all(problem.pulls == max(problem.marks) for problem in every)
        assert all(problem.world["contexts"] == problem.contexts for problem in every)
        kinds = {part: [p for p in every if p.part == part] for part in (SUITE, LONG, OTHER)}
        assert len(kinds[SUITE]) == 2 * len(GROUPED) + 1
        assert len(kinds[OTHER]) == 12
        assert any(p.size == "b" and p.pulls == 1000 for p in kinds[LONG])


def test_every_peer_exists_and_has_two_settings_or_more() -> None:
    labels = [peer["label"] for peer in peers.peers("s")]
    assert len(set(labels)) == len(labels)
    few = {name for name, (_, values) in peers.SETTINGS.items() if len(values) == 2}
    assert few == {"borrowing", "rclumb", "uniclub"}  # relatives of those with three
    assert all(len(values) >= 2 for _, values in peers.SETTINGS.values())
    every = [*peers.peers("s"), *peers.oracles(), *peers.kmeans(), peers.TESTED]
    experiment = lb.compare(every, [WORLD], horizon=20, seeds=[1], jobs=1)
    assert {each.learner for each in experiment.rows() if each.status == "failed"} == set()
    fair = ratios.fair(experiment.rows())
    assert fair == {*labels, OURS}


def test_samples_to_a_policy_are_counted_until_the_loss_stays_small() -> None:
    assert policies.first_below(np.array([[0.0, 0.0]]), 0.05) == 1
    assert policies.first_below(np.array([[0.2, 0.0], [0.0, 0.0]]), 0.05) == 2
    assert policies.first_below(np.array([[0.2, 0.0, 0.2, 0.0]]), 0.05) == 4
    assert math.isinf(policies.first_below(np.array([[0.2, 0.2]]), 0.05))


def test_groups_are_compared_with_most_of_their_members() -> None:
    world = lb.worlds.from_matrix([[0.1], [0.1], [0.1], [0.9], [0.9]])
    world = lb.World(world.mean, world.frequency, np.array([0, 0, 0, 1, 1]), world.noise, world.sd)
    truth = structure.true_means(np.array([5, 5, 7, 7, 7]), world)
    assert {group: float(mean[0]) for group, mean in truth.items()} == {5: 0.1, 7: 0.9}


def test_pairs_that_are_surely_together() -> None:
    group = np.array([0, 0, 0, 1, 1, 1])
    rng = np.random.default_rng(3)
    right, sure = structure.sure_pairs(lambda a, b: (a // 3 == b // 3) * 1.0, group, rng)
    assert right == 1.0
    assert abs(sure / structure.PAIRS - 0.4) < 6 * math.sqrt(0.24 / structure.PAIRS)
    half, _ = structure.sure_pairs(lambda a, b: np.ones(len(a)), group, rng)
    assert abs(half - 0.4) < 6 * math.sqrt(0.24 / structure.PAIRS)
    assert structure.sure_pairs(lambda a, b: np.zeros(len(a)), group, rng)[1] == 0
