"""The types of wire/schema/describe_client_quotas.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ComponentData(Struct, kw_only=True):
    entity_type: str = ...
    match_type: int = ...
    match: str | None = ...

class ComponentDataBody(TypedDict, total=False):
    entity_type: str
    match_type: int
    match: str | None

class DescribeClientQuotasRequest(Request[DescribeClientQuotasResponseBody], kw_only=True):
    components: list[ComponentData] = ...
    strict: bool = ...

class DescribeClientQuotasRequestBody(TypedDict, total=False):
    components: Sequence[ComponentDataBody]
    strict: bool

class DescribeClientQuotasResponseEntityData(Struct, kw_only=True):
    entity_type: str = ...
    entity_name: str | None = ...

class DescribeClientQuotasResponseEntityDataBody(TypedDict, total=False):
    entity_type: str
    entity_name: str | None

class ValueData(Struct, kw_only=True):
    key: str = ...
    value: float = ...

class ValueDataBody(TypedDict, total=False):
    key: str
    value: float

class DescribeClientQuotasResponseEntryData(Struct, kw_only=True):
    entity: list[DescribeClientQuotasResponseEntityData] = ...
    values: list[ValueData] = ...

class DescribeClientQuotasResponseEntryDataBody(TypedDict, total=False):
    entity: Sequence[DescribeClientQuotasResponseEntityDataBody]
    values: Sequence[ValueDataBody]

class DescribeClientQuotasResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    entries: list[DescribeClientQuotasResponseEntryData] | None = ...

class DescribeClientQuotasResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: Sequence[DescribeClientQuotasResponseEntryDataBody] | None
