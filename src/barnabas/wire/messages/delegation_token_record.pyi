"""The types of wire/schema/metadata/delegation_token_record.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class DelegationTokenRecord(Struct, kw_only=True):
    owner: str = ...
    requester: str = ...
    renewers: list[str] = ...
    issue_timestamp: int = ...
    max_timestamp: int = ...
    expiration_timestamp: int = ...
    token_id: str = ...

class DelegationTokenRecordBody(TypedDict, total=False):
    owner: str
    requester: str
    renewers: Sequence[str]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str
