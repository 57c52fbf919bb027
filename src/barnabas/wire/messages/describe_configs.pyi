"""The types of wire/schema/describe_configs.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeConfigsResource(Struct, kw_only=True):
    resource_type: int = ...
    resource_name: str = ...
    configuration_keys: list[str] | None = ...

class DescribeConfigsResourceBody(TypedDict, total=False):
    resource_type: int
    resource_name: str
    configuration_keys: Sequence[str] | None

class DescribeConfigsRequest(Request[DescribeConfigsResponseBody], kw_only=True):
    resources: list[DescribeConfigsResource] = ...
    include_synonyms: bool = ...
    include_documentation: bool = ...

class DescribeConfigsRequestBody(TypedDict, total=False):
    resources: Sequence[DescribeConfigsResourceBody]
    include_synonyms: bool
    include_documentation: bool

class DescribeConfigsSynonym(Struct, kw_only=True):
    name: str = ...
    value: str | None = ...
    source: int = ...

class DescribeConfigsSynonymBody(TypedDict, total=False):
    name: str
    value: str | None
    source: int

class DescribeConfigsResourceResult(Struct, kw_only=True):
    name: str = ...
    value: str | None = ...
    read_only: bool = ...
    config_source: int = ...
    is_sensitive: bool = ...
    synonyms: list[DescribeConfigsSynonym] = ...
    config_type: int = ...
    documentation: str | None = ...

class DescribeConfigsResourceResultBody(TypedDict, total=False):
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: Sequence[DescribeConfigsSynonymBody]
    config_type: int
    documentation: str | None

class DescribeConfigsResult(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...
    resource_type: int = ...
    resource_name: str = ...
    configs: list[DescribeConfigsResourceResult] = ...

class DescribeConfigsResultBody(TypedDict, total=False):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: Sequence[DescribeConfigsResourceResultBody]

class DescribeConfigsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[DescribeConfigsResult] = ...

class DescribeConfigsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[DescribeConfigsResultBody]
