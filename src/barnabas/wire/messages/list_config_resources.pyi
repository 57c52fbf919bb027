"""The types of wire/schema/list_config_resources.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ListConfigResourcesRequest(Request[ListConfigResourcesResponseBody], kw_only=True):
    resource_types: list[int] = ...

class ListConfigResourcesRequestBody(TypedDict, total=False):
    resource_types: Sequence[int]

class ConfigResource(Struct, kw_only=True):
    resource_name: str = ...
    resource_type: int = ...

class ConfigResourceBody(TypedDict, total=False):
    resource_name: str
    resource_type: int

class ListConfigResourcesResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    config_resources: list[ConfigResource] = ...

class ListConfigResourcesResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    config_resources: Sequence[ConfigResourceBody]
