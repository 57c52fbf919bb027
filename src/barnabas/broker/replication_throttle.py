"""How fast replicas that are being moved are filled (KIP-73): `follower.replication.throttled.rate`, bytes a second.

It holds for the partitions that a topic's `follower.replication.throttled.replicas` names, while they are not in sync:
a replica that is in sync is never slowed, for producers wait for it. What was taken beyond the rate is waited for
afterwards, partition by partition.
"""

from typing import TYPE_CHECKING

from barnabas.broker.partition import HostedPartition
from barnabas.model.settings import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_RATE = "follower.replication.throttled.rate"
_REPLICAS = "follower.replication.throttled.replicas"
_WINDOW_SECONDS = 1.0  # what was not used is kept for so long


class Throttle:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self.rate = 0  # bytes a second; 0: none
        self._free_at = 0.0  # when what was taken so far has been paid for

    def image_changed(self) -> None:
        image = self._node.image
        node = image.config(ResourceType.BROKER, str(self._node.node_id))
        value = node.get(_RATE) or image.config(ResourceType.BROKER, "").get(_RATE) or "0"
        self.rate = max(int(value), 0) if value.isdecimal() else 0

    def wait_seconds(self, partition: HostedPartition, size: int, now: float) -> float:
        """So many bytes were taken for this partition: how long may it not ask for more?"""
        if not self.rate or self._node.node_id in partition.image.isr or not self._is_throttled(partition):
            return 0.0
        self._free_at = max(self._free_at, now - _WINDOW_SECONDS) + size / self.rate
        return max(self._free_at - now, 0.0)

    def _is_throttled(self, partition: HostedPartition) -> bool:
        topic = self._node.image.topic(partition.id.topic)
        named = topic.configs.get(_REPLICAS, "") if topic is not None else ""
        pair = f"{partition.id.partition}:{self._node.node_id}"
        return named == "*" or pair in (item.strip() for item in named.split(","))
