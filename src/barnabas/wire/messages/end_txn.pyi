"""The types of wire/schema/end_txn.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class EndTxnRequest(Request[EndTxnResponseBody], kw_only=True):
    transactional_id: str = ...
    producer_id: int = ...
    producer_epoch: int = ...
    committed: bool = ...

class EndTxnRequestBody(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool

class EndTxnResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    producer_id: int = ...
    producer_epoch: int = ...

class EndTxnResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
