"""The source against a real Apache Kafka: the same rows, with a login too, without Spark in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Admin, Producer
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.cluster import Cluster
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.options import SourceOptions, parse_options
from barnabas.pipelines.source.planning import Range
from barnabas.pipelines.source.rdkafka import read_by_librdkafka
from barnabas.pipelines.source.reading import read_records
from tests.support.process import free_port
from tests.support.servers import KafkaNode

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A broker with two doors: plain, and one that wants a user and password."""
    port, guarded, controller = free_port(), free_port(), free_port()
    doors = f"PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{guarded}"
    protocols = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"
    settings = {
        "listeners": f"{doors},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"{doors},CONTROLLER://127.0.0.1:{controller}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "listener.security.protocol.map": protocols,
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{JAAS} user_ada="secret";',
    }
    node = KafkaNode(tmp_path_factory.mktemp("kafka"), settings)
    node.port = port
    try:
        node.start()
        yield f"127.0.0.1:{port}", f"127.0.0.1:{guarded}"
    finally:
        node.stop()


@pytest.fixture(scope="module")
def topic(kafka: tuple[str, str]) -> str:
    """Compressed and plain batches, headers, nulls, and transactions of which one was taken back."""
    plain, _ = kafka
    with Admin(plain) as admin:
        admin.create_topic("mixed", partitions=1)
    with Producer(plain, compression="zstd", linger_ms=50) as producer:
        for number in range(500):
            headers = [("n", b"%d" % number)] if number % 3 == 0 else None
            key = None if number % 2 else f"k{number}"
            producer.send("mixed", f"v{number}" if number % 5 else None, key, headers)
    with Producer(plain, transactional_id="tx") as producer:
        for kind in ("kept", "dropped", "kept"):
            try:
                with producer.transaction():
                    for number in range(100):
                        producer.send("mixed", f"{kind}{number}")
                    producer.flush()
                    if kind == "dropped":
                        raise InterruptedError
            except InterruptedError:
                pass
    return "mixed"


def options_of(bootstrap: str, **more: str) -> SourceOptions:
    named = {name.replace("__", "."): value for name, value in more.items()}
    return parse_options({"kafka.bootstrap.servers": bootstrap, "subscribe": "mixed", **named}, streaming=False)


def rows_of(options: SourceOptions, split: Range) -> list[tuple[Any, ...]]:
    return [row for records in read_records(split, options) for row in plain_rows(records)]


def by_librdkafka(options: SourceOptions, split: Range) -> list[tuple[Any, ...]]:
    return [row for records in read_by_librdkafka(split, options) for row in plain_rows(records)]


def plain_rows(records: Records) -> list[tuple[Any, ...]]:
    columns = (records.offsets.tolist(), records.timestamps.tolist(), records.keys(), records.values())
    return list(zip(*(list(map(_plain, column)) for column in columns), strict=True))


def _plain(value: Any) -> Any:
    return value.as_py() if hasattr(value, "as_py") else value


def ends(options: SourceOptions) -> dict[tuple[str, int], int]:
    cluster = Cluster(options)
    try:
        return cluster.latest(cluster.partitions())
    finally:
        cluster.close()


def test_a_real_kafka_is_read_the_same_in_every_way(kafka: tuple[str, str], topic: str) -> None:
    plain, guarded = kafka
    direct = options_of(plain)
    login = options_of(
        guarded,
        kafka__security__protocol="SASL_PLAINTEXT",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__jaas__config=f'{JAAS} username="ada" password="secret";',
    )
    end = ends(direct)[topic, 0]
    assert ends(login) == {(topic, 0): end}
    whole = Range(topic, 0, 0, end)
    found = rows_of(direct, whole)
    assert len(found) == 700 and found == rows_of(login, whole) == by_librdkafka(login, whole)
    middle = Range(topic, 0, 123, 601)
    inside = [row for row in found if 123 <= row[0] < 601]
    assert rows_of(direct, middle) == rows_of(login, middle) == by_librdkafka(login, middle) == inside
    assert len(rows_of(options_of(plain, kafka__isolation__level="read_uncommitted"), whole)) == 800


def test_a_wrong_password_is_told_in_a_line(kafka: tuple[str, str], topic: str) -> None:
    wrong = options_of(
        kafka[1],
        kafka__security__protocol="SASL_PLAINTEXT",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__username="ada",
        kafka__sasl__password="guess",
    )
    with pytest.raises(PipelineError, match=r"(?i)authentication") as caught:
        ends(wrong)
    assert "\n" not in str(caught.value)
    with pytest.raises(PipelineError, match=r"the login failed: Authentication failed"):
        rows_of(wrong, Range(topic, 0, 0, 1))
