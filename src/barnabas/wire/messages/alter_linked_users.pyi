"""The types of wire/schema/alter_linked_users.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class LinkedUserKeys(Struct, kw_only=True):
    user: str = ...
    mechanism: int = ...
    iterations: int = ...
    salt: bytes = ...
    stored_key: bytes = ...
    server_key: bytes = ...

class LinkedUserKeysBody(TypedDict, total=False):
    user: str
    mechanism: int
    iterations: int
    salt: bytes | memoryview
    stored_key: bytes | memoryview
    server_key: bytes | memoryview

class AlterLinkedUsersRequest(Request[AlterLinkedUsersResponseBody], kw_only=True):
    source_cluster_id: str = ...
    keys: list[LinkedUserKeys] = ...

class AlterLinkedUsersRequestBody(TypedDict, total=False):
    source_cluster_id: str
    keys: Sequence[LinkedUserKeysBody]

class LinkedUserResult(Struct, kw_only=True):
    user: str = ...
    error_code: int = ...
    error_message: str | None = ...

class LinkedUserResultBody(TypedDict, total=False):
    user: str
    error_code: int
    error_message: str | None

class AlterLinkedUsersResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    results: list[LinkedUserResult] = ...

class AlterLinkedUsersResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: Sequence[LinkedUserResultBody]
