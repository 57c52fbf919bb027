"""Does this node lead the partition, and does the client's idea of the leader epoch fit? (KIP-320)"""

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import HostedPartitions
from barnabas.model.errors import ErrorCode, KafkaError


def leader_partition(node: HostedPartitions, topic: str, index: int) -> HostedPartition:
    partition = node.partitions.get(topic, index)
    if partition is None:
        if node.image.partition(topic, index) is not None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this node does not lead {topic}-{index}")
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{index}")
    return partition


def hosted_partition(node: HostedPartitions, topic: str, index: int) -> HostedPartition:
    """Any replica this node has."""
    return node.partitions.hosted(topic, index) or leader_partition(node, topic, index)


def check_leader_epoch(partition: HostedPartition, client_epoch: int) -> None:
    """-1: the client does not know. Older than ours: it must refresh its metadata. Newer: we must catch up."""
    if client_epoch < 0 or client_epoch == partition.leader_epoch:
        return
    if client_epoch < partition.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
    raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
