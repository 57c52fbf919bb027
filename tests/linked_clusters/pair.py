"""Two clusters and the words that are typed to link them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.members import QUIET, until


def barnabas(*arguments: str, code: int = 0) -> str:
    """A command as typed; its output."""
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def in_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(barnabas(*arguments, "--json", code=code))


def create(bootstrap: str, topic: str, partitions: int = 1, replicas: int = 1, **config: str) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, replicas, config=settings)])[topic].result(30)


def produce(bootstrap: str, topic: str, values: Iterable[str], **settings: Any) -> list[tuple[int, int, str]]:
    """Each acknowledged; gives (partition, offset, value)."""
    done: list[tuple[int, int, str]] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            raise KafkaException(error)
        done.append((message.partition(), message.offset(), message.value().decode()))

    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5, **settings})
    for number, value in enumerate(values):
        producer.produce(topic, value, key=f"k{number}", headers={"n": str(number)}, on_delivery=delivered)
    assert producer.flush(60) == 0
    return done


def read(bootstrap: str, topic: str, partitions: int = 1, isolation: str = "read_committed") -> dict[int, list[str]]:
    """Everything below the end as it is now, by partition."""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "reads-all",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found: dict[int, list[str]] = {index: [] for index in range(partitions)}
    left = partitions
    while left:
        message = consumer.poll(30)
        assert message is not None, f"{topic}: nothing in 30 s"
        if message.error():
            left -= 1
        else:
            found[message.partition() or 0].append((message.value() or b"").decode())
    consumer.close()
    return found


def commit(bootstrap: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group})
    places = [TopicPartition(topic, index, offset) for index, offset in offsets.items()]
    until(lambda: _commits(consumer, places), f"the coordinator of {group} takes offsets")
    consumer.close()


def _commits(consumer: Consumer, places: list[TopicPartition]) -> bool:
    """A coordinator that has just begun refuses for a moment."""
    try:
        consumer.commit(offsets=places, asynchronous=False)
    except KafkaException as refused:
        if not refused.args[0].retriable() and refused.args[0].name() != "NOT_COORDINATOR":
            raise
        return False
    return True


def committed(bootstrap: str, group: str, topic: str, partitions: int = 1) -> dict[int, int]:
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group})
    found = consumer.committed([TopicPartition(topic, index) for index in range(partitions)], timeout=20)
    consumer.close()
    return {each.partition: each.offset for each in found if each.offset >= 0}


def link(target: str, source: str, *more: str, name: str = "east") -> None:
    barnabas("link", "create", name, "--from", source, "-b", target, *more)


def status(target: str, name: str = "east") -> Any:
    """Whatever it exits with."""
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", "link", "status", name, "-b", target, "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def caught_up(target: str, topics: Iterable[str], ends: dict[tuple[str, int], int], seconds: float = 60) -> None:
    """Until the target's partitions end where the source's end."""
    wanted = set(topics)

    def there() -> bool:
        found = {(p["topic"], p["partition"]): p["end_offset"] for p in status(target)["partitions"]}
        return wanted <= {topic for topic, _ in found} and all(found.get(at) == end for at, end in ends.items())

    until(there, f"the link has {ends}", seconds)


def equal(target: str, name: str = "east") -> Any:
    """`link verify` finds no difference, once the offsets of groups have followed; gives what it compared."""
    command = [sys.executable, "-m", "barnabas.cli.main", "link", "verify", name, "-b", target, "--json"]
    found: list[Any] = []

    def compared() -> bool:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout, done.stderr
        found.append(json.loads(done.stdout))
        beside = [each for each in found[-1]["differences"] if not each.startswith("group ")]
        assert beside == []
        return done.returncode == 0

    until(compared, "both clusters are equal")
    return found[-1]
