"""The types of wire/schema/snapshot_header_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class SnapshotHeaderRecord(Struct, kw_only=True):
    version: int = ...
    last_contained_log_timestamp: int = ...

class SnapshotHeaderRecordBody(TypedDict, total=False):
    version: int
    last_contained_log_timestamp: int
