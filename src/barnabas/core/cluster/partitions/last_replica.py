"""What a cluster becomes of which one node's folder is all that is left: every other broker is fenced, the node leads
what it has a replica of, whoever was in sync before, and what it has no replica of has no leader.

Replicas stay assigned as they were, so that new nodes with the old ids are filled from this one. Nothing stays eligible
on a lost node (KIP-966): an empty disk under its old id must not lead, or the loss would look like an empty partition.
"""

from barnabas.core.cluster.image import NO_LEADER, MetadataImage
from barnabas.core.cluster.records import ChangeBroker, PartitionChange, Record


def last_replica_records(image: MetadataImage, node_id: int) -> list[Record]:
    records: list[Record] = [
        ChangeBroker(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=True)
        for broker in image.brokers.values()
        if broker.broker_id != node_id and not broker.fenced
    ]
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            here = node_id in partition.replicas
            records.append(
                PartitionChange(
                    topic_id=topic.id,
                    partition=index,
                    leader=node_id if here else NO_LEADER,
                    isr=(node_id,) if here else (),
                    elr=() if partition.elr else None,
                    last_known_elr=() if partition.last_known_elr else None,
                )
            )
    return records
