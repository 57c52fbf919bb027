"""The types of wire/schema/metadata/fence_broker_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class FenceBrokerRecord(Struct, kw_only=True):
    id: int = ...
    epoch: int = ...

class FenceBrokerRecordBody(TypedDict, total=False):
    id: int
    epoch: int
