"""Kafka's own clients: the Java producer of both generations, Kafka Streams, and the copier of Kafka's system tests."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.java import FEATURES, JavaTools
from tests.support.members import until, write
from tests.support.paths import CLASSPATH, LOG4J
from tests.support.wire import WireClient
from tests.transactions.conftest import IS_KAFKA, SETTINGS, Server, make_topic
from tests.transactions.readers import Beside, consumer, records, values
from tests.transactions.requests import RawProducer, await_coordinators

pytestmark = pytest.mark.timeout(180)
Create = Callable[..., str]
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
ROUNDS = 9


@pytest.fixture(scope="module")
def old_server(tmp_path_factory: pytest.TempPathFactory, java: JavaTools) -> Iterator[Server]:
    """One whose cluster has settled on transaction.version 1: its Java clients work as they did before KIP-890."""
    from tests.support.servers import BarnabasNode, KafkaNode

    node = (KafkaNode if IS_KAFKA else BarnabasNode)(tmp_path_factory.mktemp("old"), SETTINGS)
    try:
        node.start()
        with WireClient(node.bootstrap) as client:
            await_coordinators(client)
        java.run(FEATURES, "--bootstrap-server", node.bootstrap, "downgrade", "--feature", "transaction.version=1")
        yield node
    finally:
        node.stop()


def tour(java: JavaTools, bootstrap: str, topic: str, group: str) -> RawProducer:
    """The Java producer's rounds on a topic; what came of them is checked. Gives a look at its transactional id."""
    make_topic(bootstrap, topic, 3)
    out = java.run("Transactions", bootstrap, topic, topic, group, str(ROUNDS), timeout_seconds=90).out.splitlines()
    assert out[0] in ("zombie ProducerFencedException", "zombie InvalidProducerEpochException"), out[0]
    good = [(n, i) for n in range(ROUNDS) if n % 3 != 2 for i in range(6)]
    found = defaultdict(list)
    for line in out[1:]:
        level, partition, value = line.split()
        found[level, int(partition)].append(value)
    for part in range(3):
        expected = [f"{n}.{i}" for n, i in good if i % 3 == part] + (["last"] if part == 0 else [])
        assert found["read_committed", part] == expected
        assert set(expected) <= set(found["read_uncommitted", part])
    assert sorted(values(bootstrap, topic, partitions=3)) == sorted(
        [f"{n}.{i}".encode() for n, i in good] + [b"last"]
    ), "librdkafka reads the same"
    return RawProducer(WireClient(bootstrap), topic)


def test_the_producer_by_kip_890(java: JavaTools, bootstrap: str, topic: str, group: str) -> None:
    state = tour(java, bootstrap, topic, group).state()
    assert state["transaction_state"] == "CompleteCommit"
    assert state["producer_epoch"] == ROUNDS + 2, "each ending and the second producer raised the epoch"
    assert committed(bootstrap, group, topic) == ROUNDS - 1


def test_the_producer_of_the_old_way(java: JavaTools, old_server: Server, topic: str, group: str) -> None:
    state = tour(java, old_server.bootstrap, topic, group).state()
    assert state["transaction_state"] == "CompleteCommit"
    assert state["producer_epoch"] == 1, "only the second producer raised the epoch"
    assert committed(old_server.bootstrap, group, topic) == ROUNDS - 1


def committed(bootstrap: str, group: str, topic: str) -> int:
    from confluent_kafka import TopicPartition

    reader = consumer(bootstrap, **{"group.id": group})
    (found,) = reader.committed([TopicPartition(topic, 0)], timeout=20)
    reader.close()
    return int(found.offset)


# --- Kafka Streams


class Streams:
    """The word count in a JVM of its own."""

    def __init__(self, folder: Path, bootstrap: str, source: str, target: str, name: str) -> None:
        logs = [f"-Dkafka.logs.dir={folder}", "-Dtest.log.level=WARN", f"-Dlog4j2.configurationFile={LOG4J}"]
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256M", *logs, "-cp", CLASSPATH]
        arguments = [bootstrap, source, target, name, str(folder / "state"), "session.timeout.ms=2000"]
        self.log = (folder / "streams.log").open("ab")
        self.process = subprocess.Popen(
            ["java", *options, "WordCount", *arguments], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL
        )

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.log.close()


def test_streams_counts_words_exactly_once(bootstrap: str, create: Create, topic: str, tmp_path: Path) -> None:
    """Killed with -9 in the middle and started again: still every count of every word is there once, in order."""
    source, target = create(f"lines-{topic}", 2), create(f"counts-{topic}", 2)
    rng = random.Random(7)
    lines = [" ".join(rng.choice(["one", "two", "three", "four", "five"]) for _ in range(5)) for _ in range(200)]
    total: dict[str, int] = defaultdict(int)
    for word in " ".join(lines).split():
        total[word] += 1
    write(bootstrap, source, [line.encode() for line in lines[:100]], 2)
    beside = Beside(bootstrap, target, 2)
    app = Streams(tmp_path, bootstrap, source, target, topic)
    try:
        until(lambda: len(beside.seen) >= 100 or not app.alive(), "the first counts come", 60)
        write(bootstrap, source, [line.encode() for line in lines[100:]], 2)
        app.stop(signal.SIGKILL)
        app = Streams(tmp_path, bootstrap, source, target, topic)
        until(lambda: len(beside.seen) >= 1000 or not app.alive(), "all counts come", 60)
        time.sleep(0.3)
    finally:
        app.stop(signal.SIGTERM)
    beside.stop()
    assert len(beside.seen) == 1000
    found = keyed(bootstrap, target)
    assert found == {word: list(range(1, count + 1)) for word, count in total.items()}
    assert set(beside.seen) == set(records(bootstrap, target, partitions=2)), "nothing seen that is not there for good"


def keyed(bootstrap: str, topic: str) -> dict[str, list[int]]:
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    reader = consumer(bootstrap, **cast(Any, {"enable.partition.eof": True}))
    reader.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(2)])
    found: dict[str, list[int]] = defaultdict(list)
    left = 2
    while left:
        for message in reader.consume(500, 0.2):
            if message.error():
                left -= 1
            else:
                found[(message.key() or b"").decode()].append(int.from_bytes(message.value() or b"", "big"))
    reader.close()
    return found


# --- the copier of Kafka's system tests


@pytest.mark.parametrize("mode", ["assigned", "group"])
def test_the_transactional_message_copier(
    java: JavaTools, bootstrap: str, create: Create, topic: str, group: str, mode: str
) -> None:
    source, target = create(f"in-{topic}"), create(f"out-{topic}")
    write(bootstrap, source, [b"%d" % i for i in range(2000)])
    beside = Beside(bootstrap, target)
    done = java.run_alone(
        COPIER, "--broker-list", bootstrap, "--input-topic", source, "--input-partition", "0", "--output-topic", target,
        "--consumer-group", group, "--transaction-size", "100", "--transactional-id", topic, "--enable-random-aborts",
        *(["--group-mode", "--use-group-metadata"] if mode == "group" else []), timeout_seconds=90,
    )  # fmt: skip
    reports = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    assert any(report.get("stage") == "ProcessLoop" for report in reports), done
    assert values(bootstrap, target) == [b"%d" % i for i in range(2000)]
    assert committed(bootstrap, group, source) == 2000
    until(lambda: len(beside.seen) >= 2000, "the reader beside has read all")
    beside.stop()
    assert len(beside.seen) == 2000
