"""The types of wire/schema/envelope.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class EnvelopeRequest(Request[EnvelopeResponseBody], kw_only=True):
    request_data: bytes = ...
    request_principal: bytes | None = ...
    client_host_address: bytes = ...

class EnvelopeRequestBody(TypedDict, total=False):
    request_data: bytes | memoryview
    request_principal: bytes | memoryview | None
    client_host_address: bytes | memoryview

class EnvelopeResponse(Struct, kw_only=True):
    response_data: bytes | None = ...
    error_code: int = ...

class EnvelopeResponseBody(TypedDict, total=False):
    response_data: bytes | memoryview | None
    error_code: int
