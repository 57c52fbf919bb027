"""The types of wire/schema/list_transactions.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ListTransactionsRequest(Request[ListTransactionsResponseBody], kw_only=True):
    state_filters: list[str] = ...
    producer_id_filters: list[int] = ...
    duration_filter: int = ...
    transactional_id_pattern: str | None = ...

class ListTransactionsRequestBody(TypedDict, total=False):
    state_filters: Sequence[str]
    producer_id_filters: Sequence[int]
    duration_filter: int
    transactional_id_pattern: str | None

class ListTransactionsResponseTransactionState(Struct, kw_only=True):
    transactional_id: str = ...
    producer_id: int = ...
    transaction_state: str = ...

class ListTransactionsResponseTransactionStateBody(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    transaction_state: str

class ListTransactionsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    unknown_state_filters: list[str] = ...
    transaction_states: list[ListTransactionsResponseTransactionState] = ...

class ListTransactionsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    unknown_state_filters: Sequence[str]
    transaction_states: Sequence[ListTransactionsResponseTransactionStateBody]
