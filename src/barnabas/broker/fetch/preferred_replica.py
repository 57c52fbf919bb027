"""Which replica a consumer should read from (KIP-392): one in its own rack, where the settings ask for it.

`replica.selector.class` names Kafka's RackAwareReplicaSelector; without it the leader serves everybody. Of the replicas
in the consumer's rack that are in sync and hold the offset it asks for, the one that has got furthest is named. The
leader itself is never named: it answers.
"""

from typing import Protocol

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import CurrentSettings
from barnabas.core.cluster.image import MetadataImage

_RACK_AWARE = "RackAwareReplicaSelector"


class RackView(CurrentSettings, Protocol):
    @property
    def rack(self) -> str | None:
        """Of this node."""

    @property
    def image(self) -> MetadataImage: ...


def preferred_replica(node: RackView, partition: HostedPartition, rack: str, offset: int) -> int:
    """The broker to ask, -1 for this one."""
    selector = node.settings["replica.selector.class"]
    state = partition.leadership.state
    if state is None or not selector or not str(selector).endswith(_RACK_AWARE) or node.rack == rack:
        return -1
    best, furthest = -1, offset - 1
    for replica, follower in state.followers.items():
        broker = node.image.brokers.get(replica)
        if (
            broker is not None
            and broker.alive
            and broker.rack == rack
            and replica in state.isr
            and follower.log_start_offset <= offset
            and follower.offset > furthest
        ):
            best, furthest = replica, follower.offset
    return best
