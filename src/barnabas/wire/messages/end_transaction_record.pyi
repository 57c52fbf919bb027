"""The types of wire/schema/metadata/end_transaction_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class EndTransactionRecord(Struct, kw_only=True): ...
class EndTransactionRecordBody(TypedDict, total=False): ...
