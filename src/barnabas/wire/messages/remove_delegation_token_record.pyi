"""The types of wire/schema/metadata/remove_delegation_token_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class RemoveDelegationTokenRecord(Struct, kw_only=True):
    token_id: str = ...

class RemoveDelegationTokenRecordBody(TypedDict, total=False):
    token_id: str
