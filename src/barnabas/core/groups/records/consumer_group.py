"""The values of a KIP-848 consumer group (kinds 3 and 5 to 8, and 16), version 0, as Kafka 4 writes them.

| kind | what it remembers |
|---|---|
| 3 | the group's epoch, and a hash of the topics it looked at when it took that epoch |
| 5 | what one member asked for |
| 6, 7 | the assignment every member is walking towards, and the epoch it belongs to |
| 8 | where one member stands on that walk: what it has, what it must still give back |
| 16 | the topics a regular expression stood for |
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.core.groups.records.primitives import Reader, RecordError, Writer, text

Partitions = Mapping[bytes, frozenset[int]]  # topic id -> partitions
PartitionEpochs = Mapping[bytes, Mapping[int, int]]  # topic id -> partition -> epoch at which the member got it


def open_value(data: bytes) -> Reader:
    reader = Reader(data)
    version = reader.i16()
    if version != 0:
        raise RecordError(f"consumer group value of version {version}")
    return reader


def _i64_tag(value: int) -> bytes | None:
    return value.to_bytes(8, "big", signed=True) if value else None


@dataclass(frozen=True, slots=True)
class ConsumerGroupValue:
    epoch: int
    metadata_hash: int = 0

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(0)
        writer.i32(self.epoch)
        writer.tags((0, _i64_tag(self.metadata_hash)))
        return writer.done()


def decode_consumer_group(data: bytes) -> ConsumerGroupValue:
    reader = open_value(data)
    epoch = reader.i32()
    return ConsumerGroupValue(epoch, int.from_bytes(reader.tags().get(0, b""), "big", signed=True))


@dataclass(frozen=True, slots=True)
class ClassicFacet:
    """What a member that still speaks the classic protocol brought along (it lives inside a consumer group)."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    def encode(self) -> bytes:
        writer = Writer()
        writer.i32(self.session_timeout_ms)
        writer.uvarint(len(self.protocols) + 1)
        for name, metadata in self.protocols:
            writer.compact_string(name)
            writer.compact_bytes(metadata)
            writer.tags()
        writer.tags()
        return writer.done()


def _decode_facet(data: bytes) -> ClassicFacet:
    reader = Reader(data)
    session_ms = reader.i32()

    def protocol() -> tuple[str, bytes]:
        pair = (text(reader.compact_string()), reader.compact_bytes())
        reader.tags()
        return pair

    return ClassicFacet(session_ms, tuple(reader.compact_array(protocol)))


@dataclass(frozen=True, slots=True)
class ConsumerMemberValue:
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topic_names: tuple[str, ...]
    topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic: ClassicFacet | None = None

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(0)
        writer.compact_string(self.instance_id)
        writer.compact_string(self.rack_id)
        writer.compact_string(self.client_id)
        writer.compact_string(self.client_host)
        writer.uvarint(len(self.topic_names) + 1)
        for name in self.topic_names:
            writer.compact_string(name)
        writer.compact_string(self.topic_regex)
        writer.i32(self.rebalance_timeout_ms)
        writer.compact_string(self.server_assignor)
        # A nullable struct in a tag begins with a byte that says whether it is there; Kafka writes the tag either way.
        writer.tags((0, b"\x00" if self.classic is None else b"\x01" + self.classic.encode()))
        return writer.done()


def decode_consumer_member(data: bytes) -> ConsumerMemberValue:
    reader = open_value(data)
    instance_id, rack_id = reader.compact_string(), reader.compact_string()
    client_id, client_host = text(reader.compact_string()), text(reader.compact_string())
    topics = tuple(reader.compact_array(lambda: text(reader.compact_string())))
    regex, rebalance_ms, assignor = reader.compact_string(), reader.i32(), reader.compact_string()
    facet = reader.tags().get(0)
    classic = _decode_facet(facet[1:]) if facet and facet[0] == 1 else None
    return ConsumerMemberValue(
        instance_id, rack_id, client_id, client_host, topics, regex, rebalance_ms, assignor, classic
    )


@dataclass(frozen=True, slots=True)
class TargetEpochValue:
    epoch: int
    timestamp_ms: int = 0

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(0)
        writer.i32(self.epoch)
        writer.tags((0, _i64_tag(self.timestamp_ms)))
        return writer.done()


def decode_target_epoch(data: bytes) -> TargetEpochValue:
    reader = open_value(data)
    epoch = reader.i32()
    return TargetEpochValue(epoch, int.from_bytes(reader.tags().get(0, b""), "big", signed=True))


@dataclass(frozen=True, slots=True)
class RegexValue:
    topics: tuple[str, ...]
    version: int
    timestamp_ms: int

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(0)
        writer.uvarint(len(self.topics) + 1)
        for name in self.topics:
            writer.compact_string(name)
        writer.i64(self.version)
        writer.i64(self.timestamp_ms)
        writer.tags()
        return writer.done()


def decode_regex(data: bytes) -> RegexValue:
    reader = open_value(data)
    topics = tuple(reader.compact_array(lambda: text(reader.compact_string())))
    return RegexValue(topics, reader.i64(), reader.i64())
