"""Limits the rate at which replicas that are being moved are fetched (KIP-73).

`leader.` and `follower.replication.throttled.rate` are bytes a second, for the partitions that a topic's `leader.` and
`follower.replication.throttled.replicas` name.

Only a replica that is not in sync is throttled: producers wait for one that is. The follower does not name a throttled
partition, and the leader leaves it out of its answers, until the bytes above the rate have been waited for. They are
kept as bytes, not as a time, so a rate that is raised or removed counts at once.
"""

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import ClusterView
from barnabas.model.settings import ResourceType

_WINDOW_SECONDS = 1.0  # what was not used is kept for so long


class ByteRate:
    """So many bytes a second; 0: no limit."""

    def __init__(self, rate: int = 0) -> None:
        self.rate = rate
        self._excess_bytes = 0.0  # as of the time beside it; below zero: may be fetched at once
        self._as_of = 0.0

    def change(self, rate: int, now: float) -> None:
        if rate != self.rate:
            self._excess(now)
            self.rate = rate
            self._excess_bytes = max(self._excess_bytes, 0.0) if rate else 0.0

    def _excess(self, now: float) -> float:
        allowed = (now - self._as_of) * self.rate
        self._excess_bytes = max(self._excess_bytes - allowed, -self.rate * _WINDOW_SECONDS)
        self._as_of = now
        return self._excess_bytes

    def count(self, size: int, now: float) -> None:
        self._excess(now)
        self._excess_bytes += size

    def wait_seconds(self, now: float) -> float:
        """How long nothing more may be fetched."""
        return max(self._excess(now) / self.rate, 0.0) if self.rate else 0.0


class Throttle(ByteRate):
    """One of the two sides: `role` is "leader" or "follower". Counts what is sent to, or received for, a throttled
    replica."""

    def __init__(self, cluster: ClusterView, role: str) -> None:
        super().__init__()
        self._cluster = cluster
        self._rate_name = f"{role}.replication.throttled.rate"
        self._replicas_name = f"{role}.replication.throttled.replicas"

    def image_changed(self, now: float) -> None:
        image = self._cluster.image
        node = image.config(ResourceType.BROKER, str(self._cluster.node_id))
        value = node.get(self._rate_name) or image.config(ResourceType.BROKER, "").get(self._rate_name) or "0"
        self.change(max(int(value), 0) if value.isdecimal() else 0, now)

    def holds_for(self, partition: HostedPartition, replica_id: int) -> bool:
        """Is this replica throttled?"""
        if not self.rate or replica_id in partition.image.isr:
            return False
        topic = self._cluster.image.topic(partition.id.topic)
        named = topic.configs.get(self._replicas_name, "") if topic is not None else ""
        pair = f"{partition.id.partition}:{self._cluster.node_id}"
        return named.strip() == "*" or pair in (item.strip() for item in named.split(","))
