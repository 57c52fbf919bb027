"""Transactions one right after the other on three nodes, by Kafka's own client and by franz-go: consume, transform,
produce.

The commit of one is answered before its markers are written, so the first batch of the next may reach a leader before
the marker of the last. That marker must not be taken for the end of the new transaction (KAFKA-18575).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.crash.load import read_all
from tests.support.cluster import BarnabasCluster
from tests.support.java import JavaTools
from tests.support.members import QUIET
from tests.support.paths import go_program

pytestmark = pytest.mark.timeout(180)
PARTITIONS, TRANSACTIONS, SIZE = 6, 150, 10


def test_a_copy_in_small_transactions_by_javas_client(calm: BarnabasCluster, java: JavaTools) -> None:
    source, target, sent = prepared(calm, "java")
    words = (calm.bootstrap, source, target, "copy-loop", str(TRANSACTIONS), str(SIZE))
    ended = java.run("CopyLoop", *words, timeout_seconds=120)
    assert json.loads(ended.out)["transactions_per_s"] > 0
    assert copied(calm, target) == sent, "each record once, none missing"


def test_a_copy_in_small_transactions_by_franz_go(calm: BarnabasCluster) -> None:
    source, target, sent = prepared(calm, "go")
    words: list[str | Path] = [
        go_program("copyloop"),
        calm.bootstrap,
        source,
        target,
        "go-copy-loop",
        str(len(sent)),
        str(SIZE),
    ]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["transactions"] >= TRANSACTIONS
    assert copied(calm, target) == sent, "each record once, none missing"


def prepared(cluster: BarnabasCluster, who: str) -> tuple[str, str, list[int]]:
    """The topic to copy, the one to copy to, and what stands in the first."""
    source = cluster.create(f"{who}-copied-from", PARTITIONS, 3)
    target = cluster.create(f"{who}-copied-to", PARTITIONS, 3)
    producer = Producer({**QUIET, "bootstrap.servers": cluster.bootstrap})
    sent = list(range(TRANSACTIONS * SIZE))
    for number in sent:
        producer.produce(source, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    return source, target, sent


def copied(cluster: BarnabasCluster, topic: str) -> list[int]:
    return sorted(value for found in read_all(cluster.bootstrap, topic, PARTITIONS).values() for _, value in found)
