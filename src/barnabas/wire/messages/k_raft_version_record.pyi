"""The types of wire/schema/k_raft_version_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class KRaftVersionRecord(Struct, kw_only=True):
    version: int = ...
    k_raft_version: int = ...

class KRaftVersionRecordBody(TypedDict, total=False):
    version: int
    k_raft_version: int
