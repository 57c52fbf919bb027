"""The types of wire/schema/metadata/producer_ids_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class ProducerIdsRecord(Struct, kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...
    next_producer_id: int = ...

class ProducerIdsRecordBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int
    next_producer_id: int
