"""Transactions by single requests, for tests that need to be in the middle of one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from tests.support.wire import (
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    PRODUCE,
    WireClient,
    await_group_coordinator,
    batch,
    fetch_body,
    read_batches,
)

TRANSACTIONAL = 0x10
CONTROL = 0x20
_COME_AGAIN = (14, 15, 16, 51)
_LATER = (3, 6, 51, 100)  # the topic is so new that its leader does not know of it; the last transaction still ends


def await_coordinators(client: WireClient) -> None:
    await_group_coordinator(client)
    patiently(client, FIND_COORDINATOR, 2, {"key": "warm-up", "key_type": 1})
    patiently(client, INIT_PRODUCER_ID, 4, {"transactional_id": "warm-up", "transaction_timeout_ms": 1000})


def patiently(client: WireClient, api_key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """Ask again while the server says come again."""
    deadline = time.monotonic() + 30
    while (answer := client.call(api_key, version, body))["error_code"] in _COME_AGAIN:
        assert time.monotonic() < deadline, answer
        time.sleep(0.01)
    return answer


@dataclass
class RawProducer:
    """A transactional producer of the newest kind (KIP-890), one request at a time."""

    client: WireClient
    name: str
    producer_id: int = -1
    epoch: int = -1
    ongoing: tuple[int, int] = (-1, -1)
    sequences: dict[tuple[bytes, int], int] = field(default_factory=dict)

    def init(self, timeout_ms: int = 60_000, *, two_phase: bool = False, keep: bool = False) -> RawProducer:
        body = {"transactional_id": self.name, "transaction_timeout_ms": timeout_ms, "producer_id": -1}
        version = 5
        if two_phase or keep:
            version, body = 6, {**body, "enable2_pc": two_phase, "keep_prepared_txn": keep}
        answer = patiently(self.client, INIT_PRODUCER_ID, version, body)
        assert answer["error_code"] == 0, answer
        self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        self.ongoing = (answer.get("ongoing_txn_producer_id", -1), answer.get("ongoing_txn_producer_epoch", -1))
        self.sequences.clear()
        return self

    def try_write(self, topic_id: bytes, *values: bytes, partition: int = 0, **more: Any) -> int:
        """The error code."""
        sequence = self.sequences.get((topic_id, partition), 0)
        records = batch(
            values,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL,
            **more,
        )
        item = {"topic_id": topic_id, "partition_data": [{"index": partition, "records": records}]}
        body = {"transactional_id": self.name, "acks": -1, "timeout_ms": 10_000, "topic_data": [item]}
        answer = self.client.call(PRODUCE, 13, body)["responses"][0]["partition_responses"][0]
        if answer["error_code"] == 0:
            self.sequences[topic_id, partition] = sequence + len(values)
        return int(answer["error_code"])

    def write(self, topic_id: bytes, *values: bytes, partition: int = 0, **more: Any) -> None:
        deadline = time.monotonic() + 20
        while (code := self.try_write(topic_id, *values, partition=partition, **more)) in _LATER:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert code == 0, code

    def try_end(self, commit: bool) -> dict[str, Any]:
        body = {"transactional_id": self.name, "producer_id": self.producer_id, "producer_epoch": self.epoch}
        return patiently(self.client, END_TXN, 5, {**body, "committed": commit})

    def end(self, commit: bool) -> None:
        answer = self.try_end(commit)
        assert answer["error_code"] == 0, answer
        self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        self.sequences.clear()
        self.settle()

    def state(self) -> dict[str, Any]:
        states = self.client.call(DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [self.name]})["transaction_states"]
        return dict(states[0])

    def settle(self) -> None:
        deadline = time.monotonic() + 20
        while self.state()["transaction_state"].startswith("Prepare"):
            assert time.monotonic() < deadline, self.state()
            time.sleep(0.005)


def ends(client: WireClient, topic: str, partition: int = 0) -> tuple[int, int]:
    """The last stable offset and the high watermark, as ListOffsets gives them to the two kinds of readers."""
    found = []
    for level in (1, 0):
        topics = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": -1}]}]
        body = {"replica_id": -1, "isolation_level": level, "topics": topics}
        found.append(client.call(LIST_OFFSETS, 5, body)["topics"][0]["partitions"][0]["offset"])
    return found[0], found[1]


def fetched(client: WireClient, topic: str, offset: int = 0, *, level: int = 1, **more: Any) -> dict[str, Any]:
    body = fetch_body(topic, offset, isolation_level=level, **more)
    answer = dict(client.call(FETCH, 11, body)["responses"][0]["partitions"][0])
    answer["batches"] = read_batches(answer.pop("records"))
    return answer
