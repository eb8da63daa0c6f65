"""What looks wrong is said, with what to do; what looks right is not."""

from __future__ import annotations

import time

import pytest

from kits.served import served
from kits.service import Clock, opened, settings
from lumpable.http.health import ENOUGH, LATELY, OFTEN, QUIET, UNREWARDED, Watch
from lumpable.service import fits_beside
from lumpable.service.fits_beside import Beside


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
    seen.failed("the server is away")
    assert "disk: is it full" in seen.concerns(None)[0].do
    seen.shared = True
    assert "database server: does it run" in seen.concerns(None)[0].do


def test_fits_that_keep_failing() -> None:
    seen, _ = watch()
    assert seen.concerns(settings(), OFTEN - 1) == []
    (found,) = seen.concerns(settings(), OFTEN)
    assert found.what == f"fits fail: the process that makes them ended {OFTEN} times in a row"
    assert "stderr" in found.do


def test_a_child_that_dies_is_a_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted where fits are made, and said where somebody asks."""
    monkeypatch.setattr(fits_beside, "__name__", "os import nothing #")
    fitter = Beside()
    with served(lambda: opened(fitter=fitter)) as shop:
        assert shop.get("/health").json["fine"]
        rows = [(f"u{k % 4}", f"e{k}") for k in range(40)]
        shop.post("/decide/many", {"users": [u for u, _ in rows], "events": [e for _, e in rows]})
        rewards = [{"event": event, "value": k % 2} for k, (_, event) in enumerate(rows)]
        shop.post("/reward/many", {"rewards": rewards})
        end = time.monotonic() + 60
        while fitter.failed < OFTEN:
            assert time.monotonic() < end
            time.sleep(0.01)
        (concern,) = shop.get("/health").json["concerns"]
        assert concern["what"].startswith("fits fail")
