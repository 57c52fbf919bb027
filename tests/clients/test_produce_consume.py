"""Producing and consuming as clients do it: acks, idempotence, long polls, times, sizes, creation by use."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.js import KafkaJs
from tests.support.members import QUIET, until, write
from tests.support.records import Tools, read_confluent

pytestmark = pytest.mark.timeout(90)
Create = Callable[..., str]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(bootstrap: str, tools: Tools, create: Create, topic: str, acks: str) -> None:
    create(topic)
    values = [f"{acks}-{i}".encode() for i in range(200)]
    write(bootstrap, topic, values, acks=acks)
    until(lambda: len(read_confluent(tools, topic)) == 200, "all written", 10)
    assert [r.value for r in read_confluent(tools, topic)] == values


def test_an_idempotent_producer(bootstrap: str, tools: Tools, create: Create, topic: str) -> None:
    create(topic, 3)
    values = [str(i).encode() for i in range(5000)]
    write(bootstrap, topic, values, 3, **{"enable.idempotence": True, "batch.num.messages": 50})
    read = read_confluent(tools, topic)
    for partition in range(3):
        assert [r.value for r in read if r.partition == partition] == values[partition::3]


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka", "kafkajs", "java"])
def test_idempotent_producers_of_other_clients(
    bootstrap: str, tools: Tools, create: Create, topic: str, client: str
) -> None:
    create(topic)
    values = [str(i).encode() for i in range(300)]
    if client == "kafka-python":
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, batch_size=500)
        for value in values:
            producer.send(topic, value)
        producer.flush(20)
        producer.close()
    elif client == "aiokafka":
        from aiokafka import AIOKafkaProducer

        async def go() -> None:
            async with AIOKafkaProducer(
                bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=500
            ) as producer:
                await asyncio.gather(*[await producer.send(topic, value) for value in values])

        asyncio.run(go())
    elif client == "kafkajs":
        import base64

        records = [{"value": base64.b64encode(v).decode()} for v in values]
        tools.js.job("produce", bootstrap=bootstrap, topic=topic, records=records, idempotent=True)
    else:
        import base64
        import json

        lines = "".join(json.dumps({"value": base64.b64encode(v).decode()}) + "\n" for v in values)
        tools.java.run("Records", "produce", bootstrap, topic, "enable.idempotence=true", "batch.size=500", stdin=lines)
    assert [r.value for r in read_confluent(tools, topic)] == values


def test_a_waiting_consumer_hears_of_a_record_at_once(bootstrap: str, create: Create, topic: str) -> None:
    """The long poll is ended by the record, not by its time."""
    create(topic)
    consumer = Consumer(
        {**QUIET, "bootstrap.servers": bootstrap, "group.id": "tail", "fetch.wait.max.ms": 5000, "fetch.min.bytes": 1}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "linger.ms": 0})
    delays = []
    for i in range(30):
        began: list[float] = []

        def later(i: int = i, began: list[float] = began) -> None:
            time.sleep(0.02)
            began.append(time.perf_counter())
            producer.produce(topic, f"{i}".encode())
            producer.flush(10)

        thread = threading.Thread(target=later)
        thread.start()
        message = consumer.poll(10)
        arrived = time.perf_counter()
        thread.join()
        assert message is not None
        assert message.error() is None
        delays.append(arrived - began[0])
    consumer.close()
    delays.sort()
    assert delays[15] < 0.1, f"median {delays[15] * 1000:.1f} ms"


def test_an_idle_long_poll_takes_its_time(bootstrap: str, create: Create, topic: str) -> None:
    """A consumer at the end does not spin: with 500 ms a poll, it asks some four times in two seconds."""
    import json

    create(topic)
    stats: list[dict[str, Any]] = []
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "idle",
            "fetch.wait.max.ms": 500,
            "statistics.interval.ms": 500,
            "stats_cb": lambda s: stats.append(json.loads(s)),
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert consumer.poll(0.1) is None
    consumer.close()
    fetches = [sum(b["req"].get("Fetch", 0) for b in s["brokers"].values()) for s in stats]
    assert 2 <= fetches[-1] <= 12, fetches


def test_reading_from_a_time(bootstrap: str, create: Create, topic: str) -> None:
    create(topic)
    base = int(time.time() * 1000) - 100_000
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap})
    for i in range(50):
        producer.produce(topic, str(i).encode(), timestamp=base + i * 1000)
        producer.flush(10)  # a batch for each
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "timed"})
    for when, expected in ((base, 0), (base + 1, 1), (base + 20_000, 20), (base + 20_500, 21), (base + 49_000, 49)):
        assert consumer.offsets_for_times([TopicPartition(topic, 0, when)], timeout=10)[0].offset == expected
    assert consumer.offsets_for_times([TopicPartition(topic, 0, base + 60_000)], timeout=10)[0].offset == -1
    consumer.assign(
        [
            TopicPartition(
                topic, 0, consumer.offsets_for_times([TopicPartition(topic, 0, base + 30_001)], timeout=10)[0].offset
            )
        ]
    )
    message = consumer.poll(10)
    assert message is not None
    assert message.value() == b"31"
    consumer.close()


def test_large_messages(bootstrap: str, tools: Tools, create: Create, topic: str) -> None:
    """Up to max.message.bytes of the topic, and not above."""
    create(topic, 1, max_message_bytes=str(8 << 20))
    large = bytes(range(256)) * ((6 << 20) // 256)
    write(bootstrap, topic, [large, b"small", large], **{"message.max.bytes": 16 << 20})
    read = read_confluent(tools, topic)
    assert [r.value for r in read] == [large, b"small", large]
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        write(bootstrap, topic, [b"x" * (9 << 20)], **{"message.max.bytes": 16 << 20})
    assert len(read_confluent(tools, topic)) == 3


def test_a_small_limit_changed_while_producing(bootstrap: str, create: Create, topic: str, admin: AdminClient) -> None:
    """A dynamic setting takes effect without a restart."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    create(topic)
    write(bootstrap, topic, [b"x" * 5000])
    entry = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    for future in admin.incremental_alter_configs(
        [ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])]
    ).values():
        future.result(10)

    def refused() -> bool:
        try:
            write(bootstrap, topic, [b"x" * 5000])
        except AssertionError as error:
            return "MSG_SIZE_TOO_LARGE" in str(error)
        return False

    until(refused, "the new limit", 10)
    write(bootstrap, topic, [b"x" * 500])


