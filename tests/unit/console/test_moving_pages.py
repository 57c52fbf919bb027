"""Partitions that move, over two nodes of this process: planned, moved, stopped, and leaders that go home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Admin
from barnabas.testing import RunningCluster, running_cluster
from tests.support.members import until
from tests.unit.console.served import Browser, console

SETTINGS = {"offsets.topic.num.partitions": 1, "default.replication.factor": 1, "offsets.topic.replication.factor": 1}


@pytest.fixture(scope="module")
def two() -> Iterator[RunningCluster]:
    with running_cluster(2, SETTINGS) as cluster:
        with Admin(cluster.bootstrap) as admin:
            admin.create_topic("orders", partitions=3, replication=1)
            admin.create_topic("many", partitions=20, replication=1)  # one at a time takes ten seconds
        yield cluster


@pytest.fixture(scope="module")
def browser(two: RunningCluster) -> Iterator[Browser]:
    with console(two.bootstrap) as port:
        yield Browser(port)


def replicas(browser: Browser, topic: str = "orders") -> dict[int, list[int]]:
    with Admin(bootstrap=browser.session["clusters"][0]["bootstrap"]) as admin:
        return {each.index: list(each.replicas) for each in admin.describe_topic(topic).partitions}


def plan(browser: Browser, node: int) -> Any:
    found = browser.page("GET", "/cluster/plan", drain=node)
    found["moves"] = [each for each in found["moves"] if each["topic"] == "orders"]
    return found


def work(browser: Browser) -> Any:
    """The plan that the console carries out, or the last one."""
    return browser.page("GET", "/cluster")["work"]


def test_a_node_is_emptied_as_planned(browser: Browser) -> None:
    found = plan(browser, 1)
    assert found["title"] == "Empty node 1" and found["moves"]
    assert {each["new_replicas"][0] for each in found["moves"]} == {2}
    (first, second) = found["after"]
    assert first["new_replicas"] == 0 and second["new_replicas"] >= second["replicas"]
    body = {"title": found["title"], "moves": found["moves"], "at_once": 2, "throttle": 50_000_000}
    browser.page("POST", "/cluster/moves", body)
    until(lambda: all(each == [2] for each in replicas(browser).values()), "all are on node 2")
    status, error = browser.refused("POST", "/cluster/moves", body)
    assert status == 409 and "has changed since it was planned" in error
    until(lambda: not work(browser)["busy"], "the throttle is gone, and leaders are elected")
    assert (work(browser)["done"], work(browser)["failed"], work(browser)["problem"]) == (len(found["moves"]), [], "")


@pytest.mark.parametrize(
    ("changed", "status", "told"),
    [
        ({"moves": []}, 400, "there is nothing to move"),
        ({"at_once": 0}, 400, "partitions at once are 1 to 1000"),
        ({"throttle": 0}, 400, "a throttle is at least a byte a second"),
        ({"new_replicas": []}, 400, "needs replicas, each on a node of its own"),
        ({"new_replicas": [9]}, 409, "there is no node 9"),
    ],
)
def test_moves_that_cannot_be(browser: Browser, changed: dict[str, Any], status: int, told: str) -> None:
    move = {"topic": "orders", "partition": 0, "replicas": replicas(browser)[0], "new_replicas": [1]}
    if "new_replicas" in changed:
        body: dict[str, Any] = {"title": "x", "moves": [{**move, **changed}]}
    else:
        body = {"title": "x", "moves": [move], **changed}
    found = browser.refused("POST", "/cluster/moves", body)
    assert found[0] == status and told in found[1]


def test_one_plan_at_a_time_and_a_stop_takes_back(browser: Browser) -> None:
    begun = replicas(browser, "many")
    moves = [
        {"topic": "many", "partition": index, "replicas": kept, "new_replicas": [3 - kept[0]]}
        for index, kept in begun.items()
    ]
    browser.page("POST", "/cluster/moves", {"title": "Slowly", "moves": moves, "at_once": 1})
    status, error = browser.refused("POST", "/cluster/moves", {"title": "Too", "moves": moves, "at_once": 1})
    assert (status, "has changed since" in error or "Slowly is still under way" in error) == (409, True)
    browser.page("DELETE", "/cluster/moves")
    until(lambda: not work(browser)["busy"], "it has stopped")
    assert work(browser)["problem"].startswith("stopped: ") and work(browser)["title"] == "Slowly"
    assert sum(kept != begun[index] for index, kept in replicas(browser, "many").items()) < len(begun), "it stopped"


def test_there_is_no_such_node_and_one_that_votes_stays(browser: Browser) -> None:
    assert browser.refused("GET", "/cluster/plan", drain=9)[1].startswith("there is no node 9")
    status, error = browser.refused("DELETE", "/cluster/nodes/2")
    assert status == 409 and ("votes in the quorum" in error or "still has" in error)


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/cluster/elections", {"partitions": []}, "no partition is named"),
        ("/cluster/moves/cancel", {"partitions": []}, "no partition is named"),
        ("/cluster/elections", {"partitions": [{"topic": "orders", "partition": -1}]}, "each with its number"),
        ("/cluster/elections", {"partitions": [{"topic": "nothing", "partition": 0}]}, "has not changed its leader"),
    ],
)
def test_what_names_no_partition(browser: Browser, path: str, body: object, told: str) -> None:
    status, error = browser.refused("POST", path, body)
    assert status in (400, 409) and told in error
