"""The answer that says "no" to a whole request, in the shape each API has for it.

A handler that cannot do anything at all raises a KafkaError; here it becomes a body in which every item the client
asked about carries the code. Most APIs have one `error_code` on top (and an `error_message`, where the API's row says
so); the others are listed below, item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.model.errors import KafkaError
from barnabas.wire import apis
from barnabas.wire.apis import SERVED

if TYPE_CHECKING:
    from barnabas.wire import messages
    from barnabas.wire.messages import (
        AddPartitionsToTxnTopicResultBody,
        CoordinatorBody,
        DescribeProducersRequest,
        Request,
        WritableTxnMarkerTopicResultBody,
    )

Shape = Callable[[Any, int, KafkaError], Mapping[str, object]]  # each takes requests of its own API, in a version
_ERROR_ON_TOP_SINCE = 7  # of Fetch
_FETCH_BY_ID_SINCE = 13


def failure_body(api_key: int, version: int, request: Request[object], error: KafkaError) -> Mapping[str, object]:
    shape = _SHAPES.get(api_key)
    if shape is not None:
        return shape(request, version, error)
    code = int(error.code)
    return {"error_code": code, "error_message": error.message} if SERVED[api_key].explains else {"error_code": code}


# --- by partition ---------------------------------------------------------------------------------------------------


def _produce(request: messages.ProduceRequest, version: int, error: KafkaError) -> messages.ProduceResponseBody:
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


def _fetch(request: messages.FetchRequest, version: int, error: KafkaError) -> messages.FetchResponseBody:
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


def _list_offsets(
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


def _delete_records(
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


def _offset_for_leader_epoch(
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


def _alter_log_dirs(
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


def _add_partitions_to_txn(
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


def _describe_producers(
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


def _write_txn_markers(
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
        ]

    return {"markers": [{"producer_id": each.producer_id, "topics": topics(each)} for each in request.markers]}


# --- by name --------------------------------------------------------------------------------------------------------


def _find_coordinator(
    request: messages.FindCoordinatorRequest, version: int, error: KafkaError
) -> messages.FindCoordinatorResponseBody:
    code, message = int(error.code), error.message
    if version < 4:
        return {"error_code": code, "error_message": message, "node_id": -1, "host": "", "port": -1}
    nowhere: CoordinatorBody = {"error_code": code, "error_message": message, "node_id": -1, "host": "", "port": -1}
    return {"coordinators": [{**nowhere, "key": key} for key in request.coordinator_keys]}


def _metadata(request: messages.MetadataRequest, version: int, error: KafkaError) -> messages.MetadataResponseBody:
    return {
        "topics": [
            {"name": topic.name, "topic_id": topic.topic_id, "error_code": int(error.code), "partitions": []}
            for topic in request.topics or ()
        ]
    }


def _create_topics(
    request: messages.CreateTopicsRequest, version: int, error: KafkaError
) -> messages.CreateTopicsResponseBody:
    return {
        "topics": [
            {"name": topic.name, "error_code": int(error.code), "error_message": error.message}
            for topic in request.topics
        ]
    }


def _delete_topics(
    request: messages.DeleteTopicsRequest, version: int, error: KafkaError
) -> messages.DeleteTopicsResponseBody:
    code, message = int(error.code), error.message
    if version < 6:
        named = request.topic_names
        return {"responses": [{"name": name, "error_code": code, "error_message": message} for name in named]}
    return {
        "responses": [
            {"name": topic.name, "topic_id": topic.topic_id, "error_code": code, "error_message": message}
            for topic in request.topics
        ]
    }


def _create_partitions(
    request: messages.CreatePartitionsRequest, version: int, error: KafkaError
) -> messages.CreatePartitionsResponseBody:
    return {
        "results": [
            {"name": topic.name, "error_code": int(error.code), "error_message": error.message}
            for topic in request.topics
        ]
    }


def _describe_configs(
    request: messages.DescribeConfigsRequest, version: int, error: KafkaError
) -> messages.DescribeConfigsResponseBody:
    return {
        "results": [
            {
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
                "error_code": int(error.code),
                "error_message": error.message,
            }
            for resource in request.resources
        ]
    }


def _alter_configs(
    request: messages.AlterConfigsRequest | messages.IncrementalAlterConfigsRequest, version: int, error: KafkaError
) -> messages.AlterConfigsResponseBody:
    return {
        "responses": [
            {
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
                "error_code": int(error.code),
                "error_message": error.message,
            }
            for resource in request.resources
        ]
    }


def _describe_transactions(
    request: messages.DescribeTransactionsRequest, version: int, error: KafkaError
) -> messages.DescribeTransactionsResponseBody:
    return {
        "transaction_states": [
            {"transactional_id": name, "error_code": int(error.code)} for name in request.transactional_ids
        ]
    }


def _describe_topic_partitions(
    request: messages.DescribeTopicPartitionsRequest, version: int, error: KafkaError
) -> messages.DescribeTopicPartitionsResponseBody:
    return {"topics": [{"name": topic.name, "error_code": int(error.code)} for topic in request.topics]}


def _of_group(api_key: int) -> Shape:
    """What the coordinator itself would say: an older version may have no place for an error but each partition."""

    def body(
        request: Request[messages.OffsetCommitResponseBody], version: int, error: KafkaError
    ) -> Mapping[str, object]:
        from barnabas.core.groups.refusals import refusal  # loaded when the first client comes to a group

        return refusal(api_key, request, version, error.code, error.message)

    return body


_SHAPES: dict[int, Shape] = {
    **{
        api_key: _of_group(api_key)
        for api_key in (
            apis.OFFSET_COMMIT,
            apis.OFFSET_FETCH,
            apis.JOIN_GROUP,
            apis.DESCRIBE_GROUPS,
            apis.TXN_OFFSET_COMMIT,
            apis.DELETE_GROUPS,
            apis.CONSUMER_GROUP_DESCRIBE,
        )
    },
    apis.PRODUCE: _produce,
    apis.FETCH: _fetch,
    apis.LIST_OFFSETS: _list_offsets,
    apis.METADATA: _metadata,
    apis.FIND_COORDINATOR: _find_coordinator,
    apis.CREATE_TOPICS: _create_topics,
    apis.DELETE_TOPICS: _delete_topics,
    apis.DELETE_RECORDS: _delete_records,
    apis.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    apis.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    apis.WRITE_TXN_MARKERS: _write_txn_markers,
    apis.DESCRIBE_CONFIGS: _describe_configs,
    apis.ALTER_CONFIGS: _alter_configs,
    apis.ALTER_REPLICA_LOG_DIRS: _alter_log_dirs,
    apis.CREATE_PARTITIONS: _create_partitions,
    apis.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    apis.DESCRIBE_PRODUCERS: _describe_producers,
    apis.DESCRIBE_TRANSACTIONS: _describe_transactions,
    apis.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
}
