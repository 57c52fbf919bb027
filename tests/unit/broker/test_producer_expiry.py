"""Producer ids expire on a timer of their own (`producer.id.expiration.check.interval.ms`)."""

import time

from confluent_kafka import Producer

from barnabas.testing import RunningNode, running_node


def known_producers(node: RunningNode) -> int:
    assert node._node is not None
    partition = node._node.partitions.get("events", 0)
    return len(partition.open().producers) if partition is not None else 0


def test_idle_producers_go_without_waiting_for_retention() -> None:
    settings = {"producer.id.expiration.ms": 1500, "producer.id.expiration.check.interval.ms": 50}
    with running_node(settings) as node:
        producer = Producer({"bootstrap.servers": node.bootstrap, "enable.idempotence": True, "linger.ms": 0})
        producer.produce("events", b"x", timestamp=1)  # an old record; its producer is not
        assert producer.flush(10) == 0
        appended = time.monotonic()
        assert known_producers(node) == 1
        while known_producers(node):
            assert time.monotonic() < appended + 20
            time.sleep(0.02)
        assert time.monotonic() - appended > 1, "it was kept for as long as the setting says"
        assert node._node is not None
        assert node._node.replication.producer_total.count == 0
