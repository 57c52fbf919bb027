"""The types of wire/schema/metadata/topic_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class TopicRecord(Struct, kw_only=True):
    name: str = ...
    topic_id: bytes = ...

class TopicRecordBody(TypedDict, total=False):
    name: str
    topic_id: bytes
