"""The Python library against a running cluster: what a user is promised, tried."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue

import barnabas.client.consumer.membership
from barnabas import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    Avro,
    BadSetting,
    BarnabasError,
    CannotReach,
    Closed,
    Consumer,
    DeliveryFailed,
    DeserializationError,
    GroupNotEmpty,
    Producer,
    Protobuf,
    Refused,
    SerializationError,
    TopicExists,
    TopicPartition,
    UnknownGroup,
    UnknownTopic,
    create_message_streams,
    partition_for_key,
)

WAIT_S = 30.0


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(bootstrap) as client:
        yield client


def read_all(bootstrap: str, *topics: str, **options: Any) -> list[Any]:
    with Consumer(*topics, bootstrap=bootstrap, follow=False, **options) as consumer:
        return list(consumer)


def values(bootstrap: str, topic: str, **options: Any) -> list[Any]:
    return [message.value for message in read_all(bootstrap, topic, **options)]


def eventually(condition: Callable[[], bool]) -> bool:
    """Kafka says yes to a change before all its parts know."""
    deadline = time.monotonic() + WAIT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def fill(bootstrap: str, topic: str, count: int, partition: int | None = None) -> None:
    with Producer(bootstrap) as producer:
        producer.send_many(topic, (b"%d" % number for number in range(count)), partition=partition)


# --- producing --------------------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_went(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap) as producer:
        headers = [("a", b"1"), ("b", None), ("a", b"2")]
        delivery = producer.send(topic, b"value", key=b"key", headers=headers, timestamp_ms=1_700_000_000_000)
        record = delivery.result(timeout=WAIT_S)
    assert (record.topic, record.partition, record.offset, record.timestamp_ms) == (topic, 0, 0, 1_700_000_000_000)
    (message,) = read_all(bootstrap, topic)
    assert message == (topic, 0, 0, 1_700_000_000_000, b"key", b"value", tuple(headers))
    assert message.time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_keys_go_where_murmur2_says(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(topic, partitions=5)
    keys = [b"", b"a", *(f"user-{number}".encode() for number in range(50))]
    with Producer(bootstrap) as producer:
        for key in keys:
            producer.send(topic, b"v", key=key)
    messages = read_all(bootstrap, topic)
    assert sorted(message.key for message in messages) == sorted(keys)
    assert all(message.partition == partition_for_key(message.key, 5) for message in messages)


@pytest.mark.parametrize(
    ("partitioner", "expected"),
    [("round_robin", {0: 10, 1: 10, 2: 10}), (lambda key, value, count: value["to"] % count, {0: 20, 1: 10})],
)
def test_other_partitioners(
    bootstrap: str, admin: Admin, topic: str, partitioner: Any, expected: dict[int, int]
) -> None:
    admin.create_topic(topic, partitions=3)
    with Producer(bootstrap, partitioner=partitioner, value_serializer="json") as producer:
        for number in range(30):
            producer.send(topic, {"to": 3 if number < 20 else 1}, key="same")
    assert Counter(message.partition for message in read_all(bootstrap, topic)) == expected


def test_sticky_fills_one_partition_at_a_time(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(topic, partitions=3)
    with Producer(bootstrap, partitioner="sticky", linger_ms=10_000) as producer:
        for number in range(20):
            producer.send(topic, b"v", key=f"{number}")
        producer.flush()
    assert len({message.partition for message in read_all(bootstrap, topic)}) == 1


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compression(bootstrap: str, topic: str, compression: Any) -> None:
    with Producer(bootstrap, compression=compression) as producer:
        sent = [b"%d" % number * 20 for number in range(200)]
        assert producer.send_many(topic, sent).result(WAIT_S) == 200
    assert values(bootstrap, topic) == sent


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(bootstrap: str, admin: Admin, topic: str, acks: Any) -> None:
    admin.create_topic(topic)
    with Producer(bootstrap, acks=acks) as producer:
        record = producer.send(topic, b"v").result(WAIT_S)
    assert record.offset == (-1 if acks == 0 else 0)
    deadline = time.monotonic() + WAIT_S
    while not values(bootstrap, topic) and time.monotonic() < deadline:
        time.sleep(0.05)  # acks=0: nobody said that it has arrived
    assert values(bootstrap, topic) == [b"v"]


def test_a_full_queue_makes_send_wait(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, queue_buffering_max_messages=100, linger_ms=1) as producer:
        deliveries = [producer.send(topic, b"%d" % number) for number in range(2_000)]
        producer.flush()
        assert [delivery.result().offset for delivery in deliveries] == list(range(2_000))
    assert values(bootstrap, topic) == [b"%d" % number for number in range(2_000)]


def test_callbacks_are_told(bootstrap: str, topic: str) -> None:
    told: list[Any] = []
    with Producer(
        bootstrap, on_delivery=lambda error, record: told.append((error, record and record.offset))
    ) as producer:
        producer.send(topic, b"a")
        producer.send(topic, b"b", on_delivery=lambda error, record: told.append(("own", record and record.offset)))
        producer.flush()
    assert told == [(None, 0), ("own", 1)]


def test_what_a_callback_raises_reaches_the_program(bootstrap: str, topic: str) -> None:
    producer = Producer(bootstrap)
    producer.send(topic, b"a", on_delivery=lambda error, record: dict[str, None]()["missing"])
    with pytest.raises(KeyError, match="missing"):
        producer.flush()
    producer.close()


def test_result_does_not_wait_for_the_linger(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, linger_ms=20_000) as producer:
        before = time.monotonic()
        producer.send(topic, b"now").result(WAIT_S)
        assert time.monotonic() - before < 10


def test_an_awaited_send_does_not_wait_for_the_linger(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with AsyncProducer(bootstrap, linger_ms=20_000) as producer:
            before = time.monotonic()
            await producer.send(topic, b"now")
            await asyncio.gather(*(producer.send(topic, b"together") for _ in range(50)))
            await producer.send_many(topic, [b"many"] * 50)
            assert time.monotonic() - before < 10

    asyncio.run(story())
    assert len(values(bootstrap, topic)) == 101


def test_failures_are_not_lost(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(topic, configs={"max.message.bytes": 1_000})
    producer = Producer(bootstrap)
    with pytest.raises(DeliveryFailed, match=f"barnabas config set topic {topic} max.message.bytes="):
        producer.send(topic, b"x" * 5_000).result(WAIT_S)
    producer.flush()  # that one was seen
    producer.send(topic, b"fits").result(WAIT_S)
    producer.send(topic, b"x" * 5_000)
    with pytest.raises(DeliveryFailed) as caught:
        producer.flush()
    assert caught.value.failures == 1
    with pytest.raises(DeliveryFailed), Producer(bootstrap) as other:
        other.send_many(topic, [b"x" * 5_000])
    producer.close()
    assert values(bootstrap, topic) == [b"fits"]


def test_what_cannot_be_sent_is_refused_at_once(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap) as producer:
        with pytest.raises(SerializationError, match=r'value of type dict needs a serializer.*value_serializer="json"'):
            producer.send(topic, {"a": 1})
        with pytest.raises(SerializationError, match="key of type int"):
            producer.send(topic, b"v", key=7)
        with pytest.raises(Refused, match=r"20,000,000 bytes .* at most 1,000,000 .*max.message.bytes="):
            producer.send(topic, b"x" * 20_000_000)
    with pytest.raises(Closed):
        producer.send(topic, b"v")


def test_one_producer_serves_many_threads(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap) as producer:

        def work(name: str) -> None:
            for number in range(200):
                producer.send(topic, f"{name}{number}")
            producer.send(topic, f"{name}200").result(WAIT_S)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
    found = values(bootstrap, topic, value_deserializer="string")
    assert len(found) == 804
    for name in "abcd":
        assert [value for value in found if value[0] == name] == [f"{name}{number}" for number in range(201)]


def test_a_program_that_just_ends_loses_nothing(bootstrap: str, topic: str) -> None:
    code = f"from barnabas import Producer; Producer({bootstrap!r}).send({topic!r}, 'last words')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert values(bootstrap, topic) == [b"last words"]


# --- reading without a group ------------------------------------------------------------------------------------------


def test_reading_starts_at_the_beginning_and_follows(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3)
    with Consumer(topic, bootstrap=bootstrap, timeout=WAIT_S) as consumer, Producer(bootstrap) as producer:
        assert [next(consumer).value for _ in range(3)] == [b"0", b"1", b"2"]
        producer.send(topic, b"later").result(WAIT_S)
        assert next(consumer).value == b"later"
        with pytest.raises(BarnabasError, match="commit needs a group"):
            consumer.commit()


def test_a_reader_may_come_before_the_writer(bootstrap: str, topic: str) -> None:
    with Consumer(topic, bootstrap=bootstrap, timeout=WAIT_S) as consumer:
        fill(bootstrap, topic, 1)
        assert next(consumer).value == b"0"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_may_come_before_the_writer(bootstrap: str, topic: str, group: str, protocol: Any) -> None:
    """It joins with the topic, and does not wait for its next look at the metadata."""
    with Consumer(topic, bootstrap=bootstrap, group=group, protocol=protocol, timeout=WAIT_S) as consumer:
        assert consumer.lag() == {TopicPartition(topic, 0): 0}
        fill(bootstrap, topic, 1)
        assert next(consumer).value == b"0"


@pytest.mark.parametrize(
    ("start", "expected"), [("earliest", [0, 1, 2, 3, 4]), (3, [3, 4]), (-2, [3, 4]), ("latest", []), (100, [])]
)
def test_start(bootstrap: str, topic: str, start: Any, expected: list[int]) -> None:
    fill(bootstrap, topic, 5)
    assert [message.offset for message in read_all(bootstrap, topic, start=start)] == expected


def test_an_offset_past_the_end_is_the_end(bootstrap: str, topic: str, group: str) -> None:
    """librdkafka would begin at the beginning: everything again."""
    fill(bootstrap, topic, 3)
    assert read_all(bootstrap, topic, start=100, group=group) == []
    with Consumer(topic, bootstrap=bootstrap, timeout=WAIT_S) as consumer:
        assert next(consumer).offset == 0
        consumer.seek(offset=100)
        fill(bootstrap, topic, 1)
        assert next(consumer).offset == 3


def test_latest_is_the_end_at_that_moment(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3)
    with Consumer(topic, bootstrap=bootstrap, start="latest", timeout=WAIT_S) as consumer:
        fill(bootstrap, topic, 1)
        assert next(consumer).offset == 3
        fill(bootstrap, topic, 2)
        consumer.seek("end")
        fill(bootstrap, topic, 1)
        assert next(consumer).offset == 6


def test_start_and_seek_by_time(bootstrap: str, topic: str) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    with Producer(bootstrap) as producer:
        for minute in range(5):
            stamp = int((noon + timedelta(minutes=minute)).timestamp() * 1000)
            producer.send(topic, b"%d" % minute, timestamp_ms=stamp)
    assert values(bootstrap, topic, start=noon + timedelta(minutes=3)) == [b"3", b"4"]
    with Consumer(topic, bootstrap=bootstrap, timeout=1) as consumer:
        consumer.seek(time=noon + timedelta(seconds=90))
        assert next(consumer).value == b"2"
        consumer.seek(time=noon + timedelta(days=1))
        assert list(consumer) == []


def test_seek_and_positions(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(topic, partitions=2)
    for partition in range(2):
        fill(bootstrap, topic, 10, partition)
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with Consumer(topic, bootstrap=bootstrap, follow=False) as consumer:
        assert consumer.assignment() == [zero, one]
        assert consumer.positions() == {zero: 0, one: 0}
        assert len(list(consumer)) == 20
        assert consumer.positions() == {zero: 10, one: 10}
        consumer.seek("beginning")
        assert len(list(consumer)) == 20
        consumer.seek(offset=8, partition=1)
        assert [message.offset for message in consumer] == [8, 9]
        consumer.seek(-3)
        assert consumer.lag() == {zero: 3, one: 3} or len(list(consumer)) == 6
        consumer.seek("end")
        assert list(consumer) == []
        consumer.seek(4, partition=0)
        first = next(consumer)
        assert first.offset == 4
        assert consumer.positions()[zero] == 5, "what is fetched but not handed out does not count"
        assert consumer.lag()[zero] == 5
        with pytest.raises(BarnabasError, match="no partition of mine"):
            consumer.seek("end", partition=7)
        with pytest.raises(BarnabasError, match="give one place"):
            consumer.seek("end", offset=3)


def test_partitions_that_are_added_later(
    bootstrap: str, admin: Admin, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(barnabas.client.consumer.membership, "RESCAN_S", 0.2)
    admin.create_topic(topic, partitions=1)
    with Consumer(topic, bootstrap=bootstrap, start="latest", timeout=WAIT_S) as consumer:
        assert consumer.poll(0.1) is None
        admin.grow_topic(topic, 3)
        with Producer(bootstrap) as producer:
            producer.send(topic, b"new", partition=2).result(WAIT_S)
        assert next(consumer).partition == 2
        assert len(consumer.assignment()) == 3


def test_a_pattern(bootstrap: str, topic: str, group: str) -> None:
    for suffix in ("a", "b"):
        fill(bootstrap, f"{topic}.{suffix}", 2)
    fill(bootstrap, f"other-{topic}", 2)
    expected = {f"{topic}.a": 2, f"{topic}.b": 2}
    pattern = f"{topic}[.].*"
    assert Counter(each.topic for each in read_all(bootstrap, pattern=pattern)) == expected
    assert Counter(each.topic for each in read_all(bootstrap, f"^{pattern}")) == expected
    with Consumer(pattern=pattern, bootstrap=bootstrap, group=group, max_records=4, timeout=WAIT_S) as consumer:
        assert Counter(each.topic for each in consumer) == expected


def test_only_some_partitions(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(topic, partitions=3)
    for partition in range(3):
        fill(bootstrap, topic, 2, partition)
    assert {each.partition for each in read_all(bootstrap, topic, partitions=[0, 2])} == {0, 2}
    with pytest.raises(UnknownTopic, match="no partition 9"):
        read_all(bootstrap, topic, partitions=[9])


def test_a_loop_ends_when_it_is_told_to(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 10)
    with Consumer(topic, bootstrap=bootstrap, max_records=4) as consumer:
        assert [each.offset for each in consumer] == [0, 1, 2, 3]
        assert [each.offset for each in consumer] == [4, 5, 6, 7]
    with Consumer(topic, bootstrap=bootstrap) as consumer:
        for message in consumer:
            if message.offset == 9:
                threading.Timer(0.3, consumer.stop).start()
    with pytest.raises(Closed):
        consumer.poll()


def test_ctrl_c_ends_a_loop_that_waits(bootstrap: str, topic: str) -> None:
    code = (
        f"from barnabas import Consumer\nfor message in Consumer({topic!r}, bootstrap={bootstrap!r}):\n"
        "    print(message.value, flush=True)\n"
    )
    fill(bootstrap, topic, 1)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"b'0'\n"
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT_S)
    assert time.monotonic() - before < 5
    assert b"KeyboardInterrupt" in errors and process.returncode != 0


# --- reading with a group ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_auto_commits_what_is_finished(bootstrap: str, topic: str, group: str, protocol: Any) -> None:
    fill(bootstrap, topic, 10)
    options: Any = {"bootstrap": bootstrap, "group": group, "protocol": protocol, "timeout": WAIT_S}
    with Consumer(topic, max_records=4, **options) as consumer:
        assert [each.offset for each in consumer] == [0, 1, 2, 3]
    with contextlib.suppress(ZeroDivisionError), Consumer(topic, **options) as consumer:
        for message in consumer:
            if message.offset == 6:
                raise ZeroDivisionError  # the handler failed: 6 is not finished
    with Consumer(topic, **options) as consumer:
        assert next(consumer).offset == 6
        assert next(consumer).offset == 7
        # the block ends well: 7 is finished too
    with Consumer(topic, **options) as consumer:
        assert next(consumer).offset == 8


def test_commit_by_hand(bootstrap: str, topic: str, group: str) -> None:
    fill(bootstrap, topic, 10)
    options: Any = {"bootstrap": bootstrap, "group": group, "commit": "manual", "timeout": WAIT_S}
    place = TopicPartition(topic, 0)
    with Consumer(topic, **options) as consumer:
        messages = [next(consumer) for _ in range(5)]
        assert consumer.committed() == {place: None}
        consumer.commit(messages[1])
        assert consumer.committed() == {place: 2}
        consumer.commit()
        assert consumer.committed() == {place: 5}
        next(consumer)
    with Consumer(topic, **options) as consumer:
        assert next(consumer).offset == 5


def test_commit_before_is_at_most_once(bootstrap: str, topic: str, group: str) -> None:
    fill(bootstrap, topic, 5)
    options: Any = {"bootstrap": bootstrap, "group": group, "commit": "before", "timeout": WAIT_S}
    with contextlib.suppress(ZeroDivisionError), Consumer(topic, **options) as consumer:
        for message in consumer:
            assert consumer.committed() == {TopicPartition(topic, 0): message.offset + 1}
            if message.offset == 2:
                raise ZeroDivisionError
    with Consumer(topic, **options) as consumer:
        assert next(consumer).offset == 3, "2 failed and is not handed out again"


@pytest.mark.parametrize(("start", "expected"), [("earliest", 0), ("committed", 0), (2, 2)])
def test_start_is_for_those_without_a_place(bootstrap: str, topic: str, group: str, start: Any, expected: int) -> None:
    fill(bootstrap, topic, 5)
    for first in (expected, expected + 1):
        with Consumer(topic, bootstrap=bootstrap, group=group, start=start, timeout=WAIT_S) as consumer:
            assert next(consumer).offset == first


def test_start_latest_with_a_group(bootstrap: str, topic: str, group: str) -> None:
    fill(bootstrap, topic, 5)
    with Consumer(topic, bootstrap=bootstrap, group=group, start="latest", timeout=WAIT_S) as consumer:
        consumer.seek("end")
        fill(bootstrap, topic, 1)
        assert next(consumer).offset == 5


def test_a_group_member_may_seek_before_its_first_message(bootstrap: str, topic: str, group: str) -> None:
    fill(bootstrap, topic, 5)
    with Consumer(topic, bootstrap=bootstrap, group=group, timeout=WAIT_S) as consumer:
        consumer.seek(3)
        assert next(consumer).offset == 3


def test_members_share_and_groups_each_get_all(bootstrap: str, admin: Admin, topic: str, group: str) -> None:
    admin.create_topic(topic, partitions=4)
    changes: list[tuple[str, int]] = []
    options: Any = {"bootstrap": bootstrap, "group": group, "timeout": WAIT_S}
    with Consumer(topic, on_assign=lambda parts: changes.append(("+", len(parts))), **options) as one:
        one.seek("beginning")
        assert changes == [("+", 4)] and len(one.assignment()) == 4
        with Consumer(topic, **options) as two:
            deadline = time.monotonic() + WAIT_S
            while (len(one.assignment()), len(two.assignment())) != (2, 2) and time.monotonic() < deadline:
                one.poll(0.1)
                two.poll(0.1)
            assert sorted(one.assignment() + two.assignment()) == [TopicPartition(topic, part) for part in range(4)]
            for partition in range(4):
                fill(bootstrap, topic, 5, partition)
            got: Counter[tuple[str, int]] = Counter()
            while sum(got.values()) < 20 and time.monotonic() < deadline:
                for name, consumer in (("one", one), ("two", two)):
                    if (message := consumer.poll(0.1)) is not None:
                        got[name, message.partition] += 1
            assert sum(got.values()) == 20 and len(got) == 4, got
    with Consumer(topic, bootstrap=bootstrap, group=f"{group}-2", max_records=20, timeout=WAIT_S) as other:
        assert len(list(other)) == 20


def test_a_rebalance_repeats_nothing(bootstrap: str, admin: Admin, topic: str, group: str) -> None:
    """Members come and go while records flow; closed cleanly, each record is handed out once."""
    admin.create_topic(topic, partitions=4)
    for partition in range(4):
        fill(bootstrap, topic, 100, partition)
    seen: Counter[tuple[int, int]] = Counter()
    lock = threading.Lock()

    def work(limit: int | None) -> None:
        with Consumer(topic, bootstrap=bootstrap, group=group, timeout=4, max_records=limit) as consumer:
            for message in consumer:
                with lock:
                    seen[message.partition, message.offset] += 1
                time.sleep(0.002)

    threads = [threading.Thread(target=work, args=(limit,)) for limit in (None, 60, 60)]
    for thread in threads:
        thread.start()
        time.sleep(0.3)
    for thread in threads:
        thread.join(60)
    assert len(seen) == 400
    assert set(seen.values()) == {1}


def test_streams_share_a_topic_evenly(bootstrap: str, admin: Admin, topic: str, group: str) -> None:
    admin.create_topic(topic, partitions=8)
    for partition in range(8):
        fill(bootstrap, topic, 25, partition)
    with create_message_streams(topic, 4, group=group, bootstrap=bootstrap, timeout=4) as streams:
        assert len(streams) == 4
        ready = threading.Barrier(4)
        got: list[list[tuple[int, int]]] = [[] for _ in range(4)]
        owned: list[int] = [0] * 4

        def work(number: int) -> None:
            stream = streams[number]
            deadline = time.monotonic() + WAIT_S
            held = []
            while len(stream.assignment()) != 2 and time.monotonic() < deadline:
                message = stream.poll(0.1)
                held += [message] if message is not None else []
            owned[number] = len(stream.assignment())
            ready.wait(WAIT_S)
            got[number] = [(each.partition, each.offset) for each in (*held, *stream)]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert owned == [2, 2, 2, 2]
        assert len({place for each in got for place in each}) == 200


def test_streams_need_sense(bootstrap: str) -> None:
    with pytest.raises(BadSetting):
        create_message_streams("t", 0, group="g", bootstrap=bootstrap)
    with pytest.raises(BadSetting):
        create_message_streams("t", 2, group="", bootstrap=bootstrap)


# --- serializers and bad records --------------------------------------------------------------------------------------


def test_serializers_in_and_out(bootstrap: str, topic: str) -> None:
    avro = Avro({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})
    kinds: list[tuple[Any, Any]] = [
        ("string", "grüße"),
        ("json", {"a": [1, None]}),
        (avro, {"id": 7}),
        (Protobuf(StringValue), StringValue(value="x")),
    ]
    for number, (serializer, value) in enumerate(kinds):
        name = f"{topic}-{number}"
        with Producer(bootstrap, key_serializer="string", value_serializer=serializer) as producer:
            producer.send(name, value, key="k")
            producer.send(name, None, key="k")
        messages = read_all(bootstrap, name, key_deserializer="string", value_deserializer=serializer)
        assert [(each.key, each.value) for each in messages] == [("k", value), ("k", None)]


def test_a_bad_record(bootstrap: str, topic: str, group: str) -> None:
    with Producer(bootstrap) as producer:
        producer.send_many(topic, [b"1", b"{", b"3"])
    options: Any = {"value_deserializer": "json"}
    with Consumer(topic, bootstrap=bootstrap, group=group, timeout=WAIT_S, **options) as consumer:
        assert next(consumer).value == 1
        with pytest.raises(DeserializationError, match=f"{topic}-0 at offset 1: the value is not readable"):
            next(consumer)
        assert next(consumer).value == 3, "whoever goes on has dealt with it"
    assert values(bootstrap, topic, on_error="skip", **options) == [1, 3]
    kept: list[DeserializationError] = []
    assert values(bootstrap, topic, on_error=kept.append, **options) == [1, 3]
    assert [(each.offset, each.data) for each in kept] == [(1, b"{")]


# --- asyncio ----------------------------------------------------------------------------------------------------------


def test_async_twins(bootstrap: str, topic: str, group: str) -> None:
    async def story() -> None:
        async with AsyncProducer(bootstrap, value_serializer="json") as producer:
            record = await producer.send(topic, {"n": 0})
            assert (record.partition, record.offset) == (0, 0)
            records = await asyncio.gather(*(producer.send(topic, {"n": number}) for number in range(1, 500)))
            assert sorted(each.offset for each in records) == list(range(1, 500))
            await producer.enqueue(topic, {"n": 500})
            assert [each.offset for each in await producer.send_many(topic, [{"n": 501}, {"n": 502}])] == [501, 502]
        with pytest.raises(Closed):
            await producer.send(topic, {})
        assigned: list[Any] = []

        async def on_assign(partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(0)
            assigned.extend(partitions)

        options: Any = {"bootstrap": bootstrap, "group": group, "value_deserializer": "json", "timeout": WAIT_S}
        async with AsyncConsumer(topic, max_records=500, on_assign=on_assign, **options) as consumer:
            numbers = [message.value["n"] async for message in consumer]
            assert len(set(numbers)) == 500 and assigned == [TopicPartition(topic, 0)]
        async with AsyncConsumer(topic, commit="manual", **options) as consumer:
            assert (await anext(consumer)).offset == 500
            await consumer.commit()
            assert await consumer.committed() == {TopicPartition(topic, 0): 501}
            assert await consumer.positions() == {TopicPartition(topic, 0): 501}
            assert await consumer.lag() == {TopicPartition(topic, 0): 2}
            await consumer.seek("beginning")
            message = await consumer.poll(WAIT_S)
            assert message is not None and message.offset == 0

    asyncio.run(story())


def test_the_loop_is_never_blocked_and_cancelling_loses_nothing(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3)

    async def story() -> None:
        longest = 0.0

        async def heartbeat() -> None:
            nonlocal longest
            while True:
                before = time.monotonic()
                await asyncio.sleep(0.005)
                longest = max(longest, time.monotonic() - before)

        beating = asyncio.create_task(heartbeat())
        async with AsyncConsumer(topic, bootstrap=bootstrap) as consumer, AsyncProducer(bootstrap) as producer:
            offsets = []
            for number in range(10):
                try:
                    offsets.append((await asyncio.wait_for(anext(consumer), 0.1)).offset)
                except TimeoutError:
                    await producer.send(topic, b"%d" % number)
            while len(offsets) < 3:
                offsets.append((await asyncio.wait_for(anext(consumer), WAIT_S)).offset)
            for _ in range(20):
                with contextlib.suppress(TimeoutError):
                    offsets.append((await asyncio.wait_for(anext(consumer), 0.1)).offset)
            end = (await consumer.positions())[TopicPartition(topic, 0)]
        beating.cancel()
        assert offsets == list(range(end)) and end >= 3
        assert longest < 0.15, f"the loop stood still for {longest:.3f} s"

    asyncio.run(story())


def test_async_failures(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(topic, configs={"max.message.bytes": 1_000})

    async def story() -> None:
        producer = AsyncProducer(bootstrap)
        with pytest.raises(DeliveryFailed):
            await producer.send(topic, b"x" * 5_000)
        await producer.flush()
        await producer.enqueue(topic, b"x" * 5_000)
        with pytest.raises(DeliveryFailed):
            await producer.flush()
        await producer.close()

    asyncio.run(story())


# --- the admin --------------------------------------------------------------------------------------------------------


def test_topics(bootstrap: str, admin: Admin, topic: str) -> None:
    admin.create_topic(
        topic, partitions=2, replication=1, configs={"retention.ms": 60_000, "cleanup.policy": ["delete"]}
    )
    with pytest.raises(TopicExists, match=topic):
        admin.create_topic(topic)
    fill(bootstrap, topic, 3, partition=1)
    (info,) = (each for each in admin.topics() if each.name == topic)
    assert (info.partitions, info.replication, info.internal) == (2, 1, False)
    found = admin.describe_topic(topic)
    assert found.id == info.id and len(found.id) == 22
    assert [(each.start_offset, each.end_offset) for each in found.partitions] == [(0, 0), (0, 3)]
    assert found.partitions[0].leader in found.partitions[0].isr
    assert (found.configs["retention.ms"].value, found.configs["retention.ms"].source) == ("60000", "topic")
    admin.grow_topic(topic, 5)
    assert len(admin.describe_topic(topic).partitions) == 5
    with pytest.raises(BarnabasError):
        admin.grow_topic(topic, 1)
    assert admin.delete_records(topic, {1: 2}) == {1: 2}
    assert admin.delete_records(topic, "end")[1] == 3
    admin.delete_topic(topic)
    assert eventually(lambda: topic not in [each.name for each in admin.topics()])
    with pytest.raises(UnknownTopic, match=topic):
        admin.delete_topic(topic)
    with pytest.raises(UnknownTopic):
        admin.describe_topic(topic)


def test_settings(admin: Admin, topic: str) -> None:
    def is_now(name: str, value: str | None, source: str | None = None) -> bool:
        found = admin.configs("topic", topic)[name]
        return (value is None or found.value == value) and (source is None or found.source == source)

    admin.create_topic(topic)
    assert admin.configs("topic", topic)["cleanup.policy"].is_default
    admin.alter_configs("topic", topic, set={"retention.ms": 1_000}, append={"cleanup.policy": "compact"})
    assert eventually(lambda: is_now("retention.ms", "1000", "topic"))
    assert eventually(lambda: is_now("cleanup.policy", "delete,compact"))
    assert admin.configs("topic", topic)["cleanup.policy"].default == "delete"
    admin.alter_configs("topic", topic, delete=["retention.ms"], subtract={"cleanup.policy": "delete"})
    assert eventually(lambda: is_now("cleanup.policy", "compact"))
    assert not is_now("retention.ms", None, "topic")
    with pytest.raises(BadSetting):
        admin.alter_configs("topic", topic, set={"retention.ms": "soon"})
    with pytest.raises(BadSetting):
        admin.alter_configs("topic", topic)
    node = admin.cluster().nodes[0]
    assert admin.configs("broker", node.id)["num.partitions"].value
    with pytest.raises(BadSetting, match="no such broker"):
        admin.configs("broker", 4711)


def test_groups_lag_in_records_and_seconds(bootstrap: str, admin: Admin, topic: str, group: str) -> None:
    hour_ago = int((time.time() - 3_600) * 1000)
    with Producer(bootstrap) as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number, timestamp_ms=hour_ago + number * 60_000)
    with pytest.raises(UnknownGroup):
        admin.describe_group(group)
    with Consumer(topic, bootstrap=bootstrap, group=group, timeout=WAIT_S) as consumer:
        assert [next(consumer).offset, next(consumer).offset] == [0, 1]
        members = admin.describe_group(group).members
        assert [each.partitions for each in members] == [[(topic, 0)]]
        with pytest.raises(GroupNotEmpty):
            admin.delete_group(group)
        with pytest.raises(GroupNotEmpty):
            admin.reset_group(group, topic, "earliest")
    found = admin.describe_group(group)
    assert (found.state, found.members, found.lag_records) == ("Empty", [], 3)
    assert found.lag_seconds is not None and 3_470 < found.lag_seconds < 3_600, "the third record: 58 minutes old"
    assert group in [each.name for each in admin.groups()]
    (plan,) = admin.reset_group(group, topic, "latest", dry_run=True)
    assert (plan.before, plan.after) == (2, 5)
    assert admin.describe_group(group).lag_records == 3
    targets: list[tuple[Any, int]] = [("earliest", 0), (4, 4), ("-1", 3), ("+1", 4), (99, 5)]
    for target, offset in [*targets, (timedelta(seconds=3_450), 3), (99, 5)]:
        assert admin.reset_group(group, topic, target)[0].after == offset
    done = admin.describe_group(group)
    assert (done.lag_records, done.lag_seconds) == (0, 0.0)
    admin.delete_group(group)
    with pytest.raises(UnknownGroup):
        admin.delete_group(group)


def test_cluster(bootstrap: str, admin: Admin) -> None:
    info = admin.cluster()
    assert info.cluster_id and f"{info.nodes[0].host}:{info.nodes[0].port}" == bootstrap


def test_something_else_answers(capfd: pytest.CaptureFixture[str]) -> None:
    """An open port behind which nobody speaks Kafka."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CannotReach, match="nothing there answers as a Kafka cluster"):
            Producer(address, connect_timeout=1)
    assert capfd.readouterr().err == ""


def test_an_outage_is_bounded_and_told(bootstrap: str, topic: str) -> None:
    """Connected once, gone later: here by an address that is dead from the start and a check that is skipped."""
    producer = Producer("127.0.0.1:1", connect_timeout=None, delivery_timeout=1)
    with pytest.raises(DeliveryFailed, match=r"no answer in time.*refused"):
        producer.send(topic, b"v").result(WAIT_S)
    producer.close()


if __name__ == "__main__":
    os.environ.setdefault("BARNABAS_TEST_BOOTSTRAP", "127.0.0.1:9092")
    raise SystemExit(pytest.main([__file__]))
