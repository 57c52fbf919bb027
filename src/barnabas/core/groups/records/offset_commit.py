"""The value of a committed offset (OffsetCommitValue, versions 0-4).

Version 4 is written, as Kafka 4 does; version 1 where the commit carries its own expiry (OffsetCommit 2-4 with a
retention time), since no other version can say so.
"""

from dataclasses import dataclass

from barnabas.core.groups.records.primitives import Reader, RecordError, Writer, text
from barnabas.model.ids import ZERO_UUID

NO_EXPIRY = -1


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY
    topic_id: bytes = ZERO_UUID

    def encode(self) -> bytes:
        writer = Writer()
        if self.expire_timestamp_ms != NO_EXPIRY:
            writer.i16(1)
            writer.i64(self.offset)
            writer.string(self.metadata)
            writer.i64(self.commit_timestamp_ms)
            writer.i64(self.expire_timestamp_ms)
            return writer.done()
        writer.i16(4)
        writer.i64(self.offset)
        writer.i32(self.leader_epoch)
        writer.compact_string(self.metadata)
        writer.i64(self.commit_timestamp_ms)
        writer.tags((0, None if self.topic_id == ZERO_UUID else self.topic_id))
        return writer.done()


def decode_offset(data: bytes) -> CommittedOffset:
    reader = Reader(data)
    version = reader.i16()
    if not 0 <= version <= 4:
        raise RecordError(f"offset commit value of version {version}")
    offset = reader.i64()
    leader_epoch = reader.i32() if version >= 3 else -1
    metadata = text(reader.compact_string() if version >= 4 else reader.string())
    committed_ms = reader.i64()
    expires_ms = reader.i64() if version == 1 else NO_EXPIRY
    topic_id = reader.tags().get(0, ZERO_UUID) if version >= 4 else ZERO_UUID
    if len(topic_id) != 16:
        raise RecordError("a topic id is 16 bytes")
    return CommittedOffset(offset, leader_epoch, metadata, committed_ms, expires_ms, topic_id)
