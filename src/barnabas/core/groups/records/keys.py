"""The keys of `__consumer_offsets`: which kind of record, of which group, about what.

Unknown kinds (share and streams groups, whatever comes) decode to None: a coordinator skips what it does not own.
"""

from enum import IntEnum
from typing import NamedTuple

from barnabas.core.groups.records.primitives import Reader, Writer, text


class Kind(IntEnum):
    LEGACY_OFFSET = 0  # before Kafka 0.9; read, never written
    OFFSET = 1
    CLASSIC_GROUP = 2
    CONSUMER_GROUP = 3
    CONSUMER_PARTITION_METADATA = 4  # replaced by a hash in the group's record; read as a sign of the group only
    CONSUMER_MEMBER = 5
    CONSUMER_TARGET_EPOCH = 6
    CONSUMER_TARGET_MEMBER = 7
    CONSUMER_CURRENT_MEMBER = 8
    CONSUMER_REGEX = 16


_WITH_NAME = frozenset(
    {Kind.CONSUMER_MEMBER, Kind.CONSUMER_TARGET_MEMBER, Kind.CONSUMER_CURRENT_MEMBER, Kind.CONSUMER_REGEX}
)
_OFFSETS = frozenset({Kind.LEGACY_OFFSET, Kind.OFFSET})
_KNOWN = frozenset(int(kind) for kind in Kind)


class RecordKey(NamedTuple):
    kind: Kind
    group_id: str
    name: str = ""  # the topic of an offset, the member, or the regular expression
    partition: int = -1

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(self.kind)
        writer.string(self.group_id)
        if self.kind in _OFFSETS:
            writer.string(self.name)
            writer.i32(self.partition)
        elif self.kind in _WITH_NAME:
            writer.string(self.name)
        return writer.done()


def decode_key(data: bytes) -> RecordKey | None:
    reader = Reader(data)
    number = reader.i16()
    if number not in _KNOWN:
        return None
    kind = Kind(number)
    group_id = text(reader.string())
    if kind in _OFFSETS:
        topic = text(reader.string())
        return RecordKey(kind, group_id, topic, reader.i32())
    if kind in _WITH_NAME:
        return RecordKey(kind, group_id, text(reader.string()))
    return RecordKey(kind, group_id)
