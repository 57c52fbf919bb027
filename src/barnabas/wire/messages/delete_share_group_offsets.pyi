"""The types of wire/schema/delete_share_group_offsets.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DeleteShareGroupOffsetsRequestTopic(Struct, kw_only=True):
    topic_name: str = ...

class DeleteShareGroupOffsetsRequestTopicBody(TypedDict, total=False):
    topic_name: str

class DeleteShareGroupOffsetsRequest(Request[DeleteShareGroupOffsetsResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[DeleteShareGroupOffsetsRequestTopic] = ...

class DeleteShareGroupOffsetsRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[DeleteShareGroupOffsetsRequestTopicBody]

class DeleteShareGroupOffsetsResponseTopic(Struct, kw_only=True):
    topic_name: str = ...
    topic_id: bytes = ...
    error_code: int = ...
    error_message: str | None = ...

class DeleteShareGroupOffsetsResponseTopicBody(TypedDict, total=False):
    topic_name: str
    topic_id: bytes
    error_code: int
    error_message: str | None

class DeleteShareGroupOffsetsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    responses: list[DeleteShareGroupOffsetsResponseTopic] = ...

class DeleteShareGroupOffsetsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: Sequence[DeleteShareGroupOffsetsResponseTopicBody]