def test_topics_are_created_by_use(bootstrap: str, tools: Tools, topic: str) -> None:
    """On by default, one partition."""
    write(bootstrap, topic, [b"first"])
    read = read_confluent(tools, topic)
    assert [(r.partition, r.value) for r in read] == [(0, b"first")]


def test_a_consumer_does_not_create_topics_unless_asked(bootstrap: str, topic: str) -> None:
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "none", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    deadline = time.monotonic() + 10
    code = None
    while code is None and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        error = message.error() if message is not None else None
        code = error.code() if error is not None else None
    assert code == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert topic not in consumer.list_topics(timeout=10).topics
    consumer.close()


def test_a_compacted_topic_wants_keys(bootstrap: str, tools: Tools, create: Create, topic: str) -> None:
    create(topic, 1, cleanup_policy="compact")
    outcome: list[KafkaError | None] = []
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "message.timeout.ms": 10000})
    producer.produce(topic, b"value", on_delivery=lambda e, m: outcome.append(e))
    producer.flush(15)
    assert outcome[0] is not None
    assert outcome[0].code() == KafkaError.INVALID_RECORD
    producer.produce(topic, b"value", b"key", on_delivery=lambda e, m: outcome.append(e))
    producer.flush(15)
    assert outcome[1] is None
    assert [(r.key, r.value) for r in read_confluent(tools, topic)] == [(b"key", b"value")]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_the_topic_chooses_the_codec(bootstrap: str, tools: Tools, create: Create, topic: str, codec: str) -> None:
    """compression.type other than `producer`: the server packs again, and everyone still reads it, Java's strict
    readers included."""
    from tests.support.records import read_java
    from tests.support.wire import FETCH, WireClient, fetch_body, read_batches

    create(topic, 1, compression_type=codec)
    values = [f"value {i} ".encode() * 20 for i in range(100)]
    write(bootstrap, topic, values, **{"linger.ms": 100})
    settings: dict[str, Any] = {"linger.ms": 100, "compression.codec": "lz4"}
    write(bootstrap, topic, values, **settings)
    assert [r.value for r in read_confluent(tools, topic)] == values * 2
    assert [r.value for r in read_java(tools, topic)] == values * 2
    with WireClient(bootstrap) as wire:
        batches = read_batches(wire.call(FETCH, 11, fetch_body(topic, 0))["responses"][0]["partitions"][0]["records"])
    assert {b["attributes"] & 7 for b in batches} == {("uncompressed", "gzip", "snappy", "lz4", "zstd").index(codec)}


