"""AssignReplicasToDirs (KIP-858): in which directory a broker's replica lies, or that its log is lost.

A broker that finds one log damaged, or its folder gone, says so with Kafka's id for a lost directory. The replica is
then neither in sync nor eligible, leadership moves away from it, and it comes back as any follower does once it is
filled again. Where nobody else is known to have everything, the report is refused: a damaged log is better than none.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from barnabas.core.cluster.brokers import check_epoch
from barnabas.core.cluster.image import MetadataImage, TopicImage
from barnabas.core.cluster.items import ReplicaDirectory
from barnabas.core.cluster.partitions.partition_change import Wish, changed, may_serve
from barnabas.core.cluster.partitions.rules import RulesOf
from barnabas.core.cluster.records import PartitionChange, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import LOST_DIRECTORY


def assign(
    image: MetadataImage, broker_id: int, broker_epoch: int, wanted: Sequence[ReplicaDirectory], rules_of: RulesOf
) -> tuple[list[Record], list[ReplicaDirectory]]:
    check_epoch(image, broker_id, broker_epoch)
    records: list[Record] = []
    results: list[ReplicaDirectory] = []
    for item in {(item.topic_id, item.partition): item for item in wanted}.values():
        try:
            change = _one(image, broker_id, item, rules_of)
            if change is not None:
                records.append(change)
            results.append(item)
        except KafkaError as error:
            results.append(replace(item, code=error.code))
    return records, results


def _one(image: MetadataImage, broker_id: int, item: ReplicaDirectory, rules_of: RulesOf) -> PartitionChange | None:
    topic = image.topic_by_id(item.topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    if not 0 <= item.partition < len(topic.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = topic.partitions[item.partition]
    if broker_id not in partition.replicas:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if item.directory_id == LOST_DIRECTORY:
        return _lost(image, topic, item.partition, broker_id, rules_of)
    place = partition.replicas.index(broker_id)
    directories = (*partition.directories[:place], item.directory_id, *partition.directories[place + 1 :])
    if directories == partition.directories:
        return None
    return PartitionChange(topic_id=topic.id, partition=item.partition, directories=directories)


def _lost(
    image: MetadataImage, topic: TopicImage, index: int, broker_id: int, rules_of: RulesOf
) -> PartitionChange | None:
    partition = topic.partitions[index]
    if not any(b != broker_id for b in (*partition.isr, *partition.elr)):
        raise KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "nobody else has what this replica has")
    return changed(image, topic, index, rules_of(topic), Wish(lost=frozenset({broker_id})), may_serve(image))
