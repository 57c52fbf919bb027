"""The types of wire/schema/metadata/user_scram_credential_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class UserScramCredentialRecord(Struct, kw_only=True):
    name: str = ...
    mechanism: int = ...
    salt: bytes = ...
    stored_key: bytes = ...
    server_key: bytes = ...
    iterations: int = ...

class UserScramCredentialRecordBody(TypedDict, total=False):
    name: str
    mechanism: int
    salt: bytes | memoryview
    stored_key: bytes | memoryview
    server_key: bytes | memoryview
    iterations: int
