"""Moving in: the source of a link is an Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.linked_clusters.conftest import FAST
from tests.linked_clusters.pair import commit, committed, create, equal, in_json, link, produce, read, status
from tests.support.members import QUIET, until
from tests.support.servers import BarnabasNode, KafkaNode


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaNode]:
    node = KafkaNode(tmp_path / "kafka")
    try:
        node.start()
        yield node
    finally:
        node.stop()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[BarnabasNode]:
    node = BarnabasNode(tmp_path / "target", FAST)
    try:
        node.start()
        yield node
    finally:
        node.stop()


def test_moving_in_without_a_gap(kafka: KafkaNode, target: BarnabasNode) -> None:
    source = kafka.bootstrap
    create(source, "orders", 2, retention_ms="86400000")
    produce(source, "orders", [f"v{n}" for n in range(400)], **{"compression.type": "zstd"})
    producer = Producer({**QUIET, "bootstrap.servers": source, "transactional.id": "t"})
    producer.init_transactions(30)
    for ending in ("abort", "commit"):
        producer.begin_transaction()
        producer.produce("orders", f"in a transaction: {ending}", partition=1)
        producer.flush(30)
        producer.commit_transaction(30) if ending == "commit" else producer.abort_transaction(30)
    commit(source, "billing", "orders", {0: 17, 1: 4})

    link(target.bootstrap, source)
    until(lambda: status(target.bootstrap)["lag_records"] == 0, "it has caught up")
    assert equal(target.bootstrap)["batches"] > 2
    assert read(target.bootstrap, "orders", 2) == read(source, "orders", 2)
    result = in_json("link", "promote", "east", "-b", target.bootstrap)
    assert result["missing"] == []
    assert committed(target.bootstrap, "billing", "orders", 2) == {0: 17, 1: 4}
    produce(target.bootstrap, "orders", ["at home"])
    there, here = read(source, "orders", 2), read(target.bootstrap, "orders", 2)
    assert all(here[index][: len(there[index])] == there[index] for index in (0, 1))
    assert "at home" in here[0] + here[1]
