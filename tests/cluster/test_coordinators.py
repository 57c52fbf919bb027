"""Groups and transactions whose coordinators die: clients notice a retry, and nothing else."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.crash.load import FAST
from tests.support.cluster import CHAOS, BarnabasCluster
from tests.support.members import QUIET, Member, until, write
from tests.support.wire import FIND_COORDINATOR

pytestmark = pytest.mark.timeout(300)


def coordinator(cluster: BarnabasCluster, key: str, kind: int) -> int:
    found = cluster.ask(cluster.up[0], FIND_COORDINATOR, 3, {"key": key, "key_type": kind})
    return int(found["node_id"])


def test_a_group_outlives_its_coordinator(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 4, 3, min_insync_replicas="2")
    write(cluster.bootstrap, topic, [b"%d" % i for i in range(400)], 4)
    members = [Member(cluster.bootstrap, "billing", [topic], name=f"m{i}", **FAST) for i in range(2)]
    until(lambda: sum(len(member.read) for member in members) >= 400, "all is read", 30)
    time.sleep(0.5)
    victim = coordinator(cluster, "billing", 0)
    cluster.kill(victim)
    write(cluster.bootstrap, topic, [b"%d" % i for i in range(400, 800)], 4)
    until(lambda: len({v for m in members for _, _, v in m.read}) >= 800, "the group reads on", 60)
    cluster.start(victim)
    for member in members:
        member.close()
    reader = Consumer({**QUIET, "bootstrap.servers": cluster.bootstrap, "group.id": "billing"})
    committed = reader.committed([TopicPartition(topic, p) for p in range(4)], timeout=20)
    reader.close()
    assert sum(each.offset for each in committed) == 800, "committed offsets survived the coordinator"


@pytest.mark.parametrize("who", ["coordinator", "leader"])
def test_transactions_outlive_what_carries_them(cluster: BarnabasCluster, who: str) -> None:
    """Numbers in transactions of ten, every third aborted; the victim dies in the middle of one, again and again."""
    topic = cluster.create("paid", 2, 3, min_insync_replicas="2")
    settings = {**FAST, "bootstrap.servers": cluster.bootstrap, "transactional.id": "cashier"}
    producer = Producer({**settings, "transaction.timeout.ms": 10_000, "message.timeout.ms": 10_000})
    until(lambda: _ready(producer), "transactions can begin", 30)
    expected: list[int] = []
    kills = 10 if CHAOS else 2
    rounds = 12 * kills
    number = 0
    for turn in range(rounds):
        values = list(range(number, number + 10))
        number += 10
        _one(producer, cluster, topic, values, turn, who, rounds // kills, expected)
    for each in (1, 2, 3):
        if each not in cluster.up:
            cluster.start(each)
    reader = Consumer(
        {
            **QUIET,
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "audit",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(topic, p, 0) for p in range(2)])
    seen: list[int] = []
    ends: set[int] = set()
    deadline = time.monotonic() + 60
    while len(ends) < 2 and time.monotonic() < deadline:
        for message in reader.consume(500, 0.5):
            if message.error():
                ends.add(message.partition() or 0)
            else:
                seen.append(int(message.value() or b""))
    reader.close()
    assert sorted(seen) == expected


def _ready(producer: Producer) -> bool:
    try:
        producer.init_transactions(10)
    except KafkaException:
        return False
    return True


def _one(
    producer: Producer,
    cluster: BarnabasCluster,
    topic: str,
    values: list[int],
    turn: int,
    who: str,
    every: int,
    expected: list[int],
) -> None:
    """One transaction, tried again as the client asks for it."""
    for _ in range(20):
        try:
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, str(value).encode(), partition=value % 2)
            producer.flush(10)
            if turn % every == every // 2 and len(cluster.up) == 3:
                cluster.kill(coordinator(cluster, "cashier", 1) if who == "coordinator" else cluster.leader(topic))
            elif turn % every == every - 1 and len(cluster.up) < 3:
                cluster.start(*(each for each in (1, 2, 3) if each not in cluster.up))
            if turn % 3 == 2:
                _patiently(producer.abort_transaction)
            else:
                _patiently(producer.commit_transaction)
                expected.extend(values)
            return
        except KafkaException as error:
            problem = error.args[0]
            if problem.txn_requires_abort():
                _patiently(producer.abort_transaction)
            elif not problem.retriable():
                raise
    raise AssertionError(f"transaction {turn} does not end")


def _patiently(call: object) -> None:
    """Commit and abort may time out and be called again: they go on where they were."""
    deadline = time.monotonic() + 60
    while True:
        try:
            call(5)  # type: ignore[operator]
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
