"""Records back into state: what a coordinator does before it answers anything, and what keeps it equal to its log.

Replay trusts nothing but the last value of each key. Compaction may have removed the record a tombstone stood for, or a
group's own record while its members' are still there; kinds of other coordinators are skipped; a record of a newer
version than we know is skipped with a note, since the log must stay loadable.
"""

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.consumer.replay import CONSUMER_KINDS, replay_consumer
from barnabas.core.groups.records.group_metadata import decode_classic_group
from barnabas.core.groups.records.keys import Kind, RecordKey, decode_key
from barnabas.core.groups.records.offset_commit import decode_offset
from barnabas.core.groups.records.primitives import RecordError
from barnabas.core.groups.shard_state import ShardState


def replay_record(world: ShardState, key: bytes, value: bytes | None) -> str | None:
    """Apply one record; a reason when it had to be skipped, None when all is well."""
    try:
        parsed = decode_key(key)
        if parsed is None:
            return f"record of unknown kind {int.from_bytes(key[:2], 'big')}"
        _apply(world, parsed, value)
    except RecordError as error:
        return str(error)
    return None


def _apply(world: ShardState, key: RecordKey, value: bytes | None) -> None:
    if key.kind in (Kind.OFFSET, Kind.LEGACY_OFFSET):
        world.pending.overtaken((key.group_id, key.name, key.partition))
        if value is None:
            world.offsets.remove(key.group_id, key.name, key.partition)
        else:
            kept = decode_offset(value)
            world.wall.read(kept.commit_timestamp_ms)
            world.offsets.put(key.group_id, key.name, key.partition, kept)
    elif key.kind is Kind.CLASSIC_GROUP:
        if value is not None:
            world.groups[key.group_id] = ClassicGroup.from_value(key.group_id, decode_classic_group(value))
        elif isinstance(world.groups.get(key.group_id), ClassicGroup):
            del world.groups[key.group_id]
    elif key.kind in CONSUMER_KINDS:
        replay_consumer(world, key, value)
