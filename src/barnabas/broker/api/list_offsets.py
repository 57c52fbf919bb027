"""ListOffsets (2), versions 1-11: where a reader that knows a time, or only "the beginning", should start.

v2 isolation level, v4 leader epochs, v7 -3 the newest timestamp (KIP-734), v8 -4 the earliest local offset (KIP-405),
v9 -5 the latest tiered offset (KIP-1005), v10 a timeout, v11 -6 the earliest offset not yet uploaded (KIP-1023).
Nothing is tiered here, so the earliest local offset is the earliest, and there is no tiered one.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.leadership import check_leader_epoch, leader_partition
from barnabas.broker.context import RequestContext
from barnabas.broker.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.node import Node

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
READ_COMMITTED = 1
_NOT_AVAILABLE_SINCE = 5
_SINCE_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    _answer(node, topic.name, asked, context, request, count > 1)
                    for asked, count in _once_each(topic.partitions)
                ],
            }
            for topic in request.topics
        ]
    }


def _once_each(partitions: Iterable[Any]) -> list[tuple[Any, int]]:
    """Each partition once, and how often it was asked for."""
    asked: dict[int, tuple[Any, int]] = {}
    for partition in partitions:
        _, count = asked.get(partition.partition_index, (None, 0))
        asked[partition.partition_index] = (partition, count + 1)
    return list(asked.values())


def _answer(node: "Node", topic: str, asked: Any, context: RequestContext, request: Any, twice: bool) -> dict[str, Any]:
    isolation_level, replica_id = request.isolation_level, request.replica_id
    try:
        if twice:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the partition is asked for twice")
        if asked.timestamp < 0 and context.api_version < _SINCE_VERSION.get(asked.timestamp, 0):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition = leader_partition(node, topic, asked.partition_index)
        check_leader_epoch(partition, asked.current_leader_epoch)
        if replica_id >= 0:
            bound = partition.log.log_end_offset
        else:
            bound = partition.last_stable_offset if isolation_level == READ_COMMITTED else partition.high_watermark
            _check_settled(partition, asked.timestamp, context.api_version)
        timestamp, offset, epoch = _find(partition, asked.timestamp, bound)
    except KafkaError as error:
        return {"partition_index": asked.partition_index, "error_code": int(error.code)}
    return {
        "partition_index": asked.partition_index,
        "error_code": 0,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch,
    }


def _check_settled(partition: HostedPartition, timestamp: int, version: int) -> None:
    """A new leader does not know yet how far its predecessor had committed: "the end" would go back (KIP-207)."""
    state = partition.replicas
    if state is not None and timestamp in (LATEST, MAX_TIMESTAMP) and state.high_watermark < state.epoch_start_offset:
        since = ErrorCode.OFFSET_NOT_AVAILABLE if version >= _NOT_AVAILABLE_SINCE else ErrorCode.LEADER_NOT_AVAILABLE
        raise KafkaError(since, "the high watermark is not known yet")


def _find(partition: HostedPartition, timestamp: int, bound: int) -> tuple[int, int, int]:
    log = partition.log
    match timestamp:
        case -1:
            return -1, bound, partition.leader_epoch
        case -2 | -4:
            return -1, log.log_start_offset, log.epochs.epoch_for(log.log_start_offset)
        case -3:
            found = log.max_timestamp_offset()
        case -5 | -6:
            return -1, -1, -1
        case _ if timestamp < 0:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"no meaning is known for timestamp {timestamp}")
        case _:
            found = log.offset_for_timestamp(timestamp)
    if found is None or found[1] >= bound:
        return -1, -1, -1
    return found
