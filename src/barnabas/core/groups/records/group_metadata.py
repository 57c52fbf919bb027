"""The value of a classic group (GroupMetadataValue, versions 0-4; version 3 is written, as Kafka 4 does).

A group is written when it is created, when its leader's assignment arrives, and when it becomes empty. The state in
between (who has joined, who waits) is not: a coordinator that takes over finds the last finished generation.
"""

from dataclasses import dataclass

from barnabas.core.groups.records.primitives import Reader, RecordError, Writer, text

_WRITTEN_VERSION = 3


@dataclass(frozen=True, slots=True)
class ClassicMemberValue:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class ClassicGroupValue:
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp_ms: int
    members: tuple[ClassicMemberValue, ...]

    def encode(self) -> bytes:
        writer = Writer()
        writer.i16(_WRITTEN_VERSION)
        writer.string(self.protocol_type)
        writer.i32(self.generation)
        writer.string(self.protocol)
        writer.string(self.leader)
        writer.i64(self.state_timestamp_ms)
        writer.i32(len(self.members))
        for member in self.members:
            writer.string(member.member_id)
            writer.string(member.instance_id)
            writer.string(member.client_id)
            writer.string(member.client_host)
            writer.i32(member.rebalance_timeout_ms)
            writer.i32(member.session_timeout_ms)
            writer.bytes32(member.subscription)
            writer.bytes32(member.assignment)
        return writer.done()


def decode_classic_group(data: bytes) -> ClassicGroupValue:
    reader = Reader(data)
    version = reader.i16()
    if not 0 <= version <= 4:
        raise RecordError(f"group metadata value of version {version}")
    flexible = version >= 4
    string = reader.compact_string if flexible else reader.string
    array = reader.compact_array if flexible else reader.array

    def blob() -> bytes:
        return reader.compact_bytes() if flexible else reader.bytes32() or b""

    def member() -> ClassicMemberValue:
        member_id = text(string())
        instance_id = string() if version >= 3 else None
        client_id, client_host = text(string()), text(string())
        rebalance_ms = reader.i32() if version >= 1 else -1
        session_ms = reader.i32()
        # Version 0 had no rebalance timeout of its own: the session timeout served for both.
        value = ClassicMemberValue(
            member_id,
            instance_id,
            client_id,
            client_host,
            rebalance_ms if rebalance_ms >= 0 else session_ms,
            session_ms,
            blob(),
            blob(),
        )
        if flexible:
            reader.tags()
        return value

    protocol_type, generation = text(string()), reader.i32()
    protocol, leader = string(), string()
    timestamp_ms = reader.i64() if version >= 2 else -1
    members = tuple(array(member))
    return ClassicGroupValue(protocol_type, generation, protocol, leader, timestamp_ms, members)
