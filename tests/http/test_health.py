"""What looks wrong is said, with what to do; what looks right is not."""

from __future__ import annotations

from kits.service import Clock, settings
from lumpable.http.health import ENOUGH, LATELY, QUIET, UNREWARDED, Watch


def watch() -> tuple[Watch, Clock]:
    clock = Clock(0.0)
    made = Watch(lambda: clock.now, lambda: 50_520.0 + clock.now)
    made.open_arms = ("red", "green")
    return made, clock


def words(seen: Watch, **given: object) -> list[str]:
    found = seen.concerns(settings(window=60, **given))
    assert all(concern.do for concern in found)
    return [concern.what for concern in found]


def test_rewards_that_have_stopped() -> None:
    seen, clock = watch()
    for k in range(UNREWARDED):
        seen.decided([("red", "green")[k % 2]])
    clock.now = QUIET - 1
    assert words(seen) == []
    clock.now = 720.0
    expected = "rewards have stopped coming since 14:02 UTC: none for {}, while {} decisions came"
    assert words(seen) == [expected.format("12 minutes", UNREWARDED)]
    clock.now = 86_400.0
    assert words(seen) == [
        expected.format("1,440 minutes", UNREWARDED).replace("14:02", "1970-01-01 14:02")
    ]
    seen.rewarded([])
    assert words(seen)
    seen.rewarded(["rewarded"])
    assert words(seen) == []
    clock.now = 7200.0
    seen.decided(["red"])
    assert words(seen) == []  # nobody came, so there was nothing to reward


def test_one_arm_for_almost_all() -> None:
    seen, _ = watch()
    seen.decided(["red"] * (ENOUGH - 1))
    assert words(seen) == []
    seen.decided(["red"] * (LATELY - ENOUGH + 1))
    seen.decided(["green"] * 30)
    assert words(seen) == ["one arm gets 97% of decisions (of the last 1,000)"]
    assert words(seen, mode="shadow", control="red") == []
    seen.decided(["green"] * 30)
    assert words(seen) == []
    seen.decided(["red"] * LATELY)
    seen.open_arms = ("red",)
    assert words(seen) == []


def test_rewards_of_nobody_and_late_ones() -> None:
    seen, _ = watch()
    for _ in range(50):
        seen.rewarded(["rewarded", "rewarded", "rewarded", "early", "late"])
    assert words(seen) == [
        "20% of rewards are for events that nobody decided",
        "20% of rewards come after the window of 60 seconds, and do not count",
    ]
    seen.rewarded(["rewarded"] * 250)
    assert words(seen) == []


def test_a_control_arm_that_cannot_be_shown() -> None:
    seen, _ = watch()
    held = {"control": "red", "hold_back": 0.1}
    shadow = {"control": "red", "mode": "shadow"}
    seen.open_arms = ("red", "blue")
    assert words(seen, **held) == words(seen, **shadow) == []
    seen.open_arms = ("blue",)
    gone = "the control arm 'red' is paused, removed or unknown, so"
    assert words(seen, **held) == [f"{gone} what is held back shows any arm"]
    assert words(seen, **shadow) == [f"{gone} no decision is made"]
    assert words(seen, control="red") == []


def test_arms_and_the_store() -> None:
    seen, _ = watch()
    seen.open_arms = ()
    assert words(seen) == ["there is no arm to choose"]
    assert words(seen, new_arms=True) == []
    seen.open_arms = ("red",)
    seen.failed("disk full")
    assert words(seen) == ["the last call could not be written: disk full"]
    seen.rewarded(["rewarded"])
    assert words(seen) == []
    assert seen.concerns(None) == []
