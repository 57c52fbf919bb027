"""The types of wire/schema/alter_client_quotas.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AlterClientQuotasRequestEntityData(Struct, kw_only=True):
    entity_type: str = ...
    entity_name: str | None = ...

class AlterClientQuotasRequestEntityDataBody(TypedDict, total=False):
    entity_type: str
    entity_name: str | None

class OpData(Struct, kw_only=True):
    key: str = ...
    value: float = ...
    remove: bool = ...

class OpDataBody(TypedDict, total=False):
    key: str
    value: float
    remove: bool

class AlterClientQuotasRequestEntryData(Struct, kw_only=True):
    entity: list[AlterClientQuotasRequestEntityData] = ...
    ops: list[OpData] = ...

class AlterClientQuotasRequestEntryDataBody(TypedDict, total=False):
    entity: Sequence[AlterClientQuotasRequestEntityDataBody]
    ops: Sequence[OpDataBody]

class AlterClientQuotasRequest(Request[AlterClientQuotasResponseBody], kw_only=True):
    entries: list[AlterClientQuotasRequestEntryData] = ...
    validate_only: bool = ...

class AlterClientQuotasRequestBody(TypedDict, total=False):
    entries: Sequence[AlterClientQuotasRequestEntryDataBody]
    validate_only: bool

class AlterClientQuotasResponseEntityData(Struct, kw_only=True):
    entity_type: str = ...
    entity_name: str | None = ...

class AlterClientQuotasResponseEntityDataBody(TypedDict, total=False):
    entity_type: str
    entity_name: str | None

class AlterClientQuotasResponseEntryData(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...
    entity: list[AlterClientQuotasResponseEntityData] = ...

class AlterClientQuotasResponseEntryDataBody(TypedDict, total=False):
    error_code: int
    error_message: str | None
    entity: Sequence[AlterClientQuotasResponseEntityDataBody]

class AlterClientQuotasResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    entries: list[AlterClientQuotasResponseEntryData] = ...

class AlterClientQuotasResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    entries: Sequence[AlterClientQuotasResponseEntryDataBody]
