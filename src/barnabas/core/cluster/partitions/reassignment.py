"""Moving partitions: AlterPartitionReassignments and ListPartitionReassignments (KIP-455, KIP-860).

A move is a state of the partition, not a task: the replicas it adds stand in the assignment at once (and fetch), the
ones it removes stay until all the added ones are in sync. The change that brings the last of them in ends the move
(partition_change.py). So it survives every controller, can be replaced by another target at any time, and can be taken
back: then the added ones go.
"""

from collections.abc import Sequence

from barnabas.core.cluster.image import MetadataImage, PartitionImage, TopicImage
from barnabas.core.cluster.items import OngoingMove, Reassignment, ReassignmentResult
from barnabas.core.cluster.partitions.assignments import Room, check_manual
from barnabas.core.cluster.partitions.partition_change import Wish, changed, may_serve
from barnabas.core.cluster.partitions.rules import RulesOf
from barnabas.core.cluster.records import PartitionChange, Record
from barnabas.model.errors import ErrorCode, KafkaError


def reassign(
    image: MetadataImage, wanted: Sequence[Reassignment], allow_factor_change: bool, rules_of: RulesOf
) -> tuple[list[Record], list[ReassignmentResult]]:
    records: list[Record] = []
    results: list[ReassignmentResult] = []
    seen: set[tuple[str, int]] = set()
    room = Room(image)
    for item in wanted:
        try:
            if (item.topic, item.partition) in seen:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the partition stands in the request more than once")
            seen.add((item.topic, item.partition))
            change = _one(image, item, allow_factor_change, rules_of, room)
            if change is not None:
                records.append(change)
            results.append(ReassignmentResult(item.topic, item.partition))
        except KafkaError as error:
            results.append(ReassignmentResult(item.topic, item.partition, error.code, error.message))
    return records, results


def ongoing(image: MetadataImage, wanted: Sequence[tuple[str, Sequence[int]]] | None) -> list[OngoingMove]:
    """The moves that are under way, of the partitions named or of all."""
    asked = (
        ((t, range(len(t.partitions))) for t in image.topics.values())
        if wanted is None
        else ((image.topics[name], indexes) for name, indexes in wanted if name in image.topics)
    )
    return [
        OngoingMove(topic.name, index, partition.replicas, partition.adding_replicas, partition.removing_replicas)
        for topic, indexes in asked
        for index in indexes
        if 0 <= index < len(topic.partitions) and (partition := topic.partitions[index]).is_moving
    ]


def _one(
    image: MetadataImage, item: Reassignment, allow_factor_change: bool, rules_of: RulesOf, room: Room
) -> PartitionChange | None:
    topic = image.topics.get(item.topic)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {item.topic}.")
    if not 0 <= item.partition < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {item.topic}:{item.partition}."
        )
    partition = topic.partitions[item.partition]
    if item.replicas is None:
        return _cancelled(image, topic, item.partition, partition, rules_of)
    target = check_manual(image, item.replicas, None)
    if not allow_factor_change and len(target) != _factor_after(partition):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {_factor_after(partition)} to {len(target)}",
        )
    room.take([[b for b in target if b not in partition.replicas]])
    removing = tuple(b for b in partition.replicas if b not in target)
    # A replica that an earlier move was adding, and that this one keeps, still has to come into sync.
    late = [b for b in partition.adding_replicas if b not in partition.isr]
    adding = tuple(b for b in target if b not in partition.replicas or b in late)
    wish = Wish(replicas=(*target, *removing), adding=adding, removing=removing)
    return changed(image, topic, item.partition, rules_of(topic), wish, may_serve(image))


def _factor_after(partition: PartitionImage) -> int:
    """How many replicas the partition has, or will have when the move that is under way is done."""
    return len(partition.replicas) - len(partition.removing_replicas)


def _cancelled(
    image: MetadataImage, topic: TopicImage, index: int, partition: PartitionImage, rules_of: RulesOf
) -> PartitionChange | None:
    if not partition.is_moving:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    rules = rules_of(topic)
    replicas = tuple(b for b in partition.replicas if b not in partition.adding_replicas)
    isr = tuple(b for b in partition.isr if b in replicas)
    holders = (*partition.isr, *partition.elr)
    if holders and not any(b in replicas for b in holders) and not rules.unclean:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean "
            "leader election.",
        )
    wish = Wish(isr=isr, replicas=replicas, adding=(), removing=())
    return changed(image, topic, index, rules, wish, may_serve(image))
