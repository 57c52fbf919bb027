"""The types of wire/schema/snapshot_footer_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class SnapshotFooterRecord(Struct, kw_only=True):
    version: int = ...

class SnapshotFooterRecordBody(TypedDict, total=False):
    version: int
