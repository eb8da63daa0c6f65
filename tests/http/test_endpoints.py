"""Every address of the service, over a real connection: what it takes, does and gives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kits.served import Served, served
from kits.service import Clock, opened
from lumpable.http.messages import MANY
from lumpable.service.live_experiment import LiveExperiment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(clock: Clock) -> Iterator[Served]:
    with served(lambda: opened(clock=clock, window=60, default=0.0)) as running:
        yield running


def test_a_decision_and_its_reward(shop: Served) -> None:
    made = shop.post("/decide", {"user": "ann", "event": "v1"})
    assert made.status == 200
    assert made.headers["content-type"] == "application/json"
    assert made.json | {"arm": "?"} == {
        "event": "v1", "user": "ann", "arm": "?", "propensity": 1.0, "version": 0,
    }  # fmt: skip
    assert shop.post("/reward", {"event": "v1", "value": 1}).json == {"standing": "rewarded"}
    status = shop.get("/status").json
    assert status["experiment"]["counted"] == 1
    assert status["settings"]["window"] == 60.0


def test_repeats_change_nothing(shop: Served) -> None:
    asked, told = {"user": "ann", "event": "v1"}, {"event": "v1", "value": 1.0, "at": 1000.0}
    first = shop.post("/decide", asked).json
    assert all(shop.post("/decide", asked).json == first for _ in range(3))
    for _ in range(3):
        assert shop.post("/reward", told).json == {"standing": "rewarded"}
    counts = shop.get("/status").json["experiment"]
    assert (counts["decisions"], counts["rewards"], counts["counted"]) == (1, 1, 1)


def test_ids_are_strings_or_integers(shop: Served) -> None:
    for user in ("17", 17, -(2**63), "ünï/../☃ <b>", ""):
        assert shop.post("/decide", {"user": user}).json["user"] == user
    assert shop.get("/status").json["experiment"]["decisions"] == 5
    text = shop.get("/expected?user=17").json
    number = shop.get("/expected?user=17&type=integer").json
    assert (text["user"], number["user"]) == ("17", 17)


def test_many_at_once(shop: Served) -> None:
    made = shop.post(
        "/decide/many", {"users": ["ann", 2], "events": ["a", "b"], "allowed": ["red"]}
    )
    assert [one["arm"] for one in made.json["decisions"]] == ["red", "red"]
    rewards = [{"event": "a", "value": 1}, {"event": "z", "value": 0.5}]
    told = shop.post("/reward/many", {"rewards": rewards})
    assert told.json == {"standings": ["rewarded", "early"]}
    assert shop.post("/decide/many", {"users": []}).json == {"decisions": []}
    assert shop.post("/decide/many", {"users": ["u"] * (MANY + 1)}).status == 400


def test_activation_and_observation(shop: Served, clock: Clock) -> None:
    for event in ("shown", "never"):
        shop.post("/decide", {"user": "ann", "event": event, "activate": False})
    assert shop.post("/activate", {"event": "shown"}).json == {"event": "shown"}
    seen = shop.post("/observe", {"user": "bob", "arm": "red", "event": "o", "propensity": 0.25})
    assert seen.json["propensity"] == 0.25
    unsaid = shop.post("/observe", {"user": "bob", "arm": "red", "event": "p"}).json
    assert unsaid["propensity"] is None
    assert shop.post("/decide", {"user": "bob", "event": "p"}).json == unsaid
    clock.now += 61
    shop.post("/decide", {"user": "cid"})
    assert shop.get("/status").json["experiment"]["counted"] == 3  # three defaults


def test_arms_and_users_come_and_go(shop: Served) -> None:
    assert shop.post("/arms/add", {"arm": 7}).json == {"arms": ["red", "green", "blue", 7]}
    assert shop.post("/arms/pause", {"arm": "red"}).json == {"arms": ["green", "blue", 7]}
    assert shop.post("/arms/remove", {"arm": "blue"}).json == {"arms": ["green", 7]}
    assert shop.post("/arms/resume", {"arm": "red"}).json["arms"][0] == "red"
    shop.post("/decide", {"user": "ann", "event": "v1"})
    shop.post("/reward", {"event": "v1", "value": 1})
    assert shop.post("/forget", {"user": "ann"}).json == {"forgotten": True}
    assert shop.get("/status").json["experiment"]["counted"] == 0


def test_what_is_believed(shop: Served) -> None:
    for k in range(6):
        shop.post("/decide", {"user": f"u{k % 2}", "event": f"e{k}"})
        shop.post("/reward", {"event": f"e{k}", "value": k % 2})
    assert shop.get("/groups").json["groups"][0]["share"] == 1.0
    why = shop.get("/explain?user=u0").json
    assert why["rewards"] == 3
    assert why["advice"]["user"] == "u0"
    assert why["text"].startswith("'u0' is in")
    assert {row["arm"] for row in shop.get("/expected?user=u0").json["expected"]} == {
        "red", "green", "blue",
    }  # fmt: skip
    assert [row["user"] for row in shop.get("/policy").json["policy"]] == ["u0", "u1"]
    recommended = shop.get("/recommended").json["recommended"]
    assert [row["user"] for row in recommended] == ["u0", "u1"]


def test_another_learner_says_what_it_cannot_do() -> None:
    with served(lambda: opened(learner="ucb")) as shop:
        assert shop.get("/status").json["settings"]["learner"] == "ucb"
        assert shop.get("/recommended").json == {"recommended": []}
        arm = shop.post("/decide", {"user": "ann", "event": "e"}).json["arm"]
        shop.post("/reward", {"event": "e", "value": 1})
        assert shop.get("/recommended").json == {"recommended": [{"user": "ann", "arm": arm}]}
        for path in ("/groups", "/explain?user=ann", "/expected?user=ann", "/policy"):
            answer = shop.get(path)
            assert answer.status == 400
            assert answer.error["what"] == "learner"
            assert answer.error["expected"] == "something that this experiment can do"
            assert answer.error["got"].startswith("'ucb' ")
        answer = shop.post("/decide", {"user": "ann", "allowed": ["red"]})
        assert (answer.status, answer.error["what"]) == (400, "allowed")


def test_personalizer_s_verbs(shop: Served, clock: Clock) -> None:
    asked = {
        "eventId": "p1", "deferActivation": True, "excludedActions": ["red"],
        "contextFeatures": [{"time": {"of": "day"}}, {"user": "ann"}],
        "actions": [{"id": "red", "features": [{"size": 3}]}, {"id": "green"}],
    }  # fmt: skip
    ranked = shop.post("/personalizer/v1.0/rank", asked)
    assert ranked.status == 201
    assert ranked.json == {
        "ranking": [{"id": "red", "probability": 0.0}, {"id": "green", "probability": 1.0}],
        "eventId": "p1", "rewardActionId": "green",
    }  # fmt: skip
    assert shop.post("/personalizer/v1.0/rank", asked).json == ranked.json
    activated = shop.send("POST", "/personalizer/v1.0/events/p1/activate", None, {})
    rewarded = shop.post("/personalizer/v1.0/events/p1/reward", {"value": 0.5})
    assert (activated.status, activated.body) == (204, b"")
    assert (rewarded.status, rewarded.body) == (204, b"")
    assert shop.get("/status").json["experiment"]["counted"] == 1
    nobody = shop.post("/personalizer/v1.0/rank", asked | {"contextFeatures": [], "eventId": "p2"})
    assert nobody.status == 400
    assert nobody.error["expected"] == "a feature 'user' that names the user"
    wrong = asked | {"contextFeatures": [{"user": [1]}], "eventId": "p3"}
    assert shop.post("/personalizer/v1.0/rank", wrong).status == 400


def test_a_rank_names_each_action_once(shop: Served) -> None:
    context = {"contextFeatures": [{"user": "ann"}], "eventId": "p7"}
    twice = context | {"actions": [{"id": "red"}, {"id": "green"}, {"id": "red"}]}
    refused = shop.post("/personalizer/v1.0/rank", twice)
    assert (refused.status, refused.error) == (
        400, {"what": "actions", "expected": "each id once", "got": "'red' more than once"},
    )  # fmt: skip
    assert shop.get("/status").json["experiment"]["decisions"] == 0


@pytest.mark.parametrize(
    ("given", "what", "expected"),
    [
        ({"eventId": "a/b"}, "eventId", "an id without a slash"),
        ({"eventId": "bob's"}, "eventId", "a new event, or one that was decided for 'ann'"),
        ({"actions": [{"id": "pink"}]}, "actions", "known arms (see POST /arms/add, or serve with"),
        ({"excludedActions": ["red"]}, "excludedActions", "an action that is left"),
        ({"contextFeatures": [{"user": 1.5}]}, "user", "int | str"),
    ],
)
def test_a_rank_that_is_refused_names_what_was_sent(
    shop: Served, given: dict[str, Any], what: str, expected: str
) -> None:
    """And so does a reward."""
    shop.post("/decide", {"user": "bob", "event": "bob's"})
    asked = {"contextFeatures": [{"user": "ann"}], "actions": [{"id": "red"}]} | given
    refused = shop.post("/personalizer/v1.0/rank", asked)
    assert (refused.status, refused.error["what"]) == (400, what)
    assert refused.error["expected"].startswith(expected)
    reward = shop.post("/personalizer/v1.0/events/bob's/reward", {"value": 1e10})
    activated = shop.send("POST", "/personalizer/v1.0/events/nobody/activate", None, {})
    assert (reward.status, reward.error["what"]) == (400, "value")
    assert (activated.status, activated.error["what"]) == (400, "eventId")
    assert shop.get("/status").json["experiment"]["decisions"] == 1


def test_a_rank_that_is_repeated_names_an_action_that_is_offered(shop: Served) -> None:
    """In another order or with others beside it is the same; without it, nothing may be shown."""
    rank = "/personalizer/v1.0/rank"
    context = {"contextFeatures": [{"user": "ann"}], "eventId": "p8"}
    first = shop.post(rank, context | {"actions": [{"id": "red"}]})
    assert first.json["rewardActionId"] == "red"
    for others in (["green", "red"], ["blue", "red", "green"]):
        again = shop.post(rank, context | {"actions": [{"id": id} for id in others]})
        assert (again.status, again.json["rewardActionId"]) == (201, "red")
        assert [row["id"] for row in again.json["ranking"]] == others
    both = [{"id": "green"}, {"id": "red"}]
    for gone in ({"actions": [{"id": "green"}]}, {"actions": both, "excludedActions": ["red"]}):
        refused = shop.post(rank, context | gone)
        assert (refused.status, refused.error["what"]) == (409, "eventId")
        assert refused.error["got"] == "one that was decided as 'red'"
    assert shop.get("/status").json["experiment"]["decisions"] == 1


def test_probabilities_of_a_rank_are_said_only_where_they_are_known() -> None:
    with served(lambda: opened(hold_back=0.5)) as shop:
        asked = {"contextFeatures": [{"user": 1}], "actions": [{"id": "red"}, {"id": "green"}]}
        made = shop.post("/personalizer/v1.0/rank", asked).json
        known = {row["id"]: row["probability"] for row in made["ranking"]}
        assert known.pop(made["rewardActionId"]) in (0.25, 0.75)
        assert list(known.values()) == [None]


def test_what_the_service_says_of_itself(shop: Served) -> None:
    assert shop.get("/").json["openapi"] == "/openapi.json"
    assert shop.get("/ready").json == {"ready": True, "stage": "ready"}
    assert shop.get("/health").json == {"alive": True, "fine": True, "concerns": []}
    paths = shop.get("/openapi.json").json["paths"]
    assert {"/decide", "/reward/many", "/metrics", "/personalizer/v1.0/rank"} <= set(paths)
    for arm in ("red", "green", "blue"):
        shop.post("/arms/pause", {"arm": arm})
    health = shop.get("/health")
    assert health.status == 200
    assert health.json["concerns"][0]["what"] == "there is no arm to choose"


def test_metrics_count_and_name_nobody(shop: Served) -> None:
    shop.post("/arms/add", {"arm": 'a"b\n'})
    shop.post("/decide", {"user": "ann-secret", "event": "ev-secret", "allowed": ['a"b\n']})
    shop.post("/reward", {"event": "ev-secret", "value": 1})
    shop.post("/personalizer/v1.0/events/ev-secret/reward", {"value": 1})
    answer = shop.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    for line in (
        'lumpable_requests_total{route="/decide",status="200"} 1',
        'lumpable_arm_decisions_total{arm="a\\"b\\n",type="string"} 1',
        'lumpable_rewards_standing_total{standing="rewarded"} 2',
        "lumpable_decisions 1", "lumpable_ready 1", "lumpable_concerns 0",
    ):  # fmt: skip
        assert line in lines
    assert "secret" not in answer.body.decode()
    shop.post("/decide", {"user": "ann-secret", "event": "ev-secret", "wrong": 1})
    shop.get("/explain?user=ann-secret&x=1")
    shop.post("/personalizer/v1.0/events/ev-secret/reward", {"value": "ann-secret"})
    assert len([line for line in shop.log if line["what"] == "request"]) == 3
    assert "secret" not in "\n".join(shop.lines)


def test_it_says_that_it_is_not_ready_until_it_is() -> None:
    open_now, warm_now = threading.Event(), threading.Event()

    def opener() -> LiveExperiment:
        assert open_now.wait(30)
        return opened()

    with served(opener, warmer=lambda _: _wait(warm_now), wait=False) as shop:
        assert shop.get("/health").json["alive"]
        answer = shop.get("/ready")
        assert (answer.status, answer.json["stage"]) == (503, "opening")
        refused = shop.post("/decide", {"user": "ann"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert b"lumpable_ready 0" in shop.get("/metrics").body
        open_now.set()
        while shop.get("/ready").json["stage"] == "opening":
            pass
        assert shop.get("/ready").status == 503
        assert shop.post("/decide", {"user": "ann"}).status == 200
        warm_now.set()
        while shop.get("/ready").status == 503:
            pass


def _wait(event: threading.Event) -> None:
    assert event.wait(30)


def test_callers_share_commits(shop: Served) -> None:
    """Many connections at once: each gets its own answer, and nothing is lost."""

    def call(k: int) -> None:
        got[k] = shop.post("/decide", {"user": k, "event": f"e{k}"}).json["user"]

    got: dict[int, int] = {}
    threads = [threading.Thread(target=call, args=(k,)) for k in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {k: k for k in range(64)}
    assert shop.get("/status").json["experiment"]["decisions"] == 64
