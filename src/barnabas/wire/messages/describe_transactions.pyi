"""The types of wire/schema/describe_transactions.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeTransactionsRequest(Request[DescribeTransactionsResponseBody], kw_only=True):
    transactional_ids: list[str] = ...

class DescribeTransactionsRequestBody(TypedDict, total=False):
    transactional_ids: Sequence[str]

class DescribeTransactionsResponseTopicData(Struct, kw_only=True):
    topic: str = ...
    partitions: list[int] = ...

class DescribeTransactionsResponseTopicDataBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class DescribeTransactionsResponseTransactionState(Struct, kw_only=True):
    error_code: int = ...
    transactional_id: str = ...
    transaction_state: str = ...
    transaction_timeout_ms: int = ...
    transaction_start_time_ms: int = ...
    producer_id: int = ...
    producer_epoch: int = ...
    topics: list[DescribeTransactionsResponseTopicData] = ...

class DescribeTransactionsResponseTransactionStateBody(TypedDict, total=False):
    error_code: int
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    producer_id: int
    producer_epoch: int
    topics: Sequence[DescribeTransactionsResponseTopicDataBody]

class DescribeTransactionsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    transaction_states: list[DescribeTransactionsResponseTransactionState] = ...

class DescribeTransactionsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    transaction_states: Sequence[DescribeTransactionsResponseTransactionStateBody]
