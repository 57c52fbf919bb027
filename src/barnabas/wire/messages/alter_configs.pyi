"""The types of wire/schema/alter_configs.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AlterConfigsRequestAlterableConfig(Struct, kw_only=True):
    name: str = ...
    value: str | None = ...

class AlterConfigsRequestAlterableConfigBody(TypedDict, total=False):
    name: str
    value: str | None

class AlterConfigsRequestAlterConfigsResource(Struct, kw_only=True):
    resource_type: int = ...
    resource_name: str = ...
    configs: list[AlterConfigsRequestAlterableConfig] = ...

class AlterConfigsRequestAlterConfigsResourceBody(TypedDict, total=False):
    resource_type: int
    resource_name: str
    configs: Sequence[AlterConfigsRequestAlterableConfigBody]

class AlterConfigsRequest(Request[AlterConfigsResponseBody], kw_only=True):
    resources: list[AlterConfigsRequestAlterConfigsResource] = ...
    validate_only: bool = ...

class AlterConfigsRequestBody(TypedDict, total=False):
    resources: Sequence[AlterConfigsRequestAlterConfigsResourceBody]
    validate_only: bool

class AlterConfigsResponseAlterConfigsResourceResponse(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...
    resource_type: int = ...
    resource_name: str = ...

class AlterConfigsResponseAlterConfigsResourceResponseBody(TypedDict, total=False):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str

class AlterConfigsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    responses: list[AlterConfigsResponseAlterConfigsResourceResponse] = ...

class AlterConfigsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    responses: Sequence[AlterConfigsResponseAlterConfigsResourceResponseBody]
