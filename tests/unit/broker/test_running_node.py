"""The node in a test's process: real clients, faults on order, settings, restart; what barnabas.testing promises."""

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, OffsetSpec

from barnabas.broker import clock
from barnabas.testing import RunningCluster, RunningNode, running_cluster, running_node


def send(node: RunningNode, value: bytes, **conf: object) -> str | None:
    """The error of one record, None when it was acknowledged."""
    outcome: list[str | None] = []
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 0, "log_level": 0, **conf})
    producer.produce("t", value, on_delivery=lambda error, _: outcome.append(error.name() if error else None))
    producer.flush(20)
    return outcome[0]


def read(node: RunningNode, count: int, seconds: float = 10) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": node.bootstrap, "group.id": "g", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe(["t"])
    found: list[bytes] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        found += [m.value() or b"" for m in consumer.consume(count - len(found), 0.2) if m.error() is None]
    consumer.close()
    return found


def test_the_fixture_is_a_working_node(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"hello") is None
    assert read(barnabas_node, 1) == [b"hello"]


def test_it_starts_in_milliseconds() -> None:
    with running_node():
        pass  # imports are paid by now
    begun = time.perf_counter()
    with running_node():
        took = time.perf_counter() - begun
    assert took < 1.0


def test_a_failed_produce_is_retried_by_the_client(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"one") is None
    barnabas_node.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    assert send(barnabas_node, b"two") is None
    assert read(barnabas_node, 2) == [b"one", b"two"]


def test_a_fatal_error_reaches_the_client(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"one") is None
    barnabas_node.fail_next("Produce", "TOPIC_AUTHORIZATION_FAILED", times=-1)
    assert send(barnabas_node, b"two", **{"message.timeout.ms": 3000}) == "TOPIC_AUTHORIZATION_FAILED"
    barnabas_node.heal()
    assert send(barnabas_node, b"three") is None


def test_a_cut_connection_loses_nothing(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"one") is None
    barnabas_node.disconnect_next("Produce")
    assert send(barnabas_node, b"two", **{"enable.idempotence": True}) is None
    assert read(barnabas_node, 2) == [b"one", b"two"]


def test_a_delayed_produce_is_late(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"one") is None
    barnabas_node.delay("Produce", 400, times=1)
    begun = time.perf_counter()
    assert send(barnabas_node, b"two") is None
    assert time.perf_counter() - begun >= 0.4


def test_a_restart_keeps_everything(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"one") is None
    before = barnabas_node.bootstrap
    barnabas_node.restart()
    assert barnabas_node.bootstrap == before
    assert read(barnabas_node, 1) == [b"one"]


def test_names_that_nobody_knows_are_refused(barnabas_node: RunningNode) -> None:
    with pytest.raises(ValueError, match=r"no API is called 'Prodduce'\. Did you mean Produce\?"):
        barnabas_node.fail_next("Prodduce", "NOT_LEADER")
    with pytest.raises(ValueError, match="not the name of a Kafka error"):
        barnabas_node.fail_next("Produce", "NONE")
    with pytest.raises(ValueError, match="not the name of a Kafka error"):
        barnabas_node.fail_next("Produce", "NO_SUCH_ERROR")


def test_settings_have_kafkas_names() -> None:
    with running_node({"auto.create.topics.enable": False}) as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
        assert "nothing" not in admin.list_topics(timeout=10).topics
        assert send(node, b"x", **{"message.timeout.ms": 2000}) in (
            "_MSG_TIMED_OUT",
            "_UNKNOWN_TOPIC",
            "UNKNOWN_TOPIC_OR_PART",
        )
        assert "t" not in admin.list_topics(timeout=10).topics


def test_a_flushed_topic_acknowledges_after_the_fsync_and_shares_it() -> None:
    """`flush.messages=1`: writers that come together are acknowledged by few fsyncs."""
    with running_node() as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 1, 1, config={"flush.messages": "1"})])["t"].result(10)
        hosted = node._node.partitions.get("t", 0).open()  # type: ignore[union-attr]
        fsyncs: list[int] = []
        flush = hosted.log.flush

        def slow_flush() -> int:
            time.sleep(0.05)
            fsyncs.append(hosted.log.log_end_offset)
            assert hosted.high_watermark <= hosted.log.log_end_offset
            return flush()

        hosted.log = _Wrapped(hosted.log, slow_flush)
        producers = [Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 0}) for _ in range(10)]
        for producer in producers:
            producer.list_topics("t", timeout=10)
        begun = time.perf_counter()
        for producer in producers:
            producer.produce("t", b"x")
        for producer in producers:
            assert producer.flush(10) == 0
        assert time.perf_counter() - begun >= 0.05
        assert hosted.high_watermark == 10
        assert 1 <= len(fsyncs) < 10


class _Wrapped:
    """A log whose flush is watched."""

    def __init__(self, log: object, flush: object) -> None:
        object.__setattr__(self, "_log", log)
        object.__setattr__(self, "flush", flush)

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._log, name, value)


def test_dynamic_topic_settings_take_effect_at_once(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"x" * 5000) is None
    admin = AdminClient({"bootstrap.servers": barnabas_node.bootstrap, "log_level": 0})
    resource = ConfigResource(
        "topic",
        "t",
        incremental_configs=[ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)],
    )
    admin.incremental_alter_configs([resource])[resource].result(10)
    assert send(barnabas_node, b"x" * 5000) == "MSG_SIZE_TOO_LARGE"


