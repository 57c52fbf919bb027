"""Partitions of a source that share a connection, against a real node."""

from __future__ import annotations

import random
import time

import pytest
from confluent_kafka import Producer

from barnabas import Admin
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.mirror import fetching as fetching_module
from barnabas.connect.connectors.mirror.fetching import EARLIEST, LATEST, Fetching, Lost
from barnabas.connect.errors import Unavailable
from barnabas.testing import running_node
from barnabas.wire.visible import next_offset
from tests.support.members import QUIET

BUSY, BIG = ("busy", 0), ("big", 0)
MIB = 1 << 20


def _produce(bootstrap: str, topic: str, count: int, size: int) -> None:
    """A batch for each record."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "message.max.bytes": 4 * MIB, "batch.num.messages": 1, **QUIET}
    )
    for number in range(count):
        producer.produce(topic, random.Random(number).randbytes(size), partition=0)
        producer.poll(0)
    assert producer.flush(30) == 0


def test_a_batch_above_the_bound_of_a_partition_comes_beside_a_busy_one() -> None:
    with running_node({"message.max.bytes": 4 * MIB}) as node, Admin(node.bootstrap) as admin:
        for topic in ("busy", "big"):
            admin.create_topic(topic, partitions=2)
        _produce(node.bootstrap, "busy", 60, MIB // 4)
        _produce(node.bootstrap, "big", 1, 3 * MIB // 2)
        fetching = Fetching(Cluster(node.bootstrap))
        for place in (("busy", 1), BUSY, BIG):
            fetching.open(place, 0, fetching.topic_id(place[0]))
        offset, was_asked = 0, 0
        while fetching._open[BIG].found is None and offset < 60:  # it is asked for beside the busy one, never alone
            if (found := fetching.take(BUSY, offset, 1.0)) is not None:
                offset, was_asked = next_offset(found.records, offset), was_asked + 1
                fetching.ask_ahead(BUSY, offset)
        fetching.close()
        assert was_asked <= 3, "it came only when the busy one had no more"


def test_a_topic_that_is_gone_is_said_at_once_and_not_made() -> None:
    with running_node({"auto.create.topics.enable": True}) as node, Admin(node.bootstrap) as admin:
        admin.create_topic("busy", partitions=1)
        fetching = Fetching(Cluster(node.bootstrap))
        fetching.open(BUSY, 0, fetching.topic_id("busy"))
        assert fetching.take(BUSY, 0, 0.1) is None
        admin.delete_topic("busy")
        admin.create_topic("busy", partitions=1)
        began = time.monotonic()
        with pytest.raises(Unavailable, match="unknown topic"):
            while time.monotonic() < began + 10:
                fetching.take(BUSY, 0, 0.1)
        admin.delete_topic("busy")
        fetching.open(BUSY, 0)
        with pytest.raises(Unavailable, match="unknown topic"):
            while time.monotonic() < began + 20:
                fetching.take(BUSY, 0, 0.1)
        fetching.close()
        assert "busy" not in [each.name for each in admin.topics()]


@pytest.mark.parametrize("fault", ["cut", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH"])
def test_faults_pass_by(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching_module, "_PAUSE_S", 0.01)
    with running_node() as node, Admin(node.bootstrap) as admin:
        admin.create_topic("busy", partitions=1)
        _produce(node.bootstrap, "busy", 5, 10)
        fetching = Fetching(Cluster(node.bootstrap))
        try:
            for api in ("Fetch", "ListOffsets"):
                if fault == "cut":
                    node.disconnect_next(api, times=2)
                else:
                    node.fail_next(api, fault, times=2)
            assert (fetching.bound(BUSY, EARLIEST), fetching.bound(BUSY, LATEST)) == (0, 5)
            fetching.open(BUSY, 0, fetching.topic_id("busy"))
            found = None
            for _ in range(50):
                if (found := fetching.take(BUSY, 0, 0.2)) is not None:
                    break
            assert found is not None and next_offset(found.records, 0) == 5
        finally:
            node.heal()
            fetching.close()


def test_an_offset_that_is_gone_is_lost_and_a_cluster_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching_module, "_PATIENCE_S", 0.2)
    with running_node() as node, Admin(node.bootstrap) as admin:
        admin.create_topic("busy", partitions=1)
        _produce(node.bootstrap, "busy", 5, 10)
        admin.delete_records("busy", {0: 3})
        fetching = Fetching(Cluster(node.bootstrap))
        fetching.open(BUSY, 0, fetching.topic_id("busy"))
        with pytest.raises(Lost):
            for _ in range(50):
                fetching.take(BUSY, 0, 0.2)
        with pytest.raises(Unavailable, match="topic nowhere at"):
            fetching.topic_id("nowhere")
        fetching.open(BUSY, 3, fetching.topic_id("busy"))
        assert fetching.take(BUSY, 3, 1.0) is not None
    with pytest.raises(Unavailable):
        for _ in range(50):
            fetching.take(BUSY, 5, 0.1)
    with pytest.raises(Unavailable, match="cluster"):
        fetching.topic_id("busy")
    fetching.close()
