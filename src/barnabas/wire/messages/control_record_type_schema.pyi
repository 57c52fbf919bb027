"""The types of wire/schema/control_record_type_schema.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class ControlRecordTypeSchema(Struct, kw_only=True):
    type: int = ...

class ControlRecordTypeSchemaBody(TypedDict, total=False):
    type: int
