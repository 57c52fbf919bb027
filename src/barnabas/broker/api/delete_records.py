"""DeleteRecords (21), versions 0-2: everything before an offset is gone for good. -1 means up to the high watermark.

With followers the answer waits until their logs begin there too (those that are up), or the time is over: a record that
was deleted must not come back with the next leader.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.leadership import leader_partition
from barnabas.broker.context import RequestContext
from barnabas.broker.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    deadline = asyncio.get_running_loop().time() + max(request.timeout_ms, 0) / 1000
    wanted = [(topic.name, asked) for topic in request.topics for asked in topic.partitions]
    done = await asyncio.gather(*(_delete(node, name, asked, deadline) for name, asked in wanted))
    answers = iter(done)
    return {
        "topics": [
            {"name": topic.name, "partitions": [next(answers) for _ in topic.partitions]} for topic in request.topics
        ]
    }


async def _delete(node: "Node", topic: str, asked: Any, deadline: float) -> dict[str, Any]:
    try:
        partition = leader_partition(node, topic, asked.partition_index)
        log = partition.log
        if "delete" not in log.config.cleanup_policy:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "records of a topic that is only compacted are not deleted")
        offset = partition.high_watermark if asked.offset == -1 else asked.offset
        if not 0 <= offset <= partition.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if offset > log.log_start_offset:
            log.advance_log_start(offset)
            node.log_starts_changed()
        await _everywhere(partition, offset, deadline)
    except KafkaError as error:
        return {"partition_index": asked.partition_index, "low_watermark": -1, "error_code": int(error.code)}
    return {"partition_index": asked.partition_index, "low_watermark": partition.low_watermark(), "error_code": 0}


async def _everywhere(partition: HostedPartition, offset: int, deadline: float) -> None:
    if partition.low_watermark() >= offset:
        return
    outcome: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def settled(code: ErrorCode) -> None:
        if not outcome.done():
            outcome.set_result(code)

    partition.when_deleted(offset, settled)
    try:
        async with asyncio.timeout_at(deadline):
            code = await outcome
    except TimeoutError:
        code = ErrorCode.REQUEST_TIMED_OUT
    if code is not ErrorCode.NONE:
        raise KafkaError(code)
