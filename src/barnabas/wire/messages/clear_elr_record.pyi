"""The types of wire/schema/metadata/clear_elr_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class ClearElrRecord(Struct, kw_only=True):
    topic_name: str = ...

class ClearElrRecordBody(TypedDict, total=False):
    topic_name: str
