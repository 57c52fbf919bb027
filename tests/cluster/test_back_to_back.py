"""Transactions one right after the other on three nodes, by Kafka's own client: consume, transform, produce.

The commit of one is answered before its markers are written, so the first batch of the next may reach a leader before
the marker of the last. That marker must not be taken for the end of the new transaction (KAFKA-18575).
"""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from tests.crash.load import read_all
from tests.support.cluster import BarnabasCluster
from tests.support.java import JavaTools
from tests.support.members import QUIET

pytestmark = pytest.mark.timeout(180)
PARTITIONS, TRANSACTIONS, SIZE = 6, 150, 10


def test_a_copy_in_small_transactions_by_javas_client(calm: BarnabasCluster, java: JavaTools) -> None:
    source, target = calm.create("copied-from", PARTITIONS, 3), calm.create("copied-to", PARTITIONS, 3)
    producer = Producer({**QUIET, "bootstrap.servers": calm.bootstrap})
    sent = list(range(TRANSACTIONS * SIZE))
    for number in sent:
        producer.produce(source, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    words = (calm.bootstrap, source, target, "copy-loop", str(TRANSACTIONS), str(SIZE))
    ended = java.run("CopyLoop", *words, timeout_seconds=120)
    assert json.loads(ended.out)["transactions_per_s"] > 0
    copied = [value for found in read_all(calm.bootstrap, target, PARTITIONS).values() for _, value in found]
    assert sorted(copied) == sent, "each record once, none missing"
