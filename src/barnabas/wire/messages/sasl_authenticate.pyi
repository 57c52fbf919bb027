"""The types of wire/schema/sasl_authenticate.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class SaslAuthenticateRequest(Request[SaslAuthenticateResponseBody], kw_only=True):
    auth_bytes: bytes = ...

class SaslAuthenticateRequestBody(TypedDict, total=False):
    auth_bytes: bytes | memoryview

class SaslAuthenticateResponse(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...
    auth_bytes: bytes = ...
    session_lifetime_ms: int = ...

class SaslAuthenticateResponseBody(TypedDict, total=False):
    error_code: int
    error_message: str | None
    auth_bytes: bytes | memoryview
    session_lifetime_ms: int