def test_a_silent_topic_is_left_alone(barnabas_node: RunningNode) -> None:
    """A topic that nobody has written to has no folder."""
    admin = AdminClient({"bootstrap.servers": barnabas_node.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic("quiet", 100, 1)])["quiet"].result(10)
    assert not list(barnabas_node.data_dir.glob("quiet-*"))
    admin.delete_topics(["quiet"])["quiet"].result(10)
    with pytest.raises(KafkaException):
        admin.delete_topics(["quiet"])["quiet"].result(10)


def test_bytes_that_are_no_request_close_the_connection(barnabas_node: RunningNode) -> None:
    host, port = barnabas_node.bootstrap.split(":")
    for frame in (
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 3) + b"abc",
        struct.pack(">ihhih", 10, 999, 0, 1, -1),
        struct.pack(">ihhih", 10, 0, 99, 1, -1),
    ):
        with socket.create_connection((host, int(port)), 5) as connection:
            connection.sendall(frame)
            assert connection.recv(100) == b""
    assert send(barnabas_node, b"still here") is None


@pytest.mark.barnabas(settings={"auto.create.topics.enable": False})
def test_the_marker_sets_the_node_up(barnabas_node: RunningNode) -> None:
    conf = {"message.timeout.ms": 2000, "topic.metadata.propagation.max.ms": 100}
    assert send(barnabas_node, b"x", **conf) in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")


@pytest.mark.barnabas(settings={"default.replication.factor": 3, "min.insync.replicas": 2})
def test_a_cluster_goes_on_without_one_of_its_nodes(barnabas_cluster: RunningCluster) -> None:
    first, second, third = barnabas_cluster.nodes.values()
    assert send(first, b"one") is None
    second.stop()
    assert send(third, b"two") is None
    second.start()
    first.stop()
    assert send(second, b"three") is None
    assert read(third, 3) == [b"one", b"two", b"three"]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        (lambda node: node.delay("Fetch", -1), "0 ms or more"),
        (lambda node: node.delay("Fetch", 1, times=0), "times=0"),
        (lambda node: node.fail_next("Fetch", "NOT_LEADER", times=-2), "times=-2"),
        (lambda node: node.fail_next("Fetch", "NO_SUCH_ERROR"), "NO_SUCH_ERROR"),
        (lambda node: node.disconnect_next("Fitch"), "Fitch"),
    ],
)
def test_an_impossible_fault_is_refused(
    barnabas_node: RunningNode, order: Callable[[RunningNode], None], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        order(barnabas_node)


@pytest.mark.barnabas(
    movable_clock=True, settings={"log.retention.hours": 24, "log.segment.bytes": 1_048_576, "log.roll.hours": 1}
)
def test_time_is_moved_and_old_records_go(barnabas_node: RunningNode) -> None:
    assert send(barnabas_node, b"old") is None
    barnabas_node.advance(hours=2)
    assert send(barnabas_node, b"new", **{"message.timeout.ms": 10_000}) is None  # rolls: an hour has passed
    assert read(barnabas_node, 2) == [b"old", b"new"]
    barnabas_node.advance(days=2)
    admin = AdminClient({"bootstrap.servers": barnabas_node.bootstrap, "log_level": 0})
    end = time.monotonic() + 20
    while time.monotonic() < end:
        earliest = admin.list_offsets({TopicPartition("t", 0): OffsetSpec.earliest()})
        if next(iter(earliest.values())).result().offset > 0:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the first segment is still there two days later")


def test_the_time_is_the_machines_again_when_the_node_is_gone() -> None:
    with running_node(movable_clock=True) as node:
        node.advance(days=2)
        assert clock.source.time() > time.time() + 86_400
    assert clock.source.time() < time.time() + 60


def test_only_a_movable_clock_is_moved_and_only_forward(barnabas_node: RunningNode) -> None:
    with pytest.raises(ValueError, match="movable_clock=True"):
        barnabas_node.advance(1)
    with running_node(movable_clock=True) as node, pytest.raises(ValueError, match="forward"):
        node.advance(-1)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"auto.create.topic.enable": False},
            "unknown setting auto.create.topic.enable: did you mean auto.create.topics",
        ),
        ({"auto.create.topics.enable": "maybe"}, "^auto.create.topics.enable='maybe': expected true or false"),
    ],
)
def test_a_setting_that_would_have_no_effect_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason), running_node(settings):
        pass
    with pytest.raises(ValueError, match=reason), running_cluster(3, settings):
        pass


_MARKED = """
import pytest

@pytest.mark.barnabas(nodes=3)
def test_a(barnabas_node): ...

@pytest.mark.barnabas(movable_clock=True)
def test_b(barnabas_cluster): ...

@pytest.mark.barnabas(setings={})
def test_c(barnabas_node): ...
"""


def test_a_mark_that_the_fixture_does_not_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(_MARKED)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_marked.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert "3 errors" in done.stdout, done.stdout + done.stderr
    assert "barnabas(nodes=...) is for the fixture barnabas_cluster, not barnabas_node" in done.stdout
    assert "barnabas(movable_clock=...) is for the fixture barnabas_node, not barnabas_cluster" in done.stdout
    assert "takes settings={...}, nodes=N, movable_clock=True, secure=True and users={...}, by name" in done.stdout
    assert "Traceback" not in done.stdout and "pytest_plugin.py" not in done.stdout
