"""Topics, records, groups and transactions by the console's own API: what a person does, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas import Consumer, Producer
from barnabas.testing import RunningNode, running_node
from tests.conftest import FAST_GROUPS
from tests.support.members import QUIET, until
from tests.unit.console.served import Browser, console


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node(FAST_GROUPS | {"offsets.topic.num.partitions": "1"}) as running:
        yield running


@pytest.fixture(scope="module")
def browser(node: RunningNode) -> Iterator[Browser]:
    with console(node.bootstrap) as port:
        yield Browser(port)


def made(browser: Browser, name: str, partitions: int = 1) -> str:
    browser.page("POST", "/topics", {"name": name, "partitions": partitions})
    until(lambda: browser.ask("GET", f"/api/clusters/local/topics/{name}")[0] == 200, f"{name} is seen", 20)
    return name


def put(browser: Browser, topic: str, *values: str) -> None:
    for value in values:
        browser.page("POST", f"/topics/{topic}/messages", {"key": {"text": "k"}, "value": {"text": value}})


# --- topics ----------------------------------------------------------------------------------------------------------


def test_a_topic_is_made_grown_and_deleted(browser: Browser) -> None:
    made(browser, "grown")
    browser.page("POST", "/topics/grown/partitions", {"partitions": 3})
    until(lambda: len(browser.page("GET", "/topics/grown")["partitions"]) == 3, "its partitions are seen", 20)
    assert browser.refused("POST", "/topics/grown/partitions", {"partitions": 2})[0] == 409
    browser.page("DELETE", "/topics/grown")
    assert browser.refused("DELETE", "/topics/grown")[0] == 409


def test_settings_of_a_topic(browser: Browser) -> None:
    made(browser, "set")

    def value(name: str) -> object:
        found = browser.page("GET", "/topics/set/settings")
        return {each["name"]: each["value"] for each in found}[name]

    browser.page("PATCH", "/topics/set/settings", {"changes": {"retention.ms": "1000"}})
    assert value("retention.ms") == "1000"
    browser.page("PATCH", "/topics/set/settings", {"changes": {"retention.ms": None}})
    assert value("retention.ms") == "604800000"
    assert "retention.ms" in browser.refused("PATCH", "/topics/set/settings", {"changes": {"retention.ms": "soon"}})[1]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"name": "bad/name"}, "not created"),
        ({"name": "many", "replication_factor": 9}, "not created"),
        ({"name": "wrong", "settings": {"retention.ms": "soon"}}, "not created"),
        ({"partitions": 1}, "name"),
        (b"{", ""),
    ],
)
def test_a_topic_that_cannot_be(browser: Browser, body: object, told: str) -> None:
    status, error = browser.refused("POST", "/topics", body)
    assert 400 <= status < 500 and told in error


def test_a_purge_deletes_what_its_preview_has_counted(browser: Browser) -> None:
    made(browser, "purged")
    put(browser, "purged", "a", "b")
    preview = browser.page("GET", "/topics/purged/purge")
    assert preview == {"records": 2, "before": {"0": 2}}
    put(browser, "purged", "came later")
    browser.page("POST", "/topics/purged/purge", {"before": preview["before"]})
    left = browser.page("GET", "/topics/purged/messages", place="beginning")["records"]
    assert [each["offset"] for each in left] == [2]
    assert browser.refused("POST", "/topics/purged/purge", {"before": {"0": 99}})[0] >= 400
    assert browser.refused("GET", "/topics/nothing/purge")[0] == 404


def test_lists_have_the_topic(browser: Browser) -> None:
    made(browser, "listed", 2)
    put(browser, "listed", "a")

    def row() -> dict[str, object]:
        rows = browser.page("GET", "/topics")["topics"]
        return next((each for each in rows if each["name"] == "listed"), {})

    until(lambda: row().get("records") == 1, "its record is counted", 20)
    assert row()["partitions"] == 2
    found = browser.page("GET", "/overview")
    assert [each["up"] for each in found["nodes"]] == [True]


# --- records ---------------------------------------------------------------------------------------------------------


def test_records_are_shown_filtered_and_downloaded(browser: Browser) -> None:
    made(browser, "shown")
    put(browser, "shown", "apple", "pear", "apple pie")
    newest = browser.page("GET", "/topics/shown/messages")
    assert [each["offset"] for each in newest["records"]] == [2, 1, 0]
    found = browser.page("GET", "/topics/shown/messages", filter="apple", place="beginning")
    assert [each["offset"] for each in found["records"]] == [0, 2] and found["looked_at"] == 3
    one = browser.page("GET", "/topics/shown/messages/0/1")
    assert (one["partition"], one["offset"]) == (0, 1)
    status, fields, data = browser.raw("GET", "/api/clusters/local/topics/shown/messages/0/1/download")
    assert (status, data) == (200, b"pear") and "attachment" in fields["Content-Disposition"]
    assert browser.raw("GET", "/api/clusters/local/topics/shown/messages/0/1/download?part=key")[2] == b"k"


@pytest.mark.parametrize("place", ["0/99", "7/0", "x/0", "0/-1"])
def test_a_record_that_is_not_there(browser: Browser, place: str) -> None:
    if browser.ask("GET", "/api/clusters/local/topics/few")[0] != 200:
        made(browser, "few")
    assert browser.refused("GET", f"/topics/few/messages/{place}")[0] == 404


@pytest.mark.parametrize("query", [{"place": "somewhere"}, {"partitions": "a"}, {"count": "x"}, {"count": 0}])
def test_a_page_that_cannot_be_asked_for(browser: Browser, query: dict[str, object]) -> None:
    assert browser.refused("GET", "/topics/any/messages", **query)[0] == 400


def test_records_are_sent_again(browser: Browser) -> None:
    made(browser, "from")
    made(browser, "to")
    put(browser, "from", "one", "two", "three")
    named = {"to": "to", "records": [{"topic": "from", "partition": 0, "offset": 1}]}
    assert browser.page("POST", "/redrive", named) == {"sent": 1, "to": "to"}
    preview = browser.page("GET", "/topics/from/redrive", kind="text", pattern="t")
    assert preview["records"] == 2
    asked = {"to": "to", "kind": "text", "pattern": "t", "spans": preview["spans"]}
    job = browser.page("POST", "/topics/from/redrive", asked)

    def values() -> list[str]:
        return sorted(str(each["value"]) for each in browser.page("GET", "/topics/to/messages")["records"])

    until(lambda: len(values()) == 3, "the job has sent them", 30)
    assert browser.page("GET", f"/jobs/{job['id']}")["id"] == job["id"]
    browser.page("DELETE", f"/jobs/{job['id']}")
    assert browser.refused("GET", "/jobs/nothing")[0] == 404
    two = {"to": "to", "records": [{"topic": each, "partition": 0, "offset": 0} for each in ("from", "to")]}
    assert "of one topic" in browser.refused("POST", "/redrive", two)[1]


def test_a_file_that_did_not_arrive_whole(browser: Browser) -> None:
    body = {"key": {}, "value": {"base64": "!!"}}
    assert "did not arrive whole" in browser.refused("POST", "/topics/shown/messages", body)[1]


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def group(browser: Browser, node: RunningNode) -> str:
    """A group that has read two of four records of the topic `read`."""
    if browser.ask("GET", "/api/clusters/local/topics/read")[0] != 200:
        made(browser, "read")
        put(browser, "read", "a", "b", "c", "d")
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    places = ConsumerGroupTopicPartitions("reader", [TopicPartition("read", 0, 2)])
    admin.alter_consumer_group_offsets([places])["reader"].result(20)
    return "reader"


def test_a_reset_does_what_its_preview_says(browser: Browser, group: str) -> None:
    preview = browser.page("GET", "/group/reset", group=group, topic="read", to="earliest")
    (move,) = preview["moves"]
    assert preview["members"] == 0 and move["after"] == 0 and preview["again"] == move["before"]
    asked = {key: move[key] for key in ("topic", "partition", "before", "after")}
    assert browser.page("POST", "/group/reset", {"moves": [asked]}, group=group) == {"moved": 1}
    found = browser.page("GET", "/group", group=group)
    assert [each["committed"] for each in found["partitions"]] == [0]
    status, error = browser.refused("POST", "/group/reset", {"moves": [asked]}, group=group)
    assert status == 409 and "has moved in read-0 since the preview" in error
    assert browser.refused("POST", "/group/reset", {"moves": []}, group=group)[0] == 400


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"group": "nobody", "topic": "read"}, 404),
        ({"group": "reader", "topic": "nothing"}, 404),
        ({"group": "reader", "topic": "read", "to": "somewhere"}, 400),
        ({"group": "reader", "topic": "read", "partition": "9"}, 400),
    ],
)
def test_a_reset_that_cannot_be(browser: Browser, group: str, query: dict[str, object], status: int) -> None:
    assert browser.refused("GET", "/group/reset", **query)[0] == status


def test_offsets_and_a_group_are_deleted(browser: Browser, group: str) -> None:
    until(lambda: any(each["name"] == group for each in browser.page("GET", "/groups")["groups"]), "it is listed", 20)
    assert browser.page("DELETE", "/group/offsets", group=group, topic="read")["deleted"] == 1
    assert browser.refused("DELETE", "/group/offsets", group=group, topic="nothing")[0] == 404
    status, _ = browser.ask("DELETE", f"/api/clusters/local/group?group={group}")
    assert status in (200, 404)  # a group without offsets may have gone by itself
    assert browser.refused("DELETE", "/group", group="nobody")[0] == 404


def test_a_group_with_members_is_left_alone(browser: Browser, node: RunningNode, group: str) -> None:
    preview = browser.page("GET", "/group/reset", group=group, topic="read", to="latest")
    (move,) = preview["moves"]
    asked = {"moves": [{key: move[key] for key in ("topic", "partition", "before", "after")}]}
    with Consumer("read", bootstrap=node.bootstrap, group=group) as consumer:
        consumer.poll(10)
        status, error = browser.refused("POST", "/group/reset", asked, group=group)
        assert status == 409 and "has members" in error
        assert browser.refused("DELETE", "/group", group=group)[0] == 409
        assert len(browser.page("GET", "/group", group=group)["members"]) == 1


# --- transactions ----------------------------------------------------------------------------------------------------


def test_an_open_transaction_is_shown_and_aborted(browser: Browser, node: RunningNode) -> None:
    made(browser, "bought")
    producer = Producer(node.bootstrap, transactional_id="shop")
    with pytest.raises(Exception, match=r"(?i)fenced|abort|another"), producer, producer.transaction():
        producer.send("bought", "x").result()
        (row,) = [each for each in browser.page("GET", "/transactions")["transactions"] if each["id"] == "shop"]
        assert row["open"] and row["state"] == "Ongoing"
        assert browser.page("GET", "/transactions/hanging")["hanging"] == []
        asked = {"id": "shop", "producer_id": row["producer_id"], "started_ms": row["started_ms"]}
        assert browser.refused("POST", "/transactions/abort", {**asked, "producer_id": 999})[0] == 409
        assert browser.page("POST", "/transactions/abort", asked) == {"aborted": "shop"}
    assert browser.refused("POST", "/transactions/abort", {**asked, "id": "nobody"})[0] == 404
    hanging = {"topic": "bought", "partition": 0, "start_offset": 0, "producer_id": 1, "producer_epoch": 0}
    assert browser.refused("POST", "/transactions/abort-hanging", hanging)[0] == 409
    assert browser.refused("POST", "/transactions/abort-hanging", {**hanging, "topic": "nothing"})[0] == 404
