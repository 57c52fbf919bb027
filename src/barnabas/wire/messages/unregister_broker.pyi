"""The types of wire/schema/unregister_broker.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class UnregisterBrokerRequest(Request[UnregisterBrokerResponseBody], kw_only=True):
    broker_id: int = ...

class UnregisterBrokerRequestBody(TypedDict, total=False):
    broker_id: int

class UnregisterBrokerResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...

class UnregisterBrokerResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
