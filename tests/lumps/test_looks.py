"""What rewards look like: in numbers, in words, in warnings; and the second look by halves."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from counts_made import counted
from scipy import special

from lumpable import Lumps
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.lumps.belief.halves import SHOWN, halves
from lumpable.lumps.model.likelihoods import two_valued_likelihood

S, K, N = 80, 6, 12_000
Log = tuple[IntVector, IntVector, FloatVector]


def plays(seed: int) -> tuple[np.random.Generator, IntVector, IntVector]:
    """Return whom and what was played, uniformly."""
    rng = np.random.default_rng(seed)
    return rng, rng.integers(S, size=N), rng.integers(K, size=N)


def told(log: Log) -> Lumps:
    lumps = Lumps()
    lumps.tell_many(dict(zip(("context", "arm", "reward"), log, strict=True)))
    return lumps


def tastes(seed: int) -> Log:
    """Two groups with opposite tastes."""
    rng, user, arm = plays(seed)
    return user, arm, rng.normal(np.where((user + arm) % 2, 1.0, 0.0), 1.0)


def noises(seed: int) -> Log:
    """Users of equal means, half of them ten times as noisy as the others."""
    rng, user, arm = plays(seed)
    return user, arm, rng.normal(arm.astype(np.float64), np.where(user % 2, 3.0, 0.3))


def clicks(seed: int) -> Log:
    rng, user, arm = plays(seed)
    return user, arm, (rng.random(N) < 0.2 + 0.1 * arm).astype(np.float64)


# --- The second look ------------------------------------------------------------------------------


def test_halves_are_the_whole() -> None:
    counts = counted(*tastes(1), K)
    one, other = halves(counts)
    assert one.rewards + other.rewards == counts.rewards == N
    table = np.zeros((3, S, K))
    for k, part in enumerate((counts, one, other)):
        table[k, part.row, part.arm] = part.n
    assert np.array_equal(table[0], table[1] + table[2])
    assert one.others is not None
    assert other.others is not None
    assert abs(one.rewards - N / 2) < 6.0 * math.sqrt(N) / 2.0


def test_groups_of_other_means_are_shown_and_groups_of_other_noise_are_not() -> None:
    """Under other noise alone Welch's t of a pair has mean 0 and variance 1."""
    for seed in range(3):
        looks = told(tastes(seed)).looks()
        assert looks.apart is not None
        assert looks.apart > 3.0 * SHOWN
        lumps = told(noises(seed))
        assert lumps.core.last_fit is not None
        if lumps.core.last_fit.groups > 1:
            assert not lumps.looks().shown
            assert "that their means differ is not shown" in lumps.summary()


def test_a_half_may_have_nothing_of_a_context() -> None:
    """Deviating users, the last of them with one reward."""
    rng, user, arm = plays(10)
    own = rng.normal(size=(S, K))
    user = np.append(user, S)
    reward = np.append(rng.normal(own[user[:-1], arm] + 3.0 * (user[:-1] % 2 == arm % 2)), 1.5)
    lumps = told((user, np.append(arm, 0), reward))
    assert lumps.core.last_fit is not None
    assert lumps.core.last_fit.groups > 1
    assert math.isfinite(lumps.core.last_fit.m0)
    assert lumps.looks().shown


# --- Numbers and words ----------------------------------------------------------------------------


def test_coins_look_like_coins() -> None:
    looks = told(clicks(2)).looks()
    assert (looks.scored, looks.wild, looks.apart, looks.notes) == ("as coins", 0, None, ())
    assert looks.words == "All rewards are 0 or 1."
    assert Lumps().looks().words == "There are no rewards yet."


@pytest.mark.parametrize(("wild", "beyond"), [(-1.0, 0), (1000.0, 3)])
@pytest.mark.filterwarnings("ignore:a reward of")
def test_wild_rewards_among_coins_are_said(wild: float, beyond: int) -> None:
    user, arm, reward = clicks(3)
    reward[[5, 50, 500]] = wild
    lumps = told((user, arm, reward))
    assert lumps.looks().wild == beyond
    assert "3 of 12,000 rewards are neither 0 nor 1" in lumps.summary()
    same, plain = lumps.core.last_fit, told(clicks(3)).core.last_fit
    assert same is not None
    assert plain is not None
    assert (same.groups, same.rank) == (plain.groups, plain.rank)


def test_heavy_tails_are_said() -> None:
    rng, user, arm = plays(4)
    looks = told((user, arm, (rng.random(N) < 0.3) * rng.lognormal(0.0, 2.0, N))).looks()
    assert looks.scored == "by rank"
    assert looks.heavy > 0.2
    assert any("largest hundredth" in note for note in looks.notes)


@pytest.mark.filterwarnings("ignore:a reward of")
@pytest.mark.parametrize("wild", [1e9, -1e9])
def test_one_wild_reward_is_no_heavy_tail(wild: float) -> None:
    """It counts as the fence, so no mean needs more rewards for it."""
    rng, user, arm = plays(13)
    reward = rng.normal(5.0, 1.0, N)
    plain = told((user, arm, reward)).looks()
    reward[7] = wild
    looks = told((user, arm, reward)).looks()
    assert looks.wild == 1
    assert looks.heavy == pytest.approx(plain.heavy, abs=0.05)
    assert [note for note in looks.notes if "means need many" in note] == []


def amounts(seed: int) -> Log:
    """Return purchases of 20 and more, in eight of a thousand rewards; all others are 0."""
    rng, user, arm = plays(seed)
    return user, arm, np.where(rng.random(N) < 0.008, 20.0 + rng.random(N), 0.0)


