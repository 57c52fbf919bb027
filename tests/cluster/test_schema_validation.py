"""Schema ids are checked on every node, wherever `_schemas` is led, and when its leader is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer

from barnabas.model.errors import ErrorCode
from barnabas.wire.schema_ids import id_identifier
from tests.support.cluster import QUIET, BarnabasCluster
from tests.support.schema_records import TOPIC, schema_record

pytestmark = pytest.mark.timeout(120)
PARTITIONS = 6  # led by all three nodes
CHECKED: dict[str, Any] = {"confluent_value_schema_validation": "true"}


class Sender:
    """librdkafka, one record at a time."""

    def __init__(self, bootstrap: str) -> None:
        settings = {**QUIET, "bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0}
        self._producer = Producer({**settings, "message.timeout.ms": 30_000})

    def send(self, topic: str, value: bytes, partition: int = 0, key: bytes | None = None) -> KafkaError | None:
        told: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            told.append(error)

        self._producer.produce(topic, value, key=key, partition=partition, on_delivery=delivered)
        self._producer.flush(40)
        return told[0]

    def register(self, subject: str, schema_id: int, version: int) -> None:
        key, value = schema_record(subject, version, schema_id)
        assert self.send(TOPIC, value, key=key) is None


@pytest.fixture
def sender(cluster: BarnabasCluster) -> Iterator[Sender]:
    cluster.create("orders", PARTITIONS, **CHECKED)
    yield Sender(cluster.bootstrap)


def refusals(sender: Sender, schema_id: int) -> list[int]:
    """The codes with which leaders refuse a record with this id, of all partitions; none when they store it."""
    answers = (sender.send("orders", id_identifier(schema_id) + b"data", index) for index in range(PARTITIONS))
    return [answer.code() for answer in answers if answer is not None]


def test_every_node_checks_and_a_killed_leader_is_followed(cluster: BarnabasCluster, sender: Sender) -> None:
    cluster.create(TOPIC, cleanup_policy="compact")
    sender.register("orders-value", 1, 1)
    assert refusals(sender, 1) == []
    assert refusals(sender, 2) == [ErrorCode.INVALID_RECORD] * PARTITIONS
    assert len({cluster.leader("orders", index) for index in range(PARTITIONS)}) == 3
    sender.register("orders-value", 2, 2)
    assert refusals(sender, 2) == []
    cluster.kill(cluster.leader(TOPIC))
    begun = time.monotonic()
    assert refusals(sender, 1) == []
    sender.register("orders-value", 3, 3)
    assert refusals(sender, 3) == []
    assert time.monotonic() - begun < 20
    assert refusals(sender, 4) == [ErrorCode.INVALID_RECORD] * PARTITIONS


def test_without_a_leader_known_ids_pass_and_others_wait(cluster: BarnabasCluster, sender: Sender) -> None:
    """LEADER_NOT_AVAILABLE: the producer tries again, and nothing is decided before `_schemas` can be read."""
    cluster.create(TOPIC, replicas=1, cleanup_policy="compact")
    sender.register("orders-value", 1, 1)
    sender.register("orders-value", 2, 2)
    assert refusals(sender, 1) == []
    victim = cluster.leader(TOPIC)
    cluster.kill(victim)
    cluster.until(lambda: cluster.leader(TOPIC) == -1, "nobody leads the topic", 20)
    assert refusals(sender, 2) == []  # read before
    index = next(each for each in range(PARTITIONS) if cluster.leader("orders", each) not in (victim, -1))
    waiting: list[KafkaError | None] = []
    producer = sender._producer
    producer.produce(
        "orders", id_identifier(3) + b"x", partition=index, on_delivery=lambda error, _: waiting.append(error)
    )
    producer.poll(3)
    assert waiting == []  # neither stored nor refused
    cluster.start(victim)
    producer.flush(40)
    assert [None if error is None else error.code() for error in waiting] == [ErrorCode.INVALID_RECORD]
