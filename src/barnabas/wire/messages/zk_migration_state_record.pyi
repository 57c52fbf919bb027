"""The types of wire/schema/metadata/zk_migration_state_record.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class ZkMigrationStateRecord(Struct, kw_only=True):
    zk_migration_state: int = ...

class ZkMigrationStateRecordBody(TypedDict, total=False):
    zk_migration_state: int
