"""How fast replicas that are being moved are filled (KIP-73): `leader.` and `follower.replication.throttled.rate`, in
bytes a second, for the partitions that a topic's `leader.` and `follower.replication.throttled.replicas` name.

Both hold only for a replica that is not in sync: one that is in sync is never slowed, for producers wait for it. The
follower asks no more of a partition, and the leader leaves it out of its answers, until what was taken beyond the rate
is paid for. The debt is kept in bytes, so a rate that is raised or lifted counts at once for what is already owed.
"""

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import ClusterView
from barnabas.model.settings import ResourceType

_WINDOW_SECONDS = 1.0  # what was not used is kept for so long


class Throttle:
    """One of the two sides: `role` is "leader" or "follower"."""

    def __init__(self, cluster: ClusterView, role: str) -> None:
        self._cluster = cluster
        self._rate_name = f"{role}.replication.throttled.rate"
        self._replicas_name = f"{role}.replication.throttled.replicas"
        self.rate = 0  # bytes a second; 0: none
        self._owed_bytes = 0.0  # as of the time beside it; below zero: may be taken at once
        self._as_of = 0.0

    def image_changed(self, now: float) -> None:
        image = self._cluster.image
        node = image.config(ResourceType.BROKER, str(self._cluster.node_id))
        value = node.get(self._rate_name) or image.config(ResourceType.BROKER, "").get(self._rate_name) or "0"
        rate = max(int(value), 0) if value.isdecimal() else 0
        if rate != self.rate:
            self._owed(now)
            self.rate = rate
            self._owed_bytes = max(self._owed_bytes, 0.0) if rate else 0.0

    def _owed(self, now: float) -> float:
        paid = (now - self._as_of) * self.rate
        self._owed_bytes = max(self._owed_bytes - paid, -self.rate * _WINDOW_SECONDS)
        self._as_of = now
        return self._owed_bytes

    def holds_for(self, partition: HostedPartition, replica_id: int) -> bool:
        """Is this replica to be filled slowly?"""
        if not self.rate or replica_id in partition.image.isr:
            return False
        topic = self._cluster.image.topic(partition.id.topic)
        named = topic.configs.get(self._replicas_name, "") if topic is not None else ""
        pair = f"{partition.id.partition}:{self._cluster.node_id}"
        return named.strip() == "*" or pair in (item.strip() for item in named.split(","))

    def taken(self, size: int, now: float) -> None:
        """So many bytes have gone to, or come for, a replica that it holds for."""
        self._owed(now)
        self._owed_bytes += size

    def wait_seconds(self, now: float) -> float:
        """How long nothing more may be taken."""
        return max(self._owed(now) / self.rate, 0.0) if self.rate else 0.0
