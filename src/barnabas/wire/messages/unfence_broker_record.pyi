"""The types of wire/schema/metadata/unfence_broker_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class UnfenceBrokerRecord(Struct, kw_only=True):
    id: int = ...
    epoch: int = ...

class UnfenceBrokerRecordBody(TypedDict, total=False):
    id: int
    epoch: int
