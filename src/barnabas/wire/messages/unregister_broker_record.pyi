"""The types of wire/schema/metadata/unregister_broker_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class UnregisterBrokerRecord(Struct, kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...

class UnregisterBrokerRecordBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int
