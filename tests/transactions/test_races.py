"""Orders of events that are rare, made certain: a node inside the test, with a disk as slow as the test wants it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.coordinator import driver
from barnabas.testing import RunningNode, running_node
from tests.support.wire import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_PRODUCERS,
    END_TXN,
    INIT_PRODUCER_ID,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    WireClient,
    await_topic,
    batch,
    create_topic,
)
from tests.transactions.conftest import IS_KAFKA
from tests.transactions.requests import RawProducer, await_coordinators, ends

pytestmark = [pytest.mark.timeout(60), pytest.mark.skipif(IS_KAFKA, reason="needs a node inside the test's process")]
ONE_SHARD = {"transaction.state.log.num.partitions": 1, "offsets.topic.num.partitions": 1}
INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH = 48, 47


class SlowPlatter:
    """fsync waits while it is closed."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.waiting = 0

    def fdatasync(self, fd: int) -> None:
        self.waiting += 1
        assert self.open.wait(20)
        self.waiting -= 1


@pytest.fixture
def platter(monkeypatch: pytest.MonkeyPatch) -> SlowPlatter:
    made = SlowPlatter()
    monkeypatch.setattr(os, "fdatasync", made.fdatasync)
    return made


@pytest.fixture
def node(platter: SlowPlatter) -> Iterator[RunningNode]:
    with running_node(ONE_SHARD) as made:
        with WireClient(made.bootstrap) as client:
            await_coordinators(client)
        yield made


def open_in(client: WireClient, topic: str, partition: int) -> int:
    body = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
    (found,) = client.call(DESCRIBE_PRODUCERS, 0, body)["topics"][0]["partitions"]
    return max((p["current_txn_start_offset"] for p in found["active_producers"]), default=-1)


def keep_busy(node: RunningNode, platter: SlowPlatter) -> None:
    """One fsync of the coordinator's log is under way, and a record waits for the next: so whatever is asked now is
    answered together with it."""
    platter.open.clear()
    for number in range(2):
        client = WireClient(node.bootstrap)
        client.send(INIT_PRODUCER_ID, 4, {"transactional_id": f"another-{number}", "transaction_timeout_ms": 1000})
        wait_until(lambda: platter.waiting > 0)
        time.sleep(0.1)


