"""The types of wire/schema/renew_delegation_token.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class RenewDelegationTokenRequest(Request[RenewDelegationTokenResponseBody], kw_only=True):
    hmac: bytes = ...
    renew_period_ms: int = ...

class RenewDelegationTokenRequestBody(TypedDict, total=False):
    hmac: bytes | memoryview
    renew_period_ms: int

class RenewDelegationTokenResponse(Struct, kw_only=True):
    error_code: int = ...
    expiry_timestamp_ms: int = ...
    throttle_time_ms: int = ...

class RenewDelegationTokenResponseBody(TypedDict, total=False):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
