"""The Python library while the cluster misbehaves: errors, cut connections, restarts, silence."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import barnabas.client.consumer.reader
import barnabas.client.producer.partitioners
from barnabas import (
    Admin,
    AsyncConsumer,
    CannotReach,
    Consumer,
    DeliveryFailed,
    Producer,
    TimedOut,
    TopicPartition,
    UnknownTopic,
)
from barnabas.testing import running_node

WAIT_S = 30.0


@pytest.fixture
def node() -> Iterator[Any]:
    with running_node({"group.initial.rebalance.delay.ms": 0}) as running:
        yield running


def offsets(node: Any, topic: str) -> list[bytes]:
    with Consumer(topic, bootstrap=node.bootstrap, follow=False) as consumer:
        return [message.value for message in consumer]


@pytest.mark.parametrize("fault", ["error", "disconnect"])
def test_retries_neither_lose_nor_double_nor_reorder(node: Any, fault: str) -> None:
    with Producer(node.bootstrap, linger_ms=0, retry_backoff_ms=10) as producer:
        producer.send("t", b"first").result(WAIT_S)
        for number in range(200):
            if number % 50 == 10:
                if fault == "error":
                    node.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
                else:
                    node.disconnect_next("Produce")
            producer.send("t", b"%d" % number)
            if number % 20 == 0:
                producer.flush()
    assert offsets(node, "t") == [b"first", *(b"%d" % number for number in range(200))]


def test_a_restart_is_waited_out(node: Any) -> None:
    with Producer(node.bootstrap) as producer, Consumer("t", bootstrap=node.bootstrap, timeout=WAIT_S) as consumer:
        producer.send("t", b"before").result(WAIT_S)
        assert next(consumer).value == b"before"
        node.stop()
        delivery = producer.send("t", b"after")
        with pytest.raises(TimedOut):
            delivery.result(timeout=0.2)
        node.start()
        assert delivery.result(WAIT_S).offset == 1
        assert next(consumer).value == b"after"


def test_a_group_survives_a_restart(node: Any) -> None:
    options: Any = {"bootstrap": node.bootstrap, "group": "g", "timeout": WAIT_S}
    with Producer(node.bootstrap) as producer:
        producer.send_many("t", [b"0", b"1"]).result(WAIT_S)
        with Consumer("t", commit="manual", **options) as consumer:
            assert next(consumer).value == b"0"
            consumer.commit()
            node.restart()
            assert next(consumer).value == b"1"
            producer.send("t", b"2").result(WAIT_S)
            assert next(consumer).value == b"2"
        with Consumer("t", commit="manual", **options) as consumer:
            assert next(consumer).value == b"1"


def test_a_cluster_that_is_gone_is_told_in_bounded_time(node: Any) -> None:
    producer = Producer(node.bootstrap, delivery_timeout=2)
    producer.send("t", b"v").result(WAIT_S)
    node.stop()
    before = time.monotonic()
    producer.send_many("t", [b"a", b"b", b"c"])
    with pytest.raises(TimedOut, match="3 records"):
        producer.flush(timeout=0.5)
    with pytest.raises(DeliveryFailed) as caught:
        producer.close()
    assert caught.value.failures == 3
    assert time.monotonic() - before < 10


def test_a_topic_that_nobody_creates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barnabas.client.producer.partitioners, "COUNT_WAIT_S", 1.0)
    with running_node({"auto.create.topics.enable": False, "group.initial.rebalance.delay.ms": 0}) as node:
        with pytest.raises(UnknownTopic, match=r"no topic 'typo'.*barnabas topic create typo"):
            Consumer("typo", bootstrap=node.bootstrap)
        with (
            pytest.raises(UnknownTopic, match="typo"),
            Consumer("typo", bootstrap=node.bootstrap, group="g") as consumer,
        ):
            next(consumer)
        with pytest.raises(DeliveryFailed, match="deliver to typo: unknown topic"):
            Producer(node.bootstrap, topic_metadata_propagation_max_ms=1_000).send("typo", b"v").result(WAIT_S)
        with pytest.raises(UnknownTopic, match="typo"):
            Producer(node.bootstrap, partitioner="round_robin").send("typo", b"v")


def test_a_slow_handler_keeps_its_partitions(node: Any) -> None:
    """One message takes longer than the group's patience between two polls would allow for the whole batch."""
    revoked: list[Any] = []
    with Producer(node.bootstrap) as producer:
        producer.send_many("t", (b"%d" % number for number in range(6)))
    limits: Any = {"max_poll_interval_ms": 6_000, "session_timeout_ms": 6_000, "on_revoke": revoked.append}
    seen = []
    with Consumer("t", bootstrap=node.bootstrap, group="g", max_records=6, **limits) as consumer:
        for message in consumer:
            seen.append(message.offset)
            assert revoked == []
            time.sleep(1.3)
    assert seen == list(range(6))


def test_async_consumer_is_cancelled_while_the_cluster_is_slow(node: Any) -> None:
    with Producer(node.bootstrap) as producer:
        producer.send_many("t", (b"%d" % number for number in range(10))).result(WAIT_S)

    async def story() -> list[int]:
        seen: list[int] = []
        async with AsyncConsumer("t", bootstrap=node.bootstrap, group="g") as consumer:
            node.delay("Fetch", 50)
            while len(seen) < 10:
                try:
                    seen.append((await asyncio.wait_for(anext(consumer), 0.03)).offset)
                except TimeoutError:
                    continue
        return seen

    assert asyncio.run(asyncio.wait_for(story(), WAIT_S)) == list(range(10))


