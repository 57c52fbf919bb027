"""Produce where records have to be looked at: others are served meanwhile, answers are bounded, order holds."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cramjam
import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.limits import PRODUCE_PARTITIONS_MAX, RECORD_ERRORS_LISTED_MAX
from barnabas.testing import RunningNode, running_node
from tests.support.wire import PRODUCE, Closed, WireClient, batch, create_topic, produce_body, record

HELD_MAX_SECONDS = 0.05
FUTURE = 2**60


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as node:
        yield node


@contextmanager
def nobody_waits(node: RunningNode) -> Iterator[None]:
    """The loop never computes for long without serving others (its own CPU time: other processes do not count)."""
    loop = node._loop
    assert loop is not None
    worst, last, going = 0.0, 0.0, True

    def tick() -> None:
        nonlocal worst, last
        now = time.thread_time()
        worst, last = max(worst, now - last), now
        if going:
            loop.call_soon(tick)

    def begin() -> None:
        nonlocal last
        last = time.thread_time()
        tick()

    gc.collect()
    gc.disable()  # the heap of a test run is large; a node in its own process collects rarely (cli/up/node.py)
    try:
        loop.call_soon_threadsafe(begin)
        yield
    finally:
        going = False
        gc.enable()
    assert worst < HELD_MAX_SECONDS, f"the loop was held for {worst:.3f} s"


def packed(records: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(records, level=3))


def one(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["responses"][0]["partition_responses"][0]
    return found


def end_offset(node: RunningNode, topic: str, index: int = 0) -> int:
    partition = node._node.partitions.get(topic, index)  # type: ignore[union-attr]
    assert partition is not None
    return partition.open().log.log_end_offset


def many(count: int, make: Callable[[int], bytes] = lambda i: record(i, None)) -> bytes:
    return b"".join(make(i) for i in range(count))


def test_a_small_request_that_opens_to_two_million_records(node: RunningNode) -> None:
    data = batch(
        payload=packed(record(0, None) * 2_000_000), count=2_000_000, last_offset_delta=1_999_999, attributes=4
    )
    assert len(data) < 4096
    with WireClient(node.bootstrap) as client:
        create_topic(client, "bomb")
        with nobody_waits(node):
            assert one(client.call(PRODUCE, 8, produce_body("bomb", data)))["error_code"] == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("config", [{}, {"message_timestamp_before_max_ms": "1000000"}, {"compression_type": "gzip"}])
def test_a_batch_of_many_records_that_is_taken(node: RunningNode, config: dict[str, Any]) -> None:
    """300,000 records under a header that lies about their time: each is looked at, and the header is corrected."""
    topic = "many-" + "-".join(config)
    count, now = 300_000, int(time.time() * 1000)
    payload = packed(many(count))
    data = batch(payload=payload, count=count, last_offset_delta=count - 1, attributes=4, max_timestamp=FUTURE)
    with WireClient(node.bootstrap) as client:
        create_topic(client, topic, **config)
        with nobody_waits(node):
            assert one(client.call(PRODUCE, 8, produce_body(topic, data)))["error_code"] == 0
    partition = node._node.partitions.get(topic, 0)  # type: ignore[union-attr]
    assert partition is not None
    assert partition.open().log.log_end_offset == count
    assert abs(partition.open().log.active_segment.max_timestamp - now) < 60_000


@pytest.mark.parametrize("reason", ["no key", "future", "future, packed"])
def test_every_record_is_refused_and_a_few_are_named(node: RunningNode, reason: str) -> None:
    count = 110_000
    payload = many(count)
    assert len(payload) > 800_000
    fields: dict[str, Any] = {} if reason == "no key" else {"timestamp": FUTURE}
    if "packed" in reason:
        payload, fields["attributes"] = packed(payload), 4
    data = batch(payload=payload, count=count, last_offset_delta=count - 1, **fields)
    topic = "refused-" + reason.replace(" ", "-").replace(",", "")
    with WireClient(node.bootstrap) as client:
        config: dict[str, Any] = {"cleanup_policy": "compact"} if reason == "no key" else {}
        create_topic(client, topic, **config)
        with nobody_waits(node):
            found = one(client.call(PRODUCE, 8, produce_body(topic, data)))
        assert found["error_code"] == (ErrorCode.INVALID_RECORD if reason == "no key" else ErrorCode.INVALID_TIMESTAMP)
        assert [error["batch_index"] for error in found["record_errors"]] == list(range(RECORD_ERRORS_LISTED_MAX))
        assert len(client.last_answer) < 200_000
    assert end_offset(node, topic) == 0


def test_a_request_for_many_partitions_names_as_few(node: RunningNode) -> None:
    data = batch(payload=packed(many(1500)), count=1500, last_offset_delta=1499, attributes=4, timestamp=FUTURE)
    with WireClient(node.bootstrap) as client:
        create_topic(client, "spread")
        partitions = [{"index": 0, "records": data}] * 200
        body = {"acks": 1, "timeout_ms": 1000, "topic_data": [{"name": "spread", "partition_data": partitions}]}
        with nobody_waits(node):
            found = client.call(PRODUCE, 8, body)["responses"][0]["partition_responses"]
    assert {item["error_code"] for item in found} == {ErrorCode.INVALID_TIMESTAMP}
    assert sum(len(item["record_errors"]) for item in found) == RECORD_ERRORS_LISTED_MAX


@pytest.mark.parametrize("version", [8, 11])
def test_a_request_with_thousands_of_batches(node: RunningNode, version: int) -> None:
    with WireClient(node.bootstrap) as client:
        topic = f"thousands-{version}"
        create_topic(client, topic)
        count = 5_000

        def body(count: int) -> dict[str, Any]:
            partitions = [{"index": 0, "records": batch()}] * count
            return {"acks": -1, "timeout_ms": 1000, "topic_data": [{"name": topic, "partition_data": partitions}]}

        frame = client.frame(PRODUCE, version, body(count))
        with nobody_waits(node):
            client.socket.sendall(frame)
            found = client.receive(PRODUCE, version)["responses"][0]["partition_responses"]
        assert [item["base_offset"] for item in found] == list(range(count))
        client.send(PRODUCE, version, body(PRODUCE_PARTITIONS_MAX + 1))
        with pytest.raises(Closed):
            client.receive_frame()


def test_order_holds_behind_a_batch_that_takes_long(node: RunningNode) -> None:
    """Five pipelined requests of an idempotent producer: the first has to be looked at for long, the others not."""
    with WireClient(node.bootstrap) as client:
        create_topic(client, "ordered", cleanup_policy="compact")
        count = 50_000
        large = many(count, lambda i: record(i, b"v", b"k"))
        ids: dict[str, Any] = {"producer_id": 77_000, "producer_epoch": 0}
        batches = [batch(payload=large, count=count, last_offset_delta=count - 1, base_sequence=0, **ids)]
        batches += [batch([b"v"], keys=[b"k"], base_sequence=count + i, **ids) for i in range(4)]
        sent = [client.frame(PRODUCE, 8, produce_body("ordered", data)) for data in batches]
        with nobody_waits(node):
            client.socket.sendall(b"".join(sent))
            found = [one(client.receive(PRODUCE, 8, number + 3)) for number in range(5)]
        assert [item["error_code"] for item in found] == [0] * 5
        assert [item["base_offset"] for item in found] == [0, *range(count, count + 4)]


def test_a_client_that_leaves_meanwhile(node: RunningNode) -> None:
    with WireClient(node.bootstrap) as client:
        create_topic(client, "left", cleanup_policy="compact")
        count = 100_000
        data = batch(payload=many(count), count=count, last_offset_delta=count - 1)
        for _ in range(5):
            with WireClient(node.bootstrap) as leaving:
                leaving.send(PRODUCE, 8, produce_body("left", data))
        small = batch([b"v"], keys=[b"k"])
        assert one(client.call(PRODUCE, 8, produce_body("left", small)))["error_code"] == 0


def test_log_append_time_survives_a_sequence_gap(node: RunningNode) -> None:
    """The short way of Produce and then the general way see the same batch (the second once refused the first's stamp
    with INVALID_TIMESTAMP, which clients do not try again)."""
    with WireClient(node.bootstrap) as client:
        create_topic(client, "stamped", message_timestamp_type="LogAppendTime")
        ids: dict[str, Any] = {"producer_id": 78_000, "producer_epoch": 0}

        def code(sequence: int) -> int:
            answer = client.call(PRODUCE, 8, produce_body("stamped", batch(base_sequence=sequence, **ids)))
            return int(one(answer)["error_code"])

        assert code(0) == 0
        assert code(7) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert code(1) == 0