@pytest.mark.parametrize("generation", ["old", "new"])
def test_a_batch_on_its_way_when_its_transaction_ends(node: RunningNode, platter: SlowPlatter, generation: str) -> None:
    """The leader asks the coordinator whether the batch belongs to the transaction; before the answer is safe, the
    transaction is ended. The batch must not come behind the marker: nobody would end what it opens."""
    old = generation == "old"
    with WireClient(node.bootstrap) as one, WireClient(node.bootstrap) as two:
        ident = create_topic(one, "t", 2)
        producer = RawProducer(one, "racing").init()
        who = {"transactional_id": "racing", "producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        topics = [{"name": "t", "partitions": [0, 1]}]
        if old:
            named = {f"v3_and_below_{key}": value for key, value in {**who, "topics": topics}.items()}
            answer = one.call(ADD_PARTITIONS_TO_TXN, 3, named)["results_by_topic_v3_and_below"][0]
            assert [p["partition_error_code"] for p in answer["results_by_partition"]] == [0, 0]
        else:
            producer.write(ident, b"first", partition=1)
        keep_busy(node, platter)
        records = batch(
            [b"late"], producer_id=producer.producer_id, producer_epoch=producer.epoch, base_sequence=0, attributes=0x10
        )
        parts = [{"index": 0, "records": records}]
        item = {"name": "t", "topic_id": ident, "partition_data": parts}
        body = {"transactional_id": "racing", "acks": -1, "timeout_ms": 9000, "topic_data": [item]}
        produced = one.send(PRODUCE, 11 if old else 13, body)
        time.sleep(0.1)
        ended = two.send(END_TXN, 4 if old else 5, {**who, "committed": True})
        time.sleep(0.1)
        platter.open.set()
        answer = one.receive(PRODUCE, 11 if old else 13, produced)["responses"][0]["partition_responses"][0]
        assert two.receive(END_TXN, 4 if old else 5, ended)["error_code"] == 0
        producer.settle()
        assert open_in(one, "t", 0) == -1, "a transaction that nobody will end"
        assert ends(one, "t")[0] == ends(one, "t")[1]
        assert answer["error_code"] in (INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH), answer


@pytest.mark.parametrize("version", [3, 5])
def test_offsets_on_their_way_when_their_transaction_ends(
    node: RunningNode, platter: SlowPlatter, version: int
) -> None:
    with WireClient(node.bootstrap) as one, WireClient(node.bootstrap) as two:
        ident = create_topic(one, "t", 1)
        producer = RawProducer(one, "racing").init()
        who = {"transactional_id": "racing", "producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        if version < 5:
            assert one.call(ADD_OFFSETS_TO_TXN, 3, {**who, "group_id": "g"})["error_code"] == 0
        else:
            producer.write(ident, b"first")
        keep_busy(node, platter)
        part = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
        body = {"group_id": "g", "topics": [{"name": "t", "partitions": [part]}]}
        sent = one.send(TXN_OFFSET_COMMIT, version, {**who, **body})
        time.sleep(0.1)
        ended = two.send(END_TXN, 4 if version < 5 else 5, {**who, "committed": True})
        time.sleep(0.1)
        platter.open.set()
        answer = one.receive(TXN_OFFSET_COMMIT, version, sent)["topics"][0]["partitions"][0]
        assert two.receive(END_TXN, 4 if version < 5 else 5, ended)["error_code"] == 0
        producer.settle()
        assert answer["error_code"] in (INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH), answer
        assert stable_offset(one, "g") == (-1, 0), "offsets that wait for an ending that never comes"
        assert open_in(one, "__consumer_offsets", 0) == -1


def stable_offset(client: WireClient, group: str) -> tuple[int, int]:
    asked = {"group_id": group, "topics": [{"name": "t", "partition_indexes": [0]}]}
    group_answer = client.call(OFFSET_FETCH, 8, {"groups": [asked], "require_stable": True})["groups"][0]
    if group_answer["error_code"]:
        return -1, group_answer["error_code"]
    found = group_answer["topics"][0]["partitions"][0]
    return found["committed_offset"], found["error_code"]


def test_a_marker_written_while_the_groups_are_loading(monkeypatch: pytest.MonkeyPatch, node: RunningNode) -> None:
    """A large log of offsets is replayed in steps. A transaction that ends between two of them has its marker behind
    what the replay set out to read."""
    with WireClient(node.bootstrap) as client:
        create_topic(client, "t", 1)
        for offset in range(20):
            part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
            body = {"group_id": "g", "topics": [{"name": "t", "partitions": [part]}]}
            client.call(OFFSET_COMMIT, 7, {**body, "generation_id_or_member_epoch": -1, "member_id": ""})
        producer = RawProducer(client, "racing").init()
        who = {"transactional_id": "racing", "producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        part = {"partition_index": 0, "committed_offset": 99, "committed_metadata": ""}
        body = {"group_id": "g", "topics": [{"name": "t", "partitions": [part]}]}
        assert client.call(TXN_OFFSET_COMMIT, 5, {**who, **body})["topics"][0]["partitions"][0]["error_code"] == 0
    node.stop()
    go_on = threading.Event()

    async def slowly(self: Any, index: int, hosted: Any) -> None:
        for _ in self._replay(hosted):
            while self.topic == "__consumer_offsets" and not go_on.is_set():
                await asyncio.sleep(0.01)
        self._ready(index, hosted)
        del self._loading[index]

    monkeypatch.setattr(driver, "_LOAD_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(driver, "_LOAD_STEP_RECORDS", 1)
    monkeypatch.setattr(driver.Coordinators, "_load", slowly)
    node.start()
    with WireClient(node.bootstrap) as client:
        again = RawProducer(client, "racing", producer.producer_id, producer.epoch)
        wait_until(lambda: client.call(END_TXN, 5, {**who, "committed": True})["error_code"] == 0)
        again.settle()
        assert stable_offset(client, "g") == (-1, 14), "the group's coordinator should still be loading"
        go_on.set()
        wait_until(lambda: stable_offset(client, "g")[1] != 14)
        assert stable_offset(client, "g") == (99, 0)


def wait_until(condition: object, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_late_ending_and_a_late_batch(node: RunningNode) -> None:
    """KIP-890: what an earlier transaction sent and the network kept for a while does no harm to the one after."""
    with WireClient(node.bootstrap) as client:
        ident = create_topic(client, "t", 1)
        await_topic(client, "t")
        producer = RawProducer(client, "late").init()
        producer.write(ident, b"one")
        before = RawProducer(client, "late", producer.producer_id, producer.epoch)
        producer.end(True)
        producer.write(ident, b"two")
        assert before.try_end(False)["error_code"] != 0
        assert before.try_write(ident, b"late") == INVALID_PRODUCER_EPOCH
        assert producer.state()["transaction_state"] == "Ongoing"
        producer.end(True)
        assert ends(client, "t") == (4, 4)
