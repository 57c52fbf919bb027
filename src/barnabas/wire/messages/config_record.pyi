"""The types of wire/schema/metadata/config_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class ConfigRecord(Struct, kw_only=True):
    resource_type: int = ...
    resource_name: str = ...
    name: str = ...
    value: str | None = ...

class ConfigRecordBody(TypedDict, total=False):
    resource_type: int
    resource_name: str
    name: str
    value: str | None
