"""Clients of different makers in one group: they must agree on the protocol, the generation and who owns what."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Callable

import pytest

from tests.support.members import Member, until, write

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]


class PythonMember:
    """kafka-python or aiokafka in a thread; the same face as `Member`."""

    def __init__(self, bootstrap: str, group: str, topic: str, client: str) -> None:
        self.read: list[tuple[int, int, bytes]] = []
        self.partitions: set[int] = set()
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        target = self._kafka_python if client == "kafka-python" else self._aiokafka
        self.thread = threading.Thread(target=self._guard, args=(target, bootstrap, group, topic), daemon=True)
        self.thread.start()

    def _guard(self, target: Callable[..., None], *arguments: str) -> None:
        try:
            target(*arguments)
        except BaseException as problem:
            self.failure = problem

    def _kafka_python(self, bootstrap: str, group: str, topic: str) -> None:
        from kafka import KafkaConsumer
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=6000,
            heartbeat_interval_ms=300,
            auto_commit_interval_ms=200,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        while not self._stop.is_set():
            for messages in consumer.poll(timeout_ms=100).values():
                self.read += [(m.partition, m.offset, m.value) for m in messages]
            self.partitions = {p.partition for p in consumer.assignment()}
        consumer.close()

    def _aiokafka(self, bootstrap: str, group: str, topic: str) -> None:
        from aiokafka import AIOKafkaConsumer
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor

        async def go() -> None:
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                session_timeout_ms=6000,
                heartbeat_interval_ms=300,
                auto_commit_interval_ms=200,
                partition_assignment_strategy=(RangePartitionAssignor,),
            )
            await consumer.start()
            try:
                while not self._stop.is_set():
                    for messages in (await consumer.getmany(timeout_ms=100)).values():
                        self.read += [(m.partition, m.offset, m.value) for m in messages]
                    self.partitions = {p.partition for p in consumer.assignment()}
            finally:
                await consumer.stop()

        asyncio.run(go())

    def close(self) -> None:
        self._stop.set()
        self.thread.join(20)
        assert not self.thread.is_alive()
        assert self.failure is None, self.failure


def test_three_makers_in_one_group(bootstrap: str, create: Create, topic: str, group: str) -> None:
    create(topic, 6)
    members: list[Member | PythonMember] = [
        Member(bootstrap, group, [topic], "range"),
        PythonMember(bootstrap, group, topic, "kafka-python"),
        PythonMember(bootstrap, group, topic, "aiokafka"),
    ]
    try:
        until(
            lambda: sorted(sorted(m.partitions) for m in members) == [[0, 1], [2, 3], [4, 5]], "two partitions each", 60
        )
        values = [b"%d" % i for i in range(300)]
        write(bootstrap, topic, values, 6)
        until(lambda: sum(len(m.read) for m in members) >= 300, "all read", 30)
        time.sleep(0.3)
        assert sorted(v for m in members for _, _, v in m.read) == sorted(values)
        members.pop(1).close()
        until(lambda: sorted(p for m in members for p in m.partitions) == list(range(6)), "two share what is left", 60)
    finally:
        for member in members:
            member.close()


def test_kcat_as_a_member(bootstrap: str, create: Create, topic: str, group: str) -> None:
    """`kcat -G`: joins, reads, commits, leaves; the next one goes on."""
    create(topic, 2)
    write(bootstrap, topic, [b"%d" % i for i in range(50)], 2)
    command = ["kcat", "-b", bootstrap, "-G", group, "-X", "auto.offset.reset=earliest", "-c", "30", "-q", topic]
    first = subprocess.run(command, capture_output=True, timeout=40, check=True).stdout.split()
    assert len(first) == 30
    second = subprocess.run([*command[:7], "-c", "20", "-q", topic], capture_output=True, timeout=40, check=True).stdout
    assert sorted(first + second.split(), key=int) == [b"%d" % i for i in range(50)]


def test_kcat_lists_and_queries(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 3)
    write(bootstrap, topic, [b"x"] * 7)
    listing = json.loads(
        subprocess.run(["kcat", "-L", "-J", "-b", bootstrap], capture_output=True, timeout=20, check=True).stdout
    )
    assert {t["topic"]: len(t["partitions"]) for t in listing["topics"]}[topic] == 3
    asked = ["kcat", "-Q", "-b", bootstrap, "-t", f"{topic}:0:-2", "-t", f"{topic}:0:-1"]
    out = subprocess.run(asked, capture_output=True, timeout=20, check=True).stdout.decode()
    assert f"{topic} [0] offset" in out
