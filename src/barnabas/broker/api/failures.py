"""The answer that says "no" to a whole request, in the shape each API has for it.

A handler that cannot do anything at all raises a KafkaError; here it becomes a body in which every item the client
asked about carries the code. Most APIs have one `error_code` on top (and an `error_message`, where the API's row says
so); the others are listed below, item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.broker.api import failures_by_partition as by_partition
from barnabas.model.errors import KafkaError
from barnabas.wire import apis
from barnabas.wire.apis import SERVED

if TYPE_CHECKING:
    from barnabas.wire import messages
    from barnabas.wire.messages import (
        CoordinatorBody,
        Request,
    )

Shape = Callable[[Any, int, KafkaError], Mapping[str, object]]  # each takes requests of its own API, in a version


def failure_body(api_key: int, version: int, request: Request[object], error: KafkaError) -> Mapping[str, object]:
    shape = _SHAPES.get(api_key)
    if shape is not None:
        return shape(request, version, error)
    code = int(error.code)
    return {"error_code": code, "error_message": error.message} if SERVED[api_key].explains else {"error_code": code}


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


def _create_acls(
    request: messages.CreateAclsRequest, version: int, error: KafkaError
) -> messages.CreateAclsResponseBody:
    return {"results": [{"error_code": int(error.code), "error_message": error.message} for _ in request.creations]}


def _delete_acls(
    request: messages.DeleteAclsRequest, version: int, error: KafkaError
) -> messages.DeleteAclsResponseBody:
    code, message = int(error.code), error.message
    return {
        "filter_results": [{"error_code": code, "error_message": message, "matching_acls": []} for _ in request.filters]
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


def _init_producer_id(
    request: messages.InitProducerIdRequest, version: int, error: KafkaError
) -> messages.InitProducerIdResponseBody:
    return {"error_code": int(error.code), "producer_id": -1, "producer_epoch": -1}


def _describe_client_quotas(
    request: messages.DescribeClientQuotasRequest, version: int, error: KafkaError
) -> messages.DescribeClientQuotasResponseBody:
    return {"error_code": int(error.code), "error_message": error.message, "entries": None}


def _alter_client_quotas(
    request: messages.AlterClientQuotasRequest, version: int, error: KafkaError
) -> messages.AlterClientQuotasResponseBody:
    return {
        "entries": [
            {
                "error_code": int(error.code),
                "error_message": error.message,
                "entity": [{"entity_type": part.entity_type, "entity_name": part.entity_name} for part in entry.entity],
            }
            for entry in request.entries
        ]
    }


def _describe_scram(
    request: messages.DescribeUserScramCredentialsRequest, version: int, error: KafkaError
) -> messages.DescribeUserScramCredentialsResponseBody:
    code = int(error.code)
    return {
        "error_code": code,
        "error_message": error.message,
        "results": [{"user": "", "error_code": code, "error_message": None} for _ in request.users or ()],
    }


def _alter_scram(
    request: messages.AlterUserScramCredentialsRequest, version: int, error: KafkaError
) -> messages.AlterUserScramCredentialsResponseBody:
    users = dict.fromkeys([*(each.name for each in request.deletions), *(each.name for each in request.upsertions)])
    code, message = int(error.code), error.message
    return {"results": [{"user": user, "error_code": code, "error_message": message} for user in users]}


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
    apis.PRODUCE: by_partition.produce,
    apis.FETCH: by_partition.fetch,
    apis.LIST_OFFSETS: by_partition.list_offsets,
    apis.METADATA: _metadata,
    apis.FIND_COORDINATOR: _find_coordinator,
    apis.CREATE_TOPICS: _create_topics,
    apis.DELETE_TOPICS: _delete_topics,
    apis.ELECT_LEADERS: by_partition.elect_leaders,
    apis.ALTER_PARTITION_REASSIGNMENTS: by_partition.alter_reassignments,
    apis.LIST_PARTITION_REASSIGNMENTS: by_partition.list_reassignments,
    apis.INIT_PRODUCER_ID: _init_producer_id,
    apis.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    apis.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS: _describe_scram,
    apis.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram,
    apis.DELETE_RECORDS: by_partition.delete_records,
    apis.OFFSET_FOR_LEADER_EPOCH: by_partition.offset_for_leader_epoch,
    apis.ADD_PARTITIONS_TO_TXN: by_partition.add_partitions_to_txn,
    apis.WRITE_TXN_MARKERS: by_partition.write_txn_markers,
    apis.CREATE_ACLS: _create_acls,
    apis.DELETE_ACLS: _delete_acls,
    apis.DESCRIBE_CONFIGS: _describe_configs,
    apis.ALTER_CONFIGS: _alter_configs,
    apis.ALTER_REPLICA_LOG_DIRS: by_partition.alter_log_dirs,
    apis.CREATE_PARTITIONS: _create_partitions,
    apis.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    apis.DESCRIBE_PRODUCERS: by_partition.describe_producers,
    apis.DESCRIBE_TRANSACTIONS: _describe_transactions,
    apis.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
}