def test_the_server_can_stamp_the_time(bootstrap: str, tools: Tools, create: Create, topic: str) -> None:
    create(topic, 1, message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap})
    producer.produce(topic, b"x", timestamp=12345)
    producer.flush(10)
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "stamp"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(10)
    assert message is not None
    kind, stamp = message.timestamp()
    assert kind == 2  # log append time
    assert before - 5 <= stamp <= int(time.time() * 1000) + 5
    consumer.close()


def test_offsets_out_of_range_are_told(bootstrap: str, create: Create, topic: str, admin: AdminClient) -> None:
    """After DeleteRecords the client finds the new beginning by its own rule."""
    create(topic)
    write(bootstrap, topic, [str(i).encode() for i in range(100)], **{"batch.num.messages": 10})
    admin.delete_records([TopicPartition(topic, 0, 37)])[TopicPartition(topic, 0)].result(10)
    strict = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "strict", "auto.offset.reset": "error"})
    strict.assign([TopicPartition(topic, 0, 5)])
    message = strict.poll(10)
    assert message is not None
    assert message.error() is not None
    error = message.error()
    assert error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET
    strict.close()
    relaxed = Consumer(
        {**QUIET, "bootstrap.servers": bootstrap, "group.id": "relaxed", "auto.offset.reset": "earliest"}
    )
    relaxed.assign([TopicPartition(topic, 0, 5)])
    message = relaxed.poll(10)
    assert message is not None
    assert message.offset() == 37
    assert relaxed.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (37, 100)
    relaxed.close()


def test_kafkajs_administers(bootstrap: str, js: KafkaJs, topic: str) -> None:
    """A JavaScript administrator: create, describe, change, delete."""
    assert (
        js.job(
            "admin",
            bootstrap=bootstrap,
            method="createTopics",
            args=[{"topics": [{"topic": topic, "numPartitions": 3}]}],
        )
        is True
    )
    assert topic in js.job("admin", bootstrap=bootstrap, method="listTopics")
    metadata = js.job("admin", bootstrap=bootstrap, method="fetchTopicMetadata", args=[{"topics": [topic]}])
    assert len(metadata["topics"][0]["partitions"]) == 3
    resource = {"type": 2, "name": topic, "configEntries": [{"name": "retention.ms", "value": "60000"}]}
    js.job("admin", bootstrap=bootstrap, method="alterConfigs", args=[{"validateOnly": False, "resources": [resource]}])
    found = js.job(
        "admin",
        bootstrap=bootstrap,
        method="describeConfigs",
        args=[{"resources": [{"type": 2, "name": topic, "configNames": ["retention.ms"]}]}],
    )
    assert found["resources"][0]["configEntries"][0]["configValue"] == "60000"
    assert js.job("admin", bootstrap=bootstrap, method="describeCluster")["brokers"]
    js.job("admin", bootstrap=bootstrap, method="deleteTopics", args=[{"topics": [topic]}])
    until(lambda: topic not in js.job("admin", bootstrap=bootstrap, method="listTopics"), "the topic is gone", 10)


def test_topics_by_the_admin_client(bootstrap: str, admin: AdminClient, create: Create, topic: str) -> None:
    """Partial failures are told one by one."""
    from confluent_kafka.admin import NewPartitions, NewTopic

    create(topic, 2)
    answers = admin.create_topics([NewTopic(topic, 1, 1), NewTopic(f"{topic}-new", 1, 1), NewTopic("bad name", 1, 1)])
    codes = {}
    for name, future in answers.items():
        try:
            future.result(10)
            codes[name] = 0
        except KafkaException as error:
            codes[name] = error.args[0].code()
    assert codes == {topic: KafkaError.TOPIC_ALREADY_EXISTS, f"{topic}-new": 0, "bad name": KafkaError.TOPIC_EXCEPTION}
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(10)
    until(lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 5, "five partitions", 10)
    admin.delete_topics([topic])[topic].result(10)
    until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone", 10)
