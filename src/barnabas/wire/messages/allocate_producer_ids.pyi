"""The types of wire/schema/allocate_producer_ids.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AllocateProducerIdsRequest(Request[AllocateProducerIdsResponseBody], kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...

class AllocateProducerIdsRequestBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int

class AllocateProducerIdsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    producer_id_start: int = ...
    producer_id_len: int = ...

class AllocateProducerIdsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int
