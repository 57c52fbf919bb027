"""The types of wire/schema/metadata/client_quota_record.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class Entity(Struct, kw_only=True):
    entity_type: str = ...
    entity_name: str | None = ...

class EntityBody(TypedDict, total=False):
    entity_type: str
    entity_name: str | None

class ClientQuotaRecord(Struct, kw_only=True):
    entity: list[Entity] = ...
    key: str = ...
    value: float = ...
    remove: bool = ...

class ClientQuotaRecordBody(TypedDict, total=False):
    entity: Sequence[EntityBody]
    key: str
    value: float
    remove: bool
