"""What the proof of fresh phases promises, looked for in runs: without noise, and with it.

Everything is read off the requests. Promises are those of one phase: no group is in two clusters,
calls cut enough and take few rounds, nobody's best arm is lost at a level that covers its group,
what survives such a level is nearly best, and every phase starts with all arms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, IntMatrix, IntVector
from lumpable.plans import fresh, fresh_lengths
from lumpable.plans.clusters import Clusters
from lumpable.plans.fresh_lengths import FreshPhase, Stages, TightPhase, fresh_phase
from lumpable.plans.intervals import Intervals
from lumpable.plans.plan import Plan
from lumpable.plans.regret import any_groups, fresh_guesses, fresh_phases

SURE = 1e-9
GAMMA = {"TIGHT": 12, "PAPER": 14}


@dataclass(frozen=True)
class Look:
    """One request: the exploration of a level, or a stage of a call (else -1)."""

    h: int
    n: int
    stage: int
    restarts: int
    rounds: int
    arms: BoolMatrix
    cluster: IntVector

    @property
    def clusters(self) -> int:
        return int(self.cluster.max()) + 1


@dataclass
class Witness:
    """Watches a run of fresh phases and says which promises were broken."""

    world: lb.World
    problem: lb.Problem
    constants: Any
    way: str
    everywhere: bool
    """Whether every level covers every group, as it does without noise."""
    looks: list[Look] = field(default_factory=list)

    def watch(self, step: lb.Step) -> None:
        belief = step.request.belief
        assert belief is not None
        assert belief.cluster is not None
        n = re.search(r"level (\d+)", belief.phase)
        stage = re.search(r"stage (\d+)", belief.phase)
        assert n is not None
        self.looks.append(
            Look(
                belief.number,
                int(n[1]),
                int(stage[1]) if stage else -1,
                belief.restarts,
                step.request.rounds,
                step.request.arms,
                belief.cluster,
            )
        )

    def phase(self, h: int) -> FreshPhase:
        return fresh_phase(self.problem, h, self.constants, self.way != "guesses")

    def covered(self, h: int, n: int) -> BoolVector:
        """Contexts whose group is covered at this level: n <= n_b."""
        if self.everywhere:
            return np.ones(self.world.contexts, dtype=bool)
        omega = self.world.group_frequency[self.world.group]
        share = np.minimum(1.0, self.problem.groups * omega)
        covered: BoolVector = 2.0**n <= share**2 * 2.0**h
        return covered

    def broken(self) -> set[str]:
        found = set()
        if self.looks[-1].clusters > self.world.groups:
            found.add("cuts")
        for look in self.looks:
            if any(
                len(set(look.cluster[self.world.group == b].tolist())) > 1
                for b in range(self.world.groups)
            ):
                found.add("group")
            if look.stage < 0:
                found |= self.explored(look)
        return found | self.calls()

    def explored(self, look: Look) -> set[str]:
        size = self.phase(look.h)
        if look.n == size.first:
            return set() if look.arms.all() else {"all arms"}
        who = self.covered(look.h, look.n - 1)
        gap = self.world.best[:, np.newaxis] - self.world.mean
        found = set()
        if ((gap == 0) & ~look.arms)[who].any():
            found.add("best arm")
        worst = float(gap[who][look.arms[who]].max(initial=0.0))
        if worst > GAMMA[str(self.constants)[:5]] * size.error(look.n - 1):
            found.add("bad arm")
        return found

    def calls(self) -> set[str]:
        """Every call cuts enough, and its rounds are within Lemma 6(d) for so many cuts."""
        found = set()
        rounds = 0
        for look, after in pairwise(self.looks):
            rounds = look.rounds if look.stage <= 0 else rounds + look.rounds
            if look.stage < 0 or after.stage == look.stage + 1:
                continue
            size = self.phase(look.h)
            stages = Stages(size.problem, look.h, 1.0, self.way != "fixed")
            k = after.clusters - look.clusters
            if not stages.enough(look.stage, k):
                found.add("fine")
            elif self.way != "guesses" and rounds > most_rounds(size, stages, look.n, k):
                found.add("rounds")
        return found


def most_rounds(size: FreshPhase, stages: Stages, n: int, k: int) -> float:
    """Lemma 6(d), with 2^n/a^2 = 1/e^2."""
    S, _, r = size.problem.letters
    unit = 8 * S * stages.confidence / size.error(n) ** 2
    if stages.adaptive:
        return 60 * stages.eta**2 * k**2 * unit
    return 11 * max(1, r - 1) ** 2 * unit


WAYS: dict[str, Callable[..., Plan]] = {
    "adaptive": fresh_phases,
    "fixed": lambda problem, **more: fresh_phases(problem, adaptive=False, **more),
    "guesses": fresh_guesses,
}


def watched(
    world: lb.World, way: str, constants: Any, horizon: int, seed: int | None = None
) -> tuple[Witness, lb.Run]:
    problem = lb.Problem(world.contexts, world.arms, world.groups)
    witness = Witness(world, problem, constants, way, seed is None)
    plan = WAYS[way](problem, constants=constants)
    if seed is None:
        return witness, lb.exact(plan, world, horizon=horizon, watch=witness.watch)
    return witness, lb.simulate(plan, world, horizon=horizon, seed=seed, watch=witness.watch)


# --- Without noise --------------------------------------------------------------------------


@st.composite
def lumpable_worlds(draw: st.DrawFn) -> lb.World:
    """Invent a lumpable problem, ties and groups that are alike among them."""
    contexts = draw(st.integers(1, 8))
    arms = draw(st.integers(1, 4))
    groups = draw(st.integers(1, min(5, contexts)))
    row = st.lists(st.integers(0, 16).map(lambda k: k / 16), min_size=arms, max_size=arms)
    means = np.array(draw(st.lists(row, min_size=groups, max_size=groups)))
    group = np.arange(contexts) % groups
    share = st.integers(1, 4)
    weight = np.array(draw(st.lists(share, min_size=contexts, max_size=contexts)), dtype=float)
    return lb.World(means[group], weight / weight.sum(), group, sd=0.0)


FAR = {"TIGHT": 10**14, "PAPER": 10**18}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("constants", [lb.TIGHT, lb.PAPER], ids=str)
@pytest.mark.parametrize("examples", [4, pytest.param(8, marks=pytest.mark.nightly)])
def test_promises_without_noise(way: str, constants: Any, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(world=lumpable_worlds())
    def all_hold(world: lb.World) -> None:
        witness, run = watched(world, way, constants, FAR[str(constants)])
        assert witness.broken() == set()
        assert world.loss(run.policy) == 0
        given_up = [int(note.split()[2]) for note in run.notes]
        assert all(guess < world.groups for guess in given_up)  # no guess is above 2r - 2, or 2

    all_hold()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("constants", [lb.TIGHT, lb.PAPER], ids=str)
def test_groups_are_told_apart_and_arms_fall(way: str, constants: Any) -> None:
    """The promises are not empty: three groups of four, three clusters, one arm left for each."""
    group = np.repeat(np.arange(3), 4)
    world = lb.World(np.eye(3)[group], np.full(12, 1 / 12), group, sd=0.0)
    witness, _ = watched(world, way, constants, FAR[str(constants)])
    assert witness.broken() == set()
    assert witness.looks[0].clusters == 1
    assert witness.looks[-1].clusters == 3
    assert min(look.arms.sum() for look in witness.looks if look.stage < 0) == 12


def test_a_chain_takes_finer_stages() -> None:
    """16 means in equal steps, with noise: the first stage cannot tell them apart."""
    mean = np.column_stack([np.linspace(0, 1, 16), np.full(16, 0.5)])
    world = lb.World(mean, np.full(16, 1 / 16), np.arange(16))
    witness, _ = watched(world, "adaptive", lb.TIGHT, 10**11, seed=1)
    calls = [look.stage for look in witness.looks if look.stage >= 0]
    assert witness.broken() == set()
    assert max(calls) >= 1
    assert witness.looks[-1].clusters >= 10


def test_answers_up_to_a_time_fix_the_requests_up_to_it() -> None:
    """No horizon, no clock: a shorter run is the beginning of a longer one."""
    world = lb.worlds.lumpable(8, 4, 2, seed=1)
    short, _ = watched(world, "guesses", lb.TIGHT, 10**8, seed=1)
    longer, _ = watched(world, "guesses", lb.TIGHT, 10**10, seed=1)
    assert len(longer.looks) > len(short.looks)
    for a, b in zip(short.looks[:-1], longer.looks, strict=False):
        assert (a.h, a.n, a.stage, a.rounds) == (b.h, b.n, b.stage, b.rounds)
        assert np.array_equal(a.arms, b.arms)


# --- With noise -----------------------------------------------------------------------------


def most_uneven(contexts: int) -> list[float]:
    often = contexts // 9
    rest = (1 - 8 * often / contexts) / (contexts - often)
    return [8 / contexts] * often + [rest] * (contexts - often)


SETTINGS: dict[str, Callable[[int], lb.World]] = {
    "equal groups": lambda s: lb.worlds.lumpable(12, 6, 3, seed=s),
    "one giant group": lambda s: lb.worlds.lumpable(12, 4, 3, sizes="giant", seed=s),
    "uneven coins": lambda s: lb.worlds.lumpable(
        18, 4, 2, frequency=most_uneven(18), noise="bernoulli", seed=s
    ),
}
RUNS = 6


def failures(setting: str, way: str, runs: int, horizon: int = 10**10) -> tuple[int, float, int]:
    """How many of the runs broke a promise, what is allowed for one, and all calls."""
    failed, most, calls = 0, 0.0, 0
    for seed in range(runs):
        world = SETTINGS[setting](seed)
        witness, _ = watched(world, way, lb.TIGHT, horizon, seed)
        failed += bool(witness.broken())
        calls += sum(look.stage == 0 for look in witness.looks)
        attempts = {(look.h, look.restarts) for look in witness.looks}
        S = world.contexts
        most = max(most, math.fsum(2 ** (-h / 2) / S + 2.0**-h / S**2 for h, _ in attempts))
    return failed, most, calls


BY_DAY = list(zip(SETTINGS, WAYS, strict=True))
"""Every setting and every way once; all pairs at night."""
ALL_PAIRS = [(setting, way) for setting in SETTINGS for way in WAYS]


@pytest.mark.parametrize(
    ("setting", "way", "runs"),
    [
        *((*pair, RUNS) for pair in BY_DAY),
        *(pytest.param(*pair, 30 * RUNS, marks=pytest.mark.nightly) for pair in ALL_PAIRS),
    ],
)
def test_promises_fail_no_more_often_than_allowed(setting: str, way: str, runs: int) -> None:
    """A phase fails with probability at most 2^(-h/2)/S + 2^-h/S^2."""
    failed, most, calls = failures(setting, way, runs)
    assert most < 0.05
    assert stats.binom.sf(failed - 1, runs, most) > SURE
    assert calls >= runs // 2  # there was something to promise; some groups have the same best arm


# --- The count can fail: what must not be changed ---------------------------------------------


def broken_with_noise(setting: str, runs: int = RUNS) -> set[str]:
    found = set()
    for seed in range(runs):
        witness, _ = watched(SETTINGS[setting](seed), "adaptive", lb.TIGHT, 10**9, seed)
        found |= witness.broken()
    return found


def test_narrow_intervals_cut_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(error: float, plays: IntMatrix) -> FloatMatrix:
        return 0.1 * error / np.sqrt(np.maximum(plays, 1))

    monkeypatch.setattr(fresh_lengths, "radius", narrow)
    assert {"group", "cuts"} <= broken_with_noise("equal groups")


def test_elimination_without_a_margin_loses_best_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    def best_mean_only(_: object, n: int, seen: Intervals, found: Clusters) -> BoolMatrix:
        middle = (seen.lower + seen.upper) / 2
        return Intervals(middle, middle).far_below(found, 0.0)

    monkeypatch.setattr(TightPhase, "fallen", best_mean_only)
    assert "best arm" in broken_with_noise("one giant group")


def test_short_levels_do_not_cover_small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    explore = TightPhase.explore
    monkeypatch.setattr(TightPhase, "explore", lambda self, n: explore(self, n) // 100 + 1)
    assert broken_with_noise("one giant group")


# --- The best arm of a small group (errata.md) ------------------------------------------------

ODD = np.full((100, 100), 0.5)
ODD[:, 0] = 0.1
ODD[0, 0] = 0.9
"""One context in a hundred is alone in liking arm 0; all else is the same for everybody."""
SMALL = replace(lb.PAPER, levels=0.02, split=1.0)
TWO = lb.Problem(100, 100, 2)
LINEAR = 0.4 * 0.01
"""Regret a round, if context 0 never gets its best arm."""


def growth(make: Callable[[], Plan], seed: int, T: int = 10**10) -> float:
    """Regret a round in the last nine tenths of the run."""
    world = lb.worlds.from_matrix(ODD, sd=0.001)
    early, late = (lb.simulate(make(), world, horizon=t, seed=seed).regret for t in (T // 10, T))
    return (late - early) / (0.9 * T)


@pytest.mark.parametrize("mended", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_algorithm_6_loses_a_best_arm_for_good(mended: bool) -> None:
    lost = growth(lambda: any_groups(TWO, constants=SMALL, mended=mended), seed=1)
    assert lost == pytest.approx(LINEAR, rel=0.02)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("constants", [SMALL, lb.TIGHT], ids=["small", "TIGHT"])
def test_fresh_phases_do_not(constants: Any, seed: int) -> None:
    lost = growth(lambda: fresh_phases(TWO, constants=constants), seed=seed)
    assert lost < LINEAR / 20


def test_with_sets_that_are_carried_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same plan, but a phase begins with what the last one ended with."""
    last: list[Clusters] = []

    def carried(label: IntVector, good: list[BoolMatrix]) -> Clusters:
        if last and last[0].number == len(good[0]):
            good = last[0].good
        last[:] = [Clusters(label, good)]
        return last[0]

    def make() -> Plan:
        last.clear()
        return fresh_phases(TWO, constants=SMALL)

    monkeypatch.setattr(fresh, "Clusters", carried)
    assert growth(make, seed=1) == pytest.approx(LINEAR, rel=0.02)
