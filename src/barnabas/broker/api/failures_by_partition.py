"""The answer that says "no" to a whole request, of the APIs that are asked about partitions: each carries the code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.wire import messages
    from barnabas.wire.messages import (
        AddPartitionsToTxnTopicResultBody,
        DescribeProducersRequest,
        WritableTxnMarkerTopicResultBody,
    )

_ERROR_ON_TOP_SINCE = 7  # of Fetch
_FETCH_BY_ID_SINCE = 13


def produce(request: messages.ProduceRequest, version: int, error: KafkaError) -> messages.ProduceResponseBody:
    code, message = int(error.code), error.message
    return {
        "responses": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partition_responses": [
                    {"index": part.index, "error_code": code, "error_message": message, "base_offset": -1}
                    for part in topic.partition_data
                ],
            }
            for topic in request.topic_data
        ]
    }


def fetch(request: messages.FetchRequest, version: int, error: KafkaError) -> messages.FetchResponseBody:
    code = int(error.code)
    on_top: messages.FetchResponseBody = {"error_code": code} if version >= _ERROR_ON_TOP_SINCE else {}
    if version >= _FETCH_BY_ID_SINCE:
        return {**on_top, "responses": []}
    return {
        **on_top,
        "responses": [
            {
                "topic": topic.topic,
                "topic_id": topic.topic_id,
                "partitions": [
                    {
                        "partition_index": part.partition,
                        "error_code": code,
                        "high_watermark": -1,
                        "aborted_transactions": [],
                        "records": b"",
                    }
                    for part in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }


def list_offsets(
    request: messages.ListOffsetsRequest, version: int, error: KafkaError
) -> messages.ListOffsetsResponseBody:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": part.partition_index, "error_code": int(error.code)}
                    for part in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }


def delete_records(
    request: messages.DeleteRecordsRequest, version: int, error: KafkaError
) -> messages.DeleteRecordsResponseBody:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": part.partition_index, "error_code": int(error.code), "low_watermark": -1}
                    for part in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }


def offset_for_leader_epoch(
    request: messages.OffsetForLeaderEpochRequest, version: int, error: KafkaError
) -> messages.OffsetForLeaderEpochResponseBody:
    return {
        "topics": [
            {
                "topic": topic.topic,
                "partitions": [
                    {"partition": part.partition, "error_code": int(error.code)} for part in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }


def alter_log_dirs(
    request: messages.AlterReplicaLogDirsRequest, version: int, error: KafkaError
) -> messages.AlterReplicaLogDirsResponseBody:
    return {
        "results": [
            {
                "topic_name": topic.name,
                "partitions": [{"partition_index": index, "error_code": int(error.code)} for index in topic.partitions],
            }
            for directory in request.dirs
            for topic in directory.topics
        ]
    }


def add_partitions_to_txn(
    request: messages.AddPartitionsToTxnRequest, version: int, error: KafkaError
) -> messages.AddPartitionsToTxnResponseBody:
    """A client that finds no partition in the answer takes it for a yes: each must carry the no."""
    code = int(error.code)
    if version >= 4:
        return {
            "error_code": code,
            "results_by_transaction": [
                {"transactional_id": each.transactional_id, "topic_results": _not_added(each.topics, code)}
                for each in request.transactions
            ],
        }
    return {"results_by_topic_v3_and_below": _not_added(request.v3_and_below_topics, code)}


def _not_added(
    topics: Iterable[messages.AddPartitionsToTxnTopic], code: int
) -> list[AddPartitionsToTxnTopicResultBody]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [{"partition_index": p, "partition_error_code": code} for p in topic.partitions],
        }
        for topic in topics
    ]


def describe_producers(
    request: DescribeProducersRequest, version: int, error: KafkaError
) -> messages.DescribeProducersResponseBody:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": index, "error_code": int(error.code)} for index in topic.partition_indexes
                ],
            }
            for topic in request.topics
        ]
    }


def write_txn_markers(
    request: messages.WriteTxnMarkersRequest, version: int, error: KafkaError
) -> messages.WriteTxnMarkersResponseBody:
    def topics(marker: messages.WritableTxnMarker) -> list[WritableTxnMarkerTopicResultBody]:
        return [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": index, "error_code": int(error.code)} for index in topic.partition_indexes
                ],
            }
            for topic in marker.topics
            if topic.partition_indexes
        ]

    return {"markers": [{"producer_id": each.producer_id, "topics": topics(each)} for each in request.markers]}


def elect_leaders(
    request: messages.ElectLeadersRequest, version: int, error: KafkaError
) -> messages.ElectLeadersResponseBody:
    code, message = int(error.code), error.message
    return {
        "error_code": code,
        "replica_election_results": [
            {
                "topic": topic.topic,
                "partition_result": [
                    {"partition_id": index, "error_code": code, "error_message": message} for index in topic.partitions
                ],
            }
            for topic in request.topic_partitions or ()
        ],
    }


def list_reassignments(
    request: messages.ListPartitionReassignmentsRequest, version: int, error: KafkaError
) -> messages.ListPartitionReassignmentsResponseBody:
    return {
        "error_code": int(error.code),
        "error_message": error.message,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": index, "replicas": [], "adding_replicas": [], "removing_replicas": []}
                    for index in topic.partition_indexes
                ],
            }
            for topic in request.topics or ()
        ],
    }


def alter_reassignments(
    request: messages.AlterPartitionReassignmentsRequest, version: int, error: KafkaError
) -> messages.AlterPartitionReassignmentsResponseBody:
    code, message = int(error.code), error.message
    return {
        "error_code": code,
        "error_message": message,
        "responses": [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": each.partition_index, "error_code": code, "error_message": message}
                    for each in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }
