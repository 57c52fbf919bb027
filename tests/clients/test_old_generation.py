"""What a client of the old generation (before KIP-890) can still suffer, as docs/reliability.md says, made to happen.

Its transactions all have one epoch. So a request that the network held back, of a transaction that is over, cannot be
told from one of the transaction after it. What the leader can do is to ask the coordinator whether the partition
belongs to an open transaction; that refuses the late batch, unless one is open there again.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.wire import ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE, WireClient, await_topic, batch, create_topic
from tests.transactions.requests import RawProducer, await_coordinators, ends, fetched

TRANSACTIONAL = 0x10
INVALID_TXN_STATE, PRODUCER_FENCED, TRANSACTION_ABORTABLE, CONCURRENT = 48, 90, 120, 51
WAIT_S = 20


class OldProducer(RawProducer):
    """Adds partitions itself, writes with Produce 11, ends with EndTxn 3: one epoch for all transactions."""

    def add(self, topic: str) -> None:
        topics = [{"name": topic, "partitions": [0]}]
        ids = {"v3_and_below_producer_id": self.producer_id, "v3_and_below_producer_epoch": self.epoch}
        body = {"v3_and_below_transactional_id": self.name, "v3_and_below_topics": topics, **ids}
        self._until_done(lambda: self._added(body))

    def _added(self, body: dict[str, Any]) -> int:
        answer = self.client.call(ADD_PARTITIONS_TO_TXN, 3, body)["results_by_topic_v3_and_below"]
        return int(answer[0]["results_by_partition"][0]["partition_error_code"])

    def batch(self, sequence: int, value: bytes) -> bytes:
        ids: dict[str, Any] = {"producer_id": self.producer_id, "producer_epoch": self.epoch, "base_sequence": sequence}
        return batch([value], attributes=TRANSACTIONAL, **ids)

    def send(self, topic: str, records: bytes) -> int:
        """The error code."""
        item = {"name": topic, "partition_data": [{"index": 0, "records": records}]}
        body = {"transactional_id": self.name, "acks": -1, "timeout_ms": 10_000, "topic_data": [item]}
        return int(self.client.call(PRODUCE, 11, body)["responses"][0]["partition_responses"][0]["error_code"])

    def finish(self, commit: bool) -> int:
        ids = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        body = {"transactional_id": self.name, "committed": commit, **ids}
        code = self._until_done(lambda: int(self.client.call(END_TXN, 3, body)["error_code"]))
        self.settle()
        return code

    def _until_done(self, call: Any) -> int:
        deadline = time.monotonic() + WAIT_S
        while (code := int(call())) == CONCURRENT:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return code


@pytest.fixture
def producer(wire: WireClient, topic: str) -> OldProducer:
    await_coordinators(wire)
    create_topic(wire, topic, 1)
    await_topic(wire, topic)
    made = OldProducer(wire, topic)
    made.init()
    made.add(topic)
    assert made.send(topic, made.batch(0, b"first")) == 0
    return made


def test_a_late_batch_is_refused_while_nothing_is_open(wire: WireClient, producer: OldProducer, topic: str) -> None:
    """Without the question to the coordinator it would open a transaction that nobody ends."""
    late = producer.batch(1, b"late")
    assert producer.finish(True) == 0
    assert producer.send(topic, late) in (INVALID_TXN_STATE, TRANSACTION_ABORTABLE)
    assert ends(wire, topic) == (2, 2), "the record, its marker, and nothing that is open"


def test_a_late_batch_enters_the_next_transaction(wire: WireClient, producer: OldProducer, topic: str) -> None:
    """The client gave up on `late` and aborted; its next transaction uses the sequence number again."""
    late = producer.batch(1, b"late")
    assert producer.finish(False) == 0
    producer.add(topic)
    assert producer.send(topic, late) == 0, "of the aborted transaction, and nobody can tell"
    assert producer.send(topic, producer.batch(1, b"next")) == 0, "taken for the same batch again: it is not written"
    assert producer.finish(True) == 0
    found = fetched(wire, topic)["batches"]
    assert [b"late" in each["payload"] for each in found] == [False, False, True, False]
    assert not any(b"next" in each["payload"] for each in found)


def test_a_late_ending_ends_the_next_transaction(wire: WireClient, producer: OldProducer, topic: str) -> None:
    assert producer.finish(True) == 0
    producer.add(topic)
    assert producer.send(topic, producer.batch(1, b"half of it")) == 0
    assert producer.finish(True) == 0, "the late one: sent for the first transaction, it commits the second"
    assert ends(wire, topic) == (4, 4), "what was there of it is read"
    assert producer.send(topic, producer.batch(2, b"the rest")) in (INVALID_TXN_STATE, TRANSACTION_ABORTABLE)


def test_the_new_generation_tells_them_apart(wire: WireClient, topic: str) -> None:
    await_coordinators(wire)
    topic_id = create_topic(wire, topic, 1)
    await_topic(wire, topic)
    producer = RawProducer(wire, topic).init()
    producer.write(topic_id, b"first")
    late = OldProducer(wire, topic, producer.producer_id, producer.epoch)
    producer.end(True)
    producer.write(topic_id, b"second")
    assert late.try_write(topic_id, b"late") != 0
    assert late.try_end(True)["error_code"] == PRODUCER_FENCED
    assert producer.state()["transaction_state"] == "Ongoing"
    producer.end(True)
    assert ends(wire, topic) == (4, 4)
