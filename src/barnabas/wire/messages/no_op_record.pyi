"""The types of wire/schema/metadata/no_op_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class NoOpRecord(Struct, kw_only=True): ...
class NoOpRecordBody(TypedDict, total=False): ...
