"""What comes as a stream: the search of a whole topic, and the live tail."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from barnabas import Admin, Producer
from barnabas.console.options import Role
from barnabas.testing import running_node
from tests.unit.console.served import Browser, console


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with running_node() as node:
        with Admin(node.bootstrap) as admin:
            admin.create_topic("orders", partitions=1)
        with Producer(node.bootstrap, value_serializer="json") as producer:
            for number in range(40):
                producer.send("orders", {"id": number, "city": "Oslo" if number % 10 == 0 else "Lyon"})
        yield node.bootstrap


@pytest.fixture(scope="module")
def browser(bootstrap: str) -> Iterator[Browser]:
    with console(bootstrap) as port:
        yield Browser(port)


def test_a_search_looks_at_every_record(browser: Browser) -> None:
    events = browser.events("/topics/orders/search", pattern='.city == "Oslo" and .id > 5', kind="where")
    assert {kind for kind, _ in events} == {"found"} and events[-1][1]["done"]
    assert (events[-1][1]["examined"], events[-1][1]["found"]) == (40, 3)
    found = [json.loads(each["value"]["text"])["id"] for _, body in events for each in body["records"]]
    assert sorted(found) == [10, 20, 30]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, "there is nothing to search for"),
        ({"pattern": "x", "kind": "magic"}, "a search is by text, regex, where, key"),
        ({"pattern": ".a ==", "kind": "where"}, ""),
        ({"pattern": "x", "partitions": "a,b"}, "partitions are numbers with commas, not 'a,b'"),
    ],
)
def test_a_search_that_makes_no_sense(browser: Browser, query: dict[str, object], told: str) -> None:
    status, error = browser.refused("GET", "/topics/orders/search", **query)
    assert status == 400 and told in error and error
    if "partitions" in query:
        assert browser.refused("GET", "/topics/orders/tail", **query) == (status, error)


def test_the_tail_begins_where_it_is_told(browser: Browser) -> None:
    page = browser.page("GET", "/topics/orders/messages", place="newest", count=5)
    ((kind, body),) = browser.events("/topics/orders/tail", 1, **{"from": page["older"].replace("older", "newer")})
    assert kind == "records" and body["dropped"] == 0
    assert browser.refused("GET", "/topics/orders/tail", **{"from": "nowhere"})[0] == 400


def test_a_topic_that_is_not_there_ends_its_stream_with_the_reason(browser: Browser) -> None:
    for path in ("/topics/nothing/tail", "/topics/nothing/search"):
        events = browser.events(path, pattern="x")
        assert events[-1][0] == "ended" and "nothing" in events[-1][1]["error"]


def test_masked_fields_are_not_to_be_had_by_a_search(bootstrap: str) -> None:
    with console(bootstrap, Role("support", mask=(".city",))) as port:
        browser = Browser(port)
        assert browser.refused("GET", "/topics/orders/search", pattern="Oslo")[0] == 403
        shown = json.dumps(browser.page("GET", "/topics/orders/messages", place="beginning", count=1))
        assert "Oslo" not in shown
