"""The types of wire/schema/metadata/feature_level_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class FeatureLevelRecord(Struct, kw_only=True):
    name: str = ...
    feature_level: int = ...

class FeatureLevelRecordBody(TypedDict, total=False):
    name: str
    feature_level: int
