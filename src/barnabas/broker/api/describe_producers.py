"""DescribeProducers (61), version 0: who writes to a partition, and who has a transaction open in it (KIP-664)."""

from typing import TYPE_CHECKING, Any

from barnabas.broker.api.leadership import leader_partition
from barnabas.broker.context import RequestContext
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import topic_name_problem

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    return {
        "topics": [
            {"name": topic.name, "partitions": [_describe(node, topic.name, i) for i in topic.partition_indexes]}
            for topic in request.topics
        ]
    }


def _describe(node: "Node", topic: str, index: int) -> dict[str, Any]:
    try:
        if problem := topic_name_problem(topic):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        producers = leader_partition(node, topic, index).producers.entries()
    except KafkaError as error:
        return {"partition_index": index, "error_code": int(error.code), "error_message": error.message}
    return {
        "partition_index": index,
        "error_code": 0,
        "active_producers": [
            {
                "producer_id": entry.producer_id,
                "producer_epoch": entry.producer_epoch,
                "last_sequence": entry.last_sequence,
                "last_timestamp": entry.last_timestamp,
                "coordinator_epoch": entry.coordinator_epoch,
                "current_txn_start_offset": entry.current_txn_first_offset,
            }
            for entry in producers
        ],
    }
