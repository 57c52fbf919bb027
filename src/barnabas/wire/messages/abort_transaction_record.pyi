"""The types of wire/schema/metadata/abort_transaction_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class AbortTransactionRecord(Struct, kw_only=True):
    reason: str | None = ...

class AbortTransactionRecordBody(TypedDict, total=False):
    reason: str | None
