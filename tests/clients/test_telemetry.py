"""Clients push their own metrics (KIP-714): Java clients and librdkafka, told by Kafka's own tool what to push."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer
from prometheus_client.parser import text_string_to_metric_families

from barnabas.cli.main import main
from barnabas.testing import RunningNode, running_node
from barnabas.wire.compression import Codec, compress
from tests.support import java as tools
from tests.support.java import JavaTools
from tests.support.members import QUIET, until
from tests.support.otlp import GAUGE, metric, metrics_data, point
from tests.support.process import free_port
from tests.support.wire import API_VERSIONS, GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY, Closed, WireClient

pytestmark = pytest.mark.timeout(120)
OPENED = 4 << 20


METRICS = f"http://127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node({"metrics.listeners": METRICS}) as running:
        yield running


@pytest.fixture
def told(node: RunningNode, java: JavaTools) -> Callable[..., str]:
    """kafka-client-metrics.sh with these arguments."""

    def call(*arguments: str, code: int = 0) -> str:
        result = java.run(tools.CLIENT_METRICS, "--bootstrap-server", node.bootstrap, *arguments, check=False)
        assert result.code == code, f"{arguments}\n{result}"
        return result.out + ("" if code == 0 else result.err)

    return call


class Row(NamedTuple):
    name: str
    kind: str
    labels: tuple[tuple[str, str], ...]
    value: float


def shown(node: RunningNode) -> list[Row]:
    """What /metrics shows of clients, as Prometheus' own parser reads it."""
    with urllib.request.urlopen(f"{METRICS}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return [
        Row(sample.name, family.type, tuple(sample.labels.items()), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(("kafka_client_", "barnabas_telemetry_"))
    ]


def values(node: RunningNode, client_id: str) -> dict[str, float]:
    """The largest of each metric of a client."""
    found: dict[str, float] = {}
    for row in shown(node):
        if dict(row.labels).get("client_id") == client_id:
            found[row.name] = max(row.value, found.get(row.name, row.value))
    return found


def test_kafkas_tool(told: Callable[..., str]) -> None:
    assert told("--list").strip() == ""
    told("--alter", "--name", "first", "--metrics", "org.apache.kafka.producer.", "--interval", "10000")
    told("--alter", "--generate-name", "--metrics", "x.", "--match", "client_id=a.*,client_software_name=b")
    names = told("--list").split()
    assert len(names) == 2 and "first" in names
    described = told("--describe", "--name", "first")
    assert "interval.ms=10000" in described and "metrics=org.apache.kafka.producer." in described
    told("--alter", "--name", "first", "--interval", "20000")
    assert "interval.ms=20000" in told("--describe", "--name", "first")
    assert "client_id=a.*" in told("--describe")
    assert "between" in told("--alter", "--name", "first", "--interval", "5", code=1)
    assert "Illegal client matching pattern" in told("--alter", "--name", "first", "--match", "client_id=[", code=1)
    for name in names:
        told("--delete", "--name", name)
    assert told("--list").strip() == ""


def test_librdkafka_pushes(node: RunningNode, told: Callable[..., str]) -> None:
    told("--alter", "--name", "c", "--metrics", "*", "--interval", "200", "--match", "client_software_name=.*python.*")
    settings = {**QUIET, "bootstrap.servers": node.bootstrap, "enable.metrics.push": True}
    producer = Producer({**settings, "client.id": "rd-producer"})
    group = {"group.id": "rd", "auto.offset.reset": "earliest", "client.id": "rd-consumer"}
    consumer = Consumer({**settings, **group})
    try:
        consumer.subscribe(["rd"])

        def both_pushed() -> bool:
            producer.produce("rd", b"x")
            producer.poll(0)
            consumer.poll(0.05)
            return all(
                values(node, f"rd-{kind}").get(f"kafka_client_{kind}_connection_creation_total", 0) >= 1
                for kind in ("producer", "consumer")
            )

        until(both_pushed, "metrics of librdkafka")
        about = [dict(row.labels) for row in named(node, "barnabas_telemetry_client_info")]
        assert {each["client_id"]: each["software_name"] for each in about} == {
            "rd-producer": "confluent-kafka-python",
            "rd-consumer": "confluent-kafka-python",
        }
    finally:
        producer.flush(10)
        consumer.close()
        told("--delete", "--name", "c")


def test_java_pushes(node: RunningNode, told: Callable[..., str], java: JavaTools) -> None:
    """What was sent and received is what the clients say of it."""
    told("--alter", "--name", "j", "--metrics", "*", "--interval", "200", "--match", "client_software_name=.*java.*")
    arguments = ["--bootstrap-server", node.bootstrap, "--topic", "java"]
    java.run(tools.VERIFIABLE_PRODUCER, *arguments, "--max-messages", "500", "--throughput", "500")
    sent = "kafka_client_producer_topic_record_send_total"
    until(lambda: [row.value for row in named(node, sent)] == [500], "the producer's last push")
    (row,) = named(node, sent)
    assert row.kind == "counter" and dict(row.labels)["topic"] == "java"
    more = ["--from-beginning", "--group", "java-group", "--timeout-ms", "10000", "--max-messages", "500"]
    java.run(tools.CONSOLE_CONSUMER, *arguments, *more)
    (row,) = named(node, "kafka_client_consumer_fetch_manager_records_lead")  # how far behind the first record it is
    labels = dict(row.labels)
    assert (row.value, labels["group_id"], labels["topic"], labels["partition"]) == (500, "java-group", "java", "0")
    told("--delete", "--name", "j")


def pushed(client: WireClient, data: bytes, codec: int = 0, instance_id: bytes | None = None) -> int:
    """The error code of a first push of a new client."""
    instance_id = instance_id or os.urandom(16)
    found = client.call(GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": instance_id})
    body = {
        "client_instance_id": instance_id,
        "subscription_id": found["subscription_id"],
        "terminating": False,
        "compression_type": codec,
        "metrics": data,
    }
    return int(client.call(PUSH_TELEMETRY, 0, body)["error_code"])


def test_every_codec_and_what_cannot_be_read(node: RunningNode) -> None:
    plain = metrics_data([metric("org.apache.kafka.test.codec", GAUGE, [point(7, {"codec": "c"})])])
    with WireClient(node.bootstrap) as client:
        before = len(named(node, "kafka_client_test_codec"))
        for codec in Codec:
            assert pushed(client, compress(codec, plain), int(codec)) == 0, codec
        assert len(named(node, "kafka_client_test_codec")) == before + len(Codec)
        assert pushed(client, b"\xff" * 50) == 87, "INVALID_RECORD: no message"
        assert pushed(client, b"no frame", int(Codec.ZSTD)) == 87, "INVALID_RECORD: no zstd"
        bomb = compress(Codec.ZSTD, bytes(OPENED + 1))
        assert len(bomb) < 10_000
        assert pushed(client, bomb, int(Codec.ZSTD)) == 118, "TELEMETRY_TOO_LARGE once it is opened"
        assert pushed(client, bytes((1 << 20) + 1)) == 118
    (refused,) = named(node, "barnabas_telemetry_refused_pushes_total")
    assert refused.value >= 3


def named(node: RunningNode, name: str) -> list[Row]:
    return [row for row in shown(node) if row.name == name]


def test_many_clients_at_once_with_large_pushes(node: RunningNode) -> None:
    """Payloads wait for their turn; the node answers others meanwhile, and all of them in the end."""
    points = [point(n, {"topic": "orders", "partition": n}) for n in range(2_000)]
    data = compress(Codec.ZSTD, metrics_data([metric("org.apache.kafka.test.large", GAUGE, points)]))
    codes: list[int] = []

    def run() -> None:
        with WireClient(node.bootstrap, 60) as client:
            codes.append(pushed(client, data, int(Codec.ZSTD)))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert codes == [0] * 8
    assert len({row.labels for row in named(node, "kafka_client_test_large")}) == 16_000


def test_a_node_that_does_not_receive() -> None:
    with running_node({"telemetry.receiver.enable": "false"}) as off, WireClient(off.bootstrap) as client:
        body = {"client_software_name": "tests", "client_software_version": "1"}
        keys = {each["api_key"] for each in client.call(API_VERSIONS, 4, body)["api_keys"]}
        assert not keys & {GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY}
        with pytest.raises(Closed):
            client.call(GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": bytes(16)})


def test_the_command_line(node: RunningNode, capsys: pytest.CaptureFixture[str]) -> None:
    def barnabas(*arguments: str, code: int = 0) -> str:
        ended = main(["telemetry", *arguments, "--bootstrap", node.bootstrap])
        said = capsys.readouterr()
        assert ended == code, said
        return said.out + said.err

    assert "no subscriptions" in barnabas("list")
    barnabas("subscribe", "cli", "a.", "b.", "--every", "30s", "--match", "client_id=x.*")
    (listed,) = json.loads(barnabas("list", "--json"))
    assert listed == {"name": "cli", "metrics": "a.,b.", "interval.ms": "30000", "match": "client_id=x.*"}
    barnabas("subscribe", "cli")
    (listed,) = json.loads(barnabas("list", "--json"))
    assert listed == {"name": "cli", "metrics": "*", "interval.ms": "60000", "match": ""}
    assert "Illegal client matching pattern" in barnabas("subscribe", "cli", "--match", "no_key=x", code=1)
    assert "is not a length of time" in barnabas("subscribe", "cli", "--every", "soon", code=2)
    assert "between" in barnabas("subscribe", "cli", "--every", "2h", code=1)
    barnabas("remove", "cli")
    assert "there is no subscription 'cli'" in barnabas("remove", "cli", code=1)


def test_who_asks_again_too_early_is_refused_before_there_ever_was_a_subscription() -> None:
    with running_node() as fresh, WireClient(fresh.bootstrap) as client:
        asked = {"client_instance_id": os.urandom(16)}
        codes = [client.call(GET_TELEMETRY_SUBSCRIPTIONS, 0, asked)["error_code"] for _ in range(2)]
    assert codes == [0, 89]  # THROTTLING_QUOTA_EXCEEDED
