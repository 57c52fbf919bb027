"""AlterPartition (KIP-497, 841, 903): a leader says who is in sync, and the controller holds it to the newest state.

A leader speaks in its leader epoch and about a partition epoch; whatever is older is refused, so that two nodes that
think they lead cannot both be obeyed. Nobody joins who is fenced, on its way down, or was restarted since the leader
last heard of it (its broker epoch): such a replica may have lost what the leader thinks it has. The checks stand in
Kafka's order, so a leader gets the same code.

    the controller is behind the leader            NOT_CONTROLLER: look for the newer one
    older leader epoch                             FENCED_LEADER_EPOCH
    not the leader, the leader not in the list     INVALID_REQUEST
    older partition epoch                          INVALID_UPDATE_VERSION: look at the newest state and try again
    somebody who may not be in sync                INELIGIBLE_REPLICA
    done, and it ended a move that took the lead   NEW_LEADER_ELECTED
"""

from collections.abc import Callable, Sequence

from barnabas.core.cluster.brokers import check_epoch
from barnabas.core.cluster.image import MetadataImage, PartitionImage, TopicImage
from barnabas.core.cluster.items import AlteredPartition, PartitionAlteration
from barnabas.core.cluster.partitions.partition_change import Wish, changed, may_serve
from barnabas.core.cluster.partitions.rules import RulesOf
from barnabas.core.cluster.records import Record
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID


def alter(
    image: MetadataImage, broker_id: int, broker_epoch: int, wanted: Sequence[PartitionAlteration], rules_of: RulesOf
) -> tuple[list[Record], list[AlteredPartition]]:
    check_epoch(image, broker_id, broker_epoch)
    records: list[Record] = []
    results: list[AlteredPartition] = []
    up = may_serve(image)
    seen: set[tuple[bytes, int]] = set()
    for item in wanted:
        key = (item.topic_id, item.partition)
        topic = image.topic_by_id(item.topic_id) if item.topic_id != ZERO_UUID else None
        code = ErrorCode.INVALID_REQUEST if key in seen else _check(image, broker_id, topic, item, up)
        seen.add(key)
        if code is not ErrorCode.NONE or topic is None:
            results.append(AlteredPartition(item.topic_id, item.partition, code))
            continue
        old = topic.partitions[item.partition]
        wish = Wish(isr=tuple(replica for replica, _ in item.isr))
        change = changed(image, topic, item.partition, rules_of(topic), wish, up)
        if change is None:
            results.append(_now(item, old.leader, old.leader_epoch, old.isr, old.partition_epoch))
            continue
        records.append(change)
        if change.leader not in (None, broker_id):
            results.append(AlteredPartition(item.topic_id, item.partition, ErrorCode.NEW_LEADER_ELECTED))
            continue
        epoch = old.leader_epoch + (change.leader is not None)
        isr = old.isr if change.isr is None else change.isr
        results.append(_now(item, broker_id, epoch, isr, old.partition_epoch + 1))
    return records, results


def _now(
    item: PartitionAlteration, leader: int, epoch: int, isr: tuple[int, ...], partition_epoch: int
) -> AlteredPartition:
    return AlteredPartition(item.topic_id, item.partition, ErrorCode.NONE, leader, epoch, isr, partition_epoch)


def _check(
    image: MetadataImage,
    broker_id: int,
    topic: TopicImage | None,
    item: PartitionAlteration,
    up: Callable[[int], bool],
) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not 0 <= item.partition < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = topic.partitions[item.partition]
    if item.leader_epoch > partition.leader_epoch or item.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if item.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if item.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return _check_isr(image, partition, item, up)


def _check_isr(
    image: MetadataImage, partition: PartitionImage, item: PartitionAlteration, up: Callable[[int], bool]
) -> ErrorCode:
    isr = [replica for replica, _ in item.isr]
    if len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    for replica, epoch in item.isr:
        if not up(replica) or epoch not in (-1, image.brokers[replica].broker_epoch):
            return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE
