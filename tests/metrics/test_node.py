"""Real clients on a real node: what /metrics says is exactly what they did."""

from __future__ import annotations

import subprocess
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.metrics.series import SERIES
from barnabas.observe.scrape import NodeScraper, ScrapeFailed
from tests.metrics.conftest import MeteredNode, until
from tests.support.members import QUIET
from tests.support.wire import PRODUCE, WireClient, batch

TOPICS = "kafka_server_brokertopicmetrics_"


@pytest.fixture
def topic(node: MeteredNode) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(20)
    return name


def produce(node: MeteredNode, topic: str, partition: int, records: int) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap})
    for number in range(records):
        producer.produce(topic, f"{number:060}".encode(), partition=partition)
    assert producer.flush(20) == 0


def test_records_and_bytes_are_counted_exactly(node: MeteredNode, topic: str) -> None:
    before = node.metrics()
    produce(node, topic, 0, 300)
    produce(node, topic, 1, 200)
    now = node.metrics(partitions=True)
    assert now.value(f"{TOPICS}messagesin_total", topic=topic) == 500
    assert now.value("kafka_topic_partition_current_offset", topic=topic, partition="0") == 300
    size = now.total("kafka_log_log_size", topic=topic)
    assert now.value(f"{TOPICS}bytesin_total", topic=topic) == size > 500 * 60
    assert now.value("barnabas_topic_log_bytes", topic=topic) == size
    name = "kafka_network_requestmetrics_requests_total"
    requests = (now.value(name, request="Produce") or 0) - (before.value(name, request="Produce") or 0)
    assert now.value(f"{TOPICS}totalproducerequests_total", topic=topic) == requests > 0
    grown = (now.value(f"{TOPICS}messagesin_total") or 0) - (before.value(f"{TOPICS}messagesin_total") or 0)
    assert grown == 500, "the sum of all topics"

    consumer = Consumer({**QUIET, "bootstrap.servers": node.bootstrap, "group.id": f"g-{topic}"})
    consumer.assign([TopicPartition(topic, number, 0) for number in (0, 1)])
    read = 0
    while read < 500:
        read += len(consumer.consume(500, 1))
    consumer.close()
    assert node.metrics().value(f"{TOPICS}bytesout_total", topic=topic) == size


def test_what_fails_is_counted_by_its_error(node: MeteredNode, topic: str) -> None:
    name = "kafka_network_requestmetrics_errors_total"
    labels = {"request": "Produce", "error": "UNKNOWN_TOPIC_OR_PARTITION"}
    before = node.metrics().value(name, **labels) or 0
    with WireClient(node.bootstrap) as client:
        parts = [{"index": 7, "records": batch()}]
        body = {"transactional_id": None, "acks": -1, "timeout_ms": 1000}
        client.call(PRODUCE, 9, body | {"topic_data": [{"name": topic, "partition_data": parts}]})
        broken = bytearray(batch())
        broken[-1] ^= 1
        parts = [{"index": 0, "records": bytes(broken)}]
        client.call(PRODUCE, 9, body | {"topic_data": [{"name": topic, "partition_data": parts}]})
    now = node.metrics()
    assert now.value(name, **labels) == before + 1
    assert now.value(name, request="Produce", error="CORRUPT_MESSAGE")
    assert now.value(f"{TOPICS}messagesin_total", topic=topic) == 0


def test_a_group_is_behind_in_records_and_in_seconds(node: MeteredNode, topic: str) -> None:
    produce(node, topic, 0, 100)
    group = f"g-{topic}"
    consumer = Consumer({**QUIET, "bootstrap.servers": node.bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(topic, 0, 40)], asynchronous=False)
    labels = {"consumergroup": group, "topic": topic}
    until(lambda: node.metrics().value("kafka_consumergroup_lag_sum", **labels) == 60)
    until(lambda: (node.metrics().value("kafka_consumergroup_lag_seconds", **labels) or 0) > 0)
    now = node.metrics(partitions=True)
    assert now.value("kafka_consumergroup_lag", **labels, partition="0") == 60
    assert now.value("kafka_consumergroup_current_offset", **labels, partition="0") == 40
    assert now.value("kafka_consumergroup_lag_seconds", **labels) < 60  # type: ignore[operator]
    consumer.commit(offsets=[TopicPartition(topic, 0, 100)], asynchronous=False)
    until(lambda: node.metrics().value("kafka_consumergroup_lag_seconds", **labels) == 0)
    assert node.metrics().value("kafka_consumergroup_lag_sum", **labels) == 0
    consumer.close()


def test_an_open_transaction_is_seen_and_has_an_age(node: MeteredNode, topic: str) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap, "transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"x")
    producer.flush(20)
    until(lambda: node.metrics().value("barnabas_transactions_open") == 1)
    until(lambda: (node.metrics().value("barnabas_transaction_oldest_seconds") or 0) > 0)
    producer.commit_transaction(20)
    until(lambda: node.metrics().value("barnabas_transactions_open") == 0)


def test_a_deleted_topic_has_no_series_and_stays_in_the_total(node: MeteredNode, topic: str) -> None:
    produce(node, topic, 0, 10)
    time.sleep(0.1)  # the last record of a transaction, such as that of the test before, is held back for 20 ms
    total = node.metrics().value(f"{TOPICS}messagesin_total")
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    admin.delete_topics([topic])[topic].result(20)
    now = node.metrics()
    assert now.value(f"{TOPICS}messagesin_total", topic=topic) is None
    assert now.value(f"{TOPICS}messagesin_total") == total


def test_the_text_is_prometheus_and_every_series_is_in_the_table(node: MeteredNode, topic: str) -> None:
    produce(node, topic, 0, 1)
    text = node.text()
    families = {family.name for family in text_string_to_metric_families(text)}
    known = {name.removesuffix("_total") for name in SERIES}
    assert families <= known, families - known
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert "kafka_topic_partition_current_offset" not in node.text("/metrics"), "only on request"


def test_health_and_what_is_not_there(node: MeteredNode) -> None:
    assert node.text("/health/live") == '{"status": "live"}\n'
    assert node.text("/health/ready") == '{"status": "ready"}\n'
    with pytest.raises(ScrapeFailed) as failed:
        NodeScraper(node.url).text("/secret")
    assert failed.value.status == 404
    assert node.metrics().value("barnabas_ready") == 1
