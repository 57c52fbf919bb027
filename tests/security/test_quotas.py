"""Quotas, kept against real clients: rates, the throttle times they report, connections, and the others left alone."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tests.support import java as tools
from tests.support import wire
from tests.support.java import JavaTools
from tests.support.members import QUIET, until
from tests.support.process import free_port
from tests.support.servers import BarnabasNode
from tests.support.wire import Closed, WireClient, batch, produce_body

pytestmark = pytest.mark.timeout(60)

RATE, TOLERANCE, SECONDS = 1_000_000, 0.15, 10.5
"""Kafka's windows let a client use ten seconds of its quota at once, little more then, and again after the eleventh
second. (An Apache Kafka beside it does the same to the same clients.) So the rate shows before that."""

RECORD = 10_000
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    slow = free_port()
    settings = {
        "listener.name.slow.max.connection.creation.rate": "4",
        "listener.name.few.max.connections": "2",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,SLOW:PLAINTEXT,FEW:PLAINTEXT",
        "max.connections.per.ip.overrides": "127.0.0.9:3",
    }
    ports = {"OPEN": free_port(), "SLOW": slow, "FEW": free_port()}
    settings["listeners"] = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    running = BarnabasNode(tmp_path_factory.mktemp("quotas"), settings, port=ports["OPEN"])
    running.ports = ports  # type: ignore[attr-defined]
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def bootstrap(node: BarnabasNode) -> str:
    return f"127.0.0.1:{node.port}"


@pytest.fixture
def quota(bootstrap: str) -> Iterator[Callable[..., Any]]:
    """`quota("set", ...)` is a command; what it set is removed after the test."""

    def run(*words: str) -> Any:
        command = [sys.executable, "-m", "barnabas.cli.main", "quota", *words, "-b", bootstrap, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    yield run
    with WireClient(bootstrap) as client:
        entries = client.call(wire.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False})["entries"]
        for entry in entries:
            ops = [{"key": value["key"], "value": 0.0, "remove": True} for value in entry["values"]]
            body = {"entries": [{"entity": entry["entity"], "ops": ops}], "validate_only": False}
            client.call(wire.ALTER_CLIENT_QUOTAS, 1, body)


class Statistics:
    """What librdkafka says of throttling, in milliseconds."""

    def __init__(self) -> None:
        self.longest = 0

    def __call__(self, text: str) -> None:
        for broker in json.loads(text)["brokers"].values():
            self.longest = max(self.longest, broker.get("throttle", {}).get("max", 0))


def client(bootstrap: str, client_id: str, told: Statistics, **more: Any) -> dict[str, Any]:
    return {
        **QUIET,
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "stats_cb": told,
        "statistics.interval.ms": 200,
        **more,
    }


def write(bootstrap: str, told: Statistics, stop: threading.Event) -> None:
    """As much as it can."""
    producer = Producer(client(bootstrap, "writer", told, **{"batch.size": 100_000}))
    while not stop.is_set():
        try:
            producer.produce("writer", bytes(RECORD))
            producer.poll(0)
        except BufferError:
            producer.poll(0.05)
    producer.purge()
    producer.flush(5)


def written_rate(bootstrap: str, topic: str) -> float:
    """By what the node has, from the first record on."""
    body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}

    def count() -> int:
        (found,) = observer.call(wire.LIST_OFFSETS, 1, body)["topics"][0]["partitions"]
        return int(found["offset"])

    with WireClient(bootstrap, client_id="observer") as observer:
        until(lambda: count() > 0, f"a record in {topic}")
        time.sleep(SECONDS)  # a rate is measured over time
        return count() * RECORD / SECONDS


def read_rate(bootstrap: str, told: Statistics) -> float:
    more = {"group.id": "reader", "auto.offset.reset": "earliest"}
    consumer = Consumer(client(bootstrap, "reader", told, **more))
    consumer.subscribe(["filled"])
    first, size = 0.0, 0
    while not first or time.monotonic() < first + SECONDS:
        for message in consumer.consume(500, 0.05):
            first = first or time.monotonic()
            size += len(message.value() or b"")
    consumer.close()
    return size / SECONDS


def test_clients_keep_to_their_rates_and_say_that_they_are_throttled(
    bootstrap: str, quota: Callable[..., Any], java: JavaTools
) -> None:
    """At the same time, since it takes ten seconds."""
    with WireClient(bootstrap) as admin:
        for topic in ("writer", "java", "filled"):
            wire.create_topic(admin, topic)
        for _ in range(16):
            admin.call(wire.PRODUCE, 9, produce_body("filled", batch([bytes(RECORD)] * 99)))
        alter(admin, {"user": "ANONYMOUS", "client_id": "writer"}, producer_byte_rate=RATE)
        alter(admin, {"user": None, "client_id": "java"}, producer_byte_rate=RATE)
    quota("set", "--client", "reader", "--fetch", "1MB/s")
    words = ["--topic", "java", "--num-records", "1200", "--record-size", str(RECORD), "--throughput", "-1"]
    words += ["--print-metrics", "--producer-props", f"bootstrap.servers={bootstrap}", "client.id=java"]
    wrote, has_read, used, said, stop = Statistics(), Statistics(), dict[str, float](), list[str](), threading.Event()
    work = [
        threading.Thread(target=write, args=(bootstrap, wrote, stop)),
        threading.Thread(target=lambda: said.append(java.run(PRODUCER_PERFORMANCE, *words).out)),
        threading.Thread(target=lambda: used.update(writer=written_rate(bootstrap, "writer"))),
        threading.Thread(target=lambda: used.update(java=written_rate(bootstrap, "java"))),
        threading.Thread(target=lambda: used.update(reader=read_rate(bootstrap, has_read))),
    ]
    for thread in work:
        thread.start()
    until(lambda: len({row["client_id"] for row in quota("list", "--now")}) == 3, "all three are throttled")
    for row in quota("list", "--now"):
        assert row["limit"] == RATE and row["time_ms"] > 0 and row["rule"]["client-id"] == row["client_id"]
    until(lambda: len(used) == 3, "the rates")
    stop.set()
    for thread in work:
        thread.join(30)
    assert all(abs(rate / RATE - 1) < TOLERANCE for rate in used.values()), used
    assert wrote.longest > 0 and has_read.longest > 0
    (throttled,) = [line for line in said[0].splitlines() if "produce-throttle-time-max" in line]
    assert float(throttled.split(":")[-1]) > 0


# --- one connection, seen from the wire -------------------------------------------------------------------------------


def alter(client: WireClient, entity: dict[str, str | None], validate_only: bool = False, **values: float) -> Any:
    parts = [{"entity_type": kind.replace("_", "-"), "entity_name": name} for kind, name in entity.items()]
    ops = [{"key": key, "value": float(value), "remove": False} for key, value in values.items()]
    body = {"entries": [{"entity": parts, "ops": ops}], "validate_only": validate_only}
    (entry,) = client.call(wire.ALTER_CLIENT_QUOTAS, 1, body)["entries"]
    return entry


def topics(names: list[str], partitions: int) -> dict[str, Any]:
    new = [{"name": name, "num_partitions": partitions, "replication_factor": 1} for name in names]
    return {"topics": [topic | {"assignments": [], "configs": []} for topic in new], "timeout_ms": 10_000}


@pytest.mark.usefixtures("quota")
def test_the_answer_leaves_at_once_and_the_next_request_waits(bootstrap: str) -> None:
    with WireClient(bootstrap, client_id="admin") as admin, WireClient(bootstrap, client_id="flood") as flood:
        wire.create_topic(admin, "muted")
        assert alter(admin, {"client_id": "flood"}, producer_byte_rate=10_000.0)["error_code"] == 0
        begun = time.monotonic()
        answer = flood.call(wire.PRODUCE, 9, produce_body("muted", batch([bytes(110_000)])))
        answered = time.monotonic() - begun
        assert 900 < answer["throttle_time_ms"] < 1_200, "11 s of the quota, and 10 s were saved"
        flood.call(wire.API_VERSIONS, 3, {"client_software_name": "x", "client_software_version": "1"})
        waited = time.monotonic() - begun
        assert answered < 0.5 < 0.8 < waited < 3
        other = time.monotonic()
        assert admin.call(wire.PRODUCE, 9, produce_body("muted", batch([bytes(110_000)])))["throttle_time_ms"] == 0
        assert time.monotonic() - other < 0.5


@pytest.mark.usefixtures("quota")
def test_a_fetch_above_the_quota_is_empty_and_its_session_goes_on(bootstrap: str) -> None:
    with WireClient(bootstrap, client_id="admin") as admin, WireClient(bootstrap, client_id="reads") as reads:
        wire.create_topic(admin, "empty-fetch")
        for _ in range(8):
            admin.call(wire.PRODUCE, 9, produce_body("empty-fetch", batch([bytes(100_000)])))
        assert alter(admin, {"client_id": "reads"}, consumer_byte_rate=40_000.0)["error_code"] == 0
        first: dict[str, Any] = {"responses": []}
        while not first["responses"]:  # what is about as large as the quota may come a few milliseconds later
            first = reads.call(wire.FETCH, 12, wire.fetch_body("empty-fetch", 0, session_epoch=0))
        (read,) = first["responses"][0]["partitions"]
        assert first["throttle_time_ms"] == 0 and 300_000 < len(read["records"]) <= 500_000, "what ten seconds allow"
        offset = len(wire.read_batches(read["records"]))  # a record each
        more = wire.fetch_body("empty-fetch", offset, session_id=first["session_id"], session_epoch=1)
        second = reads.call(wire.FETCH, 12, more)
        assert (second["error_code"], second["session_id"], second["responses"]) == (0, first["session_id"], [])
        assert second["throttle_time_ms"] > 0


@pytest.mark.usefixtures("quota")
def test_the_time_of_the_loop_is_a_quota(bootstrap: str) -> None:
    with WireClient(bootstrap, client_id="admin") as admin, WireClient(bootstrap, client_id="busy") as busy:
        assert alter(admin, {"user": None, "client_id": "busy"}, request_percentage=0.01)["error_code"] == 0
        told = 0
        for _ in range(500):
            told = told or busy.call(wire.METADATA, 12, {"topics": None})["throttle_time_ms"]
        assert 0 < told <= 1_000, "never longer than a sample"


@pytest.mark.usefixtures("quota")
def test_partitions_above_the_rate_are_refused_or_throttled_by_version(bootstrap: str) -> None:
    """KIP-599: old versions do not know the error."""
    with WireClient(bootstrap, client_id="admin") as admin:
        assert alter(admin, {"client_id": "maker"}, controller_mutation_rate=1.0)["error_code"] == 0
        with WireClient(bootstrap, client_id="maker") as maker:
            made = maker.call(wire.CREATE_TOPICS, 7, topics(["m1", "m2"], 12))
            codes = {topic["name"]: (topic["error_code"], topic["error_message"]) for topic in made["topics"]}
            assert codes == {"m1": (0, None), "m2": (89, "The throttling quota has been exceeded.")}
            assert 800 <= made["throttle_time_ms"] <= 1_000, "12 of 11 tokens"
        with WireClient(bootstrap, client_id="maker") as maker:
            old = maker.call(wire.CREATE_TOPICS, 5, topics(["m3"], 2))
            assert old["topics"][0]["error_code"] == 0 and old["throttle_time_ms"] > 1_500
            begun = time.monotonic()
        with WireClient(bootstrap, client_id="maker") as maker:
            gone = maker.call(wire.DELETE_TOPICS, 5, {"topic_names": ["m1"], "timeout_ms": 5_000})
            assert gone["responses"][0]["error_code"] == 89 and time.monotonic() - begun < 1


@pytest.mark.usefixtures("quota")
def test_what_is_only_validated_changes_nothing(bootstrap: str) -> None:
    with WireClient(bootstrap) as admin:
        assert alter(admin, {"user": "v"}, validate_only=True, producer_byte_rate=1.0)["error_code"] == 0
        refused = alter(admin, {"user": "v"}, validate_only=True, producer_byte_rate=-1.0)
        assert (refused["error_code"], refused["error_message"]) == (
            42,
            "Quota producer_byte_rate must be greater than 0",
        )
        found = admin.call(wire.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False})
        assert found["entries"] == []


# --- connections ------------------------------------------------------------------------------------------------------


def is_served(client: WireClient) -> bool:
    try:
        client.call(wire.API_VERSIONS, 3, {"client_software_name": "x", "client_software_version": "1"})
    except (Closed, OSError):
        return False
    return True


@pytest.mark.usefixtures("quota")
def test_an_address_above_its_connection_rate_is_refused(bootstrap: str) -> None:
    with WireClient(bootstrap) as admin:
        assert alter(admin, {"ip": "127.0.0.5"}, connection_creation_rate=1.0)["error_code"] == 0
        clients = [WireClient(bootstrap, source="127.0.0.5") for _ in range(14)]
        served = [is_served(client) for client in clients]
        assert 10 <= sum(served) <= 12 and served[:10] == [True] * 10, "ten seconds of its quota"
        with WireClient(bootstrap, source="127.0.0.6") as other:
            assert is_served(other)
        for client in clients:
            client.close()


def test_a_listener_takes_connections_at_its_rate(node: BarnabasNode) -> None:
    slow = f"127.0.0.1:{node.ports['SLOW']}"  # type: ignore[attr-defined]
    clients = [WireClient(slow) for _ in range(46)]
    begun = time.monotonic()
    assert all(is_served(client) for client in clients), "none is refused"
    assert 0.5 < time.monotonic() - begun < 8, "46 at four a second, of which 40 were saved"
    for client in clients:
        client.close()


def test_a_listener_and_an_address_have_so_many_connections(node: BarnabasNode, bootstrap: str) -> None:
    few = f"127.0.0.1:{node.ports['FEW']}"  # type: ignore[attr-defined]
    for address, source, most in ((few, None, 2), (bootstrap, "127.0.0.9", 3)):
        clients = [WireClient(address, source=source) for _ in range(most + 1)]
        assert [is_served(client) for client in clients] == [True] * most + [False]
        clients[0].close()
        until(lambda a=address, s=source: _one_more(a, s), "the place of a closed connection is free")  # type: ignore[misc]
        for client in clients[1:]:
            client.close()


def _one_more(address: str, source: str | None) -> bool:
    with WireClient(address, source=source) as client:
        return is_served(client)


# --- tools, and the others --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quota")
def test_kafka_configs_and_the_records(
    node: BarnabasNode, bootstrap: str, java: JavaTools, quota: Callable[..., Any]
) -> None:
    def configs(*words: str) -> str:
        return java.run(tools.CONFIGS, "--bootstrap-server", bootstrap, *words).out

    both = ("--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-default")
    configs("--alter", *both, "--add-config", "producer_byte_rate=1024,request_percentage=25.5")
    address = ("--entity-type", "ips", "--entity-name", "10.0.0.7")
    configs("--alter", *address, "--add-config", "connection_creation_rate=9")
    assert "producer_byte_rate=1024.0" in configs("--describe", *both)
    assert quota("list") == [
        {"entity": {"ip": "10.0.0.7"}, "quotas": {"connection_creation_rate": 9.0}},
        {
            "entity": {"user": "alice", "client-id": None},
            "quotas": {"producer_byte_rate": 1024.0, "request_percentage": 25.5},
        },
    ]
    configs("--alter", *both, "--delete-config", "request_percentage")
    assert quota("remove", "alice", "--default-client")["removed"] == ["producer_byte_rate"]
    log = node.data / "__cluster_metadata-0" / "00000000000000000000.log"
    told = java.run(tools.DUMP_LOG, "--cluster-metadata-decoder", "--files", str(log)).out
    (line,) = [line for line in told.splitlines() if "CLIENT_QUOTA_RECORD" in line and "25.5" in line]
    assert '"entityType":"user","entityName":"alice"' in line and '"entityName":null' in line, "read by Kafka"


@pytest.mark.usefixtures("quota")
def test_clients_above_their_quota_do_not_hurt_one_below(bootstrap: str) -> None:
    """Ten that send as much as they are let: a quiet one beside them waits no longer than alone."""
    with WireClient(bootstrap, client_id="admin") as admin, WireClient(bootstrap, client_id="quiet") as quiet:
        wire.create_topic(admin, "shared")
        assert alter(admin, {"client_id": "flood"}, producer_byte_rate=200_000.0)["error_code"] == 0
        body, large = produce_body("shared", batch([bytes(100)])), produce_body("shared", batch([bytes(500_000)]))

        def p99_ms() -> float:
            took = []
            for _ in range(400):
                begun = time.perf_counter()
                assert quiet.call(wire.PRODUCE, 9, body)["throttle_time_ms"] == 0
                took.append((time.perf_counter() - begun) * 1000)
            return sorted(took)[395]

        alone = min(p99_ms() for _ in range(2))
        flood = [WireClient(bootstrap, client_id="flood") for _ in range(10)]
        for client in flood:
            assert client.call(wire.PRODUCE, 9, large)["responses"][0]["partition_responses"][0]["error_code"] == 0
        for client in flood:
            client.send(wire.PRODUCE, 9, large)
        beside = min(p99_ms() for _ in range(2))
        for client in flood:
            client.close()
        assert beside < max(1.5 * alone, alone + 5), f"alone {alone:.2f} ms, beside ten {beside:.2f} ms"
