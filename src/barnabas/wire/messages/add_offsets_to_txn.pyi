"""The types of wire/schema/add_offsets_to_txn.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AddOffsetsToTxnRequest(Request[AddOffsetsToTxnResponseBody], kw_only=True):
    transactional_id: str = ...
    producer_id: int = ...
    producer_epoch: int = ...
    group_id: str = ...

class AddOffsetsToTxnRequestBody(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str

class AddOffsetsToTxnResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...

class AddOffsetsToTxnResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