def test_stop_ends_a_loop_that_waits(node: Any) -> None:
    with Producer(node.bootstrap) as producer:
        producer.send("t", b"0")
    with Consumer("t", bootstrap=node.bootstrap) as consumer:
        threading.Timer(0.5, consumer.stop).start()
        assert [message.value for message in consumer] == [b"0"]


def test_a_topic_that_nobody_creates_is_unknown_to_writers_and_readers() -> None:
    with running_node({"auto.create.topics.enable": False}) as node:
        with pytest.raises(UnknownTopic, match="barnabas topic create nowhere") as caught:
            Producer(node.bootstrap).send("nowhere", b"x").result(WAIT_S)
        assert isinstance(caught.value, DeliveryFailed)
        with pytest.raises(UnknownTopic, match="nowhere"):
            next(Consumer("nowhere", bootstrap=node.bootstrap, group="g"))


def test_reading_what_is_there_does_not_create_a_misspelled_topic(node: Any) -> None:
    for group in (None, "g"):
        with pytest.raises(UnknownTopic, match="no topic 'mispelled'"):
            list(Consumer("mispelled", bootstrap=node.bootstrap, group=group, follow=False))
    with Admin(node.bootstrap) as admin:
        assert [each.name for each in admin.topics()] == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_closing_does_not_wait_for_a_cluster_that_is_gone(
    node: Any, protocol: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka would wait for the session timeout, 45 s: longer than a container is given to end."""
    monkeypatch.setattr(barnabas.client.consumer.reader, "CLOSE_WAIT_S", 1.0)
    lost: list[Any] = []
    with Producer(node.bootstrap) as producer:
        producer.send_many("t", [b"0", b"1"])
    consumer = Consumer("t", bootstrap=node.bootstrap, group="g", protocol=protocol, on_lost=lost.extend)
    next(consumer)
    next(consumer)
    node.stop()
    with pytest.raises((CannotReach, TimedOut), match="look up the end of t-0"):
        consumer.lag()
    begun = time.monotonic()
    consumer.close()
    assert time.monotonic() - begun < 10
    assert lost == [TopicPartition("t", 0)]


def test_a_commit_without_a_coordinator_ends_in_time_and_can_be_repeated(node: Any) -> None:
    with Producer(node.bootstrap) as producer:
        producer.send_many("t", [b"0", b"1"]).result(WAIT_S)
    with Consumer("t", bootstrap=node.bootstrap, group="g", commit="manual", timeout=WAIT_S) as consumer:
        assert next(consumer).value == b"0"
        node.stop()
        for _ in range(2):  # the second one waits behind the first, which is under way still
            begun = time.monotonic()
            with pytest.raises(TimedOut, match=r"coordinator on .* did not answer within 0\.5 s"):
                consumer.commit(timeout=0.5)
            assert time.monotonic() - begun < 5
        node.start()
        consumer.commit(timeout=WAIT_S)
        assert consumer.committed() == {TopicPartition("t", 0): 1}


def test_closing_does_not_wait_for_a_commit_that_gets_no_answer(node: Any) -> None:
    with Producer(node.bootstrap) as producer:
        producer.send("t", b"0").result(WAIT_S)
    consumer = Consumer("t", bootstrap=node.bootstrap, group="g", commit="manual", timeout=WAIT_S)
    assert next(consumer).value == b"0"
    node.stop()
    with pytest.raises(TimedOut):
        consumer.commit(timeout=0.2)
    begun = time.monotonic()
    consumer.close()
    assert time.monotonic() - begun < 5


def test_a_program_ends_though_the_cluster_is_gone(node: Any) -> None:
    program = (
        "import sys; from barnabas import Consumer; "
        "import barnabas.client.consumer.reader as reader; reader.CLOSE_WAIT_S = 1;"
        "consumer = Consumer('t', bootstrap=sys.argv[1], group='g'); print(next(consumer).value, flush=True);"
        "sys.stdin.readline()"
    )
    with Producer(node.bootstrap) as producer:
        producer.send("t", b"0")
    words = [sys.executable, "-c", program, node.bootstrap]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"b'0'\n"
        node.stop()
        assert running.communicate(b"\n", timeout=20) == (b"", b"")
        assert running.returncode == 0


def test_records_are_not_deleted_when_a_partition_does_not_tell_its_offsets(node: Any) -> None:
    """-1 is "none is so late" in one request and "all of them" in the next: no answer must not become either."""
    with Producer(node.bootstrap) as producer:
        producer.send_many("t", [b"0", b"1", b"2"])
    with Admin(node.bootstrap, timeout=5) as admin:
        node.fail_next("ListOffsets", "UNKNOWN_SERVER_ERROR", times=-1)
        with pytest.raises(TimedOut, match="partition 0 does not tell its offsets"):
            admin.delete_records("t", datetime.now(UTC) - timedelta(days=1))
        node.heal()
        assert offsets(node, "t") == [b"0", b"1", b"2"]
        assert admin.delete_records("t", datetime.now(UTC) - timedelta(days=1)) == {0: 0}
        assert admin.delete_records("t", datetime.now(UTC) + timedelta(days=1)) == {0: 3}
