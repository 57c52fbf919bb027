"""`barnabas.copy` against a real server: each input once in the output, whatever fails and whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import barnabas
from barnabas import BadSetting, Consumer, DeserializationError, Message, Output, Producer
from tests.clients.test_python_transactions import WAIT_S, fill, reading, values


def same(message: Message) -> bytes:
    return bytes(message.value)


def test_copy_is_the_input_once(bootstrap: str, topic: str) -> None:
    records = fill(bootstrap, topic, 2_000, partitions=3)
    with Producer(bootstrap, transactional_id=topic) as producer, reading(bootstrap, topic) as consumer:
        done = barnabas.copy(consumer, producer, same, to=f"{topic}-out", batch=300)
    assert (done.records_in, done.records_out, done.aborted) == (2_000, 2_000, 0)
    assert 7 <= done.transactions <= 20
    assert sorted(values(bootstrap, f"{topic}-out"), key=int) == records


def test_what_the_function_may_return(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 0)
    with Producer(bootstrap) as producer:
        for number in range(8):
            producer.send(topic, b"%d" % number, key="k", headers={"trace": b"7"}, timestamp_ms=1_000)

    def transform(message: Message) -> Any:
        match int(message.value):
            case 1:
                return b"value"
            case 2:
                return b"other", b"pair"
            case 3:
                return [b"first", ("key", b"second"), None]
            case 4:
                return Output(f"{topic}-out", value=b"output", headers={"mine": b"1"})
            case 5:
                return (b"%d" % number for number in range(2))
            case 6:
                return message
            case 7:
                return b"k", None
        return None

    with Producer(bootstrap, transactional_id=topic) as producer, reading(bootstrap, topic) as consumer:
        done = barnabas.copy(consumer, producer, transform, to=f"{topic}-out", max_records=8)
    assert (done.records_in, done.records_out) == (8, 9)
    with Consumer(f"{topic}-out", bootstrap=bootstrap, follow=False) as consumer:
        read = list(consumer)
    assert [(each.key, each.value) for each in read] == [
        (b"k", b"value"), (b"other", b"pair"), (b"k", b"first"), (b"key", b"second"), (None, b"output"),
        (b"k", b"0"), (b"k", b"1"), (b"k", b"6"), (b"k", None),
    ]  # fmt: skip
    assert all(each.timestamp_ms == 1_000 for each in read)
    assert [each.headers for each in read] == [(("trace", b"7"),)] * 4 + [(("mine", b"1"),)] + [(("trace", b"7"),)] * 4


def test_an_error_in_the_function_ends_the_copy_and_nothing_is_lost(bootstrap: str, topic: str) -> None:
    records = fill(bootstrap, topic, 100)
    calls = 0

    def stumbles(message: Message) -> bytes:
        nonlocal calls
        calls += 1
        if calls == 35:
            raise ZeroDivisionError("mine")
        return bytes(message.value)

    with Producer(bootstrap, transactional_id=topic) as producer, reading(bootstrap, topic) as consumer:
        with pytest.raises(ZeroDivisionError):
            barnabas.copy(consumer, producer, stumbles, to=f"{topic}-out", batch=10)
        assert values(bootstrap, f"{topic}-out") == records[:30]
        done = barnabas.copy(consumer, producer, stumbles, to=f"{topic}-out", batch=10, max_records=70)
        assert done.records_in == 70
    assert values(bootstrap, f"{topic}-out") == records


def test_a_message_that_cannot_be_read_ends_the_copy_where_it_is(bootstrap: str, topic: str) -> None:
    def decoded(message: Message) -> Any:
        return message.value

    fill(bootstrap, topic, 3)
    with Producer(bootstrap) as producer:
        producer.send(topic, b"{")
        producer.send(topic, b"4")
    with Producer(bootstrap, transactional_id=topic, value_serializer="json") as producer:
        with reading(bootstrap, topic, value_deserializer="json") as consumer:
            for _ in range(2):
                with pytest.raises(DeserializationError, match="at offset 3"):
                    barnabas.copy(consumer, producer, decoded, to=f"{topic}-out")
        with reading(bootstrap, topic, value_deserializer="json", on_error="skip") as consumer:
            barnabas.copy(consumer, producer, decoded, to=f"{topic}-out", max_records=1)
    assert values(bootstrap, f"{topic}-out") == [b"0", b"1", b"2", b"4"]


def test_copy_says_what_it_needs(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 1)
    plain, producer = Producer(bootstrap), Producer(bootstrap, transactional_id=topic)
    with reading(bootstrap, topic) as consumer:
        with pytest.raises(BadSetting, match="transactional_id="):
            barnabas.copy(consumer, plain, same, to="x")
        with pytest.raises(BadSetting, match="where to"):
            barnabas.copy(consumer, producer, same)
        with pytest.raises(BadSetting, match="3 things"):
            barnabas.copy(consumer, producer, lambda message: (1, 2, 3), to="x")
    with Consumer(topic, bootstrap=bootstrap) as consumer, pytest.raises(BadSetting, match='commit="manual"'):
        barnabas.copy(consumer, producer, same, to="x")
    producer.close()


def test_two_copies_share_the_work_and_members_come_and_go(bootstrap: str, topic: str) -> None:
    records = fill(bootstrap, topic, 6_000, partitions=4)
    failures: list[BaseException] = []

    def work(name: int, limit: int | None) -> None:
        try:
            with (
                reading(bootstrap, topic, max_records=limit) as consumer,
                Producer(bootstrap, transactional_id=f"{topic}-{name}") as producer,
            ):
                barnabas.copy(consumer, producer, same, to=f"{topic}-out", batch=50)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number, limit)) for number, limit in enumerate((None, 400, 700))]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    for thread in threads:
        thread.join(WAIT_S)
    assert not failures
    assert sorted(values(bootstrap, f"{topic}-out"), key=int) == records


COPY = """
import sys, barnabas
from barnabas import Consumer, Producer
topic, bootstrap = sys.argv[1:]
def told(message):
    print(flush=True)
    return message.value
consumer = Consumer(topic, group="g-" + topic, instance_id="me", commit="manual", bootstrap=bootstrap, timeout=2)
with consumer, Producer(bootstrap, transactional_id=topic) as producer:
    barnabas.copy(consumer, producer, told, to=topic + "-out", batch=20)
"""


def test_a_copy_that_is_killed_goes_on_in_another_process(bootstrap: str, topic: str) -> None:
    """SIGKILL at any moment, three times: in the middle of a batch, of a commit, wherever it is."""
    records = fill(bootstrap, topic, 1_500)
    for kill_after in (130, 333, 5, None):
        process = subprocess.Popen([sys.executable, "-c", COPY, topic, bootstrap], stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            if kill_after is None:
                process.stdout.read()
                assert process.wait(WAIT_S) == 0
            else:
                for _ in range(kill_after):
                    assert process.stdout.readline()
                os.kill(process.pid, signal.SIGKILL)
        finally:
            process.kill()
            process.wait(WAIT_S)
            process.stdout.close()
    assert values(bootstrap, f"{topic}-out") == records
