"""The types of wire/schema/incremental_alter_configs.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class IncrementalAlterConfigsRequestAlterableConfig(Struct, kw_only=True):
    name: str = ...
    config_operation: int = ...
    value: str | None = ...

class IncrementalAlterConfigsRequestAlterableConfigBody(TypedDict, total=False):
    name: str
    config_operation: int
    value: str | None

class IncrementalAlterConfigsRequestAlterConfigsResource(Struct, kw_only=True):
    resource_type: int = ...
    resource_name: str = ...
    configs: list[IncrementalAlterConfigsRequestAlterableConfig] = ...

class IncrementalAlterConfigsRequestAlterConfigsResourceBody(TypedDict, total=False):
    resource_type: int
    resource_name: str
    configs: Sequence[IncrementalAlterConfigsRequestAlterableConfigBody]

class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponseBody], kw_only=True):
    resources: list[IncrementalAlterConfigsRequestAlterConfigsResource] = ...
    validate_only: bool = ...

class IncrementalAlterConfigsRequestBody(TypedDict, total=False):
    resources: Sequence[IncrementalAlterConfigsRequestAlterConfigsResourceBody]
    validate_only: bool

class IncrementalAlterConfigsResponseAlterConfigsResourceResponse(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...
    resource_type: int = ...
    resource_name: str = ...

class IncrementalAlterConfigsResponseAlterConfigsResourceResponseBody(TypedDict, total=False):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str

class IncrementalAlterConfigsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    responses: list[IncrementalAlterConfigsResponseAlterConfigsResourceResponse] = ...

class IncrementalAlterConfigsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    responses: Sequence[IncrementalAlterConfigsResponseAlterConfigsResourceResponseBody]
