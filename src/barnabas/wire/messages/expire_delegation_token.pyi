"""The types of wire/schema/expire_delegation_token.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ExpireDelegationTokenRequest(Request[ExpireDelegationTokenResponseBody], kw_only=True):
    hmac: bytes = ...
    expiry_time_period_ms: int = ...

class ExpireDelegationTokenRequestBody(TypedDict, total=False):
    hmac: bytes | memoryview
    expiry_time_period_ms: int

class ExpireDelegationTokenResponse(Struct, kw_only=True):
    error_code: int = ...
    expiry_timestamp_ms: int = ...
    throttle_time_ms: int = ...

class ExpireDelegationTokenResponseBody(TypedDict, total=False):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
