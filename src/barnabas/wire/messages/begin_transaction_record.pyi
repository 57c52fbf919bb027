"""The types of wire/schema/metadata/begin_transaction_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class BeginTransactionRecord(Struct, kw_only=True):
    name: str | None = ...

class BeginTransactionRecordBody(TypedDict, total=False):
    name: str | None
