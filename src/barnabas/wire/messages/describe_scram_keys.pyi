"""The types of wire/schema/describe_scram_keys.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeScramKeysRequest(Request[DescribeScramKeysResponseBody], kw_only=True):
    known_digest: bytes = ...
    check_only: bool = ...

class DescribeScramKeysRequestBody(TypedDict, total=False):
    known_digest: bytes | memoryview
    check_only: bool

class ScramKeys(Struct, kw_only=True):
    user: str = ...
    mechanism: int = ...
    iterations: int = ...
    salt: bytes = ...
    stored_key: bytes = ...
    server_key: bytes = ...

class ScramKeysBody(TypedDict, total=False):
    user: str
    mechanism: int
    iterations: int
    salt: bytes | memoryview
    stored_key: bytes | memoryview
    server_key: bytes | memoryview

class DescribeScramKeysResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    digest: bytes = ...
    users_left_out: int = ...
    keys: list[ScramKeys] = ...

class DescribeScramKeysResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    digest: bytes | memoryview
    users_left_out: int
    keys: Sequence[ScramKeysBody]
