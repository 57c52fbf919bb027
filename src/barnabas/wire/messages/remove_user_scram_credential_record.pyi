"""The types of wire/schema/metadata/remove_user_scram_credential_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class RemoveUserScramCredentialRecord(Struct, kw_only=True):
    name: str = ...
    mechanism: int = ...

class RemoveUserScramCredentialRecordBody(TypedDict, total=False):
    name: str
    mechanism: int
