"""The types of wire/schema/sasl_handshake.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class SaslHandshakeRequest(Request[SaslHandshakeResponseBody], kw_only=True):
    mechanism: str = ...

class SaslHandshakeRequestBody(TypedDict, total=False):
    mechanism: str

class SaslHandshakeResponse(Struct, kw_only=True):
    error_code: int = ...
    mechanisms: list[str] = ...

class SaslHandshakeResponseBody(TypedDict, total=False):
    error_code: int
    mechanisms: Sequence[str]
