"""The types of wire/schema/metadata/remove_topic_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class RemoveTopicRecord(Struct, kw_only=True):
    topic_id: bytes = ...

class RemoveTopicRecordBody(TypedDict, total=False):
    topic_id: bytes
