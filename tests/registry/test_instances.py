"""Several instances on one topic: any answers, one writes, and who that is moves when it has to."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.members import QUIET
from tests.support.registry import RegistryProcess, register
from tests.support.servers import BarnabasNode


@pytest.fixture
def two(node: BarnabasNode, tmp_path: Path) -> Iterator[tuple[RegistryProcess, RegistryProcess]]:
    """On a topic of their own; the first one writes."""
    told = ["--topic", f"_schemas-{tmp_path.name}"]
    first = RegistryProcess(tmp_path / "first", node.bootstrap, told)
    second = RegistryProcess(tmp_path / "second", node.bootstrap, told)
    try:
        first.start()
        assert register(first.port, "begin", '"string"')[1]["id"] == 1
        second.start()
        yield first, second
    finally:
        first.stop()
        second.stop()


Two = tuple[RegistryProcess, RegistryProcess]


def record(name: str) -> str:
    return f'{{"type":"record","name":"{name}","fields":[]}}'


def test_what_is_written_anywhere_is_read_everywhere_at_once(two: Two) -> None:
    first, second = two
    for number in range(30):
        here, there = (first, second) if number % 2 else (second, first)
        subject = f"s{number % 3}"
        there.ask("PUT", f"/config/{subject}", {"compatibility": "NONE"})
        status, told = register(here.port, subject, record(f"R{number}"))
        assert status == 200, told
        for instance in (here, there):
            assert instance.ask("GET", f"/schemas/ids/{told['id']}")[0] == 200
            assert instance.ask("GET", f"/subjects/{subject}/versions/latest")[1]["id"] == told["id"]
            assert instance.ask("POST", f"/subjects/{subject}", {"schema": record(f"R{number}")})[0] == 200
    assert first.ask("GET", "/schemas")[1] == second.ask("GET", "/schemas")[1]


def test_refusals_are_handed_back(two: Two) -> None:
    _, second = two
    assert register(second.port, "begin", '"int"')[1]["error_code"] == 409
    assert second.ask("DELETE", "/subjects/nope")[1]["error_code"] == 40401
    assert second.ask("DELETE", "/subjects/begin") == (200, [1])
    assert second.ask("DELETE", "/subjects/begin")[1]["error_code"] == 40404


def test_another_one_writes_when_the_writer_is_killed(two: Two) -> None:
    first, second = two
    first.kill()
    status, told = register(second.port, "after", record("After"))
    assert (status, told["id"]) == (200, 2)
    first.start()
    assert register(first.port, "after", record("After"))[1]["id"] == 2
    assert register(first.port, "again", record("Again"))[1]["id"] == 3


def test_a_writer_that_was_paused_is_fenced(two: Two) -> None:
    """It has not noticed anything: what it would write, the cluster refuses."""
    first, second = two
    assert first.process is not None
    first.process.send_signal(signal.SIGSTOP)
    try:
        assert register(second.port, "meanwhile", record("Meanwhile"))[1]["id"] == 2
    finally:
        first.process.send_signal(signal.SIGCONT)
    assert register(first.port, "woken", record("Woken"))[1]["id"] == 3
    assert first.ask("GET", "/subjects")[1] == second.ask("GET", "/subjects")[1] == ["begin", "meanwhile", "woken"]


def test_a_writer_that_was_paused_answers_what_is_acknowledged(two: Two) -> None:
    """It believes that it writes, so that nobody else could know more."""
    first, second = two
    assert first.process is not None
    for number in range(3):
        subject = f"paused{number}"
        register(first.port, subject, record("Before"))
        first.ask("PUT", f"/config/{subject}", {"compatibility": "NONE"})
        first.process.send_signal(signal.SIGSTOP)
        try:
            assert register(second.port, subject, record("Meanwhile"))[1]["version"] == 2
        finally:
            first.process.send_signal(signal.SIGCONT)
        assert first.ask("GET", f"/subjects/{subject}/versions/latest")[1]["version"] == 2
        second.kill()
        assert register(first.port, f"{subject}-after", record("After"))[0] == 200  # it writes again
        second.start()


def test_a_copy_of_the_topic_does_not_write_to_what_it_was_copied_from(
    node: BarnabasNode, two: Two, tmp_path: Path
) -> None:
    """Its NOOP records name the instance that writes the other topic, which would take every change."""
    first, _ = two
    copy = f"_schemas-copy-{tmp_path.name}"
    copied(node.bootstrap, f"_schemas-{tmp_path.name}", copy)
    third = RegistryProcess(tmp_path / "third", node.bootstrap, ["--topic", copy])
    try:
        third.start()
        assert register(third.port, "own", record("Own"))[1]["id"] == 2
        assert third.ask("GET", "/subjects")[1] == ["begin", "own"]
        assert first.ask("GET", "/subjects")[1] == ["begin"]
    finally:
        third.stop()


def copied(bootstrap: str, topic: str, copy: str) -> None:
    """As a mirror does it: keys, values and headers."""
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(copy, 1, 1, config={"cleanup.policy": "compact"})])[copy].result(20)
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": copy, "enable.partition.eof": True})
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while (found := consumer.poll(20)) is not None and found.error() is None:
            producer.produce(copy, found.value(), found.key(), headers=found.headers())
        assert found is not None
    finally:
        consumer.close()
        producer.flush(20)


def test_everything_is_there_after_a_restart(two: Two) -> None:
    first, second = two
    register(first.port, "kept", record("Kept"), metadata={"properties": {"owner": "x"}})
    first.ask("PUT", "/config/kept", {"compatibility": "FULL"})
    first.ask("PUT", "/mode/kept", {"mode": "READONLY"})
    first.ask("DELETE", "/subjects/begin")
    told = [first.ask("GET", path) for path in PATHS]
    first.kill()
    second.kill()
    first.start()
    assert [first.ask("GET", path) for path in PATHS] == told


PATHS = ("/subjects", "/subjects?deleted=true", "/schemas?deleted=true", "/config/kept", "/mode/kept", "/contexts")
