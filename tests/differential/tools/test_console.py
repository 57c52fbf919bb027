"""The console on Apache Kafka: what its pages of groups and transactions ask for has the same answers as on a node of
ours. Without a browser; the pages themselves are tested in tests/console."""

from __future__ import annotations

import http.cookiejar
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.console import ConsoleProcess
from tests.support.members import QUIET, Member, until
from tests.support.servers import BarnabasNode, KafkaNode

RECORDS = 20
WAIT_S = 30.0


class Pages:
    """What a browser asks a console for."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self._csrf = self._ask("GET", "/api/session")["csrf"]

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if method == "GET" else json.dumps(body or {}).encode()
        headers = {} if method == "GET" else {"X-CSRF-Token": self._csrf}
        request = urllib.request.Request(self._address + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=WAIT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return json.load(error)

    def __call__(self, path: str, method: str = "GET", body: object = None, **query: object) -> Any:
        tail = f"?{urllib.parse.urlencode(query)}" if query else ""
        return self._ask(method, f"/api/clusters/local{path}{tail}", body)

    def group(self, name: str, is_right: Callable[[Any], bool]) -> Any:
        """Its row of the list, once a look has seen it so."""
        deadline = time.monotonic() + WAIT_S
        while True:
            found = next((each for each in self("/groups")["groups"] if each["name"] == name), None)
            if found is not None and is_right(found):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.2)


@pytest.fixture(scope="module", params=["kafka", "node"])
def server(request: pytest.FixtureRequest) -> BarnabasNode | KafkaNode:
    found: BarnabasNode | KafkaNode = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def pages(server: BarnabasNode | KafkaNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    console = ConsoleProcess(tmp_path_factory.mktemp("console"), server.bootstrap)
    try:
        console.start()
        yield Pages(console.address)
    finally:
        console.stop()


@pytest.fixture
def topic(server: BarnabasNode | KafkaNode) -> str:
    """Two partitions whose records were written two hours ago, a batch of 100 kB among them."""
    name = f"console-{uuid.uuid4().hex[:6]}"
    admin = AdminClient({"bootstrap.servers": server.bootstrap, **QUIET})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(WAIT_S)
    producer = Producer({"bootstrap.servers": server.bootstrap, **QUIET})
    for number in range(RECORDS):
        for partition in (0, 1):
            size = 100_000 if number == RECORDS // 2 else 1
            producer.produce(name, b"x" * size, partition=partition, timestamp=int((time.time() - 7200) * 1000))
        producer.flush(WAIT_S)
    return name


def commit(server: BarnabasNode | KafkaNode, group: str, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": server.bootstrap, **QUIET})
    places = [TopicPartition(topic, each, offset) for each in (0, 1)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(WAIT_S)


def test_a_group_has_its_lag_is_moved_and_deleted(pages: Pages, server: BarnabasNode | KafkaNode, topic: str) -> None:
    group = f"{topic}-readers"
    commit(server, group, topic, RECORDS // 2)  # in front of the large ones, of which a leader gives one in an answer
    row = pages.group(group, lambda each: each["seconds"] is not None)
    assert (row["kind"], row["state"], row["members"], row["topics"]) == ("classic", "Empty", 0, [topic])
    assert row["lag"] == RECORDS and row["seconds"] == pytest.approx(7200, abs=60)
    shown = pages("/group", group=group)["partitions"]
    assert [(each["partition"], each["committed"], each["end"]) for each in shown] == [(0, 10, 20), (1, 10, 20)]

    plan = pages("/group/reset", group=group, topic=topic, to="shift", value=-4, partition=1)
    (move,) = plan["moves"]
    assert (move["before"], move["after"], move["again"], plan["members"]) == (10, 6, 4, 0)
    assert time.time() - move["from_ms"] / 1000 == pytest.approx(7200, abs=60)
    assert pages("/group/reset", "POST", {"moves": [move]}, group=group) == {"moved": 1}
    assert [each["committed"] for each in pages("/group", group=group)["partitions"]] == [10, 6]
    assert "since the preview" in pages("/group/reset", "POST", {"moves": [move]}, group=group)["error"]

    assert pages("/group/offsets", "DELETE", group=group, topic=topic) == {"deleted": 2}
    commit(server, group, topic, 0)
    assert pages("/group", "DELETE", group=group) == {"deleted": group}
    assert "there is no group" in pages("/group", "DELETE", group=group)["error"]


@pytest.mark.parametrize(("protocol", "kind"), [("range", "classic"), ("consumer", "consumer")])
def test_members_of_both_protocols(
    pages: Pages, server: BarnabasNode | KafkaNode, topic: str, protocol: str, kind: str
) -> None:
    group = f"{topic}-{kind}"
    member = Member(server.bootstrap, group, [topic], protocol, "a-reader")
    try:
        until(lambda: member.partitions == {0, 1}, "it owns both partitions")
        row = pages.group(group, lambda each: each["members"] == 1)
        assert (row["kind"], row["state"], row["topics"]) == (kind, "Stable", [topic])
        (shown,) = pages("/group", group=group)["members"]
        assert (shown["client_id"], shown["host"], shown["partitions"]) == (
            "a-reader",
            "127.0.0.1",
            [[topic, 0], [topic, 1]],
        )
        until(lambda: len(member.read) == 2 * RECORDS, "it has read everything")
        pages.group(group, lambda each: each["lag"] == 0)
        plan = pages("/group/reset", group=group, topic=topic, to="earliest")
        assert plan["members"] == 1 and plan["again"] == 2 * RECORDS
        for refused in (
            pages("/group/reset", "POST", {"moves": plan["moves"]}, group=group),
            pages("/group", "DELETE", group=group),
        ):
            assert "has members" in refused["error"]
    finally:
        member.close()


def test_an_open_transaction_is_shown_and_aborted(
    pages: Pages, server: BarnabasNode | KafkaNode, topic: str, tmp_path: Path
) -> None:
    producer = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": topic, **QUIET})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(WAIT_S) == 0
    row = next(each for each in pages("/transactions")["transactions"] if each["id"] == topic)
    assert (row["state"], row["partitions"], row["timeout_ms"]) == ("Ongoing", [[topic, 0]], 60_000)
    assert 0 <= row["age"] < WAIT_S
    assert pages("/transactions/hanging", longer_than=0)["hanging"] == [], "its coordinator knows it"
    wrong = {"id": topic, "producer_id": row["producer_id"] + 1, "started_ms": row["started_ms"]}
    assert "has ended" in pages("/transactions/abort", "POST", wrong)["error"]
    right = {**wrong, "producer_id": row["producer_id"]}
    assert pages("/transactions/abort", "POST", right) == {"aborted": topic}
    with pytest.raises(KafkaException):
        producer.commit_transaction(WAIT_S)
    assert topic not in [each["id"] for each in pages("/transactions")["transactions"]]