def test_rare_amounts_are_said_to_be_heavy_and_not_wild() -> None:
    """Nearly all rewards are equal, so scores are by value; the sum rests on a few all the same."""
    lumps = Lumps()
    user, arm, reward = amounts(11)
    assert warned(lambda: lumps.tell_many({"context": user, "arm": arm, "reward": reward})) == []
    looks = lumps.looks()
    assert looks.scored == "by value"
    assert looks.heavy == 1.0
    assert looks.fence[1] > 80.0
    assert any("carries 100 % of their sum: means need many" in note for note in looks.notes)
    assert "means need many" in lumps.summary()


@pytest.mark.filterwarnings("ignore:a reward of")
def test_few_ones_are_no_heavy_tail() -> None:
    """A hundredth of all rewards is all that are not 0: they are coins, also beside a wild one."""
    rng, user, arm = plays(12)
    reward = (rng.random(N) < 0.008).astype(np.float64)
    assert told((user, arm, reward)).looks().notes == ()
    reward[::1000] = 0.5
    notes = told((user, arm, reward)).looks().notes
    assert len(notes) == 1
    assert "are neither 0 nor 1, such as 0.5: counted from 0 to 1 in finding groups" in notes[0]


def test_rewards_logged_twice_are_said() -> None:
    user, arm, reward = tastes(5)
    twice = np.repeat(np.arange(N // 2), 2)
    looks = told((user[twice], arm[twice], reward[twice])).looks()
    assert looks.repeated == pytest.approx(0.5, abs=0.01)
    assert any("logged more than once" in note for note in looks.notes)
    assert told(tastes(5)).looks().repeated == 0.0


# --- Warnings -------------------------------------------------------------------------------------


def warned(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught]


def test_the_first_wild_reward_is_warned_of_once_and_only_where_coins_are_usual() -> None:
    young, old = Lumps(), told(clicks(6))
    young.tell(1, 1, 1.0)
    assert warned(lambda: young.tell(1, 1, -1.0)) == []
    assert len(warned(lambda: old.tell(1, 1, -1.0))) == 1
    assert warned(lambda: old.tell(1, 1, -1.0)) == []
    decided = told(clicks(6))
    choice = decided.decide(1)
    assert len(warned(lambda: decided.reward(choice.id, 7.0))) == 1


def test_a_warning_that_is_an_error_changes_nothing() -> None:
    lumps = told(clicks(7))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="nearly all of 12,001 are 0 or 1"):
            lumps.tell(1, 1, -1.0)
    assert lumps.core.tells == N
    assert not lumps.core.counts().real


def one_by_one(log: Log) -> list[str]:
    lumps = Lumps()
    rows = list(zip(*(column.tolist() for column in log), strict=True))
    return warned(lambda: [lumps.tell(*row) for row in rows])


def all_at_once(log: Log) -> list[str]:
    return warned(lambda: told(log))


def test_rewards_one_by_one_and_all_at_once_are_warned_of_alike() -> None:
    """Rare amounts are no surprise, and wild values beside coins are, as is what they count as."""
    user, arm, reward = amounts(13)
    few = user[:4000], arm[:4000], reward[:4000]
    assert one_by_one(few) == all_at_once(few) == []
    user, arm, reward = clicks(13)
    reward[[5, 3000]] = -1.0
    for warn in (one_by_one, all_at_once):
        (words,) = warn((user[:4000], arm[:4000], reward[:4000]))
        assert words.startswith("a reward of -1, where nearly all of ")
        assert "within -3 to 4, and as 0 or 1 in finding groups" in words


@pytest.mark.parametrize("rate", [0.3, 0.003])
def test_what_is_said_of_a_wild_reward_is_what_becomes_of_it(rate: float) -> None:
    """Where nearly all rewards are 0, the others say how far scores and the fence reach."""
    rng, user, arm = plays(14)
    reward = (rng.random(N) < rate).astype(np.float64)
    reward[77] = 50.0
    lumps = Lumps()
    (words,) = warned(lambda: lumps.tell_many({"context": user, "arm": arm, "reward": reward}))
    low, high = lumps.looks().fence
    assert f"within {low:g} to {high:g}" in words


def test_beyond_the_fence_is_warned_of() -> None:
    lumps = told(tastes(8))
    assert warned(lambda: lumps.tell(1, 1, 5.0)) == []
    assert "counts as the nearer end" in warned(lambda: lumps.tell(1, 1, 1e6))[0]


# --- Two values -----------------------------------------------------------------------------------


def test_the_likelihood_of_two_values_is_the_sum_over_them() -> None:
    """Over groups, and over which of the two values each cell has."""
    rng, low, high, strength = np.random.default_rng(9), 0.2, 0.7, 11.0
    first, arm = np.array([0, 2, 5]), np.array([0, 2, 0, 1, 2])
    n = rng.uniform(1.0, 9.0, 5)
    s = n * rng.random(5)
    mean, share = rng.uniform(0.25, 0.65, (3, 2)), np.log([0.3, 0.7])
    total = 0.0
    for i in range(2):
        whole = 0.0
        cells = range(first[i], first[i + 1])
        for g, values in itertools.product(
            range(2), itertools.product((low, high), repeat=len(cells))
        ):
            term = math.exp(share[g])
            for c, p in zip(cells, values, strict=True):
                part = (mean[arm[c], g] - low) / (high - low)
                term *= part if p == high else 1.0 - part
                heads, tails = strength * p, strength * (1.0 - p)
                term *= special.beta(heads + s[c], tails + n[c] - s[c]) / special.beta(heads, tails)
            whole += term
        total += math.log(whole)
    member = np.full((2, 2), 0.5)
    found = two_valued_likelihood(first, arm, n, s, mean, share, member, low, high, strength)
    assert found == pytest.approx(total)
