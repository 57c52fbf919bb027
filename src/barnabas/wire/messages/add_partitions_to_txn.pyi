"""The types of wire/schema/add_partitions_to_txn.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AddPartitionsToTxnTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[int] = ...

class AddPartitionsToTxnTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[int]

class AddPartitionsToTxnTransaction(Struct, kw_only=True):
    transactional_id: str = ...
    producer_id: int = ...
    producer_epoch: int = ...
    verify_only: bool = ...
    topics: list[AddPartitionsToTxnTopic] = ...

class AddPartitionsToTxnTransactionBody(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: Sequence[AddPartitionsToTxnTopicBody]

class AddPartitionsToTxnRequest(Request[AddPartitionsToTxnResponseBody], kw_only=True):
    v3_and_below_transactional_id: str = ...
    v3_and_below_producer_id: int = ...
    v3_and_below_producer_epoch: int = ...
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = ...
    transactions: list[AddPartitionsToTxnTransaction] = ...

class AddPartitionsToTxnRequestBody(TypedDict, total=False):
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopicBody]
    transactions: Sequence[AddPartitionsToTxnTransactionBody]

class AddPartitionsToTxnPartitionResult(Struct, kw_only=True):
    partition_index: int = ...
    partition_error_code: int = ...

class AddPartitionsToTxnPartitionResultBody(TypedDict, total=False):
    partition_index: int
    partition_error_code: int

class AddPartitionsToTxnTopicResult(Struct, kw_only=True):
    name: str = ...
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = ...

class AddPartitionsToTxnTopicResultBody(TypedDict, total=False):
    name: str
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResultBody]

class AddPartitionsToTxnResult(Struct, kw_only=True):
    transactional_id: str = ...
    topic_results: list[AddPartitionsToTxnTopicResult] = ...

class AddPartitionsToTxnResultBody(TypedDict, total=False):
    transactional_id: str
    topic_results: Sequence[AddPartitionsToTxnTopicResultBody]

class AddPartitionsToTxnResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = ...
    error_code: int = ...
    results_by_transaction: list[AddPartitionsToTxnResult] = ...

class AddPartitionsToTxnResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResultBody]
    error_code: int
    results_by_transaction: Sequence[AddPartitionsToTxnResultBody]
