"""The types of wire/schema/delete_topics.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DeleteTopicState(Struct, kw_only=True):
    name: str | None = ...
    topic_id: bytes = ...

class DeleteTopicStateBody(TypedDict, total=False):
    name: str | None
    topic_id: bytes

class DeleteTopicsRequest(Request[DeleteTopicsResponseBody], kw_only=True):
    topic_names: list[str] = ...
    timeout_ms: int = ...
    topics: list[DeleteTopicState] = ...

class DeleteTopicsRequestBody(TypedDict, total=False):
    topic_names: Sequence[str]
    timeout_ms: int
    topics: Sequence[DeleteTopicStateBody]

class DeletableTopicResult(Struct, kw_only=True):
    name: str | None = ...
    error_code: int = ...
    error_message: str | None = ...
    topic_id: bytes = ...

class DeletableTopicResultBody(TypedDict, total=False):
    name: str | None
    error_code: int
    error_message: str | None
    topic_id: bytes

class DeleteTopicsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    responses: list[DeletableTopicResult] = ...

class DeleteTopicsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    responses: Sequence[DeletableTopicResultBody]
