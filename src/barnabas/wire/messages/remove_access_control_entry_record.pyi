"""The types of wire/schema/metadata/remove_access_control_entry_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class RemoveAccessControlEntryRecord(Struct, kw_only=True):
    id: bytes = ...

class RemoveAccessControlEntryRecordBody(TypedDict, total=False):
    id: bytes
